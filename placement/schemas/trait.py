"""Query of GET /traits and body of PUT .../traits (contract: http.md 5.11, 5.16)."""

import re

from placement.schemas import GENERATION, VersionedSchema, closed

# The names that a client may create, in the path.
CUSTOM_NAME = re.compile(r'CUSTOM_[A-Z0-9_]+')
MAX_LENGTH = 255

LIST = VersionedSchema(closed({}, {'name': {'type': 'string'}, 'associated': {'type': 'string'}}))
REPLACE = VersionedSchema(
    closed(
        {
            'traits': {
                'type': 'array',
                'items': {'type': 'string', 'minLength': 1, 'maxLength': MAX_LENGTH},
            },
            'resource_provider_generation': GENERATION,
        }
    )
)
