"""/resource_providers/{uuid}/aggregates (contract: http.md 5.9)."""

from collections.abc import Sequence

from placement.db.engine import utcnow
from placement.handlers.provider_body import provider_body
from placement.http import Request, Response, json_response
from placement.objects import aggregate

GENERATION_SINCE = (1, 19)


def show(request: Request) -> Response:
    """The aggregates that a provider is in."""
    generation, aggregates = aggregate.list_of_provider(request.segments['uuid'])
    return _render(request, aggregates, generation)


def replace(request: Request) -> Response:
    """Put a provider in exactly these aggregates; from 1.19 on only at the given generation."""
    body = provider_body(request)
    with_generation = request.version >= GENERATION_SINCE
    aggregates = body['aggregates'] if with_generation else body
    generation = aggregate.replace_of_provider(
        request.segments['uuid'], aggregates, body['resource_provider_generation'] if with_generation else None
    )
    return _render(request, aggregates, generation)


def _render(request: Request, aggregates: Sequence[str], generation: int) -> Response:
    body: dict[str, object] = {'aggregates': aggregates}
    if request.version >= GENERATION_SINCE:
        body['resource_provider_generation'] = generation
    return json_response(request, body, last_modified=utcnow())
