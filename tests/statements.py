"""Counts what a piece of code says to the database: SQL statements, COMMIT and ROLLBACK, as the driver sends them."""

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa


@dataclasses.dataclass
class Statements:
    """What was sent, in order. `len()` is the number of statements, COMMIT and ROLLBACK included."""

    texts: list[str] = dataclasses.field(default_factory=list)

    def __len__(self) -> int:
        return len(self.texts)

    def __str__(self) -> str:
        return '\n'.join(f'{number:3} {" ".join(text.split())}' for number, text in enumerate(self.texts, 1))

    def starting_with(self, word: str) -> list[str]:
        """The statements that begin with `word`, in any case."""
        return [text for text in self.texts if text.lstrip().upper().startswith(word.upper())]


@contextlib.contextmanager
def counted() -> Iterator[Statements]:
    """Record the statements of all engines in this thread while the block runs.

    A statement run for many rows at once (executemany) counts as often as the driver goes to the database for it.
    """
    seen = Statements()
    thread = threading.get_ident()

    def record(text: str) -> None:
        if threading.get_ident() == thread:
            seen.texts.append(text)

    def on_execute(_conn: Any, cursor: Any, statement: str, parameters: Any, _context: Any, executemany: bool) -> None:
        rows = len(parameters) if executemany and _sent_one_by_one(cursor, statement) else 1
        for _ in range(rows):
            record(statement)

    def on_commit(_conn: Any) -> None:
        record('COMMIT')

    def on_rollback(_conn: Any) -> None:
        record('ROLLBACK')

    listeners = {'before_cursor_execute': on_execute, 'commit': on_commit, 'rollback': on_rollback}
    for event, listener in listeners.items():
        sa.event.listen(sa.Engine, event, listener)
    try:
        yield seen
    finally:
        for event, listener in listeners.items():
            sa.event.remove(sa.Engine, event, listener)


def _sent_one_by_one(cursor: Any, statement: str) -> bool:
    """PyMySQL makes one statement of an INSERT of many rows, and a round trip for each row of anything else."""
    return type(cursor).__module__.startswith('pymysql') and not statement.lstrip().upper().startswith('INSERT')
