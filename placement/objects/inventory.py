"""Inventories of resource providers (contract: http.md 5.6, 5.7; service.md 2.2, 2.6).

`replace` and `replace_several` set whole inventories within a transaction that is open already; the reshaper, too, uses
them.
"""

import dataclasses
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa

from placement import errors
from placement.capacity import capacity
from placement.db import engine, tables
from placement.objects.resource_provider import Provider
from placement.schemas import MAX_INT

# Operators look for the over-capacity warning under this name (service.md 5.2).
LOG = logging.getLogger('placement.objects.resource_provider')

_INVENTORIES = tables.inventories.c
_ALLOCATIONS = tables.allocations.c
_CLASSES = tables.resource_classes.c


@dataclasses.dataclass(frozen=True)
class Inventory:
    """What a provider has of one resource class, in units of the class; the ratio multiplies what is not reserved."""

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> float:
        """What may be allocated in all, not truncated."""
        return capacity(self.total, self.reserved, self.allocation_ratio)


FIELDS = tuple(field.name for field in dataclasses.fields(Inventory))

# By provider and class name.
Wanted = Mapping[Provider, Mapping[str, Inventory]]


def replace(
    connection: sa.Connection,
    provider: Provider,
    inventories: Mapping[str, Inventory],
    *,
    unknown: Callable[[str], errors.PlacementError],
    in_use_prefix: str = '',
) -> None:
    """Set the whole inventory of one provider; see `replace_several`."""
    replace_several(connection, {provider: inventories}, unknown=unknown, in_use_prefix=in_use_prefix)


def replace_several(
    connection: sa.Connection,
    wanted: Wanted,
    *,
    unknown: Callable[[str], errors.PlacementError],
    in_use_prefix: str = '',
    keep_others: bool = False,
) -> None:
    """Set the whole inventories of locked providers, without bumping them; at most six statements.

    What a provider has already is updated in place. `keep_others` keeps the classes that are not wanted, which is what
    a reshape needs while allocations still are on the move; it also leaves out the warnings of over-capacity.

    Raises `unknown(name)` for a class that does not exist, errors.InventoryInUse for classes that are to go but are
    allocated from (the first such provider of `wanted`).
    """
    class_ids = _class_ids(connection, dict.fromkeys(name for new in wanted.values() for name in new), unknown)
    old = _rows(connection, wanted)
    used = {} if keep_others else usage(connection, wanted)
    rows: list[dict[str, Any]] = []
    removed: list[int] = []
    for provider, new in wanted.items():
        had = old.get(provider.id, {})
        gone = [] if keep_others else [row for row in had.values() if row.resource_class not in new]
        in_use = [row.resource_class for row in gone if (provider.id, row.resource_class_id) in used]
        if in_use:
            raise errors.InventoryInUse(prefix=in_use_prefix, resource_classes=', '.join(in_use), uuid=provider.uuid)
        removed += [row.id for row in gone]
        for name, inventory in new.items():
            row_id = had[name].id if name in had else None
            rows.append(
                {
                    'id': row_id,
                    'resource_provider_id': provider.id,
                    'resource_class_id': class_ids[name],
                    **dataclasses.asdict(inventory),
                }
            )
            warn_if_over_capacity(provider, name, inventory, used.get((provider.id, class_ids[name]), 0))
    _delete(connection, removed)
    _update(connection, [row for row in rows if row['id'] is not None])
    _insert(connection, [row for row in rows if row['id'] is None])


def usage(connection: sa.Connection, providers: Collection[Provider]) -> dict[tuple[int, int], int]:
    """What is allocated, by ids of provider and class; pairs without allocations are not there."""
    statement = (
        sa.select(
            _ALLOCATIONS.resource_provider_id,
            _ALLOCATIONS.resource_class_id,
            sa.func.sum(_ALLOCATIONS.used).label('used'),
        )
        .where(_ALLOCATIONS.resource_provider_id.in_([provider.id for provider in providers]))
        .group_by(_ALLOCATIONS.resource_provider_id, _ALLOCATIONS.resource_class_id)
    )
    return {(row.resource_provider_id, row.resource_class_id): int(row.used) for row in connection.execute(statement)}


def warn_if_over_capacity(provider: Provider, resource_class: str, inventory: Inventory, used: int) -> None:
    """Tell the operator of a provider that has less than is allocated from it."""
    if used > inventory.capacity:
        LOG.warning('Resource provider %s is now over-capacity for %s', provider.uuid, resource_class)


def _class_ids(
    connection: sa.Connection, names: Collection[str], unknown: Callable[[str], errors.PlacementError]
) -> dict[str, int]:
    """The ids of resource classes, which nobody deletes until the transaction ends."""
    if not names:
        return {}
    statement = sa.select(_CLASSES.name, _CLASSES.id).where(_CLASSES.name.in_(names)).with_for_update(read=True)
    found: dict[str, int] = {row.name: row.id for row in connection.execute(statement)}
    for name in names:
        if name not in found:
            raise unknown(name)
    return found


def _rows(connection: sa.Connection, providers: Collection[Provider]) -> dict[int, dict[str, sa.Row[Any]]]:
    """Rows of inventories with the names of their classes, by provider id and class name, in the order of class ids."""
    statement = (
        sa.select(tables.inventories, _CLASSES.name.label('resource_class'))
        .join(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
        .where(_INVENTORIES.resource_provider_id.in_([provider.id for provider in providers]))
        .order_by(_INVENTORIES.resource_provider_id, _INVENTORIES.resource_class_id)
    )
    rows: dict[int, dict[str, sa.Row[Any]]] = {}
    for row in connection.execute(statement):
        rows.setdefault(row.resource_provider_id, {})[row.resource_class] = row
    return rows


def _delete(connection: sa.Connection, ids: Collection[int]) -> None:
    if ids:
        connection.execute(sa.delete(tables.inventories).where(_INVENTORIES.id.in_(ids)))


def _update(connection: sa.Connection, rows: Collection[Mapping[str, Any]]) -> None:
    """Set the fields of existing rows, in one statement."""
    if not rows:
        return
    fields = {field: sa.case({row['id']: row[field] for row in rows}, value=_INVENTORIES.id) for field in FIELDS}
    statement = sa.update(tables.inventories).where(_INVENTORIES.id.in_([row['id'] for row in rows]))
    connection.execute(statement.values(updated_at=engine.utcnow(), **fields))


def _insert(connection: sa.Connection, rows: Collection[Mapping[str, Any]]) -> None:
    if rows:
        now = engine.utcnow()
        connection.execute(
            sa.insert(tables.inventories).values(
                [{'created_at': now, **{key: row[key] for key in row if key != 'id'}} for row in rows]
            )
        )
