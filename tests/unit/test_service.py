"""tests.service: what one test sets, another does not see."""

from tests import service


def test_configurations_share_nothing():
    first, second = service.configuration('sqlite:///first'), service.configuration('sqlite:///second')
    first.set_override('max_allocation_candidates', 7, group='placement')
    assert first.placement_database.connection == 'sqlite:///first'
    assert second.placement_database.connection == 'sqlite:///second'
    assert second.placement.max_allocation_candidates != 7
