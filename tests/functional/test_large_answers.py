"""Answers of thousands: a large body is made while it is sent, a smaller one has its length; and nothing is cut off."""

import itertools
import json
import logging

import pytest

from placement.db import tables
from placement.handlers import allocation_candidates
from placement.solver import render

GROUPS = '&'.join(f'resources{number}=CUSTOM_VF:1' for number in range(1, 5))
QUERY = f'/allocation_candidates?resources=VCPU:1&{GROUPS}&group_policy=none&limit='

on_sqlite = pytest.mark.parametrize('database', ['sqlite'], indirect=True)


@pytest.fixture
def host(client):
    """A host with eight devices."""
    client.must('PUT', '/resource_classes/CUSTOM_VF')
    made = itertools.count()

    def make(inventories, parent=None):
        body = {'name': str(next(made)), 'parent_provider_uuid': parent}
        uuid = client.must('POST', '/resource_providers', body).json()['uuid']
        body = {'resource_provider_generation': 0, 'inventories': inventories}
        client.must('PUT', f'/resource_providers/{uuid}/inventories', body)
        return uuid

    root = make({'VCPU': {'total': 8}})
    for _ in range(8):
        make({'CUSTOM_VF': {'total': 8}}, root)


def logged_length(caplog):
    return caplog.records[-1].getMessage().partition(' len: ')[2].partition(' ')[0]


@on_sqlite
@pytest.mark.usefixtures('host')
def test_a_large_body_has_no_length(client, caplog, monkeypatch):
    caplog.set_level(logging.INFO, 'placement.requestlog')
    whole = client.must('GET', QUERY + '2000')
    assert len(whole.json()['allocation_requests']) == 2000
    assert len(whole.content) > 6 * render.CHUNK
    assert whole.headers['content-length'] == logged_length(caplog) == str(len(whole.content))
    monkeypatch.setattr(allocation_candidates, 'STREAMED_FROM', 3 * render.CHUNK)
    streamed = client.must('GET', QUERY + '2000')
    assert 'content-length' not in streamed.headers
    assert logged_length(caplog) == '-'
    assert streamed.content == whole.content
    assert {name for name in whole.headers if name not in streamed.headers} == {'content-length'}


@on_sqlite
class TestMiddleware:
    """What else is in the pipeline leaves it as it is."""

    @pytest.fixture
    def conf(self, conf):
        conf.set_override('allowed_origin', ['http://horizon'], group='cors')
        conf.set_override('enable_proxy_headers_parsing', True, group='oslo_middleware')
        conf.set_override('server_timing', True, group='api')
        return conf

    @pytest.mark.usefixtures('host')
    def test_streamed(self, client, monkeypatch):
        monkeypatch.setattr(allocation_candidates, 'STREAMED_FROM', render.CHUNK)
        answer = client.must('GET', QUERY + '2000', headers={'origin': 'http://horizon'})
        assert answer.headers['access-control-allow-origin'] == 'http://horizon'
        assert 'content-length' not in answer.headers
        assert len(answer.json()['allocation_requests']) == 2000


@on_sqlite
@pytest.mark.usefixtures('host')
def test_it_is_made_while_it_is_taken(app, monkeypatch):
    """And after the transaction: nothing is left that could fail."""
    monkeypatch.setattr(allocation_candidates, 'STREAMED_FROM', 2 * render.CHUNK)
    made = []
    body = render.body

    def watched(result):
        for chunk in body(result):
            made.append(len(chunk))
            yield chunk

    monkeypatch.setattr(render, 'body', watched)
    environ = {
        'REQUEST_METHOD': 'GET',
        'PATH_INFO': '/allocation_candidates',
        'QUERY_STRING': (QUERY + '2000').partition('?')[2],
        'SERVER_NAME': 'placement',
        'SERVER_PORT': '80',
        'wsgi.url_scheme': 'http',
        'HTTP_X_AUTH_TOKEN': 'admin',
        'HTTP_OPENSTACK_API_VERSION': 'placement 1.39',
    }
    started = []
    chunks = iter(app(environ, lambda status, headers, exc_info=None: started.append(status)))
    assert started == ['200 OK']
    assert len(made) == 2 or made[0] + made[1] <= 2 * render.CHUNK
    before = len(made)
    taken = list(chunks)
    assert len(made) > before
    assert [len(chunk) for chunk in taken] == made
    assert len(json.loads(b''.join(taken))['allocation_requests']) == 2000


@pytest.fixture
def small_packets(database):
    """The server's max_allowed_packet is a megabyte."""
    ((before,),) = database.rows('SELECT @@GLOBAL.max_allowed_packet')
    database.execute('SET GLOBAL max_allowed_packet = 1048576')
    yield
    database.execute(f'SET GLOBAL max_allowed_packet = {before}')


@pytest.mark.usefixtures('small_packets')
@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_more_than_a_packet(database, client):
    """MariaDB would cut off a longer text, and tell nobody."""
    made = {f'{number:08x}-0000-4000-8000-000000000000': f'{number}'.zfill(200) for number in range(1, 5001)}
    providers = [
        {'id': number, 'uuid': uuid, 'name': name, 'generation': 0, 'root_provider_id': number}
        for number, (uuid, name) in enumerate(made.items(), 1)
    ]
    with database.engine.begin() as connection:
        for start in range(0, len(providers), 1000):
            connection.execute(tables.resource_providers.insert(), providers[start : start + 1000])
    forbidden = '?member_of=!a0000000-0000-4000-8000-000000000000'
    for query in ('', forbidden):
        shown = client.must('GET', f'/resource_providers{query}').json()['resource_providers']
        assert [(provider['uuid'], provider['name']) for provider in shown] == list(made.items())
