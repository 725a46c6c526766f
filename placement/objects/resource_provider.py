"""Resource providers (contract: http.md 5.4, 5.5; service.md 2.4, 2.5).

Every write of the API that concerns providers builds on the first half: `lock` them first, `bump` them last. The second
half, creation to deletion, serves `handlers/resource_providers.py`. Uuids are looked up in their canonical form,
whatever their spelling in the request.
"""

import datetime
import uuid as uuidlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exc

from placement import errors, uuids
from placement.db import dialect, engine, tables

_PROVIDERS = tables.resource_providers.c


@dataclass(frozen=True)
class Provider:
    """A row of `resource_providers` as a transaction saw it; times are naive UTC."""

    id: int
    uuid: str
    name: str
    generation: int
    # Never None: a row of an old database without a root is its parent's child, else a root (decision E24).
    root_id: int
    parent_id: int | None
    created_at: datetime.datetime | None
    updated_at: datetime.datetime | None


def root_id(providers: Any = _PROVIDERS) -> sa.ColumnElement[int]:
    """The root of a provider in SQL; `providers` are the columns of the table or of an alias."""
    return sa.func.coalesce(providers.root_provider_id, providers.parent_provider_id, providers.id)


# As the fields of `Provider`.
_COLUMNS = (
    _PROVIDERS.id,
    _PROVIDERS.uuid,
    _PROVIDERS.name,
    _PROVIDERS.generation,
    root_id().label('root_id'),
    _PROVIDERS.parent_provider_id.label('parent_id'),
    _PROVIDERS.created_at,
    _PROVIDERS.updated_at,
)


# PERF: statements of frequent requests are built once, here and in the other modules: SQLAlchemy takes longer to build
# one (0.2 to 1 ms) than MariaDB to run it.
_LOCK = (
    dialect.by_index(sa.select(*_COLUMNS), tables.resource_providers, 'uniq_resource_providers0uuid')
    .where(_PROVIDERS.uuid.in_(sa.bindparam('uuids', expanding=True)))
    .order_by(_PROVIDERS.id)
    .with_for_update()
)
_BUMP = (
    sa.update(tables.resource_providers)
    # The first condition finds the rows, also where a database cannot look pairs up in an index.
    .where(
        _PROVIDERS.id.in_(sa.bindparam('ids', expanding=True)),
        sa.tuple_(_PROVIDERS.id, _PROVIDERS.generation).in_(sa.bindparam('seen', expanding=True)),
    )
    .values(generation=_PROVIDERS.generation + 1, updated_at=sa.bindparam('now'))
)


# The condition of statements for `read_rows`.
WANTED = _PROVIDERS.uuid == sa.bindparam('of')


def read_rows(statement: sa.Select[Any], uuid: str) -> Sequence[sa.Row[Any]]:
    """What a SELECT reads of the provider that is `WANTED`. It joins by outer joins, so that no rows mean no provider.

    Raises errors.ProviderNotFound.
    """
    rows = engine.read_rows(statement, {'of': uuids.canonical(uuid)})
    if not rows:
        raise errors.ProviderNotFound(uuid=uuid)
    return rows


def lock(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, Provider]:
    """Those of the wanted uuids that exist, by canonical uuid. Nobody else changes these providers until the
    transaction ends.

    Must be the first statement of a write transaction, so that all that it reads later is as new as the lock.
    """
    rows = connection.execute(_LOCK, {'uuids': list({uuids.canonical(uuid) for uuid in wanted})})
    return {uuids.canonical(row.uuid): Provider(*row) for row in rows}


def lock_one(connection: sa.Connection, uuid: str) -> Provider:
    """As `lock`, for one provider. Raises errors.ProviderNotFound."""
    return _only(lock(connection, [uuid]), uuid)


def bump(connection: sa.Connection, providers: Iterable[Provider], error: errors.PlacementError) -> None:
    """Increment the generations, in one statement, if they all still are as seen.

    Raises engine.retry(error) if not.
    """
    seen = {provider.id: provider.generation for provider in providers}
    if not seen:
        return
    values = {'ids': list(seen), 'seen': list(seen.items()), 'now': engine.utcnow()}
    engine.require_rows(connection.execute(_BUMP, values), len(seen), error)


def _only(found: dict[str, Provider], uuid: str) -> Provider:
    try:
        return found[uuids.canonical(uuid)]
    except KeyError:
        raise errors.ProviderNotFound(uuid=uuid) from None


# --- creation, change, deletion ---

_UNKNOWN_PARENT = 'parent provider UUID does not exist.'


_PARENT, _ROOT = tables.resource_providers.alias('parent'), tables.resource_providers.alias('root')
# What the API shows of providers, with the times of their changes.
DESCRIBE: sa.Select[Any] = (
    sa.select(
        _PROVIDERS.uuid,
        _PROVIDERS.name,
        _PROVIDERS.generation,
        _PARENT.c.uuid.label('parent_uuid'),
        _ROOT.c.uuid.label('root_uuid'),
        _PROVIDERS.created_at,
        _PROVIDERS.updated_at,
    )
    .outerjoin(_PARENT, _PARENT.c.id == _PROVIDERS.parent_provider_id)
    .join(_ROOT, _ROOT.c.id == root_id())
)
_DESCRIBE_ONE = DESCRIBE.where(WANTED)


def show(uuid: str) -> sa.Row[Any]:
    """One provider as the API shows it (see `DESCRIBE`). Raises errors.ProviderNotFound."""
    return read_rows(_DESCRIBE_ONE, uuid)[0]


def create(name: str, uuid: str | None, parent_uuid: str | None) -> sa.Row[Any]:
    """Make a provider, a root or the child of another one; returns it as the API shows it.

    Raises errors.ProviderNotCreated, errors.ProviderExists, errors.TextNotStorable.
    """
    uuid = str(uuidlib.uuid4()) if uuid is None else uuids.canonical(uuid)
    _refuse_unstorable(name)
    if not name:
        raise errors.ProviderNotCreated(name=name, uuid=uuid, reason='name is required')
    if parent_uuid is not None and uuids.canonical(parent_uuid) == uuid:
        reason = 'parent provider UUID cannot be same as UUID. Leave the parent out to make a root.'
        raise errors.ProviderNotCreated(name=name, uuid=uuid, reason=reason)

    def work(connection: sa.Connection) -> sa.Row[Any]:
        parent = None
        if parent_uuid is not None:
            parent = lock(connection, [parent_uuid]).get(uuids.canonical(parent_uuid))
            if parent is None:
                raise errors.ProviderNotCreated(name=name, uuid=uuid, reason=_UNKNOWN_PARENT)
        _insert(connection, name, uuid, parent)
        return _show(connection, uuid)

    return engine.write(work)


def update(
    uuid: str, changes: Mapping[str, str | None], may_move: bool
) -> tuple[sa.Row[Any], datetime.datetime | None]:
    """Give a provider another `name` and, if it is in `changes`, another `parent_provider_uuid` (None: make it a root).

    A child stays where it is unless it `may_move` (from 1.37). Returns the provider as the API shows it, and the time
    of the change before this one.

    Raises errors.ProviderNotFound, errors.ProviderNotUpdated, errors.ProviderNameTaken, errors.TextNotStorable.
    """
    parent_uuid = changes.get('parent_provider_uuid')

    def work(connection: sa.Connection) -> tuple[sa.Row[Any], datetime.datetime | None]:
        locked = lock(connection, [uuid] if parent_uuid is None else [uuid, parent_uuid])
        provider = _only(locked, uuid)
        _refuse_unstorable(changes['name'])
        # What changes nothing is no change: the time of the last one stays.
        values: dict[str, Any] = {} if changes['name'] == provider.name else {'name': changes['name']}
        if 'parent_provider_uuid' in changes:
            parent = None
            if parent_uuid is not None:
                parent = locked.get(uuids.canonical(parent_uuid))
                if parent is None:
                    raise errors.ProviderNotUpdated(uuid=uuid, action='create', reason=_UNKNOWN_PARENT)
            values |= _move(connection, provider, parent, may_move)
        if values:
            try:
                _update(connection, [provider.id], values)
            except db_exc.DBDuplicateEntry as exc:
                raise errors.ProviderNameTaken(name=changes['name']) from exc
        return _show(connection, uuid), provider.updated_at

    return engine.write(work)


def delete(uuid: str) -> None:
    """Remove a provider without children and allocations, with its inventories, traits and aggregate memberships.

    Raises errors.ProviderNotFoundForDelete, errors.ProviderHasChildren, errors.ProviderInUse.
    """

    def work(connection: sa.Connection) -> None:
        provider = lock(connection, [uuid]).get(uuids.canonical(uuid))
        if provider is None:
            raise errors.ProviderNotFoundForDelete(uuid=uuid)
        has_children = sa.exists().where(_PROVIDERS.parent_provider_id == provider.id)
        has_allocations = sa.exists().where(tables.allocations.c.resource_provider_id == provider.id)
        row = connection.execute(
            sa.select(has_children.label('has_children'), has_allocations.label('has_allocations'))
        ).one()
        if row.has_children:
            raise errors.ProviderHasChildren(uuid=uuid)
        if row.has_allocations:
            raise errors.ProviderInUse(uuid=uuid)
        for table in (
            tables.inventories,
            tables.resource_provider_aggregates,
            tables.resource_provider_traits,
        ):
            connection.execute(sa.delete(table).where(table.c.resource_provider_id == provider.id))
        # MariaDB lets no row go that is referred to, be it by itself.
        _update(connection, [provider.id], {'root_provider_id': None})
        try:
            connection.execute(sa.delete(tables.resource_providers).where(_PROVIDERS.id == provider.id))
        except db_exc.DBReferenceError as exc:
            raise errors.ProviderHasChildren(uuid=uuid) from exc

    engine.write(work)


def _show(connection: sa.Connection, uuid: str) -> sa.Row[Any]:
    row = connection.execute(_DESCRIBE_ONE, {'of': uuids.canonical(uuid)}).one_or_none()
    if row is None:
        raise errors.ProviderNotFound(uuid=uuid)
    return row


def _insert(connection: sa.Connection, name: str, uuid: str, parent: Provider | None) -> None:
    now = engine.utcnow()
    values = {'uuid': uuid, 'name': name, 'generation': 0, 'created_at': now}
    if parent is not None:
        values |= {'parent_provider_id': parent.id, 'root_provider_id': parent.root_id}
    try:
        result = connection.execute(sa.insert(tables.resource_providers).values(values))
    except db_exc.DBDuplicateEntry as exc:
        raise _already_exists(connection, name, uuid) from exc
    if parent is None:
        # A root counts as updated at its creation, a child does not: clients see it in Last-Modified (http.md 2.9).
        _update(connection, [result.lastrowid], {'root_provider_id': result.lastrowid})


def _already_exists(connection: sa.Connection, name: str, uuid: str) -> Exception:
    """What to say after an INSERT hit a unique key."""
    if connection.scalar(sa.select(_PROVIDERS.id).where(_PROVIDERS.uuid == uuid)) is not None:
        return errors.ProviderExists(field='uuid', value=uuid)
    error = errors.ProviderExists(field='name', value=name)
    is_there = connection.scalar(sa.select(_PROVIDERS.id).where(_PROVIDERS.name == name)) is not None
    return error if is_there else engine.retry(error)


def _move(
    connection: sa.Connection, provider: Provider, parent: Provider | None, may_move: bool
) -> Mapping[str, int | None]:
    """Check a new parent, give the descendants of the provider their new root; returns what the provider itself needs.

    Raises errors.ProviderNotUpdated.
    """

    def refuse(reason: str) -> errors.ProviderNotUpdated:
        return errors.ProviderNotUpdated(uuid=provider.uuid, action='update', reason=reason)

    parent_id = None if parent is None else parent.id
    if parent_id == provider.parent_id:
        return {}
    if parent is not None and provider.parent_id is not None and not may_move:
        raise refuse('re-parenting a provider is not currently allowed. It is from microversion 1.37 on.')
    descendants = _descendants(connection, provider, parent)
    if parent is not None and parent.id in {provider.id, *descendants}:
        raise refuse('creating loop in the provider tree is not allowed.')
    if parent is None and not may_move:
        raise refuse('un-parenting a provider is not currently allowed. It is from microversion 1.37 on.')
    root = provider.id if parent is None else parent.root_id
    if descendants and root != provider.root_id:
        _update(connection, descendants, {'root_provider_id': root})
    return {'parent_provider_id': parent_id, 'root_provider_id': root}


def _descendants(connection: sa.Connection, provider: Provider, parent: Provider | None) -> list[int]:
    """The ids of all below a provider. Locks its tree and the new parent's: two moves at once could close a loop."""
    roots = {provider.root_id} if parent is None else {provider.root_id, parent.root_id}
    # Those of old databases that have no root may be below it, too.
    in_trees = _PROVIDERS.root_provider_id.in_(roots) | _PROVIDERS.root_provider_id.is_(None)
    statement = (
        dialect.by_index(
            sa.select(_PROVIDERS.id, _PROVIDERS.parent_provider_id).where(in_trees),
            tables.resource_providers,
            'resource_providers_root_provider_id_idx',
        )
        .order_by(_PROVIDERS.id)
        .with_for_update()
    )
    children: dict[int, list[int]] = {}
    for row in connection.execute(statement):
        children.setdefault(row.parent_provider_id, []).append(row.id)
    found: list[int] = []
    ahead = [provider.id]
    while ahead:
        below = children.pop(ahead.pop(), [])
        found += below
        ahead += below
    return found


def _update(connection: sa.Connection, ids: list[int], values: Mapping[str, Any]) -> None:
    connection.execute(
        sa.update(tables.resource_providers).where(_PROVIDERS.id.in_(ids)).values(updated_at=engine.utcnow(), **values)
    )


def _refuse_unstorable(name: str | None) -> None:
    """Raises errors.TextNotStorable for a text that only some databases can hold (decision A26)."""
    if name is not None and '\0' in name:
        raise errors.TextNotStorable()
