"""How commands for operators write: tables for people, JSON for programs. Used by the modules of `placement.cmd`."""

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

# The width of what is not written to a terminal (nor told by COLUMNS), so that logs and pipes keep whole lines.
PIPE_WIDTH = 160
_BAR = 12


def console() -> Console:
    """Standard output, as it is now."""
    found = Console(file=sys.stdout, highlight=False, markup=False)
    if not found.is_terminal:
        found = Console(file=sys.stdout, highlight=False, markup=False, width=_columns() or PIPE_WIDTH)
    return found


def _columns() -> int | None:
    text = os.environ.get('COLUMNS', '')
    return int(text) if text.isdecimal() and int(text) else None


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]], numbers: Iterable[str] = ()) -> Table:
    """A table; the columns in `numbers` are set flush right."""
    found = Table(title=title or None, title_justify='left', title_style='bold', box=box.SIMPLE, pad_edge=False)
    right = set(numbers)
    for name in columns:
        found.add_column(name, justify='right' if name in right else 'left', overflow='fold')
    for row in rows:
        found.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return found


def bar(used: int, capacity: int) -> Text:
    """How full something is: a bar of fixed width and per cent."""
    share = used / capacity if capacity > 0 else float(used > 0)
    filled = min(round(share * _BAR), _BAR)
    colour = 'red' if share > 1 else 'yellow' if share > 0.9 else 'green'
    return Text.assemble(('█' * filled, colour), ('░' * (_BAR - filled), 'dim'), f' {share:4.0%}')


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write('\n')
