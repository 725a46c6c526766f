"""The JSON body: what is in it, at every version, and that it is made in pieces."""

import json
import tracemalloc

import pytest

from placement import solver
from placement.solver import render
from tests.unit.solver.cloud import Cloud

MB = 10**6


def host(devices: int, units: int) -> Cloud:
    """One host with devices."""
    cloud = Cloud()
    root = cloud.add(VCPU=64, MEMORY_MB=1000)
    for _ in range(devices):
        cloud.add(root, CUSTOM_VF=units)
    return cloud


def groups(count: int, limit: int) -> str:
    asked = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, count + 1))
    return f'resources=VCPU:1,MEMORY_MB:1&{asked}&group_policy=none&limit={limit}'


def sent(result: solver.Result) -> tuple[int, int, int]:
    """The bytes of the body, of its largest chunk, and of the memory that they took at once."""
    total = largest = 0
    tracemalloc.start()
    try:
        for chunk in render.body(result):
            total += len(chunk)
            largest = max(largest, len(chunk))
        return total, largest, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ('cloud', 'query', 'least'),
    [
        (host(64, 8), groups(8, 100_000), 70 * MB),
        # Nearly every candidate shares providers among groups in a way of its own.
        (host(8, 8), groups(16, 10_000), 10 * MB),
    ],
    ids=['alike', 'unlike'],
)
def test_a_large_body_is_never_in_memory_as_a_whole(cloud: Cloud, query: str, least: int) -> None:
    total, largest, peak = sent(cloud.ask(query))
    assert total > least
    assert largest < 3 * render.CHUNK
    assert peak < 8 * MB


def test_many_summaries_are_made_in_pieces_too() -> None:
    cloud = Cloud()
    traits = [f'CUSTOM_TRAIT_{number}' for number in range(60)]
    for _ in range(5000):
        cloud.add(traits=traits, VCPU=8)
    result = cloud.ask('resources=VCPU:1')
    total, largest, peak = sent(result)
    assert total > 7 * MB
    assert largest < 2 * render.CHUNK
    assert peak < 6 * MB


@pytest.mark.parametrize('minor', [10, 12, 29, 34, 39])
def test_what_candidates_say(minor: int) -> None:
    """As the plain objects have it, whatever slots share a provider, over the borders of chunks."""
    result = host(8, 8).ask(groups(4, 3000) if minor >= 29 else 'resources=CUSTOM_VF:1', version=(1, minor))
    expected = []
    for candidate in result:
        amounts = {uuid: {'resources': resources} for uuid, resources in candidate.allocations.items()}
        entry: dict[str, object] = {'allocations': amounts}
        if minor < 12:
            entry = {'allocations': [{'resource_provider': {'uuid': uuid}, **part} for uuid, part in amounts.items()]}
        if minor >= 34:
            entry['mappings'] = candidate.mappings
        expected.append(entry)
    body = json.loads(b''.join(render.body(result)))
    assert body['allocation_requests'] == expected
    assert len(expected) > (2000 if minor >= 29 else 7)
    assert body['provider_summaries'] == render.summaries(result)


def test_summaries() -> None:
    cloud = Cloud()
    root = cloud.add(traits=['CUSTOM_B', 'CUSTOM_A'], VCPU=8, used={'VCPU': 3})
    child = cloud.add(root, MEMORY_MB=64)
    uuids = {number: provider.uuid for number, provider in cloud.providers.items()}
    assert render.summaries(cloud.ask('resources=VCPU:1')) == {
        uuids[root]: {
            'resources': {'VCPU': {'capacity': 8, 'used': 3}},
            'traits': ['CUSTOM_A', 'CUSTOM_B'],
            'parent_provider_uuid': None,
            'root_provider_uuid': uuids[root],
        },
        uuids[child]: {
            'resources': {'MEMORY_MB': {'capacity': 64, 'used': 0}},
            'traits': [],
            'parent_provider_uuid': uuids[root],
            'root_provider_uuid': uuids[root],
        },
    }
    old = cloud.ask('resources=VCPU:1,MEMORY_MB:1', version=(1, 10))
    assert render.summaries(old) == {}
    assert b''.join(render.body(old)) == b'{"allocation_requests":[],"provider_summaries":{}}'


def test_odd_names() -> None:
    """A database may hold anything."""
    cloud = Cloud()
    cloud.add(**{'CUSTOM_%s"\u20ac': 8})
    result = cloud.ask('resources=CUSTOM_%25s"\u20ac:1')
    raw = b''.join(render.body(result))
    assert raw.isascii()
    (request,) = json.loads(raw)['allocation_requests']
    assert list(request['allocations'].values()) == [{'resources': {'CUSTOM_%s"\u20ac': 1}}]
