"""Statements for long lists of ids: `among` for any of them (used by placement.operator), `listed` and `rows` for those
that have to be quick (used by placement.solver, which reads of a thousand providers at once).

PERF: SQLAlchemy takes 0.2 ms for each of the solver's larger statements, and a microsecond for each id of a list; here
a statement becomes text once, and the ids are put into it.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa

# Below MariaDB's in_predicate_conversion_threshold of 1000. PERF: it joins a longer list as a table, which is slower
# (1,125 ids: 187 ms in one list, 110 ms in two).
_PORTION = 900

_PLACE = re.compile(r'\{(\w+):([\w.]+)\}')


def among(column: sa.ColumnElement[int], ids: Sequence[int]) -> sa.ColumnElement[bool]:
    """The condition that the column is one of these ids, however many there are."""
    # Literals rather than parameters: SQLite allows only so many of the latter, and ids are whole numbers.
    return sa.or_(
        sa.false(),
        *(column.in_(sa.bindparam(None, portion, expanding=True, literal_execute=True)) for portion in _portions(ids)),
    )


def listed(column: sa.ColumnElement[int], name: str) -> sa.ColumnElement[bool]:
    """In a statement of `rows`, the condition that the column is one of the ids of this name."""
    return sa.text(f'{{{name}:{column}}}')  # type: ignore[return-value]


def rows(
    connection: sa.Connection, make: Callable[[], sa.SelectBase], **ids: Sequence[int] | None
) -> sa.CursorResult[*tuple[Any, ...]]:
    """Run the statement that `make` builds (it is called once per process) with these lists of ids, given by name. None
    stands for all ids that there are."""
    text = _text(make, connection.dialect)
    return connection.exec_driver_sql(_PLACE.sub(lambda place: _condition(place[2], ids[place[1]]), text))


@functools.lru_cache(100)
def _text(make: Callable[[], sa.SelectBase], dialect: sa.Dialect) -> str:
    return str(make().compile(dialect=dialect, compile_kwargs={'literal_binds': True}))


def _condition(column: str, ids: Sequence[int] | None) -> str:
    if ids is None:
        return '1 = 1'
    return f'({" OR ".join(f"{column} IN ({_numbers(portion)})" for portion in _portions(ids) or [[]])})'


def _portions(ids: Sequence[int]) -> list[list[int]]:
    ordered = sorted(ids)
    return [ordered[start : start + _PORTION] for start in range(0, len(ordered), _PORTION)]


def _numbers(ids: Sequence[int]) -> str:
    return ','.join(map(str, map(int, ids))) or 'NULL'
