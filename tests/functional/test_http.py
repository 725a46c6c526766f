"""What HTTP means to every route: who is let in, versions, media types, methods (contract: http.md 1 to 3, traps)."""

import pytest
import webob

PROVIDERS = '/resource_providers'
PROVIDER = f'{PROVIDERS}/11111111-2222-4333-8444-555555555555'


def send(app, method, path, version='1.39', token='admin', body=None, **headers):
    """The answer to a request with just these headers (their names with underscores)."""
    sent = {name.replace('_', '-'): value for name, value in headers.items()}
    if token is not None:
        sent['x-auth-token'] = token
    if version is not None:
        sent.setdefault('openstack-api-version', f'placement {version}')
    request = webob.Request.blank(path, method=method, headers=sent)
    if body is not None:
        request.body = body
    return request.get_response(app)


def detail(response):
    return response.json['errors'][0]['detail']


@pytest.mark.parametrize('path', [PROVIDERS, '/barnabas'])
def test_nobody_gets_401_of_a_form_of_its_own(app, path):
    response = send(app, 'GET', path, token=None, accept='application/json')
    assert response.status_int == 401
    assert (response.json['code'], response.json['title']) == ('401 Unauthorized', 'Unauthorized')
    assert 'errors' not in response.json


def test_root_is_open_to_all(app):
    response = send(app, 'GET', '/', version=None, token=None)
    (version,) = response.json['versions']
    assert (version['min_version'], version['max_version'], version['status']) == ('1.0', '1.39', 'CURRENT')
    assert version['links'] == [{'rel': 'self', 'href': ''}]


@pytest.mark.parametrize(
    ('header', 'version'),
    [
        ('placement latest', '1.39'),
        ('PLACEMENT latest', '1.39'),
        ('compute 2.1, placement 1.10', '1.10'),
        ('placement 1.5, placement 1.10', '1.10'),
        ('placement 1.5,', '1.5'),
        ('placement 1.010', '1.10'),
        ('compute latest', '1.0'),
        ('1.10', '1.0'),
        ('', '1.0'),
    ],
)
def test_version(app, header, version):
    response = send(app, 'GET', '/', openstack_api_version=header)
    assert response.headers['openstack-api-version'] == f'placement {version}'
    assert 'openstack-api-version' in response.headers['vary']


@pytest.mark.parametrize(
    ('header', 'status', 'words'),
    [
        ('placement LATEST', 400, 'invalid version string: LATEST'),
        ('placement pony.horse', 400, 'invalid version string: pony.horse'),
        ('placement 1.2.3', 400, 'invalid version string: 1.2.3'),
        ('placement 1.40', 406, 'Unacceptable version header: 1.40'),
        ('placement 0.5', 406, 'Unacceptable version header: 0.5'),
    ],
)
@pytest.mark.parametrize('path', ['/', '/barnabas'])
def test_version_that_is_none(app, path, header, status, words):
    response = send(app, 'GET', path, openstack_api_version=header)
    (error,) = response.json['errors']
    assert (response.status_int, error['status']) == (status, status)
    assert words in error['detail']
    assert 'code' not in error
    assert ('max_version' in error, 'min_version' in error) == (status == 406, status == 406)
    assert 'openstack-api-version' not in response.headers


def test_body_needs_a_type(app):
    response = send(app, 'GET', PROVIDERS, body=b'{}')
    assert response.status_int == 400
    assert 'content-type header required' in detail(response)


def test_length_must_be_a_number(app):
    response = send(app, 'POST', PROVIDERS, content_length='ten', content_type='application/json')
    assert response.status_int == 400
    assert 'content-length header must be an integer' in detail(response)


@pytest.mark.parametrize('sent', ['APPLICATION/JSON', 'text/plain'])
def test_media_type(app, sent):
    response = send(app, 'POST', PROVIDERS, body=b'{"name": "a"}', content_type=sent)
    assert response.status_int == 415
    assert f'The media type {sent} is not supported, use application/json' in detail(response)


@pytest.mark.parametrize('sent', ['application/json; charset=latin-1', 'application/json ; charset=latin-1'])
def test_media_type_with_parameters(app, sent):
    assert send(app, 'POST', PROVIDERS, body=b'{"name": "a"}', content_type=sent).status_int == 200


@pytest.mark.parametrize(
    ('accept', 'status'),
    [
        ('', 200),
        ('*/*', 200),
        ('application/*', 200),
        ('garbage', 200),
        ('text/html, */*', 200),
        ('application/json;charset=utf-8', 406),
        ('application/json;q=0', 406),
        ('text/html', 406),
    ],
)
def test_accept(app, accept, status):
    response = send(app, 'GET', PROVIDERS, accept=accept)
    assert response.status_int == status
    if status == 406:
        assert 'Only application/json is provided' in response.text
    assert send(app, 'POST', PROVIDERS, body=b'{}', content_type='application/json', accept=accept).status_int == 400


@pytest.mark.parametrize(
    ('accept', 'form'),
    [
        ('', 'application/json'),
        ('*/*', 'application/json'),
        ('application/*', 'application/json'),
        ('application/json, */*', 'text/html'),
        ('application/json,text/html', 'text/html'),
        ('garbage', 'text/html'),
        ('text/plain', 'text/plain'),
        ('application/xml', 'text/plain'),
    ],
)
def test_form_of_errors(app, accept, form):
    response = send(app, 'GET', '/barnabas', accept=accept)
    assert (response.status_int, response.content_type) == (404, form)
    assert 'The resource could not be found.' in response.text


@pytest.mark.parametrize(('path', 'allow'), [('/', 'GET'), (PROVIDERS, 'GET, POST'), (PROVIDER, 'GET, DELETE, PUT')])
@pytest.mark.parametrize('method', ['HEAD', 'PATCH', 'OPTIONS'])
def test_method(app, method, path, allow):
    response = send(app, method, path)
    assert response.status_int == 405
    assert sorted(response.headers['allow'].split(', ')) == sorted(allow.split(', '))
    if method == 'HEAD':
        assert (response.body, response.content_type) == (b'', 'text/html')
    else:
        assert f'The method {method} is not allowed for this resource.' in detail(response)


@pytest.mark.parametrize(
    'path', ['/resource_providers/', '//', '/Traits', f'{PROVIDER}/usages/', f'{PROVIDER}//usages']
)
def test_path_is_exact(app, path):
    assert send(app, 'GET', path).status_int == 404


def test_versions_of_methods(app):
    delete = send(app, 'DELETE', f'{PROVIDER}/inventories', version='1.4')
    assert delete.status_int == 405
    assert 'allow' not in delete.headers
    assert send(app, 'GET', '/traits', version='1.5').status_int == 404
    # The other routes look at the version first, that of aggregates at the media type.
    aggregates = send(app, 'PUT', f'{PROVIDER}/aggregates', version='1.0', body=b'x', content_type='text/plain')
    assert aggregates.status_int == 415
    assert send(app, 'GET', f'{PROVIDER}/aggregates', version='1.0', accept='text/html').status_int == 406
    traits = send(app, 'PUT', f'{PROVIDER}/traits', version='1.5', body=b'x', content_type='text/plain')
    assert traits.status_int == 404


@pytest.mark.parametrize('scope', [{'openstack_system_scope': 'all'}, {'x_domain_id': 'default'}])
def test_token_of_another_scope(app, scope):
    response = send(app, 'GET', PROVIDERS, x_roles='admin', **scope)
    assert response.status_int == 403
    assert 'placement:resource_providers:list' in detail(response)


def test_usages_asks_for_the_right_before_it_reads_the_query(app):
    assert send(app, 'GET', '/usages', token='user:project', x_roles='reader').status_int == 403
    response = send(app, 'GET', '/usages')
    assert response.status_int == 400
    assert "'project_id' is a required property" in detail(response)
