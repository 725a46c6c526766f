"""Drop the indexes that unique constraints made redundant."""

from alembic import op

revision = 'a082b8bb98d0'
down_revision = '422ece571366'


def upgrade() -> None:
    """Drop the five indexes."""
    op.drop_index('inventories_resource_provider_id_idx', 'inventories')
    op.drop_index('inventories_resource_provider_resource_class_idx', 'inventories')
    op.drop_index('ix_placement_aggregates_uuid', 'placement_aggregates')
    op.drop_index('resource_providers_name_idx', 'resource_providers')
    op.drop_index('resource_providers_uuid_idx', 'resource_providers')
