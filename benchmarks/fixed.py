"""Rows without a cloud: the least that any answer takes, and the time from a start to the first answer."""

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import floor
from benchmarks.measure import OURS, THREADS, WORKERS, Effort, Row
from benchmarks.wire import Connection, Request
from tests import live
from tests import service as in_process
from tests.databases import MariaDB

LEAST, LEAST_WITH_DATABASE = 'a constant instead of a service', 'a constant after a SELECT 1'
START = 'start and first answer, empty database'
NAMES = (LEAST, LEAST_WITH_DATABASE, START)

_LEAST_REQUESTS = 500
# The application is built, and answers one request that reads the database.
_START = """
from placement.wsgi.api import application
environ = {
    'REQUEST_METHOD': 'GET', 'SCRIPT_NAME': '', 'PATH_INFO': '/resource_providers', 'QUERY_STRING': '',
    'SERVER_NAME': 'localhost', 'SERVER_PORT': '80', 'SERVER_PROTOCOL': 'HTTP/1.1', 'wsgi.url_scheme': 'http',
    'HTTP_X_AUTH_TOKEN': 'admin', 'REMOTE_ADDR': '127.0.0.1',
}
seen = []
list(application(environ, lambda status, headers, exc_info=None: seen.append(status)))
assert seen == ['200 OK'], seen
"""


def measure(server: MariaDB, names: list[str], effort: Effort, interpreters: Mapping[str, str]) -> Iterator[Row]:
    """The rows of these names."""
    if LEAST in names or LEAST_WITH_DATABASE in names:
        yield from _least(server)
    if START in names:
        yield _start(server, effort, interpreters)


def _least(server: MariaDB) -> Iterator[Row]:
    options = {floor.DATABASE: server.url('')}
    with (
        tempfile.TemporaryDirectory(prefix='placement-bench-floor-') as directory,
        live.serve(
            server.url(''),
            Path(directory),
            workers=WORKERS,
            threads=THREADS,
            options=options,
            application='benchmarks.floor:application',
        ) as address,
    ):
        connection = Connection(address)
        for name, path in ((LEAST, '/'), (LEAST_WITH_DATABASE, '/database')):
            request = Request('GET', path)
            seconds = [connection.send(request).seconds for _ in range(_LEAST_REQUESTS)]
            yield Row(name, None, medians={OURS: statistics.median(seconds) * 1000})
        connection.close()


def _start(server: MariaDB, effort: Effort, interpreters: Mapping[str, str]) -> Row:
    """Starts of both services in turn, the first of each not counted: it fills the database and Python's caches."""
    times: dict[str, list[float]] = {name: [] for name in interpreters}
    with tempfile.TemporaryDirectory(prefix='placement-bench-start-') as folder:
        commands = {}
        for name, python in interpreters.items():
            url = server.create(f'{name}_start')
            in_process.create_schema(url)
            directory = Path(folder) / name
            directory.mkdir()
            environment = live.configure(url, directory)
            if name == OURS:
                environment['PYTHONPATH'] = str(live.CHECKOUT)
            commands[name] = ([python, '-c', _START], environment, directory)
        for turn in range(1 + effort.repetitions // 2):
            for name, (command, environment, directory) in commands.items():
                started = time.perf_counter()
                subprocess.run(command, env=environment, cwd=directory, check=True, capture_output=True, timeout=120)
                if turn:
                    times[name].append(time.perf_counter() - started)
    return Row(START, None, medians={name: statistics.median(values) * 1000 for name, values in times.items()})
