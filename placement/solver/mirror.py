"""The topology kept between requests, never stale (used by `placement.solver`, one `Mirror` per process).

Every request asks the database for checksums of what the topology is made of: providers, inventories, and the names of
classes and traits. Of a table whose checksum moved, checksums by blocks of provider ids tell what to read again.
Checksum and data are read in the transaction of the request, so that what comes out is exactly what that transaction
sees, whoever wrote it: another worker, another service on the same database, an operator with SQL, a restored backup.
Generations play no part, so that a write of allocations, which changes nothing else of a provider, causes nothing to be
read again.

PERF: a request for a few candidates does not need to know all inventories, only those of the providers that come first.
For it there is `Belief`: inventories as they were, of which only those that somebody looks at are compared with the
database (limit=10 of 10,000 hosts: 5 ms less).

What a request finds is put in the place of what was there as one immutable value: threads do not wait for each other,
and one that loses the race costs the next request a few blocks.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa

from placement.db import by_ids, checksum, dialect, tables
from placement.solver.topology import INVENTORY_COLUMNS, Inventories, Provider, Topology, build_stock, build_tree
from placement.solver.trait_lists import TraitLists

_CLASSES, _TRAITS = tables.resource_classes.c, tables.traits.c
# With more changed blocks than this, everything is read: one scan instead of many ranges.
_MANY_BLOCKS = 64

# The number of rows and their checksum: of a table; by block.
Sum = tuple[int, int]
Sums = Mapping[int, Sum]


@dataclass(frozen=True, eq=False)
class _Part:
    """What the topology has of a table, in blocks of `key`, a column of provider ids."""

    key: sa.ColumnElement[int]
    # The rows of a group, in one text.
    packed: sa.ColumnElement[str]
    checksum: sa.ColumnElement[int]
    # The checksum of several groups, of the checksums of each.
    combined: Callable[[sa.Connection, Iterable[int]], int]

    @property
    def block(self) -> sa.ColumnElement[int]:
        return dialect.block(self.key).label('block')

    def changed(self, connection: sa.Connection, before: Sums) -> tuple[Sums, set[int]]:
        """The sums by block as they are now, and which blocks have changed, been added or gone."""
        statement = sa.select(self.block, sa.func.count(), self.checksum).group_by(self.block)
        now = {block: (count, int(total)) for block, count, total in connection.execute(statement)}
        return now, {block for block in before.keys() | now.keys() if before.get(block) != now.get(block)}

    def read(self, connection: sa.Connection, blocks: Collection[int] | None) -> list[str]:
        """The rows of these blocks, None for all, packed by block."""
        statement = sa.select(self.packed).group_by(self.block)
        if blocks is not None:
            size = 1 << dialect.BLOCK_BITS
            within = [self.key.between(block * size, block * size + size - 1) for block in sorted(blocks)]
            statement = statement.where(sa.or_(*within))
        return [text for (text,) in connection.execute(statement)]

    def read_with_sums(self, connection: sa.Connection) -> tuple[list[str], Sums, Sum]:
        """All rows, packed by block; the sums by block; and that of the table. PERF: one scan, not three."""
        statement = sa.select(self.packed, self.block, sa.func.count(), self.checksum).group_by(self.block)
        rows = connection.execute(statement).all()
        sums = {block: (count, int(total)) for _, block, count, total in rows}
        total = self.combined(connection, (checksum for _, checksum in sums.values()))
        return [row[0] for row in rows], sums, (sum(count for count, _ in sums.values()), total)


_COLUMNS = tables.resource_providers.c
_PROVIDERS = _Part(
    _COLUMNS.id,
    # PERF: packed, 10,000 of them are read in a third of the time.
    dialect.lines(dialect.row_text(_COLUMNS.id, sa.func.coalesce(_COLUMNS.parent_provider_id, ''), _COLUMNS.uuid)),
    checksum.checksum(_COLUMNS.id, _COLUMNS.uuid, _COLUMNS.parent_provider_id),
    lambda _connection, checksums: sum(checksums),
)
_OF = tables.inventories.c
# As `topology.Inventories` has them.
_INVENTORY = (
    _OF.resource_provider_id,
    _OF.resource_class_id,
    _OF.total,
    _OF.reserved,
    _OF.min_unit,
    _OF.max_unit,
    _OF.step_size,
    _OF.allocation_ratio,
)
_INVENTORIES = _Part(
    _OF.resource_provider_id,
    checksum.packed(*_INVENTORY),
    checksum.checksum_of_numbers(*_INVENTORY),
    checksum.combined,
)

# PERF: a table as a whole first; its blocks would cost a quarter more each time (for 30,000 inventories 10 ms, not 8),
# and many rows to be parsed.
_SUMS: dict[sa.Table, sa.Select[*tuple[Any, ...]]] = {
    table: sa.select(sa.literal_column(f"'{table.name}'"), sa.func.count(), total).select_from(table)
    for table, total in (
        (tables.resource_providers, _PROVIDERS.checksum),
        (tables.resource_classes, checksum.checksum(_CLASSES.id, _CLASSES.name)),
        (tables.traits, checksum.checksum(_TRAITS.id, _TRAITS.name)),
        (tables.inventories, _INVENTORIES.checksum),
    )
}
# `Belief` is for requests whose limit is at most the first part of the number of providers, and that look at no more
# than the second part of them.
_FEW, _MOST = 1 / 16, 1 / 8


class Outdated(Exception):
    """The inventories are not what they were, or more of them would have to be looked at than is worth it."""


@dataclass(frozen=True, eq=False)
class _State:
    """What the last request has read, with its checksums."""

    providers: Mapping[int, Provider]
    inventories: Inventories
    class_names: Mapping[int, str]
    trait_names: Mapping[int, str]
    # By name of the table.
    sums: Mapping[str, Sum]
    provider_sums: Sums
    inventory_sums: Sums


class Mirror:
    """The topology of the last request, brought up to date by the next; and with it the traits of providers."""

    def __init__(self) -> None:
        # None before the first request.
        self._kept: tuple[_State, Topology] | None = None
        self.traits = TraitLists()

    def topology(self, connection: sa.Connection) -> Topology:
        """The topology as the transaction of `connection` sees it. One statement if nothing has changed, and two for
        each of providers and inventories and one for each of classes and traits if they have; five the first time."""
        tree = None
        if self._kept is None:
            state = _first_state(connection)
        else:
            before, topology = self._kept
            sums = _sums(connection, _all_sums)
            if sums == before.sums:
                return topology
            state = _next_state(connection, before, sums)
            if state.providers is before.providers:
                tree = topology.tree
        tree = tree or build_tree(state.providers)
        topology = Topology(tree, build_stock(tree, state.inventories, state.class_names), state.trait_names)
        self._kept = state, topology
        return topology

    def belief(self, connection: sa.Connection, limit: int) -> 'Belief | None':
        """What a request for so many candidates may start from; None if it has to see the whole topology. One
        statement."""
        if self._kept is None:
            return None
        before, topology = self._kept
        if limit > topology.size * _FEW:
            return None
        sums = _sums(connection, _sums_of_belief)
        if any(before.sums.get(name) != total for name, total in sums.items()):
            return None
        return Belief(connection, topology, before.inventories)


class Belief:
    """A topology that is right for the transaction of `connection`, except perhaps for its inventories; `check`
    compares those that matter with the database."""

    def __init__(self, connection: sa.Connection, topology: Topology, inventories: Inventories) -> None:
        self.topology = topology
        self._connection = connection
        self._inventories = inventories
        self._checked = 0

    def check(self, end: int) -> None:
        """Make sure of the inventories of the provider rows before `end`: one statement. Raises Outdated."""
        start, self._checked = self._checked, max(end, self._checked)
        if end > self.topology.size * _MOST:
            raise Outdated()
        if start >= end:
            return
        ids = np.sort(self.topology.tree.ids[start:end])
        texts = [text for (text,) in by_ids.rows(self._connection, _inventories, providers=ids.tolist())]
        believed = self._inventories[np.isin(self._inventories[:, 0], ids)]
        if not np.array_equal(_in_order(checksum.unpacked(texts, INVENTORY_COLUMNS)), _in_order(believed)):
            raise Outdated()


def _first_state(connection: sa.Connection) -> _State:
    """Everything. PERF: checksums and data together, so that a process that keeps nothing yet does not pay for what it
    will keep."""
    sums = _sums(connection, _sums_of_names)
    lines, provider_sums, sum_of_providers = _PROVIDERS.read_with_sums(connection)
    texts, inventory_sums, sum_of_inventories = _INVENTORIES.read_with_sums(connection)
    totals = {tables.resource_providers.name: sum_of_providers, tables.inventories.name: sum_of_inventories}
    return _State(
        _providers(lines),
        checksum.unpacked(texts, INVENTORY_COLUMNS),
        _names(connection, tables.resource_classes),
        _names(connection, tables.traits),
        {**sums, **totals},
        provider_sums,
        inventory_sums,
    )


def _next_state(connection: sa.Connection, before: _State, sums: Mapping[str, Sum]) -> _State:
    """What differs in the sums read again, the rest as before."""
    moved = {name for name in sums if sums[name] != before.sums.get(name)}
    new = dataclasses.replace(before, sums=sums)
    if tables.resource_providers.name in moved:
        blocks, changed = _PROVIDERS.changed(connection, before.provider_sums)
        providers = _read_providers(connection, before.providers, changed, len(blocks))
        new = dataclasses.replace(new, providers=providers, provider_sums=blocks)
    if tables.inventories.name in moved:
        blocks, changed = _INVENTORIES.changed(connection, before.inventory_sums)
        inventories = _read_inventories(connection, before.inventories, changed, len(blocks))
        new = dataclasses.replace(new, inventories=inventories, inventory_sums=blocks)
    if tables.resource_classes.name in moved:
        new = dataclasses.replace(new, class_names=_names(connection, tables.resource_classes))
    if tables.traits.name in moved:
        new = dataclasses.replace(new, trait_names=_names(connection, tables.traits))
    return new


def _inventories() -> sa.Select[Any]:
    block = _INVENTORIES.block
    return sa.select(_INVENTORIES.packed).where(by_ids.listed(_INVENTORIES.key, 'providers')).group_by(block)


def _in_order(inventories: Inventories) -> Inventories:
    return inventories[np.lexsort((inventories[:, 1], inventories[:, 0]))]


def _all_sums() -> sa.CompoundSelect[Any]:
    return sa.union_all(*_SUMS.values())


def _sums_of_belief() -> sa.CompoundSelect[Any]:
    return sa.union_all(*(statement for table, statement in _SUMS.items() if table is not tables.inventories))


def _sums_of_names() -> sa.CompoundSelect[Any]:
    return sa.union_all(*(_SUMS[table] for table in (tables.resource_classes, tables.traits)))


def _sums(connection: sa.Connection, statement: Callable[[], sa.CompoundSelect[Any]]) -> Mapping[str, Sum]:
    return {name: (count, int(total or 0)) for name, count, total in by_ids.rows(connection, statement)}


def _names(connection: sa.Connection, table: sa.Table) -> dict[int, str]:
    return dict(map(tuple, connection.execute(sa.select(table.c.id, table.c.name))))


def _read_providers(
    connection: sa.Connection, before: Mapping[int, Provider], changed: Collection[int], blocks: int
) -> dict[int, Provider]:
    if _is_everything(changed, blocks):
        return _providers(_PROVIDERS.read(connection, None))
    kept = {key: row for key, row in before.items() if key >> dialect.BLOCK_BITS not in changed}
    return kept | _providers(_PROVIDERS.read(connection, changed))


def _providers(texts: Iterable[str]) -> dict[int, Provider]:
    columns = (line.split(' ', 2) for text in texts for line in text.split('\n'))
    return {int(key): Provider(int(key), uuid, int(parent) if parent else None) for key, parent, uuid in columns}


def _read_inventories(
    connection: sa.Connection, before: Inventories, changed: Collection[int], blocks: int
) -> Inventories:
    everything = _is_everything(changed, blocks)
    texts = _INVENTORIES.read(connection, None if everything else changed)
    read = checksum.unpacked(texts, INVENTORY_COLUMNS)
    if everything:
        return read
    unchanged = ~np.isin(before[:, 0].astype(np.int64) >> dialect.BLOCK_BITS, list(changed))
    return np.concatenate([before[unchanged], read])


def _is_everything(changed: Collection[int], blocks: int) -> bool:
    return len(changed) >= min(blocks, _MANY_BLOCKS)
