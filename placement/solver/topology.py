"""Step 2a of the solver: what changes rarely in the cloud, as columns.

A `Topology` is immutable; `mirror` keeps the one of the request before and knows whether it still holds. Providers
are numbered ("rows") so that every subtree is a contiguous range: trees in the order of the uuids of their roots, each
parent before its children, children in the order of their uuids. That order is also the order of candidates: it
depends on nothing but the data. Contract: candidates.md 2.1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from placement.capacity import effective_ratio

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

# Amounts and capacities of this size are "more than anything": sums of a few stay within 64 bits.
HUGE = 2**53


class Provider(NamedTuple):
    """One provider as the database has it."""

    id: int
    uuid: str
    parent_id: int | None


# One row per inventory: provider id, class id, total, reserved, min_unit, max_unit, step_size, allocation_ratio.
INVENTORY_COLUMNS = 8
Inventories = Floats


@dataclass(frozen=True, eq=False)
class Tree:
    """The providers in their order. Arrays are indexed by provider row or, where named so, by tree number."""

    ids: Ints
    uuids: tuple[str, ...]
    rows: Mapping[str, int]
    # The row of the parent, -1 for a root; the row of the root; the row after the last descendant.
    parents: Ints
    roots: Ints
    ends: Ints
    # By tree number: the row of its root. `tree_numbers` is by provider row.
    tree_roots: Ints
    tree_numbers: Ints
    # The ids in ascending order, and the row of each.
    sorted_ids: Ints
    sorted_rows: Ints
    # The JSON form of uuids by row, filled in by `render` as they are needed.
    encoded: dict[int, bytes] = field(default_factory=dict)

    def rows_of(self, ids: Ints) -> Ints:
        """The rows of providers given by id; ids that are no provider's are left out."""
        if not len(self.sorted_ids):
            return np.zeros(0, np.int64)
        places = np.minimum(np.searchsorted(self.sorted_ids, ids), len(self.sorted_ids) - 1)
        return self.sorted_rows[places[self.sorted_ids[places] == ids]]


@dataclass(frozen=True, eq=False)
class Stock:
    """All inventories, sorted by class and then by provider row: parallel arrays of one length.

    `capacity` is in whole units; `ceiling` is the same for arithmetic in 64 bits, `HUGE` at most.
    """

    rows: Ints
    capacity: Floats
    ceiling: Ints
    min_unit: Ints
    max_unit: Ints
    step_size: Ints
    # Where the inventories of a class lie; all classes that exist are keys.
    of_class: Mapping[str, slice]
    # The ids of all classes, ascending (that is, by class number), and by name.
    class_ids: Ints
    id_of_class: Mapping[str, int]
    # `provider id * number of classes + class number` of all inventories, ascending, and where each of these lies.
    # PERF: what the database says comes in this order, and is found three times quicker than by rows.
    pairs: Ints
    places_of_pairs: Ints


@dataclass(frozen=True, eq=False)
class Topology:
    """The cloud but for usage, traits and aggregates; of those the names of all traits, by id."""

    tree: Tree
    stock: Stock
    trait_names: Mapping[int, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many providers there are."""
        return len(self.tree.ids)

    def places(self, ids: Ints, class_ids: Ints) -> Ints:
        """Where in the stock the inventory of each pair of provider id and class id lies, -1 if there is none."""
        stock = self.stock
        if not len(stock.rows):
            return np.full(len(ids), -1)
        numbers = np.minimum(np.searchsorted(stock.class_ids, class_ids), len(stock.class_ids) - 1)
        wanted = ids * len(stock.class_ids) + numbers
        found = np.minimum(np.searchsorted(stock.pairs, wanted), len(stock.pairs) - 1)
        there = (stock.pairs[found] == wanted) & (stock.class_ids[numbers] == class_ids)
        return np.where(there, stock.places_of_pairs[found], -1)


def build_tree(providers: Mapping[int, Provider]) -> Tree:
    """The order of providers, by id. Odd rows do not fail: a provider whose parent is missing, or is its own
    descendant, counts as a root; `root_provider_id` is not looked at (decision E24)."""
    order, parents, roots, ends = _preorder(providers)
    ids = np.array(order, np.int64)
    uuids = tuple(providers[provider_id].uuid for provider_id in order)
    tree_roots = np.flatnonzero(parents < 0)
    by_id = np.argsort(ids)
    return Tree(
        ids=ids,
        uuids=uuids,
        rows={uuid: row for row, uuid in enumerate(uuids)},
        parents=parents,
        roots=roots,
        ends=ends,
        tree_roots=tree_roots,
        tree_numbers=np.searchsorted(tree_roots, roots),
        sorted_ids=ids[by_id],
        sorted_rows=by_id,
    )


def _preorder(providers: Mapping[int, Provider]) -> tuple[list[int], Ints, Ints, Ints]:
    """Provider ids in row order, and by row: the parent's row, the root's row, the row after the last descendant."""
    by_uuid = sorted(providers.values(), key=lambda provider: provider.uuid)
    children: dict[int, list[Provider]] = {}
    tops: list[Provider] = []
    for provider in by_uuid:
        if provider.parent_id is None or provider.parent_id not in providers:
            tops.append(provider)
        else:
            children.setdefault(provider.parent_id, []).append(provider)
    order: list[int] = []
    parents: list[int] = []
    roots: list[int] = []
    ends: list[int] = []
    placed: set[int] = set()

    def place(top: Provider) -> None:
        root = len(order)
        # A frame is a provider and the row of its parent; the provider None closes the subtree of the row.
        stack: list[tuple[Provider | None, int]] = [(top, -1)]
        while stack:
            provider, at = stack.pop()
            if provider is None:
                ends[at] = len(order)
                continue
            if provider.id in placed:
                continue
            row = len(order)
            placed.add(provider.id)
            order.append(provider.id)
            parents.append(at)
            roots.append(root)
            ends.append(row + 1)
            if below := children.get(provider.id):
                stack.append((None, row))
                stack.extend((child, row) for child in reversed(below))

    for top in tops:
        place(top)
    if len(order) < len(providers):  # parents in a circle
        for provider in by_uuid:
            if provider.id not in placed:
                place(provider)
    return order, np.array(parents, np.int64), np.array(roots, np.int64), np.array(ends, np.int64)


def build_stock(tree: Tree, inventories: Inventories, class_names: Mapping[int, str]) -> Stock:
    """The inventories (see `Inventories`) by class; those of unknown providers or classes are left out."""
    class_ids = sorted(class_names)
    known = np.isin(inventories[:, 0], tree.ids) & np.isin(inventories[:, 1], class_ids)
    items = inventories[known]
    numbers = np.searchsorted(np.array(class_ids, np.int64), items[:, 1].astype(np.int64))
    rows = tree.rows_of(items[:, 0].astype(np.int64))
    order = np.lexsort((rows, numbers))
    items = items[order]
    capacity = _capacities(items)
    pairs = items[:, 0].astype(np.int64) * len(class_ids) + numbers[order]
    by_pair = np.argsort(pairs)
    bounds = np.searchsorted(numbers[order], np.arange(len(class_ids) + 1)).tolist()
    return Stock(
        rows=rows[order],
        capacity=capacity,
        ceiling=_whole(capacity),
        min_unit=_whole(items[:, 4]),
        max_unit=_whole(items[:, 5]),
        step_size=np.maximum(_whole(items[:, 6]), 1),
        of_class={
            class_names[class_id]: slice(bounds[number], bounds[number + 1])
            for number, class_id in enumerate(class_ids)
        },
        class_ids=np.array(class_ids, np.int64),
        id_of_class={class_names[class_id]: class_id for class_id in class_ids},
        pairs=pairs[by_pair],
        places_of_pairs=by_pair,
    )


def _capacities(items: Inventories) -> Floats:
    """The capacities, truncated to whole units."""
    ratios, which = np.unique(items[:, 7], return_inverse=True)
    effective = np.array([effective_ratio(ratio) for ratio in ratios.tolist()], np.float64)
    return np.trunc(np.nan_to_num((items[:, 2] - items[:, 3]) * effective[which]))


def _whole(values: Floats) -> Ints:
    return np.trunc(np.clip(np.nan_to_num(values), -HUGE, HUGE)).astype(np.int64)
