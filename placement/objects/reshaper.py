"""Reshaping: inventories and the allocations from them move between providers in one step (contract: http.md 6.6)."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from placement import errors
from placement.db import engine
from placement.objects import allocation, inventory, resource_provider
from placement.objects.consumer import Claim, Consumers
from placement.objects.inventory import Inventory
from placement.objects.resource_provider import Provider

IN_USE_PREFIX = 'update conflict: '


@dataclass(frozen=True)
class NewInventory:
    """The inventory that a provider shall have in the end, by class name, and the generation at which the client saw
    it.
    """

    generation: int
    inventories: Mapping[str, Inventory]


def reshape(new: Mapping[str, NewInventory], claims: Sequence[Claim]) -> None:
    """Give providers (by canonical uuid) new inventories and consumers new allocations; all of it or nothing.

    The allocations are checked against what a provider had together with what it gets, since they may leave the one for
    the other.

    Raises errors.ReshapeProviderNotFound, errors.ReshapeGenerationConflict, errors.ReshapeClassUnknown,
    errors.InventoryInUse, errors.ReshapeRace, and what `allocation.check` and `allocation.apply` raise.
    """

    def work(connection: sa.Connection) -> None:
        providers = resource_provider.lock(connection, allocation.named(claims) | new.keys())
        for uuid, wanted in new.items():
            _check(uuid, providers.get(uuid), wanted)
        consumers = allocation.check(connection, claims, providers) if claims else Consumers()

        def set_inventories(uuids: Iterable[str], keep_others: bool) -> None:
            inventory.replace(
                connection,
                {providers[uuid]: new[uuid].inventories for uuid in uuids},
                unknown=_unknown_class,
                in_use_prefix=IN_USE_PREFIX,
                keep_others=keep_others,
            )
            resource_provider.bump(connection, [providers[uuid] for uuid in uuids], errors.ReshapeRace())

        # Each step increments generations by itself: clients see the sum (http.md 8).
        growing = [uuid for uuid, wanted in new.items() if wanted.inventories]
        if growing:
            set_inventories(growing, keep_others=True)
            providers = _advanced(providers, {providers[uuid].id for uuid in growing})
        if claims:
            changed = allocation.apply(
                connection,
                claims,
                consumers,
                providers,
                unknown_class=errors.ReshapeClassUnknown,
                race=errors.ReshapeRace(),
            )
            providers = _advanced(providers, changed)
        set_inventories(new, keep_others=False)

    engine.write(work, exhausted=errors.ReshapeRace)


def _check(uuid: str, provider: Provider | None, wanted: NewInventory) -> None:
    if provider is None:
        raise errors.ReshapeProviderNotFound(uuid=uuid)
    if provider.generation != wanted.generation:
        raise errors.ReshapeGenerationConflict(uuid=uuid, actual=provider.generation, given=wanted.generation)


def _advanced(providers: Mapping[str, Provider], bumped: Collection[int]) -> dict[str, Provider]:
    """The providers as they are after those with the ids `bumped` have been."""
    return {
        uuid: dataclasses.replace(provider, generation=provider.generation + 1) if provider.id in bumped else provider
        for uuid, provider in providers.items()
    }


def _unknown_class(name: str) -> errors.ReshapeClassUnknown:
    return errors.ReshapeClassUnknown(resource_class=name)
