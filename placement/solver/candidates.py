"""The solver from one end to the other: a query and a topology become a `Result`.

`find` is pure but for what it asks of its source; `placement.solver.candidates` gives it the database's.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from placement.solver.members import Cloud
from placement.solver.plan import NameUnknown, NothingMatches, Plan, bind
from placement.solver.query import CandidateQuery, Group
from placement.solver.sample import sample
from placement.solver.solve import NESTED, Block, Check, Search, Settings, take
from placement.solver.topology import Ints, Topology
from placement.solver.usage import Usage

SUMMARY_TRAITS = (1, 17)


class Source(Protocol):
    """Where what is read anew for each query comes from."""

    def cloud(self, query: CandidateQuery, topology: Topology) -> Cloud:
        """The memberships that a query needs, on the topology."""

    def used(self, provider_ids: Sequence[int] | None, class_ids: Sequence[int] | None) -> Ints:
        """What is used of these providers and classes (see `usage.Fetch`)."""

    def traits(self, topology: Topology, rows: Ints) -> Mapping[int, Iterable[str]]:
        """By provider id, the names of the traits of these provider rows, those without any left out or empty."""


@dataclass(frozen=True)
class Candidate:
    """One answer in plain words: amounts by provider uuid and class, provider uuids by suffix."""

    allocations: dict[str, dict[str, int]]
    mappings: dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Result:
    """All that a response is made of.

    `choices` is an array (candidate, slot) of provider rows, one of the plan's slots per column; `summary_rows` are
    the providers to summarise, ascending; their usage is in `usage.used`, their traits in `traits` (by provider id).
    `steps` says how much searching was done. Iterating gives `Candidate` objects.
    """

    query: CandidateQuery
    topology: Topology
    usage: Usage
    plan: Plan | None
    choices: Block
    summary_rows: Ints
    traits: Mapping[int, Iterable[str]]
    steps: int

    def __len__(self) -> int:
        return len(self.choices)

    def __iter__(self) -> Iterator[Candidate]:
        uuids = self.topology.tree.uuids
        slots = self.plan.slots if self.plan is not None else ()
        for choice in self.choices.tolist():
            allocations: dict[str, dict[str, int]] = {}
            mappings: dict[str, list[str]] = {}
            for slot, row in zip(slots, choice, strict=True):
                uuid = uuids[row]
                providers = mappings.setdefault(slot.suffix, [])
                if uuid not in providers:
                    providers.append(uuid)
                for resource_class, amount in slot.demands:
                    amounts = allocations.setdefault(uuid, {})
                    amounts[resource_class] = amounts.get(resource_class, 0) + amount
            yield Candidate(allocations, mappings)


def find(
    query: CandidateQuery,
    topology: Topology,
    source: Source,
    settings: Settings,
    rng: random.Random,
    check: Check | None = None,
) -> Result:
    """The candidates of a query. `rng` is used only to randomize. `check`, for queries that do not, is called before
    conclusions are drawn from the inventories (see `solve.Check`).

    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """
    usage = Usage(topology, source.used)
    cloud = source.cloud(query, topology)
    try:
        plan = bind(query, cloud)
    except NothingMatches:
        return _nothing(query, topology, usage)
    except NameUnknown as unknown:
        # An earlier group without any option has ended the evaluation before the name was looked up
        # (candidates.md 1.4).
        for group in unknown.earlier:
            if not _has_option(query, group, cloud, usage, check):
                return _nothing(query, topology, usage)
        raise unknown.error from None
    search = Search(query, plan, usage, settings, check)
    if settings.randomize:
        choices = sample(search, query.limit, rng)
    else:
        choices = take(search.blocks(search.anchors(), query.limit), query.limit, len(plan.slots))
    if not len(choices):
        return _nothing(query, topology, usage, search.steps.count)
    rows = _summary_rows(search, choices)
    usage.require(rows)
    traits = source.traits(topology, rows) if query.version >= SUMMARY_TRAITS else {}
    return Result(query, topology, usage, plan, choices, rows, traits, search.steps.count)


def _nothing(query: CandidateQuery, topology: Topology, usage: Usage, steps: int = 0) -> Result:
    return Result(query, topology, usage, None, np.zeros((0, 0), np.int64), np.zeros(0, np.int64), {}, steps)


def _has_option(query: CandidateQuery, group: Group, cloud: Cloud, usage: Usage, check: Check | None) -> bool:
    """Whether a group, taken alone, can be served somewhere."""
    alone = replace(query, groups=(group,), isolate=False, same_subtrees=())
    try:
        search = Search(alone, bind(alone, cloud), usage, Settings(), check)
    except NothingMatches:
        return False
    return next(search.blocks(search.anchors(), 1), None) is not None


def _summary_rows(search: Search, choices: Block) -> Ints:
    """The providers to summarise (candidates.md 3.1), ascending."""
    tree = search.plan.cloud.tree
    used = _allocated(search, choices)
    is_kept = np.zeros(len(tree.tree_roots), np.bool_)
    is_kept[tree.tree_numbers[used]] = True
    kept = np.flatnonzero(is_kept[tree.tree_numbers])
    if search.query.version >= NESTED:
        return kept
    # Before 1.29: those that any candidate uses, also one that `limit` has cut off, as far as they are of these trees.
    if search.query.limit is None:
        return used
    if search.settings.cap is not None:
        every = take(search.blocks(search.anchors(), None), None, choices.shape[1])
        return np.intersect1d(_allocated(search, every), kept)
    others = [row for row in np.setdiff1d(kept, used).tolist() if search.is_used(row)]
    return np.union1d(used, np.array(others, np.int64))


def _allocated(search: Search, choices: Block) -> Ints:
    """The providers that the candidates allocate from, ascending."""
    asking = [index for index, slot in enumerate(search.plan.slots) if slot.demands]
    return np.unique(choices[:, asking])
