"""A blocker: later code relies on every resource provider knowing the root of its tree."""

import sqlalchemy as sa
from alembic import op

from placement.db.migration import MigrationError

revision = '611cd6dffd7b'
down_revision = 'b4ed3a175331'


def upgrade() -> None:
    """Change nothing. Raises MigrationError if a row has yet to be migrated."""
    missing = op.get_bind().scalar(sa.text('SELECT COUNT(*) FROM resource_providers WHERE root_provider_id IS NULL'))
    if missing:
        raise MigrationError(
            f'{missing} resource provider(s), each missing its root provider id, must be mended before the schema can '
            'be migrated further: run `placement-manage db online_data_migrations`, then `placement-manage db sync` '
            'again.'
        )
