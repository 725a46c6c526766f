"""The traits of providers for the summaries, kept between requests, never stale (used by `source`, one `TraitLists` in
each `mirror.Mirror`).

What is known of the providers of a request is held against one checksum of all their traits as they are in the
database. If it differs, or of some nothing is known, the traits of all of them are read.

PERF: of 60,000 traits of 1,000 providers the checksum takes 6 ms, reading them 10 ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement.db import by_ids, checksum, dialect, tables
from placement.solver.topology import Ints, Topology, Tree

_HAS = tables.resource_provider_traits.c
_CHECKSUM = checksum.checksum_of_numbers(_HAS.resource_provider_id, _HAS.trait_id)
_INDEX = 'resource_provider_traits_resource_provider_trait_idx'


class Listed(NamedTuple):
    """The names of the traits of a provider, and the checksum of its rows."""

    names: tuple[str, ...] = ()
    checksum: int = 0


@dataclass(frozen=True, eq=False)
class _State:
    """What is known by provider id of the providers of a tree, as long as traits have these names."""

    names: Mapping[int, str] = field(default_factory=dict)
    tree: Tree | None = None
    lists: Mapping[int, Listed] = field(default_factory=dict)


class TraitLists:
    """The traits that former requests have shown."""

    def __init__(self) -> None:
        self._state = _State()

    def of(self, connection: sa.Connection, topology: Topology, rows: Ints) -> Mapping[int, tuple[str, ...]]:
        """The names of the traits of these provider rows, by provider id."""
        state = self._state
        if state.names is not topology.trait_names:
            state = _State(topology.trait_names, topology.tree)
        elif state.tree is not topology.tree:
            # Without those that are gone.
            kept = {key: state.lists[key] for key in topology.tree.ids.tolist() if key in state.lists}
            state = _State(topology.trait_names, topology.tree, kept)
        shown: list[int] = topology.tree.ids[rows].tolist()
        ids: list[int] = shown
        wanted: list[int] | None = shown
        # PERF: the traits of all providers are read quicker than those of most of them (of 1,000: 8 ms, not 12).
        if 2 * len(ids) > topology.size:
            ids, wanted = topology.tree.ids.tolist(), None
        lists = [state.lists.get(provider_id) for provider_id in ids]
        known = [listed for listed in lists if listed is not None]
        if len(known) < len(lists) or not _holds(connection, known, wanted):
            read = _read(connection, topology, wanted)
            lists_now = {**state.lists, **dict.fromkeys(ids, Listed()), **read}
            state = _State(state.names, state.tree, lists_now)
        self._state = state
        return {provider_id: state.lists[provider_id].names for provider_id in shown}


def _holds(connection: sa.Connection, known: Sequence[Listed], ids: Sequence[int] | None) -> bool:
    now = int(by_ids.rows(connection, _whole, providers=ids).scalar_one() or 0)
    return checksum.combined(connection, [listed.checksum for listed in known]) == now


def _read(connection: sa.Connection, topology: Topology, ids: Sequence[int] | None) -> dict[int, Listed]:
    names: dict[str, tuple[str, ...]] = {}
    read: dict[int, Listed] = {}
    for row in by_ids.rows(connection, _by_provider, providers=ids):
        provider_id, packed, total = row
        if packed not in names:
            # Many providers have the same traits. There are databases with some that do not exist any more.
            trait_ids = map(int, packed.split())
            names[packed] = tuple(topology.trait_names[each] for each in trait_ids if each in topology.trait_names)
        read[provider_id] = Listed(names[packed], int(total))
    return read


def _whole() -> sa.Select[Any]:
    return _select(_CHECKSUM)


def _by_provider() -> sa.Select[Any]:
    return _select(_HAS.resource_provider_id, checksum.packed(_HAS.trait_id), _CHECKSUM).group_by(
        _HAS.resource_provider_id
    )


def _select(*columns: sa.ColumnElement[Any]) -> sa.Select[Any]:
    statement = sa.select(*columns).where(by_ids.listed(_HAS.resource_provider_id, 'providers'))
    return dialect.by_index(statement, tables.resource_provider_traits, _INDEX)
