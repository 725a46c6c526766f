"""Step 1 of the solver: the query string of GET /allocation_candidates becomes an immutable `CandidateQuery`.

Called by the handler, after the schema of the route has checked keys and the last `limit` and `group_policy`. Names
of classes and traits are looked up later, by `plan`. Contract: candidates.md 1.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from placement import errors, uuids
from placement.query_values import (
    MemberFilter,
    TraitFilter,
    Version,
    parse_member_of,
    parse_plain_traits,
    parse_required,
    parse_resources,
)

GRANULAR = (1, 25)
IN_TREE = (1, 31)
FREE_SUFFIXES = (1, 33)
ROOT_REQUIRED = (1, 35)
RESOURCELESS = (1, 36)

LIMIT = re.compile(r'^[1-9][0-9]*$')
# The first digits of a longer limit are beyond any number of candidates, too; and Python converts no text of more than
# 4,300 digits.
_LIMIT_DIGITS = 18
_NO_SUFFIX = ''
# The words of the keys that describe groups, and the fields of `Group` that hold their values.
_FIELDS = {'resources': 'resources', 'required': 'traits', 'member_of': 'member_of', 'in_tree': 'in_tree'}
_NUMBER = '([1-9][0-9]*)?'
_WORD = '([a-zA-Z0-9_-]{1,64})?'


@dataclass(frozen=True)
class Group:
    """One request group: what the parameters of one suffix ask."""

    suffix: str
    resources: dict[str, int] = field(default_factory=dict)
    traits: TraitFilter = TraitFilter()
    member_of: MemberFilter = MemberFilter()
    in_tree: str | None = None


@dataclass(frozen=True)
class CandidateQuery:
    """A whole request, checked as far as that is possible without the database.

    `groups` are in the order in which their suffixes first appear; `same_subtrees` holds the suffixes of every
    occurrence of that parameter; `isolate` is the group policy; `limit` is the number of candidates wanted, None for
    all.
    """

    version: Version
    groups: tuple[Group, ...]
    isolate: bool = False
    same_subtrees: tuple[tuple[str, ...], ...] = ()
    root_required: TraitFilter = TraitFilter()
    limit: int | None = None


def group_patterns(version: Version) -> list[str]:
    """The regular expressions of the keys that describe groups, one for each word, as clients know them from errors."""
    return [f'^{word}{_suffix(version)}$' for word in _words(version)]


def group_keys(version: Version) -> str:
    """All of `group_patterns` in one: group 1 is the word, group 2 the suffix, if any."""
    return f'^({"|".join(_words(version))}){_suffix(version)}$'


def _words(version: Version) -> list[str]:
    return [word for word in _FIELDS if word != 'in_tree' or version >= IN_TREE]


def _suffix(version: Version) -> str:
    return _WORD if version >= FREE_SUFFIXES else _NUMBER if version >= GRANULAR else '()'


def parse(params: Iterable[tuple[str, str]], version: Version) -> CandidateQuery:
    """The query of decoded `(key, value)` pairs in the order of the query string; unknown keys are the schema's
    business.

    Checks in the documented order (candidates.md 1.4): `root_required`, `same_subtree`, the groups' values, groups
    without resources, conflicting traits, `group_policy`.

    :raises errors.BadRequest: one of the errors of candidates.md 1.4
    """
    values: dict[str, list[str]] = {}
    for key, value in params:
        values.setdefault(key, []).append(value)
    limit = _limit(values.get('limit', []))
    root_required = _root_required(values.get('root_required', []), version)
    same_subtrees = tuple(_suffixes(value) for value in values.get('same_subtree', []))
    groups = _groups(values, version)
    if version >= RESOURCELESS:
        _check_resourceless(groups, same_subtrees)
    else:
        _check_orphans(groups)
    _check_conflicts(groups)
    policy = values.get('group_policy')
    if policy is None and sum(group.suffix != _NO_SUFFIX for group in groups) > 1:
        raise errors.GroupPolicyRequired()
    return CandidateQuery(
        version=version,
        groups=groups,
        isolate=policy is not None and policy[0] == 'isolate',
        same_subtrees=same_subtrees,
        root_required=root_required,
        limit=limit,
    )


def _limit(values: list[str]) -> int | None:
    """The first value counts; the schema has seen the last only."""
    if not values:
        return None
    if not LIMIT.match(values[0]):
        raise errors.InvalidQuery(reason=f'limit {values[0]!r} is not a positive whole number')
    return int(values[0][:_LIMIT_DIGITS])


def _root_required(values: list[str], version: Version) -> TraitFilter:
    if not values:
        return TraitFilter()
    if len(values) > 1:
        raise errors.RootRequiredRepeated()
    traits = parse_plain_traits(values[0], version)
    if conflicts := traits.conflicts():
        raise errors.RootRequiredConflict(names=', '.join(conflicts))
    return traits


def _suffixes(value: str) -> tuple[str, ...]:
    suffixes = tuple(dict.fromkeys(piece.strip() for piece in value.split(',')))
    if _NO_SUFFIX in suffixes:
        raise errors.SameSubtreeEmptySuffix()
    return suffixes


def _groups(values: dict[str, list[str]], version: Version) -> tuple[Group, ...]:
    """The groups, by first appearance of their suffix; their values are parsed in the order of the keys."""
    pattern = re.compile(group_keys(version))
    parts: dict[str, dict[str, list[str]]] = {}
    parsed: dict[tuple[str, str], object] = {}
    for key, texts in values.items():
        if match := pattern.match(key):
            word, suffix = match.groups(_NO_SUFFIX)
            parts.setdefault(suffix, {})[word] = texts
            parsed[suffix, word] = _value(word, suffix, texts, version)
    return tuple(
        Group(
            suffix,
            **{_FIELDS[word]: parsed[suffix, word] for word in words},  # type: ignore[arg-type]
        )
        for suffix, words in parts.items()
    )


def _value(word: str, suffix: str, texts: list[str], version: Version) -> object:
    if word == 'resources':
        return [parse_resources(text) for text in texts][-1]
    if word == 'required':
        return parse_required(texts, version)
    if word == 'member_of':
        return parse_member_of(texts, version, suffix)
    return [_in_tree(text) for text in texts][-1]


def _in_tree(text: str) -> str:
    uuid = text.strip()
    if not uuids.is_uuid_like(uuid):
        raise errors.InTreeNotUuid(value=text)
    # In any spelling, as everywhere where a provider is named (decision A12).
    return uuids.canonical(uuid)


def _check_orphans(groups: Sequence[Group]) -> None:
    """Before 1.36 every group asks for resources."""
    bare = [group for group in groups if not group.resources]
    if keys := [f'required{group.suffix}' for group in bare if group.traits.any_of]:
        raise errors.OrphanTraits(keys=', '.join(sorted(keys)))
    if keys := [f'member_of{group.suffix}' for group in bare if group.member_of != MemberFilter()]:
        raise errors.OrphanMemberOf(keys=', '.join(sorted(keys)))
    if bare:
        raise errors.GroupWithoutResources()
    if not groups:
        raise errors.NoGroup()


def _check_resourceless(groups: Sequence[Group], same_subtrees: Sequence[Sequence[str]]) -> None:
    """From 1.36 on a suffixed group may ask for no resources if some `same_subtree` names it."""
    if not any(group.resources for group in groups):
        raise errors.ResourcesMissing()
    named = {suffix for suffixes in same_subtrees for suffix in suffixes}
    if unbound := [group.suffix for group in groups if not group.resources and group.suffix not in named]:
        raise errors.ResourcelessGroupUnbound(suffixes=sorted(unbound))
    known = {group.suffix for group in groups if group.suffix != _NO_SUFFIX}
    if unknown := named - known:
        raise errors.SameSubtreeUnknownSuffix(unknown=sorted(unknown), known=sorted(known))


def _check_conflicts(groups: Sequence[Group]) -> None:
    conflicts = [(group.suffix, group.traits.conflicts()) for group in groups]
    texts = [f'required{suffix}: ({", ".join(names)})' for suffix, names in conflicts if names]
    if texts:
        raise errors.GroupTraitsConflict(conflicts=', '.join(texts))
