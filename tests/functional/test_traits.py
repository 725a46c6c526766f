"""Traits, beyond the steps of gabbits/traits.yaml and provider-traits.yaml: the sync, ages, races."""

import logging

import os_traits
import pytest
import sqlalchemy as sa

from placement.db import engine
from placement.objects import trait
from tests import claims, statements
from tests.claims import code, detail
from tests.client import Client
from tests.together import together


def path(rp):
    return f'/resource_providers/{rp}/traits'


def give(client, rp, names, generation=0):
    return client.call('PUT', path(rp), {'traits': names, 'resource_provider_generation': generation})


def test_a_start_without_news_only_reads(app):
    with statements.counted() as seen:
        trait.sync_standard()
    assert len(seen.starting_with('SELECT')) == 1
    assert not seen.starting_with('INSERT')


def test_only_what_is_missing_is_added(app, database, caplog):
    """Custom traits, and those that a newer library knew, stay."""
    database.execute("DELETE FROM traits WHERE name LIKE 'HW_CPU%'")
    database.execute("INSERT INTO traits (name) VALUES ('CUSTOM_A'), ('RETIRED_TRAIT')")
    kept = {row.name: row.id for row in database.rows('SELECT id, name FROM traits')}
    with caplog.at_level(logging.DEBUG, 'placement.objects.trait'):
        trait.sync_standard()
    found = {row.name: row.id for row in database.rows('SELECT id, name FROM traits')}
    assert found.keys() == {*os_traits.get_traits(), 'CUSTOM_A', 'RETIRED_TRAIT'}
    assert kept.items() <= found.items()
    assert 'Synced traits from os_traits' in caplog.text


def test_several_starts_at_once(app, database):
    database.execute('DELETE FROM traits')
    together([trait.sync_standard] * 4)
    assert len(database.rows('SELECT name FROM traits')) == len(os_traits.get_traits())


def test_ages(client, database):
    rp = claims.provider(client)
    give(client, rp, ['COMPUTE_NODE', 'HW_CPU_X86_AVX2'])
    database.execute("UPDATE traits SET created_at = '2020-01-02 03:04:05'")
    database.execute("UPDATE traits SET updated_at = '2021-01-02 03:04:05' WHERE name = 'COMPUTE_NODE'")
    created, changed = 'Thu, 02 Jan 2020 03:04:05 GMT', 'Sat, 02 Jan 2021 03:04:05 GMT'
    assert client.must('GET', '/traits').headers['last-modified'] == changed
    assert client.must('GET', path(rp)).headers['last-modified'] == changed
    assert give(client, rp, ['HW_CPU_X86_AVX2'], 1).headers['last-modified'] == created
    # Of one trait, the time of its creation counts.
    assert client.must('GET', '/traits/COMPUTE_NODE').headers['last-modified'] == created
    client.must('PUT', '/traits/CUSTOM_A')
    database.execute("UPDATE traits SET created_at = '2020-01-02 03:04:05'")
    assert client.must('PUT', '/traits/CUSTOM_A').headers['last-modified'] == created


def test_one_of_many_makes_the_trait(app):
    answers = together([lambda: Client.of_app(app).call('PUT', '/traits/CUSTOM_RACE') for _ in range(8)])
    assert sorted(answer.status_code for answer in answers) == [201] + 7 * [204]


def test_only_one_of_many_writers_at_one_generation_wins(app, client):
    rp = claims.provider(client)
    names = sorted(os_traits.get_traits())[:8]
    answers = together([lambda name=name: give(Client.of_app(app), rp, [name]) for name in names])
    assert sorted(answer.status_code for answer in answers) == [200] + 7 * [409]
    for answer in answers:
        if answer.status_code == 409:
            assert code(answer) == 'placement.concurrent_update'
            assert 'Please update the generation and try again.' in detail(answer)


def test_writers_on_neighbours_all_win(app, client):
    several = [claims.provider(client) for _ in range(8)]
    names = sorted(os_traits.get_traits())
    first = together([lambda rp=rp: give(Client.of_app(app), rp, names[:20]) for rp in several])
    second = together([lambda rp=rp: give(Client.of_app(app), rp, names[10:30], 1) for rp in several])
    assert [answer.status_code for answer in first + second] == [200] * 16
    for rp in several:
        assert client.must('GET', path(rp)).json() == {'traits': names[10:30], 'resource_provider_generation': 2}


def test_a_trait_and_its_end_at_once(app, client):
    for _ in range(5):
        rp = claims.provider(client)
        client.must('PUT', '/traits/CUSTOM_BRIEF')
        given, deleted = together(
            [
                lambda rp=rp: give(Client.of_app(app), rp, ['CUSTOM_BRIEF']),
                lambda: Client.of_app(app).call('DELETE', '/traits/CUSTOM_BRIEF'),
            ]
        )
        assert (given.status_code, deleted.status_code) in ((200, 409), (400, 204))
        client.must('DELETE', path(rp))


@pytest.mark.parametrize('text', ['\ud800', 'a\0b', '\U0001f600', ' COMPUTE_NODE', 'COMPUTE_NODE '])
def test_odd_text_is_no_trait(client, text):
    rp = claims.provider(client)
    content = b'{"traits": ["%s"], "resource_provider_generation": 0}' % _escaped(text)
    answer = client.call('PUT', path(rp), content=content, headers={'content-type': 'application/json'})
    assert answer.status_code == 400
    assert client.must('GET', path(rp)).json() == {'traits': [], 'resource_provider_generation': 0}


def _escaped(text):
    return b''.join(b'\\u%04x' % unit for unit in memoryview(text.encode('utf-16-le', 'surrogatepass')).cast('H'))


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_the_database_alone_guards_links(app, client):
    """A writer who does not lock cannot link a trait that is gone: the foreign key is there."""
    rp = claims.provider(client)
    assert give(client, rp, ['COMPUTE_NODE']).status_code == 200
    with engine.get_engine().connect() as connection, pytest.raises(Exception, match='foreign key'):
        connection.execute(sa.text("DELETE FROM traits WHERE name = 'COMPUTE_NODE'"))
