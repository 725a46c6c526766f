"""Step 2a of the solver, the part that talks to the database: it reads a `Snapshot` and makes the topology of it."""

import sqlalchemy as sa

from placement.db import tables
from placement.solver.topology import Inventory, Provider, Snapshot, Topology, build


def load(connection: sa.Connection) -> Topology:
    """The topology as the transaction of `connection` sees it: six statements."""
    return build(_snapshot(connection))


def _snapshot(connection: sa.Connection) -> Snapshot:
    provider, stock = tables.resource_providers.c, tables.inventories.c
    members, has = tables.resource_provider_aggregates.c, tables.resource_provider_traits.c
    providers = connection.execute(sa.select(provider.id, provider.uuid, provider.parent_provider_id))
    inventories: dict[int, tuple[Inventory, ...]] = {}
    for provider_id, *columns in connection.execute(
        sa.select(
            stock.resource_provider_id,
            stock.resource_class_id,
            stock.total,
            stock.reserved,
            stock.min_unit,
            stock.max_unit,
            stock.step_size,
            stock.allocation_ratio,
        )
    ):
        inventories[provider_id] = (*inventories.get(provider_id, ()), Inventory(*columns))
    return Snapshot(
        providers={row[0]: Provider(*row) for row in providers},
        inventories=inventories,
        traits=_sets(connection, sa.select(has.resource_provider_id, has.trait_id)),
        aggregates=_sets(connection, sa.select(members.resource_provider_id, members.aggregate_id)),
        class_names=_names(connection, tables.resource_classes.c.name),
        trait_names=_names(connection, tables.traits.c.name),
        aggregate_uuids=_names(connection, tables.placement_aggregates.c.uuid),
    )


def _sets(connection: sa.Connection, statement: sa.Select[tuple[int, int]]) -> dict[int, tuple[int, ...]]:
    sets: dict[int, list[int]] = {}
    for provider_id, item in connection.execute(statement):
        sets.setdefault(provider_id, []).append(item)
    return {provider_id: tuple(sorted(items)) for provider_id, items in sets.items()}


def _names(connection: sa.Connection, column: sa.Column[str]) -> dict[int, str]:
    table_id = column.table.c.id
    return {row[0]: row[1] for row in connection.execute(sa.select(table_id, column)) if row[1] is not None}
