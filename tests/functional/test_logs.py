"""What the service logs: the line of each request, the ids in every record, JSON, and no secret at any level.

Contract: service.md 5.2, 5.3, 3.9; docs/differences.md for ` time: S.sss` and for the name of the file.
"""

import json
import logging
import os
import re
import subprocess
import sys
import uuid

import pytest

from tests import live
from tests.client import Client

PASSWORD = 'unutterable'
GLOBAL = 'req-11111111-2222-4333-8444-555555555555'
ID = r'req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
@pytest.mark.parametrize(
    ('method', 'path', 'options', 'expected'),
    [
        ('GET', '/', {'token': None}, '"GET /" status: 200 len: {length} microversion: 1.39'),
        ('GET', '/', {'version': None}, '"GET /" status: 200 len: {length} microversion: 1.0'),
        ('GET', '/traits?name=in:A,B', {}, '"GET /traits?name=in:A,B" status: 200 len: {length} microversion: 1.39'),
        ('PUT', '/traits/CUSTOM_A', {'version': '1.6'}, '"PUT /traits/CUSTOM_A" status: 201 len: 0 microversion: 1.6'),
        (
            'GET',
            '/traits/HW_GPU_API_VULKAN',
            {},
            '"GET /traits/HW_GPU_API_VULKAN" status: 204 len: 0 microversion: 1.39',
        ),
        ('DELETE', '/allocations/x', {}, '"DELETE /allocations/x" status: 404 len: {length} microversion: 1.39'),
        ('GET', '/nowhere', {}, '"GET /nowhere" status: 404 len: {length} microversion: 1.39'),
        ('GET', '/a%0A%00%7Fb', {}, '"GET /a%0A%00%7Fb" status: 404 len: {length} microversion: 1.39'),
        ('HEAD', '/traits', {}, '"HEAD /traits" status: 405 len: 0 microversion: 1.39'),
        ('GET', '/traits', {'token': None}, '"GET /traits" status: 401 len: {length} microversion: -'),
        ('GET', '/traits', {'version': '9.9'}, '"GET /traits" status: 406 len: {length} microversion: -'),
    ],
)
def test_line_of_a_request(client, caplog, method, path, options, expected):
    caplog.set_level(logging.INFO, 'placement.requestlog')
    answer = client.call(method, path, **options)
    (record,) = caplog.records
    line, _, seconds = record.getMessage().partition(' time: ')
    assert line == '127.0.0.1 ' + expected.format(length=len(answer.content))
    assert re.fullmatch(r'\d+\.\d{3}', seconds)
    assert (record.name, record.levelno) == ('placement.requestlog', logging.INFO)


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_nobody_writes_lines_of_his_own(client, caplog):
    """A path with line breaks: they are shown as they were sent."""
    caplog.set_level(logging.DEBUG, 'placement.requestlog')
    client.call('GET', '/traits/A%0D%0A%1B%C2%85B')
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert all('"GET /traits/A%0D%0A%1B' in message and len(message.splitlines()) == 1 for message in messages)


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_only_one_global_id_is_believed(client):
    """The id of the answer is always ours."""
    for sent in (GLOBAL, 'req-1', GLOBAL.upper(), f'{GLOBAL}\n', ''):
        answered = client.call('GET', '/', headers={'x-openstack-request-id': sent.strip()}).headers
        assert re.fullmatch(ID, answered['x-openstack-request-id']) and answered['x-openstack-request-id'] != sent
        assert 'x-openstack-global-request-id' not in answered


def provoke(client):
    """Requests of all kinds of answers; returns their request ids."""
    provider = str(uuid.uuid4())
    headers = {'x-openstack-request-id': GLOBAL}
    inventory = {'inventories': {'VCPU': {'total': 4}}, 'resource_provider_generation': 0}
    allocation = {
        'allocations': {provider: {'resources': {'VCPU': 9}}},
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': None,
        'consumer_type': 'INSTANCE',
    }
    answers = [
        client.call('POST', '/resource_providers', {'name': 'host', 'uuid': provider}, headers=headers),
        client.call('POST', '/resource_providers', {'name': 'host'}, headers=headers),
        client.call('PUT', f'/resource_providers/{provider}/inventories', inventory, headers=headers),
        client.call('PUT', f'/allocations/{uuid.uuid4()}', allocation, headers=headers),
        client.call('GET', '/allocation_candidates?resources=VCPU:1', headers=headers),
        client.call('GET', '/traits/CUSTOM_%F0%9F%92%A9', headers=headers),
        client.call('GET', '/traits', token=None, headers=headers),
        client.call('GET', '/traits', version='x', headers=headers),
        client.call('POST', '/reshaper', {}, headers=headers),
        client.call('GET', '/usages', token='user:project', headers=headers),
    ]
    assert [answer.status_code for answer in answers] == [200, 409, 200, 409, 200, 404, 401, 400, 403, 403]
    return [answer.headers['x-openstack-request-id'] for answer in answers]


VERBOSE = {
    'OS_DEFAULT__DEBUG': 'true',
    'OS_DEFAULT__DEFAULT_LOG_LEVELS': 'placement=DEBUG',  # the default keeps libraries quiet
    'OS_PLACEMENT_DATABASE__CONNECTION_DEBUG': '100',
}


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_ids_in_every_record_and_no_secret(database, tmp_path):
    database.execute(f"GRANT ALL ON placement.* TO placement@'%' IDENTIFIED BY '{PASSWORD}'")
    url = database.url.replace('root@', f'placement:{PASSWORD}@')
    options = VERBOSE | {
        'OS_PLACEMENT_DATABASE__SLAVE_CONNECTION': url,
        'OS_PLACEMENT_DATABASE__CONNECTION_PARAMETERS': 'charset=utf8mb4',
    }
    with live.serve(url, tmp_path, threads=1, options=options) as address:
        ids = provoke(Client.of_url(address))
    lines = (tmp_path / 'server.log').read_text().splitlines()
    assert any('INSERT INTO resource_providers' in line for line in lines)
    assert any('placement_database.connection ' in line and '****' in line for line in lines)
    assert not [line for line in lines if PASSWORD in line]

    # One thread: what lies between the first and the last record of a request belongs to it.
    records = [line for line in lines if re.match(r'\d{4}-\d\d-\d\d ', line)]
    for request in ids:
        own = [number for number, line in enumerate(records) if request in line]
        for line in records[own[0] : own[-1] + 1]:
            assert f' [{GLOBAL} {request} ' in line
        assert 'DEBUG placement.requestlog ' in records[own[0]] and 'Starting request: 127.0.0.1 "' in records[own[0]]
        assert 'INFO placement.requestlog ' in records[own[-1]]
    denied = next(line for line in records if ids[-1] in line and ' INFO placement.requestlog ' in line)
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ INFO placement\.requestlog '
        rf'\[{GLOBAL} {ids[-1]} user project - - - -\] '
        r'127\.0\.0\.1 "GET /usages" status: 403 len: \d+ microversion: 1\.39 time: \d+\.\d{3}',
        denied,
    )


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_json(database, tmp_path):
    options = VERBOSE | {'OS_DEFAULT__USE_JSON': 'true', 'OS_DEFAULT__LOG_FILE': str(tmp_path / 'placement.log')}
    with live.serve(database.url, tmp_path, threads=1, options=options) as address:
        ids = provoke(Client.of_url(address))
    records = [json.loads(line) for line in (tmp_path / 'placement.log').read_text().splitlines()]
    starts, requests = (
        {
            record['context']['request_id']: record
            for record in records
            if (record['name'], record['levelname']) == ('placement.requestlog', level)
        }
        for level in ('DEBUG', 'INFO')
    )
    assert starts[ids[0]]['args'] == ['127.0.0.1', 'POST', '/resource_providers']
    # Values, not objects of ours of which only the name would be left.
    assert not [
        record for record in records if record['name'].startswith('placement') and ' object at 0x' in str(record)
    ]
    for request in ids:
        assert requests[request]['context']['global_request_id'] == GLOBAL
    first = requests[ids[0]]
    assert first['args'] == {
        'REMOTE_ADDR': '127.0.0.1',
        'REQUEST_METHOD': 'POST',
        'REQUEST_URI': '/resource_providers',
        'status': '200',
        'bytes': first['args']['bytes'],
        'microversion': [1, 39],
        'seconds': first['args']['seconds'],
    }
    assert first['levelname'] == 'INFO' and first['context']['user'] == 'admin'


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_file_is_named_after_the_service_where_no_program_is(database, tmp_path):
    """As under uWSGI, where the outermost frame is the importer's: -c has no file either."""
    (tmp_path / 'logs').mkdir()
    environment = live.configure(database.url, tmp_path, {'OS_DEFAULT__LOG_DIR': str(tmp_path / 'logs')})
    command = [sys.executable, '-c', 'import placement.wsgi.api']
    subprocess.run(
        command, env=environment | {'PYTHONPATH': str(live.CHECKOUT)}, check=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert os.listdir(tmp_path / 'logs') == ['placement-api.log']
