"""A brute-force oracle for GET /allocation_candidates, written from the definitions of the contract alone.

It tries every combination and keeps what every rule allows (contract: candidates.md; its section numbers are given). It
knows nothing of the solver, reads valid queries only, and answers with the complete result: no limit, no cap. Used by
test_oracle_cases.py, which shows that it can be trusted, and by test_solver.py, which trusts it.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from tests.case_loader import World

SHARES = 'MISC_SHARES_VIA_AGGREGATE'
KEYS = ('resources', 'required', 'member_of', 'in_tree')
# Who gives how much of what; a group without resources takes 0 of '' from its provider.
Amounts = Mapping[tuple[str, str], int]
Filter = tuple[list[set[str]], set[str]]  # of each of these at least one, and none of those


def passes(names: frozenset[str], wanted: list[set[str]], forbidden: set[str]) -> bool:
    return all(names & one for one in wanted) and not names & forbidden


def parse_traits(values: list[str]) -> Filter:
    """A plain trait is a set of one (1.2)."""
    pieces = [piece for value in values for piece in ([value] if value.startswith('in:') else value.split(','))]
    wanted = [piece.removeprefix('in:').split(',') for piece in pieces if not piece.strip().startswith('!')]
    forbidden = {piece.strip().lstrip('!') for piece in pieces if piece.strip().startswith('!')}
    return [{name.strip() for name in names} for names in wanted], forbidden


class Group:
    """The parameters with one suffix (1.2, 1.3)."""

    def __init__(self, values: dict[str, list[str]], minor: int) -> None:
        pieces = [piece.split(':') for piece in values.get('resources', [''])[-1].split(',') if piece]
        self.amounts = {name: int(amount) for name, amount in pieces}
        self.traits = parse_traits(values.get('required', [])[0 if minor >= 39 else -1 :])
        members = values.get('member_of', [])
        self.member_of = [set(v.removeprefix('in:').split(',')) for v in members if not v.startswith('!')]
        self.outside = {u for v in members if v.startswith('!') for u in v[1:].removeprefix('in:').split(',')}
        self.in_tree = values['in_tree'][-1].strip() if 'in_tree' in values else None


class Oracle:
    def __init__(self, world: World, query: str, minor: int) -> None:
        self.minor, self.root = minor, world.roots
        self.parent = {provider.uuid: provider.parent for provider in world.providers}
        self.traits = {provider.uuid: provider.traits for provider in world.providers}
        self.aggregates = {provider.uuid: provider.aggregates for provider in world.providers}
        self.inventories = {(p.uuid, name): record for p in world.providers for name, record in p.inventories.items()}
        self.capacity = {
            key: int((record['total'] - record['reserved']) * record['allocation_ratio'])
            for key, record in self.inventories.items()
        }
        self.used = Counter[tuple[str, str]]()
        for uuid, amounts in (item for _consumer, allocations in world.allocations for item in allocations.items()):
            self.used.update({(uuid, name): amount for name, amount in amounts.items()})
        pairs = parse_qsl(query.replace(';', '&'), keep_blank_values=True)
        values: dict[str, dict[str, list[str]]] = {}
        for key, value in pairs:
            if match := re.fullmatch(f'({"|".join(KEYS)})(.*)', key):
                values.setdefault(match[2], {}).setdefault(match[1], []).append(value)
        self.groups = {suffix: Group(group, minor) for suffix, group in values.items()}
        self.isolate = dict(reversed(pairs)).get('group_policy') == 'isolate'  # the first one counts
        self.subtrees = [{s.strip() for s in value.split(',')} for key, value in pairs if key == 'same_subtree']
        self.at_root = parse_traits([value for key, value in pairs if key == 'root_required'])

    def has_room(self, key: tuple[str, str], amount: int) -> bool:
        """The part of fits() that sums have to respect too (2.5)."""
        return self.used[key] + amount <= self.capacity.get(key, 0) and amount <= self.inventories[key]['max_unit']

    def fits(self, key: tuple[str, str], amount: int) -> bool:
        """2.1"""
        record = self.inventories.get(key, {})
        return self.has_room(key, amount) and amount >= record['min_unit'] and amount % record['step_size'] == 0

    def reach(self, anchor: str) -> tuple[set[str], set[str]]:
        """tree(R) and ext(R) (2.2)."""
        tree = {uuid for uuid, root in self.root.items() if root == anchor}
        linked = {aggregate for uuid in tree for aggregate in self.aggregates[uuid]}
        shares = {uuid for uuid in self.root if SHARES in self.traits[uuid] and self.aggregates[uuid] & linked}
        return tree, shares - tree

    def options_unsuffixed(self, group: Group, anchor: str) -> Iterator[Amounts]:
        """2.3, rules 1 to 7."""
        tree, ext = self.reach(anchor)
        is_member = {uuid: passes(self.aggregates[uuid], group.member_of, set()) for uuid in tree | ext}
        for choice in itertools.product(sorted(tree | ext), repeat=len(group.amounts)):
            amounts = {(uuid, name): group.amounts[name] for uuid, name in zip(choice, group.amounts, strict=True)}
            if (
                all(self.fits(key, amount) for key, amount in amounts.items())
                and (group.in_tree is None or (anchor == self.root.get(group.in_tree) and not ext & set(choice)))
                and all(is_member[uuid] or (uuid in tree and is_member[anchor]) for uuid in choice)
                and not any(self.aggregates[uuid] & group.outside for uuid in (*choice, anchor))
                and passes(frozenset().union(*(self.traits[uuid] for uuid in choice)), *group.traits)
            ):
                yield amounts

    def options_suffixed(self, group: Group, anchor: str) -> Iterator[Amounts]:
        """2.4; a group without resources needs a positive condition, and its in_tree only has to exist."""
        for uuid in sorted(set().union(*self.reach(anchor))):
            amounts = {(uuid, name): amount for name, amount in group.amounts.items()}
            home = self.root[uuid] if group.in_tree is None else self.root.get(group.in_tree)
            if (
                all(self.fits(key, amount) for key, amount in amounts.items())
                and (home == self.root[uuid] if amounts else home and (group.traits[0] or group.member_of))
                and passes(self.traits[uuid], *group.traits)
                and passes(self.aggregates[uuid], group.member_of, group.outside)
            ):
                yield amounts or {(uuid, ''): 0}

    def options(self) -> Iterator[list[list[Amounts]]]:
        """For each anchor that root_required admits (2.5), the options of each group."""
        for anchor in sorted(set(self.root.values())):
            if passes(self.traits[anchor], *self.at_root):
                yield [
                    list(self.options_suffixed(group, anchor) if suffix else self.options_unsuffixed(group, anchor))
                    for suffix, group in self.groups.items()
                ]

    def is_above(self, uuid: str, other: str | None) -> bool:
        return other is not None and (uuid == other or self.is_above(uuid, self.parent[other]))

    def accepts(self, mappings: Mapping[str, frozenset[str]], sums: Amounts) -> bool:
        """Whether a combination is a candidate (2.5, 2.6)."""
        isolated = [providers for suffix, providers in mappings.items() if suffix and self.isolate]
        subtrees = [frozenset().union(*(mappings[suffix] for suffix in suffixes)) for suffixes in self.subtrees]
        used = {uuid for uuid, _ in sums}
        return (
            len(frozenset().union(*isolated)) == len(isolated)
            and all(any(all(self.is_above(top, uuid) for uuid in group) for top in group) for group in subtrees)
            and all(self.has_room(key, amount) for key, amount in sums.items())
            and (self.minor >= 29 or len({self.root[uuid] for uuid in used}) == len(used))
        )

    def candidates(self) -> set[tuple[frozenset[Any], frozenset[Any]]]:
        """All pairs of (((provider, class), amount) …) and ((suffix, providers) …)."""
        found = set()
        for combination in itertools.chain.from_iterable(itertools.product(*options) for options in self.options()):
            providers = [frozenset(uuid for uuid, _ in amounts) for amounts in combination]
            mappings = dict(zip(self.groups, providers, strict=True))
            sums = +sum(map(Counter, combination), Counter[tuple[str, str]]())  # without zeros
            if self.accepts(mappings, sums):
                found.add((frozenset(sums.items()), frozenset(mappings.items())))
        return found

    def answer(self) -> dict[str, Any]:
        """The body of the complete answer, in the wire form of the version, sorted."""
        found = self.candidates()
        used = {uuid for sums, _ in found for (uuid, _), _ in sums}
        roots = {self.root[uuid] for uuid in used}
        listed = [uuid for uuid in self.root if (self.root[uuid] in roots if self.minor >= 29 else uuid in used)]
        requests = sorted((self.request(*candidate) for candidate in found), key=str)
        return {'allocation_requests': requests, 'provider_summaries': {uuid: self.summary(uuid) for uuid in listed}}

    def request(self, sums: frozenset[Any], mappings: frozenset[Any]) -> dict[str, Any]:
        allocations: dict[str, dict[str, dict[str, int]]] = {}
        for (uuid, name), amount in sorted(sums):
            allocations.setdefault(uuid, {'resources': {}})['resources'][name] = amount
        if self.minor < 12:
            return {'allocations': [{'resource_provider': {'uuid': u}, **part} for u, part in allocations.items()]}
        shown = {'mappings': {suffix: sorted(uuids) for suffix, uuids in mappings}} if self.minor >= 34 else {}
        return {'allocations': allocations, **shown}

    def summary(self, uuid: str) -> dict[str, Any]:
        """3.2"""
        asked = {name for group in self.groups.values() for name in group.amounts}
        shown = [key for key in self.inventories if key[0] == uuid and (self.minor >= 27 or key[1] in asked)]
        resources = {key[1]: {'capacity': self.capacity[key], 'used': self.used[key]} for key in shown}
        since = {'resources': 10, 'traits': 17, 'parent_provider_uuid': 29, 'root_provider_uuid': 29}
        values = resources, sorted(self.traits[uuid]), self.parent[uuid], self.root[uuid]
        return {key: value for (key, first), value in zip(since.items(), values, strict=True) if self.minor >= first}
