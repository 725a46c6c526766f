"""GET /resource_providers: the providers that pass all filters, each looked at on its own (contract: http.md 5.4).

Called by `handlers/resource_providers.py`. All filters are conditions of one SELECT. Names are looked up before it,
since a name that does not exist is an error - unless an earlier filter already leaves nothing (`_refuse_unknown`).
"""

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson
import sqlalchemy as sa

from placement import errors, uuids
from placement.db import dialect, engine, tables
from placement.objects import resource_provider
from placement.query_values import MemberFilter, TraitFilter
from placement.schemas import MAX_INT

_PROVIDERS = tables.resource_providers.c
_INVENTORIES = tables.inventories.c
_ALLOCATIONS = tables.allocations.c
_AGGREGATES = tables.placement_aggregates.c
_MEMBERS = tables.resource_provider_aggregates.c
_LINKS = tables.resource_provider_traits.c

Condition = sa.ColumnElement[bool]


@dataclass(frozen=True)
class Search:
    """What providers are wanted; what is empty or None does not filter."""

    name: str | None = None
    uuid: str | None = None
    in_tree: str | None = None
    traits: TraitFilter = TraitFilter()
    members: MemberFilter = MemberFilter()
    # Amounts by class name.
    resources: Mapping[str, int] = field(default_factory=dict)


_ROOT_OF = sa.select(resource_provider.root_id()).where(_PROVIDERS.uuid == sa.bindparam('of'))


class Found(NamedTuple):
    """A provider as the API shows it."""

    uuid: str
    name: str | None
    generation: int
    parent_uuid: str | None
    root_uuid: str


# The providers, and the time of the latest change of one (None without providers).
Result = tuple[list[Found], datetime.datetime | None]

# PERF: a thousand rows take five times as long on their way through PyMySQL.
_SHOWN = resource_provider.DESCRIBE.selected_columns
_ALL_IN_ONE_ROW = resource_provider.DESCRIBE.with_only_columns(
    sa.func.aggregate_strings(sa.func.json_array(_PROVIDERS.id, *[_SHOWN[name] for name in Found._fields]), ','),
    sa.func.max(sa.func.coalesce(_PROVIDERS.updated_at, _PROVIDERS.created_at)),
)


def search(wanted: Search) -> Result:
    """The providers, by id, in at most four statements.

    Raises errors.RequiredTraitUnknown, errors.ResourcesClassUnknown.
    """
    return engine.read(lambda connection: _search(connection, wanted))


def _search(connection: sa.Connection, wanted: Search) -> Result:
    conditions: list[Condition] = []
    if wanted.in_tree is not None:
        root = connection.scalar(_ROOT_OF, {'of': uuids.canonical(wanted.in_tree)})
        if root is None:
            return [], None
        conditions.append(sa.or_(_PROVIDERS.root_provider_id == root, _PROVIDERS.id == root))
    if wanted.name:
        conditions.append(_PROVIDERS.name == wanted.name)
    if wanted.uuid is not None:
        conditions.append(_PROVIDERS.uuid == uuids.canonical(wanted.uuid))
    names = [*(name for any_of in wanted.traits.any_of for name in any_of), *wanted.traits.forbidden]
    trait_ids = _ids(connection, tables.traits, names)
    class_ids = _ids(connection, tables.resource_classes, wanted.resources)
    has_traits = [_has_trait(trait_ids.get(name) for name in any_of) for any_of in wanted.traits.any_of]
    is_member = [_is_member(any_of) for any_of in wanted.members.any_of]
    if len(trait_ids) < len(set(names)) or len(class_ids) < len(wanted.resources):
        _refuse_unknown(connection, wanted, trait_ids, class_ids, has_traits, is_member)
        return [], None
    conditions += [*has_traits, *is_member]
    if wanted.traits.forbidden:
        conditions.append(~_has_trait(trait_ids[name] for name in wanted.traits.forbidden))
    if wanted.members.forbidden:
        conditions.append(~_is_member(wanted.members.forbidden))
    if wanted.resources:
        conditions.append(_serves({class_ids[name]: amount for name, amount in wanted.resources.items()}))
    texts, changed_at = connection.execute(_ALL_IN_ONE_ROW.where(*conditions)).one()
    found = sorted(orjson.loads(f'[{texts or ""}]'))
    return [Found(*columns) for _, *columns in found], changed_at


def _refuse_unknown(
    connection: sa.Connection,
    wanted: Search,
    trait_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
    has_traits: Sequence[Condition],
    is_member: Sequence[Condition],
) -> None:
    """Raise the error of the first unknown name; or return if, in the order of the contract, a filter that no provider
    at all passes comes before it and has made the answer empty.

    Raises errors.RequiredTraitUnknown, errors.ResourcesClassUnknown.
    """

    def matches(conditions: Sequence[Condition]) -> bool:
        return not conditions or bool(
            connection.scalar(sa.select(sa.exists(sa.select(_PROVIDERS.id).where(*conditions))))
        )

    def refuse_traits(names: Iterable[str]) -> None:
        for name in names:
            if name not in trait_ids:
                raise errors.RequiredTraitUnknown(name=name)

    refuse_traits(name for any_of in wanted.traits.any_of for name in any_of)
    if not matches(has_traits):
        return
    refuse_traits(wanted.traits.forbidden)
    if not matches(is_member):
        return
    for name in wanted.resources:
        if name not in class_ids:
            raise errors.ResourcesClassUnknown(resource_class=name)


def _ids(connection: sa.Connection, table: sa.Table, names: Collection[str]) -> dict[str, int]:
    """The ids of those names that exist; names differ by case, whatever the database thinks of it."""
    if not names:
        return {}
    rows = connection.execute(sa.select(table.c.name, table.c.id).where(table.c.name.in_(set(names))))
    return {row.name: row.id for row in rows if row.name in names}


def _has_trait(trait_ids: Iterable[int | None]) -> Condition:
    """Whether a provider has one of the traits."""
    return _PROVIDERS.id.in_(sa.select(_LINKS.resource_provider_id).where(_LINKS.trait_id.in_(set(trait_ids))))


def _is_member(aggregates: Iterable[str]) -> Condition:
    """Whether a provider is in one of the aggregates."""
    return _PROVIDERS.id.in_(
        sa.select(_MEMBERS.resource_provider_id)
        .join(tables.placement_aggregates, _AGGREGATES.id == _MEMBERS.aggregate_id)
        .where(_AGGREGATES.uuid.in_(aggregates))
    )


def _serves(amounts: Mapping[int, int]) -> Condition:
    """Whether a provider has room for all the amounts, given by class id."""
    # No inventory allows more than the largest integer, so what is beyond need not be told from one more.
    amount = sa.case(
        {class_id: min(amount, MAX_INT + 1) for class_id, amount in amounts.items()},
        value=_INVENTORIES.resource_class_id,
    )
    used = (
        sa.select(sa.func.coalesce(sa.func.sum(_ALLOCATIONS.used), 0))
        .where(
            _ALLOCATIONS.resource_provider_id == _INVENTORIES.resource_provider_id,
            _ALLOCATIONS.resource_class_id == _INVENTORIES.resource_class_id,
        )
        .scalar_subquery()
    )
    capacity = (_INVENTORIES.total - _INVENTORIES.reserved) * dialect.effective_ratio(_INVENTORIES.allocation_ratio)
    return _PROVIDERS.id.in_(
        sa.select(_INVENTORIES.resource_provider_id)
        .where(
            _INVENTORIES.resource_class_id.in_(amounts),
            amount.between(_INVENTORIES.min_unit, _INVENTORIES.max_unit),
            amount % _INVENTORIES.step_size == 0,
            used + amount <= capacity,
        )
        .group_by(_INVENTORIES.resource_provider_id)
        .having(sa.func.count() == len(amounts))
    )
