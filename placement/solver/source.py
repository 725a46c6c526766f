"""The solver's reads from the database that are made anew for every query. All of them in the transaction of one
connection."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa

from placement.db import by_ids, checksum, dialect, tables
from placement.solver.members import SHARING, Cloud, make_cloud
from placement.solver.query import CandidateQuery
from placement.solver.topology import HUGE, Ints, Topology
from placement.solver.trait_lists import TraitLists

_PROVIDERS = tables.resource_providers.c
_TRAITS, _HAS = tables.traits.c, tables.resource_provider_traits.c
_AGGREGATES, _IS_IN = tables.placement_aggregates.c, tables.resource_provider_aggregates.c
_ALLOCATIONS = tables.allocations.c


class Source:
    """Reads within one transaction (see `candidates.Source`)."""

    def __init__(self, connection: sa.Connection, trait_lists: TraitLists | None = None) -> None:
        self._connection = connection
        self._trait_lists = trait_lists or TraitLists()

    def cloud(self, query: CandidateQuery, topology: Topology) -> Cloud:
        """The memberships that a query needs: one statement."""
        filters = [query.root_required, *(group.traits for group in query.groups)]
        names = {name for wanted in filters for some in (*wanted.any_of, wanted.forbidden) for name in some}
        members_of = [group.member_of for group in query.groups]
        uuids = {uuid for wanted in members_of for some in (*wanted.any_of, wanted.forbidden) for uuid in some}
        members: tuple[dict[str, Ints], ...] = ({}, {})
        values = {'names': sorted(names | {SHARING}), 'uuids': sorted(uuids)}
        for kind, name, ids in self._connection.execute(_MEMBERS, values):
            members[kind][name] = checksum.unpacked([ids or ''], 1)[:, 0].astype(np.int64)
        return make_cloud(topology, *members)

    def used(self, provider_ids: Sequence[int] | None, class_ids: Sequence[int] | None) -> Ints:
        """What is used of these providers and classes, None for all (see `usage.Fetch`): one statement."""
        if class_ids is None:
            rows = by_ids.rows(self._connection, _used, providers=provider_ids)
        else:
            rows = by_ids.rows(self._connection, _used_of_classes, providers=provider_ids, classes=class_ids)
        found = checksum.unpacked([text for (text,) in rows], 3)
        return np.minimum(found, HUGE).astype(np.int64)

    def traits(self, topology: Topology, rows: Ints) -> Mapping[int, Iterable[str]]:
        """The names of the traits of these provider rows, by provider id: one statement, two if they have changed
        since they were read."""
        return self._trait_lists.of(self._connection, topology, rows)


def _used() -> sa.Select[Any]:
    columns = _ALLOCATIONS.resource_provider_id, _ALLOCATIONS.resource_class_id
    return _packed_sums(
        sa.select(*columns, _sum())
        .where(by_ids.listed(_ALLOCATIONS.resource_provider_id, 'providers'))
        .group_by(*columns)
    )


def _used_of_classes() -> sa.Select[Any]:
    """PERF: provider by provider rather than by a condition on the class: 200,000 of 600,000 allocations in 42 ms, not
    in 62 ms."""
    joined = tables.resource_providers.join(
        tables.allocations,
        sa.and_(
            _ALLOCATIONS.resource_provider_id == _PROVIDERS.id, by_ids.listed(_ALLOCATIONS.resource_class_id, 'classes')
        ),
    )
    columns = _PROVIDERS.id.label('resource_provider_id'), _ALLOCATIONS.resource_class_id
    sums = (
        sa.select(*columns, _sum())
        .select_from(joined)
        .where(by_ids.listed(_PROVIDERS.id, 'providers'))
        .group_by(*columns)
    )
    return _packed_sums(dialect.in_order(sums))


def _sum() -> sa.Label[float]:
    # PERF: a sum of DOUBLE, exact up to 2^53, is quicker than one of DECIMAL.
    return sa.func.sum(_ALLOCATIONS.used + sa.literal_column('0e0')).label('used')


def _packed_sums(sums: sa.Select[Any]) -> sa.Select[Any]:
    """PERF: packed by the database, 60,000 allocations of 3,000 inventories take 8 ms there and 1 ms here; in rows
    15 ms and 10 ms."""
    rows = dialect.by_index(sums, tables.allocations, tables.ALLOCATIONS_BY_PROVIDER).subquery()
    return sa.select(checksum.packed(*rows.c)).group_by(dialect.block(rows.c.resource_provider_id))


def _with_traits() -> sa.Select[*tuple[Any, ...]]:
    return (
        sa.select(sa.literal_column('0'), _TRAITS.name, checksum.packed(_HAS.resource_provider_id))
        .select_from(tables.traits.outerjoin(tables.resource_provider_traits, _HAS.trait_id == _TRAITS.id))
        .where(_TRAITS.name.in_(sa.bindparam('names', expanding=True)))
        .group_by(_TRAITS.name)
    )


def _in_aggregates() -> sa.Select[*tuple[Any, ...]]:
    of_sharing = (
        sa.select(_IS_IN.aggregate_id)
        .join(tables.resource_provider_traits, _HAS.resource_provider_id == _IS_IN.resource_provider_id)
        .join(tables.traits, _TRAITS.id == _HAS.trait_id)
        .where(_TRAITS.name == SHARING)
    )
    return (
        sa.select(sa.literal_column('1'), _AGGREGATES.uuid, checksum.packed(_IS_IN.resource_provider_id))
        .join(tables.resource_provider_aggregates, _IS_IN.aggregate_id == _AGGREGATES.id)
        .where(_AGGREGATES.uuid.in_(sa.bindparam('uuids', expanding=True)) | _AGGREGATES.id.in_(of_sharing))
        .group_by(_AGGREGATES.uuid)
    )


_MEMBERS = sa.union_all(_with_traits(), _in_aggregates())
