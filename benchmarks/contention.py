"""Acknowledged claims per second when clients fight for the same hosts, beside the reference in one run.

    python -m benchmarks.contention [--seconds N] [--rounds N] [--alone]

A claim is one new consumer with one VCPU of one host that has plenty: all that is measured is how writers get along.
Each round has new hosts, since usage is summed up in every claim, and what the rounds before have left would slow down
the quicker service more. Rounds of the two services take turns; a row has the medians. The figures are in
docs/guarantees.md.
"""

import argparse
import functools
import itertools
import statistics
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.clouds import Cloud, uuid_of
from benchmarks.measure import OURS, REFERENCE, THREADS, WORKERS, press
from benchmarks.wire import Connection, Request
from benchmarks.works import Load
from tests import databases, live, reference, service

CLIENTS = (1, 4, 16, 64)
HOSTS = (1, 4)
PLENTY = 2_000_000_000
_NO_MIGRATION = {'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'False'}


def main() -> int:
    """Measure, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog='benchmarks.contention', description=__doc__.partition('\n')[0])
    parser.add_argument('--seconds', type=float, default=5, help='of one round')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--alone', action='store_true', help='without the reference')
    arguments = parser.parse_args()
    interpreters = {OURS: sys.executable}
    if not arguments.alone:
        interpreters[REFERENCE] = reference.python()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='placement-bench-')))
        server = stack.enter_context(databases.mariadb(directory))
        urls = {}
        for name, python in interpreters.items():
            database = server.create(name)
            service.create_schema(database)
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f'placement-bench-{name}-')))
            urls[name] = stack.enter_context(
                live.serve(database, place, workers=WORKERS, threads=THREADS, python=python, options=_NO_MIGRATION)
            )
        print('| hosts | clients | ' + ' | '.join(f'{name}, acknowledged/s (others)' for name in urls) + ' |')
        print('|---|---|' + '---|' * len(urls))
        numbers = itertools.count()
        for hosts, clients in itertools.product(HOSTS, CLIENTS):
            rounds: dict[str, list[tuple[int, int]]] = {name: [] for name in urls}
            for turn in range(arguments.rounds):
                uuids = [uuid_of(f'contended{hosts}-{clients}-{turn}-{number}') for number in range(hosts)]
                load = Load('', Cloud('', 'flat', hosts), clients, 0, functools.partial(_claim, uuids))
                for name, url in urls.items():
                    _make_hosts(url, uuids)
                    rounds[name].append(press(url, load, numbers, arguments.seconds))
            cells = [
                f'{statistics.median(done for done, _ in found) / arguments.seconds:.0f} '
                f'({sum(refused for _, refused in found)})'
                for found in rounds.values()
            ]
            print(f'| {hosts} | {clients} | ' + ' | '.join(cells) + ' |', flush=True)
    return 0


def _make_hosts(url: str, uuids: Sequence[str]) -> None:
    connection = Connection(url)
    for uuid in uuids:
        inventories = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': PLENTY}}}
        for request in (
            Request('POST', '/resource_providers', {'name': uuid, 'uuid': uuid}),
            Request('PUT', f'/resource_providers/{uuid}/inventories', inventories),
        ):
            answer = connection.send(request)
            if answer.status >= 300:
                raise RuntimeError(f'{request.method} {request.path}: {answer.status} {answer.body[:500]!r}')
    connection.close()


def _claim(hosts: Sequence[str], number: int) -> Request:
    return Request(
        'PUT',
        f'/allocations/{uuid_of(f"claimant{number}")}',
        {
            'allocations': {hosts[number % len(hosts)]: {'resources': {'VCPU': 1}}},
            'project_id': 'project',
            'user_id': 'user',
            'consumer_type': 'INSTANCE',
            'consumer_generation': None,
        },
    )


if __name__ == '__main__':
    sys.exit(main())
