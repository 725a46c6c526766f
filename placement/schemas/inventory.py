"""Bodies of the .../inventories routes (contract: http.md 5.6, 5.7). The reshaper uses REPLACE_ALL too."""

from placement.schemas import GENERATION, MAX_INT, RESOURCE_CLASS_PATTERN, Schema, VersionedSchema, closed

# The largest number of single precision, in which databases keep ratios.
_MAX_RATIO = 3.40282e38

_COUNT: Schema = {'type': 'integer', 'minimum': 1, 'maximum': MAX_INT}
_FIELDS: Schema = {
    'reserved': {**_COUNT, 'minimum': 0},
    'min_unit': _COUNT,
    'max_unit': _COUNT,
    'step_size': _COUNT,
    'allocation_ratio': {'type': 'number', 'minimum': -_MAX_RATIO, 'maximum': _MAX_RATIO},
}
_TOTAL: Schema = {'total': _COUNT}
_GENERATION: Schema = {'resource_provider_generation': GENERATION}

# The generations of an inventory in a collection and of a new one are accepted, and mean nothing.
_RECORD = closed(_TOTAL, {**_FIELDS, **_GENERATION})
CREATE = VersionedSchema(
    closed(
        {**_TOTAL, 'resource_class': {'type': 'string', 'pattern': RESOURCE_CLASS_PATTERN}},
        {**_FIELDS, **_GENERATION},
    )
)
UPDATE = VersionedSchema(closed({**_TOTAL, **_GENERATION}, _FIELDS))
# A key of another form is left for the handler to refuse, as an unknown class.
REPLACE_ALL = VersionedSchema(
    closed(
        {
            **_GENERATION,
            'inventories': {'type': 'object', 'patternProperties': {RESOURCE_CLASS_PATTERN: _RECORD}},
        }
    )
)
