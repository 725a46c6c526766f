"""Consumers get a type."""

import sqlalchemy as sa
from alembic import op

revision = '422ece571366'
down_revision = 'b5c396305c25'


def upgrade() -> None:
    """Create consumer_types, and consumers.consumer_type_id that refers to it."""
    op.create_table(
        'consumer_types',
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        sa.Column('id', sa.Integer, primary_key=True, nullable=False),
        sa.Column('name', sa.String(255), nullable=False),
        sa.UniqueConstraint('name', name='uniq_consumer_types0name'),
    )
    # SQLite cannot add a foreign key to a table: alembic copies the table there.
    with op.batch_alter_table('consumers') as batch:
        batch.add_column(sa.Column('consumer_type_id', sa.Integer))
        batch.create_foreign_key('consumers_consumer_type_id_fkey', 'consumer_types', ['consumer_type_id'], ['id'])
    op.create_index('consumers_consumer_type_id_idx', 'consumers', ['consumer_type_id'])
