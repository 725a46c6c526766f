"""The aggregates that a provider is a member of (contract: http.md 5.9; service.md 2.2).

Called by `handlers/aggregates.py`. The uuids of aggregates are opaque texts, kept and returned as they were sent.
"""

from collections.abc import Sequence

import sqlalchemy as sa

from placement import errors
from placement.db import engine, tables, upsert
from placement.objects import links, resource_provider

_AGGREGATES = tables.placement_aggregates.c
_LINKS = tables.resource_provider_aggregates.c
_PROVIDERS = tables.resource_providers.c


_OF_PROVIDER = (
    sa.select(_PROVIDERS.generation, _AGGREGATES.uuid)
    .select_from(tables.resource_providers)
    .outerjoin(tables.resource_provider_aggregates, _LINKS.resource_provider_id == _PROVIDERS.id)
    .outerjoin(tables.placement_aggregates, _AGGREGATES.id == _LINKS.aggregate_id)
    .where(resource_provider.WANTED)
    .order_by(_AGGREGATES.uuid)
)


def list_of_provider(uuid: str) -> tuple[int, list[str]]:
    """The generation of a provider, and the uuids of its aggregates, sorted. Raises errors.ProviderNotFound."""
    rows = resource_provider.read_rows(_OF_PROVIDER, uuid)
    return rows[0].generation, [row.uuid for row in rows if row.uuid is not None]


def replace_of_provider(uuid: str, aggregates: Sequence[str], generation: int | None) -> int:
    """Make a provider a member of exactly these aggregates, which come into being by that; returns its generation.

    A `generation` of None is neither checked nor incremented (before 1.19).

    Raises errors.ProviderNotFound, errors.ProviderGenerationChanged.
    """

    def work(connection: sa.Connection) -> int:
        provider = resource_provider.lock_one(connection, uuid)
        if generation is not None and provider.generation != generation:
            raise errors.ProviderGenerationChanged()
        wanted = _ids(connection, aggregates)
        links.replace(connection, tables.resource_provider_aggregates, _LINKS.aggregate_id, provider, wanted)
        if generation is None:
            return provider.generation
        resource_provider.bump(connection, [provider], errors.ProviderChanged())
        return provider.generation + 1

    return engine.write(work)


def _ids(connection: sa.Connection, aggregates: Sequence[str]) -> set[int]:
    """The ids of aggregates, after those that were missing have been made."""
    if not aggregates:
        return set()
    statement = sa.select(_AGGREGATES.id, _AGGREGATES.uuid).where(_AGGREGATES.uuid.in_(aggregates))
    found = {row.uuid: row.id for row in connection.execute(statement)}
    # In one order for everybody, so that those who make the same aggregates queue.
    missing = sorted(set(aggregates) - found.keys())
    if missing:
        now = engine.utcnow()
        rows = [{'uuid': uuid, 'created_at': now} for uuid in missing]
        upsert.insert_absent(connection, tables.placement_aggregates, rows)
        found = {row.uuid: row.id for row in connection.execute(statement.with_for_update(read=True))}
    return set(found.values())
