"""Inventories of resource providers (contract: http.md 5.6, 5.7; service.md 2.2, 2.6).

Called by `handlers/inventories.py`. `replace` sets whole inventories within a transaction that is open already; the
reshaper uses it too.
"""

import dataclasses
import logging
from collections.abc import Callable, Collection, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc

from placement import errors
from placement.capacity import capacity
from placement.db import dialect, engine, tables
from placement.objects import resource_provider, usage
from placement.objects.resource_provider import Provider
from placement.schemas import MAX_INT

# Operators look for the over-capacity warning under this name (service.md 5.2).
LOG = logging.getLogger('placement.objects.resource_provider')

_INVENTORIES = tables.inventories.c
_CLASSES = tables.resource_classes.c
_PROVIDERS = tables.resource_providers.c


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
_CHANGING = (*FIELDS, 'updated_at')

# By class name.
Inventories = Mapping[str, Inventory]
Rows = Mapping[str, sa.Row[Any]]


_OF_PROVIDER = (
    sa.select(
        _PROVIDERS.generation,
        _CLASSES.name.label('resource_class'),
        *[_INVENTORIES[field] for field in FIELDS],
        _INVENTORIES.created_at,
        _INVENTORIES.updated_at,
    )
    .select_from(tables.resource_providers)
    .outerjoin(tables.inventories, _INVENTORIES.resource_provider_id == _PROVIDERS.id)
    .outerjoin(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
    .where(resource_provider.WANTED)
    .order_by(_CLASSES.id)
)


def list_of_provider(uuid: str) -> tuple[int, Rows]:
    """The generation of a provider, and the rows of its inventories by class name, in the order of class ids.

    Raises errors.ProviderNotFound.
    """
    rows = resource_provider.read_rows(_OF_PROVIDER, uuid)
    return rows[0].generation, {row.resource_class: row for row in rows if row.resource_class is not None}


def show(uuid: str, resource_class: str) -> tuple[int, sa.Row[Any]]:
    """The generation of a provider, and the row of one inventory.

    Raises errors.ProviderNotFound, errors.InventoryNotFound.
    """
    generation, rows = list_of_provider(uuid)
    if resource_class not in rows:
        raise errors.InventoryNotFound(resource_class=resource_class, uuid=uuid)
    return generation, rows[resource_class]


def create(uuid: str, resource_class: str, inventory: Inventory, may_reserve_all: bool) -> int:
    """Add an inventory; returns the new generation of the provider.

    Raises errors.ProviderNotFound, errors.InventoryCapacityInvalid, errors.InventoryClassUnknownOnCreate,
    errors.InventoryExists.
    """

    def change(connection: sa.Connection, provider: Provider) -> None:
        check_capacity(uuid, 'create', {resource_class: inventory}, may_reserve_all)
        class_id = _class_id(
            connection,
            resource_class,
            errors.InventoryClassUnknownOnCreate(uuid=uuid, resource_class=resource_class),
        )
        try:
            _insert(connection, [_row(provider, class_id, inventory)])
        except db_exc.DBDuplicateEntry as exc:
            raise errors.InventoryExists(uuid=uuid, resource_class=resource_class) from exc

    generation = _change(uuid, None, change)
    _warn_of_units(uuid, {resource_class: inventory})
    return generation


def replace_of_provider(uuid: str, generation: int, inventories: Inventories, may_reserve_all: bool) -> int:
    """Give a provider exactly these inventories; returns its new generation.

    Raises errors.ProviderNotFound, errors.ProviderGenerationConflict, errors.InventoryCapacityInvalid,
    errors.InventoryClassUnknown, errors.InventoryInUse.
    """

    def unknown(name: str) -> errors.PlacementError:
        return errors.InventoryClassUnknown(uuid=uuid, resource_class=name)

    def change(connection: sa.Connection, provider: Provider) -> None:
        check_capacity(uuid, 'update', inventories, may_reserve_all)
        replace(connection, {provider: inventories}, unknown=unknown, in_use_prefix='update conflict: ')

    generation = _change(uuid, generation, change)
    _warn_of_units(uuid, inventories)
    return generation


def update(uuid: str, generation: int, resource_class: str, inventory: Inventory, may_reserve_all: bool) -> int:
    """Change one inventory that the provider has; returns the new generation of the provider.

    Raises errors.ProviderNotFound, errors.ProviderGenerationConflict, errors.InventoryCapacityInvalid,
    errors.ResourceClassNotFound, errors.InventoryMissing.
    """

    def change(connection: sa.Connection, provider: Provider) -> None:
        check_capacity(uuid, 'update', {resource_class: inventory}, may_reserve_all)
        class_id = _class_id(connection, resource_class, errors.ResourceClassNotFound(name=resource_class))
        statement = (
            sa.update(tables.inventories)
            .where(_INVENTORIES.resource_provider_id == provider.id, _INVENTORIES.resource_class_id == class_id)
            .values(updated_at=engine.utcnow(), **dataclasses.asdict(inventory))
        )
        if connection.execute(statement).rowcount == 0:
            raise errors.InventoryMissing(uuid=uuid, resource_class=resource_class)
        row = _rows_with_usage(connection, [provider])[provider.id][resource_class]
        _warn_if_over_capacity(provider, resource_class, inventory, int(row.used or 0))

    generation = _change(uuid, generation, change)
    _warn_of_units(uuid, {resource_class: inventory})
    return generation


def delete(uuid: str, resource_class: str) -> None:
    """Remove one inventory.

    Raises errors.ProviderNotFound, errors.InventoryNotFoundForDelete, errors.InventoryInUse.
    """

    def change(connection: sa.Connection, provider: Provider) -> None:
        row = _rows_with_usage(connection, [provider]).get(provider.id, {}).get(resource_class)
        if row is None:
            raise errors.InventoryNotFoundForDelete(resource_class=resource_class, uuid=uuid)
        if row.used is not None:
            prefix = f'Unable to delete inventory of class {resource_class}: '
            raise errors.InventoryInUse(prefix=prefix, resource_classes=resource_class, uuid=uuid)
        _delete(connection, [row.id])

    _change(uuid, None, change)


def delete_of_provider(uuid: str) -> None:
    """Remove all inventories of a provider. Raises errors.ProviderNotFound, errors.InventoryInUse."""

    def unknown(name: str) -> errors.PlacementError:
        raise AssertionError(f'{name} was not asked for')

    _change(uuid, None, lambda connection, provider: replace(connection, {provider: {}}, unknown=unknown))


def check_capacity(uuid: str, action: str, inventories: Inventories, may_reserve_all: bool) -> None:
    """Check that each inventory has a capacity: at least one unit, or none if it `may_reserve_all` (from 1.26).

    `action` is create or update, for the error. Raises errors.InventoryCapacityInvalid.
    """
    for resource_class, inventory in inventories.items():
        # What clients see is the capacity truncated towards zero: that of 0.9 is 0, that of -0.9 is 0 too.
        if inventory.capacity <= -1 or (inventory.capacity < 1 and not may_reserve_all):
            relation = 'greater than' if may_reserve_all else 'greater than or equal to'
            raise errors.InventoryCapacityInvalid(
                action=action, uuid=uuid, resource_class=resource_class, relation=relation
            )


def _change(uuid: str, generation: int | None, change: Callable[[sa.Connection, Provider], None]) -> int:
    """Run `change` on a locked provider and bump it, in one transaction; returns the new generation.

    A `generation` of None is not checked. Raises errors.ProviderNotFound, errors.ProviderGenerationConflict, and what
    `change` raises.
    """

    def work(connection: sa.Connection) -> int:
        provider = resource_provider.lock_one(connection, uuid)
        if generation is not None and generation != provider.generation:
            raise errors.ProviderGenerationConflict(uuid=uuid, actual=provider.generation, given=generation)
        change(connection, provider)
        resource_provider.bump(connection, [provider], errors.ProviderChanged())
        return provider.generation + 1

    return engine.write(work)


def _warn_of_units(uuid: str, inventories: Inventories) -> None:
    """Tell the operator of inventories that nothing can be allocated from (decision A21)."""
    for resource_class, inventory in inventories.items():
        if inventory.min_unit > inventory.max_unit:
            LOG.warning(
                'Nothing can be allocated of %s on resource provider %s: its min_unit %d is above its max_unit %d',
                resource_class,
                uuid,
                inventory.min_unit,
                inventory.max_unit,
            )


# --- within a transaction ---


def replace(
    connection: sa.Connection,
    wanted: Mapping[Provider, Inventories],
    *,
    unknown: Callable[[str], errors.PlacementError],
    in_use_prefix: str = '',
    keep_others: bool = False,
) -> None:
    """Set the whole inventories of locked providers, without bumping them; at most five statements.

    What a provider has already is updated in place. `keep_others` keeps the classes that are not wanted, which is what
    a reshape needs while allocations still are on the move; it also leaves out the warnings of over-capacity.

    Raises `unknown(name)` for a class that does not exist, errors.InventoryInUse for classes that are to go but are
    allocated from (the first such provider of `wanted`).
    """
    old = _rows_with_usage(connection, wanted)
    # A class that a provider has inventory of cannot be deleted.
    class_ids = {name: row.resource_class_id for had in old.values() for name, row in had.items()}
    others = dict.fromkeys(name for new in wanted.values() for name in new if name not in class_ids)
    class_ids |= _class_ids(connection, others, unknown)
    added: list[dict[str, Any]] = []
    kept: list[dict[str, Any]] = []
    removed: list[int] = []
    for provider, new in wanted.items():
        had = old.get(provider.id, {})
        gone = [] if keep_others else [row for row in had.values() if row.resource_class not in new]
        in_use = [row.resource_class for row in gone if row.used is not None]
        if in_use:
            raise errors.InventoryInUse(prefix=in_use_prefix, resource_classes=', '.join(in_use), uuid=provider.uuid)
        removed += [row.id for row in gone]
        for name, inventory in new.items():
            row = _row(provider, class_ids[name], inventory)
            if name not in had:
                added.append(row)
                continue
            kept.append({**row, 'id': had[name].id})
            if not keep_others:
                _warn_if_over_capacity(provider, name, inventory, int(had[name].used or 0))
    _delete(connection, removed)
    _update(connection, kept)
    _insert(connection, added)


_ROWS_WITH_USAGE: sa.Select[Any] = (
    sa.select(
        _INVENTORIES.id,
        _INVENTORIES.resource_provider_id,
        _INVENTORIES.resource_class_id,
        _CLASSES.name.label('resource_class'),
        usage.OF_INVENTORY.label('used'),
    )
    .join(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
    .where(_INVENTORIES.resource_provider_id.in_(sa.bindparam('ids', expanding=True)))
    .order_by(_INVENTORIES.resource_provider_id, _INVENTORIES.resource_class_id)
)
_INSERT = sa.insert(tables.inventories)
_CLASS_IDS = (
    sa.select(_CLASSES.name, _CLASSES.id)
    .where(_CLASSES.name.in_(sa.bindparam('names', expanding=True)))
    .with_for_update(read=True)
)


def _warn_if_over_capacity(provider: Provider, resource_class: str, inventory: Inventory, used: int) -> None:
    """Tell the operator of a provider that has less than is allocated from it."""
    if used > inventory.capacity:
        LOG.warning('Resource provider %s is now over-capacity for %s', provider.uuid, resource_class)


def _class_id(connection: sa.Connection, name: str, unknown: errors.PlacementError) -> int:
    """As `_class_ids`, for one class. Raises `unknown`."""
    return _class_ids(connection, [name], lambda _: unknown)[name]


def _class_ids(
    connection: sa.Connection, names: Collection[str], unknown: Callable[[str], errors.PlacementError]
) -> dict[str, int]:
    """The ids of resource classes, which nobody deletes until the transaction ends."""
    if not names:
        return {}
    rows = connection.execute(_CLASS_IDS, {'names': list(names)})
    found: dict[str, int] = {row.name: row.id for row in rows}
    for name in names:
        if name not in found:
            raise unknown(name)
    return found


def _rows_with_usage(connection: sa.Connection, providers: Collection[Provider]) -> dict[int, dict[str, sa.Row[Any]]]:
    """Rows of inventories with the names of their classes, by provider id and class name, in the order of class ids;
    `used` is None for what nothing is allocated of.
    """
    rows: dict[int, dict[str, sa.Row[Any]]] = {}
    for row in connection.execute(_ROWS_WITH_USAGE, {'ids': [provider.id for provider in providers]}):
        rows.setdefault(row.resource_provider_id, {})[row.resource_class] = row
    return rows


def _delete(connection: sa.Connection, ids: Collection[int]) -> None:
    if ids:
        connection.execute(sa.delete(tables.inventories).where(_INVENTORIES.id.in_(ids)))


def _update(connection: sa.Connection, rows: Collection[Mapping[str, Any]]) -> None:
    """Set the fields of existing rows, in one statement."""
    if rows:
        now = engine.utcnow()
        dialect.replace_rows(connection, tables.inventories, [{**row, 'updated_at': now} for row in rows], _CHANGING)


def _insert(connection: sa.Connection, rows: Collection[Mapping[str, Any]]) -> None:
    if rows:
        now = engine.utcnow()
        connection.execute(_INSERT, [{**row, 'created_at': now} for row in rows])


def _row(provider: Provider, class_id: int, inventory: Inventory) -> dict[str, Any]:
    """The columns of an inventory that are not bookkeeping."""
    return {
        'resource_provider_id': provider.id,
        'resource_class_id': class_id,
        **dataclasses.asdict(inventory),
    }
