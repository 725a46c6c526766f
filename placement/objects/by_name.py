"""Rows of resource classes and traits by their exact name. Called by `resource_class` and `trait`.

MariaDB compares names without regard to case, the API does not: of the rows that the database finds, only one of this
very spelling counts.
"""

import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from placement.db import engine


def read(table: sa.Table, name: str) -> sa.Row[Any] | None:
    """The row of a name, if any, read without a transaction."""
    return _exact(engine.read_rows(_statement(table), {'name': name}), name)


def find(connection: sa.Connection, table: sa.Table, name: str, lock: bool = False) -> sa.Row[Any] | None:
    """The row of a name, if any, as the transaction sees it; `lock` keeps others from changing it until the end."""
    statement = _statement(table)
    return _exact(connection.execute(statement.with_for_update() if lock else statement, {'name': name}).all(), name)


@functools.cache
def _statement(table: sa.Table) -> sa.Select[Any]:
    return sa.select(table).where(table.c.name == sa.bindparam('name'))


def _exact(rows: Sequence[sa.Row[Any]], name: str) -> sa.Row[Any] | None:
    return next((row for row in rows if row.name == name), None)
