"""Resource classes, beyond the steps of gabbits/resource-classes.yaml: ids, the sync, races."""

import logging

import os_resource_classes
import pytest
import sqlalchemy as sa

from placement.db import engine
from placement.objects import resource_class
from tests import statements
from tests.client import Client
from tests.together import together


def ids(database):
    return {row.name: row.id for row in database.rows('SELECT id, name FROM resource_classes')}


def test_standard_classes_have_the_ids_of_the_library(app, database):
    """0 among them, which MariaDB takes for a request of the next number unless told otherwise."""
    assert ids(database) == {name: place for place, name in enumerate(os_resource_classes.STANDARDS)}


def test_a_start_without_news_only_reads(app):
    with statements.counted() as seen:
        resource_class.sync_standard()
    assert len(seen.starting_with('SELECT')) == 1
    assert not seen.starting_with('INSERT') and not seen.starting_with('SET')


def test_only_what_is_missing_is_added(app, client, database, caplog):
    client.must('PUT', '/resource_classes/CUSTOM_A')
    database.execute("DELETE FROM resource_classes WHERE name IN ('VCPU', 'PGPU')")
    with caplog.at_level(logging.DEBUG, 'placement.objects.resource_class'):
        resource_class.sync_standard()
    assert ids(database)['VCPU'] == 0
    assert ids(database)['PGPU'] == os_resource_classes.STANDARDS.index('PGPU')
    assert 'Synced resource_classes from os_resource_classes' in caplog.text


def test_several_starts_at_once(app, database):
    database.execute('DELETE FROM resource_classes')
    together([resource_class.sync_standard] * 4)
    assert ids(database) == {name: place for place, name in enumerate(os_resource_classes.STANDARDS)}


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_the_mode_of_the_connection_is_given_back(app, database):
    """Trap 9.1: without it the connection stays lax for its life, and texts are cut silently."""
    database.execute('DELETE FROM resource_classes')

    def session():
        return engine.read(lambda connection: connection.execute(sa.text('SELECT CONNECTION_ID(), @@sql_mode')).one())

    before = session()
    with statements.counted() as seen:
        resource_class.sync_standard()
    assert 'NO_AUTO_VALUE_ON_ZERO' not in before[1] and 'STRICT_TRANS_TABLES' in before[1]
    assert len(seen.starting_with('SET SESSION sql_mode')) == 2
    assert session() == before
    assert ids(database)['VCPU'] == 0


def test_ids_of_custom_classes(client, database):
    for name in ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'):
        client.must('POST', '/resource_classes', {'name': name})
    found = ids(database)
    assert [found[name] for name in ('CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C')] == [10000, 10001, 10002]
    # The id of the newest is given again, those before it are not.
    client.must('DELETE', '/resource_classes/CUSTOM_A')
    client.must('DELETE', '/resource_classes/CUSTOM_C')
    client.must('PUT', '/resource_classes/CUSTOM_D')
    assert ids(database)['CUSTOM_D'] == 10002


def test_a_standard_class_is_one_by_its_id(client, database):
    """Also if a newer library brought it, and this one does not know it."""
    database.execute("INSERT INTO resource_classes (id, name) VALUES (99, 'NEWER_THING')")
    assert client.call('DELETE', '/resource_classes/NEWER_THING').status_code == 400


def test_many_make_classes_at_once(app, database):
    names = [f'CUSTOM_{number}' for number in range(10)]
    answers = together(
        [lambda name=name: Client.of_app(app).call('POST', '/resource_classes', {'name': name}) for name in names]
    )
    assert [answer.status_code for answer in answers] == [201] * 10
    found = ids(database)
    assert sorted(found[name] for name in names) == list(range(10000, 10010))


def test_one_of_many_makes_the_class(app):
    answers = together([lambda: Client.of_app(app).call('PUT', '/resource_classes/CUSTOM_RACE') for _ in range(6)])
    assert sorted(answer.status_code for answer in answers) == [201] + 5 * [204]
    again = together(
        [lambda: Client.of_app(app).call('POST', '/resource_classes', {'name': 'CUSTOM_OTHER'}) for _ in range(6)]
    )
    assert sorted(answer.status_code for answer in again) == [201] + 5 * [409]


def test_ages(client, database):
    database.execute("UPDATE resource_classes SET created_at = '2020-01-02 03:04:05'")
    database.execute("UPDATE resource_classes SET updated_at = '2021-01-02 03:04:05' WHERE id = 1")
    headers = client.must('GET', '/resource_classes').headers
    assert headers['last-modified'] == 'Sat, 02 Jan 2021 03:04:05 GMT'
    assert client.must('GET', '/resource_classes/VCPU').headers['last-modified'] == 'Thu, 02 Jan 2020 03:04:05 GMT'
    # Rows of an old database have no times.
    database.execute('UPDATE resource_classes SET created_at = NULL, updated_at = NULL')
    assert client.must('GET', '/resource_classes/VCPU').headers['last-modified'].endswith('GMT')
