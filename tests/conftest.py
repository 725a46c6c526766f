"""Fixtures for every test: databases, configuration, the application on them, a client.

`database` (and all that is built on it) runs the test once on SQLite and once on MariaDB. A test that needs only one of
them says so: `@pytest.mark.parametrize('database', ['mariadb'], indirect=True)`.
"""

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from tests import databases, reference, service
from tests.client import Client


def pytest_configure() -> None:
    """A run that is told to end (by `timeout`, by a gate) ends as after Ctrl-C: fixtures stop what they started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@pytest.fixture(scope='session')
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with the schema, to be copied."""
    path = tmp_path_factory.mktemp('sqlite') / 'template.sqlite'
    service.create_schema(f'sqlite:///{path}')
    return path


@pytest.fixture(scope='session')
def mariadb() -> Iterator[databases.MariaDB]:
    """A private MariaDB server, started by the first test that asks for it; each xdist worker has its own."""
    missing = databases.missing_mariadb()
    if missing and os.environ.get(databases.REQUIRE_MARIADB):
        pytest.fail(f'{missing}, and {databases.REQUIRE_MARIADB} is set')
    if missing:
        pytest.skip(missing)
    # Not below pytest's own folder: the path of a socket has at most 107 characters.
    with (
        tempfile.TemporaryDirectory(prefix='placement-mariadb-') as directory,
        databases.mariadb(Path(directory)) as server,
    ):
        yield server


@pytest.fixture(scope='session')
def mariadb_schema(mariadb: databases.MariaDB) -> databases.Database:
    """The one MariaDB database that tests share, one after the other."""
    url = mariadb.create('placement')
    service.create_schema(url)
    return databases.Database('mariadb', url)


@pytest.fixture(params=databases.DIALECTS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> databases.Database:
    """An empty database with the schema at head, for this test alone."""
    if request.param == 'sqlite':
        path = tmp_path / 'placement.sqlite'
        shutil.copyfile(request.getfixturevalue('sqlite_template'), path)
        return databases.Database('sqlite', f'sqlite:///{path}')
    shared = request.getfixturevalue('mariadb_schema')
    databases.empty(shared)
    return shared


@pytest.fixture
def conf(database: databases.Database) -> cfg.ConfigOpts:
    """The options of the service on `database`; a test may override some before it asks for `app`."""
    return service.configuration(database.url)


@pytest.fixture
def app(conf: cfg.ConfigOpts) -> Iterator[object]:
    """The WSGI application on `database`, freshly started."""
    with service.application(conf) as application:
        yield application


@pytest.fixture
def client(app: object) -> Client:
    """Calls `app`: `client.call(method, path, json, version=..., headers=...)`."""
    return Client.of_app(app)


@pytest.fixture(scope='session')
def reference_python() -> str:
    """The interpreter of an environment with the reference; the test is skipped where there is none."""
    try:
        return reference.python()
    except reference.Unavailable as exc:
        pytest.skip(str(exc))
