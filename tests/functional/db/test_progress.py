"""Long commands show how far they are, on a terminal at standard error and nowhere else."""

import contextlib
import os
import pty
from pathlib import Path

import pytest

import placement.cmd.manage
from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.db.test_migrations import insert_allocation, insert_provider, migrate

pytestmark = pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)
TABLE = """\
+-----------------------------+-------------+-----------+
|          Migration          | Total Found | Completed |
+-----------------------------+-------------+-----------+
|    set_root_provider_ids    |      60     |     60    |
| create_incomplete_consumers |      2      |     2     |
+-----------------------------+-------------+-----------+
"""


def on_terminal(command: Command, *arguments: str) -> tuple[int, str, str]:
    """Run it with standard error at a terminal; returns exit status, standard output, and what the terminal got."""
    terminal, end = pty.openpty()
    command.environment |= {'TERM': 'xterm', 'COLUMNS': '100'}
    with command.start(*arguments, stderr=end) as process:
        os.close(end)
        shown = b''
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(terminal, 65536):
                shown += part
        out, _ = process.communicate(timeout=60)
    os.close(terminal)
    return process.returncode, out, shown.decode()


@pytest.fixture
def old_rows(empty_database: databases.Database) -> None:
    migrate(empty_database)
    for number in range(1, 61):
        insert_provider(empty_database, number, root=None)
    for consumer in 'ab':
        insert_allocation(empty_database, consumer)


@pytest.mark.usefixtures('old_rows')
def test_online_data_migrations(manage: Command) -> None:
    status, out, shown = on_terminal(manage, 'db', 'online_data_migrations')
    assert status == 0
    assert out.startswith('Running batches of 50 until complete\n50 rows matched query set_root_provider_ids, 50 migr')
    assert out.endswith(TABLE)
    assert 'Migrating' in shown
    assert '100%' in shown
    assert 'rows matched' not in shown


@pytest.mark.usefixtures('old_rows')
def test_nothing_without_a_terminal(manage: Command) -> None:
    status, out, err = manage('db', 'online_data_migrations')
    assert (status, out.endswith(TABLE), err) == (0, True, '')


def test_tables_are_missing(manage: Command) -> None:
    status, out, shown = on_terminal(manage, 'db', 'online_data_migrations')
    assert status == 2
    assert 'Error attempting to run set_root_provider_ids' in out
    assert 'Traceback' in shown


@pytest.mark.usefixtures('old_rows')
def test_audit(manage: Command, tmp_path: Path) -> None:
    status, out, shown = on_terminal(manage, 'audit')
    assert (status, 'without-consumer: 2' in out) == (1, True)
    assert 'Auditing' in shown
    assert 'Auditing' not in out
    _, out, err = Command(placement.cmd.manage, manage.url, tmp_path)('audit')
    assert ('without-consumer: 2' in out, err) == (True, '')
