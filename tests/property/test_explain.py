"""What `placement-manage explain` says fits is what the solver returns, on random clouds and queries."""

from urllib.parse import parse_qsl

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import given

from placement import solver
from placement.operator import explain
from placement.solver.plan import Chances
from placement.solver.solve import Search, Settings
from tests.case_loader import build_sql
from tests.property.clouds import Scenario, scenarios

pytestmark = pytest.mark.timeout(3600)  # at night


@given(scenarios())
def test_explain(engine: sa.Engine, scenario: Scenario) -> None:
    query = scenario.query.without('limit')
    wanted = solver.query.parse(parse_qsl(query.text), (1, query.minor))
    world = scenario.world
    roots = sorted(set(world.roots.values()))
    with engine.connect() as connection:
        build_sql(connection, world)
        returned = {
            world.roots[uuid] for candidate in solver.candidates(connection, wanted) for uuid in candidate.allocations
        }
        found = explain.explain(connection, wanted, hosts=roots)
        survey = explain.Survey(connection, wanted)
        connection.rollback()
    assert set(found.fitting) == returned
    assert [host.uuid for host in found.hosts] == roots
    for host in found.hosts:
        assert host.fits == (host.uuid in returned)
        assert host.fits or host.reasons, host
    assert found.funnel[-1].trees == len(returned)
    check_conditions(wanted, survey)


def check_conditions(query: solver.CandidateQuery, survey: explain.Survey) -> None:
    """What the conditions of the groups leave over is what the solver starts its search with."""
    if survey.plan is None:
        assert not survey.fitting().any()
        return
    chances = Chances(survey.plan, survey.usage.used)
    near = [mask for state in survey.states for mask in state.near]
    far = [mask for state in survey.states for mask in state.far]
    for mine, theirs in zip(near, chances.near, strict=True):
        assert np.array_equal(mine, theirs)
    for mine, theirs in zip(far, chances.far, strict=True):
        assert np.array_equal(mine, theirs & survey.cloud.sharing)
    anchored = Search(query, survey.plan, survey.usage, Settings()).anchored()
    for state in survey.states:
        assert not (anchored & ~state.trees).any()
