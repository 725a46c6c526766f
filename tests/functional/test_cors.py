"""Browsers of other origins: `[cors] allowed_origin` (contract: http.md 1.8, service.md 5.5)."""

import pytest

from placement.conf import libraries
from tests import service
from tests.client import Client

pytestmark = pytest.mark.parametrize('database', ['sqlite'], indirect=True)

ORIGIN = 'https://horizon.example'
EXPOSED = 'X-Auth-Token,X-Openstack-Request-Id,X-Subject-Token,X-Service-Token,OpenStack-API-Version'


@pytest.fixture
def conf(database):
    libraries.set_service_defaults()  # before options are registered, as at the start of the service
    conf = service.configuration(database.url)
    conf.set_override('allowed_origin', [ORIGIN, 'https://other.example'], group='cors')
    return conf


def cors_headers(answer):
    return {name for name in answer.headers if name.startswith('access-control-')}


def preflight(client, **headers):
    sent = {'origin': ORIGIN, 'access-control-request-method': 'PUT'}
    sent |= {name.replace('_', '-'): value for name, value in headers.items()}
    answer = client.call('OPTIONS', '/allocations/x', token=None, version=None, headers=sent)
    assert (answer.status_code, answer.content) == (200, b'')
    assert 'x-openstack-request-id' in answer.headers
    return answer


def test_preflight_is_answered_without_token(client):
    answer = preflight(client, access_control_request_headers='X-Auth-Token, OpenStack-API-Version')
    assert answer.headers['access-control-allow-origin'] == ORIGIN
    assert answer.headers['access-control-allow-credentials'] == 'true'
    assert answer.headers['access-control-max-age'] == '3600'
    assert answer.headers['access-control-allow-methods'] == 'PUT'
    assert answer.headers['access-control-allow-headers'] == 'X-Auth-Token,OpenStack-API-Version'
    assert answer.headers['vary'] == 'Origin'


@pytest.mark.parametrize('method', ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'])
def test_methods_that_may_be_asked_for(client, method):
    assert preflight(client, access_control_request_method=method).headers['access-control-allow-methods'] == method


@pytest.mark.parametrize(
    'header',
    [
        'X-Auth-Token',
        'X-Openstack-Request-Id',
        'X-Identity-Status',
        'X-Roles',
        'X-Service-Catalog',
        'X-User-Id',
        'X-Tenant-Id',
        'OpenStack-API-Version',
    ],
)
def test_headers_that_may_be_asked_for(client, header):
    answer = preflight(client, access_control_request_headers=header)
    assert answer.headers['access-control-allow-headers'] == header


@pytest.mark.parametrize(
    'headers',
    [
        {'origin': 'https://evil.example'},
        {'access_control_request_method': 'TRACE'},
        {'access_control_request_headers': 'X-Own'},
    ],
)
def test_preflight_of_others_has_no_cors_headers(client, headers):
    assert not cors_headers(preflight(client, **headers))


@pytest.mark.parametrize(('token', 'status'), [('admin', 200), (None, 401)])
def test_simple_request(client, token, status):
    answer = client.call('GET', '/resource_providers', token=token, headers={'origin': 'https://other.example'})
    assert answer.status_code == status
    assert answer.headers['access-control-allow-origin'] == 'https://other.example'
    assert answer.headers['access-control-allow-credentials'] == 'true'
    assert answer.headers['access-control-expose-headers'] == EXPOSED
    if status == 200:
        assert answer.headers['vary'] == 'openstack-api-version,Origin'


def test_simple_request_of_others_has_no_cors_headers(client):
    answer = client.call('GET', '/resource_providers', headers={'origin': 'https://evil.example'})
    assert answer.status_code == 200 and not cors_headers(answer)


def test_without_configuration_there_is_no_cors(database):
    with service.application(service.configuration(database.url)) as app:
        client = Client.of_app(app)
        answer = client.call('OPTIONS', '/resource_providers', headers={'origin': ORIGIN})
        assert (answer.status_code, answer.headers['allow']) == (405, 'GET, POST')
        assert not cors_headers(client.call('GET', '/resource_providers', headers={'origin': ORIGIN}))
