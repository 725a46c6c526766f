"""What providers of limited room can still take of the slots that are not decided yet: bounds for `search`.

Finding room for amounts of several classes is vector bin packing, so a search for it can take for ever. Three things
keep it short in practice. A provider's room in a class is worth only the largest sum of remaining amounts that fits
into it. It takes no more slots than fit if these were the smallest ones, in each class, and in all classes together,
each weighed by the inverse of how much there is of it. And situations that differ in nothing else are the same: a
search that failed in one fails in all of them.
"""

import functools
import math
from array import array
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate

# An amount of each of some classes.
Amounts = tuple[int, ...]

# Sums of amounts are told apart if there are at most so many; more are not worth the memory.
_MANY_SUMS = 2**16
# How finely classes are weighed against each other.
_WEIGHT = 2**10
# So much is kept of what was worked out for each number of slots.
_KEPT = 2**12


class Packing:
    """The providers of one search, and the slots in the order in which it decides them.

    `demands` by slot, `room` by class and provider row, and `domains` are as in `search`.
    """

    def __init__(
        self,
        order: Sequence[int],
        domains: Sequence[Sequence[int]],
        demands: Sequence[Sequence[tuple[str, int]]],
        room: Mapping[str, Mapping[int, int]],
    ) -> None:
        self._classes = sorted({name for wanted in demands for name, _ in wanted})
        serves: dict[int, list[int]] = {}
        for slot, domain in enumerate(domains):
            for row in domain:
                serves.setdefault(row, []).append(slot)
        # Providers that may serve the same slots are of one kind.
        kinds: dict[tuple[int, ...], int] = {}
        self._kinds = {row: kinds.setdefault(tuple(slots), len(kinds)) for row, slots in serves.items()}
        self._rooms = {row: tuple(max(room[name].get(row, 0), 0) for name in self._classes) for row in serves}
        amounts = [tuple(dict(demands[slot]).get(name, 0) for name in self._classes) for slot in order]
        totals = [sum(column) for column in zip(*self._rooms.values(), strict=True)]
        weights = [_WEIGHT * max(totals) // max(total, 1) for total in totals]
        self._rest = functools.cache(lambda depth: _Rest(amounts[depth:], weights))
        # What is left of a provider, numbered.
        self._states: dict[tuple[int, bool, Amounts], int] = {}

    def __len__(self) -> int:
        return len(self._rooms)

    def situation(
        self, depth: int, taken: Mapping[tuple[str, int], int], occupied: Collection[int]
    ) -> tuple[int, bytes] | None:
        """What decides whether the slots from `depth` on can be served, as something to remember; None if they cannot.

        `taken` by class and row is what the slots before have taken; `occupied` rows are not for slots that want a
        provider of their own.
        """
        rest = self._rest(depth)
        count = 0
        sums = [0] * len(self._classes)
        states = []
        for row, room in self._rooms.items():
            left = tuple([had - taken.get((name, row), 0) for name, had in zip(self._classes, room, strict=True)])
            slots, usable = rest.usable(left)
            count += slots
            sums = [total + amount for total, amount in zip(sums, usable, strict=True)]
            states.append(self._states.setdefault((self._kinds[row], row in occupied, usable), len(self._states)))
        if count < rest.count or any(total < wanted for total, wanted in zip(sums, rest.sums, strict=True)):
            return None
        return depth, array('Q', sorted(states)).tobytes()


class _Rest:
    """The amounts that some slots ask for."""

    def __init__(self, amounts: Sequence[Amounts], weights: Sequence[int]) -> None:
        asking = [wanted for wanted in amounts if any(wanted)]
        columns = list(zip(*asking, strict=True)) or [() for _ in weights]
        self.count = len(asking)
        self.sums = [sum(column) for column in columns]
        self._weights = weights
        # Entry n is the sum of the n + 1 smallest amounts.
        self._smallest = [list(accumulate(sorted(column))) for column in columns]
        weighed = sorted(self._weigh(wanted) for wanted in asking)
        self._smallest_weights = list(accumulate(weighed))
        self._units = [math.gcd(*column) or 1 for column in columns]
        self._possible = [_possible_sums(column, unit) for column, unit in zip(columns, self._units, strict=True)]
        self.usable = functools.lru_cache(_KEPT)(self._usable)

    def _weigh(self, amounts: Amounts) -> int:
        return sum(weight * amount for weight, amount in zip(self._weights, amounts, strict=True))

    def _usable(self, left: Amounts) -> tuple[int, Amounts]:
        """How many of the slots, and how much of each class at most, fit into what is left of a provider."""
        fitting = [bisect_right(smallest, amount) for smallest, amount in zip(self._smallest, left, strict=True)]
        count = min([*fitting, bisect_right(self._smallest_weights, self._weigh(left))])
        if not count:
            return 0, (0,) * len(left)
        return count, tuple(
            worth if possible is None else _largest(possible, worth // unit) * unit
            for worth, possible, unit in zip(map(min, left, self.sums), self._possible, self._units, strict=True)
        )


def _possible_sums(amounts: Sequence[int], unit: int) -> int | None:
    """The sums of some of the amounts, in units, as the bits of a number; None if there are too many."""
    if sum(amounts) // unit > _MANY_SUMS:
        return None
    possible = 1
    for amount in amounts:
        possible |= possible << amount // unit
    return possible


def _largest(possible: int, most: int) -> int:
    return (possible & ((2 << most) - 1)).bit_length() - 1
