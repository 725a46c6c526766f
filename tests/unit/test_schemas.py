"""Versioned schemas: what no route shows by itself."""

import pytest

from placement import errors
from placement.schemas import VersionedSchema, closed

SCHEMA = VersionedSchema(closed({'a': {'type': 'integer'}}), {(1, 5): lambda schema: {**schema, 'required': []}})


@pytest.mark.parametrize(('version', 'required'), [((1, 0), ['a']), ((1, 4), ['a']), ((1, 5), []), ((1, 39), [])])
def test_at(version, required):
    assert SCHEMA.at(version)['required'] == required


def test_number_of_errors_looked_at_is_bounded():
    looked_at = []

    class Entries(dict):
        def items(self):
            for item in super().items():
                looked_at.append(item)
                yield item

    schema = VersionedSchema({'type': 'object', 'patternProperties': {'.': {'type': 'string'}}})
    with pytest.raises(errors.InvalidBody, match="1 is not of type 'string'"):
        schema.validate_body(Entries.fromkeys(map(str, range(50_000)), 1), (1, 0))
    assert len(looked_at) <= 1001


def test_a_final_newline_counts():
    schema = VersionedSchema({'type': 'string', 'pattern': '^[A-Z]+$'})
    assert schema.validate_body('A', (1, 0)) == 'A'
    with pytest.raises(errors.InvalidBody, match='does not match'):
        schema.validate_body('A\n', (1, 0))
