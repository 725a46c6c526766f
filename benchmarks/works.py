"""What is measured: the rows of the table, each a request (or a few that belong together) as a function of the number
of the repetition, so that both services get the same requests in the same order."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.clouds import (
    CONSUMER_TYPE,
    GENERATION,
    HOST_INVENTORY,
    PROJECT,
    SERVER_USE,
    TOO_MUCH_MEMORY,
    TRAIT,
    USER,
    Cloud,
    uuid_of,
)
from benchmarks.wire import Request

FLAT = {hosts: Cloud(f'flat{hosts}', 'flat', hosts) for hosts in (100, 1_000, 10_000, 50_000)}
NESTED = Cloud('nested1000', 'nested', 1_000)
# The same twice, for two settings of the services (measure.CLOUD_OPTIONS).
WIDE, WIDE_TIGHT = Cloud('wide64', 'wide', 64), Cloud('wide64_tight', 'wide', 64)
CLOUDS = (*FLAT.values(), NESTED, WIDE, WIDE_TIGHT)

RESOURCES = ','.join(f'{name}:{amount}' for name, amount in SERVER_USE.items())


@dataclass(frozen=True)
class Work:
    """One request after the other on one connection.

    `requests(n)` are those of the n-th repetition, by the names of their rows. `bars` are the least ratios wanted, by
    the same names (None: none was set). `alone` leaves the reference out, where it would take minutes.
    """

    cloud: Cloud
    requests: Callable[[int], Mapping[str, Request]]
    bars: Mapping[str, float | None]
    alone: bool = False


@dataclass(frozen=True)
class Load:
    """Acknowledged writes per second of many clients at once."""

    name: str
    cloud: Cloud
    clients: int
    bar: float
    request: Callable[[int], Request]


def _candidates(query: str) -> Request:
    return Request('GET', f'/allocation_candidates?{query}')


def _read(name: str, cloud: Cloud, bar: float | None, request: Callable[[int], Request], alone: bool = False) -> Work:
    return Work(cloud, lambda n: {name: request(n)}, {name: bar}, alone)


def _host(n: int) -> int:
    return 1 + n % FLAT[1_000].hosts


def _provider(name: str, bar: float, suffix: str) -> Work:
    def request(n: int) -> Request:
        return Request('GET', f'/resource_providers/{uuid_of(f"host{_host(n)}")}{suffix}')

    return _read(name, FLAT[1_000], bar, request)


def _claim(consumer: str, host: str, generation: int | None, use: Mapping[str, int] = SERVER_USE) -> Request:
    return Request(
        'PUT',
        f'/allocations/{uuid_of(consumer)}',
        {
            'allocations': {uuid_of(host): {'resources': use}},
            'project_id': PROJECT,
            'user_id': USER,
            'consumer_type': CONSUMER_TYPE,
            'consumer_generation': generation,
        },
    )


def _life_of_a_server(n: int) -> Mapping[str, Request]:
    """Claim on one host, move to another, release. All hosts but the last third take part."""
    source, target = 1 + (2 * n) % 600, 2 + (2 * n) % 600
    consumer = f'new{n}'
    return {
        'claim': _claim(consumer, f'host{source}', None),
        'move': _claim(consumer, f'host{target}', 1),
        'release': Request('DELETE', f'/allocations/{uuid_of(consumer)}'),
    }


def _put_inventories(n: int) -> Request:
    """Each host of the last third once, since the generation must be known."""
    if n >= 300:
        raise ValueError('there are no more hosts of known generation')
    inventories = {
        name: {'total': total + 1, 'max_unit': total, 'allocation_ratio': ratio}
        for name, (total, ratio) in HOST_INVENTORY.items()
    }
    body = {'resource_provider_generation': GENERATION, 'inventories': inventories}
    return Request('PUT', f'/resource_providers/{uuid_of(f"host{700 + n}")}/inventories', body)


def _load_claim(n: int) -> Request:
    # 7919 is prime: neighbours in time are on different hosts, and each host has its turn. They fit by the hundred.
    host = 1 + n * 7919 % FLAT[1_000].hosts
    return _claim(f'load{n}', f'host{host}', None, {'VCPU': 1, 'MEMORY_MB': 512, 'DISK_GB': 1})


_FOUR_GROUPS = (
    'resources=DISK_GB:100&resources_N=VCPU:4,MEMORY_MB:16384&resources_A=SRIOV_NET_VF:1&resources_B=SRIOV_NET_VF:1'
    '&group_policy=none&limit=1000'
)
_DEVICES = '&'.join(f'resources{number}=SRIOV_NET_VF:1' for number in range(1, 9))
_EIGHT_GROUPS = f'resources={RESOURCES}&{_DEVICES}&group_policy=none&limit=1000'

WORKS: tuple[Work, ...] = (
    _read(
        'candidates, 1,000 flat hosts, limit=1000, trait',
        FLAT[1_000],
        25,
        lambda n: _candidates(f'resources={RESOURCES}&required={TRAIT}&limit=1000'),
    ),
    _provider('GET provider', 2, ''),
    _provider('GET inventories', 2, '/inventories'),
    _provider('GET provider traits', 2, '/traits'),
    _read(
        'GET in_tree',
        FLAT[1_000],
        2,
        lambda n: Request('GET', f'/resource_providers?in_tree={uuid_of(f"host{_host(n)}")}'),
    ),
    _provider('GET usages', 2, '/usages'),
    _provider('GET provider allocations, 20 servers', 10, '/allocations'),
    _read('GET /traits', FLAT[1_000], 10, lambda n: Request('GET', '/traits')),
    _read('GET all providers, 1,000', FLAT[1_000], 10, lambda n: Request('GET', '/resource_providers')),
    Work(FLAT[1_000], _life_of_a_server, {'claim': 3, 'move': 3, 'release': 3}),
    _read('PUT inventories', FLAT[1_000], 3, _put_inventories),
    _read(
        'candidates, 10,000 hosts, nothing fits',
        FLAT[10_000],
        50,
        lambda n: _candidates(f'resources=VCPU:4,MEMORY_MB:{TOO_MUCH_MEMORY}&limit=1000'),
    ),
    _read(
        'candidates, 10,000 hosts, more than any host has',
        FLAT[10_000],
        None,
        lambda n: _candidates('resources=VCPU:1000000&limit=1000'),
    ),
    _read(
        'candidates, 1,000 nested hosts, four groups, limit=1000',
        NESTED,
        60,
        lambda n: _candidates(_FOUR_GROUPS),
    ),
    _read(
        'candidates, a host of 64 PFs × 8 VFs, eight groups, limit=1000, at most 100,000',
        WIDE,
        100,
        lambda n: _candidates(_EIGHT_GROUPS),
    ),
    _read(
        'candidates, the same, at most 1,000',
        WIDE_TIGHT,
        None,
        lambda n: _candidates(_EIGHT_GROUPS),
    ),
)

LOADS = (Load('claims per second, 16 clients, 1,000 hosts', FLAT[1_000], 16, 3, _load_claim),)

# How the cost grows: the same request on clouds of all sizes.
CURVE_BARS = {(10_000, 1_000): 100, (10_000, 10): 300}
CURVE: tuple[Work, ...] = tuple(
    _read(
        f'candidates, {hosts:,} flat hosts, limit={limit}',
        cloud,
        CURVE_BARS.get((hosts, limit)),
        # The default binds `limit` now.
        lambda n, limit=limit: _candidates(f'resources={RESOURCES}&limit={limit}'),  # type: ignore[misc]
        alone=hosts > 10_000,
    )
    for hosts, cloud in FLAT.items()
    for limit in (1_000, 10)
)
