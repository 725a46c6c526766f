"""Allocations: what consumers hold of providers (contract: http.md 5.10, 5.12 to 5.15, 6; decisions A01 to A08, A24).

The writes of PUT, POST and the reshaper are one path: `apply`, a list of claims inside one write transaction. The order
of its statements is what keeps the promise that nothing is given out twice: providers are locked first and only then is
anything read; consumers are guarded by their generations; rows are locked in the order providers, consumers,
allocations.
"""

import datetime
import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from placement import errors
from placement.db import dialect, engine, tables
from placement.objects import consumer as consumers_of
from placement.objects import fit, resource_provider
from placement.objects.consumer import Claim, Consumer, Consumers
from placement.objects.resource_provider import Provider

LOG = logging.getLogger(__name__)

_ALLOCATIONS = tables.allocations.c
_CLASSES = tables.resource_classes.c
_CONSUMERS = tables.consumers.c
_PROVIDERS = tables.resource_providers.c
_TYPES = tables.consumer_types.c

# The error for a class that does not exist, called with `resource_class=`.
UnknownClass = Callable[..., errors.PlacementError]


# --- reads ---


@dataclass(frozen=True)
class Allocation:
    """One amount that a consumer holds, with all that an answer may tell of it and its consumer; `consumer_type` is
    None if none is recorded.
    """

    provider_uuid: str
    provider_generation: int
    resource_class: str
    used: int
    created_at: datetime.datetime | None
    consumer_uuid: str
    consumer_generation: int
    consumer_type: str | None
    project: str
    user: str


class Held(NamedTuple):
    """One amount that is held of a provider."""

    id: int
    consumer_uuid: str
    consumer_generation: int
    resource_class: str
    used: int


# Inner joins: an allocation that lost its consumer, project or user is not shown (service.md 2.3).
_SHOWN = (
    tables.allocations.join(tables.resource_classes, _CLASSES.id == _ALLOCATIONS.resource_class_id)
    .join(tables.consumers, _CONSUMERS.uuid == _ALLOCATIONS.consumer_id)
    .join(tables.projects, tables.projects.c.id == _CONSUMERS.project_id)
    .join(tables.users, tables.users.c.id == _CONSUMERS.user_id)
)
_OF_CONSUMER: sa.Select[Any] = (
    sa.select(
        _PROVIDERS.uuid,
        _PROVIDERS.generation,
        _CLASSES.name,
        _ALLOCATIONS.used,
        _ALLOCATIONS.created_at,
        _CONSUMERS.uuid,
        _CONSUMERS.generation,
        _TYPES.name,
        tables.projects.c.external_id,
        tables.users.c.external_id,
    )
    .select_from(_SHOWN)
    .join(tables.resource_providers, _PROVIDERS.id == _ALLOCATIONS.resource_provider_id)
    .outerjoin(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
    .where(_ALLOCATIONS.consumer_id == sa.bindparam('consumer'))
    .order_by(_ALLOCATIONS.id)
)
# Many allocations in one row, with columns in the order of the fields of `Held`. PERF: without statistics MariaDB would
# not join in the written order, but start from all projects (with 20,000 consumers 28 ms instead of 0.3 ms).
_OF_PROVIDER = dialect.in_order(
    sa.select(
        _PROVIDERS.generation,
        dialect.lines(
            dialect.row_text(_ALLOCATIONS.id, _CONSUMERS.uuid, _CONSUMERS.generation, _CLASSES.name, _ALLOCATIONS.used)
        ).label('held'),
        sa.func.max(_ALLOCATIONS.created_at).label('newest'),
    )
    .select_from(tables.resource_providers)
    .outerjoin(_SHOWN, _ALLOCATIONS.resource_provider_id == _PROVIDERS.id)
    .where(resource_provider.WANTED)
    .group_by(_PROVIDERS.id, _PROVIDERS.generation, dialect.block(_ALLOCATIONS.id))
)


def of_consumer(uuid: str) -> list[Allocation]:
    """What a consumer holds; nothing if there is no such consumer."""
    values = {'consumer': consumers_of.canonical(uuid)}
    return [Allocation(*row) for row in engine.read_rows(_OF_CONSUMER, values)]  # type: ignore[call-arg]


def of_provider(uuid: str) -> tuple[int, list[Held], datetime.datetime | None]:
    """The generation of a provider, what is held of it, and the time of the newest of that (None without any).

    Raises errors.ProviderOfAllocationsNotFound.
    """
    try:
        rows = resource_provider.read_rows(_OF_PROVIDER, uuid)
    except errors.ProviderNotFound as exc:
        raise errors.ProviderOfAllocationsNotFound(uuid=uuid) from exc
    values = iter([value for row in rows for value in (row.held or '').split()])
    held = [
        Held(int(row_id), consumer, int(generation), resource_class, int(used))
        for row_id, consumer, generation, resource_class, used in zip(*[values] * len(Held._fields), strict=True)
    ]
    newest = max((row.newest for row in rows if row.newest is not None), default=None)
    return rows[0].generation, sorted(held), newest


# --- writes ---

_DELETE_CONSUMER = sa.delete(tables.consumers).where(_CONSUMERS.uuid == sa.bindparam('consumer'))
_DELETE_ALLOCATIONS = sa.delete(tables.allocations).where(_ALLOCATIONS.consumer_id == sa.bindparam('consumer'))
_DELETE_ROWS = sa.delete(tables.allocations).where(_ALLOCATIONS.id.in_(sa.bindparam('ids', expanding=True)))
_INSERT = sa.insert(tables.allocations)


def replace(claims: Sequence[Claim], *, attempts: int, unknown_class: UnknownClass) -> None:
    """Let each consumer hold exactly what it claims; all of them or none.

    Writers that change the same providers meanwhile make it try again, `attempts` times in all (negative: without end).

    Raises errors.ConsumerGenerationConflict, errors.AllocationProviderUnknown, `unknown_class(resource_class=…)`, what
    `fit.check` raises, errors.AllocationRace when all attempts were in vain.
    """

    def work(connection: sa.Connection) -> None:
        uuids = named(claims)
        providers = resource_provider.lock(connection, uuids) if uuids else {}
        consumers = check(connection, claims, providers)
        apply(connection, claims, consumers, providers, unknown_class=unknown_class, race=errors.AllocationRace())

    try:
        if attempts == 0:
            raise errors.AllocationRace()
        engine.write(work, attempts=attempts, exhausted=errors.AllocationRace)
    except errors.AllocationRace:
        LOG.warning('Exceeded retry limit of %s on allocations write', attempts)
        raise


def delete(uuid: str) -> None:
    """Take everything from a consumer, and remove its record. Raises errors.ConsumerHasNoAllocations."""
    consumer_uuid = consumers_of.canonical(uuid)

    def work(connection: sa.Connection) -> None:
        connection.execute(_DELETE_CONSUMER, {'consumer': consumer_uuid})
        held = connection.execute(_DELETE_ALLOCATIONS, {'consumer': consumer_uuid})
        if not held.rowcount:
            raise errors.ConsumerHasNoAllocations(uuid=uuid)

    engine.write(work)


def named(claims: Iterable[Claim]) -> set[str]:
    """The providers that claims name; they have to be locked before `apply`."""
    return {uuid for claim in claims for uuid in claim.amounts}


def check(connection: sa.Connection, claims: Sequence[Claim], providers: Mapping[str, Provider]) -> Consumers:
    """Load the consumers of claims, for `apply`, and check that their generations are right and all providers exist.

    Raises errors.ConsumerGenerationConflict, errors.AllocationProviderUnknown; these come before any other mistake.
    """
    consumers = consumers_of.load(connection, claims)
    for claim in claims:
        consumers_of.check_generation(consumers[claim.consumer], claim)
    for uuid in (uuid for claim in claims for uuid in claim.amounts):
        if uuid not in providers:
            raise errors.AllocationProviderUnknown(uuid=uuid)
    return consumers


def apply(
    connection: sa.Connection,
    claims: Sequence[Claim],
    consumers: Consumers,
    providers: Mapping[str, Provider],
    *,
    unknown_class: UnknownClass,
    race: errors.PlacementError,
) -> set[int]:
    """`replace` within a write transaction that has locked the named `providers` (by uuid) and then done `check`.

    Returns the ids of the providers whose generation it incremented, each of them by one.

    Raises engine.retry(race) if a provider changed in spite of the lock, and what `replace` raises.
    """
    wants = _wants(claims, providers)
    used = dict.fromkeys(want.provider for want in wants)
    stocks = fit.read_stocks(connection, used) if used else {}
    unknown = fit.first_unknown(connection, wants, stocks)
    if unknown is not None:
        raise unknown_class(resource_class=unknown)
    fit.check(wants, stocks, {uuid: consumer.held for uuid, consumer in consumers.items()})
    consumers_of.save(connection, claims, consumers)
    _rewrite(connection, wants, stocks, consumers.values())
    if used:
        resource_provider.bump(connection, used, race)
    vacated = _vacated(claims, consumers) - {provider.id for provider in used}
    if vacated:
        _bump_vacated(connection, vacated)
    return vacated | {provider.id for provider in used}


def _wants(claims: Iterable[Claim], providers: Mapping[str, Provider]) -> list[fit.Want]:
    """All amounts in the order of the request."""
    return [
        fit.Want(claim.consumer, providers[uuid], resource_class, amount)
        for claim in claims
        for uuid, amounts in claim.amounts.items()
        for resource_class, amount in amounts.items()
    ]


def _rewrite(
    connection: sa.Connection, wants: Iterable[fit.Want], stocks: fit.Stocks, consumers: Iterable[Consumer]
) -> None:
    """Put new rows in the place of all that the consumers held."""
    # By primary key: a DELETE by consumer would also lock the gaps between consumers against other writers. The
    # consumers' generations say that these are all rows.
    old = [row_id for consumer in consumers for row_id in consumer.allocation_ids]
    if old:
        connection.execute(_DELETE_ROWS, {'ids': old})
    now = engine.utcnow()
    new = [
        {
            'consumer_id': want.consumer,
            'resource_provider_id': want.provider.id,
            'resource_class_id': stocks[want.provider.id, want.resource_class].class_id,
            'used': want.amount,
            'created_at': now,
        }
        for want in wants
    ]
    if new:
        connection.execute(_INSERT, new)


def _vacated(claims: Iterable[Claim], consumers: Mapping[str, Consumer]) -> set[int]:
    """The providers of consumers that are emptied; those of consumers that merely move elsewhere do not count (http.md
    6.2).
    """
    return {provider_id for claim in claims if not claim.amounts for provider_id, _ in consumers[claim.consumer].held}


def _bump_vacated(connection: sa.Connection, provider_ids: Collection[int]) -> None:
    """Tell others that providers changed, whatever their generation is: giving back cannot go wrong."""
    connection.execute(
        sa.update(tables.resource_providers)
        .where(_PROVIDERS.id.in_(sorted(provider_ids)))
        .values(generation=_PROVIDERS.generation + 1, updated_at=engine.utcnow())
    )
