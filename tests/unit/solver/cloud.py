"""Clouds for the tests of the pure solver: no database. Built in a few lines, asked with a query string.

cloud = Cloud()
host = cloud.add(VCPU=8)
cloud.add(host, CUSTOM_VF=8)                # a child; traits=, aggregates=, used={class: amount} as needed
result = cloud.ask('resources=VCPU:1&resources1=CUSTOM_VF:1')
"""

import random
import uuid
from collections.abc import Mapping, Sequence
from urllib.parse import parse_qsl

import numpy as np

from placement import solver
from placement.solver import members
from placement.solver.candidates import find
from placement.solver.topology import INVENTORY_COLUMNS, Ints, Provider, Topology, build_stock, build_tree

LATEST = (1, 39)


class Cloud:
    """Providers are named by their ids, 1, 2, …; their uuids are in the same order."""

    def __init__(self) -> None:
        self.providers: dict[int, Provider] = {}
        self.inventories: list[tuple[float, ...]] = []
        self.members: dict[str, dict[str, list[int]]] = {'trait': {}, 'aggregate': {}}
        self.class_ids: dict[str, int] = {}
        self.amounts: dict[tuple[int, int], int] = {}
        # Every list of providers whose usage was read, and of which classes (None for all).
        self.reads: list[Sequence[int]] = []
        self.read_classes: list[list[str] | None] = []
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
        self.inventories += [
            (number, self._class_id(name), total, 0, 1, max_unit, 1, 1.0) for name, total in totals.items()
        ]
        for kind, names in (('trait', traits), ('aggregate', aggregates)):
            for name in names:
                self.members[kind].setdefault(name, []).append(number)
        for name, amount in (used or {}).items():
            self.amounts[number, self._class_id(name)] = amount
        self._topology = None
        return number

    def _class_id(self, name: str) -> int:
        return self.class_ids.setdefault(name, len(self.class_ids))

    @property
    def topology(self) -> Topology:
        if self._topology is None:
            tree = build_tree(self.providers)
            records = np.array(self.inventories, np.float64).reshape(-1, INVENTORY_COLUMNS)
            names = {number: name for name, number in self.class_ids.items()}
            self._topology = Topology(tree, build_stock(tree, records, names))
        return self._topology

    def ask(
        self,
        query: str,
        settings: solver.Settings | None = None,
        version: tuple[int, int] = LATEST,
        seed: int = 0,
    ) -> solver.Result:
        """The result of a query string."""
        self.reads, self.read_classes = [], []
        parsed = solver.query.parse(parse_qsl(query, keep_blank_values=True), version)
        return find(parsed, self.topology, self, settings or solver.Settings(), random.Random(seed))

    # What `find` asks of its source.

    def cloud(self, _query: solver.CandidateQuery, topology: Topology) -> members.Cloud:
        traits, aggregates = (
            {name: np.array(ids, np.int64) for name, ids in self.members[kind].items()}
            for kind in ('trait', 'aggregate')
        )
        return members.make_cloud(topology, traits, aggregates)

    def used(self, provider_ids: Sequence[int] | None, class_ids: Sequence[int] | None) -> Ints:
        provider_ids = provider_ids if provider_ids is not None else list(self.providers)
        self.reads.append(provider_ids)
        names = {number: name for name, number in self.class_ids.items()}
        self.read_classes.append(None if class_ids is None else [names[class_id] for class_id in class_ids])
        rows = [
            (*key, amount)
            for key, amount in self.amounts.items()
            if key[0] in provider_ids and (class_ids is None or key[1] in class_ids)
        ]
        return np.array(rows, np.int64).reshape(-1, 3)

    def traits(self, topology: Topology, rows: Ints) -> Mapping[int, tuple[str, ...]]:
        found: dict[int, tuple[str, ...]] = {}
        provider_ids = topology.tree.ids[rows].tolist()
        for name, ids in self.members['trait'].items():
            for number in set(ids) & set(provider_ids):
                found[number] = (*found.get(number, ()), name)
        return found


def mapped(result: solver.Result, *suffixes: str) -> list[tuple[int, ...]]:
    """The ids of the providers of single-provider groups, in the order of the result."""
    return [tuple(uuid.UUID(candidate.mappings[suffix][0]).int for suffix in suffixes) for candidate in result]
