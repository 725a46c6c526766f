"""Below a URL prefix: links and Location carry it, the version document does not (http.md 1.2, 1.7, 3.1).

A WSGI server hands the prefix over as SCRIPT_NAME; tests/deployment shows that the usual servers do.
"""

import uuid

import httpx
import pytest

from placement.microversion import MAX_VERSION
from tests.client import LATEST, Client

pytestmark = pytest.mark.parametrize('database', ['sqlite'], indirect=True)

PREFIX = '/placement'
PROVIDER = '11111111-1111-4111-8111-111111111111'


@pytest.fixture
def mounted(app):
    """A client of the application below PREFIX."""

    def mount(environ, start_response):
        path = environ['PATH_INFO']
        assert path.startswith(PREFIX), path
        return app(environ | {'SCRIPT_NAME': PREFIX, 'PATH_INFO': path.removeprefix(PREFIX)}, start_response)

    transport = httpx.WSGITransport(app=mount)
    return Client(httpx.Client(transport=transport, base_url=f'http://placement.test:8778{PREFIX}'))


@pytest.mark.parametrize('path', ['', '/'])
def test_version_document_is_the_same_everywhere(mounted, path):
    answer = mounted.http.request('GET', path, headers={'x-auth-token': 'admin'})
    assert answer.status_code == 200
    assert answer.json() == {
        'versions': [
            {
                'id': 'v1.0',
                'max_version': LATEST,
                'min_version': '1.0',
                'status': 'CURRENT',
                'links': [{'rel': 'self', 'href': ''}],
            }
        ]
    }
    assert str(MAX_VERSION) == LATEST


def test_every_href_and_location_carries_the_prefix(mounted):
    answers = [
        mounted.must('POST', '/resource_providers', {'name': 'old', 'uuid': str(uuid.uuid4())}, version='1.19'),
        mounted.must('POST', '/resource_providers', {'name': 'host', 'uuid': PROVIDER}),
        mounted.must('GET', '/resource_providers'),
        mounted.must('GET', f'/resource_providers/{PROVIDER}'),
        mounted.must('PUT', f'/resource_providers/{PROVIDER}', {'name': 'new'}),
        mounted.must('POST', '/resource_classes', {'name': 'CUSTOM_OLD'}, version='1.6'),
        mounted.must('PUT', '/resource_classes/CUSTOM_NEW'),
        mounted.must('GET', '/resource_classes'),
        mounted.must('GET', '/resource_classes/CUSTOM_NEW'),
        mounted.must('PUT', '/traits/CUSTOM_A'),
        mounted.must(
            'POST',
            f'/resource_providers/{PROVIDER}/inventories',
            {'resource_class': 'VCPU', 'total': 1, 'resource_provider_generation': 0},
        ),
    ]
    hrefs = [href for answer in answers if answer.content for href in found(answer.json(), 'href')]
    assert len(hrefs) > 40
    assert all(href.startswith(f'{PREFIX}/resource_') for href in hrefs), hrefs
    locations = [answer.headers['location'] for answer in answers if 'location' in answer.headers]
    assert len(locations) == 6
    assert all(location.startswith(f'http://placement.test:8778{PREFIX}/') for location in locations), locations
    for location in locations:
        path = location.removeprefix(f'http://placement.test:8778{PREFIX}')
        assert mounted.must('GET', path), path


def test_bare_mount_point_needs_a_token_unlike_its_root(mounted):
    assert mounted.http.get('/').status_code == 200
    assert mounted.http.request('GET', f'http://placement.test:8778{PREFIX}').status_code == 401


def found(value, key):
    """The values of `key` anywhere below."""
    if isinstance(value, dict):
        own = [value[key]] if key in value else []
        return own + [item for part in value.values() for item in found(part, key)]
    if isinstance(value, list):
        return [item for part in value for item in found(part, key)]
    return []
