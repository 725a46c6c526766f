"""Whether claims fit what providers have: the checks of a write of allocations (contract: http.md 6.3; decisions A01,
A11, A19).

`read_stocks` reads what is there, `check` is a pure function over it. Used by `objects/allocation.py`, inside its
transactions.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from placement import errors
from placement.db import tables
from placement.objects import usage
from placement.objects.inventory import FIELDS, Inventory
from placement.objects.resource_provider import Provider

# Operators look for the warnings under this name (service.md 5.2).
LOG = logging.getLogger('placement.objects.allocation')

_INVENTORIES = tables.inventories.c
_CLASSES = tables.resource_classes.c

# Amounts by ids of provider and class.
Amounts = Counter[tuple[int, int]]


@dataclass(frozen=True)
class Want:
    """One amount of one class that a consumer shall have on a provider."""

    consumer: str
    provider: Provider
    resource_class: str
    amount: int


@dataclass(frozen=True)
class Stock:
    """What a provider has of a class, and what all consumers together use of it now."""

    class_id: int
    inventory: Inventory
    used: int


# By provider id and class name.
Stocks = Mapping[tuple[int, str], Stock]


# What single consumers hold is subtracted in `check`.
_STOCKS = (
    sa.select(
        _INVENTORIES.resource_provider_id,
        _INVENTORIES.resource_class_id,
        _CLASSES.name,
        sa.func.coalesce(usage.OF_INVENTORY, 0).label('used'),
        *[_INVENTORIES[field] for field in FIELDS],
    )
    .join(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
    .where(_INVENTORIES.resource_provider_id.in_(sa.bindparam('ids', expanding=True)))
)


def read_stocks(connection: sa.Connection, providers: Iterable[Provider]) -> dict[tuple[int, str], Stock]:
    """All inventories of these providers with their usage, in one statement."""
    rows = connection.execute(_STOCKS, {'ids': [provider.id for provider in providers]})
    return {
        (row.resource_provider_id, row.name): Stock(row.resource_class_id, Inventory(*row[4:]), int(row.used))
        for row in rows
    }


def check(wants: Sequence[Want], stocks: Stocks, held: Mapping[str, Amounts]) -> None:
    """Check that all wants can be met at once, when nothing of what their consumers hold now (`held`) stays.

    `held` has every consumer of the request, also those that want nothing.

    Raises errors.AllocationInvalidInventory, errors.AllocationViolatesConstraints, errors.AllocationExceedsCapacity.
    """
    _check_providers(wants, stocks)
    before: Amounts = Counter()
    for amounts in held.values():
        before.update(amounts)
    released = _released(wants, stocks, held)
    added: Amounts = Counter()
    for want in wants:
        stock = stocks.get((want.provider.id, want.resource_class))
        if stock is None:
            raise errors.AllocationInvalidInventory(resource_classes=want.resource_class, uuid=want.provider.uuid)
        key = want.provider.id, stock.class_id
        _check_units(want, stock.inventory, held[want.consumer][key], released.get(key, []))
        added[key] += want.amount
        used = stock.used - before[key] + added[key]
        # More than there is may be kept or diminished, but not newly given.
        if used > stock.inventory.capacity and used > stock.used:
            LOG.warning(
                'Over capacity for %s on resource provider %s. Needed: %s, Used: %s, Capacity: %s',
                want.resource_class,
                want.provider.uuid,
                want.amount,
                used - want.amount,
                stock.inventory.capacity,
            )
            raise errors.AllocationExceedsCapacity(resource_class=want.resource_class, uuid=want.provider.uuid)


def _check_providers(wants: Iterable[Want], stocks: Stocks) -> None:
    """Each provider must have something of what is wanted anywhere in the request."""
    classes = dict.fromkeys(want.resource_class for want in wants)
    providers = dict.fromkeys(want.provider for want in wants)
    useless = [provider.uuid for provider in providers if not any((provider.id, name) in stocks for name in classes)]
    if useless:
        raise errors.AllocationInvalidInventory(resource_classes=', '.join(classes), uuid=', '.join(useless))


def _released(wants: Iterable[Want], stocks: Stocks, held: Mapping[str, Amounts]) -> dict[tuple[int, int], list[int]]:
    """The amounts that consumers hold now and give up whole."""
    kept = {
        (want.consumer, want.provider.id, stock.class_id)
        for want in wants
        if (stock := stocks.get((want.provider.id, want.resource_class)))
    }
    released: dict[tuple[int, int], list[int]] = {}
    for consumer, amounts in held.items():
        for key, amount in amounts.items():
            if (consumer, *key) not in kept:
                released.setdefault(key, []).append(amount)
    return released


def _check_units(want: Want, inventory: Inventory, held: int, released: list[int]) -> None:
    """The amount must respect the units of the inventory.

    When these changed after it was allocated, the consumer may keep or diminish it, or hand it on whole (decision A19).
    """
    if _admits(inventory, want.amount):
        return
    if want.amount <= held and not _admits(inventory, held):
        return
    if want.amount in released:
        released.remove(want.amount)
        return
    LOG.warning(
        'Allocation for %s on resource provider %s violates min_unit, max_unit, or step_size. '
        'Requested: %s, min_unit: %s, max_unit: %s, step_size: %s',
        want.resource_class,
        want.provider.uuid,
        want.amount,
        inventory.min_unit,
        inventory.max_unit,
        inventory.step_size,
    )
    raise errors.AllocationViolatesConstraints(resource_class=want.resource_class, uuid=want.provider.uuid)


def _admits(inventory: Inventory, amount: int) -> bool:
    return inventory.min_unit <= amount <= inventory.max_unit and amount % inventory.step_size == 0


def first_unknown(connection: sa.Connection, wants: Iterable[Want], stocks: Stocks) -> str | None:
    """The first wanted class that does not exist, if any; classes that are in stock need no look."""
    stocked = {name for _, name in stocks}
    doubtful = dict.fromkeys(want.resource_class for want in wants if want.resource_class not in stocked)
    if not doubtful:
        return None
    known = set(connection.scalars(sa.select(_CLASSES.name).where(_CLASSES.name.in_(doubtful))))
    return next((name for name in doubtful if name not in known), None)
