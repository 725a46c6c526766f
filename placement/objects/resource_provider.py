"""Resource providers: rows, locks and generations (contract: service.md 2.4, 2.5).

Every write of the API that concerns providers builds on this: `lock` them first, `bump` them last. Uuids are looked up in
their canonical form, whatever their spelling in the request.
"""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from placement import errors, uuids
from placement.db import engine, tables

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


def find(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, Provider]:
    """Those of the wanted uuids that exist, by canonical uuid."""
    return _by_uuid(connection, _select(wanted))


def lock(connection: sa.Connection, wanted: Iterable[str]) -> dict[str, Provider]:
    """As `find`, and nobody else changes these providers until the transaction ends.

    Must be the first statement of a write transaction, so that all that it reads later is as new as the lock.
    """
    return _by_uuid(connection, _select(wanted).order_by(_PROVIDERS.id).with_for_update())


def get(connection: sa.Connection, uuid: str) -> Provider:
    """One provider. Raises errors.ProviderNotFound."""
    return _only(find(connection, [uuid]), uuid)


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
    statement = (
        sa.update(tables.resource_providers)
        # The first condition finds the rows, also where a database cannot look pairs up in an index.
        .where(_PROVIDERS.id.in_(seen), sa.tuple_(_PROVIDERS.id, _PROVIDERS.generation).in_(seen.items()))
        .values(generation=_PROVIDERS.generation + 1, updated_at=engine.utcnow())
    )
    engine.require_rows(connection.execute(statement), len(seen), error)


def _select(wanted: Iterable[str]) -> sa.Select[Any]:
    return sa.select(*_COLUMNS).where(_PROVIDERS.uuid.in_({uuids.canonical(uuid) for uuid in wanted}))


def _by_uuid(connection: sa.Connection, statement: sa.Select[Any]) -> dict[str, Provider]:
    return {uuids.canonical(row.uuid): Provider(*row) for row in connection.execute(statement)}


def _only(found: dict[str, Provider], uuid: str) -> Provider:
    try:
        return found[uuids.canonical(uuid)]
    except KeyError:
        raise errors.ProviderNotFound(uuid=uuid) from None
