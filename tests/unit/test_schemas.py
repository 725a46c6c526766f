"""Versioned schemas: what no route shows by itself."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from placement import errors
from placement.schemas import (
    VersionedSchema,
    aggregate,
    allocation,
    closed,
    explain,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    trait,
    usage,
)

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


@pytest.mark.parametrize('value', ['', 'a' * 256])
def test_a_consumer_type_of_several_faults_is_told_its_form(value):
    said = f"'{value}' does not match"
    with pytest.raises(errors.InvalidBody, match=said):
        allocation.PUT.validate_body({**TYPED, 'consumer_type': value}, (1, 38))
    with pytest.raises(errors.InvalidQuery, match=said):
        usage.GET.validate_query({'project_id': 'p', 'consumer_type': value}, (1, 38))


UUID = '815ad1c0-58df-1b7b-a9c0-998e2aa8a7b4'
AMOUNTS = {'VCPU': 4, 'CUSTOM_GOLD': 1}
RECORD = {'total': 4, 'reserved': 0, 'allocation_ratio': 1.5, 'resource_provider_generation': 1}
OWNER = {'project_id': 'p', 'user_id': 'u'}
CLAIM = {'allocations': {UUID: {'resources': AMOUNTS, 'generation': 1}}, **OWNER}
TYPED = {**CLAIM, 'consumer_generation': None, 'consumer_type': 'INSTANCE', 'mappings': {'': [UUID], '_A': [UUID]}}
INVENTORIES = {'resource_provider_generation': 1, 'inventories': {'VCPU': RECORD}}
LISTED = {'allocations': [{'resource_provider': {'uuid': UUID}, 'resources': AMOUNTS}]}
VALID: list[tuple[VersionedSchema, tuple[int, int], Any]] = [
    (allocation.PUT, (1, 7), LISTED),
    (allocation.PUT, (1, 12), CLAIM),
    (allocation.PUT, (1, 39), TYPED),
    (allocation.POST, (1, 39), {UUID: TYPED}),
    (reshaper.POST, (1, 39), {'inventories': {UUID: INVENTORIES}, 'allocations': {UUID: TYPED}}),
    (inventory.CREATE, (1, 0), {**RECORD, 'resource_class': 'VCPU'}),
    (inventory.UPDATE, (1, 0), RECORD),
    (inventory.REPLACE_ALL, (1, 0), INVENTORIES),
    (aggregate.REPLACE, (1, 18), [UUID]),
    (aggregate.REPLACE, (1, 39), {'aggregates': [UUID], 'resource_provider_generation': 1}),
    (trait.REPLACE, (1, 39), {'traits': ['A'], 'resource_provider_generation': 1}),
    (resource_class.CREATE, (1, 39), {'name': 'CUSTOM_A'}),
    (resource_provider.CREATE, (1, 39), {'name': 'a', 'uuid': UUID, 'parent_provider_uuid': None}),
    (resource_provider.UPDATE, (1, 39), {'name': 'a', 'parent_provider_uuid': UUID}),
    (resource_provider.LIST, (1, 39), {'name': 'a', 'uuid': UUID, 'in_tree': UUID, 'required': 'A'}),
    (usage.GET, (1, 39), {**OWNER, 'consumer_type': 'all'}),
]
ODD: list[Any] = [
    *(None, True, 0, -1, 1.0, 1.5, 2**31, 2**63, 2**64, 10**400, 3.5e38, float('inf'), float('nan')),
    *('', 'A', 'A\n', 'CUSTOM_Ä', 'all\nx', 'unknown\n', '\ud800', 'x' * 256, '\U0001f600' * 255, UUID.upper()),
    *(f'{UUID}\n', UUID.replace('-', ''), f'{{{UUID}}}', [], {}, [UUID, UUID], [1, True], {'A\n': 1}, [None]),
]


def mutants(value: Any) -> Iterator[Any]:
    """The value with something odd in the place of each part, with each key changed, and with each key left out."""
    yield from ODD
    places: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for place, part in places:
        for odd in mutants(part):
            mutant = copy.copy(value)
            mutant[place] = odd
            yield mutant
    if isinstance(value, dict):
        for key in value:
            rest = {name: part for name, part in value.items() if name != key}
            yield rest
            yield from ({**rest, other: value[key]} for other in (f'{key}\n', f'{key}x', '', '\ud800', key.lower()))


@pytest.mark.parametrize(('schema', 'version', 'value'), VALID)
def test_what_is_valid_needs_no_explanation(schema, version, value, monkeypatch):
    """The group without a suffix, in `mappings`, is in nearly every claim."""
    monkeypatch.setattr(explain, 'problem', lambda *_arguments: pytest.fail('the slow library was asked'))
    schema.validate_body(value, version)


@pytest.mark.parametrize(('schema', 'version', 'value'), VALID)
def test_both_libraries_agree(schema, version, value, monkeypatch):
    """Else the fast one would let something pass that the one that explains would refuse."""

    def accepted() -> list[bool]:
        outcomes = []
        for mutant in [value, *mutants(value)]:
            try:
                schema.validate_body(mutant, version)
                outcomes.append(True)
            except errors.InvalidBody:
                outcomes.append(False)
        return outcomes

    both = accepted()
    assert both[0] and not all(both)

    class Doubtful:
        def is_valid(self, _value: Any) -> bool:
            raise ValueError

    monkeypatch.setattr(VersionedSchema, '_fast_validator', lambda *_arguments: Doubtful())
    assert accepted() == both
