"""Room in several classes at once: what is found is what there is, in few steps, and a search that would not end is
ended."""

import itertools
import random
from collections.abc import Iterator

import pytest

from placement import errors
from placement.solver import Result, search
from tests.unit.solver.cloud import Cloud

CLASSES = ('CUSTOM_A', 'CUSTOM_B')


def fitting(domains: list[list[int]], rules: search.Rules) -> Iterator[search.Choice]:
    """All choices that fit, by trying every one."""
    for choice in itertools.product(*domains):
        separate = [choice[slot] for slot in rules.separate]
        taken: dict[tuple[str, int], int] = {}
        for row, demands in zip(choice, rules.demands, strict=True):
            for name, amount in demands:
                taken[name, row] = taken.get((name, row), 0) + amount
        if len(set(separate)) == len(separate) and all(
            total <= rules.room[name].get(row, 0) for (name, row), total in taken.items()
        ):
            yield choice


@pytest.mark.parametrize('seed', range(400))
def test_no_choice_is_lost(seed: int) -> None:
    rng = random.Random(seed)
    rows, slots = rng.randint(2, 4), rng.randint(3, 6)
    asked = [rng.sample(CLASSES, rng.randint(0 if seed % 3 else 1, 2)) for _ in range(slots)]
    unit = rng.choice([1, 1, 7])
    rules = search.Rules(
        demands=[[(name, unit * rng.randint(1, 5)) for name in names] for names in asked],
        separate=rng.sample(range(slots), rng.choice([0, 0, 2, 3])),
        subtrees=[],
        covers=[],
        end_of=lambda row: row + 1,
        room={name: {row: rng.randint(0, 9 * unit) for row in range(rows)} for name in CLASSES},
    )
    domains = [sorted(rng.sample(range(rows), rng.randint(1, rows))) for _ in range(slots)]
    domains = [
        [row for row in domain if all(rules.room[name][row] >= amount for name, amount in demands)]
        for domain, demands in zip(domains, rules.demands, strict=True)
    ]
    found = list(search.choices(domains, rules, search.Steps()))
    assert len(set(found)) == len(found)
    assert sorted(found) == sorted(fitting(domains, rules))


@pytest.mark.parametrize('seed', range(400))
def test_no_choice_is_lost_where_hardly_any_is_left(seed: int) -> None:
    """Providers are as large as one choice needs, or by one larger: most of the search is dead ends."""
    rng = random.Random(seed)
    rows, slots = rng.randint(3, 4), rng.randint(5, 7)
    demands = [[(name, rng.randint(1, 6)) for name in CLASSES] for _ in range(slots)]
    separate = rng.sample(range(slots), rng.choice([0, 2, 3]))
    solution = [rng.randrange(rows) for _ in range(slots)]
    for slot, row in zip(separate, rng.sample(range(rows), len(separate)), strict=True):
        solution[slot] = row
    room = {name: {row: rng.randint(0, 1) for row in range(rows)} for name in CLASSES}
    for row, wanted in zip(solution, demands, strict=True):
        for name, amount in wanted:
            room[name][row] += amount
    domains = [
        sorted(
            row
            for row in {own, *rng.sample(range(rows), rng.randint(1, rows))}
            if all(room[name][row] >= amount for name, amount in wanted)
        )
        for own, wanted in zip(solution, demands, strict=True)
    ]
    rules = search.Rules(demands, separate, subtrees=[], covers=[], end_of=lambda row: row + 1, room=room)
    found = list(search.choices(domains, rules, search.Steps()))
    assert tuple(solution) in found
    assert sorted(found) == sorted(fitting(domains, rules))


def packing(seed: int, hosts: int, groups: int, room: tuple[int, int], least: float, most: float) -> Result:
    """The result of a request for groups of two classes, each with a random share of the room of a provider."""
    rng = random.Random(seed)
    cloud = Cloud()
    root = cloud.add(VCPU=1)
    for _ in range(hosts):
        cloud.add(root, CUSTOM_A=room[0], CUSTOM_B=room[1])
    asked = [
        f'resources{number}='
        + ','.join(
            f'{name}:{rng.randint(int(least * whole), int(most * whole))}'
            for name, whole in zip(CLASSES, room, strict=True)
        )
        for number in range(groups)
    ]
    return cloud.ask('&'.join(asked).replace('resources0', 'resources99') + '&group_policy=none&limit=1')


@pytest.mark.parametrize('seed', range(12))
@pytest.mark.parametrize(
    ('room', 'least', 'most'),
    [
        ((20, 20), 0.25, 0.6),
        ((20, 20), 0.3, 0.55),
        ((20, 20), 0.2, 0.7),
        ((30, 30), 0.27, 0.57),
        ((1000, 64), 0.3, 0.5),
    ],
)
def test_unequal_amounts_of_two_classes(room: tuple[int, int], least: float, most: float, seed: int) -> None:
    """17 groups for 8 providers. Two sums and a matching for each class let some of these take millions of steps."""
    assert packing(seed, 8, 17, room, least, most).steps < 25_000


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, 'PATIENCE', 1000)
    with pytest.raises(errors.CandidateSearchTooLong, match='1000 steps'):
        packing(3, 16, 33, (20, 20), 0.3, 0.55)


def test_patience_begins_anew_with_each_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, 'PATIENCE', 500)
    cloud = Cloud()
    root = cloud.add(VCPU=1)
    for _ in range(16):
        cloud.add(root, CUSTOM_A=1)
    groups = '&'.join(f'resources{number}=CUSTOM_A:1' for number in range(1, 17))
    result = cloud.ask(f'{groups}&group_policy=none&limit=300')
    assert len(result) == 300
    assert result.steps > 1000
