"""Finds the worker processes of a service that tests/live.py started."""

import contextlib
from pathlib import Path


def workers(directory: Path) -> list[int]:
    """The process ids of the workers whose server has its configuration in `directory`."""
    mark = f'OS_PLACEMENT_CONFIG_DIR={directory}'.encode()
    parents = {}
    for process in Path('/proc').iterdir():
        with contextlib.suppress(OSError, ValueError):
            if mark in (process / 'environ').read_bytes().split(b'\0'):
                parents[int(process.name)] = int((process / 'stat').read_text().rpartition(')')[2].split()[1])
    return [pid for pid, parent in parents.items() if parent in parents]
