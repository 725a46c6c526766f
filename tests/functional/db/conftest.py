"""Databases without a schema, and the commands run on them."""

import contextlib
import dataclasses
import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

import placement.cmd.manage
import placement.cmd.status
from placement.db import engine as placement_engine
from tests import databases, service


@pytest.fixture(params=databases.DIALECTS)
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> databases.Database:
    """A database without any table. A test may also ask for `mariadb-utf8mb4`; `mariadb` is in utf8mb3."""
    return empty(request, request.param, tmp_path / 'empty.sqlite')


@pytest.fixture
def another_database(
    request: pytest.FixtureRequest, empty_database: databases.Database, tmp_path: Path
) -> databases.Database:
    """One more of the same kind."""
    return empty(request, request.node.callspec.params['empty_database'], tmp_path / 'another.sqlite', 'another')


def empty(request: pytest.FixtureRequest, kind: str, path: Path, name: str = 'empty') -> databases.Database:
    if kind == 'sqlite':
        return databases.Database('sqlite', f'sqlite:///{path}')
    server: databases.MariaDB = request.getfixturevalue('mariadb')
    database = databases.Database('mariadb', server.create(name))
    if kind == 'mariadb-utf8mb4':
        database.execute(f'ALTER DATABASE {name} CHARACTER SET utf8mb4')
    return database


@pytest.fixture
def engine(empty_database: databases.Database) -> Iterator[None]:
    """The engine of this process points at the empty database."""
    with service.engine_on(service.configuration(empty_database.url)):
        yield


@dataclasses.dataclass
class Command:
    """A command on one database; `environment` holds more settings."""

    module: types.ModuleType
    url: str
    directory: Path
    environment: dict[str, str] = dataclasses.field(default_factory=dict)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        """Run it in this process; returns exit status, standard output, standard error."""
        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            engine_unconfigured(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            for name in os.environ:
                patch.delenv(name)
            for name, value in self._environment().items():
                patch.setenv(name, value)
            try:
                status = self.module.main(arguments)
            except SystemExit as exc:
                status = int(exc.code or 0)
        return status, out.getvalue(), err.getvalue()

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        """Run it in a process of its own."""
        return subprocess.Popen(
            [sys.executable, '-m', self.module.__name__, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=self._environment(),
        )

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
        ours = {
            'HOME': str(self.directory),
            'OS_PLACEMENT_DATABASE__CONNECTION': self.url,
            'OS_PLACEMENT_DATABASE__MAX_RETRIES': '0',
        }
        return inherited | ours | self.environment


@contextlib.contextmanager
def engine_unconfigured() -> Iterator[None]:
    """The engine of this process as it is when a process starts."""
    manager = placement_engine.context_manager
    restore = manager.patch_factory(manager.make_new_manager())
    try:
        yield
    finally:
        manager.dispose_pool()
        restore()


@pytest.fixture
def manage(empty_database: databases.Database, tmp_path: Path) -> Command:
    return Command(placement.cmd.manage, empty_database.url, tmp_path)


@pytest.fixture
def status(empty_database: databases.Database, tmp_path: Path) -> Command:
    return Command(placement.cmd.status, empty_database.url, tmp_path)


def dump(database: databases.Database) -> dict[str, list[str]]:
    """The schema as the database words it, by table; the order of keys and constraints does not matter."""
    if database.dialect == 'sqlite':
        rows = database.rows('SELECT tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL')
    else:
        rows = [
            (table, database.rows(f'SHOW CREATE TABLE {table}')[0][1])
            for table in sa.inspect(database.engine).get_table_names()
        ]
    schema: dict[str, list[str]] = {}
    for table, statement in rows:
        statement = re.sub(r' AUTO_INCREMENT=\d+', '', statement.replace('"', ''))
        parts = [part.strip() for part in statement.split('\n')]
        schema.setdefault(table, []).extend(part.rstrip(',') for part in parts)
    schema.pop('alembic_version', None)
    return {table: sorted(parts) for table, parts in schema.items()}
