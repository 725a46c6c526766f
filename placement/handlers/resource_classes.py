"""/resource_classes (contract: http.md 5.2, 5.3)."""

from typing import Any

from placement.db.engine import utcnow
from placement.http import Request, Response, empty_response, json_response, newest
from placement.objects import resource_class
from placement.schemas import resource_class as schemas


def list_all(request: Request) -> Response:
    """All classes, standard and custom ones."""
    rows = resource_class.list_all()
    body = {'resource_classes': [_render(request, row.name) for row in rows]}
    return json_response(request, body, last_modified=newest(rows, default=utcnow()))


def create(request: Request) -> Response:
    """Make a custom class."""
    name = request.json()['name']
    resource_class.create(name)
    return empty_response(request, status=201, location=_path(name))


def show(request: Request) -> Response:
    """One class."""
    row = resource_class.get(request.segments['name'])
    return json_response(request, _render(request, row.name), last_modified=newest([row], default=utcnow()))


def rename(request: Request) -> Response:
    """Give a custom class another name (until 1.6)."""
    new_name = request.json()['name']
    row = resource_class.rename(request.segments['name'], new_name)
    return json_response(request, _render(request, row.name), cached=False)


def ensure(request: Request) -> Response:
    """Make a custom class, or find that it is there (from 1.7)."""
    name = schemas.CREATE.validate_body({'name': request.segments['name']}, request.version)['name']
    created = resource_class.ensure(name)
    return empty_response(request, status=201 if created else 204, location=_path(name))


def delete(request: Request) -> Response:
    """Remove a custom class."""
    resource_class.delete(request.segments['name'])
    return empty_response(request)


def _path(name: str) -> str:
    return f'/resource_classes/{name}'


def _render(request: Request, name: str) -> dict[str, Any]:
    return {'name': name, 'links': [{'rel': 'self', 'href': request.href(_path(name))}]}
