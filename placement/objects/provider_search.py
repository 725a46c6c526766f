"""GET /resource_providers: the providers that pass all filters, each looked at on its own (contract: http.md 5.4).

Called by `handlers/resource_providers.py`. All filters are conditions of one SELECT. Names are looked up before it,
since a name that does not exist is an error - unless an earlier filter already leaves nothing (`_refuse_unknown`).
"""

import datetime
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson
import sqlalchemy as sa

from placement import errors, uuids
from placement.db import dialect, engine, tables
from placement.objects import resource_provider, usage
from placement.query_values import MemberFilter, TraitFilter
from placement.schemas import MAX_INT

_PROVIDERS = tables.resource_providers.c
_INVENTORIES = tables.inventories.c
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


class Found(NamedTuple):
    """A provider as the API shows it."""

    uuid: str
    name: str | None
    generation: int | str
    parent_uuid: str | None
    root_uuid: str


# The providers, and the time of the latest change of one (None without providers).
Result = tuple[list[Found], datetime.datetime | None]


def _packed(providers: sa.Select[Any], parent: sa.ColumnElement[Any], root: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Many rows of providers in one (PERF: see `dialect.row_text`), and the time of the latest change of one. The name
    comes last, and as JSON, for it may hold anything.
    """
    name = sa.func.coalesce(sa.func.json_quote(_PROVIDERS.name), 'null')
    row = dialect.row_text(
        _PROVIDERS.id, _PROVIDERS.uuid, _PROVIDERS.generation, sa.func.coalesce(parent, _NO_PARENT), root, name
    )
    changed_at = sa.func.max(sa.func.coalesce(_PROVIDERS.updated_at, _PROVIDERS.created_at))
    columns = dialect.lines(row).label('lines'), changed_at.label('changed_at')
    return providers.with_only_columns(*columns).group_by(dialect.block(_PROVIDERS.id))


_NO_PARENT = '-'
_SHOWN = resource_provider.DESCRIBE.selected_columns
_SOME = _packed(resource_provider.DESCRIBE, _SHOWN.parent_uuid, _SHOWN.root_uuid)
# PERF: where all are read, parents and roots are among them; to join them would take more time than all the rest.
_ALL = _packed(
    sa.select(tables.resource_providers),
    sa.cast(_PROVIDERS.parent_provider_id, sa.String(16)),
    resource_provider.root_id(),
)
_ROOT = sa.select(resource_provider.root_id()).where(_PROVIDERS.uuid == sa.bindparam('in_tree')).scalar_subquery()
# By the names of their parameters, which are fields of `Search`.
_PLAIN_CONDITIONS: Mapping[str, Condition] = {
    'in_tree': sa.or_(_PROVIDERS.root_provider_id == _ROOT, _PROVIDERS.id == _ROOT),
    'name': _PROVIDERS.name == sa.bindparam('name'),
    'uuid': _PROVIDERS.uuid == sa.bindparam('uuid'),
}


@functools.cache
def _with_plain_conditions(names: tuple[str, ...]) -> sa.Select[Any]:
    return _SOME.where(*[_PLAIN_CONDITIONS[name] for name in names])


def search(wanted: Search) -> Result:
    """The providers, by id, in one statement, or if names of traits or classes are in the query, in a few.

    Raises errors.RequiredTraitUnknown, errors.ResourcesClassUnknown.
    """
    if wanted == Search():
        return _read_all()
    if wanted.traits != TraitFilter() or wanted.resources:
        return engine.read(lambda connection: _search(connection, wanted))
    statement, values = _without_names(wanted)
    return _unpack(engine.read_rows(statement, values))


def _read_all() -> Result:
    providers, changed_at = _split(engine.read_rows(_ALL))
    uuid_of = {columns[0]: columns[1] for columns in providers}
    return [
        Found(uuid, orjson.loads(name), generation, uuid_of.get(parent), uuid_of[root])
        for _, uuid, generation, parent, root, name in providers
        if root in uuid_of
    ], changed_at


def _without_names(wanted: Search) -> tuple[sa.Select[Any], dict[str, str]]:
    """The statement with all conditions but those on traits and resources, and its parameters."""
    values: dict[str, str] = {}
    if wanted.in_tree is not None:
        values['in_tree'] = uuids.canonical(wanted.in_tree)
    if wanted.name:
        values['name'] = wanted.name
    if wanted.uuid is not None:
        values['uuid'] = uuids.canonical(wanted.uuid)
    statement = _with_plain_conditions(tuple(values))
    if wanted.members.any_of:
        statement = statement.where(*[_is_member(any_of) for any_of in wanted.members.any_of])
    if wanted.members.forbidden:
        statement = statement.where(~_is_member(wanted.members.forbidden))
    return statement, values


def _search(connection: sa.Connection, wanted: Search) -> Result:
    names = [*(name for any_of in wanted.traits.any_of for name in any_of), *wanted.traits.forbidden]
    trait_ids = _ids(connection, tables.traits, names)
    class_ids = _ids(connection, tables.resource_classes, wanted.resources)
    has_traits = [_has_trait(trait_ids.get(name) for name in any_of) for any_of in wanted.traits.any_of]
    if len(trait_ids) < len(set(names)) or len(class_ids) < len(wanted.resources):
        _refuse_unknown(connection, wanted, trait_ids, class_ids, has_traits)
        return [], None
    statement, values = _without_names(wanted)
    statement = statement.where(*has_traits)
    if wanted.traits.forbidden:
        statement = statement.where(~_has_trait(trait_ids[name] for name in wanted.traits.forbidden))
    if wanted.resources:
        statement = statement.where(_serves({class_ids[name]: amount for name, amount in wanted.resources.items()}))
    return _unpack(connection.execute(statement, values).all())


def _unpack(rows: Sequence[sa.Row[Any]]) -> Result:
    providers, changed_at = _split(rows)
    return [
        Found(uuid, orjson.loads(name), generation, None if parent == _NO_PARENT else parent, root)
        for _, uuid, generation, parent, root, name in providers
    ], changed_at


def _split(rows: Sequence[sa.Row[Any]]) -> tuple[list[list[str]], datetime.datetime | None]:
    """The columns of `_packed` providers, by id, and the time of the latest change."""
    providers = [line.split(' ', 5) for row in rows for line in row.lines.split('\n')]
    providers.sort(key=lambda columns: int(columns[0]))
    return providers, max((row.changed_at for row in rows if row.changed_at is not None), default=None)


def _refuse_unknown(
    connection: sa.Connection,
    wanted: Search,
    trait_ids: Mapping[str, int],
    class_ids: Mapping[str, int],
    has_traits: Sequence[Condition],
) -> None:
    """Raise the error of the first unknown name. Return if the contract evaluates a filter before it that no provider
    passes: then the answer is empty.

    Raises errors.RequiredTraitUnknown, errors.ResourcesClassUnknown.
    """

    def matches(conditions: Sequence[Condition]) -> bool:
        return not conditions or bool(
            connection.scalar(sa.select(sa.exists(sa.select(_PROVIDERS.id).where(*conditions))))
        )

    if wanted.in_tree is not None and not matches([_PROVIDERS.uuid == uuids.canonical(wanted.in_tree)]):
        return

    def refuse_traits(names: Iterable[str]) -> None:
        for name in names:
            if name not in trait_ids:
                raise errors.RequiredTraitUnknown(name=name)

    refuse_traits(name for any_of in wanted.traits.any_of for name in any_of)
    if not matches(has_traits):
        return
    refuse_traits(wanted.traits.forbidden)
    if not matches([_is_member(any_of) for any_of in wanted.members.any_of]):
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
    """Whether a provider is in one of the aggregates, which are spelled as they were stored."""
    return _PROVIDERS.id.in_(
        sa.select(_MEMBERS.resource_provider_id)
        .join(tables.placement_aggregates, _AGGREGATES.id == _MEMBERS.aggregate_id)
        .where(_AGGREGATES.uuid.in_(aggregates), dialect.verbatim(_AGGREGATES.uuid).in_(aggregates))
    )


def _serves(amounts: Mapping[int, int]) -> Condition:
    """Whether a provider has room for all the amounts, given by class id."""
    # No inventory allows more than the largest integer, so what is beyond need not be told from one more.
    amount = sa.case(
        {class_id: min(amount, MAX_INT + 1) for class_id, amount in amounts.items()},
        value=_INVENTORIES.resource_class_id,
    )
    capacity = (_INVENTORIES.total - _INVENTORIES.reserved) * dialect.effective_ratio(_INVENTORIES.allocation_ratio)
    return _PROVIDERS.id.in_(
        sa.select(_INVENTORIES.resource_provider_id)
        .where(
            _INVENTORIES.resource_class_id.in_(amounts),
            amount.between(_INVENTORIES.min_unit, _INVENTORIES.max_unit),
            amount % _INVENTORIES.step_size == 0,
            sa.func.coalesce(usage.OF_INVENTORY, 0) + amount <= capacity,
        )
        .group_by(_INVENTORIES.resource_provider_id)
        .having(sa.func.count() == len(amounts))
    )
