"""Provider trees as they are: what each provider has, who uses how much of it. Called by `placement-manage tree`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.capacity import capacity, effective_ratio
from placement.db import tables
from placement.db.by_ids import among
from placement.objects.resource_provider import root_id
from placement.operator.explain import HostUnknown

_PROVIDERS, _INVENTORIES, _CLASSES = tables.resource_providers.c, tables.inventories.c, tables.resource_classes.c
_ALLOCATIONS = tables.allocations.c


@dataclass(frozen=True)
class Stock:
    """What a provider (or a whole tree) has of a class. `capacity` is in whole units; of a class that is used without
    any inventory, everything but `used` is 0."""

    resource_class: str
    capacity: int
    used: int
    total: int = 0
    reserved: int = 0
    allocation_ratio: float = 0.0
    min_unit: int = 0
    max_unit: int = 0
    step_size: int = 0

    @property
    def share(self) -> float:
        """How full it is, 1 for exactly full."""
        return self.used / self.capacity if self.capacity > 0 else float(self.used > 0)


@dataclass(frozen=True)
class Node:
    """A provider; `consumers` is how many hold something of it."""

    uuid: str
    name: str
    generation: int
    parent: str | None
    consumers: int
    stocks: tuple[Stock, ...]
    traits: tuple[str, ...]
    aggregates: tuple[str, ...]


@dataclass(frozen=True)
class Host:
    """A tree in one line: `stocks` are sums over its providers."""

    uuid: str
    name: str
    providers: int
    stocks: tuple[Stock, ...]


def read_tree(connection: sa.Connection, host: str) -> list[Node]:
    """All providers of the tree that a provider, given by name or uuid, is in; by name, the root first. Six
    statements.

    :raises HostUnknown: no such provider
    """
    named = (_PROVIDERS.uuid == host) | (_PROVIDERS.name == host)
    root = connection.scalar(sa.select(root_id()).where(named).order_by(_PROVIDERS.uuid != host))
    if root is None:
        raise HostUnknown(host)
    providers = connection.execute(
        sa.select(_PROVIDERS.id, _PROVIDERS.uuid, _PROVIDERS.name, _PROVIDERS.generation, _PROVIDERS.parent_provider_id)
        .where(root_id() == root)
        .order_by(_PROVIDERS.id != root, _PROVIDERS.name)
    ).all()
    ids = [provider.id for provider in providers]
    uuids = {provider.id: provider.uuid for provider in providers}
    stocks = read_stocks(connection, ids)
    consumers = dict(
        map(
            tuple,
            connection.execute(
                sa.select(_ALLOCATIONS.resource_provider_id, sa.func.count(_ALLOCATIONS.consumer_id.distinct()))
                .where(among(_ALLOCATIONS.resource_provider_id, ids))
                .group_by(_ALLOCATIONS.resource_provider_id)
            ),
        )
    )
    traits = _members(connection, tables.traits.c.name, tables.resource_provider_traits, 'trait_id', ids)
    aggregates = _members(
        connection, tables.placement_aggregates.c.uuid, tables.resource_provider_aggregates, 'aggregate_id', ids
    )
    return [
        Node(
            uuid=provider.uuid,
            name=provider.name or provider.uuid,
            generation=provider.generation or 0,
            parent=uuids.get(provider.parent_provider_id),
            consumers=consumers.get(provider.id, 0),
            stocks=tuple(stocks.get(provider.id, ())),
            traits=tuple(traits.get(provider.id, ())),
            aggregates=tuple(aggregates.get(provider.id, ())),
        )
        for provider in providers
    ]


def read_hosts(connection: sa.Connection) -> list[Host]:
    """Every tree of the cloud, by name. Three statements."""
    providers = connection.execute(
        sa.select(_PROVIDERS.id, _PROVIDERS.uuid, _PROVIDERS.name, root_id().label('root')).order_by(_PROVIDERS.name)
    ).all()
    roots = {provider.id: provider.root for provider in providers}
    counts: dict[int, int] = {}
    for provider in providers:
        counts[provider.root] = counts.get(provider.root, 0) + 1
    sums: dict[int, dict[str, list[int]]] = {}
    for provider_id, stocks in read_stocks(connection, None).items():
        if provider_id not in roots:
            continue
        of_tree = sums.setdefault(roots[provider_id], {})
        for stock in stocks:
            amounts = of_tree.setdefault(stock.resource_class, [0, 0])
            amounts[0] += stock.capacity
            amounts[1] += stock.used
    return [
        Host(
            uuid=provider.uuid,
            name=provider.name or provider.uuid,
            providers=counts[provider.id],
            stocks=tuple(Stock(name, *amounts) for name, amounts in sums.get(provider.id, {}).items()),
        )
        for provider in providers
        if provider.id == provider.root
    ]


def fullest_first(hosts: Sequence[Host], resource_class: str) -> list[Host]:
    """The hosts by how full they are of a class, those without any of it last."""

    def share(host: Host) -> float:
        return next((stock.share for stock in host.stocks if stock.resource_class == resource_class), -1.0)

    return sorted(hosts, key=share, reverse=True)


def read_stocks(connection: sa.Connection, ids: Sequence[int] | None) -> dict[int, list[Stock]]:
    """Inventories with usage, in the order of the classes, by provider id; None for all providers."""
    inventories = sa.select(
        _INVENTORIES.resource_provider_id,
        _CLASSES.name,
        _CLASSES.id.label('class_id'),
        *(
            _INVENTORIES[name]
            for name in ('total', 'reserved', 'allocation_ratio', 'min_unit', 'max_unit', 'step_size')
        ),
    ).join(tables.resource_classes, _CLASSES.id == _INVENTORIES.resource_class_id)
    used = (
        sa.select(
            _ALLOCATIONS.resource_provider_id, _CLASSES.name, _CLASSES.id, sa.func.sum(_ALLOCATIONS.used).label('used')
        )
        .join(tables.resource_classes, _CLASSES.id == _ALLOCATIONS.resource_class_id)
        .group_by(_ALLOCATIONS.resource_provider_id, _CLASSES.id, _CLASSES.name)
        .order_by(_CLASSES.id)
    )
    inventories = inventories.order_by(_CLASSES.id)
    if ids is not None:
        inventories = inventories.where(among(_INVENTORIES.resource_provider_id, ids))
        used = used.where(among(_ALLOCATIONS.resource_provider_id, ids))
    amounts = {(row.resource_provider_id, row.name): int(row.used) for row in connection.execute(used)}
    found: dict[int, list[Stock]] = {}
    for row in connection.execute(inventories):
        found.setdefault(row.resource_provider_id, []).append(
            Stock(
                resource_class=row.name,
                capacity=int(capacity(row.total, row.reserved, row.allocation_ratio)),
                used=amounts.pop((row.resource_provider_id, row.name), 0),
                total=row.total,
                reserved=row.reserved,
                allocation_ratio=effective_ratio(row.allocation_ratio),
                min_unit=row.min_unit,
                max_unit=row.max_unit,
                step_size=row.step_size,
            )
        )
    for (provider_id, name), left in amounts.items():
        found.setdefault(provider_id, []).append(Stock(name, 0, left))
    return found


def _members(
    connection: sa.Connection, name: sa.ColumnElement[Any], link: sa.Table, key: str, ids: Sequence[int]
) -> dict[int, list[str]]:
    """The names of the traits, or uuids of the aggregates, of providers, sorted."""
    named = name.table
    statement = (
        sa.select(link.c.resource_provider_id, name)
        .join(named, named.c.id == link.c[key])
        .where(among(link.c.resource_provider_id, ids))
        .order_by(name)
    )
    found: dict[int, list[str]] = {}
    for provider_id, text in connection.execute(statement):
        found.setdefault(provider_id, []).append(text)
    return found
