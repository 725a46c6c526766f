"""/resource_providers/{uuid}/traits (contract: http.md 5.11)."""

import datetime

from placement.db.engine import utcnow
from placement.http import Request, Response, empty_response, json_response, newest
from placement.objects import trait


def show(request: Request) -> Response:
    """The traits of a provider."""
    generation, names, changed_at = trait.list_of_provider(request.segments['uuid'])
    return _render(request, names, generation, changed_at)


def replace(request: Request) -> Response:
    """Give a provider exactly these traits."""
    # Unlike its siblings, this route looks at the body before it looks for the provider.
    body = request.json()
    generation, rows = trait.replace_of_provider(
        request.segments['uuid'], body['resource_provider_generation'], body['traits']
    )
    return _render(request, [row.name for row in rows], generation, newest(rows))


def delete(request: Request) -> Response:
    """Take all its traits from a provider."""
    trait.delete_of_provider(request.segments['uuid'])
    return empty_response(request)


def _render(request: Request, names: list[str], generation: int, changed_at: datetime.datetime | None) -> Response:
    body = {'traits': names, 'resource_provider_generation': generation}
    return json_response(request, body, last_modified=changed_at or utcnow())
