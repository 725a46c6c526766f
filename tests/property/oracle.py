"""A brute-force oracle for GET /allocation_candidates, written from the definitions of the contract alone.

It tries every combination and keeps what every rule allows (contract: candidates.md; its section numbers are given). It
knows nothing of the solver, reads valid queries only, and answers with the complete result: no limit, no cap. Used by
test_oracle_cases.py, which shows that it can be trusted, and by test_solver.py, which trusts it.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from tests.case_loader import Provider, World

SHARES = 'MISC_SHARES_VIA_AGGREGATE'
KEYS = ('resources', 'required', 'member_of', 'in_tree')
Option = tuple[frozenset[str], Mapping[tuple[str, str], int]]  # providers, (provider, class) -> amount


def parse_traits(values: list[str]) -> tuple[list[set[str]], set[str]]:
    """required: the any-of sets (one of one element for a plain trait) and the forbidden traits (1.2)."""
    any_of: list[set[str]] = []
    forbidden = set()
    for value in values:
        if value.startswith('in:'):
            any_of.append({name.strip() for name in value[3:].split(',')})
            continue
        for name in map(str.strip, value.split(',')):
            if name.startswith('!'):
                forbidden.add(name.lstrip('!'))
            else:
                any_of.append({name})
    return any_of, forbidden


class Group:
    """The parameters with one suffix (1.2, 1.3)."""

    def __init__(self, values: dict[str, list[str]], minor: int) -> None:
        pieces = [piece.split(':') for piece in values.get('resources', [''])[-1].split(',') if piece]
        self.amounts = {name: int(amount) for name, amount in pieces}
        self.any_of, self.forbidden = parse_traits(values.get('required', [])[0 if minor >= 39 else -1 :])
        members = values.get('member_of', [])
        self.member_of = [set(v.removeprefix('in:').split(',')) for v in members if not v.startswith('!')]
        self.outside = {u for v in members if v.startswith('!') for u in v[1:].removeprefix('in:').split(',')}
        self.in_tree = values['in_tree'][-1].strip() if 'in_tree' in values else None

    def is_member(self, provider: Provider) -> bool:
        """M(p): the provider's aggregates meet every positive set."""
        return all(provider.aggregates & one for one in self.member_of)

    def traits_met(self, traits: frozenset[str]) -> bool:
        return all(traits & one for one in self.any_of) and not traits & self.forbidden


class Oracle:
    def __init__(self, world: World, query: str, minor: int) -> None:
        self.minor = minor
        self.by_uuid = {provider.uuid: provider for provider in world.providers}
        self.root = world.roots
        self.used: Counter[tuple[str, str]] = Counter()
        for _consumer, allocations in world.allocations:
            for uuid, amounts in allocations.items():
                self.used.update({(uuid, name): amount for name, amount in amounts.items()})
        pairs = parse_qsl(query.replace(';', '&'), keep_blank_values=True)
        values: dict[str, dict[str, list[str]]] = {}
        for key, value in pairs:
            for word in KEYS:
                if key.startswith(word) and key != 'root_required':
                    values.setdefault(key[len(word) :], {}).setdefault(word, []).append(value)
        self.groups = {suffix: Group(group, minor) for suffix, group in values.items()}
        self.isolate = dict(reversed(pairs)).get('group_policy') == 'isolate'  # the first one counts
        self.subtrees = [{s.strip() for s in value.split(',')} for key, value in pairs if key == 'same_subtree']
        self.root_traits = parse_traits([value for key, value in pairs if key == 'root_required'])

    def capacity(self, uuid: str, name: str) -> int:
        record = self.by_uuid[uuid].inventories[name]
        return int((record['total'] - record['reserved']) * record['allocation_ratio'])

    def has_room(self, uuid: str, name: str, amount: int) -> bool:
        """The part of fits() that sums have to respect too: capacity with usage, and max_unit."""
        record = self.by_uuid[uuid].inventories.get(name)
        return (
            record is not None
            and self.used[uuid, name] + amount <= self.capacity(uuid, name)
            and amount <= record['max_unit']
        )

    def fits(self, uuid: str, name: str, amount: int) -> bool:
        record = self.by_uuid[uuid].inventories.get(name, {})
        return self.has_room(uuid, name, amount) and amount >= record['min_unit'] and amount % record['step_size'] == 0

    def reach(self, anchor: str) -> tuple[set[str], set[str]]:
        """tree(R) and ext(R) (2.2)."""
        tree = {uuid for uuid, root in self.root.items() if root == anchor}
        linked = {aggregate for uuid in tree for aggregate in self.by_uuid[uuid].aggregates}
        shares = {p.uuid for p in self.by_uuid.values() if SHARES in p.traits and p.aggregates & linked}
        return tree, shares - tree

    def options_unsuffixed(self, group: Group, anchor: str) -> Iterator[Option]:
        """2.3, rules 1 to 7."""
        tree, ext = self.reach(anchor)
        top = self.by_uuid[anchor]
        for choice in itertools.product(sorted(tree | ext), repeat=len(group.amounts)):
            amounts = dict(zip(zip(choice, group.amounts, strict=True), group.amounts.values(), strict=True))
            providers = [self.by_uuid[uuid] for uuid in choice]
            if (
                all(self.fits(uuid, name, amount) for (uuid, name), amount in amounts.items())
                and (group.in_tree is None or (anchor == self.root.get(group.in_tree) and not ext & set(choice)))
                and all(group.is_member(p) or (p.uuid in tree and group.is_member(top)) for p in providers)
                and not any((p.aggregates | top.aggregates) & group.outside for p in providers)
                and group.traits_met(frozenset().union(*(p.traits for p in providers)))
            ):
                yield frozenset(choice), amounts

    def options_suffixed(self, group: Group, anchor: str) -> Iterator[Option]:
        """2.4; a group without resources needs a positive condition, and its in_tree only has to exist."""
        for uuid in sorted(set().union(*self.reach(anchor))):
            provider = self.by_uuid[uuid]
            if group.amounts:
                served = all(self.fits(uuid, name, amount) for name, amount in group.amounts.items())
                located = group.in_tree is None or self.root.get(group.in_tree) == self.root[uuid]
            else:
                served = bool(group.any_of or group.member_of)
                located = group.in_tree is None or group.in_tree in self.root
            if (
                served
                and located
                and group.traits_met(provider.traits)
                and group.is_member(provider)
                and not provider.aggregates & group.outside
            ):
                yield frozenset([uuid]), {(uuid, name): amount for name, amount in group.amounts.items()}

    def options(self, anchor: str) -> list[list[Option]]:
        """The options of each group at an anchor."""
        return [
            list(self.options_suffixed(group, anchor) if suffix else self.options_unsuffixed(group, anchor))
            for suffix, group in self.groups.items()
        ]

    def anchors(self) -> list[str]:
        """The roots that root_required admits (2.5)."""
        required, forbidden = self.root_traits
        roots = [self.by_uuid[uuid] for uuid in sorted(set(self.root.values()))]
        return [p.uuid for p in roots if all(p.traits & one for one in required) and not p.traits & forbidden]

    def is_ancestor(self, above: str, below: str | None) -> bool:
        return below is not None and (above == below or self.is_ancestor(above, self.by_uuid[below].parent))

    def accept(self, chosen: dict[str, Option]) -> tuple[Any, Any] | None:
        """The candidate that a combination makes, as (allocations, mappings), or None (2.5, 2.6)."""
        isolated = [providers for suffix, (providers, _) in chosen.items() if suffix]
        if self.isolate and len(frozenset().union(*isolated)) < len(isolated):
            return None
        for suffixes in self.subtrees:
            group = frozenset().union(*(chosen[suffix][0] for suffix in suffixes))
            if not any(all(self.is_ancestor(above, below) for below in group) for above in group):
                return None
        sums: Counter[tuple[str, str]] = Counter()
        for _, amounts in chosen.values():
            sums.update(amounts)
        if not all(self.has_room(uuid, name, amount) for (uuid, name), amount in sums.items()):
            return None
        providers = {uuid for uuid, _ in sums}
        if self.minor < 29 and len({self.root[uuid] for uuid in providers}) < len(providers):
            return None
        return frozenset(sums.items()), frozenset((suffix, found) for suffix, (found, _) in chosen.items())

    def combinations(self) -> int:
        """How many combinations answer() has to try."""
        return sum(math.prod(map(len, self.options(anchor))) for anchor in self.anchors())

    def answer(self) -> dict[str, Any]:
        """The body of the complete answer, in the wire form of the version, sorted."""
        found = {
            self.accept(dict(zip(self.groups, combination, strict=True)))
            for anchor in self.anchors()
            for combination in itertools.product(*self.options(anchor))
        } - {None}
        requests = sorted((self.render(*candidate) for candidate in found if candidate), key=str)
        used = {uuid for candidate in found if candidate for (uuid, _), _ in candidate[0]}
        roots = {self.root[uuid] for uuid in used}
        listed = [uuid for uuid in self.by_uuid if (self.root[uuid] in roots if self.minor >= 29 else uuid in used)]
        return {'allocation_requests': requests, 'provider_summaries': {uuid: self.summary(uuid) for uuid in listed}}

    def render(self, sums: Any, mappings: Any) -> dict[str, Any]:
        allocations: dict[str, dict[str, dict[str, int]]] = {}
        for (uuid, name), amount in sorted(sums):
            allocations.setdefault(uuid, {'resources': {}})['resources'][name] = amount
        if self.minor < 12:
            return {'allocations': [{'resource_provider': {'uuid': u}, **part} for u, part in allocations.items()]}
        shown = {'mappings': {suffix: sorted(providers) for suffix, providers in mappings}} if self.minor >= 34 else {}
        return {'allocations': allocations, **shown}

    def summary(self, uuid: str) -> dict[str, Any]:
        """3.2"""
        provider = self.by_uuid[uuid]
        asked = {name for group in self.groups.values() for name in group.amounts}
        resources = {
            name: {'capacity': self.capacity(uuid, name), 'used': self.used[uuid, name]}
            for name in provider.inventories
            if self.minor >= 27 or name in asked
        }
        keys = {'resources': 0, 'traits': 17, 'parent_provider_uuid': 29, 'root_provider_uuid': 29}
        values = (resources, sorted(provider.traits), provider.parent, self.root[uuid])
        return {key: value for (key, first), value in zip(keys.items(), values, strict=True) if self.minor >= first}
