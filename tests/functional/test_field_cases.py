"""Small histories that broke real clouds: what happened must not happen here (field cases about allocations)."""

import pytest

from tests import claims
from tests.claims import body, code, detail, held, new_uuid, post, put, used


def test_stuck_over_capacity(client):
    """A provider that has less than is allocated from it lets consumers keep, shrink, move, and gives nothing new."""
    rp = claims.provider(client, VCPU=8, MEMORY_MB=1024)
    six = claims.consumer(client, {rp: {'VCPU': 6, 'MEMORY_MB': 512}})
    claims.consumer(client, {rp: {'VCPU': 2, 'MEMORY_MB': 512}})
    claims.set_inventories(client, rp, VCPU={'total': 8, 'reserved': 5}, MEMORY_MB=1024)

    assert put(client, six, {rp: {'VCPU': 6, 'MEMORY_MB': 512}}, 1).status_code == 204
    assert put(client, six, {rp: {'VCPU': 5, 'MEMORY_MB': 512}}, 2).status_code == 204
    back = put(client, six, {rp: {'VCPU': 6, 'MEMORY_MB': 512}}, 3)
    assert (back.status_code, code(back)) == (409, 'placement.undefined_code')
    assert 'The requested amount would exceed the capacity' in detail(back)
    assert put(client, new_uuid(), {rp: {'VCPU': 1}}).status_code == 409

    migration = new_uuid()
    moved = post(
        client,
        {six: body({}, 3), migration: body({rp: {'VCPU': 5, 'MEMORY_MB': 512}}, consumer_type='MIGRATION')},
    )
    assert moved.status_code == 204
    assert held(client, six) == {}
    assert used(client, rp) == {'VCPU': 7, 'MEMORY_MB': 1024}
    # Each class is judged by itself: less of one does not pay for more of the other.
    assert put(client, migration, {rp: {'VCPU': 4, 'MEMORY_MB': 513}}, 1).status_code == 409
    assert used(client, rp) == {'VCPU': 7, 'MEMORY_MB': 1024}


def test_three_consumers_fill_a_provider_exactly(client):
    rp = claims.provider(client, VCPU=6)
    first, second, third = (new_uuid() for _ in range(3))
    wanted = {consumer: body({rp: {'VCPU': 2}}) for consumer in (first, second, third)}
    more = {**wanted, third: body({rp: {'VCPU': 3}})}

    refused = post(client, more)
    assert refused.status_code == 409
    assert 'The requested amount would exceed the capacity' in detail(refused)
    assert used(client, rp) == {'VCPU': 0}
    assert [held(client, consumer) for consumer in wanted] == [{}, {}, {}]

    assert post(client, wanted).status_code == 204
    assert used(client, rp) == {'VCPU': 6}
    assert post(client, {new_uuid(): body({rp: {'VCPU': 1}})}).status_code == 409


@pytest.mark.parametrize('unknown', ['provider', 'class', 'capacity'])
def test_first_of_two_new_consumers_survives_the_failure_of_the_second(client, database, unknown):
    rp = claims.provider(client, VCPU=4)
    first, second = new_uuid(), new_uuid()
    bad = {
        'provider': {new_uuid(): {'VCPU': 1}},
        'class': {rp: {'CUSTOM_NOT_THERE': 1}},
        'capacity': {rp: {'VCPU': 4}},
    }[unknown]
    assert post(client, {first: body({rp: {'VCPU': 1}}), second: body(bad)}).status_code in (400, 409)
    for table in ('consumers', 'allocations', 'projects', 'users', 'consumer_types'):
        assert database.rows(f'SELECT * FROM {table}') == []
    assert put(client, first, {rp: {'VCPU': 1}}, None).status_code == 204


def test_three_consumers_are_emptied_at_once(client):
    rp = claims.provider(client, VCPU=6)
    three = [claims.consumer(client, {rp: {'VCPU': 2}}) for _ in range(3)]
    assert post(client, {consumer: body({}, 1) for consumer in three}).status_code == 204
    assert used(client, rp) == {'VCPU': 0}
    for consumer in three:
        assert claims.shown(client, consumer) == {'allocations': {}}


def test_a_full_provider_is_handed_from_the_instance_to_the_migration(client):
    rp = claims.provider(client, VCPU=4)
    instance, migration = claims.consumer(client, {rp: {'VCPU': 4}}), new_uuid()
    moved = post(client, {instance: body({}, 1), migration: body({rp: {'VCPU': 4}}, consumer_type='MIGRATION')})
    assert moved.status_code == 204
    assert held(client, migration) == {rp: {'VCPU': 4}}
    again = put(client, instance, {rp: {'VCPU': 4}}, None)
    assert again.status_code == 409
    assert 'The requested amount would exceed the capacity' in detail(again)


def test_a_write_that_cannot_name_the_type_keeps_it(client):
    rp = claims.provider(client, VCPU=4)
    consumer = claims.consumer(client, {rp: {'VCPU': 1}}, consumer_type='MIGRATION')
    older = body({rp: {'VCPU': 2}}, 1)
    del older['consumer_type']
    client.must('PUT', f'/allocations/{consumer}', older, version='1.37')
    assert claims.shown(client, consumer)['consumer_type'] == 'MIGRATION'


def test_a_class_that_is_gone_is_not_allocated_under_its_successor(client):
    """The id of the newest custom class is given to the next one."""
    client.must('PUT', '/resource_classes/CUSTOM_OLD')
    rp = claims.provider(client, CUSTOM_OLD=4, VCPU=4)
    consumer = claims.consumer(client, {rp: {'CUSTOM_OLD': 1}})
    client.must('DELETE', f'/allocations/{consumer}')
    claims.set_inventories(client, rp, VCPU=4)
    client.must('DELETE', '/resource_classes/CUSTOM_OLD')
    client.must('PUT', '/resource_classes/CUSTOM_NEW')
    claims.set_inventories(client, rp, CUSTOM_NEW=4, VCPU=4)

    refused = put(client, new_uuid(), {rp: {'CUSTOM_OLD': 1}})
    assert refused.status_code == 400
    assert 'No such resource class CUSTOM_OLD' in detail(refused)
    assert used(client, rp) == {'CUSTOM_NEW': 0, 'VCPU': 0}


def test_a_provider_made_again_is_new(client):
    client.must('PUT', '/traits/CUSTOM_RAID')
    rp = claims.provider(client, VCPU=4)
    for path, value in (('traits', ['CUSTOM_RAID']), ('aggregates', [new_uuid()])):
        wanted = {path: value, 'resource_provider_generation': claims.generation(client, rp)}
        client.must('PUT', f'/resource_providers/{rp}/{path}', wanted)
    consumer = claims.consumer(client, {rp: {'VCPU': 1}})
    assert client.call('DELETE', f'/resource_providers/{rp}').status_code == 409
    client.must('DELETE', f'/allocations/{consumer}')
    client.must('DELETE', f'/resource_providers/{rp}')

    client.must('POST', '/resource_providers', {'name': 'again', 'uuid': rp})
    assert claims.generation(client, rp) == 0
    for path, nothing in (('inventories', {}), ('usages', {}), ('allocations', {}), ('traits', []), ('aggregates', [])):
        assert client.must('GET', f'/resource_providers/{rp}/{path}').json()[path] == nothing


def test_ratio_of_the_last_place(client):
    """0.7 of 10 is 7 for whoever writes, on every database (decision A11)."""
    rp = claims.provider(client, VCPU={'total': 10, 'allocation_ratio': 0.7})
    claims.consumer(client, {rp: {'VCPU': 7}})
    assert put(client, new_uuid(), {rp: {'VCPU': 1}}).status_code == 409
