"""The database engine and the transactions on it. Every object function runs its statements through `read_rows`, `read`
or `write`.

Dialect differences of transactions live here, one named function each (contract: service.md 3.4, 6.2; decisions A01,
A02, A08, G07).
"""

import contextlib
import datetime
import logging
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_db.sqlalchemy import enginefacade
from sqlalchemy.dialects import plugins
from sqlalchemy.engine import CreateEnginePlugin

from placement import errors, metrics, timing
from placement.db import checksum

LOG = logging.getLogger(__name__)
T = TypeVar('T')

# Lock conflicts and lost connections are tried this often in all, with jittered pauses from 5 ms up to a second.
ATTEMPTS = 12
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 1.0
# After this many seconds a statement that could not get a lock, or reach the database, is not tried again: the client
# is waiting.
PATIENCE = 10.0
# How long a SQLite writer waits for the one before it, in milliseconds.
SQLITE_BUSY_TIMEOUT = 30_000

context_manager = enginefacade.transaction_context()


def configure(conf: cfg.ConfigOpts) -> None:
    """Point the engine at `[placement_database]`; nothing is connected yet, so that a start outlives a database that
    is down. Once it is in use this changes nothing."""
    if context_manager.is_started:
        logging.getLogger('placement.db_api').warning('TransactionFactory already started, not reconfiguring.')
        return
    group = conf.placement_database
    context_manager.configure(
        connection=group.connection,
        connection_parameters='&'.join(filter(None, (group.connection_parameters, f'plugin={_Pool.NAME}'))),
        mysql_sql_mode=group.mysql_sql_mode,
        sqlite_synchronous=group.sqlite_synchronous,
        connection_recycle_time=group.connection_recycle_time,
        max_pool_size=group.max_pool_size,
        max_overflow=group.max_overflow,
        pool_timeout=group.pool_timeout,
        max_retries=0,
        connection_debug=group.connection_debug,
        connection_trace=group.connection_trace,
        # Made for eventlet; threads need not be told to let others run.
        thread_checkin=False,
    )


class _Pool(CreateEnginePlugin):
    """Changes what oslo.db says about pools: connections are kept, for SQLite files as well, and come from the pool and
    go back without a word to the server.

    PERF: saves two round trips for each request. Neither is needed: a connection goes back when its transaction has
    ended, and where one was lost while it waited, `_attempt` takes another.
    """

    NAME = 'placement'

    def __init__(self, url: sa.URL, kwargs: dict[str, Any]) -> None:
        super().__init__(url, kwargs)
        kwargs.update(pool_pre_ping=False, pool_reset_on_return=None)
        if url.get_backend_name() != 'sqlite':
            # Transactions say BEGIN (`_prepare_mysql`), so that a SELECT without one need not be followed by ROLLBACK.
            kwargs['connect_args'] = {**kwargs.get('connect_args', {}), 'autocommit': True}
        if kwargs.get('poolclass') is sa.NullPool:
            kwargs['poolclass'] = sa.QueuePool
            kwargs['connect_args'] = {**kwargs['connect_args'], 'check_same_thread': False}

    def update_url(self, url: sa.URL) -> sa.URL:
        """The URL without the mark that brought us here; and mariadb:// as mysql://, the one that oslo.db knows."""
        url = url.difference_update_query(['plugin'])
        return url.set(drivername=url.drivername.replace('mariadb', 'mysql', 1))


plugins.register(_Pool.NAME, __name__, _Pool.__name__)


def get_engine() -> sa.Engine:
    """The engine of this process, made at the first call."""
    return context_manager.writer.get_engine()


def close_idle() -> None:
    """Close the connections that wait in the pool, for a process must not share them with those that it forks."""
    engine = get_engine()
    if isinstance(engine.pool, sa.QueuePool):  # and not the only connection to a database in memory
        engine.dispose()


def _prepare(engine: sa.Engine) -> None:
    sa.event.listen(engine, 'connect', lambda connection, _record: checksum.prepare(connection, engine.dialect.name))
    if engine.dialect.name == 'sqlite':
        _prepare_sqlite(engine)
    else:
        _prepare_mysql(engine)
    timing.watch(engine)
    metrics.watch(engine)


context_manager.append_on_engine_create(_prepare)


def _prepare_mysql(engine: sa.Engine) -> None:
    """Begin transactions in so many words, as oslo.db does for SQLite: connections are in autocommit mode."""
    sa.event.listen(engine, 'begin', lambda connection: connection.exec_driver_sql('BEGIN'))

    @sa.event.listens_for(engine, 'connect')
    def _isolate(connection: Any, _record: Any) -> None:
        # The default. But there are servers with another one, and all that is read in a transaction must be of one
        # snapshot.
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')


def _prepare_sqlite(engine: sa.Engine) -> None:
    """Readers never wait (WAL), writers queue instead of failing (a busy wait, and BEGIN IMMEDIATE before their first
    read)."""

    @sa.event.listens_for(engine, 'connect')
    def _set_pragmas(connection: Any, _record: Any) -> None:
        connection.execute(f'PRAGMA busy_timeout = {SQLITE_BUSY_TIMEOUT}')
        with contextlib.suppress(Exception):  # a read-only file stays in the mode it has
            connection.execute('PRAGMA journal_mode = WAL')

    path = engine.url.database
    if not path or path == ':memory:':
        return

    @sa.event.listens_for(engine, 'connect')
    def _remember_file(_connection: Any, record: Any) -> None:
        record.info['file'] = _identity(path)

    @sa.event.listens_for(engine, 'checkout')
    def _reopen_replaced_file(_connection: Any, record: Any, _proxy: Any) -> None:
        # A backup may have been put in its place; the open connection would go on with the old one.
        if record.info['file'] != _identity(path):
            raise sa.exc.DisconnectionError()


def _identity(path: str) -> tuple[int, int] | None:
    """Which file a path leads to, if any."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def begin_write(connection: sa.Connection) -> sa.RootTransaction:
    """Begin a transaction that will write. SQLite takes its write lock at once, so that it need not fail later."""
    if connection.dialect.name != 'sqlite':
        return connection.begin()
    # With this mark oslo.db leaves the BEGIN to us (SQLAlchemy 2.1 cannot put a listener before oslo.db's).
    connection.info['in_transaction'] = True
    transaction = connection.begin()
    connection.exec_driver_sql('BEGIN IMMEDIATE')
    return transaction


def read_rows(statement: sa.Select[Any], values: Mapping[str, Any] | None = None) -> Sequence[sa.Row[Any]]:
    """The rows of one SELECT, which is a snapshot without a transaction around it: two round trips less than `read`.

    Raises errors.DatabaseUnavailable.
    """

    def once() -> Sequence[sa.Row[Any]]:
        with get_engine().connect() as connection:
            # A private attribute of SQLAlchemy. Should it ever lose its meaning, the statement runs in a transaction
            # again, which is slower and not wrong.
            connection._allow_autobegin = False
            return connection.execute(statement, values).all()

    return _attempt(once, attempts=3, exhausted=errors.DatabaseUnavailable)


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
    ever); only `retry()` does so after PATIENCE.

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
        if not write:
            connection.begin()
            # Closing the connection ends the transaction.
            return work(connection)
        with begin_write(connection) as transaction:
            result = work(connection)
            _commit(transaction)
        return result


def _commit(transaction: sa.RootTransaction) -> None:
    connection = transaction.connection
    try:
        transaction.commit()
    except Exception as exc:
        if not connection.invalidated:
            _abandon(connection)
        if isinstance(exc, db_exc.DBDeadlock) or _is_sqlite_busy(exc):
            raise  # it was certainly not done
        LOG.error('Whether a write was committed is unknown: %s', _cause(exc))
        # Trying again could do it twice.
        raise errors.DatabaseUnavailable() from exc


def _abandon(connection: sa.Connection) -> None:
    """End the transaction of a COMMIT that failed. SQLAlchemy takes it for over, but to SQLite it may not be, and the
    next request would find itself in it."""
    try:
        connection.connection.rollback()
    except Exception:
        connection.invalidate()


def _is_transient(exc: BaseException) -> bool:
    return (
        isinstance(exc, db_exc.DBDeadlock | db_exc.DBDuplicateEntry | db_exc.DBConnectionError)
        or _is_interrupted(exc)
        or _is_sqlite_busy(exc)
    )


def _is_interrupted(exc: BaseException) -> bool:
    """MariaDB: the server shuts down, or somebody killed the statement."""
    return isinstance(exc, sa.exc.OperationalError) and exc.orig is not None and exc.orig.args[:1] in ((1053,), (1317,))


def _is_sqlite_busy(exc: BaseException) -> bool:
    return isinstance(exc, sa.exc.OperationalError) and 'database is locked' in str(exc.orig)


def _attempt(once: Callable[[], T], attempts: int, exhausted: Callable[[], errors.PlacementError]) -> T:
    pause = FIRST_PAUSE
    deadline = time.monotonic() + PATIENCE
    reconnected = False
    with translated(exhausted):
        while True:
            try:
                return once()
            except Exception as exc:
                is_late = time.monotonic() > deadline
                if isinstance(exc, db_exc.DBConnectionError) and not (reconnected or is_late):
                    # Lost while it waited in the pool, most likely. The others that waited are given up by now, so
                    # that the next is a new one; this try does not count.
                    reconnected = True
                    metrics.retried(exc)
                    continue
                attempts -= 1
                if isinstance(exc, db_exc.RetryRequest):
                    if attempts == 0:
                        raise exc.inner_exc from exc
                elif attempts == 0 or is_late or not _is_transient(exc):
                    raise
                metrics.retried(exc)
            time.sleep(random.uniform(0, pause))
            pause = min(2 * pause, LONGEST_PAUSE)


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
    except (db_exc.DBNonExistentTable, sa.exc.ProgrammingError) as exc:
        if isinstance(exc, sa.exc.ProgrammingError) and not _is_missing_table_mysql(exc):
            raise
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


def _is_missing_table_mysql(exc: sa.exc.ProgrammingError) -> bool:
    """MySQL's 1146, which oslo.db leaves as it is, unlike what SQLite says."""
    return exc.orig is not None and exc.orig.args[0] == 1146


def _cause(exc: BaseException) -> object:
    """What the driver said, without the statement and its values."""
    wrapped = getattr(exc, 'inner_exception', None) or exc
    return getattr(wrapped, 'orig', None) or wrapped
