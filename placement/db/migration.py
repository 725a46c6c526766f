"""Schema revisions: the way to the newest (contract: service.md 1.3 to 1.5).

Called by placement-manage, and at start by `sync_on_startup`. Any number of processes may migrate at once: one does the
work, the others wait for it and then find nothing to do.
"""

import contextlib
import pathlib
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import command
from alembic import config as alembic_config
from alembic.script import ScriptDirectory

from placement.db import engine, tables
from placement.db import revision as revisions

# How long a process waits for another one that migrates, in seconds.
LOCK_TIMEOUT = 3600


class MigrationError(Exception):
    """The schema cannot be migrated; `str()` of it says why and what to do."""


# The name under which other projects import it.
version = revisions.recorded


def upgrade(revision: str = 'head') -> None:
    """Run the revisions that lie between the recorded one and `revision`.

    Each is recorded when it is done, so that a failure keeps what went before; on SQLite a failed one leaves no trace.

    Raises MigrationError (also from a blocker), alembic's CommandError for an unknown recorded revision.
    """
    with engine.get_engine().connect() as connection:
        # Asked first, because it is the usual case, and a database at head may be read-only.
        if revisions.read(connection) == _scripts().as_revision_number(revision):
            return
        connection.rollback()
        with _locked(connection):
            with engine.begin_write(connection):
                pending = _pending(connection, revision)
            for pending_revision in reversed(pending):
                with engine.begin_write(connection):
                    command.upgrade(_config(connection), pending_revision)


def stamp(revision: str) -> None:
    """Record `revision` (an id, a unique prefix of one, head or base) without running anything.

    Raises MigrationError if it is empty, alembic's CommandError if it, or the one recorded now, is unknown.
    """
    # alembic itself would take -1 on an empty database for the revision before head, and an empty text for none.
    if not revision:
        raise MigrationError('The revision to record is empty: give an id, a unique prefix of one, head or base.')
    _scripts().get_revision(revision)
    with engine.get_engine().connect() as connection, _locked(connection), engine.begin_write(connection):
        command.stamp(_config(connection), revision)


def create_schema(bind: sa.Engine | None = None) -> None:
    """Create all tables at head at once, with no revision recorded: for tests."""
    tables.metadata.create_all(bind or engine.get_engine())


def _config(connection: sa.Connection | None = None) -> alembic_config.Config:
    config = alembic_config.Config()
    config.set_main_option('script_location', str(pathlib.Path(__file__).parent / 'migrations').replace('%', '%%'))
    if connection is not None:
        config.attributes['connection'] = connection
    return config


def _scripts() -> ScriptDirectory:
    return ScriptDirectory.from_config(_config())


def _pending(connection: sa.Connection, revision: str) -> list[str]:
    """The revisions after the recorded one up to `revision`, the last first."""
    scripts = _scripts()
    recorded = revisions.read(connection)
    if recorded is None:
        _refuse_unrecorded_tables(connection)
    else:
        scripts.get_revision(recorded)  # raises CommandError if it is unknown
    return [script.revision for script in scripts.iterate_revisions(revision, recorded or 'base')]


def _refuse_unrecorded_tables(connection: sa.Connection) -> None:
    """Raise MigrationError: nobody knows what such tables are, and creating those that are missing would hide it."""
    found = sorted(set(sa.inspect(connection).get_table_names()) & set(tables.metadata.tables))
    if found:
        raise MigrationError(
            f'The database has tables of placement ({", ".join(found)}), but no revision is recorded. If they are '
            'complete at some revision, record it with `placement-manage db stamp REVISION`; if they are left over '
            'from an attempt that failed and hold no data, drop them. Then run `placement-manage db sync` again.'
        )


@contextlib.contextmanager
def _locked(connection: sa.Connection) -> Iterator[None]:
    """Let one process at a time migrate the database of `connection`."""
    if connection.dialect.name == 'sqlite':
        # Each of our transactions takes the write lock as it begins, reads the recorded revision again, and is atomic.
        yield
    else:
        with _mysql_lock(connection):
            yield


@contextlib.contextmanager
def _mysql_lock(connection: sa.Connection) -> Iterator[None]:
    """MariaDB: a named lock of the session, since each statement that changes the schema commits.

    It is one server's: do not migrate through several nodes of a Galera cluster at once.
    """
    name = f'placement.migration.{connection.engine.url.database}'[:64]
    if connection.scalar(sa.text('SELECT GET_LOCK(:name, :timeout)'), {'name': name, 'timeout': LOCK_TIMEOUT}) != 1:
        raise MigrationError(f'Another process has been migrating the database for {LOCK_TIMEOUT} s. Is it stuck?')
    connection.rollback()
    try:
        yield
    finally:
        # A failure may have left a transaction open or the connection dead; the lock dies with the latter.
        with contextlib.suppress(sa.exc.SQLAlchemyError):
            connection.rollback()
            connection.execute(sa.text('SELECT RELEASE_LOCK(:name)'), {'name': name})
