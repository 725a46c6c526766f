"""Drop the indexes that unique constraints made redundant."""

import sqlalchemy as sa
from alembic import op

revision = 'a082b8bb98d0'
down_revision = '422ece571366'

_INDEXES = {
    'inventories_resource_provider_id_idx': 'inventories',
    'inventories_resource_provider_resource_class_idx': 'inventories',
    'ix_placement_aggregates_uuid': 'placement_aggregates',
    'resource_providers_name_idx': 'resource_providers',
    'resource_providers_uuid_idx': 'resource_providers',
}


def upgrade() -> None:
    """Drop the five indexes, but those that an interrupted attempt has dropped."""
    inspector = sa.inspect(op.get_bind())
    for name, table in _INDEXES.items():
        if any(index['name'] == name for index in inspector.get_indexes(table)):
            op.drop_index(name, table)
