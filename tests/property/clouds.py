"""Random small clouds, and queries for GET /allocation_candidates: a Hypothesis strategy. Used by test_solver.py.

Clouds have up to 12 providers in trees of up to four levels; names are few, so that the parts of a cloud and a query
often meet, and queries ask mostly for what is there. They are valid, and use every parameter from its first version on.

Hypothesis draws a seed, from which a scenario is thrown, and a mask, which tells what of it is kept. Throwing is quick
and no two scenarios are alike (Hypothesis's own mutations of drawn structures mostly repeat themselves); a failing
scenario shrinks by dropping parts, because bytes of the mask shrink to zero.
"""

import math
import random
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from hypothesis import reject
from hypothesis import strategies as st

from tests.case_loader import INVENTORY_DEFAULTS, Provider, World
from tests.property.oracle import SHARES, Oracle

T = TypeVar('T')
# Standard names only: they exist in every deployment.
CLASSES = ['VCPU', 'DISK_GB', 'MEMORY_MB', 'SRIOV_NET_VF']
TRAITS = ['HW_NUMA_ROOT', 'STORAGE_DISK_SSD', 'HW_CPU_X86_AVX2']
AGGREGATES = [f'a0000000-0000-4000-8000-00000000000{number}' for number in range(3)]
UNKNOWN = 'ffffffff-0000-4000-8000-000000000000'
# What a query is about: found in its text.
FOCUSES = (
    '',
    'resources',
    'required',
    'member_of=!',
    'member_of',
    'in_tree=',
    'in_tree',
    'root_required',
    'same_subtree',
    'isolate',
)
MOST_PROVIDERS = 12
MOST_LEVELS = 4
MOST_COMBINATIONS = 2000
MOST_ATTEMPTS = 40
MASK = 200


@dataclass(frozen=True)
class Query:
    """A valid query: parameters in their order, and the microversion 1.minor."""

    minor: int
    pairs: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        return '&'.join(f'{key}={value}' for key, value in self.pairs)

    def without(self, *keys: str) -> 'Query':
        return Query(self.minor, tuple(pair for pair in self.pairs if pair[0] not in keys))


@dataclass(frozen=True)
class Scenario:
    world: World
    query: Query

    def __repr__(self) -> str:
        lines = [f'1.{self.query.minor} {self.query.text}']
        for p in self.world.providers:
            stock = {
                name: {key: value for key, value in record.items() if value != INVENTORY_DEFAULTS.get(key)}
                for name, record in p.inventories.items()
            }
            lines.append(f'  {p.uuid} in {p.parent}: {stock} {sorted(p.traits)} {sorted(p.aggregates)}')
        return '\n'.join([*lines, f'  used: {[amounts for _, amounts in self.world.allocations]}'])


class Dice:
    """Random choices, and what is kept of them."""

    def __init__(self, seed: str, mask: bytes, focus: str) -> None:
        self.rng = random.Random(seed)
        self.mask = iter(mask)
        self.focus = focus

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def asks(self, parameter: str, share: float) -> bool:
        """Whether a query has a parameter: in this share of queries, and more often if the scenario is about it."""
        return self.chance(0.7 if parameter in self.focus else share)

    def one(self, items: Sequence[T]) -> T:
        return self.rng.choice(items)

    def some(self, items: Iterable[T], low: int, high: int) -> list[T]:
        """So many different items, if there are enough."""
        pool = list(items)
        return self.rng.sample(pool, min(len(pool), self.rng.randint(low, high)))

    def keep(self) -> bool:
        return next(self.mask, 255) >= 4

    def kept(self, items: Iterable[T]) -> list[T]:
        return [item for item in items if self.keep()]


def throw(seed: int, mask: bytes = b'') -> Scenario | None:
    """A cloud and a query for it that is not too much for the oracle, and mostly has an answer; None in bad luck."""
    focus = random.Random(seed).choice(FOCUSES)
    for attempt in range(MOST_ATTEMPTS):
        dice = Dice(f'{seed} {attempt}', mask, focus)
        world = throw_world(dice)
        query = throw_query(dice, world)
        scenario = Scenario(thin_out(dice, world), query)
        oracle = Oracle(scenario.world, query.text, query.minor)
        if sum(math.prod(map(len, options)) for options in oracle.options()) <= MOST_COMBINATIONS and (
            dice.chance(0.03) or (focus in query.text and oracle.answer()['allocation_requests'])
        ):
            return scenario
    return None


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """What throw() throws; shrinks by dropping parts."""
    return throw(draw(st.integers(0, 2**64 - 1)), draw(st.binary(min_size=MASK, max_size=MASK))) or reject()


# The cloud -------------------------------------------------------------------


def throw_inventory(dice: Dice) -> dict[str, Any]:
    """One inventory: plenty or little, sometimes with every limit there is."""
    if dice.chance(0.7):
        return {**INVENTORY_DEFAULTS, 'total': dice.one([1, 2, 4, 8, 8, 8])}
    return {
        'total': dice.rng.randint(1, 8),
        'reserved': dice.one([0, 0, 1]),
        'min_unit': dice.one([1, 1, 1, 2]),
        'max_unit': dice.one([INVENTORY_DEFAULTS['max_unit'], 1, 2, 3]),
        'step_size': dice.one([1, 1, 1, 2]),
        'allocation_ratio': dice.one([1.0, 1.5, 1.9, 0.29, 3.0]),
    }


def throw_world(dice: Dice) -> World:
    """Trees, sharing providers anywhere in them, aggregates, usage (beyond capacity too)."""
    # Providers of one level mostly look alike, so that a query finds several.
    usual = [dice.some(CLASSES, 1, 2) for _ in range(MOST_LEVELS)]
    nesting = dice.one([0, 0.3, 0.6, 0.8])
    sharing = dice.one([0, 0.25, 0.4])
    clutter = dice.one([0.2, 0.4, 0.7])
    providers: list[Provider] = []
    levels: dict[str, int] = {}
    for number in range(dice.rng.randint(1, MOST_PROVIDERS)):
        own = f'{number:08x}-0000-4000-8000-000000000000'
        above = [uuid for uuid, level in levels.items() if level < MOST_LEVELS]
        parent = dice.one(above) if above and dice.chance(nesting) else None
        levels[own] = levels[parent] + 1 if parent else 1
        shares = dice.chance(sharing)
        classes = dice.some(CLASSES, 0, 3) if shares or dice.chance(0.2) else usual[levels[own] - 1]
        aggregates = (
            dice.some(AGGREGATES, 0 if dice.chance(0.2) else 1, 2)
            if shares or dice.chance(clutter if parent else 0.6)
            else []
        )
        providers.append(
            Provider(
                uuid=own,
                name=f'p{number}',
                parent=parent,
                inventories={name: throw_inventory(dice) for name in classes},
                traits=frozenset((dice.some(TRAITS, 1, 2) if dice.chance(clutter) else []) + [SHARES] * shares),
                aggregates=frozenset(aggregates),
            )
        )
    stocked = [(provider.uuid, name) for provider in providers for name in provider.inventories]
    allocations = [
        (str(uuid.UUID(int=number)), {owner: {name: dice.rng.randint(1, 4)}})
        for number, (owner, name) in enumerate(dice.some(stocked, 0, 4), 1)
    ]
    return World(tuple(providers), tuple(allocations))


def thin_out(dice: Dice, world: World) -> World:
    """What the mask keeps of a world; the children of a dropped provider go to its parent."""
    providers: list[Provider] = []
    parents: dict[str | None, str | None] = {None: None}
    for provider in world.providers:
        keep = dice.keep()
        thin = replace(
            provider,
            parent=parents[provider.parent],
            inventories={name: provider.inventories[name] for name in dice.kept(provider.inventories)},
            traits=frozenset(dice.kept(sorted(provider.traits))),
            aggregates=frozenset(dice.kept(sorted(provider.aggregates))),
        )
        parents[provider.uuid] = provider.uuid if keep else thin.parent
        if keep:
            providers.append(thin)
    stocked = {(provider.uuid, name) for provider in providers for name in provider.inventories}
    allocations = [
        (consumer, amounts)
        for consumer, amounts in dice.kept(world.allocations)
        if all((owner, name) in stocked for owner, names in amounts.items() for name in names)
    ]
    return World(tuple(providers), tuple(allocations))


def near(world: World, root: str) -> list[Provider]:
    """The tree of a root, the root first, and the sharing providers that it may use."""
    roots = world.roots
    tree = [provider for provider in world.providers if roots[provider.uuid] == root]
    linked = frozenset().union(*(provider.aggregates for provider in tree))
    return tree + [p for p in world.providers if p not in tree and SHARES in p.traits and p.aggregates & linked]


# The query -------------------------------------------------------------------


def throw_required(dice: Dice, minor: int, owned: frozenset[str], root: bool = False) -> list[str]:
    """Values of required (or root_required) that do not contradict themselves, mostly met by who owns these traits."""
    names = [*TRAITS, SHARES]
    wild = dice.chance(0.5 if root else 0.15)
    plain = dice.some(names if wild else sorted(owned), 0, 2)
    others = [name for name in names if name not in plain and (wild or name not in owned)]
    forbidden = dice.some(others, root, 1) if minor >= 22 else []
    pieces = plain + ['!' + name for name in forbidden]
    values = [','.join(pieces)] if pieces else []
    if minor >= 39 and not root and dice.chance(0.5):
        any_of = list(dict.fromkeys(dice.some(sorted(owned), 0, 1) + dice.some(names, 1, 2)))
        if not set(any_of) <= set(forbidden):
            values.append('in:' + ','.join(any_of))
    return values


def throw_member_of(dice: Dice, minor: int, owned: frozenset[str]) -> list[str]:
    """Values of member_of, mostly met by a member of these aggregates."""
    names = [*AGGREGATES, UNKNOWN]
    values = []
    for _ in range(dice.one([1, 1, 2]) if minor >= 24 else 1):
        negative = minor >= 32 and dice.asks('!', 0.3)
        if negative:
            uuids = dice.some(names if dice.chance(0.2) else AGGREGATES, 1, 2)
        else:
            uuids = dice.some(sorted(owned) if owned and dice.chance(0.8) else names, 1, 2)
        text = 'in:' + ','.join(uuids) if len(uuids) > 1 or dice.chance(0.5) else uuids[0]
        values.append('!' * negative + text)
    return values


def throw_group(
    dice: Dice, minor: int, suffix: str, around: list[Provider], resources: bool = True
) -> list[tuple[str, str]]:
    """The parameters of one group, resources first; what it asks for can mostly be found around a root."""
    useful = [provider for provider in around if (provider.inventories if resources else provider.traits)]
    chosen = dice.one(useful or around)
    pairs = []
    if resources:
        givers = [chosen] if suffix else around
        classes = sorted({name for provider in givers for name in provider.inventories}) or CLASSES
        names = dice.some(CLASSES if dice.chance(0.05) else classes, 1, 2 if suffix else 3)
        amounts = ','.join(f'{name}:{dice.one([1] * 8 + [2, 2, 3, 4])}' for name in names)
        pairs.append(('resources' + suffix, amounts))
    values = []
    if minor >= 17 and dice.asks('required', 0.25 if resources else 0.8):
        values += [('required' + suffix, value) for value in throw_required(dice, minor, chosen.traits)]
    if minor >= 21 and dice.asks('member_of', 0.2):
        owned = chosen.aggregates if suffix else around[0].aggregates | chosen.aggregates
        values += [('member_of' + suffix, value) for value in throw_member_of(dice, minor, owned)]
    if minor >= 31 and dice.asks('in_tree', 0.15):
        unlikely = dice.one([provider.uuid for provider in around] + [UNKNOWN])
        values.append(('in_tree' + suffix, unlikely if dice.chance(0.25) else chosen.uuid))
    return pairs + dice.kept(values)


def throw_query(dice: Dice, world: World) -> Query:
    """A valid query for a cloud."""
    minor = dice.one([39, 39, dice.rng.randint(36, 39), dice.rng.randint(10, 39), dice.rng.randint(24, 30)])
    roots = sorted(set(world.roots.values()))
    around = max((near(world, dice.one(roots)) for _ in range(2)), key=len)  # more often a place with some choice
    groups: dict[str, list[tuple[str, str]]] = {}
    names = ['1', '2', '_A', '-b', 'NET', '01'] if minor >= 33 else ['1', '2', '3', '10']
    for suffix in dice.some(names, 1, 3) if minor >= 25 and dice.chance(0.85) else []:
        groups[suffix] = throw_group(dice, minor, suffix, around)
    whole = throw_group(dice, minor, '', around)
    groups = {suffix: group for suffix, group in groups.items() if dice.keep()}
    pairs = [pair for group in groups.values() for pair in group]
    if not groups or (dice.chance(0.6) and dice.keep()):
        pairs += whole
    suffixes = list(groups)
    subtrees = []
    if minor >= 36:
        for suffix in dice.kept(dice.some(['_R', 'S'], int(dice.asks('same_subtree', 0.3)), 2)):
            if group := throw_group(dice, minor, suffix, around, resources=False):
                subtrees.append([suffix, *dice.some(suffixes, 0, 2)])
                suffixes.append(suffix)
                pairs += group
        if suffixes and dice.asks('same_subtree', 0.25):
            subtrees += dice.kept([dice.some(suffixes, 1, 3)])
    wide = [('limit', str(dice.rng.randint(1, 6)))] if minor >= 16 and dice.chance(0.25) else []
    if minor >= 35 and dice.asks('root_required', 0.15):
        wide += [('root_required', v) for v in throw_required(dice, minor, around[0].traits, root=True)]
    if len(suffixes) > 1 or (minor >= 25 and dice.chance(0.3)):
        pairs.append(('group_policy', 'isolate' if dice.asks('isolate', 0.3) else 'none'))
    pairs += dice.kept(wide) + [('same_subtree', ','.join(subtree)) for subtree in subtrees]
    if dice.chance(0.3):
        dice.rng.shuffle(pairs)
    return Query(minor, tuple(pairs))
