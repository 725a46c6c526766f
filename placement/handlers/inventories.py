"""/resource_providers/{uuid}/inventories and below (contract: http.md 5.6, 5.7)."""

import re
from collections.abc import Mapping
from typing import Any

from placement.db.engine import utcnow
from placement.handlers.provider_body import provider_body
from placement.http import Request, Response, empty_response, json_response, newest
from placement.objects import inventory
from placement.objects.inventory import FIELDS, Inventory
from placement.schemas import RESOURCE_CLASS_PATTERN

FULL_RESERVATION_SINCE = (1, 26)


def list_all(request: Request) -> Response:
    """The inventories of a provider by class."""
    generation, rows = inventory.list_of_provider(request.segments['uuid'])
    inventories = {name: {field: getattr(row, field) for field in FIELDS} for name, row in rows.items()}
    body = _collection(inventories, generation)
    return json_response(request, body, last_modified=newest(rows.values()))


def create(request: Request) -> Response:
    """Add the inventory of one class."""
    body = provider_body(request)
    uuid, name, new = request.segments['uuid'], body['resource_class'], from_body(body)
    generation = inventory.create(uuid, name, new, _may_reserve_all(request))
    location = f'/resource_providers/{uuid}/inventories/{name}'
    return json_response(request, _single(new, generation), last_modified=utcnow(), status=201, location=location)


def replace_all(request: Request) -> Response:
    """Give a provider exactly these inventories."""
    body = provider_body(request)
    new = from_bodies(body['inventories'])
    generation = inventory.replace_of_provider(
        request.segments['uuid'], body['resource_provider_generation'], new, _may_reserve_all(request)
    )
    rendered = _collection({name: vars(one) for name, one in new.items()}, generation)
    return json_response(request, rendered, last_modified=utcnow() if new else None)


def delete_all(request: Request) -> Response:
    """Remove all inventories of a provider (from 1.5)."""
    inventory.delete_of_provider(request.segments['uuid'])
    return empty_response(request)


def show(request: Request) -> Response:
    """The inventory of one class."""
    generation, row = inventory.show(request.segments['uuid'], request.segments['resource_class'])
    body = _single(row, generation)
    return json_response(request, body, last_modified=newest([row], default=utcnow()))


def update(request: Request) -> Response:
    """Change the inventory of one class."""
    body = provider_body(request)
    new = from_body(body)
    generation = inventory.update(
        request.segments['uuid'],
        body['resource_provider_generation'],
        request.segments['resource_class'],
        new,
        _may_reserve_all(request),
    )
    return json_response(request, _single(new, generation), last_modified=utcnow())


def delete(request: Request) -> Response:
    """Remove the inventory of one class."""
    inventory.delete(request.segments['uuid'], request.segments['resource_class'])
    return empty_response(request)


def from_body(record: Mapping[str, Any]) -> Inventory:
    """The inventory that a valid body stands for; what is left out has its default."""
    given = {field: record[field] for field in FIELDS if field in record}
    # 4.0 is a valid integer.
    return Inventory(**{field: value if field == 'allocation_ratio' else int(value) for field, value in given.items()})


def from_bodies(records: Mapping[str, Any]) -> dict[str, Inventory]:
    """The inventories of a valid body, by class name.

    The schema checks only the records of names that have the form of a class. Any other name will be refused as an
    unknown class, so what its record says does not matter.
    """
    return {
        name: from_body(record) if re.search(RESOURCE_CLASS_PATTERN, name) else Inventory(total=1)
        for name, record in records.items()
    }


def _may_reserve_all(request: Request) -> bool:
    return request.version >= FULL_RESERVATION_SINCE


def _single(one: Any, generation: int) -> dict[str, Any]:
    return {**{field: getattr(one, field) for field in FIELDS}, 'resource_provider_generation': generation}


def _collection(inventories: Mapping[str, Mapping[str, Any]], generation: int) -> dict[str, Any]:
    return {'inventories': inventories, 'resource_provider_generation': generation}
