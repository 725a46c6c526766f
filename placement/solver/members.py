"""Step 2b of the solver: who has the traits and is in the aggregates that matter for a query; who shares with whom.

Read anew for each query, for the names that it gives (see `source`), so there is nothing that could be stale.
Contract: candidates.md 2.1, 2.2.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from placement.solver.topology import Bools, Ints, Topology, Tree

SHARING = 'MISC_SHARES_VIA_AGGREGATE'

# The ids of the providers that have a trait, or are in an aggregate, by its name or uuid.
Ids = Mapping[str, Ints]


@dataclass(frozen=True, eq=False)
class Reach:
    """Which sharing providers of other trees a tree reaches: `lists[numbers[tree]]`, by tree number, in row order.

    The first list is empty. `rows` are all lists end to end, `owners` says for each entry of which list it is.
    """

    numbers: Ints
    lists: tuple[tuple[int, ...], ...]
    rows: Ints
    owners: Ints

    def sums(self, values: npt.NDArray[Any]) -> Ints:
        """By tree number: the sum of values (by row) over what the tree reaches."""
        if not len(self.rows):
            return np.zeros(len(self.numbers), np.int64)
        sums = np.bincount(self.owners, values[self.rows], len(self.lists))
        return sums[self.numbers].astype(np.int64)

    def any(self, mask: Bools) -> Bools:
        """By tree number: whether the mask (by row) holds for something that the tree reaches."""
        if not len(self.rows):
            return np.zeros(len(self.numbers), np.bool_)
        return self.sums(mask) > 0


@dataclass(frozen=True, eq=False)
class Cloud:
    """The topology and the memberships that a query needs: all of the cloud but for usage.

    `traits` has the provider rows by trait for the names of the query that exist; `aggregates` those by uuid.
    """

    topology: Topology
    traits: Ids
    aggregates: Ids
    # By provider row.
    sharing: Bools
    reach: Reach

    @property
    def tree(self) -> Tree:
        """The order of providers."""
        return self.topology.tree

    @property
    def size(self) -> int:
        """How many providers there are."""
        return self.topology.size

    @property
    def is_flat(self) -> bool:
        """Whether every tree is one provider."""
        return len(self.tree.tree_roots) == self.size

    def with_trait(self, names: Iterable[str]) -> Bools:
        """By provider row, whether it has one of these traits."""
        return self._any(self.traits, names)

    def in_aggregate(self, uuids: Iterable[str]) -> Bools:
        """By provider row, whether it is in one of these aggregates."""
        return self._any(self.aggregates, uuids)

    def _any(self, members: Ids, names: Iterable[str]) -> Bools:
        mask = np.zeros(self.size, np.bool_)
        for name in names:
            if name in members:
                mask[members[name]] = True
        return mask

    def sum_by_tree(self, values: npt.NDArray[Any]) -> Ints:
        """By tree number: the sum of values (by row) over the providers of the tree."""
        if self.is_flat:
            return values.astype(np.int64)
        return np.add.reduceat(values, self.tree.tree_roots, dtype=np.int64)

    def any_in_tree(self, mask: Bools) -> Bools:
        """By tree number: whether the mask (by row) holds for a provider of the tree."""
        return mask if self.is_flat else self.sum_by_tree(mask) > 0


def make_cloud(topology: Topology, traits: Ids, aggregates: Ids) -> Cloud:
    """The cloud, given provider ids: of every trait that the query names and of `SHARING`, of every aggregate that it
    names and of those that a sharing provider is in."""
    tree = topology.tree
    trait_rows = {name: tree.rows_of(ids) for name, ids in traits.items()}
    aggregate_rows = {name: tree.rows_of(ids) for name, ids in aggregates.items()}
    sharing = np.zeros(topology.size, np.bool_)
    if SHARING in trait_rows:
        sharing[trait_rows[SHARING]] = True
    return Cloud(topology, trait_rows, aggregate_rows, sharing, _reach(tree, sharing, aggregate_rows))


def _reach(tree: Tree, sharing: Bools, aggregates: Ids) -> Reach:
    """A tree reaches the sharing providers outside of it that have an aggregate in common with a provider of it."""
    # Which aggregates link a tree to something; trees with the same links in the same order are alike.
    linked: dict[int, list[int]] = {}
    sharers: list[list[int]] = []
    for members in aggregates.values():
        sharing_members = np.sort(members[sharing[members]]).tolist()
        if sharing_members:
            for number in np.unique(tree.tree_numbers[members]).tolist():
                linked.setdefault(number, []).append(len(sharers))
            sharers.append(sharing_members)
    trees_of_sharers = {int(tree.tree_numbers[row]) for row in np.flatnonzero(sharing).tolist()}
    numbers = np.zeros(len(tree.tree_roots), np.int64)
    known: dict[tuple[int, ...], int] = {(): 0}
    number_of_links: dict[tuple[int, ...], int] = {}
    for number, links in linked.items():
        key = tuple(links)
        if number in trees_of_sharers or key not in number_of_links:
            rows = sorted({row for link in links for row in sharers[link] if tree.tree_numbers[row] != number})
            found = known.setdefault(tuple(rows), len(known))
            if number in trees_of_sharers:
                numbers[number] = found
                continue
            number_of_links[key] = found
        numbers[number] = number_of_links[key]
    lists = tuple(known)
    return Reach(
        numbers=numbers,
        lists=lists,
        rows=np.array([row for rows in lists for row in rows], np.int64),
        owners=np.repeat(np.arange(len(lists)), [len(rows) for rows in lists]),
    )
