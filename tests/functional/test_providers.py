"""Resource providers, beyond the steps of gabbits/resource-provider*.yaml: the database, races, odd input."""

import datetime
import json
import time
from email.utils import parsedate_to_datetime

import pytest
import sqlalchemy as sa
from oslo_db import exception as db_exc

from placement import errors
from placement.db import engine
from placement.objects import resource_provider
from tests import claims
from tests.claims import code, detail, new_uuid
from tests.client import Client
from tests.together import together

LISTING = '/resource_providers'


def names(response):
    assert response.status_code == 200, response.text
    return [provider['name'] for provider in response.json()['resource_providers']]


def test_rows_of_a_root_and_of_a_child(client, database):
    """The columns that the reference reads on the same database."""
    root = claims.provider(client)
    claims.provider(client, parent=root)
    one, two = database.rows('SELECT * FROM resource_providers ORDER BY id')
    assert (one.parent_provider_id, one.root_provider_id, one.generation) == (None, one.id, 0)
    assert (two.parent_provider_id, two.root_provider_id, two.generation) == (one.id, one.id, 0)
    assert one.created_at is not None and two.created_at is not None
    # A root counts as updated when it is made, a child does not.
    assert one.updated_at is not None and two.updated_at is None


def test_nothing_stays_of_a_deleted_provider(client, database):
    rp = claims.provider(client, VCPU=1)
    aggregate = new_uuid()
    client.must('PUT', f'{LISTING}/{rp}/aggregates', {'aggregates': [aggregate], 'resource_provider_generation': 1})
    client.must('PUT', f'{LISTING}/{rp}/traits', {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 2})
    client.must('DELETE', f'{LISTING}/{rp}')
    for table in ('resource_providers', 'inventories', 'resource_provider_aggregates', 'resource_provider_traits'):
        assert database.rows(f'SELECT * FROM {table}') == []
    # The aggregate is never deleted.
    assert [row.uuid for row in database.rows('SELECT uuid FROM placement_aggregates')] == [aggregate]


def test_every_route_takes_every_spelling_of_a_uuid(client):
    """Decision A12: one canonical form on every route."""
    rp, parent, aggregate = new_uuid(), claims.provider(client), new_uuid()
    shouted = rp.upper()
    path = f'{LISTING}/{shouted}'
    made = client.must('POST', LISTING, {'name': 'x', 'uuid': shouted, 'parent_provider_uuid': parent.upper()}).json()
    assert (made['uuid'], made['parent_provider_uuid'], made['root_provider_uuid']) == (rp, parent, parent)
    client.must('PUT', path, {'name': 'y', 'parent_provider_uuid': parent.replace('-', '')})
    client.must('PUT', f'{path}/inventories', {'inventories': {}, 'resource_provider_generation': 0})
    client.must('POST', f'{path}/inventories', {'resource_class': 'VCPU', 'total': 1})
    client.must('PUT', f'{path}/inventories/VCPU', {'total': 2, 'resource_provider_generation': 2})
    client.must('PUT', f'{path}/aggregates', {'aggregates': [aggregate], 'resource_provider_generation': 3})
    client.must('PUT', f'{path}/traits', {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 4})
    for below in ('', '/inventories', '/inventories/VCPU', '/aggregates', '/traits'):
        client.must('GET', path + below)
    assert names(client.call('GET', f'{LISTING}?uuid={shouted}&in_tree={parent.upper()}')) == ['y']
    client.must('DELETE', f'{path}/traits')
    client.must('DELETE', f'{path}/inventories/VCPU')
    client.must('DELETE', f'{path}/inventories')
    client.must('DELETE', path)
    assert client.call('GET', f'{LISTING}/{rp}').status_code == 404


@pytest.mark.parametrize('name', ['a\0b', 'a\ud800b'])
def test_a_name_that_not_every_database_can_store(client, name):
    """Decision A26: the same answer on every database, and never a 500."""
    sent = {'content': json.dumps({'name': name}).encode(), 'headers': {'content-type': 'application/json'}}
    assert client.call('POST', LISTING, **sent).status_code == 400
    rp = claims.provider(client)
    assert client.call('PUT', f'{LISTING}/{rp}', **sent).status_code == 400
    assert names(client.call('GET', LISTING)) == [rp]


@pytest.mark.parametrize('text', ['%00', '%F0%9F%98%80', '%E2%98%83', "x'%22--"])
def test_odd_text_in_paths_and_queries_is_not_found(client, text):
    rp = claims.provider(client, VCPU=1)
    for method, path in (
        ('GET', f'{LISTING}/{text}'),
        ('DELETE', f'{LISTING}/{text}'),
        ('GET', f'{LISTING}/{text}/inventories'),
        ('GET', f'{LISTING}/{rp}/inventories/{text}'),
        ('DELETE', f'{LISTING}/{rp}/inventories/{text}'),
        ('GET', f'/traits/{text}'),
        ('DELETE', f'/traits/{text}'),
        ('GET', f'/resource_classes/{text}'),
        ('DELETE', f'/resource_classes/{text}'),
    ):
        assert client.call(method, path).status_code == 404, (method, path)
    assert names(client.call('GET', f'{LISTING}?name={text}')) == []
    assert client.call('GET', f'{LISTING}?required={text}').status_code == 400
    assert client.call('GET', f'/traits?name=in:{text}').json() == {'traits': []}


def test_a_row_without_a_root(client, database):
    """Decision E24: an old database may have such rows; they are roots, or children of their parents."""
    root = claims.provider(client)
    child = claims.provider(client, parent=root)
    database.execute('UPDATE resource_providers SET root_provider_id = NULL')
    shown = client.must('GET', f'{LISTING}/{root}').json()
    assert (shown['parent_provider_uuid'], shown['root_provider_uuid']) == (None, root)
    assert client.must('GET', f'{LISTING}/{child}').json()['root_provider_uuid'] == root
    assert names(client.call('GET', LISTING)) == [root, child]
    assert root in names(client.call('GET', f'{LISTING}?in_tree={root}'))
    client.must('PUT', f'{LISTING}/{root}/traits', {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 0})


def test_rows_without_a_root_are_moved_in_no_loop(client, database):
    root = claims.provider(client)
    child = claims.provider(client, parent=root)
    grandchild = claims.provider(client, parent=child)
    database.execute('UPDATE resource_providers SET root_provider_id = NULL')
    for below in (child, grandchild):
        answer = client.call('PUT', f'{LISTING}/{root}', {'name': root, 'parent_provider_uuid': below})
        assert answer.status_code == 400
        assert 'creating loop in the provider tree is not allowed' in claims.detail(answer)
    new = claims.provider(client)
    client.must('PUT', f'{LISTING}/{root}', {'name': root, 'parent_provider_uuid': new})
    for one in (root, child, grandchild):
        assert client.must('GET', f'{LISTING}/{one}').json()['root_provider_uuid'] == new


def test_aggregates_are_spelled_as_they_were_stored(client):
    """By every database (http.md trap 18, service.md trap 15), and in both places."""
    rp = claims.provider(client, VCPU=8)
    lower, upper = 'abcdef00-0000-4000-8000-000000000001', 'ABCDEF00-0000-4000-8000-000000000001'
    generation = client.must('GET', f'{LISTING}/{rp}').json()['generation']
    body = {'aggregates': [lower], 'resource_provider_generation': generation}
    client.must('PUT', f'{LISTING}/{rp}/aggregates', body)
    for spelled, found in ((lower, True), (upper, False)):
        assert names(client.call('GET', f'{LISTING}?member_of={spelled}')) == ([rp] if found else [])
        assert names(client.call('GET', f'{LISTING}?member_of=!{spelled}')) == ([] if found else [rp])
        query = f'/allocation_candidates?resources=VCPU:1&member_of={spelled}'
        assert len(client.must('GET', query).json()['allocation_requests']) == found


def test_member_of_a_thousand_aggregates(client):
    """A URL of 37 kB."""
    rp = claims.provider(client)
    aggregates = [new_uuid() for _ in range(1000)]
    client.must('PUT', f'{LISTING}/{rp}/aggregates', {'aggregates': aggregates[-1:], 'resource_provider_generation': 0})
    assert names(client.call('GET', f'{LISTING}?member_of=in:{",".join(aggregates)}')) == [rp]
    assert names(client.call('GET', f'{LISTING}?member_of=!in:{",".join(aggregates)}')) == []


@pytest.mark.parametrize(
    ('ratio', 'total', 'fits'), [(0.7, 10, 7), (0.9, 10, 9), (1.3, 10, 13), (1.1, 10, 11), (0.0001, 10000, 1)]
)
def test_an_exactly_full_request_is_listed_on_every_database(client, ratio, total, fits):
    """Decision A11: MariaDB keeps 0.7 as 0.699999988."""
    rp = claims.provider(client, VCPU={'total': total, 'allocation_ratio': ratio})
    assert names(client.call('GET', f'{LISTING}?resources=VCPU:{fits}')) == [rp]
    assert names(client.call('GET', f'{LISTING}?resources=VCPU:{fits + 1}')) == []


def test_usage_is_summed_for_each_class(client):
    rp = claims.provider(client, VCPU=10, DISK_GB=100)
    for _ in range(2):
        claims.consumer(client, {rp: {'VCPU': 3, 'DISK_GB': 10}})
    assert names(client.call('GET', f'{LISTING}?resources=VCPU:4,DISK_GB:80')) == [rp]
    assert names(client.call('GET', f'{LISTING}?resources=VCPU:5,DISK_GB:80')) == []
    assert names(client.call('GET', f'{LISTING}?resources=VCPU:4,DISK_GB:81')) == []


def test_the_age_of_a_provider(client, database):
    """Every change of a generation counts as an update; the answer to a PUT tells the age before it."""
    rp = claims.provider(client)
    path = f'{LISTING}/{rp}'
    database.execute("UPDATE resource_providers SET updated_at = '2020-01-02 03:04:05'")
    assert client.must('GET', path).headers['last-modified'] == 'Thu, 02 Jan 2020 03:04:05 GMT'
    assert client.must('GET', LISTING).headers['last-modified'] == 'Thu, 02 Jan 2020 03:04:05 GMT'
    put = client.must('PUT', path, {'name': 'x'})
    assert put.headers['last-modified'] == 'Thu, 02 Jan 2020 03:04:05 GMT'
    database.execute("UPDATE resource_providers SET updated_at = '2020-01-02 03:04:05'")
    client.must('POST', f'{path}/inventories', {'resource_class': 'VCPU', 'total': 1})
    age = datetime.datetime.now(datetime.UTC) - parsedate_to_datetime(client.must('GET', path).headers['last-modified'])
    assert abs(age) < datetime.timedelta(minutes=1)


def test_what_changes_nothing_is_no_change(client):
    """A child that nobody has changed has no age (http.md 2.9), also after a PUT of what it is anyway."""
    parent = claims.provider(client)
    child = client.must('POST', LISTING, {'name': 'child', 'parent_provider_uuid': parent}).json()['uuid']
    same = {'name': 'child', 'parent_provider_uuid': parent}
    for body in ({'name': 'child'}, same, {'name': 'other'}):
        assert 'last-modified' not in client.must('PUT', f'{LISTING}/{child}', body).headers
    assert 'last-modified' in client.must('PUT', f'{LISTING}/{child}', same).headers


def test_links_and_location_are_below_the_mount_point(app):
    def mounted(environ, start_response):
        environ['SCRIPT_NAME'] = '/placement'
        return app(environ, start_response)

    client, rp = Client.of_app(mounted), new_uuid()
    made = client.must('POST', LISTING, {'name': 'x', 'uuid': rp})
    assert made.headers['location'] == f'http://placement.test/placement/resource_providers/{rp}'
    assert made.json()['links'][1]['href'] == f'/placement/resource_providers/{rp}/inventories'
    assert (
        client.must('PUT', '/traits/CUSTOM_A').headers['location'] == 'http://placement.test/placement/traits/CUSTOM_A'
    )
    shown = client.must('GET', '/resource_classes/VCPU').json()
    assert shown['links'][0]['href'] == '/placement/resource_classes/VCPU'


def test_one_of_many_makes_the_provider(app):
    """Losers are told which of their values is taken."""
    rp = new_uuid()
    answers = together(
        [
            lambda number=number: Client.of_app(app).call('POST', LISTING, {'name': f'x{number}', 'uuid': rp})
            for number in range(6)
        ]
    )
    assert sorted(answer.status_code for answer in answers) == [200] + 5 * [409]
    for answer in answers:
        if answer.status_code == 409:
            assert code(answer) == 'placement.duplicate_name'
            assert f'Conflicting resource provider uuid: {rp} already exists' in detail(answer)


@pytest.mark.parametrize('repetition', range(3))
def test_two_moves_at_once_make_no_loop(app, client, repetition):
    a, b = claims.provider(client), claims.provider(client)
    below_a, below_b = claims.provider(client, parent=a), claims.provider(client, parent=b)

    def move(child, parent):
        return Client.of_app(app).call('PUT', f'{LISTING}/{child}', {'name': child, 'parent_provider_uuid': parent})

    answers = together([lambda: move(a, below_b), lambda: move(b, below_a)])
    assert sorted(answer.status_code for answer in answers) == [200, 400]
    shown = client.must('GET', f'{LISTING}?in_tree={a}').json()['resource_providers']
    roots = {provider['root_provider_uuid'] for provider in shown}
    assert len(shown) == 4 and len(roots) == 1
    assert [provider['uuid'] for provider in shown if provider['parent_provider_uuid'] is None] == list(roots)


def test_a_child_and_the_end_of_its_parent_at_once(app, client):
    for _ in range(5):
        parent = claims.provider(client)
        made, deleted = together(
            [
                lambda parent=parent: Client.of_app(app).call(
                    'POST', LISTING, {'name': new_uuid(), 'parent_provider_uuid': parent}
                ),
                lambda parent=parent: Client.of_app(app).call('DELETE', f'{LISTING}/{parent}'),
            ]
        )
        assert (made.status_code, deleted.status_code) in ((200, 409), (400, 204))


def test_a_lost_guard_is_tried_again_and_then_told(app, client):
    """Somebody who does not lock may be faster."""
    rp = claims.provider(client)
    seen = []

    def work(connection):
        provider = resource_provider.lock_one(connection, rp)
        seen.append(provider.generation)
        stale = resource_provider.Provider(**{**vars(provider), 'generation': provider.generation + 7})
        resource_provider.bump(connection, [stale], errors.ProviderChanged())

    with pytest.raises(errors.ProviderChanged):
        engine.write(work, attempts=3)
    assert seen == [0, 0, 0]
    assert claims.generation(client, rp) == 0


def test_bump_counts_each_provider_once(app, client):
    several = [claims.provider(client) for _ in range(3)]

    def work(connection):
        locked = resource_provider.lock(connection, several)
        resource_provider.bump(connection, [*locked.values(), *locked.values()], errors.ProviderChanged())

    engine.write(work)
    assert [claims.generation(client, rp) for rp in several] == [1, 1, 1]


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize('locked', [1, 2, 8])
def test_a_lock_holds_its_providers_and_no_others(client, locked):
    """Also in a small table, which the database would rather scan."""
    several = [claims.provider(client) for _ in range(10)]
    held = []

    def work(connection):
        resource_provider.lock(connection, several[:locked])
        held.extend(rp for rp in several if _is_locked(rp))

    engine.write(work)
    assert held == several[:locked]


def _is_locked(rp):
    """Whether somebody else holds the row, asked on a connection of its own."""
    statement = sa.text('SELECT 1 FROM resource_providers WHERE uuid = :uuid FOR UPDATE NOWAIT')
    with engine.get_engine().connect() as connection:
        try:
            connection.execute(statement, {'uuid': rp})
        except (db_exc.DBDeadlock, sa.exc.OperationalError):
            return True
        return False


def test_many_providers_are_listed_quickly(client, database):
    """No statement and no second for each of them (the bound is generous, for busy machines)."""
    rows = [
        {'id': number, 'uuid': f'00000000-0000-0000-0000-{number:012d}', 'name': f'host{number}', 'generation': 0}
        for number in range(1, 3001)
    ]
    with database.engine.begin() as connection:
        connection.execute(
            sa.text(
                'INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) '
                'VALUES (:id, :uuid, :name, :generation, :id)'
            ),
            rows,
        )
    start = time.monotonic()
    assert len(names(client.call('GET', LISTING))) == 3000
    assert time.monotonic() - start < 3
