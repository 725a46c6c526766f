"""How many SQL statements the routes of providers, inventories, traits, aggregates and classes take.

BEGIN and COMMIT are included. The number is the same however many rows are concerned.
"""

import pytest

from tests import claims, statements
from tests.claims import new_uuid


@pytest.fixture
def count(client):
    def count(method, path, json=None, **options):
        with statements.counted() as seen:
            client.must(method, path, json, **options)
        print(seen)
        return len(seen)

    return count


@pytest.fixture(params=[1, 30])
def many(request):
    """How many rows are concerned."""
    return request.param


def records(classes, total):
    return {name: {'total': total} for name in classes}


def test_providers(client, count):
    root, child = new_uuid(), new_uuid()
    assert count('POST', '/resource_providers', {'name': 'root', 'uuid': root}) == 5
    body = {'name': 'child', 'uuid': child, 'parent_provider_uuid': root}
    assert count('POST', '/resource_providers', body) == 5
    assert count('GET', f'/resource_providers/{child}') == 1
    assert count('PUT', f'/resource_providers/{child}', {'name': 'renamed'}) == 5
    assert count('DELETE', f'/resource_providers/{child}') == 9


def test_a_move_with_all_below(client, count, many):
    top, moved, other = claims.provider(client), claims.provider(client), claims.provider(client)
    for _ in range(many):
        claims.provider(client, parent=moved)
    assert count('PUT', f'/resource_providers/{moved}', {'name': 'x', 'parent_provider_uuid': top}) == 7
    assert count('PUT', f'/resource_providers/{moved}', {'name': 'x', 'parent_provider_uuid': other}) == 7


def test_lists(client, count, many):
    aggregate = new_uuid()
    several = [claims.provider(client, VCPU=4) for _ in range(many)]
    for rp in several:
        below = f'/resource_providers/{rp}'
        client.must('PUT', f'{below}/traits', {'traits': ['COMPUTE_NODE'], 'resource_provider_generation': 1})
        client.must('PUT', f'{below}/aggregates', {'aggregates': [aggregate], 'resource_provider_generation': 2})
    assert count('GET', '/resource_providers') == 1
    assert count('GET', f'/resource_providers?in_tree={several[0]}') == 1
    everything = f'in_tree={several[0]}&required=COMPUTE_NODE,!HW_CPU_X86_SHA&resources=VCPU:2,&member_of={aggregate}'
    assert count('GET', f'/resource_providers?{everything.replace(",&", "&")}') == 5
    # The worst case: names that are not there, hidden by what nobody has.
    hidden = f'required=COMPUTE_NODE&resources=NOPE:1&member_of={new_uuid()}'
    assert count('GET', f'/resource_providers?{hidden}') == 6


def test_inventories(client, count, many):
    classes = [f'CUSTOM_{number}' for number in range(2 * many)]
    for name in classes:
        client.must('PUT', f'/resource_classes/{name}')
    rp = claims.provider(client)
    path = f'/resource_providers/{rp}/inventories'
    first = {'resource_provider_generation': 0, 'inventories': records(classes[:many], 4)}
    assert count('PUT', path, first) == 7
    same = {'resource_provider_generation': 1, 'inventories': records(classes[:many], 5)}
    assert count('PUT', path, same) == 6
    others = {'resource_provider_generation': 2, 'inventories': records(['VCPU', *classes[1:]], 5)}
    assert count('PUT', path, others) <= 9
    assert count('GET', path) == 1
    assert count('POST', path, {'resource_class': 'PCPU', 'total': 4}) == 6
    assert count('PUT', f'{path}/PCPU', {'total': 5, 'resource_provider_generation': 4}) == 7
    assert count('GET', f'{path}/PCPU') == 1
    assert count('DELETE', f'{path}/PCPU') == 6
    assert count('DELETE', path) == 6


def test_traits_of_a_provider(client, count, many):
    names = client.must('GET', '/traits').json()['traits']
    rp = claims.provider(client)
    path = f'/resource_providers/{rp}/traits'
    assert count('PUT', path, {'traits': names[:many], 'resource_provider_generation': 0}) == 7
    assert count('PUT', path, {'traits': names[:many], 'resource_provider_generation': 1}) == 5
    assert count('PUT', path, {'traits': names[many : 2 * many], 'resource_provider_generation': 1}) == 8
    assert count('GET', path) == 1
    assert count('DELETE', path) == 6
    assert count('DELETE', path) == 4


def test_aggregates_of_a_provider(client, count, many):
    aggregates = [new_uuid() for _ in range(2 * many)]
    rp = claims.provider(client)
    path = f'/resource_providers/{rp}/aggregates'
    old = {'version': '1.18'}
    assert count('PUT', path, aggregates[:many], **old) == 8
    assert count('PUT', path, {'aggregates': aggregates[:many], 'resource_provider_generation': 0}) == 6
    assert count('PUT', path, {'aggregates': aggregates[many:], 'resource_provider_generation': 1}) == 10
    assert count('GET', path) == 1


def test_classes_and_traits(count):
    assert count('POST', '/resource_classes', {'name': 'CUSTOM_A'}) == 6
    assert count('PUT', '/resource_classes/CUSTOM_A') == 4
    assert count('GET', '/resource_classes') == 1
    assert count('PUT', '/resource_classes/CUSTOM_A', {'name': 'CUSTOM_B'}, version='1.6') == 6
    assert count('DELETE', '/resource_classes/CUSTOM_B') == 5
    assert count('PUT', '/traits/CUSTOM_A') == 5
    assert count('PUT', '/traits/CUSTOM_A') == 3
    assert count('GET', '/traits?name=startswith:CUSTOM&associated=false') == 1
    assert count('DELETE', '/traits/CUSTOM_A') == 5
