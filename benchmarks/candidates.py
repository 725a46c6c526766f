"""Where the time of an answer to GET /allocation_candidates goes: the solver alone, in this process, without HTTP.

    python -m benchmarks.candidates [--runs 9] [--hosts 1000 10000]

The comparison with the reference over HTTP is `python -m benchmarks`; the clouds are the same, on a private MariaDB.
Printed for each cloud and query: candidates, size of the body, SELECT statements, steps of the search, and in
milliseconds the first answer of a process, the same without checksums (which nobody needs who keeps nothing for the
next request), the median of the later answers, and what of that is the check that the topology still holds, the search
(with its reads), and the encoding. At last, the peak of memory that a request for 100,000 candidates adds.
"""

import argparse
import contextlib
import random
import re
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

import sqlalchemy as sa

from benchmarks.clouds import SERVER_USE, TOO_MUCH_MEMORY, TRAIT, Cloud
from placement import solver
from placement.solver.candidates import find
from placement.solver.source import Source
from tests import databases, service, statements

VERSION = (1, 39)
MANY = 100_000
OWN = 'resources=' + ','.join(f'{name}:{amount}' for name, amount in SERVER_USE.items())


def groups(count: int) -> str:
    """What a server takes, and so many groups of a network function each."""
    functions = '&'.join(f'resources{number}=SRIOV_NET_VF:1' for number in range(1, count + 1))
    return f'{OWN}&{functions}&group_policy=none'


QUERIES = {
    'flat': {
        'limit=1000': f'{OWN}&limit=1000',
        'limit=10': f'{OWN}&limit=10',
        'trait, limit=1000': f'{OWN}&required={TRAIT}&limit=1000',
        'more than any host has': 'resources=VCPU:1000000',
        'more than is left anywhere': f'resources=MEMORY_MB:{TOO_MUCH_MEMORY}',
    },
    'nested': {
        'four groups, limit=1000': f'{groups(4)}&limit=1000',
        'four groups, limit=10': f'{groups(4)}&limit=10',
        'one function too many': f'{groups(33)}&limit=10',
    },
    'wide': {
        '8 groups, limit=1000': f'{groups(8)}&limit=1000',
        '64 groups, limit=1000': f'{groups(64)}&limit=1000',
        '513 groups, one too many': f'{groups(513)}&limit=1000',
    },
}

_CHECKSUM = re.compile(r'BIT_XOR\(SIN\(.*?\) \* 4e18\)|sum\(crc32\(crc32\(.*?\)\)\)(?= AS )')


@dataclass
class Answer:
    """One run: its size, and how long its parts took, in milliseconds."""

    result: solver.Result
    size: int
    selects: int
    checking: float
    searching: float
    encoding: float

    @property
    def whole(self) -> float:
        return self.checking + self.searching + self.encoding


def answer(engine: sa.Engine, query: str, mirror: solver.Mirror) -> Answer:
    """As `solver.candidates` and `render.body` do it, with a look at the clock in between."""
    with statements.counted() as sent, engine.connect() as connection:
        times = [time.perf_counter()]
        wanted = solver.query.parse(parse_qsl(query), VERSION)
        topology = mirror.topology(connection)
        times.append(time.perf_counter())
        result = find(wanted, topology, Source(connection, mirror.traits), solver.Settings(), random.Random(1))
        times.append(time.perf_counter())
        size = sum(map(len, solver.render.body(result)))
        times.append(time.perf_counter())
    parts = [(after - before) * 1000 for before, after in zip(times, times[1:], strict=False)]
    return Answer(result, size, len(sent.starting_with('SELECT')), *parts)


@contextlib.contextmanager
def _without_checksums(engine: sa.Engine) -> Iterator[None]:
    """The statements of the block have zeros in the place of checksums."""

    def strip(
        _connection: object, _cursor: object, text: str, parameters: object, _context: object, _many: bool
    ) -> tuple[str, object]:
        return _CHECKSUM.sub('0', text), parameters

    sa.event.listen(engine, 'before_cursor_execute', strip, retval=True)
    try:
        yield
    finally:
        sa.event.remove(engine, 'before_cursor_execute', strip)


def measured(server: databases.MariaDB, clouds: Sequence[Cloud], runs: int) -> Iterator[str]:
    columns = ('found', 'kB', 'SELECTs', 'steps', 'first', 'plain', 'median', 'check', 'search', 'encode')
    yield f'{"cloud":12}{"query":28}' + ''.join(f'{column:>9}' for column in columns)
    for cloud in clouds:
        engine = loaded(server, cloud)
        for title, query in QUERIES[cloud.shape].items():
            # The first of all compiles the statements, which is no matter of what is kept.
            answer(engine, query, solver.Mirror())
            firsts, plain = [], []
            for _ in range(runs):
                firsts.append(answer(engine, query, solver.Mirror()).whole)
                with _without_checksums(engine):
                    plain.append(answer(engine, query, solver.Mirror()).whole)
            mirror = solver.Mirror()
            answer(engine, query, mirror)
            later = [answer(engine, query, mirror) for _ in range(runs)]
            last = later[-1]
            counts = (len(last.result), last.size // 1000, last.selects, last.result.steps)
            times = [statistics.median(firsts), statistics.median(plain)] + [
                statistics.median(getattr(run, part) for run in later)
                for part in ('whole', 'checking', 'searching', 'encoding')
            ]
            yield (
                f'{cloud.name:12}{title:28}'
                + ''.join(f'{count:9}' for count in counts)
                + ''.join(f'{milliseconds:9.1f}' for milliseconds in times)
            )
        engine.dispose()


def loaded(server: databases.MariaDB, cloud: Cloud) -> sa.Engine:
    url = server.create(cloud.name)
    service.create_schema(url)
    with service.application(service.configuration(url)):
        pass  # its start writes the standard names
    cloud.load(url)
    return sa.create_engine(url)


def peak_memory(server: databases.MariaDB, cloud: Cloud) -> str:
    """What one request for many candidates adds at its peak, by Python's own account."""
    engine = loaded(server, cloud)
    mirror = solver.Mirror()
    answer(engine, f'{groups(8)}&limit=1', mirror)
    tracemalloc.start()
    run = answer(engine, f'{groups(8)}&limit={MANY}', mirror)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    engine.dispose()
    return f'{len(run.result):,} candidates of {cloud.name}, {run.size / 1e6:.0f} MB: peak {peak / 1e6:.0f} MB'


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n')[0])
    parser.add_argument('--hosts', type=int, nargs='+', default=[1_000, 10_000], help='sizes of the flat clouds')
    parser.add_argument('--runs', type=int, default=9, help='first answers, and answers after the first')
    arguments = parser.parse_args()
    clouds = [Cloud(f'flat{hosts}', 'flat', hosts) for hosts in arguments.hosts]
    clouds += [Cloud('nested1000', 'nested', 1_000), Cloud('wide64', 'wide', 64)]
    with (
        tempfile.TemporaryDirectory(prefix='placement-bench-') as directory,
        databases.mariadb(Path(directory)) as server,
    ):
        for line in measured(server, clouds, arguments.runs):
            print(line, flush=True)
        print(peak_memory(server, clouds[-1]))


if __name__ == '__main__':
    main()
