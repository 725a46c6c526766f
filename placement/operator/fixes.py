"""Mending what an audit found, each finding in a transaction of its own. Called by `placement-manage audit --fix`.

A fix checks again, inside its transaction, what the audit saw: what somebody uses by now stays.
"""

from collections.abc import Callable, Mapping

import sqlalchemy as sa

from placement import errors
from placement.db import engine, tables
from placement.objects import allocation, resource_class, trait
from placement.objects.consumer import Claim

_CONSUMERS, _ALLOCATIONS = tables.consumers.c, tables.allocations.c
_ATTEMPTS = 10

# Takes the first column of a finding; returns whether it was mended (False: it is in use, or gone, by now).
Fix = Callable[[str], bool]


def _deletion(delete: Callable[[str], None], *refusals: type[errors.PlacementError]) -> Fix:
    """The fix that deletes by name, unless the service refuses it for one of these reasons."""

    def fix(name: str) -> bool:
        try:
            delete(name)
        except refusals:
            return False
        return True

    return fix


def _delete_idle_consumer(uuid: str) -> bool:
    """Delete a consumer without allocations. Its generation guards it: every claim advances that."""

    def work(connection: sa.Connection) -> bool:
        generation = connection.scalar(sa.select(_CONSUMERS.generation).where(_CONSUMERS.uuid == uuid))
        holds = connection.scalar(sa.select(sa.exists().where(_ALLOCATIONS.consumer_id == uuid)))
        if generation is None or holds:
            return False
        deleted = connection.execute(
            sa.delete(tables.consumers).where(_CONSUMERS.uuid == uuid, _CONSUMERS.generation == generation)
        )
        return deleted.rowcount == 1

    return engine.write(work)


def _release(uuid: str) -> bool:
    """Take everything from a consumer, as PUT /allocations with no allocations and the generation of now does."""
    held = allocation.of_consumer(uuid)
    if not held:
        return False
    seen = held[0]
    claim = Claim(uuid, {}, seen.project, seen.user, None, seen.consumer_generation, checked=True)
    try:
        allocation.replace([claim], attempts=_ATTEMPTS, unknown_class=errors.AllocationClassUnknown)
    except errors.ConsumerGenerationConflict:
        return False
    return True


# By the name of the check.
FIXES: Mapping[str, Fix] = {
    'gone-servers': _release,
    'idle-consumers': _delete_idle_consumer,
    'unused-traits': _deletion(trait.delete, errors.TraitInUse, errors.TraitNotFound),
    'unused-classes': _deletion(resource_class.delete, errors.ResourceClassInUse, errors.ResourceClassNotFound),
}
