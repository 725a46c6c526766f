"""Processes die by kill -9 while random clients go on: workers of the service, the database server itself.

What was acknowledged is there, nothing is half done, and the service serves again by itself.
"""

import contextlib
import os
import random
import signal
import tempfile
import time
from pathlib import Path

import pytest

from tests import databases, invariants, live, processes, service
from tests.concurrency import history, load
from tests.concurrency.workers import workers

# A process that dies loses nothing of these; a machine may.
DURABLE = ('--innodb-flush-log-at-trx-commit=2', '--innodb-doublewrite=1')
SECONDS = float(os.environ.get('PLACEMENT_TEST_HISTORY_SECONDS', '4'))


@pytest.mark.parametrize('database', ['mariadb', pytest.param('sqlite', marks=pytest.mark.soak)], indirect=True)
def test_workers_killed(database, tmp_path):
    with live.serve(database.url, tmp_path, workers=2, threads=8) as url:
        world = load.build(url)
        before = invariants.check(database.url)
        killed = []

        def accident():
            end = time.monotonic() + SECONDS
            while time.monotonic() < end:
                time.sleep(random.uniform(0.2, 1))
                if found := workers(tmp_path):
                    killed.append(random.choice(found))
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(killed[-1], signal.SIGKILL)

        load.run(world, [url], 600, seed=int.from_bytes(os.urandom(4)), meanwhile=accident)
        load.wait_until_served(url)
        load.settle(world, url)
    assert killed
    invariants.check(database.url, before)
    history.explain(world.calls)


def test_database_server_killed(mariadb, tmp_path):
    with (
        tempfile.TemporaryDirectory(prefix='placement-mariadb-') as name,
        contextlib.ExitStack() as running,
    ):
        directory, server = Path(name), databases.MariaDB(processes.free_port())
        databases.install_mariadb(directory)
        running.enter_context(databases.run_mariadb(server, directory, *DURABLE))
        database = server.create('placement')
        service.create_schema(database)
        with live.serve(database, tmp_path, workers=2, threads=8) as url:
            world = load.build(url)
            before = invariants.check(database)
            waits, crashes = [], []

            def accident():
                for _ in range(max(1, int(SECONDS / 10))):
                    time.sleep(3)
                    crashes.append(time.monotonic())
                    os.kill(int((directory / 'pid').read_text()), signal.SIGKILL)
                    running.close()
                    time.sleep(0.5)
                    running.enter_context(databases.run_mariadb(server, directory, *DURABLE))
                    waits.append(load.wait_until_served(url))
                time.sleep(1)

            load.run(world, [url], 600, seed=int.from_bytes(os.urandom(4)), meanwhile=accident)
            load.settle(world, url)
            assert max(waits) < 10, waits
        invariants.check(database, before)
    history.explain(world.calls, crashes=crashes)
