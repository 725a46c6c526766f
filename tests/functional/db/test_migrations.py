"""The chain of schema revisions (contract: service.md 1.2 to 1.5)."""

import contextlib
import datetime
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import autogenerate
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from placement.db import engine as db_engine
from placement.db import migration, tables
from placement.db.revision import HEAD as KNOWN_HEAD
from tests import databases, service
from tests.functional.db.conftest import Command, dump

CHAIN = ['b4ed3a175331', '611cd6dffd7b', 'b5c396305c25', '422ece571366', 'a082b8bb98d0']
HEAD = CHAIN[-1]
NOW = datetime.datetime(2026, 11, 30, 12)


def insert(database: databases.Database, table: sa.Table, **values: object) -> None:
    with database.engine.begin() as connection:
        connection.execute(table.insert().values(values))


def insert_provider(database: databases.Database, identity: int, root: int | None, parent: int | None = None) -> None:
    insert(
        database,
        tables.resource_providers,
        id=identity,
        uuid=str(identity),
        name=f'host{identity}',
        generation=0,
        root_provider_id=root,
        parent_provider_id=parent,
    )


def insert_allocation(database: databases.Database, consumer: str, resource_class: int = 0) -> None:
    insert(
        database,
        tables.allocations,
        resource_provider_id=1,
        consumer_id=consumer,
        resource_class_id=resource_class,
        used=1,
    )


def unnumbered(schema: dict[str, list[str]]) -> dict[str, list[str]]:
    """A dump without the numbers that MariaDB gives to unnamed foreign keys, in the order in which it gets them."""
    return {table: sorted(re.sub(r'_ibfk_\d', '_ibfk', part) for part in parts) for table, parts in schema.items()}


def recorded(database: databases.Database) -> list[str]:
    return [row[0] for row in database.rows('SELECT version_num FROM alembic_version')]


def test_the_chain() -> None:
    directory = Path(migration.__file__).parent / 'migrations'
    scripts = list(ScriptDirectory(str(directory)).walk_revisions())
    assert [script.revision for script in reversed(scripts)] == CHAIN
    assert [script.down_revision for script in reversed(scripts)] == [None, *CHAIN[:-1]]
    assert CHAIN[-1] == KNOWN_HEAD


@pytest.mark.usefixtures('engine')
class TestUpgrade:
    @pytest.mark.parametrize('empty_database', ['sqlite', 'mariadb', 'mariadb-utf8mb4'], indirect=True)
    def test_head_is_what_the_code_expects(
        self, empty_database: databases.Database, another_database: databases.Database
    ) -> None:
        migration.upgrade()
        assert recorded(empty_database) == [HEAD]
        tables.metadata.create_all(another_database.engine)
        assert dump(empty_database).keys() == tables.metadata.tables.keys()
        assert unnumbered(dump(empty_database)) == unnumbered(dump(another_database))
        with empty_database.engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={'compare_server_default': True})
            assert autogenerate.compare_metadata(context, tables.metadata) == []

    def test_columns_are_in_the_order_of_the_contract(self, empty_database: databases.Database) -> None:
        migration.upgrade()
        inspector = sa.inspect(empty_database.engine)
        for name, table in tables.metadata.tables.items():
            assert [column['name'] for column in inspector.get_columns(name)] == list(table.columns.keys())

    @pytest.mark.parametrize('start', CHAIN[:-1])
    def test_any_older_revision_becomes_the_same_and_keeps_its_rows(
        self, empty_database: databases.Database, another_database: databases.Database, start: str
    ) -> None:
        migration.upgrade(start)
        assert recorded(empty_database) == [start]
        insert_provider(empty_database, 1, root=1)
        insert_provider(empty_database, 2, root=1, parent=1)
        insert(empty_database, tables.projects, id=1, external_id='project', created_at=NOW)
        insert(empty_database, tables.users, id=1, external_id='user')
        insert(empty_database, tables.consumers, id=7, uuid='c', project_id=1, user_id=1, generation=3, created_at=NOW)
        insert_allocation(empty_database, 'c')
        migration.upgrade()
        assert recorded(empty_database) == [HEAD]
        assert empty_database.rows('SELECT id, uuid, generation, consumer_type_id FROM consumers') == [
            (7, 'c', 3, None)
        ]
        with empty_database.engine.connect() as connection:
            assert connection.scalar(sa.select(tables.consumers.c.created_at)) == NOW
        assert empty_database.rows('SELECT id, parent_provider_id FROM resource_providers ORDER BY id') == [
            (1, None),
            (2, 1),
        ]
        migrate(another_database)
        assert dump(empty_database) == dump(another_database)

    def test_at_head_nothing_happens(self, empty_database: databases.Database) -> None:
        migration.upgrade()
        before = dump(empty_database)
        migration.upgrade()
        assert dump(empty_database) == before

    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    def test_the_result_has_the_character_set_of_the_database(self, empty_database: databases.Database) -> None:
        empty_database.execute('ALTER DATABASE empty CHARACTER SET latin1')
        migration.upgrade()
        collations = empty_database.rows(
            "SELECT DISTINCT table_collation FROM information_schema.tables WHERE table_schema = 'empty'"
        )
        assert collations == [('latin1_swedish_ci',)]

    @pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)
    def test_a_revision_that_fails_half_way_leaves_no_trace_on_sqlite(self, empty_database: databases.Database) -> None:
        migration.upgrade('b5c396305c25')
        before = dump(empty_database)
        # The last statement of the next revision fails.
        empty_database.execute('CREATE TABLE clash (id INTEGER)')
        empty_database.execute('CREATE INDEX consumers_consumer_type_id_idx ON clash (id)')
        with pytest.raises(Exception, match='consumers_consumer_type_id_idx already exists'):
            migration.upgrade()
        empty_database.execute('DROP TABLE clash')
        assert recorded(empty_database) == ['b5c396305c25']
        assert dump(empty_database) == before
        migration.upgrade()

    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    def test_interrupted_revisions_go_on_where_they_were(
        self, empty_database: databases.Database, another_database: databases.Database
    ) -> None:
        """MariaDB commits each statement that changes the schema. Here each attempt dies after one of them."""
        migration.upgrade('b5c396305c25')
        changes: list[str] = []

        def die_after_one(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            if statement.lstrip().startswith(('CREATE', 'ALTER', 'DROP')):
                if changes:
                    raise ConnectionResetError
                changes.append(statement)

        sa.event.listen(db_engine.get_engine(), 'before_cursor_execute', die_after_one)
        # A table, a column, a foreign key and an index come, five indexes go.
        for attempt in range(9):
            assert (attempt, migration.version() == HEAD) == (attempt, False)
            changes.clear()
            with contextlib.suppress(ConnectionResetError):
                migration.upgrade()
        assert migration.version() == HEAD
        migrate(another_database)
        assert dump(empty_database) == dump(another_database)

    def test_tables_without_a_recorded_revision_are_refused_before_anything_is_done(
        self, empty_database: databases.Database
    ) -> None:
        empty_database.execute('CREATE TABLE users (id INTEGER PRIMARY KEY)')
        with pytest.raises(migration.MigrationError, match='users.*db stamp'):
            migration.upgrade()
        assert set(sa.inspect(empty_database.engine).get_table_names()) - {'alembic_version'} == {'users'}

    def test_tables_of_others_do_not_matter(self, empty_database: databases.Database) -> None:
        empty_database.execute('CREATE TABLE something_else (id INTEGER PRIMARY KEY)')
        migration.upgrade()
        assert recorded(empty_database) == [HEAD]

    def test_an_unknown_recorded_revision_is_refused(self, empty_database: databases.Database) -> None:
        migration.upgrade()
        empty_database.execute("UPDATE alembic_version SET version_num = 'newer'")
        with pytest.raises(CommandError, match="Can't locate revision identified by 'newer'"):
            migration.upgrade()
        assert migration.version() == 'newer'


@pytest.mark.usefixtures('engine')
class TestBlockers:
    def test_missing_roots(self, empty_database: databases.Database) -> None:
        migration.upgrade('b4ed3a175331')
        insert_provider(empty_database, 1, root=None)
        with pytest.raises(migration.MigrationError, match='missing its root provider id') as caught:
            migration.upgrade()
        assert 'placement-manage db online_data_migrations' in str(caught.value)
        assert recorded(empty_database) == ['b4ed3a175331']
        empty_database.execute('UPDATE resource_providers SET root_provider_id = id')
        migration.upgrade()
        assert recorded(empty_database) == [HEAD]

    def test_missing_consumers(self, empty_database: databases.Database) -> None:
        migration.upgrade('b4ed3a175331')
        insert_allocation(empty_database, 'c')
        insert_allocation(empty_database, 'c', resource_class=1)
        with pytest.raises(migration.MigrationError, match='of 1 consumer.*missing a consumer record') as caught:
            migration.upgrade()
        assert 'placement-manage db online_data_migrations' in str(caught.value)
        # What was done before the blocker stays done.
        assert recorded(empty_database) == ['611cd6dffd7b']


@pytest.mark.usefixtures('engine')
class TestVersionAndStamp:
    def test_no_version(self) -> None:
        assert migration.version() is None

    def test_stamp(self, empty_database: databases.Database) -> None:
        for given, expected in [('b4ed3', 'b4ed3a175331'), ('422ece571366', '422ece571366'), ('head', HEAD)]:
            migration.stamp(given)
            assert migration.version() == expected
        migration.stamp('base')
        assert migration.version() is None
        assert recorded(empty_database) == []
        assert sa.inspect(empty_database.engine).get_table_names() == ['alembic_version']

    @pytest.mark.parametrize('revision', ['nonsense', '-1'])
    def test_an_unknown_revision_is_refused(self, revision: str) -> None:
        with pytest.raises(CommandError, match=f"Can't locate revision identified by '{revision}'"):
            migration.stamp(revision)
        assert migration.version() is None

    def test_no_revision_is_refused(self) -> None:
        with pytest.raises(migration.MigrationError, match='empty'):
            migration.stamp('')
        assert migration.version() is None

    def test_stamping_is_refused_when_the_recorded_revision_is_unknown(
        self, empty_database: databases.Database
    ) -> None:
        migration.stamp('head')
        empty_database.execute("UPDATE alembic_version SET version_num = 'newer'")
        with pytest.raises(CommandError, match="Can't locate revision identified by 'newer'"):
            migration.stamp('head')


class TestSeveralAtOnce:
    @pytest.mark.parametrize('empty_database', ['sqlite', 'mariadb'], indirect=True)
    def test_all_succeed(
        self, empty_database: databases.Database, another_database: databases.Database, manage: Command
    ) -> None:
        processes = [manage.start('db', 'sync') for _ in range(4)]
        outcomes = [(process.communicate(timeout=90), process.wait()) for process in processes]
        assert outcomes == [(('', ''), 0)] * 4
        assert recorded(empty_database) == [HEAD]
        migrate(another_database)
        assert dump(empty_database) == dump(another_database)

    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    def test_the_others_wait_and_the_lock_dies_with_its_holder(
        self, empty_database: databases.Database, manage: Command
    ) -> None:
        with empty_database.engine.connect() as holder:
            assert holder.scalar(sa.text("SELECT GET_LOCK('placement.migration.empty', 0)")) == 1
            waiting = manage.start('db', 'sync')
            with pytest.raises(subprocess.TimeoutExpired):
                waiting.wait(timeout=4)
            assert sa.inspect(empty_database.engine).get_table_names() == []
        assert waiting.communicate(timeout=60) == ('', '')
        assert waiting.returncode == 0
        assert recorded(empty_database) == [HEAD]


@pytest.mark.parametrize('empty_database', ['sqlite', 'mariadb'], indirect=True)
def test_the_reference_makes_the_same_schema(
    empty_database: databases.Database, another_database: databases.Database, reference_python: str
) -> None:
    subprocess.run(
        [str(Path(reference_python).parent / 'placement-manage'), 'db', 'sync'],
        env=dict(os.environ, OS_PLACEMENT_DATABASE__CONNECTION=empty_database.url),
        check=True,
        timeout=60,
    )
    migrate(another_database)
    assert dump(another_database) == dump(empty_database)
    assert recorded(another_database) == recorded(empty_database)


@pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)
def test_the_alembic_program_works_by_hand(empty_database: databases.Database, tmp_path: Path) -> None:
    ini = Path(migration.__file__).parent / 'sqlalchemy/alembic.ini'
    environment = dict(os.environ, HOME=str(tmp_path), OS_PLACEMENT_DATABASE__CONNECTION=empty_database.url)
    program = Path(sys.executable).parent / 'alembic'
    subprocess.run([program, '-c', ini, 'upgrade', 'head'], env=environment, check=True, timeout=60)
    subprocess.run([program, '-c', ini, 'check'], env=environment, check=True, timeout=60)
    offline = subprocess.run(
        [program, '-c', ini, 'upgrade', 'head', '--sql'], env=environment, capture_output=True, text=True, timeout=60
    )
    assert offline.returncode != 0
    assert 'cannot be written out as SQL' in offline.stderr
    assert recorded(empty_database) == [HEAD]


def migrate(database: databases.Database, revision: str = 'head') -> None:
    """Migrate a database that the engine of this process need not point at."""
    with service.engine_on(service.configuration(database.url)):
        migration.upgrade(revision)
