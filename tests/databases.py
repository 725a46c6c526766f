"""The databases that tests run on: SQLite files and a private MariaDB server. Used by the fixtures of conftest.py."""

import contextlib
import dataclasses
import functools
import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pymysql
import sqlalchemy as sa

from placement.db import checksum, tables
from tests import processes

DIALECTS = ('sqlite', 'mariadb')

# Set by .ci/run: a test of MariaDB that cannot run is then a failure.
REQUIRE_MARIADB = 'PLACEMENT_TEST_REQUIRE_MARIADB'

_PORT_ATTEMPTS = 3


@dataclasses.dataclass(frozen=True)
class Database:
    """An empty database with the schema at head; `engine` is the tests' own way in, not the service's."""

    dialect: str
    url: str

    @functools.cached_property
    def engine(self) -> sa.Engine:
        engine = sa.create_engine(self.url, poolclass=sa.NullPool)
        dialect = engine.dialect.name
        sa.event.listen(engine, 'connect', lambda connection, _record: checksum.prepare(connection, dialect))
        return engine

    def rows(self, statement: str, **values: object) -> list[sa.Row]:
        """The rows of a SELECT, for looks behind the API."""
        with self.engine.connect() as connection:
            return list(connection.execute(sa.text(statement), values))

    def execute(self, statement: str, **values: object) -> None:
        """A statement that changes data behind the API's back."""
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement), values)


def empty(database: Database) -> None:
    """Remove all rows, but not the recorded revision. (TRUNCATE would rebuild the tables' files and take longer.)"""
    with database.engine.begin() as connection:
        connection.execute(sa.text('SET foreign_key_checks = 0'))
        for table in tables.metadata.tables.values():
            connection.execute(table.delete())


@dataclasses.dataclass(frozen=True)
class MariaDB:
    """A private server that runs on 127.0.0.1."""

    port: int

    def url(self, name: str) -> str:
        """The SQLAlchemy URL of a database; an empty name is the server itself."""
        return f'mysql+pymysql://root@127.0.0.1:{self.port}/{name}'

    def create(self, name: str) -> str:
        """An empty database, in place of one of that name; returns its URL."""
        with sa.create_engine(self.url(''), poolclass=sa.NullPool).begin() as connection:
            connection.execute(sa.text(f'DROP DATABASE IF EXISTS {name}'))
            connection.execute(sa.text(f'CREATE DATABASE {name} CHARACTER SET utf8mb3'))
        return self.url(name)


def missing_mariadb() -> str | None:
    """Why there can be no private server here, or None."""
    for name in ('mariadbd', 'mariadb-install-db'):
        if program(name) is None:
            return f'{name} is not installed (Debian: mariadb-server-core, mariadb-client-core)'
    return None


@contextlib.contextmanager
def mariadb(directory: Path) -> Iterator[MariaDB]:
    """A server on a free port of 127.0.0.1 with its data in `directory`, a short, disposable path."""
    install_mariadb(directory)
    with contextlib.ExitStack() as stack:
        # Another process may take the port between the look and the start.
        for attempt in range(1, _PORT_ATTEMPTS + 1):
            server = MariaDB(processes.free_port())
            try:
                stack.enter_context(run_mariadb(server, directory))
                break
            except processes.NotReady:
                if attempt == _PORT_ATTEMPTS:
                    raise
        yield server


def install_mariadb(directory: Path) -> None:
    """Make the data of a server, which is not started."""
    install = subprocess.run(
        [
            program('mariadb-install-db'),
            '--no-defaults',
            f'--user={getpass.getuser()}',
            f'--datadir={directory / "data"}',
            f'--tmpdir={directory}',
            '--auth-root-authentication-method=normal',
            '--skip-test-db',
            '--innodb-log-file-size=16M',
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if install.returncode:
        raise processes.NotReady(f'mariadb-install-db: {install.returncode}\n{install.stdout}{install.stderr}')


@contextlib.contextmanager
def run_mariadb(server: MariaDB, directory: Path, *options: str) -> Iterator[None]:
    """Run `server` on the data that `install_mariadb` made in `directory` while the block runs; `options` win
    over those that suit most tests."""
    socket = directory / 'socket'
    command = [
        program('mariadbd'),
        '--no-defaults',
        f'--user={getpass.getuser()}',
        f'--datadir={directory / "data"}',
        f'--tmpdir={directory}',
        f'--socket={socket}',
        f'--pid-file={directory / "pid"}',
        '--bind-address=127.0.0.1',
        f'--port={server.port}',
        '--skip-name-resolve',
        '--max-connections=500',
        # A test's data need not survive a crash of the machine.
        '--innodb-flush-log-at-trx-commit=0',
        '--innodb-doublewrite=0',
        '--innodb-log-file-size=16M',
        '--innodb-buffer-pool-size=64M',
        '--skip-log-bin',
        '--performance-schema=0',
        *options,
    ]

    def answers() -> bool:
        # By the socket: behind the port may be somebody else's server.
        try:
            pymysql.connect(unix_socket=str(socket), user='root').close()
        except pymysql.err.OperationalError:
            return False
        return True

    with processes.running(command, log=directory / 'log', ready=answers):
        yield


def program(name: str) -> str | None:
    """Where a program is; the server's folder is not on everybody's path."""
    path = os.pathsep.join([os.environ.get('PATH', os.defpath), '/usr/sbin', '/usr/local/sbin'])
    return shutil.which(name, path=path)
