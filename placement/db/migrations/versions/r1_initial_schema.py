"""The schema of the Stein release: all tables but consumer_types, and five indexes that turned out useless.

Written out rather than taken from `tables`, which moves on. The order of constraints gives them their names on MariaDB.
"""

import sqlalchemy as sa
from alembic import op

revision = 'b4ed3a175331'
down_revision = None


def _create_table(name: str, *parts: sa.schema.SchemaItem) -> None:
    op.create_table(name, sa.Column('created_at', sa.DateTime), sa.Column('updated_at', sa.DateTime), *parts)


def _id() -> sa.Column[int]:
    return sa.Column('id', sa.Integer, primary_key=True, nullable=False)


def _integers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.Integer, nullable=False) for name in names]


def _create_indexes(table: str, **indexes: str) -> None:
    for name, columns in indexes.items():
        op.create_index(name, table, columns.split())


def upgrade() -> None:
    """Create the tables and their indexes."""
    _create_table(
        'allocations',
        _id(),
        *_integers('resource_provider_id'),
        sa.Column('consumer_id', sa.String(36), nullable=False),
        *_integers('resource_class_id', 'used'),
    )
    _create_indexes(
        'allocations',
        allocations_resource_provider_class_used_idx='resource_provider_id resource_class_id used',
        allocations_resource_class_id_idx='resource_class_id',
        allocations_consumer_id_idx='consumer_id',
    )

    _create_table(
        'consumers',
        _id(),
        sa.Column('uuid', sa.String(36), nullable=False),
        *_integers('project_id', 'user_id'),
        sa.Column('generation', sa.Integer, nullable=False, server_default=sa.text('0')),
        sa.UniqueConstraint('uuid', name='uniq_consumers0uuid'),
    )
    _create_indexes(
        'consumers',
        consumers_project_id_user_id_uuid_idx='project_id user_id uuid',
        consumers_project_id_uuid_idx='project_id uuid',
    )

    _create_table(
        'inventories',
        _id(),
        *_integers('resource_provider_id', 'resource_class_id'),
        *_integers('total', 'reserved', 'min_unit', 'max_unit', 'step_size'),
        sa.Column('allocation_ratio', sa.Float, nullable=False),
        sa.UniqueConstraint(
            'resource_provider_id', 'resource_class_id', name='uniq_inventories0resource_provider_resource_class'
        ),
    )
    _create_indexes(
        'inventories',
        inventories_resource_class_id_idx='resource_class_id',
        inventories_resource_provider_id_idx='resource_provider_id',
        inventories_resource_provider_resource_class_idx='resource_provider_id resource_class_id',
    )

    _create_table(
        'placement_aggregates',
        _id(),
        sa.Column('uuid', sa.String(36)),
        sa.UniqueConstraint('uuid', name='uniq_placement_aggregates0uuid'),
    )
    _create_indexes('placement_aggregates', ix_placement_aggregates_uuid='uuid')

    for table, column in (
        ('projects', 'external_id'),
        ('users', 'external_id'),
        ('resource_classes', 'name'),
        ('traits', 'name'),
    ):
        _create_table(
            table,
            _id(),
            sa.Column(column, sa.String(255), nullable=False),
            sa.UniqueConstraint(column, name=f'uniq_{table}0{column}'),
        )

    _create_table(
        'resource_provider_aggregates',
        *_integers('resource_provider_id', 'aggregate_id'),
        sa.PrimaryKeyConstraint('resource_provider_id', 'aggregate_id'),
    )
    _create_indexes('resource_provider_aggregates', resource_provider_aggregates_aggregate_id_idx='aggregate_id')

    _create_table(
        'resource_providers',
        _id(),
        sa.Column('uuid', sa.String(36), nullable=False),
        sa.Column('name', sa.Unicode(200)),
        sa.Column('generation', sa.Integer),
        sa.Column('root_provider_id', sa.Integer),
        sa.Column('parent_provider_id', sa.Integer),
        sa.ForeignKeyConstraint(['parent_provider_id'], ['resource_providers.id']),
        sa.ForeignKeyConstraint(['root_provider_id'], ['resource_providers.id']),
        sa.UniqueConstraint('name', name='uniq_resource_providers0name'),
        sa.UniqueConstraint('uuid', name='uniq_resource_providers0uuid'),
    )
    _create_indexes(
        'resource_providers',
        resource_providers_name_idx='name',
        resource_providers_parent_provider_id_idx='parent_provider_id',
        resource_providers_root_provider_id_idx='root_provider_id',
        resource_providers_uuid_idx='uuid',
    )

    _create_table(
        'resource_provider_traits',
        *_integers('trait_id', 'resource_provider_id'),
        sa.PrimaryKeyConstraint('trait_id', 'resource_provider_id'),
        sa.ForeignKeyConstraint(['resource_provider_id'], ['resource_providers.id']),
        sa.ForeignKeyConstraint(['trait_id'], ['traits.id']),
    )
    _create_indexes(
        'resource_provider_traits',
        resource_provider_traits_resource_provider_trait_idx='resource_provider_id trait_id',
    )
