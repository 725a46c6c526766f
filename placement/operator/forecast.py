"""How many more of a request fit, and what runs out first: `forecast`. Called by `placement-manage forecast`.

The cloud is filled in memory: at each tree, the first candidate that the solver finds is claimed as often as it can be,
until nobody has a candidate any more. Where choices exclude each other another order might place a few more, so the
numbers are safe ones: that many do fit.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import sqlalchemy as sa

from placement.db.by_ids import among
from placement.db.tables import placement_aggregates, resource_provider_aggregates, resource_providers
from placement.operator import funnel
from placement.operator.explain import Survey
from placement.solver.anchors import View
from placement.solver.plan import Chances, Plan
from placement.solver.query import CandidateQuery
from placement.solver.search import Steps
from placement.solver.topology import Bools, Ints


@dataclass(frozen=True)
class Place:
    """A host, or the hosts of an aggregate, and how many more fit there."""

    uuid: str
    name: str
    trees: int
    more: int


@dataclass(frozen=True)
class Forecast:
    """`more` in all; `hosts` with at least one more, the roomiest first; `aggregates` of these hosts (a host may be in
    several); `limits`: of how many of these hosts a class is full in the end, the scarcest first."""

    trees: int
    more: int
    hosts: tuple[Place, ...]
    aggregates: tuple[Place, ...]
    limits: dict[str, int]


def forecast(connection: sa.Connection, query: CandidateQuery) -> Forecast:
    """Fill the cloud with a request, in one read transaction. The query is of a version from 1.29 on.

    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """
    survey = Survey(connection, query)
    tree = survey.cloud.tree
    counts, used = np.zeros(len(tree.tree_roots), np.int64), survey.usage.used.copy()
    if survey.plan is not None:
        _fill(survey.plan, counts, used)
    numbers = np.flatnonzero(counts)
    numbers = numbers[np.argsort(-counts[numbers], kind='stable')]
    ids = tree.ids[tree.tree_roots[numbers]].tolist()
    more = dict(zip(ids, counts[numbers].tolist(), strict=True))
    return Forecast(
        trees=len(tree.tree_roots),
        more=int(counts.sum()),
        hosts=tuple(_hosts(connection, more)),
        aggregates=tuple(_aggregates(connection, more)),
        limits=_limits(survey, used, counts),
    )


def _fill(plan: Plan, counts: Ints, used: Ints) -> None:
    """Claim until nothing fits: add to `counts` (by tree number) and to `used` (by inventory)."""
    stock = plan.cloud.topology.stock
    names = {name for slot in plan.slots for name, _ in slot.demands}
    places = {
        name: dict(zip(stock.rows[part].tolist(), range(part.start, part.stop), strict=True))
        for name, part in ((name, stock.of_class[name]) for name in names)
    }
    claimed = True
    while claimed:
        claimed = False
        chances = Chances(plan, used)
        view = View(plan, chances, Steps())
        for number in np.flatnonzero(chances.alive).tolist():
            choice = next(view.choices(number), None)
            if choice is None:
                continue
            amounts: Counter[int] = Counter()
            for slot, row in zip(plan.slots, choice, strict=True):
                for name, amount in slot.demands:
                    amounts[places[name][row]] += amount
            # Sharing providers may have been filled by the trees before.
            times = min(int(stock.ceiling[place] - used[place]) // amount for place, amount in amounts.items())
            if times > 0:
                claimed = True
                counts[number] += times
                for place, amount in amounts.items():
                    used[place] += times * amount


def _limits(survey: Survey, used: Ints, counts: Ints) -> dict[str, int]:
    """Of how many of the hosts that took something a class is full."""
    room = Chances(survey.room.plan, used)
    full: dict[str, Bools] = {}
    for group in survey.query.groups:
        for condition in funnel.conditions(group, survey.cloud, room):
            if condition.demand is not None:
                name = condition.demand[0]
                lacking = ~funnel.available(survey.cloud, condition.near, condition.far & survey.cloud.sharing)
                full[name] = full.get(name, lacking) | lacking
    found = Counter({name: int((lacking & (counts > 0)).sum()) for name, lacking in full.items()})
    return {name: count for name, count in found.most_common() if count}


def _hosts(connection: sa.Connection, more: Mapping[int, int]) -> list[Place]:
    """The hosts in their order, with their names."""
    columns = resource_providers.c
    statement = sa.select(columns.id, columns.uuid, columns.name).where(among(columns.id, list(more)))
    found = {row.id: row for row in connection.execute(statement)}
    return [Place(found[key].uuid, found[key].name or '', 1, count) for key, count in more.items()]


def _aggregates(connection: sa.Connection, more: Mapping[int, int]) -> list[Place]:
    """The aggregates of the hosts, those with room for most first."""
    columns = resource_provider_aggregates.c
    statement = (
        sa.select(placement_aggregates.c.uuid, columns.resource_provider_id)
        .join(placement_aggregates, placement_aggregates.c.id == columns.aggregate_id)
        .where(among(columns.resource_provider_id, list(more)))
    )
    trees: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    for uuid, provider_id in connection.execute(statement):
        trees[uuid] += 1
        sums[uuid] += more[provider_id]
    return [
        Place(uuid, '', trees[uuid], count)
        for uuid, count in sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    ]
