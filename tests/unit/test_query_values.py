"""placement.query_values: the grammar of resources, required and member_of (candidates.md 1.2, http.md 5.4)."""

import pytest

from placement import errors
from placement.query_values import (
    MemberFilter,
    TraitFilter,
    parse_member_of,
    parse_plain_traits,
    parse_required,
    parse_resources,
)

U1 = '602608fd-5c53-5f4d-84ae-2a278f056aef'
U2 = '40eb3d5c-1813-5254-a13f-68c60ba54230'


@pytest.mark.parametrize(
    ('value', 'amounts'),
    [
        ('VCPU:1', {'VCPU': 1}),
        ('VCPU: 1 ,DISK_GB:+1_0', {'VCPU': 1, 'DISK_GB': 10}),
        ('VCPU:1,VCPU:2', {'VCPU': 2}),
        (' VCPU:1', {' VCPU': 1}),
        ('VCPU:٣', {'VCPU': 3}),
    ],
)
def test_resources(value: str, amounts: dict[str, int]) -> None:
    assert parse_resources(value) == amounts


@pytest.mark.parametrize(
    ('value', 'error', 'fragment'),
    [
        ('', errors.ResourcesMalformed, 'Got: empty string.'),
        ('  ', errors.ResourcesMalformed, 'Got: empty string.'),
        ('VCPU:1,', errors.ResourcesMalformed, 'Got: .'),
        ('VCPU:1:2', errors.ResourcesMalformed, 'Got: VCPU:1:2.'),
        (
            'VCPU:one',
            errors.ResourceAmountNotInteger,
            'Requested resource VCPU expected positive integer amount. Got: one.',
        ),
        ('VCPU:0', errors.ResourceAmountTooSmall, 'Requested resource VCPU requires amount >= 1. Got: 0.'),
    ],
)
def test_resources_wrong(value: str, error: type[errors.PlacementError], fragment: str) -> None:
    with pytest.raises(error, match=fragment.replace('.', r'\.')):
        parse_resources(value)


def test_required() -> None:
    assert parse_required(['A, B,!!C'], (1, 22)) == TraitFilter((('A',), ('B',)), ('C',))
    assert parse_required(['bad,,', '!T'], (1, 38)) == TraitFilter((), ('T',))
    assert parse_required(['A', 'in:B,C', '!T,A'], (1, 39)) == TraitFilter((('A',), ('B', 'C')), ('T',))
    assert parse_required(['! T'], (1, 39)).forbidden == (' T',)


@pytest.mark.parametrize(
    ('value', 'version', 'error'),
    [
        ('', (1, 39), errors.RequiredTraitsMalformed),
        ('A,', (1, 17), errors.RequiredTraitsMalformed),
        ('!', (1, 39), errors.RequiredTraitsMalformed),
        ('!A', (1, 21), errors.RequiredTraitsMalformed),
        ('in:A,B', (1, 38), errors.AnyTraitsTooEarly),
        ('in:A,!B', (1, 39), errors.AnyTraitsForbidden),
        ('in:', (1, 39), errors.RequiredTraitsMalformed),
    ],
)
def test_required_wrong(value: str, version: tuple[int, int], error: type[errors.PlacementError]) -> None:
    with pytest.raises(error):
        parse_required([value], version)


def test_plain_traits_never_know_in() -> None:
    with pytest.raises(errors.AnyTraitsTooEarly):
        parse_plain_traits('in:A', (1, 39))


def test_conflicts_need_the_whole_set_forbidden() -> None:
    assert TraitFilter((('A', 'B'),), ('A',)).conflicts() == []
    assert TraitFilter((('A', 'B'), ('C',)), ('A', 'B', 'D')).conflicts() == ['A', 'B']


def test_member_of() -> None:
    assert parse_member_of([U1], (1, 3)) == MemberFilter(((U1,),))
    assert parse_member_of([f'in:{U1},{U2}', U2], (1, 24)) == MemberFilter(((U1, U2), (U2,)))
    assert parse_member_of([f'!{U1}', f'!in:{U1},{U2}'], (1, 32)) == MemberFilter((), (U1, U2))
    upper = U1.upper().replace('-', '')
    assert parse_member_of([upper], (1, 39)) == MemberFilter(((upper,),))


@pytest.mark.parametrize(
    ('values', 'version', 'error', 'fragment'),
    [
        ([U1, U2], (1, 23), errors.MemberOfRepeated, 'Multiple member_of1 parameters are not supported'),
        ([f'!{U1}'], (1, 31), errors.MemberOfForbiddenTooEarly, 'Forbidden member_of1 parameters'),
        ([f'{U1},{U2}'], (1, 39), errors.MemberOfListWithoutPrefix, "'member_of1' must be prefixed with"),
        ([f'!{U1},{U2}'], (1, 39), errors.MemberOfListWithoutPrefix, 'must be prefixed with'),
        ([f'in:{U1},!{U2}'], (1, 39), errors.MemberOfNotUuid, 'parameter to contain valid'),
        ([f' {U1}'], (1, 39), errors.MemberOfNotUuid, 'parameter to contain valid'),
        ([''], (1, 39), errors.MemberOfNotUuid, 'parameter to contain valid'),
    ],
)
def test_member_of_wrong(
    values: list[str], version: tuple[int, int], error: type[errors.PlacementError], fragment: str
) -> None:
    with pytest.raises(error, match=fragment):
        parse_member_of(values, version, '1')
