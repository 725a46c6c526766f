"""Swapping in and back on a running cloud: the reference and this service on one MariaDB database, with the same
placement.conf and policy.yaml, one after the other and request by request in turn (contract: service.md 7.6)."""

import itertools
import json
import subprocess
from pathlib import Path

import httpx
import pytest

from tests import live
from tests.client import Client

pytestmark = [
    pytest.mark.parametrize('database', ['mariadb'], indirect=True),
    pytest.mark.xdist_group('swap'),
    pytest.mark.timeout(300),
]

HEAD = 'a082b8bb98d0'
POLICY = '"placement:reshaper:reshape": "rule:admin_or_service_api"\n"placement:traits:update": "role:admin"\n'


class Cloud:
    """The requests of the five sequences that clients run, with names of their own for each `number`."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.host, self.other, self.gpu, self.numa, self.aggregate, self.server, self.migration, self.late = (
            f'{number}0000000-0000-4000-8000-{part:012d}' for part in range(8)
        )
        self.gpu_class, self.trait = f'CUSTOM_RUN{number}_GPU', f'CUSTOM_RUN{number}_FAST'
        self.project, self.user = f'run{number}-project', f'run{number}-user'

    def register(self):
        """A host, its GPU and another host register; wrong and stale writes among them."""
        hosts = '/resource_providers'
        host = f'{hosts}/{self.host}'
        yield 'POST', hosts, {'name': f'run{self.number}-host', 'uuid': self.host}
        yield 'POST', hosts, {'name': f'run{self.number}-host'}
        yield 'POST', hosts, {'name': f'run{self.number}-other', 'uuid': self.other}
        yield 'POST', hosts, {'name': f'run{self.number}-gpu', 'uuid': self.gpu, 'parent_provider_uuid': self.host}
        yield 'PUT', f'/resource_classes/{self.gpu_class}', None
        yield 'PUT', f'/resource_classes/{self.gpu_class}', None
        yield 'PUT', f'/traits/{self.trait}', None
        for uuid in (self.host, self.other):
            inventories = {'VCPU': {'total': 8, 'allocation_ratio': 1.5}, 'MEMORY_MB': {'total': 4096, 'reserved': 512}}
            body = {'inventories': inventories, 'resource_provider_generation': 0}
            yield 'PUT', f'{hosts}/{uuid}/inventories', body
            yield 'PUT', f'{hosts}/{uuid}/inventories', body
            yield 'PUT', f'{hosts}/{uuid}/traits', {'traits': [self.trait], 'resource_provider_generation': 1}
            aggregates = {'aggregates': [self.aggregate], 'resource_provider_generation': 2}
            yield 'PUT', f'{hosts}/{uuid}/aggregates', aggregates
        yield 'PUT', f'{hosts}/{self.gpu}/inventories', self._inventories(0, {self.gpu_class: {'total': 2}})
        yield 'PUT', f'{hosts}/{self.gpu}/inventories', self._inventories(1, {'CUSTOM_NOWHERE': {'total': 2}})
        yield 'GET', f'{hosts}?in_tree={self.gpu}&required={self.trait}', None
        yield 'GET', f'{hosts}?member_of={self.aggregate}&resources=VCPU:12', None
        yield 'GET', f'{host}/inventories/VCPU', None
        yield 'GET', f'{host}/inventories/DISK_GB', None

    def claim(self):
        """A server finds a place and claims it, once."""
        yield from self._candidates()
        yield (
            'PUT',
            f'/allocations/{self.server}',
            self._claim({self.host: {'VCPU': 2}, self.gpu: {self.gpu_class: 1}}, None),
        )
        yield 'PUT', f'/allocations/{self.server}', self._claim({self.host: {'VCPU': 2}}, None)
        yield 'PUT', f'/allocations/{self.late}', self._claim({self.host: {'VCPU': 11}}, None)
        yield 'PUT', f'/allocations/{self.late}', self._claim({self.host: {'MEMORY_MB': 3584}}, None)
        yield (
            'PUT',
            f'/allocations/{self.server}',
            self._claim({self.host: {'VCPU': 3}, self.gpu: {self.gpu_class: 1}}, 1),
        )
        yield from self._candidates()
        yield from self.usage()

    def migrate(self):
        """The server moves: the migration takes over the old place while the new one is claimed, then lets go."""
        yield (
            'POST',
            '/allocations',
            {
                self.migration: self._claim({self.host: {'VCPU': 3}, self.gpu: {self.gpu_class: 1}}, None, 'MIGRATION'),
                self.server: self._claim({self.other: {'VCPU': 3}}, 2),
            },
        )
        yield 'GET', f'/allocations/{self.migration}', None
        yield 'GET', f'/allocations/{self.server}', None
        yield from self.usage()
        yield 'DELETE', f'/allocations/{self.migration}', None
        yield 'DELETE', f'/allocations/{self.migration}', None
        yield from self._candidates()

    def reshape(self):
        """The CPUs of the other host, and what uses them, move to a child of it."""
        other = f'/resource_providers/{self.other}'
        child = {'name': f'run{self.number}-numa', 'uuid': self.numa, 'parent_provider_uuid': self.other}
        yield 'POST', '/resource_providers', child
        yield 'GET', other, None
        reshaping = {
            'inventories': {
                self.other: self._inventories(4, {'MEMORY_MB': {'total': 4096, 'reserved': 512}}),
                self.numa: self._inventories(0, {'VCPU': {'total': 8, 'allocation_ratio': 1.5}}),
            },
            'allocations': {self.server: self._claim({self.numa: {'VCPU': 3}}, 3)},
        }
        yield 'POST', '/reshaper', reshaping
        yield 'POST', '/reshaper', reshaping
        yield from self._candidates()

    def remove(self):
        """Everything is taken down; what is in use refuses."""
        hosts = '/resource_providers'
        yield 'DELETE', f'{hosts}/{self.other}', None
        yield 'DELETE', f'{hosts}/{self.numa}', None
        yield 'DELETE', f'{hosts}/{self.host}/inventories', None
        yield 'DELETE', f'/traits/{self.trait}', None
        yield 'PUT', f'/allocations/{self.late}', self._claim({}, 1)
        yield 'DELETE', f'/allocations/{self.server}', None
        for uuid in (self.gpu, self.host, self.numa, self.other):
            yield 'DELETE', f'{hosts}/{uuid}/inventories', None
            yield 'DELETE', f'{hosts}/{uuid}', None
            yield 'GET', f'{hosts}/{uuid}', None
        yield 'DELETE', f'/traits/{self.trait}', None
        yield 'DELETE', f'/resource_classes/{self.gpu_class}', None

    def usage(self):
        for uuid in (self.host, self.other, self.gpu):
            yield 'GET', f'/resource_providers/{uuid}/usages', None
            yield 'GET', f'/resource_providers/{uuid}/allocations', None
        yield 'GET', f'/usages?project_id={self.project}', None
        yield 'GET', f'/usages?project_id={self.project}&user_id={self.user}&consumer_type=all', None

    def until_reshaped(self):
        return itertools.chain(self.register(), self.claim(), self.migrate(), self.reshape())

    def _candidates(self):
        query = f'member_of={self.aggregate}&resources=VCPU:1,MEMORY_MB:64&required={self.trait}'
        yield 'GET', f'/allocation_candidates?{query}', None
        granular = f'resources_C=VCPU:1&resources_G={self.gpu_class}:1&group_policy=none&in_tree_C={self.host}'
        yield 'GET', f'/allocation_candidates?{granular}', None

    def _inventories(self, generation, inventories):
        return {'inventories': inventories, 'resource_provider_generation': generation}

    def _claim(self, amounts, generation, consumer_type='INSTANCE'):
        return {
            'allocations': {provider: {'resources': resources} for provider, resources in amounts.items()},
            'project_id': self.project,
            'user_id': self.user,
            'consumer_generation': generation,
            'consumer_type': consumer_type,
        }

    def told(self, answer: httpx.Response) -> tuple:
        """What an answer says, without what may differ: names of this cloud, times, ids, texts of errors, order."""
        text = answer.text.replace(f'{self.number}0000000-', 'N-').replace(f'run{self.number}-', 'run-')
        text = text.replace(f'RUN{self.number}_', 'RUN_')
        body = json.loads(text) if text else None
        if answer.is_error:
            body = [(error['status'], error['code']) for error in body['errors']]
        cached = 'last-modified' in answer.headers, answer.headers.get('cache-control')
        return answer.status_code, answer.headers.get('content-type'), cached, unordered(body)


def unordered(value):
    if isinstance(value, dict):
        return {name: unordered(part) for name, part in value.items()}
    if isinstance(value, list):
        return sorted((unordered(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))
    return value


def snapshot(client):
    """All that can be read."""
    providers = client.must('GET', '/resource_providers').json()['resource_providers']
    seen = {
        '/resource_providers': providers,
        **{path: client.must('GET', path).json() for path in ('/resource_classes', '/traits?name=startswith:CUSTOM_')},
    }
    consumers = set()
    for provider in providers:
        for what in ('inventories', 'traits', 'aggregates', 'usages', 'allocations'):
            path = f'/resource_providers/{provider["uuid"]}/{what}'
            seen[path] = client.must('GET', path).json()
        consumers |= set(seen[path]['allocations'])
    for consumer in consumers:
        seen[consumer] = client.must('GET', f'/allocations/{consumer}').json()
    candidates = client.must('GET', '/allocation_candidates?resources=VCPU:1').json()
    return unordered(seen), unordered(candidates)


@pytest.fixture
def folder(tmp_path):
    """A maker of folders with the same policy.yaml beside the placement.conf that is written there."""

    def make(name: str) -> Path:
        directory = tmp_path / name
        directory.mkdir(exist_ok=True)
        (directory / 'policy.yaml').write_text(POLICY)
        return directory

    return make


def test_in_and_back(mariadb, database, folder, reference_python):
    url = mariadb.create('swap')
    first, second = Cloud(1), Cloud(2)

    with live.serve(url, folder('cloud'), python=reference_python) as address:
        client = Client.of_url(address)
        statuses = [client.call(*request).status_code for request in first.until_reshaped()]
        assert max(statuses) < 500 and statuses.count(409) == 6, statuses
        before = snapshot(client)

    with live.serve(url, folder('cloud')) as address:
        client = Client.of_url(address)
        assert snapshot(client) == before
        assert [client.call(*request).status_code for request in second.until_reshaped()] == statuses
        for request in itertools.islice(first.remove(), 5):
            client.call(*request)
        assert client.call('PUT', '/traits/CUSTOM_X', token='nova', headers={'x-roles': 'service'}).status_code == 403
        ours = snapshot(client)
        assert len(ours[0]['/resource_providers']) == 8

    with live.serve(url, folder('cloud'), python=reference_python) as address:
        client = Client.of_url(address)
        assert snapshot(client) == ours
        for cloud in (first, second):
            for request in cloud.remove():
                assert client.call(*request).status_code < 500
        assert client.must('GET', '/resource_providers').json() == {'resource_providers': []}

    environment = live.configure(url, folder('cloud'))
    for command, expected in (('placement-manage db version', f'{HEAD}\n'), ('placement-status upgrade check', None)):
        program, *arguments = command.split()
        arguments = [f'--config-file={folder("cloud")}/placement.conf', *arguments]
        path = Path(reference_python).parent / program
        done = subprocess.run([path, *arguments], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        assert expected is None or done.stdout == expected


def test_in_turn(database, folder, reference_python):
    """Two services at work on one database at the same time: nobody can tell which of them answers."""
    with (
        live.serve(database.url, folder('reference'), python=reference_python) as reference,
        live.serve(database.url, folder('ours')) as ours,
    ):
        clients = {'reference': Client.of_url(reference), 'ours': Client.of_url(ours)}
        turns = [['reference'], ['ours'], ['reference', 'ours'], ['ours', 'reference']]
        told = []
        for number, turn in enumerate(turns, start=1):
            cloud = Cloud(number)
            requests = itertools.chain(cloud.until_reshaped(), cloud.remove())
            told.append(
                [
                    (request[:2], cloud.told(clients[who].call(*request)))
                    for request, who in zip(requests, itertools.cycle(turn), strict=False)
                ]
            )
    alone, *others = told
    assert {answer[0] for _, answer in alone} == {200, 201, 204, 400, 404, 409}
    for turn, answers in zip(turns[1:], others, strict=True):
        for (request, expected), (_, answer) in zip(alone, answers, strict=True):
            assert answer == expected, (turn, request)
