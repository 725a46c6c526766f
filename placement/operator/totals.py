"""What the whole cloud has and uses, by class or by provider and class, in one statement. Called for every scrape by
`placement.prometheus`."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.capacity import effective_ratio
from placement.db import dialect, tables

_PROVIDERS, _INVENTORIES, _CLASSES = tables.resource_providers.c, tables.inventories.c, tables.resource_classes.c
_ALLOCATIONS = tables.allocations.c


@dataclass(slots=True)
class Total:
    """What a provider (by name), or all of them, have and use of a class. `capacity` is not truncated; `ratio` is the
    largest of the inventories. What is used without inventory counts, too."""

    provider: str
    resource_class: str
    total: int = 0
    reserved: int = 0
    ratio: float = 0.0
    capacity: float = 0.0
    used: int = 0


def read(connection: sa.Connection, by_provider: bool) -> list[Total]:
    """All of them, in the order of the classes. One statement."""
    zero: sa.ColumnElement[int] = sa.literal_column('0')
    net = _INVENTORIES.total - _INVENTORIES.reserved
    had = _grouped(_INVENTORIES, by_provider).add_columns(
        sa.func.sum(_INVENTORIES.total).label('total'),
        sa.func.sum(_INVENTORIES.reserved).label('reserved'),
        sa.func.max(_INVENTORIES.allocation_ratio).label('ratio'),
        sa.func.sum(net * dialect.effective_ratio(_INVENTORIES.allocation_ratio)).label('capacity'),
        zero.label('used'),
    )
    used = _grouped(_ALLOCATIONS, by_provider).add_columns(zero, zero, zero, zero, sa.func.sum(_ALLOCATIONS.used))
    rows = sa.union_all(had, used).subquery('amounts').c
    statement = (
        sa.select(rows.provider_id, _PROVIDERS.name, _CLASSES.name.label('resource_class'))
        .add_columns(rows.total, rows.reserved, rows.ratio, rows.capacity, rows.used)
        .join(tables.resource_classes, _CLASSES.id == rows.class_id)
        .outerjoin(tables.resource_providers, _PROVIDERS.id == rows.provider_id)
        .order_by(_CLASSES.id)
    )
    found: dict[tuple[int | None, str], Total] = {}
    for provider_id, name, resource_class, total, reserved, ratio, capacity, amount in connection.execute(statement):
        item = found.setdefault((provider_id, resource_class), Total(name or '', resource_class))
        item.total += int(total)
        item.reserved += int(reserved)
        item.ratio = max(item.ratio, effective_ratio(ratio))
        item.capacity += float(capacity)
        item.used += int(amount)
    return list(found.values())


def _grouped(columns: Any, by_provider: bool) -> sa.Select[Any]:
    """The rows of a table, in the groups that sums are made of."""
    provider_id = columns.resource_provider_id if by_provider else sa.null()
    keys = [columns.resource_provider_id, columns.resource_class_id] if by_provider else [columns.resource_class_id]
    return sa.select(provider_id.label('provider_id'), columns.resource_class_id.label('class_id')).group_by(*keys)
