"""Migrations of data while the service runs (contract: service.md 1.6)."""

import pytest

from placement.db import migration, online_migrations
from tests import databases, service, statements
from tests.functional.db.test_migrations import insert_allocation, insert_provider

PROJECT = USER = '00000000-0000-0000-0000-000000000000'

pytestmark = pytest.mark.usefixtures('engine')


@pytest.fixture(params=['b4ed3a175331', 'head'], autouse=True)
def schema(request: pytest.FixtureRequest, engine: None) -> None:
    """They run at the first revision and at the last."""
    migration.upgrade(request.param)


def run(migrate: online_migrations.Migration, database: databases.Database, count: int = 50) -> int:
    return migrate(service.configuration(database.url), count)


def roots(database: databases.Database) -> dict[int, int | None]:
    return dict(tuple(row) for row in database.rows('SELECT id, root_provider_id FROM resource_providers ORDER BY id'))


class TestRoots:
    migrate = staticmethod(online_migrations.set_root_provider_ids)

    def test_a_provider_without_a_parent_becomes_its_own_root(self, empty_database: databases.Database) -> None:
        insert_provider(empty_database, 1, root=None)
        insert_provider(empty_database, 2, root=2)
        assert run(self.migrate, empty_database) == 1
        assert roots(empty_database) == {1: 1, 2: 2}
        updated = empty_database.rows('SELECT id FROM resource_providers WHERE updated_at IS NOT NULL')
        assert updated == [(1,)]
        assert run(self.migrate, empty_database) == 0

    def test_batches(self, empty_database: databases.Database) -> None:
        for identity in range(1, 6):
            insert_provider(empty_database, identity, root=None)
        assert [run(self.migrate, empty_database, count=2) for _ in range(4)] == [2, 2, 1, 0]

    def test_a_child_gets_the_root_of_its_tree(self, empty_database: databases.Database) -> None:
        """Not itself: it would be a root with a parent."""
        insert_provider(empty_database, 3, root=None)
        insert_provider(empty_database, 2, root=None, parent=3)
        insert_provider(empty_database, 1, root=None, parent=2)
        insert_provider(empty_database, 4, root=3, parent=3)
        insert_provider(empty_database, 5, root=None, parent=4)
        changed = [run(self.migrate, empty_database) for _ in range(4)]
        assert changed == [2, 1, 1, 0]
        assert set(roots(empty_database).values()) == {3}

    @pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)
    def test_a_child_whose_parent_is_gone_becomes_its_own_root(self, empty_database: databases.Database) -> None:
        insert_provider(empty_database, 1, root=None, parent=77)
        assert run(self.migrate, empty_database) == 1
        assert roots(empty_database) == {1: 1}


class TestConsumers:
    migrate = staticmethod(online_migrations.create_incomplete_consumers)

    def consumers(self, database: databases.Database) -> list[tuple[object, ...]]:
        return [
            tuple(row)
            for row in database.rows(
                'SELECT consumers.uuid, consumers.generation, projects.external_id, users.external_id FROM consumers '
                'JOIN projects ON projects.id = project_id JOIN users ON users.id = user_id ORDER BY consumers.uuid'
            )
        ]

    def test_a_consumer_with_two_classes_is_created_once(self, empty_database: databases.Database) -> None:
        insert_allocation(empty_database, 'a', resource_class=0)
        insert_allocation(empty_database, 'a', resource_class=1)
        assert run(self.migrate, empty_database) == 1
        assert run(self.migrate, empty_database) == 0
        assert self.consumers(empty_database) == [('a', 0, PROJECT, USER)]
        assert empty_database.rows('SELECT id FROM consumers WHERE created_at IS NULL') == []

    def test_batches_and_existing_consumers(self, empty_database: databases.Database) -> None:
        for consumer in 'abcde':
            insert_allocation(empty_database, consumer)
        assert [run(self.migrate, empty_database, count=2) for _ in range(4)] == [2, 2, 1, 0]
        assert [consumer[0] for consumer in self.consumers(empty_database)] == list('abcde')

    def test_the_project_and_user_are_options_and_made_even_if_nothing_else_is(
        self, empty_database: databases.Database
    ) -> None:
        conf = service.configuration(empty_database.url)
        conf.set_override('incomplete_consumer_project_id', 'p', group='placement')
        conf.set_override('incomplete_consumer_user_id', 'u', group='placement')
        for _ in range(2):
            assert self.migrate(conf, 50) == 0
        assert empty_database.rows('SELECT external_id FROM projects') == [('p',)]
        assert empty_database.rows('SELECT external_id FROM users') == [('u',)]


@pytest.mark.parametrize('migrate', online_migrations.MIGRATIONS)
@pytest.mark.parametrize('number', [1, 40])
def test_the_number_of_statements_is_fixed(
    empty_database: databases.Database, migrate: online_migrations.Migration, number: int
) -> None:
    for identity in range(1, number + 1):
        insert_provider(empty_database, identity, root=None)
        insert_allocation(empty_database, str(identity))
    with statements.counted() as counted:
        assert run(migrate, empty_database) == number
    assert len(counted) <= 5
