"""`make bench`: this service beside the reference, on one machine, one database server and in one run.

    python -m benchmarks [--quick] [--only TEXT]… [--alone] [--record REMARK]

`--record` puts the rows that were measured into RESULTS.md, in the place of earlier ones of the same names.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pymysql

from benchmarks import fixed, report
from benchmarks.measure import FULL, OURS, QUICK, REFERENCE, Effort, Row, bench
from benchmarks.works import CLOUDS, CURVE, LOADS, WORKS, Load, Work
from tests import databases, reference

# The server of the tests forgets the last second when the machine fails; here it works as in production.
SERVER_SETTINGS = ('innodb_buffer_pool_size = 1073741824', 'innodb_flush_log_at_trx_commit = 1')


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table."""
    arguments = _parser().parse_args(argv)
    wanted = [work for work in (*WORKS, *LOADS, *CURVE) if _is_wanted(_names(work), arguments.only)]
    interpreters = {OURS: sys.executable}
    if not arguments.alone:
        interpreters[REFERENCE] = reference.python()
    with (
        tempfile.TemporaryDirectory(prefix='placement-bench-') as directory,
        databases.mariadb(Path(directory)) as server,
    ):
        _set(server)
        effort = QUICK if arguments.quick else FULL
        names = [name for name in fixed.NAMES if _is_wanted([name], arguments.only)]
        for row in fixed.measure(server, names, effort, interpreters):
            print(report.line(row), flush=True)
            if arguments.record is not None:
                report.record([row], arguments.record)
        for cloud in CLOUDS:
            for alone in (False, True):
                works = [work for work in wanted if work.cloud == cloud and getattr(work, 'alone', False) == alone]
                if works:
                    sides = {OURS: sys.executable} if alone else interpreters
                    rows = _measure(server, works, effort, sides)
                    if arguments.record is not None:
                        report.record(rows, arguments.record)
    return 0


def _measure(
    server: databases.MariaDB, works: Sequence[Work | Load], effort: Effort, interpreters: dict[str, str]
) -> list[Row]:
    rows: list[Row] = []
    cloud = works[0].cloud
    with bench(server, cloud, effort, interpreters) as on:
        for work in works:
            for row in [on.measure_load(work)] if isinstance(work, Load) else on.measure(work):
                print(report.line(row), flush=True)
                rows.append(row)
        memory = Row(f'peak memory of a worker, {cloud.name}', None, unit='MB')
        memory.medians = {name: service.peak_memory() for name, service in on.services.items()}
        print(report.line(memory), flush=True)
        rows.append(memory)
    return rows


def _names(work: Work | Load) -> list[str]:
    return [work.name] if isinstance(work, Load) else list(work.bars)


def _is_wanted(names: Sequence[str], only: Sequence[str]) -> bool:
    return not only or any(part in name for part in only for name in names)


def _set(server: databases.MariaDB) -> None:
    connection = pymysql.connect(host='127.0.0.1', port=server.port, user='root')
    with connection, connection.cursor() as cursor:
        for setting in SERVER_SETTINGS:
            cursor.execute(f'SET GLOBAL {setting}')


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog='benchmarks', description=__doc__.partition('\n')[0])
    parser.add_argument('--quick', action='store_true', help='few repetitions: a look, not a result')
    parser.add_argument('--only', action='append', default=[], metavar='TEXT', help='only rows whose name has TEXT')
    parser.add_argument('--alone', action='store_true', help='without the reference')
    parser.add_argument('--record', metavar='REMARK', help='put the rows, and how they were measured, into RESULTS.md')
    return parser


if __name__ == '__main__':
    sys.exit(main())
