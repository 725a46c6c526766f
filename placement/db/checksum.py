"""Checksums and packed reads, so that few rows cross the wire (used by placement.solver).

A checksum of texts is the sum over the rows of CRC32(CRC32(text of the row)). One CRC32 would not do: it is linear, so
that alike changes of alike rows (one more unit on two hosts) cancel each other, always in a XOR of checksums and in one
of 16 cases in a sum of them. The decimal digits of the inner one break that.

A checksum of numbers is cheaper on MySQL (PERF: for 30,000 inventories 8 ms, not 14). Each row is an angle, the sum of
its numbers times constants that have no ratio in common; the sines of the angles, as whole numbers of 62 bits, are put
together by XOR. A sine is anything but linear in its last bits, and a XOR, unlike a sum of fractions, does not depend
on the order of rows. SQLite, which may have no sines, multiplies two remainders of a sum of whole numbers.
tests/functional/test_checksums.py counts what goes unseen.
"""

import functools
import math
import operator
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from sqlalchemy.ext import compiler
from sqlalchemy.sql import functions

from placement.db import dialect

_SEPARATOR = ' '
# Of the factors of the first two columns, the ids, and of the others, the amounts. Ids turn the angle all the way
# round, so that alike changes of neighbours differ. Amounts may be as large as 2^31 and must leave 32 bits behind the
# point, and one unit must show in a sine. (Of 4 million exchanges and alike changes of neighbours none went unseen.)
_SCALES = (1.0, 1.0, *[2.0**-16] * 6)
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def prepare(connection: Any, name: str) -> None:
    """Make checksums, `packed` and other joined texts work on a new connection of the driver, whatever their size.
    `name` is that of the dialect. Called by `db/engine.py`."""
    if name == 'sqlite':
        connection.create_function('crc32', 1, _crc32, deterministic=True)
    else:
        # MySQL cuts off after 1024 bytes by default, MariaDB after a megabyte. This is the most that MariaDB takes.
        with connection.cursor() as cursor:
            cursor.execute('SET SESSION group_concat_max_len = 1073741824')


class checksum_of_numbers(functions.GenericFunction[int]):  # noqa: N801
    """The checksum of a group of rows of two columns of ids and at most six of other numbers, none of them NULL."""

    type = sa.BigInteger()
    inherit_cache = True


@compiler.compiles(checksum_of_numbers, 'mysql')
@compiler.compiles(checksum_of_numbers, 'mariadb')
def _checksum_of_numbers_mysql(element: checksum_of_numbers, visitor: Any, **kwargs: Any) -> str:
    terms = []
    for column, prime, scale in zip(element.clauses, _PRIMES, _SCALES, strict=False):
        text = visitor.process(column, **kwargs)
        if isinstance(column.type, sa.Float):
            # A ratio may be as large as 10^38, and the other numbers would be lost beside it.
            terms.append(f'SIN({text}) * 1000')
        else:
            # With an exponent, so that it is a DOUBLE: a decimal number would be slow.
            terms.append(f'{text} * {math.sqrt(prime) * scale:.17e}')
    return f'BIT_XOR(SIN({" + ".join(terms)}) * 4e18)'


@compiler.compiles(checksum_of_numbers, 'sqlite')
def _checksum_of_numbers_sqlite(element: checksum_of_numbers, visitor: Any, **kwargs: Any) -> str:
    terms = []
    for column, prime in zip(element.clauses, _PRIMES, strict=False):
        text = visitor.process(column, **kwargs)
        value = f'crc32({text})' if isinstance(column.type, sa.Float) else text
        terms.append(f'{value} * {int(math.sqrt(prime) * 2**25)}')
    total = ' + '.join(terms)
    return f'SUM(({total}) % 2147483647 * (({total}) % 2147483629) % 2147483587)'


def checksum(*columns: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
    """The checksum of a group of rows, a whole number (of a decimal type on MySQL)."""
    return sa.func.sum(sa.func.crc32(sa.func.crc32(_text(columns))))


def combined(connection: sa.Connection, checksums: Iterable[int]) -> int:
    """The checksum of numbers of several groups of rows together, given that of each."""
    if connection.dialect.name == 'sqlite':
        return sum(checksums)
    return functools.reduce(operator.xor, checksums, 0)


def packed(*columns: sa.ColumnElement[Any]) -> sa.ColumnElement[str]:
    """The texts of a group of rows in one text, separated by blanks."""
    return sa.func.aggregate_strings(_text(columns), _SEPARATOR)


def unpacked(texts: list[str], columns: int) -> npt.NDArray[np.float64]:
    """The numbers of packed rows: one row for each, in no particular order."""
    return np.fromstring(_SEPARATOR.join(texts), np.float64, sep=_SEPARATOR).reshape(-1, columns)


def _text(columns: Iterable[sa.ColumnElement[Any]]) -> sa.ColumnElement[str]:
    """The columns of one row as one text; NULL is empty."""
    return dialect.row_text(
        *(sa.func.coalesce(column, '') if getattr(column, 'nullable', True) else column for column in columns)
    )


def _crc32(value: str | int) -> int:
    """As CRC32 of MySQL."""
    return zlib.crc32(str(value).encode())
