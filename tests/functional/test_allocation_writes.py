"""Writing allocations: generations, owners, what fits, what is left behind, what races do."""

import dataclasses
import logging

import pytest

from placement.objects import fit, resource_provider
from tests import claims, statements
from tests.claims import body, body_at, code, detail, held, new_uuid, post, put, put_at, shown, used

NOBODY = '00000000-0000-0000-0000-000000000000'


@pytest.fixture
def rp(client):
    return claims.provider(client, VCPU=8, MEMORY_MB=1024, DISK_GB=100)


# --- consumer generations ---


@pytest.mark.parametrize(
    ('exists', 'given', 'words'),
    [
        (False, None, None),
        (False, 0, 'expected null but got 0'),
        (False, 7, 'expected null but got 7'),
        (True, 1, None),
        (True, None, 'expected 1 but got null'),
        (True, 0, 'expected 1 but got 0'),
        (True, 2, 'expected 1 but got 2'),
        (True, 10**30, 'expected 1 but got 1000'),
    ],
)
@pytest.mark.parametrize('several', [False, True])
def test_consumer_generation(client, rp, exists, given, words, several):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}}) if exists else new_uuid()
    wanted = body({rp: {'VCPU': 2}}, given)
    answer = post(client, {consumer: wanted}) if several else put(client, consumer, {rp: {'VCPU': 2}}, given)
    if words is None:
        assert answer.status_code == 204
        assert shown(client, consumer)['consumer_generation'] == (2 if exists else 1)
    else:
        assert (answer.status_code, code(answer)) == (409, 'placement.concurrent_update')
        assert f'consumer generation conflict - {words}' in detail(answer)
        assert held(client, consumer) == ({rp: {'VCPU': 1}} if exists else {})


def test_generation_is_not_looked_at_before_1_28(client, rp):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    for generation in (2, 3):
        assert put_at(client, 27, consumer, body_at(27, {rp: {'VCPU': 1}})).status_code == 204
        assert shown(client, consumer)['consumer_generation'] == generation


def test_empty_write_for_nobody(client, database):
    """It is accepted, and leaves no consumer behind that would refuse the next one."""
    consumer = new_uuid()
    for _ in range(2):
        assert put(client, consumer, {}, None).status_code == 204
    conflict = put(client, consumer, {}, 0)
    assert conflict.status_code == 409
    assert 'consumer generation conflict - expected null but got 0' in detail(conflict)
    assert database.rows('SELECT * FROM consumers') == []


def test_a_consumer_without_allocations_counts_as_new(client, rp, database):
    """Others leave such rows behind. Those who say `null`, and those who know the generation, are let in."""
    for generation in (None, 0):
        consumer = claims.consumer(client, {rp: {'VCPU': 1}})
        database.execute('DELETE FROM allocations')
        database.execute('UPDATE consumers SET generation = 0')
        assert shown(client, consumer) == {'allocations': {}}
        conflict = put(client, consumer, {rp: {'VCPU': 1}}, 3)
        assert 'consumer generation conflict - expected null but got 3' in detail(conflict)
        assert put(client, consumer, {rp: {'VCPU': 1}}, generation).status_code == 204
        assert shown(client, consumer)['consumer_generation'] == 1
    database.execute('DELETE FROM allocations')
    assert put(client, consumer, {}, None).status_code == 204
    assert database.rows('SELECT * FROM consumers WHERE uuid = :uuid', uuid=consumer) == []


def test_allocations_without_consumer_are_replaced(client, rp, database):
    """Other implementations can lose the consumer of an allocation in a race."""
    consumer = claims.consumer(client, {rp: {'VCPU': 5}})
    database.execute('DELETE FROM consumers')
    assert shown(client, consumer) == {'allocations': {}}
    assert used(client, rp)['VCPU'] == 5
    assert put(client, consumer, {rp: {'VCPU': 8}}, None).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 8}}
    assert used(client, rp)['VCPU'] == 8


# --- owners and types ---


def test_owner_and_type_follow_the_last_write(client, rp):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}}, project_id='p1', user_id='u1', consumer_type='A')
    put(client, consumer, {rp: {'VCPU': 1}}, 1, project_id='p2', user_id='u1', consumer_type='B')
    keys = ('project_id', 'user_id', 'consumer_type')
    assert [shown(client, consumer)[key] for key in keys] == ['p2', 'u1', 'B']
    assert put_at(client, 7, consumer, body_at(7, {rp: {'VCPU': 1}})).status_code == 204
    assert [shown(client, consumer)[key] for key in keys] == [NOBODY, NOBODY, 'B']


def test_owners_of_several_consumers(client, rp):
    """Each of many gets its own, those that change and those that stay."""
    first, second = (claims.consumer(client, {rp: {'VCPU': 1}}, project_id='p1') for _ in range(2))
    third = new_uuid()
    wanted = {
        first: body({rp: {'VCPU': 1}}, 1, project_id='p1', user_id='u1'),
        second: body({rp: {'VCPU': 1}}, 1, project_id='p2'),
        third: body({rp: {'VCPU': 1}}, None, project_id='p3', consumer_type='VOLUME'),
    }
    assert post(client, wanted).status_code == 204
    seen = [shown(client, consumer) for consumer in wanted]
    assert [one['project_id'] for one in seen] == ['p1', 'p2', 'p3']
    assert [one['user_id'] for one in seen] == ['u1', 'user', 'user']
    assert [one['consumer_type'] for one in seen] == ['INSTANCE', 'INSTANCE', 'VOLUME']
    assert [one['consumer_generation'] for one in seen] == [2, 2, 1]


def test_equality_of_names_is_the_databases(client, rp, database):
    """MariaDB takes `Proj` and `pROJ` for one project: both consumers belong to the one that is stored."""
    first, second = new_uuid(), new_uuid()
    wanted = {first: body({rp: {'VCPU': 1}}, project_id='Proj'), second: body({rp: {'VCPU': 1}}, project_id='pROJ')}
    assert post(client, wanted).status_code == 204
    stored = [row.external_id for row in database.rows('SELECT external_id FROM projects ORDER BY id')]
    assert stored == (['Proj', 'pROJ'] if database.dialect == 'sqlite' else ['Proj'])
    assert [shown(client, one)['project_id'] for one in wanted] == ['Proj', stored[-1]]
    third = claims.consumer(client, {rp: {'VCPU': 1}}, project_id=stored[-1].swapcase())
    assert shown(client, third)['project_id'] == ('Proj' if database.dialect == 'sqlite' else stored[0])


def test_many_projects_at_once(client, database):
    """More than one statement of a database can look up."""
    rp = claims.provider(client, VCPU=1000)
    wanted = {
        new_uuid(): body({rp: {'VCPU': 1}}, project_id=f'project {number}', user_id=f'user {number}')
        for number in range(310)
    }
    assert post(client, wanted).status_code == 204
    assert used(client, rp) == {'VCPU': 310}
    last = list(wanted)[-1]
    assert shown(client, last)['project_id'] == 'project 309'


@pytest.mark.parametrize('text', ['\ud800', 'a\ud800b'])
def test_text_that_no_database_stores(client, rp, database, text):
    raw = b'{"allocations": {"%s": {"resources": {"VCPU": 1}}}, "project_id": "%s", "user_id": "u",' % (
        rp.encode(),
        text.encode('ascii', 'backslashreplace'),
    )
    raw += b' "consumer_generation": null, "consumer_type": "A"}'
    answer = client.call('PUT', f'/allocations/{new_uuid()}', content=raw, headers={'content-type': 'application/json'})
    assert answer.status_code == 400
    assert database.rows('SELECT * FROM consumers') == []


# --- units and capacity ---


@pytest.mark.parametrize(('amount', 'status'), [(1, 409), (2, 204), (3, 409), (4, 204), (6, 204), (8, 409)])
def test_units(client, caplog, amount, status):
    rp = claims.provider(client, VCPU={'total': 100, 'min_unit': 2, 'max_unit': 7, 'step_size': 2})
    answer = put(client, new_uuid(), {rp: {'VCPU': amount}})
    assert answer.status_code == status
    if status == 409:
        assert 'The requested amount would violate inventory constraints' in detail(answer)
        (record,) = [record for record in caplog.records if record.name == 'placement.objects.allocation']
        assert record.levelno == logging.WARNING
        assert record.getMessage().startswith(
            f'Allocation for VCPU on resource provider {rp} violates min_unit, max_unit, or step_size'
        )


@pytest.mark.parametrize(
    ('inventory', 'fits', 'fails'),
    [
        ({'total': 3, 'allocation_ratio': 1.5}, 4, 5),
        ({'total': 10, 'reserved': 4}, 6, 7),
        ({'total': 10, 'allocation_ratio': 0.7}, 7, 8),
        ({'total': 10, 'allocation_ratio': 1.3}, 13, 14),
        ({'total': 1, 'allocation_ratio': 16}, 16, 17),
    ],
)
def test_capacity(client, caplog, inventory, fits, fails):
    rp = claims.provider(client, VCPU=inventory)
    answer = put(client, new_uuid(), {rp: {'VCPU': fails}})
    assert answer.status_code == 409
    assert 'The requested amount would exceed the capacity' in detail(answer)
    (record,) = [record for record in caplog.records if record.name == 'placement.objects.allocation']
    assert record.getMessage().startswith(f'Over capacity for VCPU on resource provider {rp}. Needed: {fails}, Used: 0')
    assert put(client, new_uuid(), {rp: {'VCPU': fits}}).status_code == 204


def test_a_swap_within_one_request(client):
    """What the consumers of a request hold is given back before anything is judged."""
    one, two = (claims.provider(client, VCPU=4) for _ in range(2))
    first, second = claims.consumer(client, {one: {'VCPU': 4}}), claims.consumer(client, {two: {'VCPU': 4}})
    assert post(client, {first: body({two: {'VCPU': 4}}, 1), second: body({one: {'VCPU': 4}}, 1)}).status_code == 204
    assert [held(client, first), held(client, second)] == [{two: {'VCPU': 4}}, {one: {'VCPU': 4}}]


@pytest.mark.parametrize(
    'units', [{'max_unit': 2}, {'min_unit': 5}, {'step_size': 4}], ids=lambda units: next(iter(units))
)
def test_units_changed_under_a_consumer(client, units):
    """What is held may be kept, diminished or moved whole, as with capacity; nothing new is given (decision A19)."""
    rp = claims.provider(client, VCPU=20)
    consumer, migration = claims.consumer(client, {rp: {'VCPU': 3}}), new_uuid()
    claims.set_inventories(client, rp, VCPU={'total': 20, **units})

    assert put(client, consumer, {rp: {'VCPU': 3}}, 1).status_code == 204
    assert put(client, consumer, {rp: {'VCPU': 7}}, 2).status_code == (204 if 'min_unit' in units else 409)
    assert put(client, new_uuid(), {rp: {'VCPU': 3}}).status_code == 409
    kept = held(client, consumer)[rp]['VCPU']
    generation = shown(client, consumer)['consumer_generation']
    if kept == 3:
        # Not in part, and not twice.
        halves = {consumer: body({rp: {'VCPU': 3}}, generation), migration: body({rp: {'VCPU': 3}})}
        assert post(client, halves).status_code == 409
        twice = {
            consumer: body({}, generation),
            migration: body({rp: {'VCPU': 3}}),
            new_uuid(): body({rp: {'VCPU': 3}}),
        }
        assert post(client, twice).status_code == 409
    moved = {consumer: body({}, generation), migration: body({rp: {'VCPU': kept}}, consumer_type='MIGRATION')}
    assert post(client, moved).status_code == 204
    assert held(client, migration) == {rp: {'VCPU': kept}}
    assert put(client, migration, {rp: {'VCPU': 1}}, 1).status_code == (409 if kept == 7 else 204)


def test_units_that_were_respected_are_respected(client):
    """Only an amount that broke the rules before may go on doing so."""
    rp = claims.provider(client, VCPU={'total': 20, 'step_size': 2})
    consumer = claims.consumer(client, {rp: {'VCPU': 4}})
    assert put(client, consumer, {rp: {'VCPU': 3}}, 1).status_code == 409


# --- generations of providers ---


def test_generations_of_providers(client):
    one, two = (claims.provider(client, VCPU=8, DISK_GB=10) for _ in range(2))
    consumer = claims.consumer(client, {one: {'VCPU': 1, 'DISK_GB': 1}})
    assert [claims.generation(client, rp) for rp in (one, two)] == [2, 1]
    put(client, consumer, {two: {'VCPU': 1}}, 1)
    assert [claims.generation(client, rp) for rp in (one, two)] == [2, 2], 'one merely lost a consumer'
    put(client, consumer, {one: {'VCPU': 1}, two: {'VCPU': 1}}, 2)
    assert [claims.generation(client, rp) for rp in (one, two)] == [3, 3]
    put(client, consumer, {}, 3)
    assert [claims.generation(client, rp) for rp in (one, two)] == [4, 4]
    consumer = claims.consumer(client, {one: {'VCPU': 1}})
    client.must('DELETE', f'/allocations/{consumer}')
    assert [claims.generation(client, rp) for rp in (one, two)] == [5, 4]
    several = {new_uuid(): body({one: {'VCPU': 1}}), new_uuid(): body({one: {'VCPU': 1}})}
    post(client, several)
    assert [claims.generation(client, rp) for rp in (one, two)] == [6, 4], 'once for a request'
    moved = {consumer: body({}, 1) for consumer in several} | {new_uuid(): body({one: {'VCPU': 2}})}
    post(client, moved)
    assert [claims.generation(client, rp) for rp in (one, two)] == [7, 4]


# --- nothing is left behind ---


def test_delete(client, rp, database):
    consumer = claims.consumer(client, {rp: {'VCPU': 1, 'DISK_GB': 2}})
    client.must('DELETE', f'/allocations/{consumer}')
    assert database.rows('SELECT * FROM allocations') == []
    assert database.rows('SELECT * FROM consumers') == []
    again = client.call('DELETE', f'/allocations/{consumer}')
    assert again.status_code == 404
    assert detail(again) == f"No allocations for consumer '{consumer}'"


def test_failed_writes_leave_nothing(client, rp, database):
    """Not even projects, users and types: their names would exist for nobody."""
    for amounts in ({new_uuid(): {'VCPU': 1}}, {rp: {'CUSTOM_X': 1}}, {rp: {'VGPU': 1}}, {rp: {'VCPU': 100}}):
        assert put(client, new_uuid(), amounts).status_code >= 400
        assert post(client, {new_uuid(): body({rp: {'VCPU': 1}}), new_uuid(): body(amounts)}).status_code >= 400
    for table in ('projects', 'users', 'consumer_types', 'consumers', 'allocations'):
        assert database.rows(f'SELECT * FROM {table}') == []
    assert claims.generation(client, rp) == 1


def test_rows_of_a_write(client, rp, database):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    (row,) = database.rows('SELECT * FROM consumers')
    assert (row.uuid, row.generation) == (consumer, 1)
    assert row.created_at is not None
    assert row.updated_at is None
    put(client, consumer, {rp: {'VCPU': 1}}, 1)
    (row,) = database.rows('SELECT * FROM consumers')
    assert row.generation == 2
    assert row.updated_at is not None
    (allocation,) = database.rows('SELECT * FROM allocations')
    assert allocation.created_at is not None
    assert allocation.updated_at is None
    (provider,) = database.rows('SELECT * FROM resource_providers')
    assert provider.updated_at is not None


# --- statements ---


def counted_put(client, consumer, wanted):
    with statements.counted() as seen:
        client.must('PUT', f'/allocations/{consumer}', wanted)
    return len(seen)


def test_statements_of_a_claim(client):
    """A claim of three classes on one host, for a new consumer of a known project."""
    providers = [claims.provider(client, VCPU=8, MEMORY_MB=1024, DISK_GB=100) for _ in range(4)]
    amounts = {'VCPU': 1, 'MEMORY_MB': 10, 'DISK_GB': 1}
    consumer = claims.consumer(client, {providers[0]: amounts})
    assert counted_put(client, new_uuid(), body({providers[0]: amounts})) == 8
    assert counted_put(client, new_uuid(), body(dict.fromkeys(providers, amounts))) == 8
    assert counted_put(client, consumer, body({providers[1]: amounts}, 1)) == 9
    assert counted_put(client, consumer, body({}, 2)) == 6
    # For the first consumer of a project: its row, and a look at it.
    assert counted_put(client, new_uuid(), body({providers[0]: amounts}, project_id='new')) == 10


def test_statements_do_not_grow_with_the_request(client):
    rp = claims.provider(client, VCPU=100)
    counts = []
    for number in (2, 9):
        old = [claims.consumer(client, {rp: {'VCPU': 1}}) for _ in range(number)]
        moved = {consumer: body({}, 1) for consumer in old}
        moved |= {new_uuid(): body({rp: {'VCPU': 1}}) for _ in range(number)}
        with statements.counted() as seen:
            assert post(client, moved).status_code == 204
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 11


# --- races ---


@pytest.fixture
def stale_locks(monkeypatch):
    """A list of how often the next locks show generations that another writer has passed already."""
    left = [0]
    lock = resource_provider.lock

    def stale(connection, uuids):
        providers = lock(connection, uuids)
        if left[0]:
            left[0] -= 1
            providers = {
                uuid: dataclasses.replace(provider, generation=provider.generation - 1)
                for uuid, provider in providers.items()
            }
        return providers

    monkeypatch.setattr(resource_provider, 'lock', stale)
    return left


def test_provider_conflicts_are_tried_again(client, rp, stale_locks):
    """`allocation_conflict_retry_count` is the number of attempts: nine lost races still succeed."""
    consumer = new_uuid()
    stale_locks[0] = 9
    assert put(client, consumer, {rp: {'VCPU': 1}}).status_code == 204
    assert held(client, consumer) == {rp: {'VCPU': 1}}
    assert claims.generation(client, rp) == 2


def test_provider_conflicts_without_end(client, rp, stale_locks, database, caplog):
    stale_locks[0] = 10
    answer = put(client, new_uuid(), {rp: {'VCPU': 1}})
    assert (answer.status_code, code(answer)) == (409, 'placement.concurrent_update')
    assert 'Another thread concurrently updated the resource provider data' in detail(answer)
    assert 'consumer generation conflict' not in detail(answer)
    assert 'Exceeded retry limit of 10 on allocations write' in caplog.text
    for table in ('projects', 'consumers', 'allocations'):
        assert database.rows(f'SELECT * FROM {table}') == []


def test_no_attempt_at_all(conf, client, rp):
    conf.set_override('allocation_conflict_retry_count', 0, group='placement')
    answer = put(client, new_uuid(), {rp: {'VCPU': 1}})
    assert (answer.status_code, code(answer)) == (409, 'placement.concurrent_update')


def test_attempts_without_bound(conf, client, rp, stale_locks):
    conf.set_override('allocation_conflict_retry_count', -1, group='placement')
    stale_locks[0] = 15
    assert put(client, new_uuid(), {rp: {'VCPU': 1}}).status_code == 204


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize(('minor', 'status'), [(27, 204), (39, 409)])
def test_a_consumer_created_meanwhile(client, rp, monkeypatch, minor, status):
    """The later of two creators hears of it, or goes on where it does not look at generations."""
    other, consumer = claims.provider(client, VCPU=8), new_uuid()
    _interfere(monkeypatch, lambda: client.must('PUT', f'/allocations/{consumer}', body({other: {'VCPU': 1}})))
    answer = put_at(client, minor, consumer, body_at(minor, {rp: {'VCPU': 2}}))
    assert answer.status_code == status
    if status == 409:
        assert code(answer) == 'placement.concurrent_update'
        assert 'consumer generation conflict - expected 1 but got null' in detail(answer)
    assert held(client, consumer) == ({rp: {'VCPU': 2}} if status == 204 else {other: {'VCPU': 1}})


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize('amount', [0, 2])
def test_a_consumer_deleted_meanwhile(client, rp, monkeypatch, amount):
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    _interfere(monkeypatch, lambda: client.must('DELETE', f'/allocations/{consumer}'))
    wanted = {rp: {'VCPU': amount}} if amount else {}
    answer = post(client, {new_uuid(): body({rp: {'VCPU': 1}}), consumer: body(wanted, 1)})
    assert answer.status_code == 409
    assert 'consumer generation conflict - expected null but got 1' in detail(answer)
    assert used(client, rp)['VCPU'] == 0


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_a_project_created_meanwhile(client, rp, monkeypatch):
    other = claims.provider(client, VCPU=8)
    _interfere(monkeypatch, lambda: claims.consumer(client, {other: {'VCPU': 1}}))
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    assert shown(client, consumer)['project_id'] == 'project'


def _interfere(monkeypatch, action):
    """Let another writer act once, after the next write has read what it builds on."""
    read_stocks = fit.read_stocks

    def interfered(connection, providers):
        stocks = read_stocks(connection, providers)
        monkeypatch.setattr(fit, 'read_stocks', read_stocks)
        action()
        return stocks

    monkeypatch.setattr(fit, 'read_stocks', interfered)
