"""What alembic runs around the revisions: called by `placement.db.migration`, or by the `alembic` program.

`placement.db.migration` hands over its connection, on which it holds the migration lock and has begun a transaction.
The program has none; it gets the database of placement.conf.
"""

import sqlalchemy as sa
from alembic import context
from oslo_config import cfg

from placement import config
from placement.db import engine, tables


def _run(connection: sa.Connection) -> None:
    context.configure(connection=connection, target_metadata=tables.metadata, render_as_batch=True)
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit('The revisions look at the data, so they cannot be written out as SQL.')
if 'connection' in context.config.attributes:
    _run(context.config.attributes['connection'])
else:
    engine.configure(config.load(cfg.ConfigOpts()))
    with engine.get_engine().begin() as own_connection:
        _run(own_connection)
