"""Why a query has the candidates that it has: `explain`. Called by `placement-manage explain` and by `forecast`.

Who fits is what the solver finds (`Search.serving`); what the conditions leave over and why a host is out is told by
the conditions of `funnel`, which are the solver's filters one by one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import sqlalchemy as sa

from placement.db.by_ids import among
from placement.db.tables import inventories, resource_classes, resource_providers
from placement.operator import funnel
from placement.operator.funnel import GroupState, Step
from placement.operator.reasons import Inventory, Judge, Reason
from placement.query_values import TraitFilter
from placement.solver.members import Cloud
from placement.solver.mirror import Mirror
from placement.solver.plan import Chances, NameUnknown, NothingMatches, Plan, bind
from placement.solver.query import CandidateQuery, Group
from placement.solver.solve import Search, Settings
from placement.solver.source import Source
from placement.solver.topology import HUGE, Bools, Floats
from placement.solver.usage import Usage


class HostUnknown(Exception):
    """No provider has this name or uuid."""

    def __init__(self, host: str) -> None:
        super().__init__(f'no resource provider has the name or uuid {host!r}')


@dataclass(frozen=True)
class Host:
    """A tree, named by its root, and the verdict on it: it fits, or what is missing."""

    uuid: str
    name: str
    fits: bool
    reasons: tuple[Reason, ...]


@dataclass(frozen=True)
class Explanation:
    """`fitting` are the uuids of the roots of the trees that candidates allocate from, in the solver's order; `hosts`
    those that were asked for, or else the nearest misses, nearest first."""

    providers: int
    trees: int
    funnel: tuple[Step, ...]
    fitting: tuple[str, ...]
    hosts: tuple[Host, ...]


class Survey:
    """A query evaluated on the whole cloud.

    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """

    def __init__(self, connection: sa.Connection, query: CandidateQuery) -> None:
        source = Source(connection)
        topology = Mirror().topology(connection)
        self.query = query
        self.cloud: Cloud = source.cloud(query, topology)
        self.usage = Usage(topology, source.used)
        self.usage.require(np.arange(topology.size))
        # Of amounts alone, so that it can be made whatever else is asked.
        bare = replace(
            query,
            groups=tuple(Group(group.suffix, group.resources) for group in query.groups),
            root_required=TraitFilter(),
        )
        try:
            self.room = Chances(bind(bare, self.cloud), self.usage.used)
            self.plan: Plan | None = bind(query, self.cloud)
        except NothingMatches:
            self.plan = None
        except NameUnknown as unknown:
            raise unknown.error from None
        self.groups = [(group, funnel.conditions(group, self.cloud, self.room)) for group in query.groups]
        self.states: list[GroupState] = [
            funnel.narrow(group, self.cloud, conditions) for group, conditions in self.groups
        ]

    @property
    def nothing(self) -> Bools:
        """By tree number: no tree."""
        return np.zeros(len(self.cloud.tree.tree_roots), np.bool_)

    def fitting(self) -> Bools:
        """By tree number, whether candidates allocate from it."""
        return self.nothing if self.plan is None else self._search(self.plan).serving()

    def at_root(self) -> Bools:
        """By tree number, whether the root has the traits that it must have."""
        wanted = self.query.root_required
        allowed = ~self.cloud.with_trait(wanted.forbidden)
        for names in wanted.any_of:
            allowed &= self.cloud.with_trait(names)
        return allowed[self.cloud.tree.tree_roots]

    def stages(self) -> list[tuple[str, Bools]]:
        """The rules that concern all groups, one after the other: a text, and the trees (by number) that are left."""
        trees = np.logical_and.reduce([state.trees for state in self.states])
        found = [('every group, looked at alone', trees)] if len(self.groups) > 1 else []
        if self.query.root_required != TraitFilter():
            trees = trees & self.at_root()
            found.append((f'root: {traits_text(self.query.root_required)}', trees))
        if self.plan is None:
            return [*found, ('together', self.nothing)]
        plan = replace(self.plan, separate=(), subtrees=())
        found.append(('together', self._search(plan).anchored()))
        if len(self.plan.separate) > 1:
            plan = replace(plan, separate=self.plan.separate)
            found.append(('group_policy=isolate', self._search(plan).anchored()))
        if self.plan.subtrees:
            found.append(('same_subtree', self._search(self.plan).anchored()))
        return found

    def _search(self, plan: Plan) -> Search:
        return Search(self.query, plan, self.usage, Settings())

    def distance(self) -> Floats:
        """By tree number, how far it is from fitting: conditions that are not met, and how much of a class is
        missing."""
        distance = (
            funnel.unmet((item for _, asked in self.groups for item in asked), self.cloud).astype(np.float64)
            + ~self.at_root()
        )
        stock = self.cloud.topology.stock
        for group in self.query.groups:
            for name, amount in group.resources.items():
                left = np.zeros(self.cloud.size, np.int64)
                part = stock.of_class[name]
                enough = min(amount, HUGE)
                left[stock.rows[part]] = np.clip(self.room.left[part], 0, enough)
                distance += 1 - np.maximum.reduceat(left, self.cloud.tree.tree_roots) / enough if len(left) else 0
        return distance


def explain(
    connection: sa.Connection, query: CandidateQuery, hosts: Sequence[str] = (), misses: int = 10
) -> Explanation:
    """What becomes of a query, in one read transaction.

    `hosts` are names or uuids of providers to tell about; without any, the `misses` trees that come nearest.

    :raises HostUnknown: no such provider
    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """
    survey = Survey(connection, query)
    tree = survey.cloud.tree
    fits = survey.fitting()
    stages = survey.stages()
    if hosts:
        chosen = _trees_of(connection, survey.cloud, hosts)
    else:
        out = np.flatnonzero(~fits)
        chosen = out[np.argsort(survey.distance()[out], kind='stable')][:misses].tolist()
    judge = Judge(survey.cloud, survey.room, survey.query, list(zip(survey.groups, survey.states, strict=True)))
    rows = sorted({row for number in chosen for row in judge.rows(number)})
    names = _names(connection, survey.cloud, rows)
    details = _inventories(connection, survey.cloud, rows)
    return Explanation(
        providers=survey.cloud.size,
        trees=len(tree.tree_roots),
        funnel=tuple(_funnel(survey, stages, fits)),
        fitting=tuple(tree.uuids[row] for row in tree.tree_roots[fits].tolist()),
        hosts=tuple(
            Host(
                uuid=tree.uuids[root],
                name=names[root],
                fits=bool(fits[number]),
                reasons=() if fits[number] else tuple(dict.fromkeys(judge.reasons(number, stages, names, details))),
            )
            for number, root in ((number, int(tree.tree_roots[number])) for number in chosen)
        ),
    )


def _funnel(survey: Survey, stages: list[tuple[str, Bools]], fits: Bools) -> list[Step]:
    found = [step for group, conditions in survey.groups for step in funnel.steps(group, survey.cloud, conditions)]
    found += [Step('*', text, None, int(trees.sum())) for text, trees in stages]
    return [*found, Step('*', 'trees that candidates use, sharing ones included', None, int(fits.sum()))]


def traits_text(wanted: TraitFilter) -> str:
    """What a filter asks, in words."""
    return ', '.join([*(' or '.join(names) for names in wanted.any_of), *(f'no {name}' for name in wanted.forbidden)])


def _trees_of(connection: sa.Connection, cloud: Cloud, hosts: Sequence[str]) -> list[int]:
    """The tree numbers of providers given by name or uuid. Raises HostUnknown."""
    columns = resource_providers.c
    found = connection.execute(
        sa.select(columns.uuid, columns.name).where(columns.uuid.in_(hosts) | columns.name.in_(hosts))
    )
    uuids = {text: uuid for uuid, name in found for text in (name, uuid)}
    for host in hosts:
        if host not in uuids:
            raise HostUnknown(host)
    rows = [cloud.tree.rows[uuids[host]] for host in hosts]
    return list(dict.fromkeys(cloud.tree.tree_numbers[rows].tolist()))


def _names(connection: sa.Connection, cloud: Cloud, rows: Sequence[int]) -> Mapping[int, str]:
    """The names of providers, by row."""
    ids = cloud.tree.ids[rows].tolist()
    columns = resource_providers.c
    names = dict(map(tuple, connection.execute(sa.select(columns.id, columns.name).where(among(columns.id, ids)))))
    return {row: names[provider_id] or cloud.tree.uuids[row] for row, provider_id in zip(rows, ids, strict=True)}


def _inventories(connection: sa.Connection, cloud: Cloud, rows: Sequence[int]) -> Mapping[tuple[int, str], Inventory]:
    """The inventories of providers, by row and class."""
    ids = cloud.tree.ids[rows].tolist()
    row_of_id = dict(zip(ids, rows, strict=True))
    columns = inventories.c
    found = connection.execute(
        sa.select(
            columns.resource_provider_id,
            resource_classes.c.name,
            columns.total,
            columns.reserved,
            columns.allocation_ratio,
        )
        .join(resource_classes, resource_classes.c.id == columns.resource_class_id)
        .where(among(columns.resource_provider_id, ids))
    )
    return {(row_of_id[key], name): Inventory(*numbers) for key, name, *numbers in found}
