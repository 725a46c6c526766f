"""Query of GET /usages (http.md 5.17)."""

from placement.schemas import Schema, VersionedSchema, closed

_EXTERNAL_ID: Schema = {'type': 'string', 'minLength': 1, 'maxLength': 255}


def _with_type(schema: Schema) -> Schema:
    schema['properties']['consumer_type'] = {
        'type': 'string',
        # Before the lengths: of several faults in one value the first is reported, and it names the form.
        'pattern': '^[A-Z0-9_]+$|^all|^unknown$',
        'minLength': 1,
        'maxLength': 255,
    }
    return schema


GET = VersionedSchema(closed({'project_id': _EXTERNAL_ID}, {'user_id': _EXTERNAL_ID}), {(1, 38): _with_type})
