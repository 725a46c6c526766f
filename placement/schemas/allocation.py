"""Bodies of PUT /allocations/{consumer} and POST /allocations, and the values of `allocations` of POST /reshaper
(http.md 5.13, 5.15).

What is asked for one consumer is the same in all three, so that a change of it is written once.
"""

from collections.abc import Callable

from placement.schemas import (
    GENERATION,
    RESOURCE_CLASS_PATTERN,
    UUID,
    UUID_KEY_PATTERN,
    Schema,
    VersionedSchema,
    closed,
)

_RESOURCES: Schema = {
    'type': 'object',
    'minProperties': 1,
    'patternProperties': {RESOURCE_CLASS_PATTERN: {'type': 'integer', 'minimum': 1}},
    'additionalProperties': False,
}
_EXTERNAL_ID: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}
_OWNER: Schema = {'project_id': _EXTERNAL_ID, 'user_id': _EXTERNAL_ID}
# The pattern before the lengths: of several faults in one value the first is reported, and it names the form.
_CONSUMER_TYPE: Schema = {'type': 'string', 'pattern': '^[A-Z0-9_]+$', 'minLength': 1, 'maxLength': 255}

# Before 1.12: a list of providers.
_LISTED: Schema = {
    'type': 'array',
    'minItems': 1,
    'items': closed({'resource_provider': closed({'uuid': UUID}), 'resources': _RESOURCES}),
}
# From 1.12: an object of providers. The generation is what GET shows of the provider; it is accepted and not looked at.
_KEYED: Schema = {
    'type': 'object',
    'patternProperties': {UUID_KEY_PATTERN: closed({'resources': _RESOURCES}, {'generation': GENERATION})},
    'additionalProperties': False,
}
# Which provider serves which request group of the candidate; accepted and not looked at.
_MAPPINGS: Schema = {
    'type': 'object',
    'minProperties': 1,
    'patternProperties': {'[a-zA-Z0-9_-]': {'type': 'array', 'minItems': 1, 'items': UUID}},
}


def _require(schema: Schema, properties: Schema) -> Schema:
    schema['properties'].update(properties)
    schema['required'] += properties
    return schema


def _with_owner(schema: Schema) -> Schema:
    return _require(schema, _OWNER)


def _keyed_by_provider(schema: Schema) -> Schema:
    schema['properties']['allocations'] = {**_KEYED, 'minProperties': 1}
    return schema


def _with_generation(schema: Schema) -> Schema:
    """1.28, which also lets the allocations of a PUT be empty."""
    schema['properties']['allocations'].pop('minProperties', None)
    return _require(schema, {'consumer_generation': {'type': ['integer', 'null']}})


def _with_mappings(schema: Schema) -> Schema:
    schema['properties']['mappings'] = _MAPPINGS
    return schema


def _with_type(schema: Schema) -> Schema:
    return _require(schema, {'consumer_type': _CONSUMER_TYPE})


_CHANGES: dict[tuple[int, int], Callable[[Schema], Schema]] = {
    (1, 28): _with_generation,
    (1, 34): _with_mappings,
    (1, 38): _with_type,
}

PUT = VersionedSchema(
    closed({'allocations': _LISTED}),
    {(1, 8): _with_owner, (1, 12): _keyed_by_provider, **_CHANGES},
)


def _of_each(change: Callable[[Schema], Schema]) -> Callable[[Schema], Schema]:
    """The change of one consumer's schema, as a change of a schema of many consumers."""

    def apply(schema: Schema) -> Schema:
        schema['patternProperties'][UUID_KEY_PATTERN] = change(schema['patternProperties'][UUID_KEY_PATTERN])
        return schema

    return apply


POST = VersionedSchema(
    {
        'type': 'object',
        'minProperties': 1,
        'patternProperties': {UUID_KEY_PATTERN: _with_owner(closed({'allocations': _KEYED}))},
        'additionalProperties': False,
    },
    {version: _of_each(change) for version, change in _CHANGES.items()},
)
