"""Who holds what: a list of consumers that the API does not have. Called by `placement-manage consumers`."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from placement.db import tables
from placement.objects.consumer import UNKNOWN_TYPE
from placement.operator.explain import HostUnknown

_CONSUMERS, _TYPES, _ALLOCATIONS = tables.consumers.c, tables.consumer_types.c, tables.allocations.c
_PROJECTS, _USERS = tables.projects.c, tables.users.c
_PROVIDERS, _CLASSES = tables.resource_providers.c, tables.resource_classes.c


@dataclass(frozen=True)
class Filter:
    """Which consumers; None means all. `consumer_type` may be `unknown`, `provider` is a name or uuid, `before` (naive
    UTC) wants consumers made earlier."""

    project: str | None = None
    user: str | None = None
    consumer_type: str | None = None
    provider: str | None = None
    before: datetime.datetime | None = None


@dataclass(frozen=True)
class Consumer:
    """A consumer; `resources` are sums by class over all that it holds, `providers` the names of where."""

    uuid: str
    consumer_type: str
    project: str
    user: str
    generation: int
    created: str
    resources: dict[str, int]
    providers: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A part of the list, oldest first. `count` and `totals` (by class, of all that these consumers hold) are of the
    whole list."""

    count: int
    totals: dict[str, int]
    consumers: tuple[Consumer, ...]


def read(connection: sa.Connection, wanted: Filter, limit: int, offset: int = 0) -> Page:
    """A page of the consumers that match. Five statements at most.

    :raises HostUnknown: no such provider
    """
    matching = _matching(connection, wanted)
    rows = connection.execute(
        matching.with_only_columns(
            _CONSUMERS.uuid,
            sa.func.coalesce(_TYPES.name, UNKNOWN_TYPE).label('type'),
            _PROJECTS.external_id.label('project'),
            _USERS.external_id.label('user'),
            _CONSUMERS.generation,
            _CONSUMERS.created_at,
        )
        .order_by(_CONSUMERS.created_at, _CONSUMERS.uuid)
        .limit(limit)
        .offset(offset)
    ).all()
    resources, providers = _held(connection, [row.uuid for row in rows])
    ids = matching.with_only_columns(_CONSUMERS.uuid).subquery()
    totals = connection.execute(
        sa.select(_CLASSES.name, sa.func.sum(_ALLOCATIONS.used))
        .join(tables.resource_classes, _CLASSES.id == _ALLOCATIONS.resource_class_id)
        .join(ids, ids.c.uuid == _ALLOCATIONS.consumer_id)
        .group_by(_CLASSES.id, _CLASSES.name)
        .order_by(_CLASSES.id)
    )
    return Page(
        count=int(connection.scalar(matching.with_only_columns(sa.func.count())) or 0),
        totals={name: int(used) for name, used in totals},
        consumers=tuple(
            Consumer(
                uuid=row.uuid,
                consumer_type=row.type,
                project=row.project or '',
                user=row.user or '',
                generation=row.generation,
                created='' if row.created_at is None else f'{row.created_at:%Y-%m-%d %H:%M}',
                resources=resources.get(row.uuid, {}),
                providers=tuple(providers.get(row.uuid, ())),
            )
            for row in rows
        ),
    )


def _matching(connection: sa.Connection, wanted: Filter) -> sa.Select[tuple[()]]:
    """The consumers that match, with no column chosen yet."""
    statement = (
        sa.select()
        .select_from(tables.consumers)
        .outerjoin(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
        .outerjoin(tables.projects, _PROJECTS.id == _CONSUMERS.project_id)
        .outerjoin(tables.users, _USERS.id == _CONSUMERS.user_id)
    )
    if wanted.project is not None:
        statement = statement.where(_PROJECTS.external_id == wanted.project)
    if wanted.user is not None:
        statement = statement.where(_USERS.external_id == wanted.user)
    if wanted.consumer_type == UNKNOWN_TYPE:
        statement = statement.where(_CONSUMERS.consumer_type_id.is_(None))
    elif wanted.consumer_type is not None:
        statement = statement.where(_TYPES.name == wanted.consumer_type)
    if wanted.before is not None:
        statement = statement.where(_CONSUMERS.created_at < wanted.before)
    if wanted.provider is not None:
        named = (_PROVIDERS.uuid == wanted.provider) | (_PROVIDERS.name == wanted.provider)
        provider = connection.scalar(sa.select(_PROVIDERS.id).where(named).order_by(_PROVIDERS.uuid != wanted.provider))
        if provider is None:
            raise HostUnknown(wanted.provider)
        holds = (_ALLOCATIONS.resource_provider_id == provider) & (_ALLOCATIONS.consumer_id == _CONSUMERS.uuid)
        statement = statement.where(sa.exists().where(holds))
    return statement


def _held(connection: sa.Connection, uuids: Sequence[str]) -> tuple[dict[str, dict[str, int]], dict[str, list[str]]]:
    """Amounts by class, and names of providers, by consumer."""
    resources: dict[str, dict[str, int]] = {}
    providers: dict[str, list[str]] = {}
    statement = (
        sa.select(_ALLOCATIONS.consumer_id, _CLASSES.name, _ALLOCATIONS.used, _PROVIDERS.name, _PROVIDERS.uuid)
        .join(tables.resource_classes, _CLASSES.id == _ALLOCATIONS.resource_class_id)
        .join(tables.resource_providers, _PROVIDERS.id == _ALLOCATIONS.resource_provider_id)
        .where(_ALLOCATIONS.consumer_id.in_(sa.bindparam(None, uuids, expanding=True, literal_execute=True)))
        .order_by(_ALLOCATIONS.id)
    )
    for consumer, resource_class, used, name, uuid in connection.execute(statement):
        amounts = resources.setdefault(consumer, {})
        amounts[resource_class] = amounts.get(resource_class, 0) + used
        names = providers.setdefault(consumer, [])
        if (name or uuid) not in names:
            names.append(name or uuid)
    return resources, providers
