"""THE route table: reading it is reading the API (contract: http.md 1.6, 4.2). `app.py` dispatches by it.

One line per path and method: the handler, the policy rule, the versions in which it exists, and what it takes and
gives: `body` – the schema of its JSON body, other media types are 415; `query` – the schema of its query string;
`gives_json` – an Accept without JSON is 406.
"""

from collections.abc import Callable
from dataclasses import dataclass

from placement.handlers import (
    aggregates,
    allocation_candidates,
    allocations,
    inventories,
    provider_traits,
    reshaper,
    resource_classes,
    resource_providers,
    root,
    traits,
    usages,
)
from placement.http import Request, Response
from placement.microversion import MAX_VERSION, MIN_VERSION
from placement.schemas import VersionedSchema
from placement.schemas import aggregate as aggregate_schemas
from placement.schemas import allocation as allocation_schemas
from placement.schemas import allocation_candidates as candidate_schemas
from placement.schemas import inventory as inventory_schemas
from placement.schemas import reshaper as reshaper_schemas
from placement.schemas import resource_class as class_schemas
from placement.schemas import resource_provider as provider_schemas
from placement.schemas import trait as trait_schemas
from placement.schemas import usage as usage_schemas

Handler = Callable[[Request], Response]


@dataclass(frozen=True)
class Route:
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    # None: everybody may, or the handler asks the policy.
    rule: str | None
    # The first and the last version that have it.
    since: tuple[int, int] = MIN_VERSION
    until: tuple[int, int] = MAX_VERSION
    body: VersionedSchema | None = None
    query: VersionedSchema | None = None
    gives_json: bool = False
    # What a version below `since` gets: 404, or for historical reasons 405.
    gate_status: int = 404
    # Whether media types are looked at before the version (the aggregates routes only).
    media_first: bool = False


def _get(
    path: str,
    handler: Handler,
    rule: str | None,
    since: tuple[int, int] = MIN_VERSION,
    query: VersionedSchema | None = None,
    gives_json: bool = True,
    media_first: bool = False,
) -> Route:
    """A GET, which usually gives JSON."""
    return Route('GET', path, handler, rule, since, query=query, gives_json=gives_json, media_first=media_first)


RP = '/resource_providers/{uuid}'
INVENTORIES, INVENTORY = f'{RP}/inventories', f'{RP}/inventories/{{resource_class}}'
CLASS, TRAIT, CONSUMER = '/resource_classes/{name}', '/traits/{name}', '/allocations/{consumer_uuid}'

# fmt: off
# ruff: noqa: E501
ROUTES: tuple[Route, ...] = (
    _get('/', root.discover, None, gives_json=False),

    _get('/resource_classes', resource_classes.list_all, 'placement:resource_classes:list', since=(1, 2)),
    Route('POST', '/resource_classes', resource_classes.create, 'placement:resource_classes:create', since=(1, 2), body=class_schemas.CREATE),
    _get(CLASS, resource_classes.show, 'placement:resource_classes:show', since=(1, 2)),
    Route('PUT', CLASS, resource_classes.rename, 'placement:resource_classes:update', since=(1, 2), until=(1, 6), body=class_schemas.CREATE),
    Route('PUT', CLASS, resource_classes.ensure, 'placement:resource_classes:update', since=(1, 7)),
    Route('DELETE', CLASS, resource_classes.delete, 'placement:resource_classes:delete', since=(1, 2)),

    _get('/resource_providers', resource_providers.list_all, 'placement:resource_providers:list', query=provider_schemas.LIST),
    Route('POST', '/resource_providers', resource_providers.create, 'placement:resource_providers:create', body=provider_schemas.CREATE),
    _get(RP, resource_providers.show, 'placement:resource_providers:show'),
    Route('DELETE', RP, resource_providers.delete, 'placement:resource_providers:delete'),
    Route('PUT', RP, resource_providers.update, 'placement:resource_providers:update', body=provider_schemas.UPDATE),

    _get(INVENTORIES, inventories.list_all, 'placement:resource_providers:inventories:list'),
    Route('POST', INVENTORIES, inventories.create, 'placement:resource_providers:inventories:create', body=inventory_schemas.CREATE),
    Route('PUT', INVENTORIES, inventories.replace_all, 'placement:resource_providers:inventories:update', body=inventory_schemas.REPLACE_ALL),
    Route('DELETE', INVENTORIES, inventories.delete_all, 'placement:resource_providers:inventories:delete', since=(1, 5), gate_status=405),
    _get(INVENTORY, inventories.show, 'placement:resource_providers:inventories:show'),
    Route('PUT', INVENTORY, inventories.update, 'placement:resource_providers:inventories:update', body=inventory_schemas.UPDATE),
    Route('DELETE', INVENTORY, inventories.delete, 'placement:resource_providers:inventories:delete'),

    _get(f'{RP}/usages', usages.show_of_provider, 'placement:resource_providers:usages'),

    _get(f'{RP}/aggregates', aggregates.show, 'placement:resource_providers:aggregates:list', since=(1, 1), media_first=True),
    Route('PUT', f'{RP}/aggregates', aggregates.replace, 'placement:resource_providers:aggregates:update', since=(1, 1), body=aggregate_schemas.REPLACE, media_first=True),

    _get(f'{RP}/allocations', allocations.show_of_provider, 'placement:resource_providers:allocations:list'),

    _get(f'{RP}/traits', provider_traits.show, 'placement:resource_providers:traits:list', since=(1, 6)),
    Route('PUT', f'{RP}/traits', provider_traits.replace, 'placement:resource_providers:traits:update', since=(1, 6), body=trait_schemas.REPLACE),
    Route('DELETE', f'{RP}/traits', provider_traits.delete, 'placement:resource_providers:traits:delete', since=(1, 6)),

    Route('POST', '/allocations', allocations.replace_several, 'placement:allocations:manage', since=(1, 13), body=allocation_schemas.POST),
    _get(CONSUMER, allocations.show, 'placement:allocations:list'),
    Route('PUT', CONSUMER, allocations.replace, 'placement:allocations:update', body=allocation_schemas.PUT),
    Route('DELETE', CONSUMER, allocations.delete, 'placement:allocations:delete'),

    _get('/allocation_candidates', allocation_candidates.list_all, 'placement:allocation_candidates:list', since=(1, 10), query=candidate_schemas.GET),

    _get('/traits', traits.list_all, 'placement:traits:list', since=(1, 6), query=trait_schemas.LIST),
    _get(TRAIT, traits.show, 'placement:traits:show', since=(1, 6), gives_json=False),
    Route('PUT', TRAIT, traits.ensure, 'placement:traits:update', since=(1, 6)),
    Route('DELETE', TRAIT, traits.delete, 'placement:traits:delete', since=(1, 6)),

    # The rule of GET /usages needs the project asked for, so its handler checks it.
    _get('/usages', usages.show_total, None, since=(1, 9), query=usage_schemas.GET),

    Route('POST', '/reshaper', reshaper.reshape, 'placement:reshaper:reshape', since=(1, 30), body=reshaper_schemas.POST),
)
# fmt: on


def _key(path: str) -> tuple[str, ...]:
    return tuple('*' if part.startswith('{') else part for part in path.split('/')[1:])


# PERF: a look-up by the shape of the path instead of a scan of patterns; measured in benchmarks/RESULTS.md.
_TABLE: dict[tuple[str, ...], dict[str, list[Route]]] = {}
for _route in ROUTES:
    _TABLE.setdefault(_key(_route.path), {}).setdefault(_route.method, []).append(_route)
_NAMES = {_key(route.path): [part[1:-1] for part in route.path.split('/') if part.startswith('{')] for route in ROUTES}


def match(path: str) -> tuple[dict[str, list[Route]], dict[str, str]] | None:
    """The methods of a path, each with its routes by version, and the values of the path's variable segments; None if
    there is no such path.

    The match is exact: no trailing slash, no empty segment.
    """
    parts = tuple((path or '/').split('/')[1:])
    if len(parts) > 1 and '' in parts:
        return None
    # Literal segments stand at even places, variable ones at odd places.
    key = tuple('*' if place % 2 else part for place, part in enumerate(parts))
    methods = _TABLE.get(key)
    if methods is None:
        return None
    return methods, dict(zip(_NAMES[key], parts[1::2], strict=True))
