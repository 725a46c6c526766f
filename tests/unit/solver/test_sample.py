"""randomize_allocation_candidates: the choice is random, uniform, and not a matter of building everything."""

from collections import Counter

import pytest

from placement import solver
from tests.unit.solver.cloud import Cloud, mapped

RANDOM = solver.Settings(randomize=True)
DRAWS = 1000


def flat(hosts: int) -> Cloud:
    cloud = Cloud()
    for number in range(hosts):
        cloud.add(VCPU=8, used={'VCPU': 8} if number == 0 else None)
    return cloud


def nested(children: int, units: int) -> Cloud:
    cloud = Cloud()
    root = cloud.add(VCPU=8)
    for _ in range(children):
        cloud.add(root, CUSTOM_VF=units)
    return cloud


def sharing(hosts: int, storages: int) -> Cloud:
    """Hosts that share storages."""
    cloud = Cloud()
    for _ in range(storages):
        cloud.add(traits=['MISC_SHARES_VIA_AGGREGATE'], aggregates=['a'], DISK_GB=1)
    for _ in range(hosts):
        cloud.add(VCPU=8, aggregates=['a'])
    return cloud


def spread(cloud: Cloud, query: str, suffixes: tuple[str, ...], settings: solver.Settings = RANDOM) -> Counter:
    """How often each candidate is drawn."""
    return Counter(found for seed in range(DRAWS) for found in mapped(cloud.ask(query, settings, seed=seed), *suffixes))


def assert_even(counts: Counter, size: int, drawn: int) -> None:
    """All of so many candidates, each about as often: within five standard deviations."""
    assert len(counts) == size
    expected = DRAWS * drawn / size
    assert max(abs(count - expected) for count in counts.values()) < 5 * expected**0.5


def test_flat_clouds() -> None:
    cloud = flat(9)
    assert_even(spread(cloud, 'resources1=VCPU:1&limit=2', ('1',)), 8, 2)


def test_only_what_is_drawn_is_read() -> None:
    cloud = flat(2000)
    assert len(cloud.ask('resources1=VCPU:1&limit=10', RANDOM)) == 10
    assert [len(ids) for ids in cloud.reads] == [32]


def test_few_candidates() -> None:
    query = 'resources1=CUSTOM_VF:1&resources2=CUSTOM_VF:1&group_policy=isolate&limit=3'
    assert_even(spread(nested(4, 1), query, ('1', '2')), 12, 3)


@pytest.mark.parametrize(('draws', 'enough'), [(25, 0), (26, 500_000)])
def test_sharing_providers(monkeypatch: pytest.MonkeyPatch, draws: int, enough: int) -> None:
    """The same two storages come from four anchors, host and storage from one; each pair is as likely."""
    monkeypatch.setattr('placement.solver.sample.ENOUGH', enough)
    # There are 26 choices, so either they are drawn, or all candidates are made.
    monkeypatch.setattr('placement.solver.sample.DRAWS', draws)
    cloud = sharing(2, 2)
    for host in (3, 4):
        cloud.add(host, DISK_GB=1)
    query = 'resources1=DISK_GB:1&resources2=DISK_GB:1&group_policy=isolate&limit=1'
    counts = spread(cloud, query, ('1', '2'))
    # Both storages; a storage and the disk of a host, in both orders.
    assert counts.keys() == {(1, 2), (2, 1)} | {
        pair for storage in (1, 2) for disk in (5, 6) for pair in ((storage, disk), (disk, storage))
    }
    assert_even(counts, 10, 1)


@pytest.mark.parametrize('version', [(1, 25), (1, 28)])
def test_one_provider_of_a_tree_before_1_29(version: tuple[int, int]) -> None:
    cloud = sharing(2, 2)
    for host in (3, 4):
        cloud.add(host, DISK_GB=8)
    query = 'resources1=VCPU:1&resources2=DISK_GB:1&group_policy=none&limit=1'
    counts = Counter(tuple(cloud.ask(query, RANDOM, version, seed).choices[0].tolist()) for seed in range(DRAWS))
    assert_even(counts, 4, 1)


@pytest.mark.parametrize('draws', [0, 20])
@pytest.mark.parametrize('cloud', [flat(9), nested(8, 1), sharing(0, 8)])
def test_limit_beyond_what_there_is(monkeypatch: pytest.MonkeyPatch, cloud: Cloud, draws: int) -> None:
    """All candidates, in random order."""
    monkeypatch.setattr('placement.solver.sample.DRAWS', draws)
    (name,) = {'VCPU', 'DISK_GB', 'CUSTOM_VF'} & {list(cloud.class_ids)[-1]}
    orders = {tuple(mapped(cloud.ask(f'resources1={name}:1&limit=50', RANDOM, seed=seed), '1')) for seed in range(9)}
    assert len(orders) == 9
    assert {len(set(order)) for order in orders} == {8}


def test_rules_that_refuse_nearly_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn from is made then, if it is not too much, and else at every anchor in turn."""
    monkeypatch.setattr('placement.solver.sample.DRAWS', 0)
    cloud = Cloud()
    for _ in range(4):
        root = cloud.add(VCPU=8)
        for _ in range(3):
            cloud.add(root, CUSTOM_VF=1)
    groups = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, 4))
    query = f'{groups}&group_policy=none&limit=1'
    assert_even(spread(cloud, query, ('1', '2', '3')), 4 * 6, 1)
    monkeypatch.setattr('placement.solver.sample.ENOUGH', 3 * 8)
    counts = spread(cloud, query, ('1', '2', '3'))
    assert len(counts) == 4 * 2
    by_host = Counter()
    for choice, count in counts.items():
        by_host[(choice[0] - 1) // 4] += count
    assert_even(by_host, 4, 1)


def test_many_candidates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws that break a rule are drawn again."""
    monkeypatch.setattr('placement.solver.sample.ENOUGH', 0)
    monkeypatch.setattr('placement.solver.sample.DRAWS', 15)  # of 16 choices
    query = 'resources1=CUSTOM_VF:1&resources2=CUSTOM_VF:1&group_policy=isolate&limit=1'
    assert_even(spread(nested(4, 2), query, ('1', '2')), 12, 1)


def test_a_choice_out_of_very_many() -> None:
    groups = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, 9))
    result = nested(64, 8).ask(f'{groups}&group_policy=none&limit=100', RANDOM)
    assert len({tuple(row) for row in result.choices.tolist()}) == 100
    assert result.steps < 100 * 8 * 10
    assert len(set(result.choices[:, 0].tolist())) > 30


def test_the_order_is_random_without_limit() -> None:
    cloud = nested(6, 1)
    orders = {tuple(mapped(cloud.ask('resources1=CUSTOM_VF:1', RANDOM, seed=seed), '1')) for seed in range(5)}
    assert len(orders) > 1
    assert {tuple(sorted(order)) for order in orders} == {tuple((number,) for number in range(2, 8))}


def test_a_cap_comes_first() -> None:
    counts = spread(nested(6, 1), 'resources1=CUSTOM_VF:1&limit=1', ('1',), solver.Settings(maximum=3, randomize=True))
    assert_even(counts, 3, 1)
