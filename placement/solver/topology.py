"""Step 2a of the solver: what changes rarely in the cloud, as columns.

A `Topology` is immutable and made of a `Snapshot`, the rows that `loader` read. Providers are numbered ("rows") so
that every subtree is a contiguous range: trees in the order of the uuids of their roots, each parent before its
children, children in the order of their uuids. That order is also the order of candidates: it depends on nothing but
the data. Contract: candidates.md 2.1, 2.2.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from placement.capacity import capacity

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

SHARING = 'MISC_SHARES_VIA_AGGREGATE'
# Amounts and capacities of this size are "more than anything": sums of a few stay within 64 bits.
HUGE = 2**53


class Provider(NamedTuple):
    """One provider as the database has it; the texts are packed lists of ids (see `loader`)."""

    id: int
    uuid: str
    parent_id: int | None


class Inventory(NamedTuple):
    """One inventory as the database has it."""

    class_id: int
    total: int
    reserved: int
    min_unit: int
    max_unit: int
    step_size: int
    allocation_ratio: float


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The database's rows that topology is made of. Inventories, trait ids and aggregate ids are keyed by provider
    id; a provider without any may be absent."""

    providers: Mapping[int, Provider]
    inventories: Mapping[int, tuple[Inventory, ...]]
    traits: Mapping[int, tuple[int, ...]]
    aggregates: Mapping[int, tuple[int, ...]]
    class_names: Mapping[int, str]
    trait_names: Mapping[int, str]
    aggregate_uuids: Mapping[int, str]


@dataclass(frozen=True, eq=False)
class Labels:
    """A set of names for each provider, equal sets kept once: provider row `p` has `sets[index[p]]`."""

    index: Ints
    sets: tuple[frozenset[str], ...]

    def meeting(self, names: Iterable[str]) -> Bools:
        """For each provider row, whether it has one of the names."""
        wanted = frozenset(names)
        hit = np.fromiter((not wanted.isdisjoint(own) for own in self.sets), np.bool_, len(self.sets))
        return hit[self.index]

    def of(self, row: int) -> frozenset[str]:
        """The names of one provider row."""
        return self.sets[self.index[row]]


@dataclass(frozen=True, eq=False)
class Stock:
    """All inventories, sorted by class and then by provider row: parallel arrays of one length.

    `ceiling` is the capacity in whole units, `HUGE` at most; `keys` are `class number * providers + row`, ascending.
    """

    keys: Ints
    rows: Ints
    ceiling: Ints
    min_unit: Ints
    max_unit: Ints
    step_size: Ints
    # Where the inventories of a class lie.
    of_class: Mapping[str, slice]
    # The number of a class of the database within `keys`.
    class_numbers: Mapping[int, int]


@dataclass(frozen=True, eq=False)
class Topology:
    """The cloud but for usage. All arrays are indexed by provider row or, where named so, by tree number."""

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
    traits: Labels
    aggregates: Labels
    sharing: Bools
    # By tree number: which of `reaches` lists the sharing providers of other trees that the tree reaches.
    reach_numbers: Ints
    reaches: tuple[tuple[int, ...], ...]
    # All reaches end to end: the rows, and for each the number of its reach.
    reach_rows: Ints
    reach_owners: Ints
    stock: Stock
    class_names: frozenset[str]
    trait_names: frozenset[str]
    # The JSON form of uuids by row, filled in by `render` as they are needed.
    encoded: dict[int, bytes] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many providers there are."""
        return len(self.ids)

    @property
    def tree_ends(self) -> Ints:
        """By tree number: the row after its last provider."""
        return self.ends[self.tree_roots]

    def any_in_tree(self, mask: Bools) -> Bools:
        """By tree number: whether the mask (by row) holds for a provider of the tree."""
        return self.sum_by_tree(mask) > 0

    def any_in_reach(self, mask: Bools) -> Bools:
        """By tree number: whether the mask (by row) holds for a sharing provider of other trees that the tree
        reaches."""
        return self.sum_by_reach(mask) > 0

    def sum_by_tree(self, values: npt.NDArray[Any]) -> Ints:
        """By tree number: the sum of values (by row) over the providers of the tree."""
        if not len(values):
            return np.zeros(0, np.int64)
        return np.add.reduceat(values, self.tree_roots, dtype=np.int64)

    def sum_by_reach(self, values: npt.NDArray[Any]) -> Ints:
        """By tree number: the sum of values (by row) over the sharing providers of other trees that the tree
        reaches."""
        if not len(self.reach_rows):
            return np.zeros(len(self.tree_roots), np.int64)
        sums = np.bincount(self.reach_owners, values[self.reach_rows], len(self.reaches))
        return sums[self.reach_numbers].astype(np.int64)


def build(snapshot: Snapshot) -> Topology:
    """The columns of a snapshot. Odd rows do not fail: a provider whose parent is missing, or is its own descendant,
    counts as a root; `root_provider_id` is not looked at."""
    order, parents, roots, ends = _preorder(snapshot.providers)
    providers = [snapshot.providers[provider_id] for provider_id in order]
    tree_roots = np.flatnonzero(parents < 0)
    tree_numbers = np.searchsorted(tree_roots, roots)
    traits = _labels(order, snapshot.traits, snapshot.trait_names)
    aggregates = _labels(order, snapshot.aggregates, snapshot.aggregate_uuids)
    sharing = traits.meeting([SHARING])
    reach_numbers, reaches = _reaches(sharing, aggregates, roots, tree_roots, tree_numbers)
    return Topology(
        ids=np.array(order, np.int64),
        uuids=tuple(provider.uuid for provider in providers),
        rows={provider.uuid: row for row, provider in enumerate(providers)},
        parents=parents,
        roots=roots,
        ends=ends,
        tree_roots=tree_roots,
        tree_numbers=tree_numbers,
        traits=traits,
        aggregates=aggregates,
        sharing=sharing,
        reach_numbers=reach_numbers,
        reaches=reaches,
        reach_rows=np.array([row for reach in reaches for row in reach], np.int64),
        reach_owners=np.repeat(np.arange(len(reaches)), [len(reach) for reach in reaches]),
        stock=_stock(order, snapshot),
        class_names=frozenset(snapshot.class_names.values()),
        trait_names=frozenset(snapshot.trait_names.values()),
    )


def _preorder(providers: Mapping[int, Provider]) -> tuple[list[int], Ints, Ints, Ints]:
    """Provider ids in row order, and by row: the parent's row, the root's row, the row after the last descendant."""
    children: dict[int, list[Provider]] = {}
    tops: list[Provider] = []
    for provider in sorted(providers.values(), key=lambda provider: provider.uuid):
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
        for provider in sorted(providers.values(), key=lambda provider: provider.uuid):
            if provider.id not in placed:
                place(provider)
    return order, np.array(parents, np.int64), np.array(roots, np.int64), np.array(ends, np.int64)


def _labels(order: Sequence[int], ids: Mapping[int, tuple[int, ...]], names: Mapping[int, str]) -> Labels:
    numbers: dict[tuple[int, ...], int] = {}
    index = np.fromiter(
        (numbers.setdefault(ids.get(provider_id, ()), len(numbers)) for provider_id in order), np.int64, len(order)
    )
    # An id without a name is a leftover of a deletion that is going on; nobody can ask for it.
    return Labels(index, tuple(frozenset(names[i] for i in key if i in names) for key in numbers))


def _reaches(
    sharing: Bools, aggregates: Labels, roots: Ints, tree_roots: Ints, tree_numbers: Ints
) -> tuple[Ints, tuple[tuple[int, ...], ...]]:
    """By tree the number of its reach, and the reaches: the sharing providers outside of the tree that have an
    aggregate in common with a provider of it, in row order."""
    sharers: dict[str, list[int]] = {}
    for row in np.flatnonzero(sharing).tolist():
        for aggregate in aggregates.of(row):
            sharers.setdefault(aggregate, []).append(row)
    linked = [frozenset(row for name in names for row in sharers.get(name, ())) for names in aggregates.sets]
    numbers: dict[tuple[int, ...], int] = {(): 0}
    reach_numbers = np.zeros(len(tree_roots), np.int64)
    is_linked = np.fromiter(map(bool, linked), np.bool_, len(linked))
    reached: dict[int, frozenset[int]] = {}
    for row in np.flatnonzero(is_linked[aggregates.index]).tolist() if sharers else ():
        tree = int(tree_numbers[row])
        reached[tree] = reached.get(tree, frozenset()) | linked[aggregates.index[row]]
    for tree, rows in reached.items():
        root = tree_roots[tree]
        reach = tuple(sorted(row for row in rows if roots[row] != root))
        reach_numbers[tree] = numbers.setdefault(reach, len(numbers))
    return reach_numbers, tuple(numbers)


def _stock(order: Sequence[int], snapshot: Snapshot) -> Stock:
    class_numbers = {class_id: number for number, class_id in enumerate(sorted(snapshot.class_names))}
    entries = [
        (class_numbers[item.class_id], row, item)
        for row, provider_id in enumerate(order)
        for item in snapshot.inventories.get(provider_id, ())
        if item.class_id in class_numbers
    ]
    entries.sort(key=lambda entry: entry[:2])
    numbers = np.array([entry[0] for entry in entries], np.int64)
    rows = np.array([entry[1] for entry in entries], np.int64)
    bounds = np.searchsorted(numbers, np.arange(len(class_numbers) + 1)).tolist()
    return Stock(
        keys=numbers * len(order) + rows,
        rows=rows,
        ceiling=np.array([_ceiling(entry[2]) for entry in entries], np.int64),
        min_unit=_column(entry[2].min_unit for entry in entries),
        max_unit=_column(entry[2].max_unit for entry in entries),
        step_size=np.maximum(_column(entry[2].step_size for entry in entries), 1),
        of_class={
            snapshot.class_names[class_id]: slice(bounds[number], bounds[number + 1])
            for class_id, number in class_numbers.items()
        },
        class_numbers=class_numbers,
    )


def _ceiling(item: Inventory) -> int:
    """The capacity, truncated and kept within what 64 bits can add up."""
    whole = capacity(item.total, item.reserved, item.allocation_ratio)
    return int(max(-HUGE, min(whole, HUGE)))


def _column(values: Iterable[int]) -> Ints:
    return np.array([min(value, HUGE) for value in values], np.int64)
