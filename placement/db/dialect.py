"""What the supported databases do differently within a statement, one named function each. Called by `objects`."""

import contextlib
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions


class effective_ratio(functions.GenericFunction[float]):  # noqa: N801 - read as a function in SQL expressions
    """The ratio that counts, of a column of ratios: as `placement.capacity.effective_ratio`, in SQL (decision A11)."""

    type = sa.Double()
    inherit_cache = True


@compiler.compiles(effective_ratio, 'sqlite')
def _effective_ratio_sqlite(element: effective_ratio, visitor: Any, **kwargs: Any) -> str:
    return f"CAST(printf('%.6g', {visitor.process(element.clauses, **kwargs)}) AS REAL)"


@compiler.compiles(effective_ratio, 'mysql')
@compiler.compiles(effective_ratio, 'mariadb')
def _effective_ratio_mysql(element: effective_ratio, visitor: Any, **kwargs: Any) -> str:
    # A FLOAT as text has six digits.
    return f'(CONCAT({visitor.process(element.clauses, **kwargs)}) + 0e0)'


class verbatim(functions.GenericFunction[str]):  # noqa: N801 - read as a function in SQL expressions
    """A text whose case counts in comparisons, unlike that of any text in MySQL (service.md trap 15). No index serves
    for it: compare the column itself, too."""

    type = sa.String()
    inherit_cache = True


@compiler.compiles(verbatim, 'sqlite')
def _verbatim_sqlite(element: verbatim, visitor: Any, **kwargs: Any) -> str:
    return str(visitor.process(element.clauses, **kwargs))


@compiler.compiles(verbatim, 'mysql')
@compiler.compiles(verbatim, 'mariadb')
def _verbatim_mysql(element: verbatim, visitor: Any, **kwargs: Any) -> str:
    return f'CAST({visitor.process(element.clauses, **kwargs)} AS BINARY)'


class row_text(functions.GenericFunction[str]):  # noqa: N801 - read as a function in SQL expressions
    """Columns of one row as one text, separated by blanks; none of them may be NULL.

    PERF: aggregated, a group of rows comes as one. PyMySQL needs 10 µs for each row and 5 µs for each column that it
    reads, MariaDB makes a text of a row in one.
    """

    type = sa.Text()
    inherit_cache = True


@compiler.compiles(row_text, 'sqlite')
def _row_text_sqlite(element: row_text, visitor: Any, **kwargs: Any) -> str:
    return '(' + " || ' ' || ".join(visitor.process(column, **kwargs) for column in element.clauses) + ')'


@compiler.compiles(row_text, 'mysql')
@compiler.compiles(row_text, 'mariadb')
def _row_text_mysql(element: row_text, visitor: Any, **kwargs: Any) -> str:
    return f"CONCAT_WS(' ', {visitor.process(element.clauses, **kwargs)})"


class lines(functions.GenericFunction[str]):  # noqa: N801 - read as a function in SQL expressions
    """The texts of a group of rows in one text, a line for each. NULLs are left out; NULL if there is nothing else.

    PERF: `aggregate_strings` has SQLAlchemy put its separator into the statement at each execution.
    """

    type = sa.Text()
    inherit_cache = True


@compiler.compiles(lines, 'sqlite')
def _lines_sqlite(element: lines, visitor: Any, **kwargs: Any) -> str:
    return f'group_concat({visitor.process(element.clauses, **kwargs)}, char(10))'


@compiler.compiles(lines, 'mysql')
@compiler.compiles(lines, 'mariadb')
def _lines_mysql(element: lines, visitor: Any, **kwargs: Any) -> str:
    return f"GROUP_CONCAT({visitor.process(element.clauses, **kwargs)} SEPARATOR '\n')"


# A block is 2 to the power of this many ids. Rows of up to 1,500 bytes, joined, stay below 400 kB.
BLOCK_BITS = 8


def block(ids: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """The number of the block of an id. Many rows are joined to one text block by block, because MariaDB cuts off, and
    reports no error, what is longer than its max_allowed_packet (16 MB; 1 MB on some servers)."""
    return ids.op('>>')(sa.literal_column(str(BLOCK_BITS)))


def replace_rows(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], columns: Collection[str]
) -> None:
    """Set `columns` of existing rows, in one statement: an INSERT that finds the ids taken. So each of `rows` has the
    `id` and a value for every column that must not be NULL."""
    connection.execute(_replacement(table, tuple(columns), connection.dialect.name), rows)


@functools.cache
def _replacement(table: sa.Table, columns: tuple[str, ...], name: str) -> sa.Insert:
    if name == 'sqlite':
        into_sqlite = sqlite.insert(table)
        new = {column: into_sqlite.excluded[column] for column in columns}
        return into_sqlite.on_conflict_do_update(index_elements=[table.c.id], set_=new)
    into = mysql.insert(table)
    return into.on_duplicate_key_update({column: into.inserted[column] for column in columns})


def by_index(statement: sa.Select[Any], table: sa.Table, index: str) -> sa.Select[Any]:
    """Look rows up by an index even in a small table, where MariaDB would rather scan.

    A locking read locks all that it passes; and all who lock rows by this index take them in the same order.
    """
    hint = f'FORCE INDEX ({index})'
    return statement.with_hint(table, hint, 'mysql').with_hint(table, hint, 'mariadb')


def in_order(statement: sa.Select[Any]) -> sa.Select[Any]:
    """Join tables in the order in which they are written, whatever MySQL thinks of it."""
    return statement.prefix_with('STRAIGHT_JOIN', dialect='mysql').prefix_with('STRAIGHT_JOIN', dialect='mariadb')


@contextlib.contextmanager
def explicit_zero_ids(connection: sa.Connection) -> Iterator[None]:
    """An id of 0 is stored as 0 while the block runs, and not as the next number (service.md 2.1, trap 9.1)."""
    if connection.dialect.name == 'sqlite':
        yield
        return
    before = connection.scalar(sa.text('SELECT @@SESSION.sql_mode'))
    set_mode = sa.text('SET SESSION sql_mode = :mode')
    connection.execute(set_mode, {'mode': f'{before},NO_AUTO_VALUE_ON_ZERO'.lstrip(',')})
    try:
        yield
    finally:
        connection.execute(set_mode, {'mode': before})
