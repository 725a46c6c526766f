"""The version history of the API as data, and the negotiation of a version (contract: http.md 1.3 to 1.5, 1.9)."""

import functools

import microversion_parse

from placement import errors

# What each version brought. The routes table, the schemas and the renderers refer to these numbers;
# docs/microversions.md is made of them.
HISTORY: dict[tuple[int, int], str] = {
    (1, 0): 'Resource providers, their inventories, usages and allocations; the allocations of a consumer.',
    (1, 1): 'Aggregates of a provider: GET and PUT; the `aggregates` link.',
    (1, 2): 'Resource classes: the `/resource_classes` routes.',
    (1, 3): '`member_of` filters providers by aggregate.',
    (1, 4): '`resources` filters providers by what they can serve.',
    (1, 5): 'DELETE of all inventories of a provider.',
    (1, 6): 'Traits: the `/traits` routes and the traits of a provider; the `traits` link.',
    (1, 7): 'PUT of a resource class creates or verifies it, without a body.',
    (1, 8): 'PUT of allocations requires `project_id` and `user_id`.',
    (1, 9): 'GET /usages sums by project and user.',
    (1, 10): 'GET /allocation_candidates.',
    (1, 11): 'The `allocations` link of a provider.',
    (1, 12): 'Allocations are an object keyed by provider, the same in requests, answers and candidates.',
    (1, 13): 'POST /allocations writes several consumers at once.',
    (1, 14): 'Nested providers: `parent_provider_uuid`, `root_provider_uuid`, `in_tree`.',
    (1, 15): '`Last-Modified` and `Cache-Control: no-cache` headers.',
    (1, 16): '`limit` of allocation candidates.',
    (1, 17): '`required` traits of allocation candidates; traits in the provider summaries.',
    (1, 18): '`required` filters providers by traits.',
    (1, 19): 'Aggregates show, check and increment the generation of the provider.',
    (1, 20): 'POST of a provider answers 200 with its representation.',
    (1, 21): '`member_of` of allocation candidates.',
    (1, 22): 'Forbidden traits: `required=!T`.',
    (1, 23): 'Errors carry a `code`.',
    (1, 24): '`member_of` may be repeated; all of them must hold.',
    (1, 25): 'Granular requests: numbered groups of candidates, `group_policy`.',
    (1, 26): 'An inventory may reserve all that it has.',
    (1, 27): 'Provider summaries list all resource classes of a provider.',
    (1, 28): 'Consumer generations; PUT of empty allocations.',
    (1, 29): 'Allocation candidates of nested providers; parent and root in the summaries.',
    (1, 30): 'POST /reshaper moves inventories and allocations in one step.',
    (1, 31): '`in_tree` of allocation candidates.',
    (1, 32): 'Forbidden aggregates: `member_of=!U` and `!in:U1,U2`.',
    (1, 33): 'Suffixes of request groups may be any text of `[a-zA-Z0-9_-]{1,64}`.',
    (1, 34): '`mappings` of request groups to providers in candidates; accepted in allocations.',
    (1, 35): '`root_required` of allocation candidates.',
    (1, 36): '`same_subtree` of allocation candidates, and groups without resources.',
    (1, 37): 'PUT of a provider may move it to another parent, or make it a root.',
    (1, 38): '`consumer_type` in allocations, reshapes and usages.',
    (1, 39): '`required=in:T1,T2` (any of them), and repeated `required`.',
}

# A tuple (major, minor) that prints as `1.39`.
Version = microversion_parse.Version
VERSIONS = [f'{major}.{minor}' for major, minor in HISTORY]
MIN_VERSION, MAX_VERSION = Version(*min(HISTORY)), Version(*max(HISTORY))
SERVICE_TYPE = 'placement'


@functools.lru_cache(maxsize=256)
def negotiate(header: str | None) -> Version:
    """The version that an OpenStack-API-Version header asks for; 1.0 without one.

    Raises errors.MicroversionInvalid, errors.MicroversionUnacceptable.
    """
    headers = {} if header is None else {microversion_parse.STANDARD_HEADER: header}
    try:
        return microversion_parse.extract_version(headers, SERVICE_TYPE, VERSIONS)
    except TypeError as exc:
        raise errors.MicroversionInvalid(value=_wanted(headers)) from exc
    except ValueError as exc:
        raise errors.MicroversionUnacceptable(value=_wanted(headers)) from exc


def _wanted(headers: dict[str, str]) -> str | None:
    return microversion_parse.get_version(headers, SERVICE_TYPE)
