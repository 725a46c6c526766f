"""What is used: of a provider, and by the consumers of a project."""

import pytest

from tests import claims, statements
from tests.claims import new_uuid


def total(client, query, version='1.39', **options):
    return client.call('GET', f'/usages?{query}', version=version, **options)


@pytest.fixture
def world(client):
    """Consumers of two projects, three users, two types and none, on one provider."""
    rp = claims.provider(client, VCPU=100, DISK_GB=100)
    for project, user, kind, amounts in (
        ('p1', 'u1', 'INSTANCE', {'VCPU': 1, 'DISK_GB': 10}),
        ('p1', 'u1', 'INSTANCE', {'VCPU': 2}),
        ('p1', 'u2', 'MIGRATION', {'VCPU': 4}),
        ('p2', 'u3', 'INSTANCE', {'VCPU': 8}),
    ):
        claims.consumer(client, {rp: amounts}, project_id=project, user_id=user, consumer_type=kind)
    untyped = claims.body({rp: {'VCPU': 16}}, project_id='p1', user_id='u1')
    del untyped['consumer_type']
    client.must('PUT', f'/allocations/{new_uuid()}', untyped, version='1.37')
    return rp


def test_usage_of_a_provider(client, world):
    answer = client.must('GET', f'/resource_providers/{world}/usages')
    assert answer.json() == {'resource_provider_generation': 6, 'usages': {'VCPU': 31, 'DISK_GB': 10}}
    assert answer.headers['cache-control'] == 'no-cache'
    assert 'last-modified' in answer.headers
    claims.set_inventories(client, world, VCPU=100, DISK_GB=100, VGPU=1)
    assert claims.used(client, world) == {'VCPU': 31, 'DISK_GB': 10, 'VGPU': 0}
    unknown = new_uuid()
    missing = client.call('GET', f'/resource_providers/{unknown}/usages')
    assert missing.status_code == 404
    assert f'No resource provider with uuid {unknown} found' in claims.detail(missing)


@pytest.mark.parametrize(
    ('query', 'usages'),
    [
        ('project_id=p1', {'VCPU': 23, 'DISK_GB': 10}),
        ('project_id=p1&user_id=u2', {'VCPU': 4}),
        ('project_id=p2', {'VCPU': 8}),
        ('project_id=p2&user_id=u1', {}),
        ('project_id=p2&project_id=p1&user_id=u1&user_id=u2', {'VCPU': 4}),
        ('project_id=nobody', {}),
    ],
)
def test_sums_before_types(client, world, query, usages):
    for version in ('1.9', '1.37'):
        assert total(client, query, version).json() == {'usages': usages}


@pytest.mark.parametrize(
    ('query', 'usages'),
    [
        (
            'project_id=p1',
            {
                'INSTANCE': {'consumer_count': 2, 'VCPU': 3, 'DISK_GB': 10},
                'MIGRATION': {'consumer_count': 1, 'VCPU': 4},
                'unknown': {'consumer_count': 1, 'VCPU': 16},
            },
        ),
        ('project_id=p1&consumer_type=INSTANCE', {'INSTANCE': {'consumer_count': 2, 'VCPU': 3, 'DISK_GB': 10}}),
        ('project_id=p1&consumer_type=unknown', {'unknown': {'consumer_count': 1, 'VCPU': 16}}),
        ('project_id=p1&consumer_type=all', {'all': {'consumer_count': 4, 'VCPU': 23, 'DISK_GB': 10}}),
        ('project_id=p1&user_id=u2&consumer_type=all', {'all': {'consumer_count': 1, 'VCPU': 4}}),
        ('project_id=p1&consumer_type=VOLUME', {}),
        ('project_id=p1&consumer_type=allfoo', {}),
        ('project_id=p1&consumer_type=UNKNOWN', {}),
        ('project_id=nobody&consumer_type=all', {}),
    ],
)
def test_sums_by_type(client, world, query, usages):
    assert total(client, query).json() == {'usages': usages}


def test_types_whose_names_are_words_of_the_query(client, world):
    for kind, amount in (('UNKNOWN', 1), ('ALL', 2)):
        claims.consumer(client, {world: {'VCPU': amount}}, project_id='p3', user_id='u1', consumer_type=kind)
    untyped = claims.body({world: {'VCPU': 4}}, project_id='p3', user_id='u1')
    del untyped['consumer_type']
    client.must('PUT', f'/allocations/{new_uuid()}', untyped, version='1.37')
    groups = {
        name: {'consumer_count': 1, 'VCPU': amount} for name, amount in (('UNKNOWN', 1), ('ALL', 2), ('unknown', 4))
    }
    assert total(client, 'project_id=p3').json() == {'usages': groups}
    for name, group in groups.items():
        assert total(client, f'project_id=p3&consumer_type={name}').json() == {'usages': {name: group}}
    assert total(client, 'project_id=p3&consumer_type=all').json() == {
        'usages': {'all': {'consumer_count': 3, 'VCPU': 7}}
    }


@pytest.mark.parametrize(
    ('query', 'version', 'words'),
    [
        ('', '1.39', "'project_id' is a required property"),
        ('user_id=u', '1.9', "'project_id' is a required property"),
        ('project_id=p&x=1', '1.9', "'x' was unexpected"),
        ('project_id=p&consumer_type=A', '1.37', "'consumer_type' was unexpected"),
        ('project_id=', '1.9', 'should be non-empty'),
        ('project_id=p&user_id=' + 'u' * 256, '1.9', 'is too long'),
        ('project_id=p&consumer_type=instance', '1.38', 'does not match'),
        ('project_id=p&consumer_type=', '1.38', "'' does not match"),
        ('project_id=%FF', '1.39', ''),
    ],
)
def test_refused_queries(client, query, version, words):
    answer = total(client, query, version)
    assert answer.status_code == 400
    assert 'Invalid query string parameters: ' in claims.detail(answer)
    assert words in claims.detail(answer)


def test_there_is_no_sum_before_1_9(client):
    assert total(client, 'project_id=p1', '1.8').status_code == 404


@pytest.mark.parametrize(
    ('roles', 'project', 'query', 'status'),
    [
        ('admin', 'other', 'project_id=p1', 200),
        ('service', 'other', 'project_id=p1', 200),
        ('reader', 'p1', 'project_id=p1', 200),
        ('reader', 'p2', 'project_id=p1', 403),
        ('member', 'p1', 'project_id=p1', 403),
        # The last one is asked for.
        ('reader', 'p1', 'project_id=p2&project_id=p1', 200),
        ('reader', 'p1', 'project_id=p1&project_id=p2', 403),
        # Who may not ask does not hear what is wrong with the question.
        ('reader', 'p1', '', 403),
        ('admin', 'p1', '', 400),
    ],
)
def test_who_may_ask(client, world, roles, project, query, status):
    assert total(client, query, token=f'u1:{project}', headers={'x-roles': roles}).status_code == status


def test_statements(client, world):
    for path, selects in (
        (f'/resource_providers/{world}/usages', 1),
        ('/usages?project_id=p1', 2),
        ('/usages?project_id=p1&user_id=u1&consumer_type=all', 2),
    ):
        with statements.counted() as seen:
            client.must('GET', path)
        assert len(seen.starting_with('SELECT')) == selects, str(seen)
