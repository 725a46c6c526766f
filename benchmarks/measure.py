"""Measuring: two services side by side on one database server, the same requests to both in turn."""

import contextlib
import itertools
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from benchmarks.clouds import Cloud
from benchmarks.wire import Answer, Connection, Request
from benchmarks.works import WIDE, WIDE_TIGHT, Load, Work
from tests import live
from tests import service as in_process
from tests.databases import MariaDB

OURS, REFERENCE = 'ours', 'reference'
WORKERS, THREADS = 2, 8
# Without a bound the reference builds all 64^8 candidates of the wide tree before it takes the first thousand.
_CAP = 'OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES'
CLOUD_OPTIONS = {WIDE: {_CAP: '100000'}, WIDE_TIGHT: {_CAP: '1000'}}

# Two workers of the reference that migrate at the same time fail.
_NO_MIGRATION = {'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'False'}
# The reference takes no notice of it.
_TIMING = {'OS_API__SERVER_TIMING': 'True'}

# Statements of the services are counted by the server itself, so that nothing of a service has to be trusted.
_LOG_ON = ("SET GLOBAL log_output = 'TABLE'", 'TRUNCATE mysql.general_log', 'SET GLOBAL general_log = ON')
_LOG_OFF = ('SET GLOBAL general_log = OFF',)
_LOGGED = (
    'SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE thread_id <> CONNECTION_ID() '
    "AND command_type IN ('Query', 'Execute', 'Connect')"
)


@dataclass(frozen=True)
class Effort:
    """How long to measure: per row at least `repetitions`, and on until `seconds` have passed; a service whose request
    takes longer than `slow` seconds is asked only `repetitions_if_slow` times."""

    repetitions: int
    repetitions_if_slow: int
    seconds: float
    load_rounds: int
    load_seconds: float
    slow: float = 1.0
    most: int = 100


QUICK = Effort(repetitions=5, repetitions_if_slow=1, seconds=0, load_rounds=1, load_seconds=2)
FULL = Effort(repetitions=15, repetitions_if_slow=5, seconds=4, load_rounds=3, load_seconds=5)


@dataclass
class Row:
    """One row of the table: medians in milliseconds (or writes per second), and statements, by service."""

    name: str
    bar: float | None
    unit: str = 'ms'
    medians: dict[str, float] = field(default_factory=dict)
    statements: dict[str, int] = field(default_factory=dict)
    note: str = ''

    @property
    def ratio(self) -> float | None:
        """How many times better we are."""
        if len(self.medians) < 2:
            return None
        ours, reference = self.medians[OURS], self.medians[REFERENCE]
        return ours / reference if self.unit == '/s' else reference / ours


@dataclass
class Service:
    name: str
    url: str
    directory: Path
    connection: Connection

    def peak_memory(self) -> int:
        """The largest peak of a worker's resident memory, in megabytes."""
        peaks = [0]
        for process in Path('/proc').iterdir():
            with contextlib.suppress(OSError):
                if str(self.directory).encode() in (process / 'environ').read_bytes():
                    status = dict(line.split(':', 1) for line in (process / 'status').read_text().splitlines())
                    peaks.append(int(status['VmHWM'].split()[0]) // 1024)
        return max(peaks)


class Bench:
    """Both services (or ours alone) on one cloud."""

    def __init__(self, server: MariaDB, services: Mapping[str, Service], effort: Effort) -> None:
        self.server = server
        self.services = services
        self.effort = effort

    def measure(self, work: Work) -> Iterator[Row]:
        """The rows of a work: warmed up, counted, and then timed in turn."""
        rows = {name: Row(name, bar) for name, bar in work.bars.items()}
        # No number is used twice: a claim can be made only once.
        requests = map(work.requests, itertools.count())
        first = self._round(next(requests), list(self.services))
        self._check_same(first)
        slow = [
            name for name in self.services if any(answer.seconds > self.effort.slow for answer in first[name].values())
        ]
        for service in self.services:
            self._count(next(requests), service, rows)
        times: dict[tuple[str, str], list[float]] = {}
        answers: dict[str, dict[str, Answer]] = {}
        started = time.monotonic()
        for turn in range(self.effort.most):
            if turn >= self.effort.repetitions and time.monotonic() - started > self.effort.seconds:
                break
            asked = [name for name in self.services if name not in slow or turn < self.effort.repetitions_if_slow]
            answers |= self._round(next(requests), asked)
            for service in asked:
                for name, answer in answers[service].items():
                    times.setdefault((service, name), []).append(answer.seconds)
        for (service, name), seconds in times.items():
            rows[name].medians[service] = statistics.median(seconds) * 1000
        for name, row in rows.items():
            row.note = answers[OURS][name].headers.get('server-timing', '')
            yield row

    def measure_load(self, load: Load) -> Row:
        """Rounds of one service and of the other in turn."""
        row = Row(load.name, load.bar, unit='/s')
        rates: dict[str, list[float]] = {name: [] for name in self.services}
        refused: dict[str, int] = dict.fromkeys(self.services, 0)
        numbers = itertools.count()
        for _ in range(self.effort.load_rounds):
            for service in self.services:
                done, other = press(self.services[service].url, load, numbers, self.effort.load_seconds)
                rates[service].append(done / self.effort.load_seconds)
                refused[service] += other
        row.medians = {service: statistics.median(values) for service, values in rates.items()}
        row.note = ', '.join(f'{number} refused by {service}' for service, number in refused.items() if number)
        return row

    def _round(self, requests: Mapping[str, Request], asked: list[str]) -> dict[str, dict[str, Answer]]:
        """The same requests to each service in turn."""
        answers: dict[str, dict[str, Answer]] = {name: {} for name in asked}
        for name, request in requests.items():
            for service in asked:
                answers[service][name] = self._send(service, request)
        return answers

    def _send(self, service: str, request: Request) -> Answer:
        answer = self.services[service].connection.send(request)
        if answer.status >= 300:
            raise RuntimeError(f'{service}: {request.method} {request.path}: {answer.status} {answer.body[:500]!r}')
        return answer

    def _check_same(self, answers: dict[str, dict[str, Answer]]) -> None:
        """Both do the same work: as many candidates, providers and so on in the answers."""
        if len(answers) < 2:
            return
        for name, ours in answers[OURS].items():
            theirs = answers[REFERENCE][name]
            if ours.status != theirs.status or _amount(ours) != _amount(theirs):
                raise RuntimeError(f'{name}: the answers differ: {_amount(ours)} and {_amount(theirs)}')

    def _count(self, requests: Mapping[str, Request], service: str, rows: Mapping[str, Row]) -> None:
        for name, request in requests.items():
            with self.statements() as seen:
                self._send(service, request)
            rows[name].statements[service] = len(seen)

    @contextlib.contextmanager
    def statements(self) -> Iterator[list[str]]:
        """What reaches the database server while the block runs, connects included; its log has no pings."""
        seen: list[str] = []
        engine = sa.create_engine(self.server.url('mysql'), poolclass=sa.NullPool, isolation_level='AUTOCOMMIT')
        with engine.connect() as connection:
            for statement in _LOG_ON:
                connection.exec_driver_sql(statement)
            try:
                yield seen
            finally:
                for statement in _LOG_OFF:
                    connection.exec_driver_sql(statement)
            seen += [f'{kind}: {text}' for kind, text in connection.exec_driver_sql(_LOGGED)]


def _amount(answer: Answer) -> dict[str, int]:
    """How much an answer holds; summaries depend on which candidates were chosen."""
    body = json.loads(answer.body or b'{}')
    body.pop('provider_summaries', None)
    return {key: len(part) for key, part in body.items() if isinstance(part, list | dict)}


def press(url: str, load: Load, numbers: Iterator[int], seconds: float) -> tuple[int, int]:
    """How many writes were acknowledged and how many refused while all clients wrote for so many seconds."""
    done, refused = [0] * load.clients, [0] * load.clients
    lock = threading.Lock()
    end = time.monotonic() + seconds

    def write(client: int) -> None:
        connection = Connection(url)
        while time.monotonic() < end:
            with lock:
                number = next(numbers)
            status = connection.send(load.request(number)).status
            if time.monotonic() < end:
                (done if status < 300 else refused)[client] += 1
        connection.close()

    threads = [threading.Thread(target=write, args=[client]) for client in range(load.clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(done), sum(refused)


@contextlib.contextmanager
def bench(server: MariaDB, cloud: Cloud, effort: Effort, interpreters: Mapping[str, str]) -> Iterator[Bench]:
    """Both services on databases of their own with the same cloud; `interpreters` are by name of the service."""
    services = {}
    with contextlib.ExitStack() as stack:
        for name, python in interpreters.items():
            url = server.create(f'{name}_{cloud.name}')
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f'placement-bench-{name}-')))
            in_process.create_schema(url)
            options = {**_NO_MIGRATION, **_TIMING, **CLOUD_OPTIONS.get(cloud, {})}
            address = stack.enter_context(
                live.serve(url, directory, workers=WORKERS, threads=THREADS, python=python, options=options)
            )
            cloud.load(url)
            services[name] = Service(name, address, directory, Connection(address))
        yield Bench(server, services, effort)
