"""Cases for GET /allocation_candidates: reads the case files, builds their worlds, judges answers.

Two files have the same form: `candidate_cases.yaml` of the contract (its schema is told at its top; it lies beside
this repository, or where the environment variable PLACEMENT_CONTRACT says) and our `tests/cases/candidates.yaml`.
Used by `tests/functional/test_candidate_cases.py` (the service) and by `tests/property/` (the oracle, random worlds).

    for case in load(OWN_CASES):            # or load(contract_cases())
        build_sql(connection, case.world)   # tables exist, and no provider yet; or build_http(send, case.world)
        ... ask for case.path + '?' + case.query at version case.version with the options case.config ...
        assert problems(case, Response(status, headers, body), full) == []

`full` is the body answered to `case.full`, the case without the arbitrary choice (limit, cap); only cases of kind
"bounded" have one. For kind "defect" (the reference errs), `case.expect` is the recommended answer.
Everything in a `World` is named by uuid; `World.names` gives the names back.
"""

import os
import pathlib
import re
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import os_resource_classes
import os_traits
import sqlalchemy as sa
import yaml

from placement.db import tables

OWN_CASES = pathlib.Path(__file__).parent / 'cases' / 'candidates.yaml'
_BESIDE = pathlib.Path(__file__).parents[2] / 'shared' / 'contract'
INVENTORY_DEFAULTS = {
    'reserved': 0,
    'min_unit': 1,
    'max_unit': 2147483647,
    'step_size': 1,
    'allocation_ratio': 1.0,
}
_PROJECT, _USER = 'case-project', 'case-user'
_UNKNOWN = uuid.UUID('77777777-0000-4000-8000-000000000000')


@dataclass(frozen=True)
class Provider:
    """A resource provider. parent and aggregates are uuids; an inventory has all its six fields."""

    uuid: str
    name: str
    parent: str | None = None
    inventories: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[str] = frozenset()


@dataclass(frozen=True)
class World:
    """A small cloud: providers (parents first) and allocations as pairs (consumer, {provider: {class: amount}}).

    names: uuid of a provider or aggregate -> its name in the case file.
    """

    providers: tuple[Provider, ...]
    allocations: tuple[tuple[str, Mapping[str, Mapping[str, int]]], ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def roots(self) -> dict[str, str]:
        """The root of each provider."""
        roots: dict[str, str] = {}
        for provider in self.providers:
            roots[provider.uuid] = roots[provider.parent] if provider.parent else provider.uuid
        return roots

    @property
    def classes(self) -> set[str]:
        return {name for provider in self.providers for name in provider.inventories}

    @property
    def traits(self) -> set[str]:
        return {name for provider in self.providers for name in provider.traits}


@dataclass(frozen=True)
class Case:
    """One case. query: raw query string with all uuids filled in. config: {'section.option': value}."""

    id: str
    title: str
    kind: str
    world: World
    path: str
    version: str
    query: str
    config: Mapping[str, Any]
    expect: Mapping[str, Any]
    covers: tuple[str, ...] = ()
    defect: str | None = None
    #: For kind bounded: the case whose answer this one's is a part of.
    full: 'Case | None' = None

    @property
    def minor(self) -> int:
        return int(self.version.split('.')[1])


@dataclass(frozen=True)
class Response:
    """An answer of the service. headers in lower case, None if they are not known; body: the decoded JSON."""

    status: int
    headers: Mapping[str, str] | None
    body: Any


# Reading ---------------------------------------------------------------------


def contract_cases() -> pathlib.Path | None:
    """The contract's case file, or None where the contract is not at hand."""
    path = pathlib.Path(os.environ.get('PLACEMENT_CONTRACT', _BESIDE)) / 'candidate_cases.yaml'
    return path if path.exists() else None


def load(path: pathlib.Path) -> list[Case]:
    """All cases of a file, in its order."""
    document = yaml.load(path.read_text(encoding='utf-8'), Loader=getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
    worlds = {name: make_world(entry) for name, entry in document['worlds'].items()}
    cases: dict[str, Case] = {}
    # What a bounded case is a subset of comes first.
    for entry in sorted(document['cases'], key=lambda entry: entry['kind'] == 'bounded'):
        world = worlds[entry['world']]
        expect = entry['recommended'] if entry['kind'] == 'defect' else entry['expect']
        cases[entry['id']] = Case(
            id=entry['id'],
            title=entry.get('title') or entry.get('note') or entry['id'],
            kind=entry['kind'],
            world=world,
            path=entry['path'],
            version=str(entry['version']),
            query=fill_in(entry['query'], world),
            config=entry.get('config', {}),
            expect=expect,
            covers=tuple(entry.get('covers', ())),
            defect=entry.get('defect'),
            full=cases[expect['subset_of']] if 'subset_of' in expect else None,
        )
    return [cases[entry['id']] for entry in document['cases']]


def make_world(entry: Mapping[str, Any]) -> World:
    """A world of a case file; uuids that it does not give are made from the names."""
    aggregates = {
        name: value or str(uuid.uuid5(_UNKNOWN, 'aggregate ' + name)) for name, value in entry['aggregates'].items()
    }
    uuids = {item['name']: item.get('uuid') or str(uuid.uuid5(_UNKNOWN, item['name'])) for item in entry['providers']}
    providers = tuple(
        Provider(
            uuid=uuids[item['name']],
            name=item['name'],
            parent=uuids[item['parent']] if item.get('parent') else None,
            inventories={name: {**INVENTORY_DEFAULTS, **record} for name, record in item['inventories'].items()},
            traits=frozenset(item['traits']),
            aggregates=frozenset(aggregates[name] for name in item['aggregates']),
        )
        for item in entry['providers']
    )
    allocations = tuple(
        (
            item.get('consumer') or str(uuid.uuid5(_UNKNOWN, f'consumer {number}')),
            {uuids[name]: amounts for name, amounts in item['allocations'].items()},
        )
        for number, item in enumerate(entry['allocations'])
    )
    names = {value: name for name, value in (*aggregates.items(), *uuids.items())}
    return World(providers, allocations, names)


def fill_in(query: str, world: World) -> str:
    """A query with uuids instead of <rp:NAME> and <agg:NAME>; a name that the world lacks gives an unknown uuid."""
    uuids = {name: value for value, name in world.names.items()}
    return re.sub('<(rp|agg):([^>]*)>', lambda match: uuids.get(match[2]) or str(uuid.uuid5(_UNKNOWN, match[0])), query)


# Building --------------------------------------------------------------------


def _ids(connection: sa.Connection, table: sa.Table, names: list[str]) -> dict[str, int]:
    """The ids of all names in a table of names, after adding those that it lacks."""
    query = sa.select(table.c.name, table.c.id)
    known = {row.name: row.id for row in connection.execute(query)}
    missing = [{'name': name} for name in dict.fromkeys(names) if name not in known]
    if missing:
        connection.execute(sa.insert(table), missing)
        known = {row.name: row.id for row in connection.execute(query)}
    return known


def clear_sql(connection: sa.Connection) -> None:
    """Delete everything but the names of traits and resource classes."""
    for table in reversed(tables.metadata.sorted_tables):
        if table not in (tables.traits, tables.resource_classes):
            if table is tables.resource_providers:
                connection.execute(sa.update(table).values(parent_provider_id=None, root_provider_id=None))
            connection.execute(sa.delete(table))


def build_sql(connection: sa.Connection, world: World) -> None:
    """Write a world with plain SQL into tables that hold no provider; the caller commits.

    Standard and other names of traits and resource classes are added where they are missing.
    """
    trait_ids = _ids(connection, tables.traits, sorted(os_traits.get_traits()) + sorted(world.traits))
    class_ids = _ids(connection, tables.resource_classes, os_resource_classes.STANDARDS + sorted(world.classes))
    ids = {provider.uuid: number for number, provider in enumerate(world.providers, 1)}
    aggregates = sorted({value for provider in world.providers for value in provider.aggregates})
    aggregate_ids = {value: number for number, value in enumerate(aggregates, 1)}
    roots = world.roots
    rows: dict[sa.Table, list[dict[str, Any]]] = {
        tables.resource_providers: [
            {
                'id': ids[provider.uuid],
                'uuid': provider.uuid,
                'name': provider.name,
                'generation': 1,
                'root_provider_id': ids[roots[provider.uuid]],
                'parent_provider_id': ids[provider.parent] if provider.parent else None,
            }
            for provider in world.providers
        ],
        tables.placement_aggregates: [{'id': number, 'uuid': value} for value, number in aggregate_ids.items()],
        tables.resource_provider_aggregates: [
            {'resource_provider_id': ids[provider.uuid], 'aggregate_id': aggregate_ids[value]}
            for provider in world.providers
            for value in sorted(provider.aggregates)
        ],
        tables.resource_provider_traits: [
            {'resource_provider_id': ids[provider.uuid], 'trait_id': trait_ids[name]}
            for provider in world.providers
            for name in sorted(provider.traits)
        ],
        tables.inventories: [
            {'resource_provider_id': ids[provider.uuid], 'resource_class_id': class_ids[name], **record}
            for provider in world.providers
            for name, record in provider.inventories.items()
        ],
        tables.projects: [{'id': 1, 'external_id': _PROJECT}] if world.allocations else [],
        tables.users: [{'id': 1, 'external_id': _USER}] if world.allocations else [],
        tables.consumers: [
            {'uuid': consumer, 'project_id': 1, 'user_id': 1, 'generation': 1} for consumer, _ in world.allocations
        ],
        tables.allocations: [
            {
                'consumer_id': consumer,
                'resource_provider_id': ids[provider],
                'resource_class_id': class_ids[name],
                'used': amount,
            }
            for consumer, allocations in world.allocations
            for provider, amounts in allocations.items()
            for name, amount in amounts.items()
        ],
    }
    for table, values in rows.items():
        if values:
            connection.execute(sa.insert(table), values)


Send = Callable[[str, str, str, Any], tuple[int, Any]]


def build_http(send: Send, world: World) -> None:
    """Build a world through the API of a service that holds no provider.

    send(method, path, version, JSON body or None) gives (status, decoded body or None) for an administrator.
    """

    def ask(method: str, path: str, version: str, body: Any = None) -> Any:
        status, answer = send(method, path, version, body)
        if status >= 300:
            raise RuntimeError(f'{method} {path}: {status} {answer}')
        return answer

    for kind, names in (('traits', world.traits), ('resource_classes', world.classes)):
        for name in sorted(names):
            if name.startswith('CUSTOM_'):
                ask('PUT', f'/{kind}/{name}', '1.39')
    for provider in world.providers:
        path = f'/resource_providers/{provider.uuid}'
        body: dict[str, Any] = {'uuid': provider.uuid, 'name': provider.name, 'parent_provider_uuid': provider.parent}
        generation = ask('POST', '/resource_providers', '1.39', body)['generation']
        for part, content in (
            ('inventories', dict(provider.inventories)),
            ('traits', sorted(provider.traits)),
            ('aggregates', sorted(provider.aggregates)),
        ):
            if content:
                body = {part: content, 'resource_provider_generation': generation}
                generation = ask('PUT', f'{path}/{part}', '1.39', body)['resource_provider_generation']
    for consumer, allocations in world.allocations:
        body = {
            'allocations': {provider: {'resources': amounts} for provider, amounts in allocations.items()},
            'project_id': _PROJECT,
            'user_id': _USER,
            'consumer_generation': None,
        }
        ask('PUT', f'/allocations/{consumer}', '1.28', body)


# Judging ---------------------------------------------------------------------


def requests_of(body: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    """The candidates of an answer, of either wire form, as comparable values (allocations, mappings)."""
    found = []
    for item in body['allocation_requests']:
        allocations = item['allocations']
        if isinstance(allocations, list):
            allocations = {part['resource_provider']['uuid']: {'resources': part['resources']} for part in allocations}
        amounts = sorted((uuid, sorted(part['resources'].items())) for uuid, part in allocations.items())
        found.append((amounts, sorted((suffix, sorted(uuids)) for suffix, uuids in item.get('mappings', {}).items())))
    return found


def summaries_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """The summaries of an answer, with sorted traits."""
    return {
        uuid: {key: sorted(value) if key == 'traits' else value for key, value in summary.items()}
        for uuid, summary in body['provider_summaries'].items()
    }


def summarised(world: World, minor: int, kept: Mapping[str, Any], full: Mapping[str, Any]) -> set[str]:
    """The providers that the summaries of an answer must hold (contract: candidates.md 3.1).

    kept: the body with the candidates that were returned; full: the one with all of them.
    """
    roots = world.roots
    used = {roots[uuid] for amounts, _ in requests_of(kept) for uuid, _ in amounts}
    if minor >= 29:
        return {uuid for uuid, root in roots.items() if root in used}
    return {uuid for amounts, _ in requests_of(full) for uuid, _ in amounts if roots[uuid] in used}


def problems(case: Case, response: Response, full: Mapping[str, Any] | None = None) -> list[str]:
    """What is wrong with an answer; an empty list if nothing is."""
    expect = case.expect
    if response.status != expect['status']:
        return [f'status {response.status} instead of {expect["status"]}: {response.body}']
    found = []
    headers = response.headers
    if headers is not None and 'cache_headers' in expect:
        sent = headers.get('cache-control') == 'no-cache' and 'last-modified' in headers
        absent = 'cache-control' not in headers and 'last-modified' not in headers
        if not (sent if expect['cache_headers'] else absent):
            found.append(f'cache headers: {dict(headers)}')
    if response.status >= 400:
        return found + _error_problems(expect, response.body)
    if case.path == '/resource_providers':
        names = sorted(case.world.names[item['uuid']] for item in response.body['resource_providers'])
        return found + _differ('providers', names, sorted(expect['providers']))
    return found + _candidate_problems(case, response.body, full)


def _error_problems(expect: Mapping[str, Any], body: Any) -> list[str]:
    error = body['errors'][0]
    found = [
        f'no {text!r} in {error["detail"]!r}'
        for text in expect.get('detail_contains', ())
        if text not in error['detail']
    ]
    if 'title' in expect:
        found += _differ('title', error.get('title'), expect['title'])
        found += _differ('code', error.get('code'), expect.get('code'))
    return found


def _candidate_problems(case: Case, body: Any, full: Mapping[str, Any] | None) -> list[str]:
    expect, world, minor = case.expect, case.world, case.minor
    found = []
    for item in body['allocation_requests']:
        if isinstance(item['allocations'], list) != (minor < 12) or ('mappings' in item) != (minor >= 34):
            found.append(f'form of {item}')
    named = _named(world, body)
    if case.kind == 'bounded':
        if full is None:
            raise ValueError(f'{case.id}: the full answer is needed')
        everything = _named(world, full)
        found += _differ('count', len(named.candidates), expect['count'])
        strangers = Counter(map(repr, named.candidates)) - Counter(map(repr, everything.candidates))
        found += _differ('candidates outside the full set', list(strangers), [])
        found += _differ('summaries', set(body['provider_summaries']), summarised(world, minor, body, full))
        found += _differ('summaries', named.summaries, {name: everything.summaries[name] for name in named.summaries})
        per_root = Counter(
            root for amounts, _ in requests_of(body) for root in {world.names[world.roots[uuid]] for uuid, _ in amounts}
        )
        if 'per_root_count' in expect:
            found += _differ('candidates per root', dict(per_root), expect['per_root_count'])
        if 'roots_used' in expect:
            found += _differ('roots used', len(per_root), expect['roots_used'])
        return found
    wanted = [_expected_request(item) for item in expect['allocation_requests']]
    found += _differ('candidates', sorted(named.candidates), sorted(wanted))
    if 'provider_summaries' in expect:
        found += _differ('summaries', named.summaries, expect['provider_summaries'])
    else:
        found += _differ('summaries', sorted(named.summaries), sorted(expect['provider_summary_keys']))
    return found


@dataclass(frozen=True)
class _Named:
    """An answer in the words of a case file."""

    candidates: list[tuple[Any, Any]]
    summaries: dict[str, Any]


def _named(world: World, body: Mapping[str, Any]) -> _Named:
    names = world.names
    candidates = [
        (
            sorted((names[uuid], amounts) for uuid, amounts in allocations),
            sorted((suffix, sorted(names[uuid] for uuid in uuids)) for suffix, uuids in mappings),
        )
        for allocations, mappings in requests_of(body)
    ]
    summaries = {
        names[uuid]: {key: names[value] if key.endswith('_uuid') and value else value for key, value in summary.items()}
        for uuid, summary in summaries_of(body).items()
    }
    return _Named(candidates, summaries)


def _expected_request(item: Mapping[str, Any]) -> tuple[Any, Any]:
    allocations = sorted((name, sorted(amounts.items())) for name, amounts in item['allocations'].items())
    return allocations, sorted((suffix, sorted(names)) for suffix, names in item.get('mappings', {}).items())


def _differ(what: str, got: Any, wanted: Any) -> list[str]:
    return [] if got == wanted else [f'{what}: {got} instead of {wanted}']
