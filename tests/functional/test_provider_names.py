"""Names of providers are any text, and come back as they were given, one by one and in a list."""

import pytest

NAMES = ['plain', 'with "quotes"', "it's", 'back\\slash', 'new\nline', 'tab\t', 'Zürich', '%(name)s %', '名前', '{},[]']


@pytest.mark.parametrize('name', NAMES)
def test_any_name(client, name):
    uuid = client.must('POST', '/resource_providers', {'name': name}).json()['uuid']
    assert client.must('GET', f'/resource_providers/{uuid}').json()['name'] == name
    (listed,) = client.must('GET', '/resource_providers').json()['resource_providers']
    assert listed == client.must('GET', f'/resource_providers/{uuid}').json()


def test_lists_are_in_the_order_of_creation(client):
    for number in range(12):
        client.must('POST', '/resource_providers', {'name': f'host{number}'})
    listed = client.must('GET', '/resource_providers').json()['resource_providers']
    assert [provider['name'] for provider in listed] == [f'host{number}' for number in range(12)]
