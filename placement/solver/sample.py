"""A random choice of candidates in random order, for [placement] randomize_allocation_candidates (contract:
candidates.md 4.3).

How it is made depends on the cloud. All but the last way give each candidate the same chance:

* no `limit`, or a configured cap: all candidates are made, up to the cap, and shuffled;
* flat anchors only: anchors in random order, the first that fit; nothing else is looked at;
* many choices for each wanted candidate: choices are drawn at random, and kept if they observe the rules;
* else, and where the rules refuse nearly all of the draws: all candidates are made, and some drawn;
* unless that is too much work: then it stops when there are enough, made at all anchors in turn, so that every anchor
  has its share, but within an anchor the beginning of its order is favoured.
"""

import dataclasses
import functools
import itertools
import random
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from placement.solver.search import Choice
from placement.solver.solve import Block, Search, take
from placement.solver.topology import Bools, Ints

# So many slots are filled when candidates are made to choose from them.
ENOUGH = 500_000
# Draws for each wanted candidate before drawing is given up.
DRAWS = 20
# For so many pairs of slot and sharing provider it is remembered where they are at hand.
_KEPT = 1000


def sample(search: Search, count: int | None, rng: random.Random) -> Block:
    """`count` candidates (None: all), in random order."""
    slots = len(search.plan.slots)
    anchors = search.anchors()
    if search.settings.cap is not None or count is None:
        return _drawn(take(search.blocks(anchors, None), None, slots), count, rng)
    if search.chances.flat[anchors].all():
        return _drawn(take(search.blocks(_shuffled(anchors, rng), count), count, slots), count, rng)
    search.refresh(anchors)
    anchors = search.anchors()
    if search.weights()[anchors].sum() > DRAWS * count:
        if (drawn := _rejection(search, anchors, count, rng)) is not None:
            return drawn
        search.settings = dataclasses.replace(search.settings, breadth_first=True)
        anchors = _shuffled(anchors, rng)
    return _drawn(take(search.blocks(anchors, None), max(count, ENOUGH // slots), slots), count, rng)


def _shuffled(items: Ints, rng: random.Random) -> Ints:
    return items[rng.sample(range(len(items)), len(items))]


def _drawn(block: Block, count: int | None, rng: random.Random) -> Block:
    size = len(block) if count is None else min(count, len(block))
    return block[rng.sample(range(len(block)), size)]


def _rejection(search: Search, anchors: Ints, count: int, rng: random.Random) -> Block | None:
    """Distinct uniform draws, or None where too few of them are candidates."""
    view = search.refresh(anchors)
    weights = list(itertools.accumulate(search.weights()[anchors].tolist()))
    domains: dict[int, Sequence[Sequence[int]]] = {}
    is_first = _first_anchors(search, anchors)
    found: dict[Choice, None] = {}
    for tree in itertools.islice(_draw(anchors, weights, rng), DRAWS * count):
        if tree not in domains:
            domains[tree] = view.domains(tree)
        choice = tuple(rng.choice(domain) for domain in domains[tree])
        if is_first(tree, choice) and search.admits(view, choice):
            found[choice] = None
            if len(found) == count:
                return np.array(list(found), np.int64)
    return None


def _draw(anchors: Ints, weights: Sequence[float], rng: random.Random) -> Iterator[int]:
    """Tree numbers, each as often as it has choices."""
    trees = anchors.tolist()
    while True:
        yield rng.choices(trees, cum_weights=weights)[0]


def _first_anchors(search: Search, anchors: Ints) -> Callable[[int, Choice], bool]:
    """Tells whether an anchor (tree number) is the first that a choice can be made at. A choice of nothing but sharing
    providers can be made at several anchors, and must not be drawn more often for that."""
    cloud, chances = search.plan.cloud, search.chances
    is_anchor = np.zeros(len(cloud.tree.tree_roots), np.bool_)
    is_anchor[anchors] = True

    @functools.lru_cache(_KEPT)
    def offers(slot: int, row: int) -> Bools:
        """By tree number, whether the slot can be served by a sharing provider there."""
        lists = np.array([row in rows for rows in cloud.reach.lists])
        trees = lists[cloud.reach.numbers] & chances.far[slot][row]
        trees[cloud.tree.tree_numbers[row]] = chances.near[slot][row]
        return trees

    def is_first(tree: int, choice: Choice) -> bool:
        if not cloud.sharing[list(choice)].all():
            return True
        possible = functools.reduce(np.logical_and, itertools.starmap(offers, enumerate(choice)), is_anchor)
        return int(np.argmax(possible)) == tree

    return is_first
