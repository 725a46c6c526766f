"""Step 3b of the solver: all ways to serve the slots at one anchor, one after the other, without wandering
(candidates.md 2.5).

The rules of a candidate are of two kinds. Those that ask for *something among several* (one provider of a
`same_subtree` above the others, a required trait on one of the providers of the un-suffixed group) are turned into
disjoint cases, each of which only restricts who may serve which slot. What is left in a case is competition: amounts
add up on a provider, `isolate` wants different providers. There a depth-first search chooses slot by slot, and
matchings keep it out of dead ends.
"""

import functools
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from placement import errors
from placement.solver.matching import Matching
from placement.solver.packing import Packing

# By slot, the provider rows that may serve it, ascending.
Domains = Sequence[Sequence[int]]
Choice = tuple[int, ...]
# At least one of the slots takes a row of which this is true.
Cover = tuple[Sequence[int], Callable[[int], bool]]


# A search at one anchor gives up after so many steps without another choice (about 10 seconds). Packing is a hard
# problem: without an end to it, one request could keep a worker busy for ever.
PATIENCE = 3_000_000
# Situations are remembered until they have so many providers in all, each of which takes 8 bytes and more.
REMEMBERED = 4_000_000


@dataclass
class Steps:
    """How much searching was done: one for each provider looked at for a slot; and how much may be done, at `most`."""

    count: int = 0
    most: int = PATIENCE

    def check(self) -> None:
        """Raises errors.CandidateSearchTooLong."""
        if self.count > self.most:
            raise errors.CandidateSearchTooLong(steps=PATIENCE)


@dataclass(frozen=True)
class Rules:
    """What the choices for the slots must observe together; the same at all anchors but for `room`.

    `demands` by slot are the class names and amounts that compete with other slots; `room(class)` is by provider row
    the largest sum that may be taken of it. The other fields are as in `plan.Plan`.
    """

    demands: Sequence[Sequence[tuple[str, int]]]
    separate: Sequence[int]
    subtrees: Sequence[tuple[int, ...]]
    covers: Sequence[Cover]
    end_of: Callable[[int], int]
    room: dict[str, dict[int, int]] = field(default_factory=dict)


def choices(domains: Domains, rules: Rules, steps: Steps) -> Iterator[Choice]:
    """All choices of one provider row per slot that observe the rules, each once, in a fixed order.

    :raises errors.CandidateSearchTooLong: there may be more, but none was found with `PATIENCE`
    """
    steps.most = steps.count + PATIENCE
    for case in _cases(domains, rules, steps):
        for choice in _assign(case, rules, steps):
            yield choice
            steps.most = steps.count + PATIENCE


# --- something among several: disjoint cases ---


def _cases(domains: Domains, rules: Rules, steps: Steps) -> Iterator[Domains]:
    """Disjoint restrictions of the domains which together hold exactly the choices that observe `subtrees` and
    `covers`."""
    if not all(domains):
        return
    splits = [functools.partial(_subtree_cases, slots, rules, steps) for slots in dict.fromkeys(rules.subtrees)]
    splits += [functools.partial(_cover_cases, *cover, steps) for cover in rules.covers]
    # One split within the cases of the other. Not by recursion: a query may have hundreds of conditions.
    open_cases = [iter([domains])]
    while open_cases:
        steps.check()
        case = next(open_cases[-1], None)
        if case is None:
            open_cases.pop()
        elif len(open_cases) > len(splits):
            yield case
        else:
            open_cases.append(splits[len(open_cases) - 1](case))


def _subtree_cases(slots: Sequence[int], rules: Rules, steps: Steps, domains: Domains) -> Iterator[Domains]:
    """One case for each provider that may be the topmost of these slots, and each slot that takes it first."""
    for top in sorted({row for slot in slots for row in domains[slot]}):
        end = rules.end_of(top)
        below = list(domains)
        for slot in slots:
            steps.count += 1
            domain = domains[slot]
            below[slot] = domain[bisect_left(domain, top) : bisect_left(domain, end)]
            if not below[slot]:
                break
        else:
            yield from _one_within(below, slots, top.__eq__)


def _cover_cases(
    slots: Sequence[int], wanted: Callable[[int], bool], steps: Steps, domains: Domains
) -> Iterator[Domains]:
    """One case for each slot that is the first to take one of the wanted providers."""
    for case in _one_within(domains, slots, wanted):
        steps.count += 1
        yield case


def _one_within(domains: Domains, slots: Sequence[int], wanted: Callable[[int], bool]) -> Iterator[Domains]:
    """Disjoint cases in which at least one of the slots takes a wanted provider: for each slot, that it is the first
    to."""
    earlier = list(domains)
    for slot in slots:
        inside = [row for row in domains[slot] if wanted(row)]
        if inside:
            case = list(earlier)
            case[slot] = inside
            yield case
        earlier[slot] = [row for row in domains[slot] if not wanted(row)]
        if not earlier[slot]:
            return


# --- competition: depth-first search ---


class _Taken:
    """What the slots that are decided so far take, and whether another one may join them."""

    def __init__(self, rules: Rules, watching: Sequence[Sequence[Matching]], steps: Steps) -> None:
        """`watching` by slot are the matchings that it is a guest of."""
        self._demands = rules.demands
        self._room = rules.room
        self._separate = frozenset(rules.separate) if len(rules.separate) > 1 else frozenset[int]()
        self._watching = watching
        self._steps = steps
        # By class and row; what is zero is not there.
        self.amounts: dict[tuple[str, int], int] = {}
        # The rows of slots of `separate`.
        self.occupied: set[int] = set()

    def allows(self, slot: int, row: int) -> bool:
        """Whether the slot may take this row, as far as room, separation and the matchings know."""
        if slot in self._separate and row in self.occupied:
            return False
        for resource_class, amount in self._demands[slot]:
            if self.amounts.get((resource_class, row), 0) + amount > self._room[resource_class][row]:
                return False
        for matching in self._watching[slot]:
            before = matching.steps
            possible = matching.move(slot, row)
            self._steps.count += matching.steps - before
            if not possible:
                return False
        return True

    def add(self, slot: int, row: int) -> None:
        """The slot takes the row."""
        for resource_class, amount in self._demands[slot]:
            key = resource_class, row
            self.amounts[key] = self.amounts.get(key, 0) + amount
        if slot in self._separate:
            self.occupied.add(row)

    def remove(self, slot: int, row: int) -> None:
        """The slot gives the row back."""
        for resource_class, amount in self._demands[slot]:
            key = resource_class, row
            left = self.amounts[key] - amount
            if left:
                self.amounts[key] = left
            else:
                del self.amounts[key]
        if slot in self._separate:
            self.occupied.discard(row)


class _DeadEnds:
    """Situations that are hopeless: by their bounds (see `packing`), or because a search from there found nothing.

    PERF: nothing is worked out before the first dead end, for most searches have none.
    """

    def __init__(self, make_packing: Callable[[], Packing], steps: Steps) -> None:
        self._make_packing = make_packing
        self._steps = steps
        self._packing: Packing | None = None
        self._failed: set[tuple[int, bytes]] = set()

    def include(self, depth: int, taken: _Taken) -> bool:
        """Whether it is known that the slots from `depth` on cannot be served beside what is taken."""
        if self._packing is None:
            return False
        situation = self._situation(self._packing, depth, taken)
        return situation is None or situation in self._failed

    def add(self, depth: int, taken: _Taken) -> None:
        """Remember that a search for the slots from `depth` on found nothing."""
        if self._packing is None:
            self._packing = self._make_packing()
        situation = self._situation(self._packing, depth, taken)
        if situation is not None:
            if len(self._failed) * len(self._packing) > REMEMBERED:
                self._failed.clear()
            self._failed.add(situation)

    def _situation(self, packing: Packing, depth: int, taken: _Taken) -> tuple[int, bytes] | None:
        self._steps.count += len(packing)
        return packing.situation(depth, taken.amounts, taken.occupied)


def _assign(domains: Domains, rules: Rules, steps: Steps) -> Iterator[Choice]:
    """All choices from the domains that keep sums within `room` and the slots of `separate` apart.

    Slots are decided in the order of the sizes of their domains, large amounts first. If the n-th has more than n
    providers to choose from, no choice before it can leave it without one, and nothing needs to be watched. Otherwise
    matchings tell whether the rest can still be served, and situations that failed are remembered (slots that ask the
    same lead to the same situation in many orders).
    """
    count = len(domains)
    sizes = _sizes(rules.demands)
    order = sorted(range(count), key=lambda slot: (len(domains[slot]), -sizes[slot]))
    tight = any(len(domains[slot]) <= place for place, slot in enumerate(order))
    matchings = _matchings(domains, order, rules) if tight else []
    for matching in matchings:
        possible = matching.complete()
        steps.count += matching.steps
        if not possible:
            return
    taken = _Taken(rules, [[matching for matching in matchings if slot in matching] for slot in range(count)], steps)
    dead_ends = _DeadEnds(lambda: Packing(order, domains, rules.demands, rules.room), steps)
    chosen = [0] * count
    # By depth, the rows that are left for its slot, and how much had been found before the first of them was tried.
    left = [iter(domains[slot]) for slot in order]
    found_before = [0] * count
    found = 0
    depth = 0
    while True:
        steps.check()
        if depth == count:
            found += 1
            yield tuple(chosen)
        else:
            slot = order[depth]
            row = _take_next(slot, left[depth], depth, taken, dead_ends, steps)
            if row is not None:
                chosen[slot] = row
                depth += 1
                if depth < count:
                    left[depth] = iter(domains[order[depth]])
                    found_before[depth] = found
                continue
            if tight and found == found_before[depth]:
                dead_ends.add(depth, taken)
        depth -= 1
        if depth < 0:
            return
        taken.remove(order[depth], chosen[order[depth]])


def _take_next(
    slot: int, rows: Iterator[int], depth: int, taken: _Taken, dead_ends: _DeadEnds, steps: Steps
) -> int | None:
    """Let the slot at this depth take the next of the rows that leads to no known dead end; None if none does."""
    for row in rows:
        steps.count += 1
        if taken.allows(slot, row):
            taken.add(slot, row)
            if not dead_ends.include(depth + 1, taken):
                return row
            taken.remove(slot, row)
    return None


def _sizes(demands: Sequence[Sequence[tuple[str, int]]]) -> list[float]:
    """By slot, the sum of its shares of all that is asked of a class."""
    totals = Counter[str]()
    for wanted in demands:
        totals.update(dict(wanted))
    return [sum(amount / totals[name] for name, amount in wanted) for wanted in demands]


def _matchings(domains: Domains, order: Sequence[int], rules: Rules) -> list[Matching]:
    """What must remain possible: different providers for `separate`; and of each contended class, for each amount,
    that the slots which ask at least that much find providers with room for so many of them."""
    rank = {slot: place for place, slot in enumerate(order)}
    matchings: list[Matching] = []

    def watch(slots: Collection[int], capacity: dict[int, int]) -> None:
        if len(slots) > 1:
            ordered = sorted(slots, key=rank.__getitem__)
            matchings.append(Matching({slot: domains[slot] for slot in ordered}, capacity, rank))

    watch(rules.separate, {row: 1 for slot in rules.separate for row in domains[slot]})
    amounts: dict[str, dict[int, int]] = {}
    for slot, demands in enumerate(rules.demands):
        for resource_class, amount in demands:
            amounts.setdefault(resource_class, {})[slot] = amount
    for resource_class, by_slot in amounts.items():
        room = rules.room[resource_class]
        for least in sorted(set(by_slot.values())):
            askers = [slot for slot, amount in by_slot.items() if amount >= least]
            watch(askers, {row: room[row] // least for slot in askers for row in domains[slot]})
    return matchings
