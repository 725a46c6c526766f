"""The solver's reads from the database that are made anew for every query. All of them in the transaction of one
connection."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from placement.db import checksum, tables
from placement.solver.members import SHARING, Cloud, Ids, make_cloud
from placement.solver.query import CandidateQuery
from placement.solver.topology import Topology
from placement.solver.usage import Used

_TRAITS, _HAS = tables.traits.c, tables.resource_provider_traits.c
_AGGREGATES, _IS_IN = tables.placement_aggregates.c, tables.resource_provider_aggregates.c
_ALLOCATIONS = tables.allocations.c
# MariaDB's in_predicate_conversion_threshold is 1000.
_PORTION = 900


class Source:
    """Reads within one transaction (see `candidates.Source`)."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def cloud(self, query: CandidateQuery, topology: Topology) -> Cloud:
        """The memberships that a query needs: two statements."""
        return make_cloud(topology, self._traits(query), self._aggregates(query))

    def _traits(self, query: CandidateQuery) -> Ids:
        filters = [query.root_required, *(group.traits for group in query.groups)]
        names = {name for wanted in filters for some in (*wanted.any_of, wanted.forbidden) for name in some}
        return self._members(
            sa.select(_TRAITS.name, checksum.packed(self._connection, _HAS.resource_provider_id))
            .select_from(tables.traits.outerjoin(tables.resource_provider_traits, _HAS.trait_id == _TRAITS.id))
            .where(_TRAITS.name.in_(sorted(names | {SHARING})))
            .group_by(_TRAITS.name)
        )

    def _aggregates(self, query: CandidateQuery) -> Ids:
        filters = [group.member_of for group in query.groups]
        uuids = {uuid for wanted in filters for some in (*wanted.any_of, wanted.forbidden) for uuid in some}
        of_sharing = (
            sa.select(_IS_IN.aggregate_id)
            .join(tables.resource_provider_traits, _HAS.resource_provider_id == _IS_IN.resource_provider_id)
            .join(tables.traits, _TRAITS.id == _HAS.trait_id)
            .where(_TRAITS.name == SHARING)
        )
        return self._members(
            sa.select(_AGGREGATES.uuid, checksum.packed(self._connection, _IS_IN.resource_provider_id))
            .join(tables.resource_provider_aggregates, _IS_IN.aggregate_id == _AGGREGATES.id)
            .where(_AGGREGATES.uuid.in_(sorted(uuids)) | _AGGREGATES.id.in_(of_sharing))
            .group_by(_AGGREGATES.uuid)
        )

    def _members(self, statement: sa.Select[Any]) -> Ids:
        rows = self._connection.execute(statement)
        return {name: np.array((ids or '').split(), np.int64) for name, ids in rows}

    def used(self, provider_ids: Sequence[int] | None) -> Used:
        """What is used of these providers, None for all: one statement."""
        key = _ALLOCATIONS.resource_provider_id, _ALLOCATIONS.resource_class_id
        statement = sa.select(*key, sa.cast(sa.func.sum(_ALLOCATIONS.used), sa.BigInteger)).group_by(*key)
        if provider_ids is not None:
            statement = statement.where(among(_ALLOCATIONS.resource_provider_id, provider_ids))
        return map(tuple, self._connection.execute(statement))

    def traits(self, provider_ids: Sequence[int]) -> Mapping[int, Iterable[str]]:
        """The names of the traits of these providers, those without any left out: two statements."""
        names = dict(map(tuple, self._connection.execute(sa.select(_TRAITS.id, _TRAITS.name))))
        statement = (
            sa.select(_HAS.resource_provider_id, checksum.packed(self._connection, _HAS.trait_id))
            .where(among(_HAS.resource_provider_id, provider_ids))
            .group_by(_HAS.resource_provider_id)
        )
        # Many providers have the same traits: each list is looked up once.
        lists: dict[str, tuple[str, ...]] = {}
        found: dict[int, Iterable[str]] = {}
        for provider_id, ids in self._connection.execute(statement):
            if ids not in lists:
                lists[ids] = tuple(names[int(trait_id)] for trait_id in ids.split())
            found[provider_id] = lists[ids]
        return found


def among(column: sa.ColumnElement[int], ids: Sequence[int]) -> sa.ColumnElement[bool]:
    """A condition on a column, for any number of ids."""
    # Literals rather than parameters: SQLite allows only so many of the latter, and ids are whole numbers.
    # PERF: in portions, because MariaDB joins a longer list as a table (1,125 ids: 187 ms to 110 ms).
    ordered = sorted(ids)
    portions = [ordered[start : start + _PORTION] for start in range(0, len(ordered), _PORTION)]
    return sa.or_(
        sa.false(),
        *(column.in_(sa.bindparam(None, portion, expanding=True, literal_execute=True)) for portion in portions),
    )
