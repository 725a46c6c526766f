"""Body of POST /reshaper (http.md 5.19): the bodies of PUT inventories and of POST /allocations, side by side."""

from collections.abc import Callable

from placement.schemas import UUID_KEY_PATTERN, Schema, Version, VersionedSchema, closed, inventory
from placement.schemas import allocation as allocation_schemas

# The first version of the route; earlier changes of its parts are in its base.
SINCE: Version = (1, 30)


def _with_allocations_of(version: Version) -> Callable[[Schema], Schema]:
    def change(schema: Schema) -> Schema:
        schema['properties']['allocations'] = {**allocation_schemas.POST.at(version), 'minProperties': 0}
        return schema

    return change


POST = VersionedSchema(
    closed(
        {
            'inventories': {
                'type': 'object',
                'minProperties': 1,
                'patternProperties': {UUID_KEY_PATTERN: inventory.REPLACE_ALL.base},
                'additionalProperties': False,
            },
            'allocations': {**allocation_schemas.POST.at(SINCE), 'minProperties': 0},
        }
    ),
    {version: _with_allocations_of(version) for version in allocation_schemas.POST.changes if version > SINCE},
)
