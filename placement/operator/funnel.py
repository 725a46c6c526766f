"""What each condition of a query leaves over: the funnel of `placement-manage explain`. Pure.

A group of a query is taken apart into `Condition`s; together they are exactly the masks of the group's slots in
`placement.solver.plan` (contract: candidates.md 2.3, 2.4), which tests/property/test_explain.py holds them to.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from placement.solver.members import Cloud
from placement.solver.plan import Chances
from placement.solver.query import Group
from placement.solver.topology import Bools, Ints


@dataclass(frozen=True, eq=False)
class Condition:
    """One thing that a group asks: `text` says it, `reason` what is the matter with a provider (or an anchor) that does
    not meet it.

    `slot` is the position of the slot it is about, None for all slots of the group. `near` and `far` (by provider row)
    are as in `plan.Slot`. `anchors` (by tree number), if given, says where the group can be served at all; `cover` (by
    provider row), if given, that one of the used providers must be among these. `demand` is the class and amount of a
    condition about room.
    """

    text: str
    reason: str
    near: Bools
    far: Bools
    slot: int | None = None
    anchors: Bools | None = None
    cover: Bools | None = None
    demand: tuple[str, int] | None = None


@dataclass(frozen=True)
class Step:
    """A row of the funnel: after this condition, how many providers may serve the group and how many trees are left."""

    group: str
    condition: str
    providers: int | None
    trees: int


@dataclass(frozen=True, eq=False)
class GroupState:
    """Who may serve each slot of a group, and which trees (by number) are left."""

    near: list[Bools]
    far: list[Bools]
    trees: Bools

    def providers(self, slot: int | None) -> int:
        """How many providers may serve a slot, or some slot of the group."""
        masks = [*self.near, *self.far] if slot is None else [self.near[slot], self.far[slot]]
        return int(np.logical_or.reduce(masks).sum())


def conditions(group: Group, cloud: Cloud, room: Chances) -> list[Condition]:
    """What a group asks, in the order of the funnel. `room` is of any plan on this cloud, with all usage read."""
    suffixed = group.suffix != ''
    found: list[Condition] = []
    for position, demand in enumerate(group.resources.items()):
        name, amount = demand
        slot = 0 if suffixed else position
        stocked = with_class(cloud, name)
        fits = room.fits([demand])
        found.append(Condition(f'{name} inventory', f'no {name} inventory', stocked, stocked, slot))
        found.append(
            Condition(f'room for {name}:{amount}', f'no room for {name}:{amount}', fits, fits, slot, demand=demand)
        )
    found += _trait_conditions(group, cloud)
    found += _aggregate_conditions(group, cloud)
    everywhere, nowhere = np.ones(cloud.size, np.bool_), np.zeros(cloud.size, np.bool_)
    if group.in_tree is not None:
        text, reason = f'in the tree of {group.in_tree}', f'is not in the tree of {group.in_tree}'
        row = cloud.tree.rows.get(group.in_tree)
        root = -1 if row is None else int(cloud.tree.roots[row])
        inside = cloud.tree.roots == root
        if not suffixed:
            found.append(Condition(text, reason, everywhere, nowhere, anchors=cloud.tree.tree_roots == root))
        elif group.resources or row is None:
            found.append(Condition(text, reason, inside, inside))
    if suffixed and not group.resources and not group.traits.any_of and not group.member_of.any_of:
        text = 'a trait or aggregate to look for'
        found.append(Condition(text, 'the group only excludes; that never finds anything', nowhere, nowhere))
    return found


def with_class(cloud: Cloud, name: str) -> Bools:
    """By provider row, whether it has inventory of a class."""
    mask = np.zeros(cloud.size, np.bool_)
    mask[cloud.topology.stock.rows[cloud.topology.stock.of_class[name]]] = True
    return mask


def _trait_conditions(group: Group, cloud: Cloud) -> Iterator[Condition]:
    everywhere = np.ones(cloud.size, np.bool_)
    for names in group.traits.any_of:
        having = cloud.with_trait(names)
        text = f'trait {" or ".join(names)}'
        if group.suffix != '':
            yield Condition(text, f'lacks {text}', having, having)
        else:
            reason = f'none of the providers that could serve the request has {text}'
            yield Condition(text, reason, everywhere, everywhere, cover=having)
    for name in group.traits.forbidden:
        lacking = ~cloud.with_trait([name])
        yield Condition(f'no trait {name}', f'has trait {name}, which the request excludes', lacking, lacking)


def _aggregate_conditions(group: Group, cloud: Cloud) -> Iterator[Condition]:
    wanted = group.member_of
    suffixed = group.suffix != ''
    if wanted.any_of:
        member = np.ones(cloud.size, np.bool_)
        for uuids in wanted.any_of:
            member &= cloud.in_aggregate(uuids)
        # The membership of the anchor counts for its tree.
        near = member if suffixed else member | member[cloud.tree.roots]
        text = ' and of '.join(' or '.join(uuids) for uuids in wanted.any_of)
        yield Condition(f'member of {text}', f'is not a member of {text}', near, member)
    for uuid in wanted.forbidden:
        outside = ~cloud.in_aggregate([uuid])
        anchors = None if suffixed else outside[cloud.tree.tree_roots]
        reason = f'is a member of {uuid}, which the request excludes'
        yield Condition(f'not member of {uuid}', reason, outside, outside, anchors=anchors)


def narrow(group: Group, cloud: Cloud, asked: Iterable[Condition]) -> GroupState:
    """Who may serve a group under these of its conditions."""
    # As in the plan: the un-suffixed group has a slot for each class, another group has one.
    slots = range(1 if group.suffix != '' else len(group.resources))
    near = [np.ones(cloud.size, np.bool_) for _ in slots]
    far = [cloud.sharing.copy() for _ in slots]
    trees = np.ones(len(cloud.tree.tree_roots), np.bool_)
    covers: list[Bools] = []
    for condition in asked:
        for slot in slots if condition.slot is None else (condition.slot,):
            near[slot] &= condition.near
            far[slot] &= condition.far
        if condition.anchors is not None:
            trees &= condition.anchors
        if condition.cover is not None:
            covers.append(condition.cover)
    for mine, others in zip(near, far, strict=True):
        trees &= available(cloud, mine, others)
    for cover in covers:
        trees &= available(cloud, np.logical_or.reduce(near) & cover, np.logical_or.reduce(far) & cover)
    return GroupState(near, far, trees)


def available(cloud: Cloud, near: Bools, far: Bools) -> Bools:
    """By tree number, whether one of these providers is in the tree or within its reach."""
    return cloud.any_in_tree(near) | cloud.reach.any(far)


def steps(group: Group, cloud: Cloud, asked: Sequence[Condition]) -> Iterator[Step]:
    """The rows of the funnel for a group."""
    for count, condition in enumerate(asked, 1):
        state = narrow(group, cloud, asked[:count])
        yield Step(group.suffix, condition.text, state.providers(condition.slot), int(state.trees.sum()))


def unmet(asked: Iterable[Condition], cloud: Cloud) -> Ints:
    """By tree number, how many conditions cannot be met there even if each is looked at alone."""
    count = np.zeros(len(cloud.tree.tree_roots), np.int64)
    for condition in asked:
        met = available(cloud, condition.near, condition.far & cloud.sharing)
        if condition.anchors is not None:
            met &= condition.anchors
        if condition.cover is not None:
            met &= available(cloud, condition.cover, condition.cover & cloud.sharing)
        count += ~met
    return count
