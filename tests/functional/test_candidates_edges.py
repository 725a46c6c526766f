"""GET /allocation_candidates at the edges: an empty cloud, capacities beyond 64 bits."""

import pytest

from tests import claims, service
from tests.client import Client

AGGREGATE = '11111111-2222-4333-8444-555555555555'
EMPTY = {'allocation_requests': [], 'provider_summaries': {}}


@pytest.mark.parametrize(
    ('query', 'problem'),
    [
        ('resources=NOPE:1', 'Invalid resource class in resources parameter: No such resource class NOPE'),
        ('resources_A=NOPE:1', 'Invalid resource class in resources parameter: No such resource class NOPE'),
        ('resources=VCPU:1&required=NOPE', 'No such trait(s): NOPE.'),
        ('resources=VCPU:1&required=!NOPE', 'No such trait(s): NOPE.'),
        ('resources=VCPU:1&root_required=NOPE', 'No such trait(s): NOPE.'),
        (f'resources=VCPU:1&in_tree={AGGREGATE}&required=NOPE', 'No such trait(s): NOPE.'),
        (f'resources=VCPU:1&member_of=!{AGGREGATE}&required=NOPE', 'No such trait(s): NOPE.'),
        # What leaves nothing comes first in these: the later name is not looked at.
        ('resources=NOPE:1&root_required=COMPUTE_NODE', None),
        (f'resources=VCPU:1&member_of={AGGREGATE}&required=NOPE', None),
        ('resources1=VCPU:1&resources2=NOPE:1&group_policy=none', None),
        ('resources=VCPU:1', None),
    ],
)
def test_cloud_without_providers(client, query, problem):
    response = client.call('GET', f'/allocation_candidates?{query}')
    if problem is None:
        assert (response.status_code, response.json()) == (200, EMPTY)
    else:
        assert response.status_code == 400
        assert problem in response.json()['errors'][0]['detail']


def test_capacity_beyond_64_bits(client):
    uuid = client.must('POST', '/resource_providers', {'name': 'huge'}).json()['uuid']
    inventory = {'total': 2147483647, 'allocation_ratio': 1e30}
    body = {'resource_provider_generation': 0, 'inventories': {'VCPU': inventory, 'MEMORY_MB': {'total': 7}}}
    client.must('PUT', f'/resource_providers/{uuid}/inventories', body)
    found = client.must('GET', '/allocation_candidates?resources=VCPU:2147483647').json()
    assert found['allocation_requests'] == [
        {'allocations': {uuid: {'resources': {'VCPU': 2147483647}}}, 'mappings': {'': [uuid]}}
    ]
    assert found['provider_summaries'][uuid]['resources'] == {
        'VCPU': {'capacity': int(2147483647 * 1e30), 'used': 0},
        'MEMORY_MB': {'capacity': 7, 'used': 0},
    }


def test_of_repeated_parameters_the_last_is_checked_and_the_first_counts(client):
    for name in ('a', 'b'):
        uuid = client.must('POST', '/resource_providers', {'name': name}).json()['uuid']
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': 1}}}
        client.must('PUT', f'/resource_providers/{uuid}/inventories', body)

    def found(query):
        response = client.call('GET', f'/allocation_candidates?{query}')
        return len(response.json()['allocation_requests']) if response.status_code == 200 else response.status_code

    assert [found(f'resources=VCPU:1&limit={first}&limit={last}') for first, last in ((1, 2), (2, 1))] == [1, 2]
    assert [
        found(f'resources=VCPU:1&limit={first}&limit={last}') for first, last in ((1, 'x'), ('x', 1), (-1, 1), (0, 1))
    ] == 4 * [400]
    groups = 'resources1=VCPU:1&group_policy={}&group_policy={}'
    assert found(groups.format('bogus', 'none')) == 2
    assert found(groups.format('none', 'bogus')) == 400


@pytest.mark.parametrize('randomize', [False, True])
@pytest.mark.parametrize('digits', [20, 400, 5000])
def test_a_limit_may_have_any_number_of_digits(conf, digits, randomize):
    conf.set_override('randomize_allocation_candidates', randomize, 'placement')
    with service.application(conf) as app:
        client = Client.of_app(app)
        for parent in (None, claims.provider(client, VCPU=1)):
            claims.provider(client, parent, VCPU=1)
        found = client.must('GET', f'/allocation_candidates?resources=VCPU:1&limit={"9" * digits}').json()
    assert len(found['allocation_requests']) == 3
