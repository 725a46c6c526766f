"""placement-serve: the service under gunicorn, for a first look and for small sites. `make serve` runs it.

Everything but the address and the workers comes from placement.conf. SIGTERM lets running requests finish.
"""

import argparse
import contextlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

from alembic.util import CommandError
from gunicorn.app import base

from placement import config, errors, metrics, wsgi
from placement.cmd import completion
from placement.db import migration

PROG = 'placement-serve'

# How long a request may still run after SIGTERM, in seconds.
GRACE = 30


class _Server(base.BaseApplication):
    """gunicorn with its settings given here rather than in files or variables of its own."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        super().__init__(prog=PROG)

    def load_config(self) -> None:
        for name, value in self.settings.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        return wsgi.init_application()


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until told to stop; returns the exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.shell_completion:
        print(completion.script(_parser(), arguments.shell_completion))
        return 0
    try:
        with _numbers_shared(arguments.workers):
            _Server(_settings(arguments)).run()
    except (config.ConfigError, errors.PlacementError, migration.MigrationError, CommandError) as exc:
        print(f'{PROG}: {exc}', file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _numbers_shared(workers: int) -> Iterator[None]:
    """A directory where the workers count together (`placement.metrics`), unless the environment names one."""
    if workers == 1 or metrics.DIRECTORY in os.environ:
        yield
        return
    first = os.getpid()
    directory = os.environ[metrics.DIRECTORY] = tempfile.mkdtemp(prefix=f'{PROG}-')
    try:
        yield
    finally:
        # Workers are forks, and each comes by here, too.
        if os.getpid() == first:
            os.environ.pop(metrics.DIRECTORY, None)
            shutil.rmtree(directory, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=PROG, description='Run the placement service over HTTP.')
    parser.add_argument('--version', action='version', version=importlib.metadata.version('openstack-placement'))
    parser.add_argument(
        completion.OPTION, choices=completion.SHELLS, help='print a script that completes arguments, and exit'
    )
    parser.add_argument('--host', default='127.0.0.1', help='the address to listen on (default: %(default)s)')
    parser.add_argument('--port', type=int, default=8778, help='the port; 0 picks a free one (default: %(default)s)')
    parser.add_argument('--workers', type=_positive, default=1, help='the number of processes (default: %(default)s)')
    parser.add_argument('--threads', type=_positive, default=8, help='threads of each process (default: %(default)s)')
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a positive number')
    return int(text)


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    host = f'[{arguments.host}]' if ':' in arguments.host else arguments.host
    return {
        'bind': f'{host}:{arguments.port}',
        'workers': arguments.workers,
        'worker_class': 'gthread',
        'threads': arguments.threads,
        # The configuration is read, and the schema migrated, once, and a mistake ends the start instead of a worker.
        'preload_app': True,
        'proc_name': PROG,
        'graceful_timeout': GRACE,
        'keepalive': 75,
        # Requests for candidates name aggregates by the hundred.
        'limit_request_line': 0,
        # Whether to believe X-Forwarded-* is for [oslo_middleware] enable_proxy_headers_parsing to say.
        'forwarded_allow_ips': '',
        'control_socket_disable': True,
    }


if __name__ == '__main__':
    sys.exit(main())
