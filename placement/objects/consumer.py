"""Consumers: who holds allocations, on whose behalf, and at which generation (contract: http.md 6.1; service.md 2.2,
2.3).

Used by `objects/allocation.py`, inside its transactions: `load`, `check_generation`, then `save`. The rows of projects,
users and consumer types that a consumer refers to are created here, in the same transaction.
"""

import datetime
import functools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc

from placement import errors, uuids
from placement.db import engine, tables, upsert

# The text that stands for "no type recorded" in answers and queries; it is never stored.
UNKNOWN_TYPE = 'unknown'

_CONSUMERS = tables.consumers.c
_ALLOCATIONS = tables.allocations.c

# A text that the API shows, and the table that keeps it.
Name = tuple[sa.Table, str]

# SQLite takes no more than 500 parts of a UNION.
_PARTS = 200


@dataclass(frozen=True)
class Claim:
    """What one consumer shall hold from now on; a claim without amounts takes everything from it.

    `amounts` maps provider uuids to class names to amounts. `type` is None where the request cannot name one: that of
    an existing consumer stays. `generation` is looked at only if `checked`; None means that the consumer must be new.
    Uuids are canonical.
    """

    consumer: str
    amounts: Mapping[str, Mapping[str, int]]
    project: str
    user: str
    type: str | None
    generation: int | None
    checked: bool


@dataclass
class Consumer:
    """A consumer as a transaction saw it; `id` and `generation` are None if it has no row.

    `held` is the amount by (provider id, class id), `allocation_ids` the rows that say so.
    """

    uuid: str
    id: int | None = None
    generation: int | None = None
    project_id: int | None = None
    user_id: int | None = None
    type_id: int | None = None
    held: Counter[tuple[int, int]] = field(default_factory=Counter)
    allocation_ids: list[int] = field(default_factory=list)


def canonical(uuid: str) -> str:
    """The stored spelling of a consumer's uuid; also of 36 hex digits and dashes that are no uuid, which the API takes
    too.
    """
    return uuids.canonical(uuid).lower()


class Consumers(dict[str, Consumer]):
    """Consumers by uuid, including those that have no row; `names` are the ids of names in their claims, as far as
    `load` found them."""

    def __init__(self, wanted: Iterable[str] = ()) -> None:
        super().__init__((uuid, Consumer(uuid)) for uuid in wanted)
        self.names: dict[Name, int] = {}


_WANTED: sa.BindParameter[Any] = sa.bindparam('wanted', expanding=True)
# Not a join: some databases have allocations whose consumer has no row, and a claim replaces these as well.
_LOAD: tuple[sa.Select[Any], ...] = (
    sa.select(
        _CONSUMERS.uuid,
        _CONSUMERS.id,
        _CONSUMERS.generation,
        _CONSUMERS.project_id,
        _CONSUMERS.user_id,
        _CONSUMERS.consumer_type_id,
        *[sa.null().label(name) for name in ('allocation_id', 'provider_id', 'class_id', 'used', 'place')],
    ).where(_CONSUMERS.uuid.in_(_WANTED)),
    sa.select(
        _ALLOCATIONS.consumer_id,
        *[sa.null()] * 5,
        _ALLOCATIONS.id,
        _ALLOCATIONS.resource_provider_id,
        _ALLOCATIONS.resource_class_id,
        _ALLOCATIONS.used,
        sa.null(),
    ).where(_ALLOCATIONS.consumer_id.in_(_WANTED)),
)


def load(connection: sa.Connection, claims: Collection[Claim]) -> Consumers:
    """The consumers of claims with all that they hold, and most of the names, in one statement."""
    found = Consumers(claim.consumer for claim in claims)
    names = _names(claims)[:_PARTS]
    statement = _load(tuple(table for table, _ in names))
    for row in connection.execute(statement, {'wanted': list(found), **_texts(names)}):
        if row.place is not None:
            found.names[names[row.place]] = row.id
            continue
        consumer = found[canonical(row.uuid)]
        if row.allocation_id is None:
            consumer.id, consumer.generation = row.id, row.generation
            consumer.project_id, consumer.user_id, consumer.type_id = row.project_id, row.user_id, row.consumer_type_id
        else:
            consumer.allocation_ids.append(row.allocation_id)
            consumer.held[row.provider_id, row.class_id] += row.used
    return found


@functools.lru_cache(maxsize=64)
def _load(of: tuple[sa.Table, ...]) -> sa.CompoundSelect[Any]:
    """`_LOAD`, and the `place` and `id` of the names `text0`, `text1` and so on, each in its table."""
    named = [
        sa.select(sa.null(), table.c.id, *[sa.null()] * 8, sa.literal_column(str(place))).where(_is_named(table, place))
        for place, table in enumerate(of)
    ]
    return sa.union_all(*_LOAD, *named)


def check_generation(consumer: Consumer, claim: Claim) -> None:
    """Check that the writer of a claim knows the consumer's present state. Raises errors.ConsumerGenerationConflict.

    A row without allocations is left over from an accident, and clients cannot see it: both null, for a new consumer,
    and the generation of the row are accepted.
    """
    if not claim.checked:
        return
    visible = consumer.generation if consumer.held else None
    if claim.generation == visible or (not consumer.held and claim.generation == consumer.generation):
        return
    raise errors.ConsumerGenerationConflict(expected=_text(visible), given=_text(claim.generation))


_AS_SEEN = (
    _CONSUMERS.id.in_(sa.bindparam('ids', expanding=True)),
    sa.tuple_(_CONSUMERS.id, _CONSUMERS.generation).in_(sa.bindparam('seen', expanding=True)),
)
_ADVANCE = (
    sa.update(tables.consumers)
    .where(*_AS_SEEN)
    .values(generation=_CONSUMERS.generation + 1, updated_at=sa.bindparam('now'))
)
_DELETE = sa.delete(tables.consumers).where(*_AS_SEEN)


def save(connection: sa.Connection, claims: Sequence[Claim], consumers: Consumers) -> None:
    """Write the rows of consumers as their claims say, and increment their generations. Rows of consumers that are left
    without allocations are deleted.

    Raises engine.retry(errors.ConsumerGenerationConflict) if another writer changed or created one of them meanwhile.
    """
    now = engine.utcnow()
    held_by = [(claim, consumers[claim.consumer]) for claim in claims]
    filled = [(claim, consumer) for claim, consumer in held_by if claim.amounts]
    emptied = [consumer for claim, consumer in held_by if not claim.amounts and consumer.id is not None]
    names = _ensure_names(connection, _names(claims), consumers.names, now)
    kept: list[Consumer] = []
    new: list[Consumer] = []
    for claim, consumer in filled:
        target = Consumer(
            consumer.uuid,
            consumer.id,
            consumer.generation,
            names[tables.projects, claim.project],
            names[tables.users, claim.user],
            consumer.type_id if claim.type is None else names[tables.consumer_types, claim.type],
        )
        (new if consumer.id is None else kept).append(target)
    if kept:
        _advance(connection, kept, consumers, now)
    if emptied:
        result = connection.execute(_DELETE, _as_seen(emptied))
        engine.require_rows(result, len(emptied), _race(emptied))
    if new:
        _create(connection, new, now)


def _advance(
    connection: sa.Connection, targets: list[Consumer], seen: Mapping[str, Consumer], now: datetime.datetime
) -> None:
    """Increment the generations of existing consumers, and change the owners and types that differ."""
    values: dict[str, sa.ColumnElement[int]] = {}
    for attribute, column in (
        ('project_id', _CONSUMERS.project_id),
        ('user_id', _CONSUMERS.user_id),
        ('type_id', _CONSUMERS.consumer_type_id),
    ):
        changed = {
            target.id: getattr(target, attribute)
            for target in targets
            if getattr(target, attribute) != getattr(seen[target.uuid], attribute)
        }
        if changed:
            values[column.name] = sa.case(changed, value=_CONSUMERS.id, else_=column)
    result = connection.execute(_ADVANCE.values(values) if values else _ADVANCE, {**_as_seen(targets), 'now': now})
    engine.require_rows(result, len(targets), _race(targets))


def _create(connection: sa.Connection, targets: list[Consumer], now: datetime.datetime) -> None:
    rows = [
        {
            'uuid': target.uuid,
            'project_id': target.project_id,
            'user_id': target.user_id,
            'consumer_type_id': target.type_id,
            'generation': 1,
            'created_at': now,
        }
        for target in targets
    ]
    try:
        connection.execute(sa.insert(tables.consumers), rows)
    except db_exc.DBDuplicateEntry as exc:
        raise engine.retry(_race(targets)) from exc


def _as_seen(consumers: list[Consumer]) -> dict[str, object]:
    """The parameters of `_AS_SEEN`."""
    seen = {consumer.id: consumer.generation for consumer in consumers}
    return {'ids': list(seen), 'seen': list(seen.items())}


def _race(consumers: list[Consumer]) -> errors.ConsumerGenerationConflict:
    seen = ', '.join(_text(consumer.generation) for consumer in consumers)
    return errors.ConsumerGenerationConflict(expected='a later generation', given=seen)


def _text(generation: int | None) -> str:
    return 'null' if generation is None else str(generation)


# --- projects, users, consumer types ---


def _names(claims: Iterable[Claim]) -> list[Name]:
    """The names of projects, users and types in those claims that have amounts."""
    names: dict[Name, None] = {}
    for claim in claims:
        if claim.amounts:
            names[tables.projects, claim.project] = None
            names[tables.users, claim.user] = None
            if claim.type is not None:
                names[tables.consumer_types, claim.type] = None
    return list(names)


def _ensure_names(
    connection: sa.Connection, wanted: list[Name], known: Mapping[Name, int], now: datetime.datetime
) -> dict[Name, int]:
    """The ids of all wanted names, created where missing; `known` are those of the first `_PARTS` that exist."""
    found = {**known, **_find_names(connection, wanted[_PARTS:])}
    missing = [name for name in wanted if name not in found]
    if missing:
        for table in dict.fromkeys(table for table, _ in missing):
            # In one order for everybody, so that those who make the same ones queue.
            texts = sorted(text for of, text in missing if of is table)
            rows = [{_column(table).name: text, 'created_at': now} for text in texts]
            upsert.insert_absent(connection, table, rows)
        found |= _find_names(connection, missing)
        if any(name not in found for name in missing):
            # Created by another writer after our snapshot.
            raise engine.retry(errors.AllocationRace())
    return found


def _find_names(connection: sa.Connection, names: list[Name]) -> dict[Name, int]:
    """The ids of those names that exist.

    Each name is compared by the database, never in memory: `proj` and `PROJ` may be one project (decision A23).
    """
    found: dict[Name, int] = {}
    for start in range(0, len(names), _PARTS):
        part = names[start : start + _PARTS]
        statement = _select_names(tuple(table for table, _ in part))
        found.update((part[row.place], row.id) for row in connection.execute(statement, _texts(part)))
    return found


@functools.lru_cache(maxsize=64)
def _select_names(of: tuple[sa.Table, ...]) -> sa.CompoundSelect[Any]:
    """SELECT of `place` and `id` of the names `text0`, `text1` and so on, each in its table."""
    return sa.union_all(
        *(
            sa.select(sa.literal_column(str(place)).label('place'), table.c.id).where(_is_named(table, place))
            for place, table in enumerate(of)
        )
    )


def _is_named(table: sa.Table, place: int) -> sa.ColumnElement[bool]:
    return _column(table) == sa.bindparam(f'text{place}')


def _texts(names: Iterable[Name]) -> dict[str, str]:
    """The parameters of `_is_named`."""
    return {f'text{place}': text for place, (_, text) in enumerate(names)}


def _column(table: sa.Table) -> sa.Column[str]:
    return table.c.name if table is tables.consumer_types else table.c.external_id
