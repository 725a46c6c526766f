"""The work of a search is bounded by what is returned. Steps are counted; no clock is looked at."""

import itertools

import pytest

from placement import solver
from tests.unit.solver.cloud import Cloud, mapped

LIMIT = 1000
DISK, HOST = 'resources=VCPU:1,MEMORY_MB:1,DISK_GB:1', {'VCPU': 64, 'MEMORY_MB': 1000, 'DISK_GB': 1000}


def host(devices: int, units: int, used: int = 0) -> Cloud:
    """One host with devices of so many units each."""
    cloud = Cloud()
    root = cloud.add(**HOST)
    for _ in range(devices):
        cloud.add(root, CUSTOM_VF=units, used={'CUSTOM_VF': used} if used else None)
    return cloud


def groups(count: int, policy: str = 'none', amounts: tuple[int, ...] = (1,)) -> str:
    """The host's own resources, and so many groups of devices; every group asks the next of the amounts in turn."""
    asked = [f'resources{number}=CUSTOM_VF:{amounts[number % len(amounts)]}' for number in range(1, count + 1)]
    return '&'.join([DISK, *asked, f'group_policy={policy}', f'limit={LIMIT}'])


@pytest.mark.parametrize(
    ('devices', 'units', 'used', 'count', 'policy'),
    [
        (64, 8, 0, 8, 'none'),
        (64, 1, 0, 64, 'none'),
        (64, 8, 7, 64, 'none'),
        (8, 1, 0, 8, 'none'),
        (6, 8, 0, 6, 'isolate'),
        (64, 8, 0, 64, 'isolate'),
        (4, 8, 0, 32, 'none'),
    ],
)
def test_work_is_proportional_to_what_is_found(devices: int, units: int, used: int, count: int, policy: str) -> None:
    result = host(devices, units, used).ask(groups(count, policy))
    assert 0 < len(result) <= LIMIT
    assert len({tuple(row) for row in result.choices.tolist()}) == len(result)
    assert result.steps < 10 * len(result) * (count + 3)


@pytest.mark.parametrize(
    ('devices', 'units', 'used', 'count', 'policy', 'amounts'),
    [
        # One device too few, by capacity, by usage, or because of isolation.
        (64, 1, 0, 65, 'none', (1,)),
        (64, 8, 7, 65, 'none', (1,)),
        (6, 8, 0, 7, 'isolate', (1,)),
        (64, 8, 0, 65, 'isolate', (1,)),
        # Enough in sum, but in pieces that do not fit.
        (8, 3, 0, 9, 'none', (2,)),
        (8, 4, 0, 11, 'none', (3, 3, 2, 3, 3, 2, 3, 3, 2, 2, 2)),
        (16, 4, 0, 21, 'none', (3, 3, 3, 3, 2, 2, 2)),
        (24, 4, 0, 32, 'none', (3, 3, 3, 3, 2, 2, 2)),
    ],
)
def test_no_candidate_is_found_out_soon(
    devices: int, units: int, used: int, count: int, policy: str, amounts: tuple[int, ...]
) -> None:
    result = host(devices, units, used).ask(groups(count, policy, amounts))
    assert len(result) == 0
    assert result.steps <= 4 * devices * count * count


def test_devices_of_two_sorts_are_matched() -> None:
    """All but the last group can use anything, the last two only the same device."""
    cloud = Cloud()
    root = cloud.add(VCPU=1)
    for number in range(12):
        cloud.add(root, CUSTOM_VF=1, traits=['CUSTOM_FAST'] if number == 0 else [])
    fast = '&required11=CUSTOM_FAST&resources11=CUSTOM_VF:1'
    ten = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, 11))
    both = cloud.ask(f'{ten}{fast}&required12=CUSTOM_FAST&resources12=CUSTOM_VF:1&group_policy=none&limit=10')
    assert len(both) == 0
    assert both.steps < 5
    one = cloud.ask(f'{ten}{fast}&group_policy=none&limit=10')
    assert {mapping[-1] for mapping in mapped(one, '10', '11')} == {2}
    assert len(one) == 10
    assert one.steps < 400


def numa_hosts(count: int = 1) -> Cloud:
    """Hosts of 8 nodes of 8 cards of 4 devices."""
    cloud = Cloud()
    for _ in range(count):
        root = cloud.add(VCPU=64)
        for _ in range(8):
            node = cloud.add(root, traits=['HW_NUMA_ROOT'], MEMORY_MB=100)
            for _ in range(8):
                card = cloud.add(node, traits=['CUSTOM_CARD'])
                for _ in range(4):
                    cloud.add(card, FPGA=1)
    return cloud


def below(root: str, count: int, policy: str) -> str:
    """So many devices below one provider with a trait."""
    devices = '&'.join(f'resources_{number}=FPGA:1' for number in range(count))
    names = ','.join(f'_{number}' for number in range(count))
    return f'required_R={root}&{devices}&same_subtree=_R,{names}&group_policy={policy}&limit={LIMIT}'


@pytest.mark.parametrize(('root', 'tops', 'most'), [('CUSTOM_CARD', 64, 4), ('HW_NUMA_ROOT', 8, 32)])
@pytest.mark.parametrize('policy', ['none', 'isolate'])
def test_subtrees(root: str, tops: int, most: int, policy: str) -> None:
    cloud = numa_hosts()
    full = cloud.ask(below(root, most, policy))
    assert len(full) == LIMIT
    assert full.steps < 10 * LIMIT * most
    over = cloud.ask(below(root, most + 1, policy))
    assert len(over) == 0
    assert over.steps < 2 * tops * (most + 1) ** 2


def test_two_subtrees() -> None:
    result = numa_hosts().ask(
        'required_N=HW_NUMA_ROOT&required_K=CUSTOM_CARD&resources_A=FPGA:1&resources_B=FPGA:1&resources_C=FPGA:1'
        f'&group_policy=isolate&same_subtree=_N,_A,_B,_C&same_subtree=_K,_A,_B&limit={LIMIT}'
    )
    assert len(result) == LIMIT
    assert result.steps < 10 * LIMIT * 5


def sharing_cloud(hosts: int) -> Cloud:
    """Hosts that share ten storages."""
    cloud = Cloud()
    for _ in range(10):
        cloud.add(traits=['MISC_SHARES_VIA_AGGREGATE'], aggregates=['a'], DISK_GB=1000)
    for _ in range(hosts):
        cloud.add(VCPU=8, aggregates=['a'])
    return cloud


def test_anchors_that_give_nothing_cost_nothing() -> None:
    """The same storages are reached from every host; only the first host, and each storage itself, is searched."""
    result = sharing_cloud(500).ask('resources=DISK_GB:10')
    assert len(result) == 10
    assert result.steps < 200


def test_limit_stops_the_reading_of_usage() -> None:
    cloud = sharing_cloud(500)
    result = cloud.ask('resources=VCPU:1,DISK_GB:10&limit=40')
    assert len(result) == 40
    assert [len(ids) for ids in cloud.reads] == [42]


def test_flat_clouds_are_not_searched() -> None:
    cloud = Cloud()
    for number in range(2000):
        cloud.add(VCPU=8, DISK_GB=100, used={'VCPU': 8 if number < 1500 else 0})
    result = cloud.ask('resources=VCPU:1,DISK_GB:1&limit=10')
    assert (len(result), result.steps) == (10, 0)
    # Batches grow: 1,500 full hosts are passed in four of them.
    assert [len(ids) for ids in cloud.reads] == [32, 128, 512, 2000]
    assert (len(cloud.ask('resources=VCPU:1&resources1=DISK_GB:1')), result.steps) == (500, 0)


def test_breadth_first_takes_turns() -> None:
    cloud = Cloud()
    for _ in range(3):
        root = cloud.add(VCPU=8)
        for _ in range(4):
            cloud.add(root, CUSTOM_VF=1)
    breadth = cloud.ask('resources1=CUSTOM_VF:1', solver.Settings(maximum=6, breadth_first=True))
    assert mapped(breadth, '1') == [(2,), (7,), (12,), (3,), (8,), (13,)]
    depth = cloud.ask('resources1=CUSTOM_VF:1', solver.Settings(maximum=6))
    assert mapped(depth, '1') == [(2,), (3,), (4,), (5,), (7,), (8,)]


def test_huge_amounts_fit_nowhere() -> None:
    cloud = host(2, 8)
    for amount in (2**31, 2**53, 2**63, 2**64, 10**300):
        assert len(cloud.ask(f'resources=CUSTOM_VF:{amount}')) == 0
        assert len(cloud.ask(f'resources1=CUSTOM_VF:{amount}&resources2=CUSTOM_VF:1&group_policy=none')) == 0


def test_hundreds_of_conditions() -> None:
    """More than Python calls may be nested."""
    traits = [f'CUSTOM_{number}' for number in range(1200)]
    cloud = Cloud()
    top = cloud.add(cloud.add(VCPU=8), traits=traits, CUSTOM_VF=8)
    names = [f'_{number}' for number in range(60)]
    devices = '&'.join(f'resources{name}=CUSTOM_VF:1' for name in names[:2])
    others = '&'.join(f'required{name}=CUSTOM_0' for name in names[2:])
    pairs = '&'.join(f'same_subtree={one},{other}' for one, other in itertools.combinations(names, 2))
    assert mapped(cloud.ask(f'{devices}&{others}&{pairs}&group_policy=none'), *names) == [(top,) * 60]
    repeated = '&'.join(['same_subtree=_0,_1'] * 1200)
    assert mapped(cloud.ask(f'{devices}&{repeated}&group_policy=none'), '_0', '_1') == [(top, top)]
    assert len(cloud.ask(f'resources=CUSTOM_VF:1&required={",".join(traits)}')) == 1
