"""Which revision the schema is at, and which one this release is made for. Called at start, which so need not import
alembic; `db/migration.py` goes from the one to the other.
"""

import sqlalchemy as sa

from placement.db import engine

# The newest one in `migrations/versions`.
HEAD = 'a082b8bb98d0'

_RECORD = sa.table('alembic_version', sa.column('version_num'))


def recorded() -> str | None:
    """The recorded revision; None if there is none. It need not be one that we know."""
    with engine.get_engine().connect() as connection:
        return read(connection)


def read(connection: sa.Connection) -> str | None:
    """As `recorded`, on this connection."""
    if not sa.inspect(connection).has_table(_RECORD.name):
        return None
    return connection.scalar(sa.select(_RECORD.c.version_num))
