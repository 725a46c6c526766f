"""A blocker: later code relies on every allocation having a consumer record."""

import sqlalchemy as sa
from alembic import op

from placement.db.migration import MigrationError

revision = 'b5c396305c25'
down_revision = '611cd6dffd7b'

_MISSING = """
    SELECT COUNT(DISTINCT allocations.consumer_id)
    FROM allocations LEFT JOIN consumers ON consumers.uuid = allocations.consumer_id
    WHERE consumers.id IS NULL
"""


def upgrade() -> None:
    """Change nothing. Raises MigrationError if a row has yet to be migrated."""
    missing = op.get_bind().scalar(sa.text(_MISSING))
    if missing:
        raise MigrationError(
            f'The allocations of {missing} consumer(s), each missing a consumer record, must be mended before the '
            'schema can be migrated further: run `placement-manage db online_data_migrations`, then '
            '`placement-manage db sync` again.'
        )
