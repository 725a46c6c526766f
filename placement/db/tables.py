"""The database schema at head, as SQLAlchemy Core tables (contract: service.md 1.2).

Column and constraint names are a public interface: the reference and exporters use the same database. Change nothing
here without a migration, and add no migration that the reference does not know.
"""

import sqlalchemy as sa

metadata = sa.MetaData()


def _table(name: str, *parts: sa.schema.SchemaItem) -> sa.Table:
    """A table whose first two columns are the bookkeeping times (naive UTC, written by the application)."""
    return sa.Table(
        name,
        metadata,
        sa.Column('created_at', sa.DateTime),
        sa.Column('updated_at', sa.DateTime),
        *parts,
    )


def _id() -> sa.Column[int]:
    return sa.Column('id', sa.Integer, primary_key=True, nullable=False)


def _named(table: str, column: str, length: int, nullable: bool = False) -> sa.Table:
    """A table of unique texts: (id, column)."""
    return _table(
        table,
        _id(),
        sa.Column(column, sa.String(length), nullable=nullable),
        sa.UniqueConstraint(column, name=f'uniq_{table}0{column}'),
    )


resource_providers = _table(
    'resource_providers',
    _id(),
    sa.Column('uuid', sa.String(36), nullable=False),
    sa.Column('name', sa.Unicode(200)),
    sa.Column('generation', sa.Integer),
    sa.Column('root_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id')),
    sa.Column('parent_provider_id', sa.Integer, sa.ForeignKey('resource_providers.id')),
    sa.UniqueConstraint('uuid', name='uniq_resource_providers0uuid'),
    sa.UniqueConstraint('name', name='uniq_resource_providers0name'),
    sa.Index('resource_providers_root_provider_id_idx', 'root_provider_id'),
    sa.Index('resource_providers_parent_provider_id_idx', 'parent_provider_id'),
)

inventories = _table(
    'inventories',
    _id(),
    sa.Column('resource_provider_id', sa.Integer, nullable=False),
    sa.Column('resource_class_id', sa.Integer, nullable=False),
    sa.Column('total', sa.Integer, nullable=False),
    sa.Column('reserved', sa.Integer, nullable=False),
    sa.Column('min_unit', sa.Integer, nullable=False),
    sa.Column('max_unit', sa.Integer, nullable=False),
    sa.Column('step_size', sa.Integer, nullable=False),
    sa.Column('allocation_ratio', sa.Float, nullable=False),
    sa.UniqueConstraint(
        'resource_provider_id', 'resource_class_id', name='uniq_inventories0resource_provider_resource_class'
    ),
    sa.Index('inventories_resource_class_id_idx', 'resource_class_id'),
)

# With all that sums of usage need.
ALLOCATIONS_BY_PROVIDER = 'allocations_resource_provider_class_used_idx'
allocations = _table(
    'allocations',
    _id(),
    sa.Column('resource_provider_id', sa.Integer, nullable=False),
    # The consumer's uuid, not consumers.id.
    sa.Column('consumer_id', sa.String(36), nullable=False),
    sa.Column('resource_class_id', sa.Integer, nullable=False),
    sa.Column('used', sa.Integer, nullable=False),
    sa.Index(ALLOCATIONS_BY_PROVIDER, 'resource_provider_id', 'resource_class_id', 'used'),
    sa.Index('allocations_resource_class_id_idx', 'resource_class_id'),
    sa.Index('allocations_consumer_id_idx', 'consumer_id'),
)

consumer_types = _named('consumer_types', 'name', 255)

consumers = _table(
    'consumers',
    _id(),
    sa.Column('uuid', sa.String(36), nullable=False),
    sa.Column('project_id', sa.Integer, nullable=False),
    sa.Column('user_id', sa.Integer, nullable=False),
    sa.Column('generation', sa.Integer, nullable=False, server_default=sa.text('0'), default=0),
    sa.Column(
        'consumer_type_id',
        sa.Integer,
        sa.ForeignKey('consumer_types.id', name='consumers_consumer_type_id_fkey'),
    ),
    sa.UniqueConstraint('uuid', name='uniq_consumers0uuid'),
    sa.Index('consumers_project_id_uuid_idx', 'project_id', 'uuid'),
    sa.Index('consumers_project_id_user_id_uuid_idx', 'project_id', 'user_id', 'uuid'),
    sa.Index('consumers_consumer_type_id_idx', 'consumer_type_id'),
)

resource_classes = _named('resource_classes', 'name', 255)
traits = _named('traits', 'name', 255)
projects = _named('projects', 'external_id', 255)
users = _named('users', 'external_id', 255)
placement_aggregates = _named('placement_aggregates', 'uuid', 36, nullable=True)

resource_provider_aggregates = _table(
    'resource_provider_aggregates',
    sa.Column('resource_provider_id', sa.Integer, primary_key=True, nullable=False, autoincrement=False),
    sa.Column('aggregate_id', sa.Integer, primary_key=True, nullable=False, autoincrement=False),
    sa.Index('resource_provider_aggregates_aggregate_id_idx', 'aggregate_id'),
)

resource_provider_traits = _table(
    'resource_provider_traits',
    sa.Column(
        'trait_id', sa.Integer, sa.ForeignKey('traits.id'), primary_key=True, nullable=False, autoincrement=False
    ),
    sa.Column(
        'resource_provider_id',
        sa.Integer,
        sa.ForeignKey('resource_providers.id'),
        primary_key=True,
        nullable=False,
        autoincrement=False,
    ),
    sa.Index('resource_provider_traits_resource_provider_trait_idx', 'resource_provider_id', 'trait_id'),
)
