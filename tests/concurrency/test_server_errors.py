"""What MariaDB and Galera say when a statement or a COMMIT cannot be done now: done again, or a clear 503 or 409."""

import contextlib

import pytest
from pymysql.err import OperationalError

from placement.db import engine
from tests import claims, invariants
from tests.claims import new_uuid

pytestmark = pytest.mark.parametrize('database', ['mariadb'], indirect=True)

# To be done again from the start.
CONFLICTS = [
    (1020, "Record has changed since last read in table 'consumers'"),
    (1205, 'Lock wait timeout exceeded; try restarting transaction'),
    (1213, 'Deadlock found when trying to get lock; try restarting transaction'),
    (1213, 'Deadlock: wsrep aborted transaction'),
]
# The server goes, or is no member of its cluster; another connection may lead to another one.
AWAY = [
    (1047, 'WSREP has not yet prepared node for application use'),
    (1053, 'Server shutdown in progress'),
    (1317, 'Query execution was interrupted'),
    (1927, 'Connection was killed'),
    (2006, 'MySQL server has gone away'),
    (2013, 'Lost connection to MySQL server during query'),
]
# For the operator to mend.
REFUSALS = [
    (1040, 'Too many connections'),
    (1180, 'Got error 6 "No such device or address" during COMMIT'),
    (1290, 'The MariaDB server is running with the --read-only option so it cannot execute this statement'),
    (1114, "The table 'allocations' is full"),
]


def identify(error):
    return str(error[0])


@pytest.fixture
def host(client):
    return claims.provider(client, VCPU=8)


@contextlib.contextmanager
def saying(error, times, at_commit=False):
    """The first `times` COMMITs, or INSERTs of allocations, end with `error`."""
    dialect = engine.get_engine().dialect
    left = times

    def fail():
        nonlocal left
        if left:
            left -= 1
            raise OperationalError(*error)

    do_execute, do_commit = dialect.do_execute, dialect.do_commit

    def execute(cursor, statement, parameters, context=None):
        if 'INTO allocations' in statement:
            fail()
        do_execute(cursor, statement, parameters, context)

    def commit(connection):
        fail()
        do_commit(connection)

    if at_commit:
        dialect.do_commit = commit
    else:
        dialect.do_execute = execute
    try:
        yield
    finally:
        dialect.do_execute, dialect.do_commit = do_execute, do_commit
        assert left < times


def claim(client, host):
    return claims.put(client, new_uuid(), {host: {'VCPU': 1}})


@pytest.mark.parametrize('error', CONFLICTS + AWAY, ids=identify)
def test_once_at_a_statement(client, database, host, error):
    with saying(error, 1):
        assert claim(client, host).status_code == 204
    invariants.check(database.url)


@pytest.mark.parametrize('error', CONFLICTS, ids=identify)
def test_once_at_the_commit(client, database, host, error):
    with saying(error, 1, at_commit=True):
        assert claim(client, host).status_code == 204
    invariants.check(database.url)


@pytest.mark.parametrize('error', AWAY + REFUSALS, ids=identify)
def test_unknown_at_the_commit(client, database, host, error):
    """It may have been done: the client has to look."""
    with saying(error, 1, at_commit=True):
        answer = claim(client, host)
    assert answer.status_code == 503
    assert answer.headers['retry-after']
    assert error[1] not in answer.text
    invariants.check(database.url)


@pytest.mark.parametrize('error', CONFLICTS + AWAY + REFUSALS, ids=identify)
def test_without_end(client, database, host, error, monkeypatch):
    monkeypatch.setattr(engine, 'LONGEST_PAUSE', 0.01)
    with saying(error, 1_000):
        answer = claim(client, host)
    if error in CONFLICTS:
        assert (answer.status_code, claims.code(answer)) == (409, 'placement.concurrent_update')
    else:
        assert answer.status_code == 503
        assert answer.headers['retry-after']
    assert error[1] not in answer.text
    assert claims.used(client, host) == {'VCPU': 0}
    invariants.check(database.url)
    assert claims.put(client, new_uuid(), {host: {'VCPU': 1}}).status_code == 204
