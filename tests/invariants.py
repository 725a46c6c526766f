"""What must hold of a database at any moment, whoever wrote to it and whatever died: asserted by `check`.

Used by the tests of concurrency and faults, after their load and after each accident. It knows the tables and the
capacity rule, nothing else of the service.
"""

import contextlib
import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from placement.capacity import capacity
from placement.db import tables


@dataclass(frozen=True)
class Snapshot:
    """The generations at one moment, by row id: of providers and of consumers."""

    providers: dict[int, int] = field(default_factory=dict)
    consumers: dict[int, int] = field(default_factory=dict)


def check(url: str, earlier: Snapshot | None = None) -> Snapshot:
    """Assert the invariants of the database `url`; all that is violated is in the message.

    Generations are compared with those of an `earlier` snapshot. Returns the present one.
    """
    with _rows(url) as rows:
        violations, now = _violations(rows), _snapshot(rows)
    if earlier is not None:
        violations += _backwards('provider', earlier.providers, now.providers)
        violations += _backwards('consumer', earlier.consumers, now.consumers)
    assert not violations, '\n'.join(violations)
    return now


def contents(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """All that the database says, without row ids and times: equal contents are the same state to any client.

    Standard traits that nobody has are left out.
    """
    with _rows(url) as rows:
        names = {table: {row['id']: _name(row) for row in rows[table] if 'id' in row} for table in rows}
    return {
        table: sorted(
            (
                tuple(
                    names[_REFERS[column]].get(value, value) if column in _REFERS else value
                    for column, value in row.items()
                    if column not in ('id', 'created_at', 'updated_at')
                )
                for row in rows[table]
            ),
            key=repr,
        )
        for table in rows
    }


# --- implementation ---

Rows = dict[str, list[dict[str, Any]]]

# Columns that hold row ids, and the table that they mean.
_REFERS = {
    'resource_provider_id': 'resource_providers',
    'root_provider_id': 'resource_providers',
    'parent_provider_id': 'resource_providers',
    'resource_class_id': 'resource_classes',
    'project_id': 'projects',
    'user_id': 'users',
    'consumer_type_id': 'consumer_types',
    'aggregate_id': 'placement_aggregates',
    'trait_id': 'traits',
}
_MAY_BE_NULL = {'parent_provider_id', 'consumer_type_id'}


@functools.cache
def _engine(url: str) -> sa.Engine:
    return sa.create_engine(url, poolclass=sa.NullPool)


@contextlib.contextmanager
def _rows(url: str) -> Iterator[Rows]:
    """All rows of all tables, of one snapshot."""
    with _engine(url).connect() as connection:
        yield {
            table.name: [dict(row) for row in connection.execute(_select(table)).mappings()]
            for table in tables.metadata.sorted_tables
        }


def _select(table: sa.Table) -> sa.Select[Any]:
    statement = sa.select(table)
    if table is tables.traits:
        had = sa.select(tables.resource_provider_traits.c.trait_id)
        statement = statement.where(sa.or_(table.c.name.like('CUSTOM%'), table.c.id.in_(had)))
    return statement


def _name(row: dict[str, Any]) -> Any:
    return row.get('uuid') or row.get('external_id') or row.get('name')


def _snapshot(rows: Rows) -> Snapshot:
    return Snapshot(*({row['id']: row['generation'] for row in rows[of]} for of in ('resource_providers', 'consumers')))


def _violations(rows: Rows) -> list[str]:
    return [*_dangling(rows), *_consumers(rows), *_capacities(rows), *_trees(rows)]


def _dangling(rows: Rows) -> Iterator[str]:
    """Rows that refer to something that is not there."""
    ids = {table: {row['id'] for row in rows[table] if 'id' in row} for table in rows}
    for table, found in rows.items():
        for row in found:
            for column in row.keys() & _REFERS.keys():
                if row[column] is None and column in _MAY_BE_NULL:
                    continue
                if row[column] not in ids[_REFERS[column]]:
                    yield f'{table}: {column} {row[column]} does not exist: {row}'


def _consumers(rows: Rows) -> Iterator[str]:
    consumers = {row['uuid'] for row in rows['consumers']}
    holders = {row['consumer_id'] for row in rows['allocations']}
    yield from (f'allocations of {uuid}, which is no consumer' for uuid in holders - consumers)
    yield from (f'consumer {uuid} has no allocations' for uuid in consumers - holders)
    held = Counter(
        (row['consumer_id'], row['resource_provider_id'], row['resource_class_id']) for row in rows['allocations']
    )
    yield from (f'two allocations of one consumer, provider and class: {key}' for key, n in held.items() if n > 1)
    yield from (f'an allocation of nothing: {row}' for row in rows['allocations'] if row['used'] < 1)


def _capacities(rows: Rows) -> Iterator[str]:
    inventories = {}
    for row in rows['inventories']:
        key = row['resource_provider_id'], row['resource_class_id']
        if key in inventories:
            yield f'two inventories of one provider and class: {row}'
        inventories[key] = row
    used: Counter[tuple[int, int]] = Counter()
    for row in rows['allocations']:
        used[row['resource_provider_id'], row['resource_class_id']] += row['used']
    for key, amount in used.items():
        stock = inventories.get(key)
        if stock is None:
            yield f'{amount} allocated of provider and class {key} without inventory'
        elif amount > capacity(stock['total'], stock['reserved'], stock['allocation_ratio']):
            yield f'{amount} allocated of {stock}'


def _trees(rows: Rows) -> Iterator[str]:
    providers = {row['id']: row for row in rows['resource_providers']}
    for row in providers.values():
        top, steps = row, 0
        while top['parent_provider_id'] in providers and steps <= len(providers):
            top, steps = providers[top['parent_provider_id']], steps + 1
        if steps > len(providers):
            yield f'a loop of parents: {row}'
        elif row['root_provider_id'] != top['id']:
            yield f'the root should be {top["id"]}: {row}'


def _backwards(what: str, earlier: dict[int, int], now: dict[int, int]) -> list[str]:
    return [
        f'{what} of id {row_id} went from generation {generation} back to {now[row_id]}'
        for row_id, generation in earlier.items()
        if now.get(row_id, generation) < generation
    ]
