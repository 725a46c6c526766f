"""Aggregates, beyond the steps of gabbits/aggregates.yaml: what is stored, races, spellings."""

import pytest

from tests import claims
from tests.claims import code, new_uuid
from tests.client import Client
from tests.together import together


def path(rp):
    return f'/resource_providers/{rp}/aggregates'


def join(client, rp, aggregates, generation=0):
    return client.call('PUT', path(rp), {'aggregates': aggregates, 'resource_provider_generation': generation})


def members(client, rp):
    return client.must('GET', path(rp)).json()['aggregates']


def test_only_differences_are_written(client, database):
    rp = claims.provider(client)
    a, b, c = sorted(new_uuid() for _ in range(3))
    assert join(client, rp, [a, b]).status_code == 200
    database.execute("UPDATE resource_provider_aggregates SET created_at = '2020-01-02 03:04:05'")
    assert join(client, rp, [c, b], 1).status_code == 200
    assert members(client, rp) == [b, c]
    rows = database.rows(
        'SELECT a.uuid, l.created_at FROM resource_provider_aggregates l '
        'JOIN placement_aggregates a ON a.id = l.aggregate_id ORDER BY a.uuid'
    )
    assert [(row.uuid, str(row.created_at).startswith('2020-01-02')) for row in rows] == [(b, True), (c, False)]
    # What nobody is in any more stays.
    assert len(database.rows('SELECT * FROM placement_aggregates')) == 3


@pytest.mark.parametrize('repetition', range(3))
def test_several_providers_join_the_same_new_aggregates(app, client, repetition):
    """Decision A09: 500 on the reference."""
    several = [claims.provider(client) for _ in range(8)]
    new = [new_uuid() for _ in range(5)]
    orders = [new, new[::-1]]
    answers = together(
        [lambda place=place, rp=rp: join(Client.of_app(app), rp, orders[place % 2]) for place, rp in enumerate(several)]
    )
    assert [answer.status_code for answer in answers] == [200] * 8
    for rp in several:
        assert members(client, rp) == sorted(new)
    assert len(client.must('GET', f'/resource_providers?member_of={new[0]}').json()['resource_providers']) == 8


def test_only_one_of_many_writers_at_one_generation_wins(app, client):
    rp = claims.provider(client)
    answers = together([lambda: join(Client.of_app(app), rp, [new_uuid()]) for _ in range(6)])
    assert sorted(answer.status_code for answer in answers) == [200] + 5 * [409]
    assert {code(answer) for answer in answers if answer.status_code == 409} == {'placement.concurrent_update'}


def test_two_spellings_of_one_text(client, database):
    """Decision A23: whether they are equal is for the database to say; the answer echoes the request."""
    rp = claims.provider(client)
    low = 'abcdef00-0000-0000-0000-00000000000a'
    answer = join(client, rp, [low, low.upper()])
    assert answer.status_code == 200
    assert answer.json()['aggregates'] == [low, low.upper()]
    stored = {'sqlite': 2, 'mariadb': 1}[database.dialect]
    assert len(members(client, rp)) == stored
    assert join(client, rp, [low.upper()], 1).status_code == 200
    assert len(members(client, rp)) == 1


def test_a_spelling_too_long_for_the_column(client, database):
    """What MariaDB cannot store whole it refuses; the answer is never a 500."""
    rp, long = claims.provider(client), f'urn:uuid:{new_uuid()}'
    answer = join(client, rp, [long])
    assert answer.status_code == {'sqlite': 200, 'mariadb': 400}[database.dialect]
    assert members(client, rp) == {'sqlite': [long], 'mariadb': []}[database.dialect]


def test_thousands_of_aggregates(client):
    rp = claims.provider(client)
    many = sorted(new_uuid() for _ in range(20000))
    assert join(client, rp, many).status_code == 200
    assert members(client, rp) == many
