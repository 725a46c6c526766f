"""The database goes away, in all the ways it can: clients hear 503 and when to come back, or notice nothing; no write
is half done; and the service needs nobody to work again."""

import sqlite3
import time

import pytest
import sqlalchemy as sa

from placement.db import engine, tables
from tests import claims, invariants, service
from tests.claims import body, generation, new_uuid
from tests.client import Client
from tests.concurrency.proxy import AFTER, BEFORE, MIDST, proxy
from tests.concurrency.test_kills import WRITES, build

ONLY_MARIADB = pytest.mark.parametrize('database', ['mariadb'], indirect=True)
ONLY_SQLITE = pytest.mark.parametrize('database', ['sqlite'], indirect=True)


@pytest.fixture
def between(database):
    """The proxy that the service reaches its database through."""
    with proxy(sa.make_url(database.url).port) as running:
        yield running


@pytest.fixture
def far(database, between):
    """A client of the service behind the proxy."""
    url = sa.make_url(database.url).set(port=between.port).update_query_dict({'read_timeout': '2'})
    with service.application(service.configuration(url.render_as_string(hide_password=False))) as app:
        yield Client.of_app(app)


def unavailable(answer):
    """Whether it is the clear answer of a service without its database."""
    return (
        answer.status_code == 503
        and int(answer.headers['retry-after']) > 0
        and 'try again' in answer.json()['errors'][0]['detail']
    )


@ONLY_MARIADB
@pytest.mark.parametrize(
    'how', [AFTER, pytest.param(BEFORE, marks=pytest.mark.soak), pytest.param(MIDST, marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    'name',
    [
        'POST /allocations',
        pytest.param('PUT /allocations/{consumer_uuid}', marks=pytest.mark.soak),
        pytest.param('POST /reshaper', marks=pytest.mark.soak),
    ],
)
def test_connection_lost_at_each_packet(far, between, database, name, how):
    """Whatever comes before the COMMIT is done again, in a new transaction; of a COMMIT alone nobody knows."""
    on = build(far)
    write = WRITES[name](on)
    before, saved = invariants.contents(database.url), _save(database)
    outcomes = []
    for packet in range(1, 100):
        between.cut_at(packet, how)
        answer = far.call(write.method, write.path, write.body, headers={'x-roles': 'admin,service'})
        packets = between.seen
        between.cut_at(None, how)
        outcomes.append(answer.status_code)
        assert answer.status_code == 204 or unavailable(answer), answer.text
        invariants.check(database.url)
        is_done = invariants.contents(database.url) != before
        if answer.status_code == 204:
            assert is_done
        if packets < packet:
            break  # it was never cut
        if is_done:
            _restore(database, saved)
    assert answer.status_code == 204
    # Once, at the COMMIT, the client has to look for itself.
    assert outcomes.count(503) == 1, outcomes


def _save(database):
    """The rows of all tables that writes of allocations touch."""
    kept = [table for table in tables.metadata.sorted_tables if table.name not in ('traits', 'resource_classes')]
    with database.engine.connect() as connection:
        return {table: [dict(row) for row in connection.execute(sa.select(table)).mappings()] for table in kept}


def _restore(database, saved):
    with database.engine.begin() as connection:
        connection.execute(sa.text('SET foreign_key_checks = 0'))
        for table, rows in saved.items():
            connection.execute(table.delete())
            if rows:
                connection.execute(table.insert(), rows)


@ONLY_MARIADB
def test_all_connections_lost_in_the_pool(far, between):
    """A restart of the server, or of a load balancer, between two requests is not seen."""
    host = claims.provider(far, VCPU=8)
    for _ in range(3):
        between.cut_all()
        far.must('PUT', f'/allocations/{new_uuid()}', body({host: {'VCPU': 1}}))
        between.cut_all()
        assert claims.used(far, host)['VCPU'] > 0


@ONLY_MARIADB
def test_database_away_and_back(far, between):
    host, consumer = claims.provider(far, VCPU=8), new_uuid()
    between.refusing = True
    between.cut_all()
    for method, path, wanted in (
        ('GET', f'/resource_providers/{host}', None),
        ('GET', '/allocation_candidates?resources=VCPU:1', None),
        ('PUT', f'/allocations/{consumer}', body({host: {'VCPU': 1}})),
    ):
        began = time.monotonic()
        answer = far.call(method, path, wanted)
        assert unavailable(answer), answer.text
        assert time.monotonic() - began < 10
    between.refusing = False
    # The first request after it is there again succeeds.
    far.must('PUT', f'/allocations/{consumer}', body({host: {'VCPU': 1}}))


@ONLY_MARIADB
def test_stalled(far, between, monkeypatch):
    """A server that takes everything and says nothing is as one that is away, `read_timeout` seconds later."""
    monkeypatch.setattr(engine, 'PATIENCE', 3)
    host = claims.provider(far, VCPU=8)
    between.stalled.set()
    began = time.monotonic()
    answer = far.call('PUT', f'/allocations/{new_uuid()}', body({host: {'VCPU': 1}}))
    assert unavailable(answer), answer.text
    assert time.monotonic() - began < engine.PATIENCE + 20
    between.stalled.clear()
    between.cut_all()
    far.must('PUT', f'/allocations/{new_uuid()}', body({host: {'VCPU': 1}}))


@ONLY_MARIADB
def test_pool_exhausted(database):
    conf = service.configuration(database.url)
    for option, value in (('max_pool_size', 1), ('max_overflow', 0), ('pool_timeout', 1)):
        conf.set_override(option, value, group='placement_database')
    with service.application(conf) as app:
        client = Client.of_app(app)
        host = claims.provider(client, VCPU=8)
        with engine.get_engine().connect():
            for method, wanted in (('GET', None), ('PUT', {'name': 'new'})):
                answer = client.call(method, f'/resource_providers/{host}', wanted)
                assert unavailable(answer), answer.text
        client.must('GET', f'/resource_providers/{host}')


@ONLY_SQLITE
def test_read_only_file(client, database):
    host = claims.provider(client, VCPU=8)
    path = sa.make_url(database.url).database
    url = f'sqlite:///file:{path}?mode=ro&uri=true'
    with service.application(service.configuration(url)) as app:
        reader = Client.of_app(app)
        assert claims.used(reader, host) == {'VCPU': 0}
        answer = reader.call('PUT', f'/allocations/{new_uuid()}', body({host: {'VCPU': 1}}))
        assert unavailable(answer), answer.text
        assert generation(reader, host) == 1


@ONLY_SQLITE
def test_locked_at_the_commit(client, database, monkeypatch):
    """SQLite then leaves the transaction open, with its lock: it is ended, and done again."""
    host = claims.provider(client, VCPU=8)
    dialect = engine.get_engine().dialect
    commit = dialect.do_commit
    failures = iter([sqlite3.OperationalError('database is locked')])

    def fail_once(connection):
        if failure := next(failures, None):
            raise failure
        commit(connection)

    monkeypatch.setattr(dialect, 'do_commit', fail_once)
    assert claims.put(client, new_uuid(), {host: {'VCPU': 1}}).status_code == 204
    assert claims.used(client, host) == {'VCPU': 1}
    invariants.check(database.url)


@ONLY_SQLITE
def test_disk_full(client, database):
    """No page more than there are: what SQLite says when the disk is full."""
    host = claims.provider(client, VCPU=10_000)

    def fill(connection, _record, _proxy):
        pages = connection.execute('PRAGMA page_count').fetchone()[0]
        connection.execute(f'PRAGMA max_page_count = {pages}')

    before = invariants.contents(database.url)
    bodies = {new_uuid(): body({host: {'VCPU': 1}}) for _ in range(1000)}
    sa.event.listen(engine.get_engine(), 'checkout', fill)
    try:
        answer = claims.post(client, bodies)
        assert unavailable(answer), answer.text
        assert invariants.contents(database.url) == before
        assert claims.used(client, host) == {'VCPU': 0}
    finally:
        sa.event.remove(engine.get_engine(), 'checkout', fill)
        with engine.get_engine().connect() as connection:
            connection.exec_driver_sql('PRAGMA max_page_count = 1073741823')
    assert claims.post(client, bodies).status_code == 204
