"""The topology kept between requests, never stale (used by `placement.solver`, one `Mirror` per process).

Every request asks the database for checksums of what the topology is made of: providers and inventories by blocks of
provider ids, and the names of the classes. Only blocks whose checksum moved are read again. Checksum and data are read
in the transaction of the request, so that what comes out is exactly what that transaction sees, whoever wrote it:
another worker, another service on the same database, an operator with SQL, a restored backup. Generations play no part,
so neither do writes of allocations make anything to be read again.

What a request finds is put in the place of what was there as one immutable value: threads do not wait for each other,
and one that loses the race costs the next request a few blocks.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sqlalchemy as sa

from placement.db import checksum, tables
from placement.solver.topology import (
    INVENTORY_COLUMNS,
    Inventories,
    Provider,
    Stock,
    Topology,
    Tree,
    build_stock,
    build_tree,
)

_PROVIDERS, _INVENTORIES, _CLASSES = tables.resource_providers.c, tables.inventories.c, tables.resource_classes.c
# A block is 2 to the power of this many provider ids.
_BLOCK_BITS = 8
# With more changed blocks than this, everything is read: one scan instead of many ranges.
_MANY_BLOCKS = 64

# By block, the number of rows and their checksum.
Checksums = Mapping[int, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class _State:
    """What the last request has read, with its checksums."""

    providers: Mapping[int, Provider] = field(default_factory=dict)
    inventories: Inventories = field(default_factory=lambda: np.zeros((0, INVENTORY_COLUMNS)))
    class_names: Mapping[int, str] = field(default_factory=dict)
    provider_sums: Checksums = field(default_factory=dict)
    inventory_sums: Checksums = field(default_factory=dict)
    class_sums: Checksums = field(default_factory=dict)
    topology: Topology | None = None


class Mirror:
    """The topology of the last request, brought up to date by the next."""

    def __init__(self) -> None:
        self._state = _State()

    def topology(self, connection: sa.Connection) -> Topology:
        """The topology as the transaction of `connection` sees it: one statement if nothing has changed, and one for
        each of providers, inventories and classes that has."""
        before = self._state
        provider_sums, inventory_sums, class_sums = _checksums(connection)
        providers, inventories, class_names = before.providers, before.inventories, before.class_names
        if changed := _changed(before.provider_sums, provider_sums):
            providers = _read_providers(connection, providers, changed, len(provider_sums))
        if stocked := _changed(before.inventory_sums, inventory_sums):
            inventories = _read_inventories(connection, inventories, stocked, len(inventory_sums))
        if renamed := _changed(before.class_sums, class_sums):
            class_names = dict(map(tuple, connection.execute(sa.select(_CLASSES.id, _CLASSES.name))))
        topology = before.topology
        if topology is None or changed or stocked or renamed:
            tree: Tree = build_tree(providers) if topology is None or changed else topology.tree
            stock: Stock = build_stock(tree, inventories, class_names)
            topology = Topology(tree, stock)
            self._state = _State(
                providers, inventories, class_names, provider_sums, inventory_sums, class_sums, topology
            )
        return topology


def _checksums(connection: sa.Connection) -> tuple[Checksums, Checksums, Checksums]:
    """The checksums of providers, inventories and classes."""
    parts: tuple[dict[int, tuple[int, int]], ...] = ({}, {}, {})
    statement = sa.union_all(
        _sums(connection, 0, _PROVIDERS.id, *_provider_columns()),
        _sums(connection, 1, _INVENTORIES.resource_provider_id, *_inventory_columns()),
        _sums(connection, 2, _CLASSES.id, _CLASSES.id, _CLASSES.name),
    )
    for part, block, count, total in connection.execute(statement):
        parts[part][block] = count, int(total)
    return parts[0], parts[1], parts[2]


def _sums(
    connection: sa.Connection, part: int, key: sa.ColumnElement[int], *columns: sa.ColumnElement[Any]
) -> sa.Select[*tuple[Any, ...]]:
    block = _block(key)
    total = checksum.checksum(connection, *columns)
    return sa.select(sa.literal_column(str(part)).label('part'), block, sa.func.count(), total).group_by(block)


def _block(key: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    return key.op('>>')(sa.literal_column(str(_BLOCK_BITS))).label('block')


def _provider_columns() -> tuple[sa.ColumnElement[Any], ...]:
    return _PROVIDERS.id, _PROVIDERS.uuid, _PROVIDERS.parent_provider_id


def _inventory_columns() -> tuple[sa.ColumnElement[Any], ...]:
    """As `topology.Inventories` has them."""
    return (
        _INVENTORIES.resource_provider_id,
        _INVENTORIES.resource_class_id,
        _INVENTORIES.total,
        _INVENTORIES.reserved,
        _INVENTORIES.min_unit,
        _INVENTORIES.max_unit,
        _INVENTORIES.step_size,
        _INVENTORIES.allocation_ratio,
    )


def _changed(before: Checksums, now: Checksums) -> set[int]:
    """The blocks that are not what they were, those that went or came included."""
    return {block for block in before.keys() | now.keys() if before.get(block) != now.get(block)}


def _read_providers(
    connection: sa.Connection, before: Mapping[int, Provider], changed: Collection[int], blocks: int
) -> dict[int, Provider]:
    everything = _is_everything(changed, blocks)
    statement = sa.select(*_provider_columns())
    if not everything:
        statement = statement.where(_in_blocks(_PROVIDERS.id, changed))
    kept = {} if everything else {key: row for key, row in before.items() if key >> _BLOCK_BITS not in changed}
    return kept | {row.id: Provider(*row) for row in connection.execute(statement)}


def _read_inventories(
    connection: sa.Connection, before: Inventories, changed: Collection[int], blocks: int
) -> Inventories:
    """Inventories come packed, a block in one row."""
    everything = _is_everything(changed, blocks)
    block = _block(_INVENTORIES.resource_provider_id)
    statement = sa.select(block, checksum.packed(connection, *_inventory_columns())).group_by(block)
    if not everything:
        statement = statement.where(_in_blocks(_INVENTORIES.resource_provider_id, changed))
    texts = [text for _, text in connection.execute(statement)]
    read = np.fromstring(' '.join(texts), np.float64, sep=' ').reshape(-1, INVENTORY_COLUMNS)
    if everything:
        return read
    unchanged = ~np.isin(before[:, 0].astype(np.int64) >> _BLOCK_BITS, list(changed))
    return np.concatenate([before[unchanged], read])


def _is_everything(changed: Collection[int], blocks: int) -> bool:
    return len(changed) >= min(blocks, _MANY_BLOCKS)


def _in_blocks(key: sa.ColumnElement[int], blocks: Collection[int]) -> sa.ColumnElement[bool]:
    size = 1 << _BLOCK_BITS
    return sa.or_(*(key.between(block * size, block * size + size - 1) for block in sorted(blocks)))
