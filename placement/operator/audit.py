"""What real clouds suffer from: checks over the whole database. Called by `placement-manage audit`.

A check is a function of a connection (in one read transaction) and of `Options`; it finds rows of texts. `FIXES` of
`placement.operator.fixes` mend what is safe to mend.
"""

import datetime
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement.capacity import capacity
from placement.db import dialect, tables
from placement.objects.consumer import UNKNOWN_TYPE
from placement.objects.resource_provider import root_id
from placement.objects.trait import CUSTOM_PREFIX
from placement.solver.members import SHARING

_PROVIDERS, _INVENTORIES, _CLASSES = tables.resource_providers.c, tables.inventories.c, tables.resource_classes.c
_ALLOCATIONS, _CONSUMERS, _TYPES = tables.allocations.c, tables.consumers.c, tables.consumer_types.c
_TRAITS, _HAS, _IS_IN = tables.traits.c, tables.resource_provider_traits.c, tables.resource_provider_aggregates.c
MIGRATION = 'MIGRATION'

Row = tuple[str, ...]


@dataclass(frozen=True)
class Options:
    """`before` (naive UTC): what is younger is not judged by its age. `servers` are the uuids of the servers that nova
    knows, None if that was not given."""

    before: datetime.datetime
    servers: frozenset[str] | None = None


@dataclass(frozen=True)
class Check:
    """`is_problem`: something is wrong; otherwise it is only untidy. The first column names what a fix takes."""

    name: str
    title: str
    advice: str
    columns: tuple[str, ...]
    find: Callable[[sa.Connection, Options], Iterator[Row]]
    is_problem: bool = True


def _several_roots(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    sharing = (
        sa.select(_HAS.resource_provider_id)
        .join(tables.traits, _TRAITS.id == _HAS.trait_id)
        .where(_TRAITS.name == SHARING)
    )
    held = (
        sa.select(_ALLOCATIONS.consumer_id, root_id().label('root'))
        .join(tables.resource_providers, _PROVIDERS.id == _ALLOCATIONS.resource_provider_id)
        .where(_PROVIDERS.id.not_in(sharing))
        .distinct()
        .subquery()
    )
    several = (
        sa.select(held.c.consumer_id).group_by(held.c.consumer_id).having(sa.func.count(held.c.root) > 1).subquery()
    )
    statement = (
        sa.select(held.c.consumer_id, _TYPES.name, _PROVIDERS.name, _PROVIDERS.uuid)
        .join(several, several.c.consumer_id == held.c.consumer_id)
        .join(tables.resource_providers, _PROVIDERS.id == held.c.root)
        .outerjoin(tables.consumers, _CONSUMERS.uuid == held.c.consumer_id)
        .outerjoin(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
        .order_by(held.c.consumer_id, _PROVIDERS.name)
    )
    found: dict[tuple[str, str], list[str]] = {}
    for consumer, kind, name, uuid in connection.execute(statement):
        found.setdefault((consumer, kind or UNKNOWN_TYPE), []).append(name or uuid)
    for (consumer, kind), roots in found.items():
        yield consumer, kind, ', '.join(roots)


def _old_migrations(connection: sa.Connection, options: Options) -> Iterator[Row]:
    statement = (
        sa.select(_CONSUMERS.uuid, tables.projects.c.external_id, _CONSUMERS.created_at)
        .join(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
        .outerjoin(tables.projects, tables.projects.c.id == _CONSUMERS.project_id)
        .where(_TYPES.name == MIGRATION, _CONSUMERS.created_at < options.before)
        .order_by(_CONSUMERS.created_at, _CONSUMERS.uuid)
    )
    for uuid, project, created in connection.execute(statement):
        yield uuid, project or '', _time(created)


def _without_consumer(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    statement = (
        sa.select(_ALLOCATIONS.consumer_id, sa.func.count())
        .select_from(tables.allocations)
        .outerjoin(tables.consumers, _CONSUMERS.uuid == _ALLOCATIONS.consumer_id)
        .where(_CONSUMERS.id.is_(None))
        .group_by(_ALLOCATIONS.consumer_id)
        .order_by(_ALLOCATIONS.consumer_id)
    )
    for uuid, count in connection.execute(statement):
        yield uuid, str(count)


def _without_project(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    projects, users = tables.projects.c, tables.users.c
    statement = (
        sa.select(_CONSUMERS.uuid, projects.id, users.id)
        .outerjoin(tables.projects, projects.id == _CONSUMERS.project_id)
        .outerjoin(tables.users, users.id == _CONSUMERS.user_id)
        .where(projects.id.is_(None) | users.id.is_(None))
        .order_by(_CONSUMERS.uuid)
    )
    for uuid, project, user in connection.execute(statement):
        missing = [name for name, value in (('project', project), ('user', user)) if value is None]
        yield uuid, ' and '.join(missing)


def _without_inventory(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    used = _used()
    statement = (
        sa.select(_PROVIDERS.uuid, _PROVIDERS.name, _CLASSES.name, used.amount)
        .join(tables.resource_providers, _PROVIDERS.id == used.provider_id)
        .join(tables.resource_classes, _CLASSES.id == used.class_id)
        .outerjoin(tables.inventories, _has_inventory(used))
        .where(_INVENTORIES.id.is_(None))
        .order_by(_PROVIDERS.name, _CLASSES.id)
    )
    for uuid, name, resource_class, amount in connection.execute(statement):
        yield uuid, name or '', resource_class, str(amount)


def _over_capacity(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    used = _used()
    net = _INVENTORIES.total - _INVENTORIES.reserved
    statement = (
        sa.select(_PROVIDERS.uuid, _PROVIDERS.name, _CLASSES.name, used.amount)
        .add_columns(_INVENTORIES.total, _INVENTORIES.reserved, _INVENTORIES.allocation_ratio)
        .join(tables.inventories, _has_inventory(used))
        .join(tables.resource_providers, _PROVIDERS.id == used.provider_id)
        .join(tables.resource_classes, _CLASSES.id == used.class_id)
        .where(used.amount > net * dialect.effective_ratio(_INVENTORIES.allocation_ratio))
        .order_by(_PROVIDERS.name, _CLASSES.id)
    )
    for uuid, name, resource_class, amount, *numbers in connection.execute(statement):
        yield uuid, name or '', resource_class, str(amount), str(int(capacity(*numbers)))


def _used() -> Any:
    """The columns `provider_id`, `class_id` and `amount` of all that is used."""
    keys = _ALLOCATIONS.resource_provider_id.label('provider_id'), _ALLOCATIONS.resource_class_id.label('class_id')
    return sa.select(*keys, sa.func.sum(_ALLOCATIONS.used).label('amount')).group_by(*keys).subquery('used').c


def _has_inventory(used: Any) -> sa.ColumnElement[bool]:
    """Joins inventories to `_used()`."""
    is_of_provider = _INVENTORIES.resource_provider_id == used.provider_id
    return sa.and_(is_of_provider, _INVENTORIES.resource_class_id == used.class_id)


def _wrong_root(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    statement = sa.select(
        _PROVIDERS.id, _PROVIDERS.uuid, _PROVIDERS.name, _PROVIDERS.parent_provider_id, _PROVIDERS.root_provider_id
    ).order_by(_PROVIDERS.name)
    providers = connection.execute(statement).all()
    parents = {provider.id: provider.parent_provider_id for provider in providers}
    names = {provider.id: provider.name or provider.uuid for provider in providers}
    for provider in providers:
        top, problem = _top(provider.id, parents)
        if not problem and provider.root_provider_id != top:
            recorded = names.get(provider.root_provider_id, 'nobody')
            problem = f'the root is recorded as {recorded}, but is {names[top]}'
        if problem:
            yield provider.uuid, provider.name or '', problem


def _top(provider_id: int, parents: Mapping[int, int | None]) -> tuple[int, str]:
    """The topmost ancestor, and what is wrong on the way to it."""
    seen = {provider_id}
    while (parent := parents[provider_id]) is not None:
        if parent not in parents:
            return provider_id, 'the parent does not exist'
        if parent in seen:
            return provider_id, 'it is its own ancestor'
        seen.add(parent)
        provider_id = parent
    return provider_id, ''


def _gone_servers(connection: sa.Connection, options: Options) -> Iterator[Row]:
    if options.servers is None:
        return
    statement = (
        sa.select(_CONSUMERS.uuid, _TYPES.name, tables.projects.c.external_id, _CONSUMERS.created_at)
        .outerjoin(tables.consumer_types, _TYPES.id == _CONSUMERS.consumer_type_id)
        .outerjoin(tables.projects, tables.projects.c.id == _CONSUMERS.project_id)
        .where(_holding(), _CONSUMERS.created_at < options.before)
        .order_by(_CONSUMERS.uuid)
    )
    for uuid, kind, project, created in connection.execute(statement):
        if kind != MIGRATION and uuid not in options.servers:
            yield uuid, kind or UNKNOWN_TYPE, project or '', _time(created)


def _holding() -> sa.ColumnElement[bool]:
    """Whether a consumer has allocations."""
    return sa.exists().where(_ALLOCATIONS.consumer_id == _CONSUMERS.uuid)


def _idle_consumers(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    statement = sa.select(_CONSUMERS.uuid, _CONSUMERS.created_at).where(~_holding()).order_by(_CONSUMERS.uuid)
    for uuid, created in connection.execute(statement):
        yield uuid, _time(created)


def _unused_traits(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    used = sa.exists().where(_HAS.trait_id == _TRAITS.id)
    yield from _names(connection, _TRAITS.name, _TRAITS.name.startswith(CUSTOM_PREFIX, autoescape=True), ~used)


def _unused_classes(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    stocked = sa.exists().where(_INVENTORIES.resource_class_id == _CLASSES.id)
    used = sa.exists().where(_ALLOCATIONS.resource_class_id == _CLASSES.id)
    yield from _names(
        connection, _CLASSES.name, _CLASSES.name.startswith(CUSTOM_PREFIX, autoescape=True), ~stocked, ~used
    )


def _orphan_aggregates(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    columns = tables.placement_aggregates.c
    yield from _names(connection, columns.uuid, ~sa.exists().where(_IS_IN.aggregate_id == columns.id))


def _idle_projects(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    columns = tables.projects.c
    yield from _names(connection, columns.external_id, ~sa.exists().where(_CONSUMERS.project_id == columns.id))


def _idle_users(connection: sa.Connection, _options: Options) -> Iterator[Row]:
    columns = tables.users.c
    yield from _names(connection, columns.external_id, ~sa.exists().where(_CONSUMERS.user_id == columns.id))


def _names(
    connection: sa.Connection, name: sa.ColumnElement[str], *conditions: sa.ColumnElement[bool]
) -> Iterator[Row]:
    for (text,) in connection.execute(sa.select(name).where(*conditions).order_by(name)):
        yield (text or '',)


def _time(value: datetime.datetime | None) -> str:
    return '' if value is None else f'{value:%Y-%m-%d %H:%M}'


_HARMLESS = 'Harmless, and left alone: somebody may be about to use it.'

CHECKS = (
    Check(
        'several-roots',
        'Consumers that hold on several hosts (sharing providers not counted)',
        'A move that is going on, or was interrupted. Compare with the host of the server; heal with '
        '"nova-manage placement heal_allocations" or "openstack resource provider allocation set".',
        ('consumer', 'type', 'hosts'),
        _several_roots,
    ),
    Check(
        'old-migrations',
        'MIGRATION consumers older than --older-than',
        'A migration that was never confirmed, reverted or cleaned up; look at "openstack server migration list".',
        ('consumer', 'project', 'since'),
        _old_migrations,
    ),
    Check(
        'without-consumer',
        'Allocations without a record of their consumer: the API hides them',
        'Run "placement-manage db online_data_migrations".',
        ('consumer', 'allocations'),
        _without_consumer,
    ),
    Check(
        'without-project',
        'Consumers whose project or user has no row: the API hides their allocations',
        'The database was damaged; write the allocations of these servers anew with PUT /allocations.',
        ('consumer', 'missing'),
        _without_project,
    ),
    Check(
        'without-inventory',
        'Usage of classes that the provider has no inventory of',
        'Give the provider its inventory back, or move the consumers away.',
        ('provider', 'name', 'class', 'used'),
        _without_inventory,
    ),
    Check(
        'over-capacity',
        'Providers with more used than there is',
        'Inventory shrank, or a ratio was lowered. Nothing new is placed there; move servers away, or raise the ratio.',
        ('provider', 'name', 'class', 'used', 'capacity'),
        _over_capacity,
    ),
    Check(
        'wrong-root',
        'Providers whose place in their tree is wrong',
        'Without a root: "placement-manage db online_data_migrations". Otherwise make it a root and '
        'then the child of its parent again: PUT /resource_providers/{uuid} from microversion 1.37 on.',
        ('provider', 'name', 'problem'),
        _wrong_root,
    ),
    Check(
        'gone-servers',
        'Allocations of servers that nova does not know (needs --nova-list)',
        'Look at a few with "openstack server show", and at "openstack server migration list", whose uuids belong into '
        'the list too; then "audit --nova-list FILE --fix gone-servers".',
        ('consumer', 'type', 'project', 'since'),
        _gone_servers,
    ),
    Check(
        'idle-consumers',
        'Consumers without allocations: the next claim of such a server may get 409',
        '"audit --fix idle-consumers" deletes them.',
        ('consumer', 'since'),
        _idle_consumers,
    ),
    Check(
        'unused-traits',
        'Custom traits that no provider has',
        '"audit --fix unused-traits" deletes them, if no flavor or image names them.',
        ('trait',),
        _unused_traits,
        is_problem=False,
    ),
    Check(
        'unused-classes',
        'Custom resource classes without inventory and usage',
        '"audit --fix unused-classes" deletes them, if no flavor names them.',
        ('class',),
        _unused_classes,
        is_problem=False,
    ),
    Check(
        'orphan-aggregates',
        'Aggregates without providers',
        _HARMLESS,
        ('aggregate',),
        _orphan_aggregates,
        is_problem=False,
    ),
    Check('idle-projects', 'Projects without consumers', _HARMLESS, ('project',), _idle_projects, is_problem=False),
    Check('idle-users', 'Users without consumers', _HARMLESS, ('user',), _idle_users, is_problem=False),
)
