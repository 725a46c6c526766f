"""The same pseudo-random requests to this service and to the reference, every pair of answers compared.

The comparison is the tool `peerdiff` beside this repository (or where PLACEMENT_PEERDIFF says); differences that are
decided are rules in tests/peerdiff_accept.json. The failure prints how to run a finding again: profile, seed and steps.
"""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import live, processes

TOOL = Path(os.environ.get('PLACEMENT_PEERDIFF', live.CHECKOUT.parent / 'shared' / 'peerdiff'))
ACCEPT = live.CHECKOUT / 'tests' / 'peerdiff_accept.json'

# Seed and steps, for about ten seconds each on two free cores; longer runs are for the developer's hand.
PROFILES = {'crud': (11, 400), 'allocations': (21, 400), 'hostile': (31, 600), 'mixed': (41, 400)}

# Should everything here be killed, the servers end by themselves after this time.
LIFETIME_SECONDS = 600
RUN_SECONDS = 450

pytestmark = [
    pytest.mark.skipif(not TOOL.exists(), reason=f'{TOOL} is not there'),
    pytest.mark.timeout(2 * LIFETIME_SECONDS),
]


def serve_tool(*arguments: str) -> None:
    """Run the tool's serve.py, which starts servers, stops them and empties their databases."""
    command = [sys.executable, str(TOOL / 'serve.py'), *arguments]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def start(directory: Path, python: str, *options: str, gunicorn: str) -> str:
    port = processes.free_port()
    command = (
        f'timeout --kill-after=5 {LIFETIME_SECONDS} {shlex.quote(python)} -m gunicorn --bind 127.0.0.1:{{port}} '
        f'--workers 1 --worker-class gthread --threads 1 --keep-alive 75 {gunicorn}'
    )
    serve_tool('start', '--dir', str(directory), '--port', str(port), '--cmd', command, *options)
    return f'http://127.0.0.1:{port}'


@pytest.fixture(scope='module')
def servers(tmp_path_factory, reference_python):
    """The arguments that tell the tool of both servers: the reference as a, this service as b."""
    directory = tmp_path_factory.mktemp('peerdiff')
    a, b = directory / 'a', directory / 'b'
    checkout = shlex.quote(str(live.CHECKOUT))
    shortcut = f'--pythonpath {shlex.quote(str(TOOL))} reference_wsgi:application'
    reset = [sys.executable, str(TOOL / 'serve.py'), 'reset', str(a), str(b)]
    try:
        a_url = start(a, reference_python, gunicorn=shortcut)
        b_url = start(b, sys.executable, gunicorn=f'--pythonpath {checkout} placement.wsgi.api:application')
        yield ['--a', a_url, '--b', b_url, '--reset-cmd', shlex.join(reset)]
    finally:
        serve_tool('stop', str(a), str(b))


@pytest.mark.parametrize('profile', PROFILES)
def test_same_answers(profile, servers):
    seed, steps = PROFILES[profile]
    command = [sys.executable, str(TOOL), *servers, '--profile', profile, '--seed', str(seed), '--steps', str(steps)]
    command += ['--accept', str(ACCEPT)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
    )
    assert done.returncode == 0, done.stdout[-8000:]
