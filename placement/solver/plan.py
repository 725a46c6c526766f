"""The query meets the cloud: who may serve what, before anything is combined (contract: candidates.md 1.4 end,
2.3, 2.4).

A request is a row of *slots*. A slot takes exactly one provider: a suffixed group is one slot, the un-suffixed group
is one slot for each of its classes. `bind` looks names up and evaluates all rules that concern one provider (or a
provider and its anchor) for the whole cloud at once; what depends on usage is left to `Chances`.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from placement import errors
from placement.query_values import MemberFilter, TraitFilter
from placement.solver.members import Cloud
from placement.solver.query import CandidateQuery, Group
from placement.solver.topology import HUGE, Bools, Ints


@dataclass(frozen=True, eq=False)
class Slot:
    """One provider to be chosen.

    `demands` are class names and amounts, none for a resourceless group. `near` (by provider row) says who may be
    chosen at the anchor that is its own root, `far` who may be chosen as a sharing provider of another tree; capacity
    is not yet looked at.
    """

    suffix: str
    demands: tuple[tuple[str, int], ...]
    near: Bools
    far: Bools


@dataclass(frozen=True, eq=False)
class Plan:
    """A request bound to a cloud. Slots are referred to by their position.

    `anchors` (by tree number) may anchor a candidate. Slots in `separate` take different providers. For each tuple of
    `subtrees`, one of the providers of these slots is an ancestor of all of them. For each `(slots, rows)` of
    `covers` at least one of these slots takes a provider for which `rows` holds. `totals` is what is asked in all of
    the classes that several slots ask for.
    """

    cloud: Cloud
    slots: tuple[Slot, ...]
    anchors: Bools
    separate: tuple[int, ...]
    subtrees: tuple[tuple[int, ...], ...]
    covers: tuple[tuple[tuple[int, ...], Bools], ...]
    totals: dict[str, int]


class NothingMatches(Exception):
    """The answer is empty, and later names are not looked at."""


class NameUnknown(Exception):
    """A group names what does not exist. That is the answer unless one of the `earlier` groups has no option at all."""

    def __init__(self, error: errors.PlacementError, earlier: tuple[Group, ...]) -> None:
        super().__init__(str(error))
        self.error = error
        self.earlier = earlier


def bind(query: CandidateQuery, cloud: Cloud) -> Plan:
    """The plan of a query, groups looked at in their order.

    :raises NothingMatches: no anchor or no member of the wanted aggregates exists
    :raises NameUnknown: a group names an unknown class or trait
    :raises errors.CandidateTraitUnknown: `root_required` names an unknown trait
    """
    at_root = _with_traits(query.root_required, cloud)[cloud.tree.tree_roots]
    # Only a condition can leave nothing: without one, names are looked at even if there is no provider at all.
    if query.root_required != TraitFilter() and not at_root.any():
        raise NothingMatches()
    slots: list[Slot] = []
    by_suffix: dict[str, tuple[int, ...]] = {}
    covers: tuple[tuple[tuple[int, ...], Bools], ...] = ()
    for position, group in enumerate(query.groups):
        try:
            matching = _group_slots(group, cloud)
        except (errors.ResourcesClassUnknown, errors.CandidateTraitUnknown) as error:
            raise NameUnknown(error, query.groups[:position]) from error
        by_suffix[group.suffix] = tuple(range(len(slots), len(slots) + len(matching)))
        slots += matching
        if group.suffix == '':
            at_root = at_root & _anchors(group, cloud)
            covers = tuple((by_suffix[''], cloud.with_trait(names)) for names in group.traits.any_of)
    asked = Counter(resource_class for slot in slots for resource_class, _ in slot.demands)
    return Plan(
        cloud=cloud,
        slots=tuple(slots),
        anchors=at_root,
        separate=tuple(index for index, slot in enumerate(slots) if query.isolate and slot.suffix != ''),
        subtrees=tuple(tuple(by_suffix[suffix][0] for suffix in suffixes) for suffixes in query.same_subtrees),
        covers=covers,
        totals={
            name: sum(amount for slot in slots for resource_class, amount in slot.demands if resource_class == name)
            for name, count in asked.items()
            if count > 1
        },
    )


def _group_slots(group: Group, cloud: Cloud) -> list[Slot]:
    """The slots of a group. The order of the checks decides which error, or none, is reported."""
    for resource_class in group.resources:
        if resource_class not in cloud.topology.stock.of_class:
            raise errors.ResourcesClassUnknown(resource_class=resource_class)
    member = _member(group.member_of, cloud)
    if group.member_of.any_of and not member.any():
        raise NothingMatches()
    required = _with_traits(group.traits, cloud)
    outside = ~cloud.in_aggregate(group.member_of.forbidden)
    if group.in_tree is not None and group.in_tree not in cloud.tree.rows:
        raise NothingMatches()
    if group.suffix != '':
        allowed = required & member & outside
        if group.resources and group.in_tree is not None:
            allowed &= cloud.tree.roots == cloud.tree.roots[cloud.tree.rows[group.in_tree]]
        if not group.resources and not group.traits.any_of and not group.member_of.any_of:
            # Only negative conditions: such a group has no option.
            allowed[:] = False
        return [Slot(group.suffix, tuple(group.resources.items()), allowed, allowed)]
    # The un-suffixed group: traits are required of the used providers together, see `Plan.covers`; the anchor's
    # membership counts for its tree.
    apart = ~cloud.with_trait(group.traits.forbidden)
    near = apart & outside & (member | member[cloud.tree.roots])
    far = apart & outside & member & (group.in_tree is None)
    return [Slot('', (demand,), near, far) for demand in group.resources.items()]


def _anchors(group: Group, cloud: Cloud) -> Bools:
    """By tree number, where the un-suffixed group can be served at all."""
    allowed = ~cloud.in_aggregate(group.member_of.forbidden)[cloud.tree.tree_roots]
    if group.in_tree is not None:
        allowed &= cloud.tree.tree_roots == cloud.tree.roots[cloud.tree.rows[group.in_tree]]
    return allowed


def _member(wanted: MemberFilter, cloud: Cloud) -> Bools:
    """By provider row, direct membership in an aggregate of every set."""
    member = np.ones(cloud.size, np.bool_)
    for uuids in wanted.any_of:
        member &= cloud.in_aggregate(uuids)
    return member


def _with_traits(wanted: TraitFilter, cloud: Cloud) -> Bools:
    """By provider row, having a trait of every set and none of the forbidden ones. Raises
    errors.CandidateTraitUnknown."""
    for names in (*wanted.any_of, wanted.forbidden):
        for name in names:
            if name not in cloud.traits:
                raise errors.CandidateTraitUnknown(name=name)
    matching = ~cloud.with_trait(wanted.forbidden)
    for names in wanted.any_of:
        matching &= cloud.with_trait(names)
    return matching


class Chances:
    """Who can serve each slot, given the usage known so far (by inventory; what is not known counts as zero).

    `near` and `far` are those of the slots, cut down to providers with enough left. `alive` (by tree number) are the
    anchors that pass every test that looks at all providers of an anchor at once; `flat` are those of them that have
    exactly one candidate: the root serves every slot.
    """

    def __init__(self, plan: Plan, used: Ints) -> None:
        cloud = plan.cloud
        self.plan = plan
        self.left = cloud.topology.stock.ceiling - used
        fits = [self.fits(slot.demands) for slot in plan.slots]
        self.near = [slot.near & fit for slot, fit in zip(plan.slots, fits, strict=True)]
        self.far = [slot.far & fit for slot, fit in zip(plan.slots, fits, strict=True)]
        near_any = [cloud.any_in_tree(mask) for mask in self.near]
        far_any = [cloud.reach.any(mask) for mask in self.far]
        self.alive = plan.anchors.copy()
        for near, far in zip(near_any, far_any, strict=True):
            self.alive &= near | far
        for slots, rows in plan.covers:
            self.alive &= self._any_of(slots, rows)
        self._bound_amounts()
        if len(plan.separate) > 1:
            self._bound_separate()
        nothing = np.zeros(len(cloud.tree.tree_roots), np.bool_)
        self.has_near = np.logical_or.reduce(near_any, initial=False) if near_any else nothing
        has_far = np.logical_or.reduce(far_any) if far_any else nothing
        single = cloud.tree.ends[cloud.tree.tree_roots] - cloud.tree.tree_roots == 1
        self.flat = self.alive & single & ~has_far & ~cloud.sharing[cloud.tree.tree_roots]

    def room(self, resource_class: str) -> tuple[Ints, Ints]:
        """The provider rows with inventory of a class, and the largest sum that each of them can give."""
        stock = self.plan.cloud.topology.stock
        part = stock.of_class[resource_class]
        return stock.rows[part], np.minimum(self.left[part], stock.max_unit[part])

    def fits(self, demands: Iterable[tuple[str, int]]) -> Bools:
        """By provider row: enough left of all these amounts by class, within the unit rules."""
        stock = self.plan.cloud.topology.stock
        fits = np.ones(self.plan.cloud.size, np.bool_)
        for resource_class, amount in demands:
            mask = np.zeros(self.plan.cloud.size, np.bool_)
            if amount < HUGE:
                part = stock.of_class[resource_class]
                mask[stock.rows[part]] = (
                    (amount <= self.left[part])
                    & (stock.min_unit[part] <= amount)
                    & (amount <= stock.max_unit[part])
                    & (amount % stock.step_size[part] == 0)
                )
            fits &= mask
        return fits

    def _any_of(self, slots: tuple[int, ...], rows: Bools) -> Bools:
        """By tree number: some of the slots can be served by a provider for which `rows` holds."""
        cloud = self.plan.cloud
        near = np.logical_or.reduce([self.near[slot] for slot in slots])
        far = np.logical_or.reduce([self.far[slot] for slot in slots])
        return cloud.any_in_tree(near & rows) | cloud.reach.any(far & rows)

    def _bound_amounts(self) -> None:
        """A class that several slots ask for must be there in sum."""
        cloud = self.plan.cloud
        for name, total in self.plan.totals.items():
            if total >= HUGE:
                self.alive[:] = False
                continue
            rows, room = self.room(name)
            useful = np.zeros(cloud.size, np.int64)
            useful[rows] = np.clip(room, 0, total)
            slots = [index for index, slot in enumerate(self.plan.slots) if name in dict(slot.demands)]
            near = np.logical_or.reduce([self.near[slot] for slot in slots])
            far = np.logical_or.reduce([self.far[slot] for slot in slots])
            self.alive &= cloud.sum_by_tree(useful * near) + cloud.reach.sums(useful * far) >= total

    def _bound_separate(self) -> None:
        """Slots that take different providers need as many."""
        cloud = self.plan.cloud
        near = np.logical_or.reduce([self.near[slot] for slot in self.plan.separate])
        far = np.logical_or.reduce([self.far[slot] for slot in self.plan.separate])
        self.alive &= cloud.sum_by_tree(near) + cloud.reach.sums(far) >= len(self.plan.separate)
