"""A body without a length, made while it is sent: whole under every server, and small in the memory of a worker."""

import pytest

from tests.client import Client
from tests.deployment import servers
from tests.deployment.test_servers import folder, started

__all__ = ['folder']
GROUPS = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, 9))
QUERY = f'/allocation_candidates?resources=VCPU:1&{GROUPS}&group_policy=none&limit=20000'


def build(client: Client) -> None:
    """A host with 16 devices."""
    client.must('PUT', '/resource_classes/CUSTOM_VF')
    root = client.must('POST', '/resource_providers', {'name': 'host'}).json()['uuid']
    inventories = [(root, 'VCPU')]
    for number in range(16):
        body = {'name': f'device {number}', 'parent_provider_uuid': root}
        inventories.append((client.must('POST', '/resource_providers', body).json()['uuid'], 'CUSTOM_VF'))
    for uuid, name in inventories:
        body = {'resource_provider_generation': 0, 'inventories': {name: {'total': 8}}}
        client.must('PUT', f'/resource_providers/{uuid}/inventories', body)


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize(
    'server',
    [
        servers.systemd_unit,
        servers.uwsgi,
        pytest.param(servers.nginx, marks=pytest.mark.deployment),
        pytest.param(servers.apache, marks=pytest.mark.deployment),
    ],
)
def test_large_body(server, database, folder):  # noqa: F811
    with started(server, database.url, folder, '') as url:
        client = Client.of_url(url)
        build(client)
        answer = client.must('GET', QUERY)
        assert 'content-length' not in answer.headers
        assert len(answer.content) > 10 * 1024 * 1024
        assert len(answer.json()['allocation_requests']) == 20000
        # The connection, or the next one, is as good as new.
        assert client.must('GET', '/resource_classes').json()
