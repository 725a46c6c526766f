"""Kills a process of the service at a chosen word to the database, as kill -9 does: used by test_kills.py.

The service itself knows nothing of it. A request runs in a process that was forked for it, with connections of its own;
that process dies by SIGKILL before its n-th statement, before its COMMIT, or when the COMMIT is done but the client has
heard nothing.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable

import sqlalchemy as sa

from placement.db import engine


def run_until(n: int, request: Callable[[], object]) -> bool:
    """Run `request` in a process that dies at its n-th word (from 1) to the database; whether it died of that.

    The words are its statements and COMMITs; that a COMMIT is done counts as one more.
    """
    engine.close_idle()
    child = os.fork()
    if child == 0:
        _die_at(n)
        try:
            request()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, 'the request failed'
    return os.WIFSIGNALED(status)


def _die_at(n: int) -> None:
    """Let this process die at its n-th word to the database."""
    spoken = 0

    def speak(*_args: object) -> None:
        nonlocal spoken
        spoken += 1
        if spoken == n:
            os.kill(os.getpid(), signal.SIGKILL)

    database = engine.get_engine()
    sa.event.listen(database, 'before_cursor_execute', speak)
    dialect = database.dialect
    commit = dialect.do_commit

    def commit_between(connection: object) -> None:
        speak()
        commit(connection)
        speak()

    dialect.do_commit = commit_between  # type: ignore[method-assign]
