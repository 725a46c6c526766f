"""How commands for operators write: tables for people, JSON for programs. Used by the modules of `placement.cmd`."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
from rich import box, cells
from rich.console import Console
from rich.progress import Progress
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


def progress() -> Progress:
    """Shows on a terminal at standard error how far a command is, and nothing anywhere else."""
    console = Console(stderr=True)
    return Progress(
        console=console,
        transient=True,
        disable=not console.is_terminal,
        # What is printed meanwhile goes above the bar if it goes to that terminal, too, and else where it belongs.
        redirect_stdout=sys.stdout.isatty(),
        redirect_stderr=False,
    )


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


def long_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], right: Sequence[str] = ()) -> Text:
    """As `table` looks where it has room, but one line for each row whatever the width.

    PERF: a `Table` of 10,000 rows takes rich ten seconds.
    """
    texts = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    head = [Text(name, 'bold') for name in columns]
    sizes = [[cells.cell_len(cell.plain) for cell in row] for row in (head, *texts)]
    widths = [max(column) for column in zip(*sizes, strict=True)]
    is_right = [name in right for name in columns]
    lines = [Text(title, 'bold'), Text()]
    for row, row_sizes in zip((head, *texts), sizes, strict=True):
        line = Text(' ')
        for cell, size, width, to_right in zip(row, row_sizes, widths, is_right, strict=True):
            space = ' ' * (width - size)
            line.append(space if to_right else '').append_text(cell).append('' if to_right else space).append('   ')
        line.rstrip()
        lines.append(line)
    lines.insert(3, Text(' ' + '─' * (sum(widths) + 3 * len(widths) - 3)))
    return Text('\n').join([*lines, Text()])


def bar(used: int, capacity: int) -> Text:
    """How full something is: a bar of fixed width and per cent."""
    share = used / capacity if capacity > 0 else float(used > 0)
    filled = min(round(share * _BAR), _BAR)
    colour = 'red' if share > 1 else 'yellow' if share > 0.9 else 'green'
    return Text.assemble(('█' * filled, colour), ('░' * (_BAR - filled), 'dim'), f' {share:4.0%}')


def left_out(count: int) -> str:
    """What is said in place of rows beyond `--limit`."""
    return f'… and {count:,} more (--limit, --json)'


def print_json(value: Any) -> None:
    """One JSON document on standard output; dataclasses become objects."""
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode())
