"""The header Server-Timing, off by default."""

import re

import pytest

from tests.client import Client

QUERY = '/allocation_candidates?resources=VCPU:1'


def parts(client: Client, path: str) -> dict[str, float]:
    value = client.must('GET', path).headers['server-timing']
    assert re.fullmatch(r'\w+;dur=\d+\.\d\d(, \w+;dur=\d+\.\d\d)*', value)
    return {name: float(duration) for name, duration in (part.split(';dur=') for part in value.split(', '))}


def test_off_by_default(client):
    assert 'server-timing' not in client.must('GET', QUERY).headers


class TestOn:
    @pytest.fixture
    def conf(self, conf):
        conf.set_override('server_timing', True, group='api')
        return conf

    def test_candidates(self, client):
        found = parts(client, QUERY)
        assert found.keys() == {'total', 'other', 'search', 'database', 'encode'}
        assert found['total'] == pytest.approx(sum(found.values()) - found['total'], abs=0.1)
        assert found['database'] > 0

    def test_other_routes(self, client):
        assert parts(client, '/resource_providers').keys() == {'total', 'other', 'database', 'encode'}
        assert parts(client, '/').keys() == {'total', 'other', 'encode'}

    def test_errors(self, client):
        response = client.call('GET', '/resource_classes/NOPE')
        assert response.status_code == 404
        assert 'database' in response.headers['server-timing']
