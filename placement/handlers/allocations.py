"""/allocations, /allocations/{consumer_uuid} and /resource_providers/{uuid}/allocations (contract: http.md 5.10, 5.12
to 5.15).
"""

import functools
from collections.abc import Mapping
from typing import Any

from placement import errors
from placement.db.engine import utcnow
from placement.http import Request, Response, empty_response, json_response
from placement.objects import allocation
from placement.objects.allocation import Allocation
from placement.objects.consumer import UNKNOWN_TYPE, Claim, canonical
from placement.uuids import canonical as canonical_uuid
from placement.uuids import is_uuid_like

OWNER_SHOWN_SINCE = (1, 12)
CONSUMER_GENERATION_SINCE = (1, 28)
CONSUMER_TYPE_SINCE = (1, 38)


def show_of_provider(request: Request) -> Response:
    """What is held of one provider, by consumer."""
    generation, held, changed_at = allocation.of_provider(request.segments['uuid'])
    shown: dict[str, dict[str, Any]] = {}
    for item in held:
        consumer = shown.setdefault(item.consumer_uuid, {'resources': {}})
        consumer['resources'][item.resource_class] = item.used
        if request.version >= CONSUMER_GENERATION_SINCE:
            consumer['consumer_generation'] = item.consumer_generation
    body = {'allocations': shown, 'resource_provider_generation': generation}
    return json_response(request, body, last_modified=changed_at or utcnow())


def show(request: Request) -> Response:
    """What one consumer holds, by provider; an unknown consumer holds nothing."""
    held = allocation.of_consumer(request.segments['consumer_uuid'])
    shown: dict[str, dict[str, Any]] = {}
    for item in held:
        provider = shown.setdefault(item.provider_uuid, {'generation': item.provider_generation, 'resources': {}})
        provider['resources'][item.resource_class] = item.used
    body: dict[str, Any] = {'allocations': shown}
    if held:
        body |= _consumer_keys(held[0], request.version)
    newest = max((item.created_at for item in held if item.created_at is not None), default=utcnow())
    return json_response(request, body, last_modified=newest)


def replace(request: Request) -> Response:
    """Let one consumer hold exactly what the body says."""
    uuid = request.segments['consumer_uuid']
    if not is_uuid_like(uuid):
        raise errors.ConsumerUuidMalformed(uuid=uuid)
    claim = claim_of(request, uuid, request.json())
    unknown_class = functools.partial(errors.AllocationClassUnknown, consumer=claim.consumer)
    return _write(request, {claim.consumer: claim}, unknown_class)


def replace_several(request: Request) -> Response:
    """Let several consumers hold exactly what the body says; all of them or none."""
    return _write(request, claims_of(request, request.json()), errors.AllocationsClassUnknown)


def delete(request: Request) -> Response:
    """Take everything from one consumer."""
    allocation.delete(request.segments['consumer_uuid'])
    return empty_response(request)


def claims_of(request: Request, body: Mapping[str, Any]) -> dict[str, Claim]:
    """The claims of a valid body of many consumers, by consumer; of two spellings of one consumer the last counts."""
    claims = [claim_of(request, uuid, wanted) for uuid, wanted in body.items()]
    return {claim.consumer: claim for claim in claims}


def claim_of(request: Request, consumer_uuid: str, body: Mapping[str, Any]) -> Claim:
    """The claim of one consumer's part of a valid body, in the form of any microversion."""
    wanted = body['allocations']
    if isinstance(wanted, list):
        wanted = {item['resource_provider']['uuid']: item for item in wanted}
    generation = body.get('consumer_generation')
    options = request.conf.placement
    return Claim(
        consumer=canonical(consumer_uuid),
        # JSON has whole numbers with a fraction (2.0), too.
        amounts={
            canonical_uuid(uuid): {name: int(amount) for name, amount in item['resources'].items()}
            for uuid, item in wanted.items()
        },
        project=body.get('project_id', options.incomplete_consumer_project_id),
        user=body.get('user_id', options.incomplete_consumer_user_id),
        type=body.get('consumer_type'),
        generation=None if generation is None else int(generation),
        checked=request.version >= CONSUMER_GENERATION_SINCE,
    )


def _write(request: Request, claims: Mapping[str, Claim], unknown_class: allocation.UnknownClass) -> Response:
    attempts = request.conf.placement.allocation_conflict_retry_count
    allocation.replace(list(claims.values()), attempts=attempts, unknown_class=unknown_class)
    return empty_response(request)


def _consumer_keys(item: Allocation, version: tuple[int, int]) -> dict[str, Any]:
    """What an answer says of the consumer itself, by version."""
    keys: dict[str, Any] = {}
    if version >= OWNER_SHOWN_SINCE:
        keys |= {'project_id': item.project, 'user_id': item.user}
    if version >= CONSUMER_GENERATION_SINCE:
        keys['consumer_generation'] = item.consumer_generation
    if version >= CONSUMER_TYPE_SINCE:
        keys['consumer_type'] = item.consumer_type or UNKNOWN_TYPE
    return keys
