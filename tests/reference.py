"""The reference (openstack-placement) as a test peer: installed in an environment of its own, run, never imported.

Tests take the fixture `reference_python` of conftest.py, which skips where the reference cannot be had, and start it
with `live.serve(..., python=reference_python)`.
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = ('openstack-placement==16.0.0', 'gunicorn', 'PyMySQL')

# A virtual environment that has it already.
OVERRIDE = 'PLACEMENT_REFERENCE_VENV'

_CACHE = Path(__file__).parent.parent / '.cache' / 'reference'
_INSTALL_SECONDS = 300


class Unavailable(Exception):
    """The reference cannot be installed here; the text says why."""


def python() -> str:
    """The interpreter of the environment, which is made at the first call (a minute). Raises Unavailable."""
    if given := os.environ.get(OVERRIDE):
        found = Path(given) / 'bin' / 'python'
        if not found.exists():
            raise Unavailable(f'{OVERRIDE}={given} has no bin/python')
        return str(found)
    _CACHE.mkdir(parents=True, exist_ok=True)
    # Test processes side by side install it once; one that is killed half-way leaves no mark, and the next begins anew.
    with (_CACHE / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = _CACHE / 'installed'
        if not mark.exists() or mark.read_text().split() != list(REQUIREMENTS):
            _install(_CACHE / 'venv')
            mark.write_text('\n'.join(REQUIREMENTS))
    return str(_CACHE / 'venv' / 'bin' / 'python')


def _install(venv: Path) -> None:
    _run(sys.executable, '-m', 'venv', '--clear', str(venv))
    _run(str(venv / 'bin' / 'python'), '-m', 'pip', 'install', '--quiet', *REQUIREMENTS)


def _run(*command: str) -> None:
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
            timeout=_INSTALL_SECONDS,
        )
    except subprocess.CalledProcessError as exc:
        raise Unavailable(f'the reference cannot be installed: {" ".join(command)}: {exc.stdout[-500:]}') from exc
    except subprocess.TimeoutExpired as exc:
        raise Unavailable(f'the reference is not installed after {exc.timeout:.0f} s: {" ".join(command)}') from exc
