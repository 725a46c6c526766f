"""Virtual environments of their own for software that the tests run but never import: the reference, Keystone, clients.

Each is made once, in .cache, or named by an environment variable. Used by tests/reference.py and tests/deployment.
"""

import dataclasses
import fcntl
import os
import subprocess
import sys
from pathlib import Path

_CACHE = Path(__file__).parent.parent / '.cache'
_INSTALL_SECONDS = 300


class Unavailable(Exception):
    """The software cannot be installed here; the text says why."""


@dataclasses.dataclass(frozen=True)
class Environment:
    """What pip installs, under a name; `override` is the variable that names an environment that has it already."""

    name: str
    requirements: tuple[str, ...]
    override: str

    def bin(self) -> Path:
        """The folder of the programs; the environment is made at the first call (a minute). Raises Unavailable."""
        if given := os.environ.get(self.override):
            found = Path(given) / 'bin'
            if not (found / 'python').exists():
                raise Unavailable(f'{self.override}={given} has no bin/python')
            return found
        cache = _CACHE / self.name
        cache.mkdir(parents=True, exist_ok=True)
        # Test processes side by side install it once; one that is killed half-way leaves no mark, and the next begins
        # anew.
        with (cache / 'lock').open('w') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            mark = cache / 'installed'
            if not mark.exists() or mark.read_text().split() != list(self.requirements):
                self._install(cache / 'venv')
                mark.write_text('\n'.join(self.requirements))
        return cache / 'venv' / 'bin'

    def _install(self, venv: Path) -> None:
        self._run(sys.executable, '-m', 'venv', '--clear', str(venv))
        self._run(str(venv / 'bin' / 'python'), '-m', 'pip', 'install', '--quiet', *self.requirements)

    def _run(self, *command: str) -> None:
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
            what = f'{self.name} cannot be installed'
            raise Unavailable(f'{what}: {" ".join(command)}: {exc.stdout[-500:]}') from exc
        except subprocess.TimeoutExpired as exc:
            what = f'{self.name} is not installed after {exc.timeout:.0f} s'
            raise Unavailable(f'{what}: {" ".join(command)}') from exc
