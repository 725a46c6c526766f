"""Child processes that cannot outlive the tests: used by the database and server helpers of this folder."""

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class NotReady(Exception):
    """A process ended, or did not answer in time."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing uses at this moment."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(
    command: Sequence[str],
    *,
    log: Path,
    ready: Callable[[], bool],
    seconds: float = 60,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    pass_fds: Sequence[int] = (),
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command` while the block runs; its output goes to `log`.

    The block starts when `ready()` is true; NotReady (with the end of the log) if that takes more than `seconds` or the
    process ends. At the end the process gets SIGTERM, then SIGKILL. If the tests are killed, so is it.
    """
    with log.open('ab') as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            pass_fds=pass_fds,
            start_new_session=True,  # an interrupt from the keyboard reaches it through us, in order
            preexec_fn=_die_with_parent,
        )
    try:
        _wait(process, ready, seconds, log)
        yield process
    finally:
        _stop(process)


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], ready: Callable[[], bool], seconds: float, log: Path) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if process.poll() is not None:
            raise NotReady(f'{process.args} ended with {process.returncode}:\n{_tail(log)}')
        if time.monotonic() > deadline:
            raise NotReady(f'{process.args} not ready after {seconds} s:\n{_tail(log)}')
        time.sleep(0.05)


def _tail(log: Path) -> str:
    return log.read_text(errors='replace')[-4000:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=15)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=15)
