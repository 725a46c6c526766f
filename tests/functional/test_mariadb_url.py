"""A database URL that begins with mariadb: means the same as one that begins with mysql:."""

import pytest

from tests import service
from tests.client import Client


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_conflicts_are_understood(database):
    url = database.url.replace('mysql', 'mariadb', 1)
    assert url.startswith('mariadb+pymysql://')
    with service.application(service.configuration(url)) as app:
        client = Client.of_app(app)
        client.must('POST', '/resource_providers', {'name': 'host'})
        assert client.call('POST', '/resource_providers', {'name': 'host'}).status_code == 409
        assert client.call('GET', '/allocation_candidates?resources=VCPU:1').status_code == 200
