"""A random choice of candidates in random order, for [placement] randomize_allocation_candidates (contract:
candidates.md 4.3).

The choice is uniform. How it is made depends on the cloud:

* flat anchors only: anchors in random order, the first that fit; nothing else is looked at;
* few candidates (`ENOUGH` at most, or a configured cap): all are made, and some drawn;
* more, without sharing providers: choices are drawn at random and kept if they observe the rules;
* more, and the rules refuse nearly all of the draws: `ENOUGH` are made at randomly ordered anchors, and some of these
drawn. This alone is not
  uniform: it favours the beginning of each anchor's order.
"""

import itertools
import random
from collections.abc import Iterator, Sequence

import numpy as np

from placement.solver.search import Choice
from placement.solver.solve import Block, Search, take
from placement.solver.topology import Ints

ENOUGH = 100_000
# Draws for each wanted candidate before drawing is given up.
DRAWS = 20


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
    if search.weights()[anchors].sum() > ENOUGH:
        if (drawn := _rejection(search, anchors, count, rng)) is not None:
            return drawn
        anchors = _shuffled(anchors, rng)
    return _drawn(take(search.blocks(anchors, None), ENOUGH, slots), count, rng)


def _shuffled(items: Ints, rng: random.Random) -> Ints:
    return items[rng.sample(range(len(items)), len(items))]


def _drawn(block: Block, count: int | None, rng: random.Random) -> Block:
    size = len(block) if count is None else min(count, len(block))
    return block[rng.sample(range(len(block)), size)]


def _rejection(search: Search, anchors: Ints, count: int, rng: random.Random) -> Block | None:
    """Distinct uniform draws, or None where too few of them are candidates."""
    if search.plan.cloud.sharing[np.flatnonzero(np.logical_or.reduce(search.chances.near + search.chances.far))].any():
        # The same candidate may come from several anchors, and would be drawn more often.
        return None
    view = search.refresh(anchors)
    weights = list(itertools.accumulate(search.weights()[anchors].tolist()))
    domains: dict[int, Sequence[Sequence[int]]] = {}
    found: dict[Choice, None] = {}
    for tree in itertools.islice(_draw(anchors, weights, rng), DRAWS * count):
        if tree not in domains:
            domains[tree] = view.domains(tree)
        choice = tuple(rng.choice(domain) for domain in domains[tree])
        if search.admits(view, choice):
            found[choice] = None
            if len(found) == count:
                return np.array(list(found), np.int64)
    return None


def _draw(anchors: Ints, weights: Sequence[float], rng: random.Random) -> Iterator[int]:
    """Tree numbers, each as often as it has choices."""
    trees = anchors.tolist()
    while True:
        yield rng.choices(trees, cum_weights=weights)[0]
