"""The values of `resources`, `required` and `member_of` in query strings, by microversion (contract: http.md 5.4,
candidates.md 1.2).

Pure functions from text to small immutable values; names are not looked up here. Called by the handler of GET
/resource_providers and by `solver.query` for GET /allocation_candidates. They raise the classes of `errors` that say
what is wrong with a value.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from oslo_utils import uuidutils

from placement import errors

Version = tuple[int, int]
T = TypeVar('T')

_FORBIDDEN_TRAITS = (1, 22)
_ANY_TRAITS = (1, 39)
_REPEATED_MEMBER_OF = (1, 24)
_FORBIDDEN_MEMBER_OF = (1, 32)

_EXAMPLE = 'HW_CPU_X86_VMX,CUSTOM_MAGIC'
_EXAMPLE_FORBIDDEN = 'HW_CPU_X86_VMX,!CUSTOM_MAGIC'
_EXAMPLE_ANY = 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC'


@dataclass(frozen=True)
class TraitFilter:
    """What a `required` parameter asks, in the order of the query string.

    Every member of `any_of` is a set of names of which at least one must be there (a plain required trait is a set of
    one); no name of `forbidden` may be there.
    """

    any_of: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()

    def conflicts(self) -> list[str]:
        """The names, sorted, in those sets of `any_of` that can never be met, because the whole set is forbidden."""
        refused = set(self.forbidden)
        return sorted({name for names in self.any_of if refused.issuperset(names) for name in names})


@dataclass(frozen=True)
class MemberFilter:
    """What `member_of` parameters ask: a member of each set of `any_of`, of no aggregate of `forbidden` (uuids as
    spelt)."""

    any_of: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[str, ...] = ()


def parse_resources(value: str) -> dict[str, int]:
    """`CLASS:AMOUNT[,CLASS:AMOUNT…]` as amounts by class name; of a class given twice the last amount counts.

    :raises errors.ResourcesMalformed: blank, or a piece without exactly one colon
    :raises errors.ResourceAmountNotInteger: the amount is no number
    :raises errors.ResourceAmountTooSmall: the amount is below one
    """
    if not value.strip():
        raise errors.ResourcesMalformed(value='empty string')
    amounts: dict[str, int] = {}
    for piece in value.split(','):
        try:
            resource_class, text = piece.split(':')
        except ValueError:
            raise errors.ResourcesMalformed(value=piece) from None
        try:
            amount = int(text)
        except ValueError:
            raise errors.ResourceAmountNotInteger(resource_class=resource_class, value=text) from None
        if amount < 1:
            raise errors.ResourceAmountTooSmall(resource_class=resource_class, value=amount)
        amounts[resource_class] = amount
    return amounts


def parse_required(values: Sequence[str], version: Version) -> TraitFilter:
    """All values of one `required` key, in query order: ANDed from 1.39 on, only the last is looked at before.

    :raises errors.AnyTraitsTooEarly: `in:` before 1.39
    :raises errors.AnyTraitsForbidden: `!` inside `in:`
    :raises errors.RequiredTraitsMalformed: an empty name, or `!` before 1.22
    """
    any_of: list[tuple[str, ...]] = []
    forbidden: list[str] = []
    for value in values if version >= _ANY_TRAITS else values[-1:]:
        if version >= _ANY_TRAITS and value.startswith('in:'):
            any_of.append(_any_traits(value))
        else:
            plain = parse_plain_traits(value, version)
            any_of += plain.any_of
            forbidden += plain.forbidden
    return TraitFilter(_distinct(any_of), _distinct(forbidden))


def parse_plain_traits(value: str, version: Version) -> TraitFilter:
    """One value of the form `T1,!T2`, which `root_required` keeps at every version; errors as
    :func:`parse_required`."""
    if value.startswith('in:'):
        raise errors.AnyTraitsTooEarly(value=value)
    with_forbidden = version >= _FORBIDDEN_TRAITS
    example = _EXAMPLE_FORBIDDEN if with_forbidden else _EXAMPLE
    required: list[tuple[str, ...]] = []
    forbidden: list[str] = []
    for piece in value.split(','):
        piece = piece.strip()
        name = piece.lstrip('!')
        if not name:
            raise errors.RequiredTraitsMalformed(example=example, reason=' an empty trait in', value=value)
        if name == piece:
            required.append((name,))
        elif with_forbidden:
            forbidden.append(name)
        else:
            raise errors.RequiredTraitsMalformed(example=example, reason='', value=value)
    return TraitFilter(_distinct(required), _distinct(forbidden))


def _any_traits(value: str) -> tuple[str, ...]:
    names = [piece.strip() for piece in value.removeprefix('in:').split(',')]
    if any(name.startswith('!') for name in names):
        raise errors.AnyTraitsForbidden(value=value)
    if not all(names):
        raise errors.RequiredTraitsMalformed(example=_EXAMPLE_ANY, reason=' an empty trait in', value=value)
    return _distinct(names)


def parse_member_of(values: Sequence[str], version: Version, suffix: str = '') -> MemberFilter:
    """All values of one `member_of<suffix>` key: positive ones are ANDed, negative ones united.

    :raises errors.MemberOfRepeated: more than one value before 1.24
    :raises errors.MemberOfForbiddenTooEarly: `!` before 1.32
    :raises errors.MemberOfListWithoutPrefix: several aggregates without `in:`
    :raises errors.MemberOfNotUuid: an aggregate that does not look like a uuid
    """
    if len(values) > 1 and version < _REPEATED_MEMBER_OF:
        raise errors.MemberOfRepeated(suffix=suffix)
    key = f'member_of{suffix}'
    any_of: list[tuple[str, ...]] = []
    forbidden: list[str] = []
    for value in values:
        is_forbidden = value.startswith('!')
        if is_forbidden and version < _FORBIDDEN_MEMBER_OF:
            raise errors.MemberOfForbiddenTooEarly(key=key)
        uuids = _aggregates(value, value[1:] if is_forbidden else value, key)
        if is_forbidden:
            forbidden += uuids
        else:
            any_of.append(uuids)
    return MemberFilter(_distinct(any_of), _distinct(forbidden))


def _aggregates(value: str, listing: str, key: str) -> tuple[str, ...]:
    """The uuids of `U` or `in:U1,U2`; `value` is the whole value, for the error."""
    if listing.startswith('in:'):
        uuids = listing.removeprefix('in:').split(',')
    elif ',' in listing:
        raise errors.MemberOfListWithoutPrefix(key=key, value=value)
    else:
        uuids = [listing]
    for uuid in uuids:
        if not uuidutils.is_uuid_like(uuid):
            raise errors.MemberOfNotUuid(key=key, value=uuid)
    return _distinct(uuids)


def _distinct(items: Iterable[T]) -> tuple[T, ...]:
    """The items without repetitions, in their order."""
    return tuple(dict.fromkeys(items))
