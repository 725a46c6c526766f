"""Body of PUT .../aggregates (contract: http.md 5.9)."""

from placement.schemas import GENERATION, UUID, Schema, VersionedSchema, closed


def _with_generation(schema: Schema) -> Schema:
    return closed({'aggregates': schema, 'resource_provider_generation': GENERATION})


REPLACE = VersionedSchema({'type': 'array', 'items': UUID, 'uniqueItems': True}, {(1, 19): _with_generation})
