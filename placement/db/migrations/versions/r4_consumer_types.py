"""Consumers get a type."""

import sqlalchemy as sa
from alembic import op

revision = '422ece571366'
down_revision = 'b5c396305c25'


def upgrade() -> None:
    """Create consumer_types, and consumers.consumer_type_id that refers to it; or what an interrupted attempt left
    out, as MariaDB commits each statement that changes the schema."""
    inspector = sa.inspect(op.get_bind())
    columns, indexes, keys = (
        {part['name'] for part in parts}
        for parts in (
            inspector.get_columns('consumers'),
            inspector.get_indexes('consumers'),
            inspector.get_foreign_keys('consumers'),
        )
    )
    if not inspector.has_table('consumer_types'):
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
        if 'consumer_type_id' not in columns:
            batch.add_column(sa.Column('consumer_type_id', sa.Integer))
        if 'consumers_consumer_type_id_fkey' not in keys:
            batch.create_foreign_key('consumers_consumer_type_id_fkey', 'consumer_types', ['consumer_type_id'], ['id'])
    if 'consumers_consumer_type_id_idx' not in indexes:
        op.create_index('consumers_consumer_type_id_idx', 'consumers', ['consumer_type_id'])
