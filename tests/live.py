"""The real service in processes of its own, over a socket. For tests of concurrency, restarts and of the reference.

with live.serve(database.url, tmp_path, workers=2) as url:
    client = Client.of_url(url)
"""

import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from tests import processes

CHECKOUT = Path(__file__).parent.parent

_CONFIG = """\
[api]
auth_strategy = noauth2

[placement_database]
connection = {url}
sync_on_startup = true
"""


@contextlib.contextmanager
def serve(
    url: str,
    directory: Path,
    *,
    workers: int = 1,
    threads: int = 4,
    python: str = sys.executable,
    options: Mapping[str, str] | None = None,
    application: str = 'placement.wsgi.api:application',
) -> Iterator[str]:
    """The service on the database `url` while the block runs: `workers` processes of `threads` threads; yields its URL.

    `directory` (one for each server) gets the configuration and the log. `python` is the interpreter, that of
    tests/reference.py for the reference; `options` are more settings, as environment variables (`OS_PLACEMENT__…`).
    `application` is what is served.
    """
    environment = configure(url, directory, options)
    if python == sys.executable:
        environment['PYTHONPATH'] = str(CHECKOUT)
    with socket.socket() as listener:
        # gunicorn inherits the socket, so that nobody can take the port in between.
        listener.bind(('127.0.0.1', 0))
        listener.listen(1024)
        address = f'http://127.0.0.1:{listener.getsockname()[1]}'
        command = [
            python,
            '-m',
            'gunicorn',
            f'--bind=fd://{listener.fileno()}',
            f'--workers={workers}',
            '--worker-class=gthread',
            f'--threads={threads}',
            '--keep-alive=75',
            '--graceful-timeout=5',
            application,
        ]
        with processes.running(
            command,
            log=directory / 'server.log',
            ready=lambda: answers(address),
            env=environment,
            pass_fds=[listener.fileno()],
            cwd=directory,
        ):
            yield address


def configure(url: str, directory: Path, options: Mapping[str, str] | None = None) -> dict[str, str]:
    """Write a placement.conf for the database `url`; returns the environment of a server that reads it."""
    (directory / 'placement.conf').write_text(_CONFIG.format(url=url.replace('$', '$$')))
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    environment.update(options or {}, OS_PLACEMENT_CONFIG_DIR=str(directory))
    return environment


def answers(address: str) -> bool:
    """Whether the service at `address` answers at its root."""
    # The socket takes connections from the start, so that no answer in time means not yet.
    try:
        return httpx.get(address, timeout=2, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
