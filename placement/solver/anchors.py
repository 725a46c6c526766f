"""Step 3a of the solver: what the search finds at one anchor: who may serve each slot there, and under which rules.

Made anew for each batch of anchors whose usage was read; used by `solve` and `sample`.
"""

import dataclasses
import functools
from collections.abc import Container, Iterator, Sequence

import numpy as np

from placement.solver.plan import Chances, Plan
from placement.solver.search import Choice, Cover, Rules, Steps, choices


class View:
    """The slots' providers at the anchors of one batch."""

    def __init__(self, plan: Plan, chances: Chances, steps: Steps) -> None:
        self._plan = plan
        self._steps = steps
        self._reaches = plan.cloud.reach.lists
        self._reach_numbers = plan.cloud.reach.numbers
        self._far = chances.far
        self._chances = chances

    @functools.cached_property
    def rules(self) -> Rules:
        """What all choices of the batch must observe."""
        plan = self._plan
        return Rules(
            demands=[[item for item in slot.demands if item[0] in plan.totals] for slot in plan.slots],
            separate=plan.separate,
            subtrees=plan.subtrees,
            covers=[(slots, rows.__getitem__) for slots, rows in plan.covers],
            end_of=plan.cloud.tree.ends.__getitem__,
            room={
                name: dict(zip(*(column.tolist() for column in self._chances.room(name)), strict=True))
                for name in plan.totals
            },
        )

    @functools.cached_property
    def _near(self) -> list[tuple[list[int], list[int]]]:
        """By slot, the rows that may serve it in their own tree, and by tree where its rows begin."""
        edges = np.append(self._plan.cloud.tree.tree_roots, self._plan.cloud.size)
        rows = [np.flatnonzero(mask) for mask in self._chances.near]
        return [(column.tolist(), np.searchsorted(column, edges).tolist()) for column in rows]

    def near(self, tree: int) -> list[list[int]]:
        """By slot, the rows of the tree that may serve it."""
        return [rows[starts[tree] : starts[tree + 1]] for rows, starts in self._near]

    def reach(self, tree: int) -> int:
        """The number of the tree's reach, 0 if nobody there can serve a slot."""
        number = int(self._reach_numbers[tree])
        return number if any(self.far(number)) else 0

    @functools.cache  # noqa: B019 - lives as long as a batch
    def far(self, reach: int) -> list[list[int]]:
        """By slot, the sharing providers of the reach that may serve it."""
        return [[row for row in self._reaches[reach] if mask[row]] for mask in self._far]

    def domains(self, tree: int) -> list[list[int]]:
        """By slot, all rows that may serve it at this anchor, ascending."""
        near = self.near(tree)
        reach = self.reach(tree)
        if not reach:
            return near
        return [sorted(own + other) for own, other in zip(near, self.far(reach), strict=True)]

    def choices(
        self, tree: int, *, local: bool = False, using: Container[int] | None = None, one_per_tree: bool = False
    ) -> Iterator[Choice]:
        """All choices at one anchor, each once.

        `local`: only those with a provider of the anchor's own tree. `using`: only those that allocate from one of
        these rows. `one_per_tree`: only those with at most one provider of the anchor's own tree.
        """
        start = int(self._plan.cloud.tree.tree_roots[tree])
        end = int(self._plan.cloud.tree.ends[start])
        domains = self.domains(tree)
        covers = list(self.rules.covers)
        everywhere = range(len(domains))
        if using is not None:
            allocating = [index for index, slot in enumerate(self._plan.slots) if slot.demands]
            covers.append((allocating, using.__contains__))
        if one_per_tree:
            yield from self._one_per_tree(domains, covers, start, end, local)
            return
        if local:
            covers.append((everywhere, range(start, end).__contains__))
        yield from choices(domains, dataclasses.replace(self.rules, covers=covers), self._steps)

    def _one_per_tree(
        self, domains: Sequence[Sequence[int]], covers: list[Cover], start: int, end: int, local: bool
    ) -> Iterator[Choice]:
        """One case for each provider of the tree that may be the only one, and one for none of them."""
        own = range(start, end)
        everywhere = range(len(domains))
        for only in sorted({row for domain in domains for row in domain if row in own}):
            case = [[row for row in domain if row == only or row not in own] for domain in domains]
            rules = dataclasses.replace(self.rules, covers=[*covers, (everywhere, only.__eq__)])
            yield from choices(case, rules, self._steps)
        if not local:
            case = [[row for row in domain if row not in own] for domain in domains]
            yield from choices(case, dataclasses.replace(self.rules, covers=covers), self._steps)
