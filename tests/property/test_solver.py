"""The solver finds what the oracle finds, on random clouds and queries (profiles: conftest.py).

Clouds are built in a SQLite database in memory, because the solver's way begins there; other databases are the
business of tests/functional/test_candidate_cases.py.
"""

import json
import math
import random
import re
from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

import pytest
import sqlalchemy as sa
from hypothesis import event, given
from hypothesis import strategies as st

from placement import solver
from tests.case_loader import World, build_sql, clear_sql, requests_of, summaries_of, summarised
from tests.property.clouds import Query, Scenario, scenarios, throw
from tests.property.oracle import Oracle

pytestmark = pytest.mark.timeout(6 * 3600)  # at night, on a busy machine
# fmt: off
WORDS = {
    'resources', 'resources<S>', 'required', 'required<S>', 'member_of', 'member_of<S>', 'in_tree', 'in_tree<S>',
    'root_required', 'same_subtree', 'group_policy', 'limit', 'isolate', 'any-of', 'forbidden trait',
    'forbidden aggregate', 'nested', 'old', 'several candidates', 'several trees',
}
# fmt: on


def solve(
    engine: sa.Engine, world: World, query: Query, settings: solver.Settings | None = None, seed: int = 0
) -> dict[str, Any]:
    """The body that the service would answer with."""
    wanted = solver.query.parse(parse_qsl(query.text, keep_blank_values=True), (1, query.minor))
    with engine.connect() as connection:
        build_sql(connection, world)
        result = solver.candidates(connection, wanted, settings, random.Random(seed))
        body: dict[str, Any] = json.loads(b''.join(solver.render.body(result)))
        connection.rollback()
    return body


@given(st.lists(scenarios(), min_size=2, max_size=3))
def test_mirror(engine: sa.Engine, sequence: list[Scenario]) -> None:
    """A topology that is kept while the cloud becomes another one is as good as a fresh one."""
    mirror = solver.Mirror()
    with engine.connect() as connection:
        for scenario in sequence:
            query = scenario.query.without('limit')
            clear_sql(connection)
            build_sql(connection, scenario.world)
            wanted = solver.query.parse(parse_qsl(query.text), (1, query.minor))
            body = json.loads(b''.join(solver.render.body(solver.candidates(connection, wanted, mirror=mirror))))
            expected = Oracle(scenario.world, query.text, query.minor).answer()
            assert sorted(requests_of(body)) == sorted(requests_of(expected))
            assert summaries_of(body) == summaries_of(expected)
        connection.rollback()


def trees_of(world: World, candidate: tuple[Any, Any]) -> int:
    """How many trees a candidate allocates from."""
    return len({world.roots[uuid] for uuid, _ in candidate[0]})


def limit_of(query: Query) -> float:
    return int(dict(query.pairs).get('limit', 0)) or math.inf


@given(scenarios())
def test_all(engine: sa.Engine, scenario: Scenario) -> None:
    """Without limit: the same candidates, as often, and the same summaries."""
    world, query = scenario.world, scenario.query.without('limit')
    expected = Oracle(world, query.text, query.minor).answer()
    found = len(expected['allocation_requests'])
    event('no candidate' if not found else 'one candidate' if found == 1 else 'several candidates')
    body = solve(engine, world, query)
    assert sorted(requests_of(body)) == sorted(requests_of(expected))
    assert summaries_of(body) == summaries_of(expected)
    forms = {type(item['allocations']) for item in body['allocation_requests']}
    assert forms <= {list if query.minor < 12 else dict}


@given(
    scenarios(),
    st.builds(
        solver.Settings,
        maximum=st.sampled_from([-1, 0, 1, 2, 3, 5, 1000]),
        breadth_first=st.booleans(),
        randomize=st.booleans(),
    ),
    st.integers(0, 3),
)
def test_part(engine: sa.Engine, scenario: Scenario, settings: solver.Settings, seed: int) -> None:
    """With limit, cap and random choice: as many of the oracle's candidates as there should be, and their summaries."""
    world, query = scenario.world, scenario.query
    full = Oracle(world, query.text, query.minor).answer()
    body = solve(engine, world, query, settings, seed)
    cap = math.inf if settings.maximum < 0 else max(settings.maximum, 1)
    found, everything = requests_of(body), requests_of(full)
    assert not Counter(map(repr, found)) - Counter(map(repr, everything))
    most = min(len(everything), limit_of(query), cap)
    # Before 1.29 candidates are dropped after the cap was applied.
    assert len(found) == most if query.minor >= 29 or cap == math.inf else len(found) <= most
    listed = set(body['provider_summaries'])
    if query.minor >= 29 or cap == math.inf:
        assert listed == summarised(world, query.minor, body, full)
    else:
        assert summarised(world, query.minor, body, body) <= listed <= summarised(world, query.minor, body, full)
    summaries = summaries_of(full)
    assert summaries_of(body) == {uuid: summaries[uuid] for uuid in listed}


@given(scenarios())
def test_order(engine: sa.Engine, scenario: Scenario) -> None:
    """The order is a matter of the cloud alone, and limit cuts it short."""
    world, query = scenario.world, scenario.query.without('limit')
    whole = requests_of(solve(engine, world, query))
    assert requests_of(solve(engine, world, query, seed=1)) == whole
    if query.minor >= 16:
        limited = Query(query.minor, (*query.pairs, ('limit', '2')))
        assert requests_of(solve(engine, world, limited)) == whole[:2]


def test_scenarios_are_of_use() -> None:
    """Every parameter is in many queries that have candidates, at old versions and new ones."""
    seen: Counter[str] = Counter()
    thrown = [scenario for scenario in map(throw, range(500)) if scenario]
    for scenario in thrown:
        query = scenario.query
        found = requests_of(Oracle(scenario.world, query.text, query.minor).answer())
        if found:
            words = {re.sub('(resources|required|member_of|in_tree).+', r'\1<S>', key) for key, _ in query.pairs}
            words |= {'any-of' for _, value in query.pairs if re.match('in:[A-Z]', value)}
            words |= {'forbidden trait' for key, value in query.pairs if 'required' in key and '!' in value}
            words |= {'forbidden aggregate' for key, value in query.pairs if 'member_of' in key and '!' in value}
            words |= {'isolate'} if ('group_policy', 'isolate') in query.pairs else set()
            words |= {'nested'} if any(provider.parent for provider in scenario.world.providers) else set()
            words |= {'old'} if query.minor < 29 else set()
            words |= {'several candidates'} if len(found) > 1 else set()
            words |= {'several trees'} if any(trees_of(scenario.world, one) > 1 for one in found) else set()
            seen.update(words)
    rare = {word: seen[word] for word in WORDS if seen[word] < 10}
    assert not rare
