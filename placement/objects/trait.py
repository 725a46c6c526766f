"""Traits, and which of them a provider has (contract: http.md 5.11, 5.16, 7; service.md 2.1).

Called by `handlers/traits.py` and `handlers/provider_traits.py`; `sync_standard` by the start of the service.
"""

import datetime
import logging
from collections.abc import Collection, Sequence
from typing import Any

import os_traits
import sqlalchemy as sa

from placement import errors
from placement.db import dialect, engine, tables
from placement.objects import by_name, links, resource_provider
from placement.objects.resource_provider import Provider

LOG = logging.getLogger(__name__)

CUSTOM_PREFIX = os_traits.CUSTOM_NAMESPACE

_TRAITS = tables.traits.c
_LINKS = tables.resource_provider_traits.c
_PROVIDERS = tables.resource_providers.c

Rows = Sequence[sa.Row[Any]]

# PERF: hundreds of rows with times take ten times as long on their way through PyMySQL.
_ALL_IN_ONE_ROW: sa.Select[Any] = sa.select(
    dialect.lines(_TRAITS.name).label('names'),
    sa.func.max(sa.func.coalesce(_TRAITS.updated_at, _TRAITS.created_at)).label('changed_at'),
)
_OF_PROVIDER = (
    _ALL_IN_ONE_ROW.add_columns(_PROVIDERS.generation)
    .select_from(tables.resource_providers)
    .outerjoin(tables.resource_provider_traits, _LINKS.resource_provider_id == _PROVIDERS.id)
    .outerjoin(tables.traits, _TRAITS.id == _LINKS.trait_id)
    .where(resource_provider.WANTED)
    .group_by(_PROVIDERS.id, _PROVIDERS.generation)
)


def sync_standard() -> None:
    """Insert the standard traits that are missing. A database that has them all need not be writable."""

    def insert_missing(connection: sa.Connection) -> None:
        now = engine.utcnow()
        rows = [{'name': name, 'created_at': now} for name in _missing_standard(connection)]
        if rows:
            connection.execute(sa.insert(tables.traits), rows)
            LOG.debug('Synced traits from os_traits')

    if engine.read(_missing_standard):
        engine.write(insert_missing)


def _missing_standard(connection: sa.Connection) -> list[str]:
    """The names that the library has and the database has not."""
    return sorted(set(os_traits.get_traits()) - set(connection.scalars(sa.select(_TRAITS.name))))


def list_all(
    names: Collection[str] | None = None, prefix: str | None = None, associated: bool | None = None
) -> tuple[list[str], datetime.datetime | None]:
    """The names of traits, sorted, and the time of the latest change of one (None if none is found).

    A filter that is None lets all pass: `names` lists them, `prefix` is what they start with (% and _ are wildcards in
    it), `associated` says whether some provider has them or none.
    """
    statement = _ALL_IN_ONE_ROW
    if names is not None:
        statement = statement.where(_TRAITS.name.in_(names))
    if prefix is not None:
        statement = statement.where(_TRAITS.name.like(f'{prefix}%'))
    if associated is not None:
        is_associated = sa.exists().where(_LINKS.trait_id == _TRAITS.id)
        statement = statement.where(is_associated if associated else ~is_associated)

    (row,) = engine.read_rows(statement)
    return _names(row), row.changed_at


def _names(row: sa.Row[Any]) -> list[str]:
    return sorted((row.names or '').split())


def get(name: str) -> sa.Row[Any]:
    """The row of a trait. Raises errors.TraitNotFound."""
    row = by_name.read(tables.traits, name)
    if row is None:
        raise errors.TraitNotFound(name=name)
    return row


def ensure(name: str) -> tuple[sa.Row[Any], bool]:
    """Make a custom trait unless it is there; returns its row, and whether it was made."""

    def work(connection: sa.Connection) -> tuple[sa.Row[Any], bool]:
        row = by_name.find(connection, tables.traits, name)
        if row is not None:
            return row, False
        connection.execute(sa.insert(tables.traits).values(name=name, created_at=engine.utcnow()))
        return _get(connection, name), True

    return engine.write(work, exhausted=errors.NameRace)


def delete(name: str) -> None:
    """Remove a custom trait that no provider has.

    Raises errors.TraitNotFound, errors.TraitIsStandard, errors.TraitInUse.
    """

    def work(connection: sa.Connection) -> None:
        row = _get(connection, name, lock=True)
        if not name.startswith(CUSTOM_PREFIX):
            raise errors.TraitIsStandard(name=name)
        if connection.scalar(sa.select(sa.exists().where(_LINKS.trait_id == row.id))):
            raise errors.TraitInUse(name=name)
        connection.execute(sa.delete(tables.traits).where(_TRAITS.id == row.id))

    engine.write(work, exhausted=errors.NameRace)


def list_of_provider(uuid: str) -> tuple[int, list[str], datetime.datetime | None]:
    """The generation of a provider, the sorted names of its traits, and the time of the latest change of one (None
    without traits). Raises errors.ProviderNotFound.
    """
    (row,) = resource_provider.read_rows(_OF_PROVIDER, uuid)
    return row.generation, _names(row), row.changed_at


def replace_of_provider(uuid: str, generation: int, names: Collection[str]) -> tuple[int, Rows]:
    """Give a provider exactly these traits; returns its generation and the rows of its traits.

    Raises errors.ProviderNotFound, errors.ProviderGenerationChanged, errors.ProviderTraitUnknown.
    """

    def work(connection: sa.Connection) -> tuple[int, Rows]:
        provider = resource_provider.lock_one(connection, uuid)
        if provider.generation != generation:
            raise errors.ProviderGenerationChanged()
        rows = _all_of(connection, names)
        return _set(connection, provider, {row.id for row in rows}), rows

    return engine.write(work)


def delete_of_provider(uuid: str) -> None:
    """Take all its traits from a provider. Raises errors.ProviderNotFound."""
    engine.write(lambda connection: _set(connection, resource_provider.lock_one(connection, uuid), set()))


def _all_of(connection: sa.Connection, names: Collection[str]) -> Rows:
    """The rows of traits, which nobody deletes until the transaction ends. Raises errors.ProviderTraitUnknown."""
    if not names:
        return []
    statement = sa.select(tables.traits).where(_TRAITS.name.in_(set(names))).with_for_update(read=True)
    rows = connection.execute(statement).all()
    found = {row.name for row in rows}
    unknown = dict.fromkeys(name for name in names if name not in found)
    if unknown:
        raise errors.ProviderTraitUnknown(names=', '.join(unknown))
    return rows


def _set(connection: sa.Connection, provider: Provider, wanted: set[int]) -> int:
    """Give a locked provider the traits of these ids; its generation grows only if that changes them. Returns it."""
    if not links.replace(connection, tables.resource_provider_traits, _LINKS.trait_id, provider, wanted):
        return provider.generation
    resource_provider.bump(connection, [provider], errors.ProviderChanged())
    return provider.generation + 1


def _get(connection: sa.Connection, name: str, lock: bool = False) -> sa.Row[Any]:
    row = by_name.find(connection, tables.traits, name, lock)
    if row is None:
        raise errors.TraitNotFound(name=name)
    return row
