"""Connections are kept between requests; what happens to one that waits in the pool is never seen by clients."""

import shutil
import threading
import uuid
from pathlib import Path

import pytest

from placement.db import engine
from tests import databases
from tests.client import Client
from tests.statements import counted


@pytest.fixture
def host(client: Client) -> str:
    return client.must('POST', '/resource_providers', {'name': 'host'}).json()['uuid']


def fill_pool(client: Client, count: int = 4) -> None:
    """Have requests use so many connections at once that the pool keeps several."""
    together = threading.Barrier(count)

    def work(connection):
        connection.exec_driver_sql('SELECT 1')
        together.wait(timeout=10)

    threads = [threading.Thread(target=engine.read, args=[work]) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def kill_connections(database: databases.Database) -> int:
    """End all connections of the service at the server's side; returns how many there were."""
    name = database.url.rpartition('/')[2]
    rows = database.rows(
        'SELECT id FROM information_schema.processlist WHERE db = :name AND id <> CONNECTION_ID()', name=name
    )
    for row in rows:
        database.execute(f'KILL {row.id}')
    return len(rows)


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
class TestKilled:
    def test_reads_go_on(self, database, client, host):
        fill_pool(client)
        assert kill_connections(database) >= 4
        assert client.call('GET', f'/resource_providers/{host}').status_code == 200

    def test_writes_go_on(self, database, client, host):
        fill_pool(client)
        assert kill_connections(database) >= 4
        assert client.call('PUT', f'/resource_providers/{host}', {'name': 'renamed'}).status_code == 200
        assert [row.name for row in database.rows('SELECT name FROM resource_providers')] == ['renamed']

    def test_a_lost_connection_is_no_attempt(self, conf, database, client, host):
        """Not even where the operator allows but one."""
        conf.set_override('allocation_conflict_retry_count', 1, group='placement')
        inventories = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 8}}}
        client.must('PUT', f'/resource_providers/{host}/inventories', inventories)
        claim = {
            'allocations': {host: {'resources': {'VCPU': 1}}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_generation': None,
            'consumer_type': 'INSTANCE',
        }
        assert kill_connections(database) >= 1
        assert client.call('PUT', f'/allocations/{uuid.uuid4()}', claim).status_code == 204
        assert [row.used for row in database.rows('SELECT used FROM allocations')] == [1]

    def test_killed_within_a_transaction(self, database, client, host):
        """Nothing of it is there, so that it is done again."""
        tries = []

        def work(connection):
            tries.append(connection.exec_driver_sql('SELECT CONNECTION_ID()').scalar())
            connection.exec_driver_sql("UPDATE resource_providers SET name = CONCAT(name, '!')")
            if len(tries) == 1:
                database.execute(f'KILL {tries[0]}')
            connection.exec_driver_sql('SELECT 1')

        engine.write(work)
        assert len(set(tries)) == 2
        assert [row.name for row in database.rows('SELECT name FROM resource_providers')] == ['host!']


class TestKept:
    def test_connections_are_kept_and_clean(self, client, host):
        """One request after the other uses one connection, and finds no transaction of the one before."""
        seen = set()
        for _ in range(3):
            client.must('GET', f'/resource_providers/{host}')
            client.must('PUT', f'/resource_providers/{host}', {'name': 'host'})
            of_nobody = {'name': 'host', 'parent_provider_uuid': str(uuid.uuid4())}
            assert client.call('PUT', f'/resource_providers/{host}', of_nobody).status_code == 400
            engine.read(lambda connection: seen.add(id(connection.connection.dbapi_connection)))
        assert len(seen) == 1

    def test_a_failed_write_leaves_nothing_behind(self, database, client, host):
        def work(connection):
            connection.exec_driver_sql("UPDATE resource_providers SET name = 'gone'")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            engine.write(work)
        assert client.must('GET', f'/resource_providers/{host}').json()['name'] == 'host'
        assert [row.name for row in database.rows('SELECT name FROM resource_providers')] == ['host']

    def test_a_read_of_one_statement_is_one_statement(self, client, host):
        with counted() as statements:
            client.must('GET', f'/resource_providers/{host}')
        assert [text.split()[0] for text in statements.texts] == ['SELECT']

    def test_one_word_begins_a_transaction_and_one_ends_it(self, client, host):
        with counted() as statements:
            engine.read(lambda connection: connection.exec_driver_sql('SELECT 1'))
        assert statements.texts == ['BEGIN', 'SELECT 1', 'ROLLBACK']
        with counted() as statements:
            client.must('PUT', f'/resource_providers/{host}', {'name': 'host'})
        assert (statements.texts[0].partition(' ')[0], statements.texts[-1]) == ('BEGIN', 'COMMIT')
        assert 'ROLLBACK' not in statements.texts


@pytest.fixture
def read_committed(database):
    """Transactions of new connections see what others commit meanwhile."""
    database.execute('SET GLOBAL TRANSACTION ISOLATION LEVEL READ COMMITTED')
    yield
    database.execute('SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ')


@pytest.mark.usefixtures('read_committed')
@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_a_read_is_one_snapshot_on_any_server(database, client, host):
    def work(connection):
        seen = []
        for name in ('first', 'second'):
            seen.append(connection.exec_driver_sql('SELECT name FROM resource_providers').scalar())
            database.execute('UPDATE resource_providers SET name = :name', name=name)
        return seen

    assert engine.read(work) == ['host', 'host']


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_a_restored_file_is_seen(database, client, host, tmp_path):
    path = Path(database.url.removeprefix('sqlite:///'))
    database.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    shutil.copyfile(path, tmp_path / 'backup')
    client.must('PUT', f'/resource_providers/{host}', {'name': 'renamed'})
    database.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    (tmp_path / 'backup').replace(path)
    assert client.must('GET', f'/resource_providers/{host}').json()['name'] == 'host'
