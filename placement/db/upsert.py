"""Insertion of rows that may be there already; the databases say it in different words. Called by `objects`."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import mysql, sqlite


def insert_absent(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert those rows whose unique columns are not taken, in one statement; the database says what equality means.

    `table` has an `id`. Rows that another transaction is inserting are waited for. They may be newer than the snapshot
    of this transaction: read them with a lock, or try again in a new one.
    """
    if connection.dialect.name == 'sqlite':
        connection.execute(sqlite.insert(table).on_conflict_do_nothing(), rows)
    else:
        # Not INSERT IGNORE, which also lets truncated and unstorable text pass.
        connection.execute(mysql.insert(table).on_duplicate_key_update(id=table.c.id), rows)
