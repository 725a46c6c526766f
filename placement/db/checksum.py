"""Checksums and packed reads, so that few rows cross the wire (used by placement.solver).

A checksum is the sum over the rows of CRC32(CRC32(text of the row)). One CRC32 would not do: it is linear, so that
alike changes of alike rows (one more unit on two hosts) cancel each other, always in a XOR of checksums and in one of
16 cases in a sum of them. The decimal digits of the inner one break that (tests/unit/db/test_checksum.py counts it).
"""

import zlib
from typing import Any

import sqlalchemy as sa

_SEPARATOR = ' '


def prepare(connection: Any, dialect: str) -> None:
    """Make `row_text`, `checksum`, `packed` and other joined texts work on a new connection of the driver, whatever
    their size. Called by `db/engine.py`."""
    if dialect == 'sqlite':
        connection.create_function('crc32', 1, _crc32, deterministic=True)
    else:
        # MySQL cuts off after 1024 bytes by default, MariaDB after a megabyte. This is the most that MariaDB takes.
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION group_concat_max_len = 1073741824')


def row_text(connection: sa.Connection, *columns: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """The columns of one row as one text, separated by blanks; NULL is left out or empty."""
    if connection.dialect.name == 'sqlite':
        text: sa.ColumnElement[str] = sa.func.coalesce(sa.cast(columns[0], sa.String), '')
        for column in columns[1:]:
            text = text + _SEPARATOR + sa.func.coalesce(sa.cast(column, sa.String), '')
        return text
    return sa.func.concat_ws(_SEPARATOR, *columns)


def checksum(connection: sa.Connection, *columns: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The checksum of a group of rows, a whole number (of a decimal type on MySQL)."""
    return sa.func.sum(sa.func.crc32(sa.func.crc32(row_text(connection, *columns))))


def packed(connection: sa.Connection, *columns: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """The texts of a group of rows in one text, separated by blanks."""
    return sa.func.aggregate_strings(row_text(connection, *columns), _SEPARATOR)


def _crc32(value: str | int) -> int:
    """As CRC32 of MySQL."""
    return zlib.crc32(str(value).encode())
