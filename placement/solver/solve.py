"""Step 3 of the solver: what a candidate is, and in which order candidates come. Pure: no database, no HTTP, no
globals.

A candidate is a choice of one provider for every slot of the plan (see `plan`), all of them in reach of one anchor,
that observes the rules which concern several slots (see `search`). Anchors come in the order of the uuids of their
root providers; at one anchor the order is that of `search`. The same data and the same query give the same order, in
every process.

The search is lazy: it goes on only while somebody takes candidates, and reads usage for the next anchors only, in
growing batches. Anchors with just one possible provider (compute hosts without nested or shared resources) never
leave numpy. Contract: candidates.md 2.5 to 2.7, 3.1, 4.
"""

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from placement.solver.anchors import View
from placement.solver.plan import Chances, Plan
from placement.solver.query import CandidateQuery
from placement.solver.search import Choice, Steps, choices
from placement.solver.topology import HUGE, Bools, Floats, Ints
from placement.solver.usage import Usage

NESTED = (1, 29)
# The smallest number of anchors whose usage is read at once, and how the number grows.
FIRST_BATCH, GROWTH = 32, 4
# From so many providers on, those that could not serve the scarcest of the classes are ruled out first. A class counts
# as scarce if more than this part of what a usual provider has, used or not, is asked.
MANY, SCARCE = 256, 1 / 3
# So many blocks are kept before they are packed into one.
PIECES = 10_000

# Candidates come as arrays (candidate, slot) of provider rows.
Block = Ints
# Called with a row number before anything is concluded from the inventories of the provider rows below it. It raises an
# exception, which its maker catches, if these inventories are out of date. Where there are sharing providers, which may
# be of use to any tree, it is called for all rows.
Check = Callable[[int], None]
# What one step over the anchors gives: finished candidates of a run of flat anchors, or the search at one anchor.
Part = Block | Iterator[Choice]


@dataclass(frozen=True)
class Settings:
    """The options of the service that bear on candidates (contract: candidates.md 4).

    `maximum`: stop after so many, negative for never. `breadth_first`: one candidate of each anchor in turn.
    `randomize`: a random choice, in random order.
    """

    maximum: int = -1
    breadth_first: bool = False
    randomize: bool = False

    @property
    def cap(self) -> int | None:
        """The number of candidates to stop after; 0 acts like 1."""
        return None if self.maximum < 0 else max(self.maximum, 1)


class Search:
    """The candidates of one plan. `steps` counts how much searching was done; `chances` is as of the usage read so
    far."""

    def __init__(
        self, query: CandidateQuery, plan: Plan, usage: Usage, settings: Settings, check: Check | None = None
    ) -> None:
        self.query = query
        self.plan = plan
        self.usage = usage
        self.settings = settings
        self._check = check
        self.steps = Steps()
        self.chances = Chances(plan, usage.used)
        # Before 1.29 a candidate uses one provider of a tree at most (candidates.md 2.6).
        self._one_per_tree = query.version < NESTED

    def anchors(self) -> Ints:
        """The tree numbers that may anchor a candidate, as far as is known, in their order."""
        return np.flatnonzero(self.chances.alive)

    def blocks(self, anchors: Ints, expected: int | None) -> Iterator[Block]:
        """The candidates at these anchors (tree numbers), each once, capped, in the order of generation.

        `expected` says how many are likely to be taken, None for all; it sizes the batches of usage.
        """
        parts = self._parts(anchors, expected)
        blocks = _breadth_first(parts) if self.settings.breadth_first else _depth_first(parts)
        blocks = self._once(blocks)
        if self.settings.cap is not None:
            # The cap counts candidates before the rule of old versions drops some.
            blocks = _first(blocks, self.settings.cap)
        return self._without_second_providers(blocks) if self._one_per_tree else blocks

    def refresh(self, anchors: Ints) -> View:
        """Read the usage of all that could serve at these anchors, and look again."""
        rows = self._concerned(anchors)
        if len(rows) >= MANY and (scarce := self._scarce()):
            # PERF: where nothing fits, this is all that is read (10,000 hosts of 600,000 allocations: 42 ms, not 75).
            self.usage.require(rows, scarce)
            self.chances = Chances(self.plan, self.usage.used)
            rows = self._concerned(anchors[self.chances.alive[anchors]])
        self.usage.require(rows)
        self.chances = Chances(self.plan, self.usage.used)
        return View(self.plan, self.chances, self.steps)

    def _concerned(self, anchors: Ints) -> Ints:
        """The provider rows that could serve at these anchors as far as is known."""
        tree, reach = self.plan.cloud.tree, self.plan.cloud.reach
        is_wanted = np.zeros(len(tree.tree_roots), np.bool_)
        is_wanted[anchors] = True
        is_reached = np.zeros(len(reach.lists), np.bool_)
        is_reached[reach.numbers[anchors]] = True
        reached = reach.rows[is_reached[reach.owners]]
        near, far = self._asked(self.chances.near), self._asked(self.chances.far)
        rows = np.flatnonzero(near & is_wanted[tree.tree_numbers])
        return np.concatenate([rows, reached[far[reached]]])

    def _scarce(self) -> list[str]:
        """The class of which most is asked, if that is much of what a usual provider has."""
        stock = self.plan.cloud.topology.stock
        parts: dict[str, float] = {}
        for name, amount in (demand for slot in self.plan.slots for demand in slot.demands):
            ceilings = stock.ceiling[stock.of_class[name]]
            if len(ceilings):
                parts[name] = max(parts.get(name, 0.0), amount / max(float(np.median(ceilings)), 1.0))
        most = max(parts, key=parts.__getitem__, default='')
        return [most] if parts.get(most, 0.0) > SCARCE else []

    def is_used(self, row: int) -> bool:
        """Whether some candidate, of all that there are, allocates from this provider."""
        reach = self.plan.cloud.reach
        lists = [number for number, rows in enumerate(reach.lists) if row in rows]
        concerned = np.isin(reach.numbers, lists)
        concerned[self.plan.cloud.tree.tree_numbers[row]] = True
        anchors = np.flatnonzero(concerned & self.chances.alive)
        view = self.refresh(anchors)
        return any(self._has_choice(view, tree, (row,)) for tree in anchors[self.chances.alive[anchors]].tolist())

    def anchored(self) -> Bools:
        """By tree number, whether it anchors some candidate."""
        view = self.refresh(self.anchors())
        found = self.chances.flat.copy()
        for tree in np.flatnonzero(self.chances.alive & ~found).tolist():
            found[tree] = self._has_choice(view, tree)
        return found

    def serving(self) -> Bools:
        """By tree number, whether some candidate, of all that there are, allocates from a provider of it."""
        tree = self.plan.cloud.tree
        view = self.refresh(self.anchors())
        found = self.chances.flat.copy()
        for number in np.flatnonzero(self.chances.alive & ~found).tolist():
            root = int(tree.tree_roots[number])
            found[number] = self._has_choice(view, number, range(root, int(tree.ends[root])))
        for row in np.flatnonzero(self.plan.cloud.sharing).tolist():
            number = int(tree.tree_numbers[row])
            found[number] = found[number] or self.is_used(row)
        return found

    def admits(self, view: View, choice: Choice) -> bool:
        """Whether a choice from the domains of one anchor observes the rules that concern several slots."""
        found = choices([[row] for row in choice], view.rules, self.steps)
        return next(self._without_second(found), None) is not None

    def _has_choice(self, view: View, tree: int, using: Container[int] | None = None) -> bool:
        """Whether there is a candidate at an anchor (that allocates from one of these rows)."""
        found = view.choices(tree, using=using, one_per_tree=self._one_per_tree)
        return next(self._without_second(found), None) is not None

    def _asked(self, masks: list[Bools]) -> Bools:
        """By provider row, whether it could serve one of the slots that ask for resources."""
        asked = np.zeros(self.plan.cloud.size, np.bool_)
        for slot, mask in zip(self.plan.slots, masks, strict=True):
            if slot.demands:
                asked |= mask
        return asked

    def _parts(self, anchors: Ints, expected: int | None) -> Iterator[Part]:
        """Every anchor in turn, batch by batch."""
        reached: set[int] = set()
        size = self._first_batch(anchors, expected)
        position = 0
        while position < len(anchors):
            batch = anchors[position : position + size]
            self._make_sure(int(batch[-1]))
            view = self.refresh(batch)
            for is_flat, run in _runs(batch[self.chances.alive[batch]], self.chances.flat):
                if is_flat:
                    yield np.repeat(self.plan.cloud.tree.tree_roots[run][:, None], len(self.plan.slots), axis=1)
                else:
                    for tree in run.tolist():
                        yield self._at(tree, view, reached)
            position += size
            # Where none of many was of any use, hardly any will be.
            size = size * GROWTH if size < MANY or self.chances.alive[batch].any() else len(anchors)
        self._make_sure(None)

    def _make_sure(self, tree_number: int | None) -> None:
        """Check what is believed of all trees up to one, None for all."""
        if self._check is None:
            return
        cloud = self.plan.cloud
        if tree_number is None or cloud.sharing.any():
            self._check(cloud.size)
        else:
            self._check(int(cloud.tree.ends[cloud.tree.tree_roots[tree_number]]))

    def _at(self, tree: int, view: View, reached: set[int]) -> Iterator[Choice]:
        """The choices at one anchor. Those of sharing providers of other trees alone are the same at all anchors with
        the same reach: the first of these gives them."""
        reach = view.reach(tree)
        local = reach in reached or not reach
        reached.add(reach)
        if local and not self.chances.has_near[tree]:
            return iter(())
        guided = self._one_per_tree and self.settings.cap is None
        return view.choices(tree, local=local and bool(reach), one_per_tree=guided)

    def _first_batch(self, anchors: Ints, expected: int | None) -> int:
        """How many anchors it will probably take to find as many candidates as expected."""
        if expected is None:
            return max(len(anchors), 1)
        likely = self.weights()[anchors] if not self.settings.breadth_first else np.ones(len(anchors))
        enough = int(np.searchsorted(np.cumsum(np.minimum(likely, expected)), expected)) + 1
        return max(FIRST_BATCH, enough + enough // 8)

    def weights(self) -> Floats:
        """By tree number, the number of choices if slots did not compete, `HUGE` at most."""
        cloud = self.plan.cloud
        weights = np.ones(len(cloud.tree.tree_roots))
        for near, far in zip(self.chances.near, self.chances.far, strict=True):
            weights = np.minimum(weights * (cloud.sum_by_tree(near) + cloud.reach.sums(far)), HUGE)
        return weights

    def _once(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """Leave out repeated candidates. Only those made of nothing but sharing providers can come from several
        anchors."""
        sharing = self.plan.cloud.sharing
        if not sharing.any():
            yield from blocks
            return
        seen: set[Choice] = set()
        for block in blocks:
            keep = np.ones(len(block), np.bool_)
            for index in np.flatnonzero(sharing[block].all(axis=1)).tolist():
                choice = tuple(block[index].tolist())
                keep[index] = choice not in seen
                seen.add(choice)
            if keep.any():
                yield block[keep]

    def _without_second_providers(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            kept = list(self._without_second(map(tuple, block.tolist())))
            if kept:
                yield np.array(kept, np.int64)

    def _without_second(self, found: Iterable[Choice]) -> Iterator[Choice]:
        """Before 1.29, only choices that allocate from one provider of a tree at most."""
        roots = self.plan.cloud.tree.roots
        asking = [index for index, slot in enumerate(self.plan.slots) if slot.demands]
        for choice in found:
            used = {choice[index] for index in asking}
            if not self._one_per_tree or len({int(roots[row]) for row in used}) == len(used):
                yield choice


def _runs(trees: Ints, is_flat: Bools) -> Iterator[tuple[bool, Ints]]:
    """Consecutive trees that are flat, or not."""
    if not len(trees):
        return
    flags = is_flat[trees]
    for run in np.split(trees, np.flatnonzero(flags[1:] != flags[:-1]) + 1):
        yield bool(is_flat[run[0]]), run


def _depth_first(parts: Iterable[Part]) -> Iterator[Block]:
    """All candidates of an anchor, then those of the next."""
    for part in parts:
        if isinstance(part, np.ndarray):
            yield part
        else:
            for choice in part:
                yield np.array([choice], np.int64)


def _breadth_first(parts: Iterable[Part]) -> Iterator[Block]:
    """One candidate of each anchor, then a second of each, and so on."""
    waiting: deque[Iterator[Choice]] = deque()
    for part in parts:
        if isinstance(part, np.ndarray):
            yield part
        elif (choice := next(part, None)) is not None:
            yield np.array([choice], np.int64)
            waiting.append(part)
    while waiting:
        part = waiting.popleft()
        if (choice := next(part, None)) is not None:
            yield np.array([choice], np.int64)
            waiting.append(part)


def _first(blocks: Iterator[Block], count: int) -> Iterator[Block]:
    """The first candidates, and no look beyond them."""
    for block in blocks:
        yield block[:count]
        count -= len(block)
        if count <= 0:
            return


def take(blocks: Iterator[Block], count: int | None, slots: int) -> Block:
    """The first candidates (None: all) as one array."""
    taken: list[Block] = [np.zeros((0, slots), np.int64)]
    for block in blocks if count is None else _first(blocks, count):
        taken.append(block)
        if len(taken) > PIECES:
            taken = [np.concatenate(taken)]
    return np.concatenate(taken)
