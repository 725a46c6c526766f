"""Clouds for the tests of the pure solver: no database. Built in a few lines, asked with a query string.

cloud = Cloud()
host = cloud.add(VCPU=8)
cloud.add(host, CUSTOM_VF=8)                # a child; traits=, aggregates=, used={class: amount} as needed
result = cloud.ask('resources=VCPU:1&resources1=CUSTOM_VF:1')
"""

import random
import uuid
from collections.abc import Sequence
from urllib.parse import parse_qsl

from placement import solver
from placement.solver.candidates import find
from placement.solver.topology import Inventory, Provider, Snapshot, Topology, build
from placement.solver.usage import Usage

LATEST = (1, 39)


class Cloud:
    """Providers are named by their ids, 1, 2, …; their uuids are in the same order."""

    def __init__(self) -> None:
        self.providers: dict[int, Provider] = {}
        self.inventories: dict[int, tuple[Inventory, ...]] = {}
        self.traits: dict[int, tuple[int, ...]] = {}
        self.aggregates: dict[int, tuple[int, ...]] = {}
        self.names: dict[str, dict[str, int]] = {'class': {}, 'trait': {}, 'aggregate': {}}
        self.used: dict[tuple[int, int], int] = {}
        # Every list of providers whose usage was read.
        self.reads: list[Sequence[int]] = []
        self._topology: Topology | None = None

    def add(
        self,
        parent: int | None = None,
        *,
        traits: Sequence[str] = (),
        aggregates: Sequence[str] = (),
        used: dict[str, int] | None = None,
        max_unit: int = 2**31 - 1,
        **totals: int,
    ) -> int:
        """A provider with these inventories; its id."""
        number = len(self.providers) + 1
        self.providers[number] = Provider(number, str(uuid.UUID(int=number)), parent)
        self.inventories[number] = tuple(
            Inventory(self._id('class', name), total, 0, 1, max_unit, 1, 1.0) for name, total in totals.items()
        )
        self.traits[number] = tuple(self._id('trait', name) for name in traits)
        self.aggregates[number] = tuple(self._id('aggregate', name) for name in aggregates)
        for name, amount in (used or {}).items():
            self.used[number, self._id('class', name)] = amount
        self._topology = None
        return number

    def _id(self, kind: str, name: str) -> int:
        return self.names[kind].setdefault(name, len(self.names[kind]) + 1)

    @property
    def topology(self) -> Topology:
        if self._topology is None:
            named = {kind: {number: name for name, number in ids.items()} for kind, ids in self.names.items()}
            self._topology = build(
                Snapshot(
                    self.providers,
                    self.inventories,
                    self.traits,
                    self.aggregates,
                    named['class'],
                    named['trait'],
                    named['aggregate'],
                )
            )
        return self._topology

    def ask(
        self,
        query: str,
        settings: solver.Settings | None = None,
        version: tuple[int, int] = LATEST,
        seed: int = 0,
    ) -> solver.Result:
        """The result of a query string."""
        self.reads = []
        usage = Usage(self.topology, self._fetch)
        parsed = solver.query.parse(parse_qsl(query, keep_blank_values=True), version)
        return find(parsed, self.topology, usage, settings or solver.Settings(), random.Random(seed))

    def _fetch(self, provider_ids: Sequence[int]) -> list[tuple[int, int, int]]:
        self.reads.append(provider_ids)
        wanted = set(provider_ids)
        return [(*key, amount) for key, amount in self.used.items() if key[0] in wanted]


def mapped(result: solver.Result, *suffixes: str) -> list[tuple[int, ...]]:
    """The ids of the providers of single-provider groups, in the order of the result."""
    return [tuple(uuid.UUID(candidate.mappings[suffix][0]).int for suffix in suffixes) for candidate in result]
