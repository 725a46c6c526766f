"""The database engine and the transactions on it. Every object function runs its statements through `read` or `write`.

Dialect differences of transactions live here, one named function each (contract: service.md 3.4, 6.2; decisions A01,
A02, A08, G07).
"""

import contextlib
import datetime
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import api as db_retry
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade

from placement import errors

LOG = logging.getLogger(__name__)
T = TypeVar('T')

# Lock conflicts and lost connections are tried this often in all, with jittered pauses from 5 ms up to a second.
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 1.0
# How long a SQLite writer waits for the one before it, in milliseconds.
SQLITE_BUSY_TIMEOUT = 30_000

context_manager = enginefacade.transaction_context()


def configure(conf: cfg.ConfigOpts) -> None:
    """Point the engine at `[placement_database]`; nothing is connected yet, so that a start outlives a database that
    is down."""
    group = conf.placement_database
    context_manager.configure(
        connection=group.connection,
        connection_parameters=group.connection_parameters,
        mysql_sql_mode=group.mysql_sql_mode,
        sqlite_synchronous=group.sqlite_synchronous,
        connection_recycle_time=group.connection_recycle_time,
        max_pool_size=group.max_pool_size,
        max_overflow=group.max_overflow,
        pool_timeout=group.pool_timeout,
        max_retries=0,
        connection_debug=group.connection_debug,
        connection_trace=group.connection_trace,
    )


def get_engine() -> sa.Engine:
    """The engine of this process, made at the first call."""
    return context_manager.writer.get_engine()


def _prepare(engine: sa.Engine) -> None:
    if engine.dialect.name == 'sqlite':
        _prepare_sqlite(engine)


context_manager.append_on_engine_create(_prepare)


def _prepare_sqlite(engine: sa.Engine) -> None:
    """Readers never wait (WAL), writers queue instead of failing (a busy wait, and BEGIN IMMEDIATE before their first
    read)."""

    @sa.event.listens_for(engine, 'connect')
    def _set_pragmas(connection: Any, _record: Any) -> None:
        connection.execute(f'PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT}')
        with contextlib.suppress(Exception):  # a read-only file stays in the mode it has
            connection.execute('PRAGMA journal_mode = WAL')


def begin_write(connection: sa.Connection) -> sa.RootTransaction:
    """Begin a transaction that will write. SQLite takes its write lock at once, so that it need not fail later."""
    if connection.dialect.name != 'sqlite':
        return connection.begin()
    # With this mark oslo.db leaves the BEGIN to us (SQLAlchemy 2.1 cannot put a listener before oslo.db's).
    connection.info['in_transaction'] = True
    transaction = connection.begin()
    connection.exec_driver_sql('BEGIN IMMEDIATE')
    return transaction


def read(work: Callable[[sa.Connection], T]) -> T:
    """Run `work` in one read transaction: all its statements see one snapshot. Lost connections are tried again.

    Raises errors.DatabaseUnavailable.
    """
    return _attempt(lambda: _run(work, write=False), attempts=3, exhausted=errors.DatabaseUnavailable)


def write(
    work: Callable[[sa.Connection], T],
    *,
    attempts: int = ATTEMPTS,
    exhausted: Callable[[], errors.PlacementError] = errors.ProviderChanged,
) -> T:
    """Run `work` in one write transaction and commit it; all of it happens or nothing.

    A deadlock, a lock time-out, a Galera certification failure, a duplicate key, a connection lost before the commit,
    or `work` raising `retry()` starts it again in a new transaction, `attempts` times in all (a negative number: for
    ever).

    Raises `exhausted()` when conflicts persist, errors.DatabaseUnavailable when the database is away,
    errors.TextNotStorable for text that the database cannot hold, and what `work` raises; nothing is written then.
    """
    return _attempt(lambda: _run(work, write=True), attempts=attempts, exhausted=exhausted)


def retry(error: errors.PlacementError) -> db_exc.RetryRequest:
    """What `work` raises when another writer was faster: tried again in a new transaction, and `error` if that never
    helps."""
    return db_exc.RetryRequest(error)


def require_rows(result: sa.CursorResult[Any], count: int, error: errors.PlacementError) -> None:
    """Check a guarded statement (`UPDATE … WHERE generation = :seen`): it must have hit `count` rows. Raises
    `retry(error)`."""
    if result.rowcount != count:
        raise retry(error)


def utcnow() -> datetime.datetime:
    """The time as the database keeps it: naive UTC."""
    return datetime.datetime.now(datetime.UTC).replace(tzinfo=None)


def _run(work: Callable[[sa.Connection], T], write: bool) -> T:
    with get_engine().connect() as connection:
        with begin_write(connection) if write else connection.begin() as transaction:
            result = work(connection)
            if write:
                _commit(transaction)
            else:
                transaction.rollback()
        return result


def _commit(transaction: sa.RootTransaction) -> None:
    try:
        transaction.commit()
    except db_exc.DBConnectionError as exc:
        # Whether the database still did it is unknown: trying again could do it twice.
        raise errors.DatabaseUnavailable() from exc


def _is_transient(exc: BaseException) -> bool:
    return isinstance(exc, db_exc.DBDeadlock | db_exc.DBDuplicateEntry | db_exc.DBConnectionError) or _is_sqlite_busy(
        exc
    )


def _is_sqlite_busy(exc: BaseException) -> bool:
    return isinstance(exc, sa.exc.OperationalError) and 'database is locked' in str(exc.orig)


def _attempt(once: Callable[[], T], attempts: int, exhausted: Callable[[], errors.PlacementError]) -> T:
    retrying = db_retry.wrap_db_retry(
        max_retries=attempts - 1 if attempts >= 0 else float('inf'),
        retry_interval=FIRST_PAUSE,
        max_retry_interval=LONGEST_PAUSE,
        jitter=True,
        exception_checker=_is_transient,
    )
    with translated(exhausted):
        return retrying(once)()


@contextlib.contextmanager
def translated(exhausted: Callable[[], errors.PlacementError] = errors.DatabaseUnavailable) -> Iterator[None]:
    """Turn what the database says in the end into an answer for the client; its words stay in the log (decisions A13,
    A14).

    Raises `exhausted()`, errors.DatabaseUnavailable, errors.SchemaUnusable, errors.TextNotStorable.
    """
    try:
        yield
    except (db_exc.DBDeadlock, db_exc.DBDuplicateEntry) as exc:
        raise exhausted() from exc
    except (db_exc.DBConnectionError, db_exc.DBNonExistentDatabase, sa.exc.TimeoutError) as exc:
        LOG.error('The database is not available: %s', _cause(exc))
        raise errors.DatabaseUnavailable() from exc
    except db_exc.DBNonExistentTable as exc:
        raise errors.SchemaUnusable(reason='tables are missing. Run "placement-manage db sync".') from exc
    except (db_exc.DBDataError, db_exc.DBInvalidUnicodeParameter) as exc:
        raise errors.TextNotStorable() from exc
    except db_exc.DBError as exc:
        # MySQL's 1366, a character that the column's character set does not have, has no class of its own.
        if isinstance(exc.inner_exception, sa.exc.DataError):
            raise errors.TextNotStorable() from exc
        raise
    except sa.exc.OperationalError as exc:
        # Locked, read-only, disk full, access denied: the client cannot mend it, the operator can, and nothing was
        # written.
        LOG.error('The database refuses to work: %s', _cause(exc))
        raise errors.DatabaseUnavailable() from exc


def _cause(exc: BaseException) -> object:
    """What the driver said, without the statement and its values."""
    wrapped = getattr(exc, 'inner_exception', None) or exc
    return getattr(wrapped, 'orig', None) or wrapped
