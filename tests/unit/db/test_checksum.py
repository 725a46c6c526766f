"""placement.db.checksum: changes that are alike do not hide each other."""

import random
from collections.abc import Iterable

import pytest
import sqlalchemy as sa

from placement.db import checksum

TRIALS = 1500


@pytest.fixture(scope='module')
def connection() -> Iterable[sa.Connection]:
    with sa.create_engine('sqlite://').connect() as connection:
        checksum.prepare(connection.connection.dbapi_connection, connection.dialect.name)
        connection.execute(sa.text('CREATE TABLE t (id INTEGER, kind INTEGER, total INTEGER, parent INTEGER)'))
        yield connection


TABLE = sa.table('t', *(sa.column(name, sa.Integer) for name in ('id', 'kind', 'total', 'parent')))


def fill(connection: sa.Connection, rows: list[dict[str, int | None]]) -> None:
    connection.execute(sa.delete(TABLE))
    connection.execute(sa.insert(TABLE), rows)


def total(connection: sa.Connection) -> int:
    return int(connection.scalar(sa.select(checksum.checksum(*TABLE.c))) or 0)


def test_the_same_change_in_alike_rows_shows(connection: sa.Connection) -> None:
    dice = random.Random(1)
    unseen = 0
    for _ in range(TRIALS):
        first = dice.randrange(4000) * dice.choice([1, 4, 16, 256])
        ids = range(first, first + dice.choice([1, 2, 2, 3, 4, 8, 16]))
        kinds = range(dice.choice([1, 2, 3, 4]))
        before = dice.choice([8, 16, 64, 100, 2000])
        sums = []
        for amount in (before, before + dice.choice([1, 2, 3, 4, 8])):
            fill(connection, [{'id': i, 'kind': kind, 'total': amount, 'parent': None} for i in ids for kind in kinds])
            sums.append(total(connection))
        unseen += sums[0] == sums[1]
    assert unseen == 0


def test_null_and_swapped_values_show(connection: sa.Connection) -> None:
    states = [
        [(1, 0, 8, None), (2, 0, 9, None)],
        [(1, 0, 9, None), (2, 0, 8, None)],
        [(1, 0, 8, 2), (2, 0, 9, None)],
        [(1, 0, 8, None), (2, 0, 9, 1)],
        [(1, 0, 8, None)],
    ]
    sums = set()
    for state in states:
        fill(connection, [dict(zip(TABLE.c.keys(), row, strict=True)) for row in state])
        sums.add(total(connection))
    assert len(sums) == len(states)


def test_rows_come_packed(connection: sa.Connection) -> None:
    fill(connection, [{'id': 1, 'kind': 0, 'total': 8, 'parent': 3}, {'id': 2, 'kind': 0, 'total': 9, 'parent': 4}])
    assert connection.scalar(sa.select(checksum.packed(*TABLE.c))) == '1 0 8 3 2 0 9 4'
