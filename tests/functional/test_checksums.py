"""placement.db.checksum on both databases: changes that are alike do not hide each other, no column hides another."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import checksum
from tests import databases

TRIALS = 1500
HUGE = 2**31 - 1
TABLE = sa.Table(
    'alike',
    sa.MetaData(),
    *(sa.Column(name, sa.Integer) for name in ('trial', 'id', 'kind', 'total', 'most')),
    sa.Column('ratio', sa.Float),
    prefixes=['TEMPORARY'],
)
COLUMNS = TABLE.c.id, TABLE.c.kind, TABLE.c.total, TABLE.c.most, TABLE.c.ratio
CHECKSUMS = {'texts': checksum.checksum(*COLUMNS), 'numbers': checksum.checksum_of_numbers(*COLUMNS)}

Row = tuple[int, int, int, int, float]


@pytest.fixture
def connection(database: databases.Database) -> Iterator[sa.Connection]:
    with database.engine.connect() as connection:
        TABLE.create(connection)
        yield connection


def checksums(connection: sa.Connection, total: sa.ColumnElement[Any], states: list[list[Row]]) -> list[int]:
    """The checksum of each state of a table."""
    connection.execute(sa.delete(TABLE))
    names = [column.name for column in COLUMNS]
    rows = [{'trial': trial, **dict(zip(names, row, strict=True))} for trial, rows in enumerate(states) for row in rows]
    connection.execute(sa.insert(TABLE), rows)
    statement = sa.select(TABLE.c.trial, total).group_by(TABLE.c.trial).order_by(TABLE.c.trial)
    return [int(found) for _, found in connection.execute(statement)]


@pytest.mark.parametrize('kind', CHECKSUMS)
def test_the_same_change_in_alike_rows_shows(connection: sa.Connection, kind: str) -> None:
    dice = random.Random(1)
    states: list[list[Row]] = []
    for _ in range(TRIALS):
        first = dice.randrange(4000) * dice.choice([1, 4, 16, 256])
        ids = range(first, first + dice.choice([1, 2, 2, 3, 4, 8, 16]))
        kinds = range(dice.choice([1, 2, 3, 4]))
        before = dice.choice([8, 16, 64, 100, 2000, 500_000])
        most, ratio = dice.choice([HUGE, before]), dice.choice([1.0, 16.0, 0.9])
        for amount in (before, before + dice.choice([1, 2, 3, 4, 8])):
            states.append([(number, kind, amount, most, ratio) for number in ids for kind in kinds])
    found = checksums(connection, CHECKSUMS[kind], states)
    assert [one for one, other in zip(found[::2], found[1::2], strict=True) if one == other] == []


@pytest.mark.parametrize('kind', CHECKSUMS)
def test_exchanges_show(connection: sa.Connection, kind: str) -> None:
    """Neighbours exchange what they have: each number is there as often as before."""
    dice = random.Random(2)
    states: list[list[Row]] = []
    for _ in range(TRIALS):
        first = dice.randrange(1, 4000)
        second = first + dice.choice([1, 1, 2, 4, 8, 256])
        kinds = dice.sample(range(300), 2)
        states.append([(first, kinds[0], 1, 1, 1.0), (second, kinds[1], 1, 1, 1.0)])
        states.append([(first, kinds[1], 1, 1, 1.0), (second, kinds[0], 1, 1, 1.0)])
    found = checksums(connection, CHECKSUMS[kind], states)
    assert [one for one, other in zip(found[::2], found[1::2], strict=True) if one == other] == []


@pytest.mark.parametrize('kind', CHECKSUMS)
def test_each_column_shows_beside_the_others(connection: sa.Connection, kind: str) -> None:
    states: list[list[Row]] = [
        [(1, 0, 8, HUGE, 1.0), (2, 0, 9, HUGE, 1.0)],
        [(1, 0, 9, HUGE, 1.0), (2, 0, 8, HUGE, 1.0)],  # swapped
        [(1, 0, 8, HUGE, 1.0)],
        [(1, 0, 8, HUGE - 1, 1.0), (2, 0, 9, HUGE, 1.0)],
        [(1, 0, 8, HUGE, 1.00001), (2, 0, 9, HUGE, 1.0)],
        [(1, 0, 8, HUGE, 1e30), (2, 0, 9, HUGE, 1.0)],
        [(1, 0, 9, HUGE, 1e30), (2, 0, 9, HUGE, 1.0)],
        [(1, 1, 8, HUGE, 1.0), (2, 0, 9, HUGE, 1.0)],
        [(3, 0, 8, HUGE, 1.0), (2, 0, 9, HUGE, 1.0)],
        [(HUGE, 0, HUGE, HUGE, 1.0), (2, 0, 9, HUGE, 1.0)],
        [(HUGE, 0, HUGE - 1, HUGE, 1.0), (2, 0, 9, HUGE, 1.0)],
    ]
    assert len(set(checksums(connection, CHECKSUMS[kind], states))) == len(states)


def test_groups_combine(connection: sa.Connection) -> None:
    one: list[Row] = [(1, 0, 8, 8, 1.0), (2, 0, 9, 8, 1.0)]
    other: list[Row] = [(3, 0, 8, 8, 1.0)]
    *parts, whole = checksums(connection, CHECKSUMS['numbers'], [one, other, one + other])
    assert checksum.combined(connection, parts) == whole
