"""tests.processes: nothing that the tests start outlives them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests import processes

SLEEP = [sys.executable, '-c', 'import time; time.sleep(60)']


def is_alive(pid: int) -> bool:
    try:
        with open(f'/proc/{pid}/stat') as stat:
            return stat.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def wait_for_end(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


def test_ends_with_the_block(tmp_path):
    with processes.running(SLEEP, log=tmp_path / 'log', ready=lambda: True) as process:
        assert is_alive(process.pid)
    assert not is_alive(process.pid)


def test_ends_with_an_interrupted_block(tmp_path):
    with (
        pytest.raises(KeyboardInterrupt),
        processes.running(SLEEP, log=tmp_path / 'log', ready=lambda: True) as process,
    ):
        raise KeyboardInterrupt
    assert not is_alive(process.pid)


def test_ends_when_the_tests_are_killed(tmp_path):
    code = (
        'import pathlib, sys, time\n'
        'from tests import processes\n'
        f'with processes.running({SLEEP!r}, log=pathlib.Path(sys.argv[1]), ready=lambda: True) as child:\n'
        '    print(child.pid, flush=True)\n'
        '    time.sleep(60)\n'
    )
    command = [sys.executable, '-c', code, str(tmp_path / 'log')]
    environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as tests:
        child = int(tests.stdout.readline())
        assert is_alive(child)
        tests.send_signal(signal.SIGKILL)
    assert wait_for_end(child)


def test_says_why_it_is_not_ready(tmp_path):
    command = [sys.executable, '-c', 'import sys; sys.exit("no such luck")']
    with (
        pytest.raises(processes.NotReady, match='ended with 1(?s:.*)no such luck'),
        processes.running(command, log=tmp_path / 'log', ready=lambda: False),
    ):
        pass


def test_does_not_wait_for_ever(tmp_path):
    with (
        pytest.raises(processes.NotReady, match='not ready after 0.2 s'),
        processes.running(SLEEP, log=tmp_path / 'log', ready=lambda: False, seconds=0.2),
    ):
        pass
