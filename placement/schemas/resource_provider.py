"""Bodies and query of the /resource_providers routes (contract: http.md 5.4, 5.5)."""

from typing import Any

from placement.schemas import UUID, Schema, VersionedSchema, closed

_NAME: Schema = {'type': 'string', 'maxLength': 200}
_STRING: Schema = {'type': 'string'}


def _accept(**properties: Any) -> Any:
    def change(schema: Schema) -> Schema:
        schema['properties'] |= properties
        return schema

    return change


_with_parent = _accept(parent_provider_uuid={'anyOf': [UUID, {'type': 'null'}]})

CREATE = VersionedSchema(closed({'name': _NAME}, {'uuid': UUID}), {(1, 14): _with_parent})
UPDATE = VersionedSchema(closed({'name': _NAME}), {(1, 14): _with_parent})
LIST = VersionedSchema(
    closed({}, {'name': _STRING, 'uuid': UUID}),
    {
        (1, 3): _accept(member_of=_STRING),
        (1, 4): _accept(resources=_STRING),
        (1, 14): _accept(in_tree=UUID),
        (1, 18): _accept(required=_STRING),
    },
)
