"""Usage: sums of what is allocated, of one provider or of a project (contract: http.md 5.8, 5.17)."""

from dataclasses import dataclass, field

import sqlalchemy as sa

from placement.db import dialect, engine, tables
from placement.objects import resource_provider
from placement.objects.consumer import UNKNOWN_TYPE

_ALLOCATIONS = tables.allocations.c
_CLASSES = tables.resource_classes.c
_CONSUMERS = tables.consumers.c
_INVENTORIES = tables.inventories.c
_PROVIDERS = tables.resource_providers.c
_TYPES = tables.consumer_types.c

# In a statement over inventories: what is used of one, NULL if nothing is allocated of it. PERF: left alone, MariaDB
# takes the index of classes while its statistics are old, and reads all allocations of the cloud.
OF_INVENTORY = dialect.by_index(
    sa.select(sa.func.sum(_ALLOCATIONS.used)).where(
        _ALLOCATIONS.resource_provider_id == _INVENTORIES.resource_provider_id,
        _ALLOCATIONS.resource_class_id == _INVENTORIES.resource_class_id,
    ),
    tables.allocations,
    tables.ALLOCATIONS_BY_PROVIDER,
).scalar_subquery()

_OF_PROVIDER = (
    sa.select(_PROVIDERS.generation, _CLASSES.name, sa.func.coalesce(OF_INVENTORY, 0).label('used'))
    .select_from(tables.resource_providers)
    .outerjoin(tables.inventories, _INVENTORIES.resource_provider_id == _PROVIDERS.id)
    .outerjoin(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
    .where(resource_provider.WANTED)
    .order_by(_CLASSES.id)
)

# Selects consumers of all types, and puts them into one group.
ALL_TYPES = 'all'


@dataclass
class Usage:
    """What a group of consumers holds together: their number, and amounts by class name."""

    consumers: int
    amounts: dict[str, int] = field(default_factory=dict)


def of_provider(uuid: str) -> tuple[int, dict[str, int]]:
    """The generation of a provider, and what is used of each class that it has inventory of.

    Raises errors.ProviderNotFound.
    """
    rows = resource_provider.read_rows(_OF_PROVIDER, uuid)
    return rows[0].generation, {row.name: int(row.used) for row in rows if row.name is not None}


def of_project(project: str, user: str | None) -> dict[str, int]:
    """What the consumers of a project (and user) hold, by class name."""
    statement = _held(project, user).add_columns(_CLASSES.name, _SUM).group_by(_CLASSES.id, _CLASSES.name)
    return {row.name: int(row.used) for row in engine.read_rows(statement)}


def of_project_by_type(project: str, user: str | None, consumer_type: str | None) -> dict[str, Usage]:
    """What the consumers of a project (and user) hold, by consumer type; `unknown` is the type of those without one.

    `consumer_type` restricts it to one type; ALL_TYPES makes one group of all consumers. Groups without allocations are
    not there.
    """
    held = _held(project, user)
    if consumer_type == ALL_TYPES:
        group: sa.ColumnElement[str | None] = sa.literal(ALL_TYPES)
    else:
        held = held.outerjoin(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
        # NULL gets its name afterwards: a type may be called UNKNOWN, and to MariaDB that would be the same group.
        group = _TYPES.name
        if consumer_type == UNKNOWN_TYPE:
            held = held.where(_CONSUMERS.consumer_type_id.is_(None))
        elif consumer_type is not None:
            held = held.where(_TYPES.name == consumer_type)
    label = group.label('consumer_type')
    counts = held.add_columns(label, sa.func.count(sa.distinct(_CONSUMERS.id)).label('consumers')).group_by(label)
    sums = held.add_columns(label, _CLASSES.name, _SUM).group_by(label, _CLASSES.id, _CLASSES.name)

    def work(connection: sa.Connection) -> dict[str, Usage]:
        usages = {row.consumer_type or UNKNOWN_TYPE: Usage(row.consumers) for row in connection.execute(counts)}
        for row in connection.execute(sums):
            usages[row.consumer_type or UNKNOWN_TYPE].amounts[row.name] = int(row.used)
        return usages

    return engine.read(work)


_SUM = sa.func.sum(_ALLOCATIONS.used).label('used')


def _held(project: str, user: str | None) -> sa.Select[tuple[()]]:
    """The allocations of a project's (and user's) consumers, with no column chosen yet."""
    statement = (
        sa.select()
        .select_from(tables.allocations)
        .join(tables.resource_classes, _CLASSES.id == _ALLOCATIONS.resource_class_id)
        .join(tables.consumers, _CONSUMERS.uuid == _ALLOCATIONS.consumer_id)
        .join(tables.projects, tables.projects.c.id == _CONSUMERS.project_id)
        .where(tables.projects.c.external_id == project)
    )
    if user is not None:
        statement = statement.join(tables.users, tables.users.c.id == _CONSUMERS.user_id).where(
            tables.users.c.external_id == user
        )
    return statement
