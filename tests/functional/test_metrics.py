"""GET /metrics: off by default; what it counts, in one process and in several; that it tells no secrets."""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from oslo_config import cfg
from oslo_db import exception as db_exc
from prometheus_client import parser

from placement import config, metrics
from placement.db import engine
from tests import databases, live, processes, service, statements
from tests.claims import generation, new_uuid, provider, put, set_inventories
from tests.client import Client

ON_SQLITE = pytest.mark.parametrize('database', ['sqlite'], indirect=True)
NOBODY = {'token': None, 'version': None, 'headers': {'accept': 'text/plain'}}
PROVIDER = '/resource_providers/{uuid}'


class Scrape:
    """The numbers of an exposition."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in parser.text_string_to_metric_families(text)}
        self.samples = [sample for family in self.families.values() for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float | None:
        """The value of a sample; None if there is none."""
        found = [sample.value for sample in self.samples if (sample.name, sample.labels) == (name, labels)]
        assert len(found) < 2
        return found[0] if found else None


def scrape(client: Client) -> Scrape:
    response = client.must('GET', '/metrics', **NOBODY)
    assert response.headers['content-type'].startswith('text/plain')
    return Scrape(response.text)


def test_off_by_default(client: Client) -> None:
    assert client.call('GET', '/metrics').status_code == 404
    assert client.call('GET', '/metrics', **NOBODY).status_code == 401


def test_the_library_is_not_imported_when_it_is_off(tmp_path: Path) -> None:
    code = 'import sys, placement.wsgi.api; print([name for name in sys.modules if "prometheus" in name])'
    environment = live.configure(f'sqlite:///{tmp_path}/placement.sqlite', tmp_path)
    environment['PYTHONPATH'] = str(live.CHECKOUT)
    done = subprocess.run([sys.executable, '-c', code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == '[]'


class TestOn:
    @pytest.fixture
    def conf(self, conf: cfg.ConfigOpts) -> Iterator[cfg.ConfigOpts]:
        conf.set_override('enabled', True, group='metrics')
        yield conf
        conf.set_override('enabled', False, group='metrics')
        metrics.start(conf)

    def test_requests_by_route_method_and_status(self, client: Client) -> None:
        secret = new_uuid()
        client.call('GET', f'/resource_providers/{secret}')
        client.call('GET', f'/resource_providers/{secret}', token=None)
        client.call('PATCH', f'/resource_providers/{secret}')
        client.call('BREW', f'/resource_providers/{secret}')
        client.call('GET', f'/no/{secret}')
        client.must('GET', '/resource_providers')
        client.must('GET', '/resource_providers')
        found = scrape(client)
        for method, route, status, count in (
            ('GET', PROVIDER, '404', 1),
            ('GET', PROVIDER, '401', 1),
            ('PATCH', PROVIDER, '405', 1),
            ('other', PROVIDER, '405', 1),
            ('GET', 'other', '404', 1),
            ('GET', '/resource_providers', '200', 2),
        ):
            assert found('placement_requests_total', method=method, route=route, status=status) == count
        name = 'placement_request_duration_seconds'
        assert found(f'{name}_count', method='GET', route='/resource_providers') == 2
        assert found(f'{name}_bucket', method='GET', route='/resource_providers', le='+Inf') == 2
        whole = found(f'{name}_sum', method='GET', route='/resource_providers')
        parts = {
            sample.labels['part']: sample.value
            for sample in found.families['placement_request_part_seconds'].samples
            if sample.labels['route'] == '/resource_providers' and sample.name.endswith('_total')
        }
        assert parts.keys() == {'database', 'encode', 'other'}
        assert all(parts.values())
        assert whole is not None
        assert sum(parts.values()) == pytest.approx(whole, rel=0.2)
        assert secret not in found.text
        assert '/metrics' not in found.text

    def test_conflicts_by_code(self, client: Client) -> None:
        host = provider(client, VCPU=4)
        stale = {'resource_provider_generation': generation(client, host) + 1, 'inventories': {}}
        assert client.call('PUT', f'/resource_providers/{host}/inventories', stale).status_code == 409
        assert put(client, new_uuid(), {host: {'VCPU': 5}}).status_code == 409
        found = scrape(client)
        counts = Counter(
            {
                tuple(sample.labels.values()): sample.value
                for sample in found.families['placement_conflicts'].samples
                if sample.name.endswith('_total')
            }
        )
        assert sum(counts.values()) == 2
        assert {code for code, _ in counts} == {'placement.concurrent_update', 'placement.undefined_code'}
        assert len({error for _, error in counts}) == 2

    def test_searches(self, client: Client) -> None:
        provider(client, VCPU=4)
        client.must('GET', '/allocation_candidates?resources=VCPU:1')
        client.must('GET', '/allocation_candidates?resources=VCPU:1000')
        found = scrape(client)
        assert found('placement_candidates_found_count') == 2
        assert found('placement_candidates_found_sum') == 1
        assert found('placement_candidates_found_bucket', le='0.0') == 1
        assert found('placement_search_steps_count') == 2

    def test_retries(self, client: Client) -> None:
        left = [db_exc.DBDeadlock(), db_exc.DBDeadlock(), db_exc.DBDuplicateEntry()]

        def work(_connection: object) -> int:
            if left:
                raise left.pop()
            return 1

        assert engine.write(work) == 1
        found = scrape(client)
        assert found('placement_transaction_retries_total', cause='DBDeadlock') == 2
        assert found('placement_transaction_retries_total', cause='DBDuplicateEntry') == 1

    def test_pool(self, client: Client) -> None:
        assert scrape(client)('placement_database_pool_checked_out') == 0
        seen = engine.read(lambda _connection: scrape(client))
        assert seen('placement_database_pool_checked_out') == 1
        assert seen('placement_database_pool_size') == 15
        assert scrape(client)('placement_database_pool_checked_out') == 0

    def test_the_database_is_away(self, client: Client, database: databases.Database) -> None:
        assert scrape(client)('placement_database_up') == 1
        database.execute('ALTER TABLE inventories RENAME TO hidden')
        try:
            found = scrape(client)
            assert found('placement_database_up') == 0
            assert found('placement_database_pool_size') == 15
        finally:
            database.execute('ALTER TABLE hidden RENAME TO inventories')
        assert scrape(client)('placement_database_up') == 1

    def test_capacity(self, client: Client) -> None:
        first = provider(client, VCPU={'total': 10, 'reserved': 2, 'allocation_ratio': 1.5})
        second = provider(client, VCPU=4)
        for host, amount in ((first, 3), (first, 2), (second, 4)):
            assert put(client, new_uuid(), {host: {'VCPU': amount}}).is_success
        with statements.counted() as sent:
            found = scrape(client)
        assert len(sent.starting_with('SELECT')) == 1
        values = {
            name: found(f'placement_resource_{name}', resource_class='VCPU')
            for name in ('total', 'reserved', 'capacity', 'used')
        }
        assert values == {'total': 14, 'reserved': 2, 'capacity': 16, 'used': 9}
        assert 'openstack_placement' not in found.text

    def test_only_from_where_it_is_allowed(self, conf: cfg.ConfigOpts, request: pytest.FixtureRequest) -> None:
        conf.set_override('allowed_source_ranges', ['192.0.2.0/24', '::1/128'], group='metrics')
        client: Client = request.getfixturevalue('client')
        assert client.call('GET', '/metrics', **NOBODY).status_code == 401
        conf.set_override('allowed_source_ranges', ['nowhere'], group='metrics')
        with pytest.raises(config.ConfigError, match=r'\[metrics\] allowed_source_ranges'):
            service.deploy.loadapp(conf)

    @pytest.mark.parametrize(
        ('address', 'allowed'),
        [
            ('192.0.2.1', True),
            ('::1', True),
            ('::ffff:192.0.2.1', True),
            ('::ffff:127.0.0.1', False),
            ('198.51.100.1', False),
            ('fe80::1%eth0', False),
            ('', False),
        ],
    )
    def test_who_is_allowed(
        self, conf: cfg.ConfigOpts, request: pytest.FixtureRequest, address: str, allowed: bool
    ) -> None:
        conf.set_override('allowed_source_ranges', ['192.0.2.0/24', '::1/128'], group='metrics')
        app = request.getfixturevalue('app')
        environ = {
            'REQUEST_METHOD': 'GET',
            'PATH_INFO': '/metrics',
            'SERVER_NAME': 'placement',
            'SERVER_PORT': '80',
            'REMOTE_ADDR': address,
            'wsgi.url_scheme': 'http',
        }
        started: list[str] = []
        list(app(environ, lambda status, headers, exc_info=None: started.append(status)))
        assert started == ['200 OK' if allowed else '401 Unauthorized']

    def test_by_provider(self, conf: cfg.ConfigOpts, request: pytest.FixtureRequest) -> None:
        conf.set_override('by_provider', True, group='metrics')
        client: Client = request.getfixturevalue('client')
        host = provider(client)
        client.must('PUT', f'/resource_providers/{host}', {'name': 'host1'})
        set_inventories(client, host, VCPU={'total': 10, 'reserved': 2, 'allocation_ratio': 1.1})
        consumer = new_uuid()
        assert put(client, consumer, {host: {'VCPU': 3}}, project_id='a-project', user_id='a-user').is_success
        with statements.counted() as sent:
            found = scrape(client)
        assert len(sent.starting_with('SELECT')) == 1
        values = {
            key: found(f'openstack_placement_resource_{key}', hostname='host1', resourcetype='VCPU')
            for key in ('total', 'allocation_ratio', 'reserved', 'usage')
        }
        assert values == {'total': 10, 'allocation_ratio': 1.1, 'reserved': 2, 'usage': 3}
        assert found('placement_resource_capacity', resource_class='VCPU') == pytest.approx(8.8)
        for private in (consumer, 'a-project', 'a-user', host):
            assert private not in found.text


@ON_SQLITE
def test_a_missing_library_is_one_sentence(conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch) -> None:
    conf.set_override('enabled', True, group='metrics')
    monkeypatch.delitem(sys.modules, 'placement.prometheus', raising=False)
    monkeypatch.setitem(sys.modules, 'prometheus_client', None)
    with pytest.raises(config.ConfigError) as raised:
        metrics.start(conf)
    assert str(raised.value) in (live.CHECKOUT / 'docs/operate.md').read_text()


@ON_SQLITE
def test_several_processes(database: databases.Database, tmp_path: Path) -> None:
    """Whoever answers tells the numbers of all; what dead workers counted stays, what they had in use does not."""
    directory = tmp_path / 'metrics'
    options = {'OS_METRICS__ENABLED': 'true', 'OS_METRICS__MULTIPROCESS_DIR': str(directory)}
    with live.serve(database.url, tmp_path, workers=3, options=options) as url:
        ask(url, 60)
        found = counted(url, 60)
        assert found('placement_candidates_found_count') is not None
        assert found('placement_database_pool_checked_out') is not None
        pids = {int(path.stem.rpartition('_')[2]) for path in directory.glob('counter_*.db')}
        assert len(pids) > 1, 'several workers have answered some'
        victim = min(pids)
        os.kill(victim, signal.SIGKILL)
        deadline = time.monotonic() + 30
        while any(directory.glob(f'gauge_live*_{victim}.db')):
            assert time.monotonic() < deadline
            httpx.get(f'{url}/metrics', trust_env=False)
        counted(url, 60)


@ON_SQLITE
def test_without_a_directory_the_log_says_so(database: databases.Database, tmp_path: Path) -> None:
    with live.serve(database.url, tmp_path, workers=2, options={'OS_METRICS__ENABLED': 'true'}) as url:
        for _ in range(12):
            found = scrape(Client.of_url(url))
        assert found('placement_database_up') == 1
    said = '/metrics tells the numbers of one process only: set [metrics] multiprocess_dir.'
    assert (tmp_path / 'server.log').read_text().count(said) in (1, 2), 'once in each process that was asked'
    assert said in (live.CHECKOUT / 'docs/operate.md').read_text()


@ON_SQLITE
def test_placement_serve_shares_by_itself(database: databases.Database, tmp_path: Path) -> None:
    environment = live.configure(database.url, tmp_path, {'OS_METRICS__ENABLED': 'true', 'TMPDIR': str(tmp_path)})
    environment['PYTHONPATH'] = str(live.CHECKOUT)
    log = tmp_path / 'log'
    command = [sys.executable, '-m', 'placement.cmd.serve', '--port', '0', '--workers', '3', '--threads', '2']

    def url() -> str | None:
        listening = re.search(r'Listening at: (http://127\.0\.0\.1:\d+)', log.read_text())
        return listening.group(1) if listening else None

    def ready() -> bool:
        return log.read_text().count('Booting worker') == 3 and url() is not None

    with processes.running(command, log=log, ready=ready, env=environment) as process:
        address = str(url())
        ask(address, 30)
        counted(address, 30)
        (directory,) = tmp_path.glob('placement-serve-*')
        assert any(directory.iterdir())
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert not directory.exists()


def ask(url: str, count: int) -> None:
    """Requests, each over a connection of its own and many at once, so that all workers get some."""
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda _: Client.of_url(url).must('GET', '/resource_classes/VCPU'), range(count)))


def counted(url: str, count: int) -> Scrape:
    """A scrape that tells so many of these requests, whichever worker is asked."""
    for _ in range(6):
        found = scrape(Client.of_url(url))
        assert found('placement_requests_total', method='GET', route='/resource_classes/{name}', status='200') == count
        assert found('placement_database_up') == 1
    return found
