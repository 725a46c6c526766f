"""The service outlives its database: it starts without one, tells clients and its log, and recovers by itself."""

import tempfile
import time
from pathlib import Path

import pytest

from tests import databases, live, processes
from tests.client import Client

PASSWORD = 'unutterable'


@pytest.fixture
def mariadb_folder():
    """The data of a MariaDB server that is not started."""
    if missing := databases.missing_mariadb():
        pytest.skip(missing)
    with tempfile.TemporaryDirectory(prefix='placement-mariadb-') as folder:
        databases.install_mariadb(Path(folder))
        yield Path(folder)


def wait_for_success(client, seconds=15):
    deadline = time.monotonic() + seconds
    while not (answer := client.call('GET', '/resource_providers')).is_success:
        assert answer.status_code == 503, answer.text
        assert time.monotonic() < deadline, answer.text
        time.sleep(0.2)


def refused(client, method, path, json=None):
    answer = client.call(method, path, json)
    assert answer.status_code == 503, answer.text
    assert answer.headers['retry-after'] == '1'
    assert answer.headers['openstack-api-version'] == 'placement 1.39'
    (error,) = answer.json()['errors']
    assert 'The database of the service is not available at present. Please try again.' in error['detail']
    return answer


def test_database_comes_goes_and_comes_back(mariadb_folder, tmp_path):
    server = databases.MariaDB(processes.free_port())
    url = server.url('placement').replace('root@', f'placement:{PASSWORD}@')
    with live.serve(url, tmp_path, workers=2) as address:
        client = Client.of_url(address)
        log = tmp_path / 'server.log'

        # Not there at the start of the service.
        assert client.call('GET', '/', token=None).status_code == 200
        assert client.call('GET', '/resource_providers', token=None).status_code == 401
        request = refused(client, 'GET', '/resource_providers').headers['x-openstack-request-id']
        cause = next(line for line in log.read_text().splitlines() if f' {request} ' in line and ' ERROR ' in line)
        assert "Can't connect to MySQL server on '127.0.0.1'" in cause

        # It comes, but knows neither user nor database; then both, and the service makes the schema.
        with databases.run_mariadb(server, mariadb_folder):
            refused(client, 'GET', '/resource_providers')
            assert "Access denied for user 'placement'@'" in log.read_text()
            administrator = databases.Database('mariadb', server.create('placement'))
            administrator.execute(f"GRANT ALL ON placement.* TO placement@'%' IDENTIFIED BY '{PASSWORD}'")
            wait_for_success(client)
            client.must('POST', '/resource_providers', {'name': 'before'})

        # It goes while the service runs.
        refused(client, 'GET', '/resource_providers')
        started = time.monotonic()
        refused(client, 'POST', '/resource_providers', {'name': 'meanwhile'})
        assert time.monotonic() - started < 20

        # It is back: connections of the pool that died with it are replaced, and nobody sees one.
        with databases.run_mariadb(server, mariadb_folder):
            for _ in range(20):
                providers = client.must('GET', '/resource_providers').json()['resource_providers']
                assert [provider['name'] for provider in providers] == ['before']
            client.must('POST', '/resource_providers', {'name': 'after'})
        assert PASSWORD not in log.read_text()


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_killed_connections_are_replaced(database, tmp_path):
    with live.serve(database.url, tmp_path) as address:
        client = Client.of_url(address)
        client.must('POST', '/resource_providers', {'name': 'host'})
        own = 'SELECT id FROM information_schema.processlist WHERE db = :name AND id <> CONNECTION_ID()'
        killed = [row.id for row in database.rows(own, name='placement')]
        assert killed
        for connection in killed:
            database.execute(f'KILL {connection}')
        for _ in range(5):
            client.must('GET', '/resource_providers')
        client.must('POST', '/resource_providers', {'name': 'host2'})
