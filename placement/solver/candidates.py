"""The solver from one end to the other: a query and a topology become a `Result`.

`find` is pure; `placement.solver.candidates` feeds it from the database.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from placement.solver.plan import NameUnknown, NothingMatches, Plan, bind
from placement.solver.query import CandidateQuery, Group
from placement.solver.sample import sample
from placement.solver.solve import NESTED, Block, Search, Settings, take
from placement.solver.topology import Ints, Topology
from placement.solver.usage import Usage


@dataclass(frozen=True)
class Candidate:
    """One answer in plain words: amounts by provider uuid and class, provider uuids by suffix."""

    allocations: dict[str, dict[str, int]]
    mappings: dict[str, list[str]]


@dataclass(frozen=True, eq=False)
class Result:
    """All that a response is made of.

    `choices` is an array (candidate, slot) of provider rows, one of the plan's slots per column; `summary_rows` are
    the providers to summarise, ascending; their usage is in `usage.used`. `steps` says how much searching was done.
    Iterating gives `Candidate` objects.
    """

    query: CandidateQuery
    topology: Topology
    usage: Usage
    plan: Plan | None
    choices: Block
    summary_rows: Ints
    steps: int

    def __len__(self) -> int:
        return len(self.choices)

    def __iter__(self) -> Iterator[Candidate]:
        uuids = self.topology.uuids
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


def find(query: CandidateQuery, topology: Topology, usage: Usage, settings: Settings, rng: random.Random) -> Result:
    """The candidates of a query. `rng` is used only to randomize.

    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """
    try:
        plan = bind(query, topology)
    except NothingMatches:
        return _nothing(query, topology, usage)
    except NameUnknown as unknown:
        # An earlier group without any option has ended the evaluation before the name was looked up (candidates.md
        # 1.4).
        for group in unknown.earlier:
            if not _has_option(query, group, topology, usage):
                return _nothing(query, topology, usage)
        raise unknown.error from None
    search = Search(query, plan, usage, settings)
    anchors = np.flatnonzero(search.chances.alive)
    if settings.randomize:
        choices = sample(search, query.limit, rng)
    else:
        choices = take(search.blocks(anchors, query.limit), query.limit, len(plan.slots))
    rows = _summary_rows(search, choices)
    usage.require(rows)
    return Result(query, topology, usage, plan, choices, rows, search.steps.count)


def _nothing(query: CandidateQuery, topology: Topology, usage: Usage) -> Result:
    return Result(query, topology, usage, None, np.zeros((0, 0), np.int64), np.zeros(0, np.int64), 0)


def _has_option(query: CandidateQuery, group: Group, topology: Topology, usage: Usage) -> bool:
    """Whether a group, taken alone, can be served somewhere."""
    alone = replace(query, groups=(group,), isolate=False, same_subtrees=())
    try:
        search = Search(alone, bind(alone, topology), usage, Settings())
    except NothingMatches:
        return False
    return next(search.blocks(np.flatnonzero(search.chances.alive), 1), None) is not None


def _summary_rows(search: Search, choices: Block) -> Ints:
    """The providers to summarise (candidates.md 3.1), ascending."""
    topology = search.plan.topology
    used = _allocated(search, choices)
    is_kept = np.zeros(len(topology.tree_roots), np.bool_)
    is_kept[topology.tree_numbers[used]] = True
    kept = np.flatnonzero(is_kept[topology.tree_numbers])
    if search.query.version >= NESTED:
        return kept
    # Before 1.29: those that any candidate uses, also one that `limit` has cut off, as far as they are of these trees.
    if search.query.limit is None:
        return used
    if search.settings.cap is not None:
        every = take(search.blocks(np.flatnonzero(search.chances.alive), None), None, choices.shape[1])
        return np.intersect1d(_allocated(search, every), kept)
    others = [row for row in np.setdiff1d(kept, used).tolist() if search.is_used(row)]
    return np.union1d(used, np.array(others, np.int64))


def _allocated(search: Search, choices: Block) -> Ints:
    """The providers that the candidates allocate from, ascending."""
    asking = [index for index, slot in enumerate(search.plan.slots) if slot.demands]
    return np.unique(choices[:, asking])
