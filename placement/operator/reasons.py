"""What keeps one tree from serving a query: the words of `placement-manage explain`. Pure; used by `explain`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from placement.capacity import effective_ratio
from placement.operator.funnel import Condition, GroupState, available, with_class
from placement.query_values import TraitFilter
from placement.solver.members import Cloud
from placement.solver.plan import Chances
from placement.solver.query import CandidateQuery, Group
from placement.solver.topology import Bools


@dataclass(frozen=True)
class Inventory:
    """What a provider has of a class."""

    total: int
    reserved: int
    ratio: float


@dataclass(frozen=True)
class Reason:
    """What is missing: for which group (`*` for all of them together), at which provider (a name, or the tree)."""

    group: str
    provider: str
    text: str


Names = Mapping[int, str]
Details = Mapping[tuple[int, str], Inventory]


@dataclass(frozen=True, eq=False)
class Judge:
    """Tells why a tree does not fit. `groups` are those of the query, each with its conditions and with who is left
    after them."""

    cloud: Cloud
    room: Chances
    query: CandidateQuery
    groups: Sequence[tuple[tuple[Group, Sequence[Condition]], GroupState]]

    def rows(self, number: int) -> list[int]:
        """The provider rows that a tree can use: its own, and the sharing ones in its reach."""
        tree, reach = self.cloud.tree, self.cloud.reach
        root = int(tree.tree_roots[number])
        return [*range(root, int(tree.ends[root])), *reach.lists[reach.numbers[number]]]

    def reasons(self, number: int, stages: Sequence[tuple[str, Bools]], names: Names, details: Details) -> list[Reason]:
        """What is missing at a tree that does not fit, given by number. `stages` are the rules that concern all
        groups, with the trees that each leaves."""
        root = names[int(self.cloud.tree.tree_roots[number])]
        found = [
            reason
            for (group, conditions), state in self.groups
            if not state.trees[number]
            for reason in self._of_group(number, group, conditions, state, names, details)
        ]
        found += [Reason('*', root, text) for text in self._of_root(number)]
        if found:
            return found
        for text, trees in stages:
            if not trees[number]:
                return [Reason('*', root, self._of_stage(number, text))]
        return [Reason('*', root, 'only sharing providers of other trees serve the request here')]

    def _of_root(self, number: int) -> list[str]:
        """What the root provider has or lacks against `root_required`."""
        row = int(self.cloud.tree.tree_roots[number])
        wanted: TraitFilter = self.query.root_required
        lacking = [names for names in wanted.any_of if not self.cloud.with_trait(names)[row]]
        having = [name for name in wanted.forbidden if self.cloud.with_trait([name])[row]]
        return [
            *(f'the root provider lacks trait {" or ".join(names)}' for names in lacking),
            *(f'the root provider has trait {name}, which the request excludes' for name in having),
        ]

    def _of_stage(self, number: int, stage: str) -> str:
        if stage == 'group_policy=isolate':
            useful = np.zeros(self.cloud.size, np.bool_)
            suffixed = [state for ((group, _), state) in self.groups if group.suffix != '']
            for state in suffixed:
                useful |= state.near[0] | (state.far[0] & self.cloud.sharing)
            left = sum(bool(useful[row]) for row in self.rows(number))
            return f'isolate: {len(suffixed)} groups need different providers; {left} can serve any of them'
        if stage == 'same_subtree':
            return 'same_subtree: no provider is above all the others that would serve these groups'
        return 'each group can be served alone, but not all together: they compete for the same resources'

    def _of_group(
        self,
        number: int,
        group: Group,
        conditions: Sequence[Condition],
        state: GroupState,
        names: Names,
        details: Details,
    ) -> list[Reason]:
        """What keeps a tree from serving a group alone."""
        root = names[int(self.cloud.tree.tree_roots[number])]
        refused = [item for item in conditions if item.anchors is not None and not item.anchors[number]]
        if refused:
            return [Reason(group.suffix, root, item.reason) for item in refused]
        found: list[Reason] = []
        for slot, (near, far) in enumerate(zip(state.near, state.far, strict=True)):
            if not available(self.cloud, near, far)[number]:
                mine = [item for item in conditions if item.slot in (None, slot) and item.cover is None]
                found += self._of_slot(number, group, mine, names, details)
        if not found:
            found = [
                Reason(group.suffix, root, item.reason)
                for item in conditions
                if item.cover is not None
                and not available(
                    self.cloud,
                    np.logical_or.reduce(state.near) & item.cover,
                    np.logical_or.reduce(state.far) & item.cover,
                )[number]
            ]
        return found

    def _of_slot(
        self, number: int, group: Group, conditions: Sequence[Condition], names: Names, details: Details
    ) -> list[Reason]:
        """What is missing at the provider that comes nearest."""
        root = int(self.cloud.tree.tree_roots[number])
        own = range(root, int(self.cloud.tree.ends[root]))
        classes = [item.demand[0] for item in conditions if item.demand is not None]
        missing = [name for name in classes if not any(with_class(self.cloud, name)[row] for row in self.rows(number))]
        if missing:
            return [Reason(group.suffix, names[root], f'no {name} inventory') for name in missing]
        stocked = np.ones(self.cloud.size, np.bool_)
        for name in classes:
            stocked &= with_class(self.cloud, name)
        rows = [row for row in self.rows(number) if stocked[row]]
        if not rows:
            return [Reason(group.suffix, names[root], f'no provider has {" and ".join(classes)} together')]

        def failing(row: int) -> list[Condition]:
            return [item for item in conditions if not (item.near if row in own else item.far)[row]]

        nearest = min(rows, key=lambda row: (len(failing(row)), -sum(self._left(row, name) for name in classes), row))
        return [
            Reason(group.suffix, names[nearest], text)
            for item in failing(nearest)
            for text in self._of_condition(nearest, item, details)
        ]

    def _left(self, row: int, name: str) -> int:
        return int(self.room.left[self._place(row, name)])

    def _place(self, row: int, name: str) -> int:
        """Where the inventory of a provider lies in the stock."""
        part = self.cloud.topology.stock.of_class[name]
        return part.start + int(np.searchsorted(self.cloud.topology.stock.rows[part], row))

    def _of_condition(self, row: int, condition: Condition, details: Details) -> list[str]:
        if condition.demand is None:
            return [condition.reason]
        name, amount = condition.demand
        stock, place = self.cloud.topology.stock, self._place(row, name)
        least, most, step = (int(column[place]) for column in (stock.min_unit, stock.max_unit, stock.step_size))
        texts = [
            f'{name} {amount} asked is below min_unit {least}' if amount < least else '',
            f'{name} {amount} asked is above max_unit {most}' if amount > most else '',
            f'{name} {amount} asked is no multiple of step_size {step}' if amount % step else '',
        ]
        if self._left(row, name) < amount:
            texts.insert(0, self._shortage(row, name, amount, details[row, name]))
        return [text for text in texts if text]

    def _shortage(self, row: int, name: str, amount: int, has: Inventory) -> str:
        capacity = int(self.cloud.topology.stock.ceiling[self._place(row, name)])
        left = self._left(row, name)
        over = f' (over capacity by {-left})' if left < 0 else ''
        return (
            f'{name} {max(left, 0)} free of {amount} asked; {capacity - left} used of {capacity}{over} = '
            f'(total {has.total} − reserved {has.reserved}) × ratio {effective_ratio(has.ratio)}'
        )
