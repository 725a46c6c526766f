"""The service behind a real Keystone, with real tokens (contract: http.md 3.2, 4; service.md 5.4)."""

import contextlib
import time

import pytest

from tests import environments, live
from tests.client import Client
from tests.deployment import keystone as identity

# One Keystone for all of them: with several test processes, one of these gets them all.
pytestmark = [pytest.mark.deployment, pytest.mark.timeout(300), pytest.mark.xdist_group('keystone')]

RESHAPE = {'inventories': {}, 'allocations': {}}


@pytest.fixture(scope='module')
def keystone(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(identity.running(tmp_path_factory.mktemp('keystone')))
        except environments.Unavailable as exc:
            pytest.skip(str(exc))


@pytest.fixture(scope='module')
def log(tmp_path_factory):
    return tmp_path_factory.mktemp('placement') / 'server.log'


@pytest.fixture(scope='module')
def client(keystone, log):
    """The service, at the most talkative log level there is."""
    settings = {
        'auth_url': f'{keystone.url}/v3',
        'www_authenticate_uri': 'http://keystone.example',
        'auth_type': 'password',
        'username': 'placement',
        'password': identity.PASSWORD,
        'project_name': 'service',
        'user_domain_id': 'default',
        'project_domain_id': 'default',
        'service_token_roles_required': 'true',
        'http_request_max_retries': '1',
    }
    options = {f'OS_KEYSTONE_AUTHTOKEN__{name.upper()}': value for name, value in settings.items()}
    options |= {
        'OS_API__AUTH_STRATEGY': 'keystone',
        'OS_DEFAULT__DEBUG': 'true',
        'OS_DEFAULT__DEFAULT_LOG_LEVELS': 'placement=DEBUG',  # the default keeps libraries quiet
    }
    url = f'sqlite:///{log.parent}/placement.sqlite'
    with live.serve(url, log.parent, options=options) as address:
        keystone.populate(address)
        yield Client.of_url(address)


@pytest.fixture(scope='module')
def old_token(keystone, client):
    """A token that is given out before the others, and when."""
    return keystone.token('admin', project='admin'), time.time()


def unauthorized(answer):
    assert answer.status_code == 401
    assert answer.headers['www-authenticate'] == 'Keystone uri="http://keystone.example"'
    assert answer.json() == {
        'error': {
            'code': 401,
            'title': 'Unauthorized',
            'message': 'The request you have made requires authentication.',
        }
    }
    assert 'x-openstack-request-id' in answer.headers
    assert 'openstack-api-version' not in answer.headers


def test_valid_token(old_token, client):
    assert client.call('GET', '/resource_providers', token=old_token[0]).status_code == 200
    assert client.call('GET', '/nowhere', token=old_token[0]).status_code == 404


@pytest.mark.parametrize('token', [None, '', 'garbage', 'gAAAAABnadmin', 'admin'])
def test_no_token_or_garbage(old_token, client, token):
    unauthorized(client.call('GET', '/resource_providers', token=token))
    unauthorized(client.call('GET', '/nowhere', token=token))


@pytest.mark.parametrize('token', [None, 'garbage'])
def test_root_is_open_to_all(client, token):
    assert client.call('GET', '/', token=token).status_code == 200
    assert client.call('POST', '/', token=token).status_code == 405


def test_administrator(keystone, client):
    token = keystone.token('admin', project='admin')
    client.must('POST', '/resource_providers', {'name': 'host'}, token=token)
    denied = client.call('POST', '/reshaper', RESHAPE, token=token)
    assert denied.status_code == 403
    assert 'Policy does not allow placement:reshaper:reshape to be performed.' in denied.text


def test_other_service(keystone, client):
    token = keystone.token('nova', project='service')
    client.must('GET', '/resource_providers', token=token)
    # Let in: the body is at fault now.
    assert client.call('POST', '/reshaper', {}, token=token).status_code == 400


@pytest.mark.parametrize('scope', [{'system': {'all': True}}, {'domain': {'id': 'default'}}], ids=['system', 'domain'])
def test_other_scopes_may_nothing(keystone, client, scope):
    token = keystone.token('admin', scope=scope)
    for path in ('/resource_providers', '/traits', f'/usages?project_id={keystone.projects["demo"]}'):
        answer = client.call('GET', path, token=token)
        assert answer.status_code == 403, answer.text
    assert 'placement:usages' in answer.json()['errors'][0]['detail']


def test_reader_sees_the_usage_of_the_project_of_the_token(keystone, client):
    for own, foreign in (('demo', 'other'), ('other', 'demo')):
        token = keystone.token('alice', project=own)
        assert client.must('GET', f'/usages?project_id={keystone.projects[own]}', token=token).json() == {'usages': {}}
        assert client.call('GET', f'/usages?project_id={keystone.projects[foreign]}', token=token).status_code == 403
        assert client.call('GET', '/usages', token=token).status_code == 403
        assert client.call('GET', '/resource_providers', token=token).status_code == 403


def test_member_is_a_reader_by_implication_and_no_more(keystone, client):
    token = keystone.token('bob', project='demo')
    assert client.call('GET', f'/usages?project_id={keystone.projects["demo"]}', token=token).status_code == 200
    assert client.call('GET', '/allocation_candidates?resources=VCPU:1', token=token).status_code == 403


def test_unscoped_token_may_nothing(keystone, client):
    token = keystone.token('nobody')
    assert client.call('GET', '/resource_providers', token=token).status_code == 403


def test_identity_that_the_client_claims_does_not_count(keystone, client):
    token = keystone.token('alice', project='demo')
    claims = {'x-roles': 'admin', 'x-project-id': keystone.projects['other'], 'x-user-id': 'admin'}
    assert client.call('GET', '/resource_providers', token=token, headers=claims).status_code == 403
    path = f'/usages?project_id={keystone.projects["other"]}'
    assert client.call('GET', path, token=token, headers=claims).status_code == 403
    unauthorized(client.call('GET', '/resource_providers', token=None, headers=claims))


def test_roles_of_a_service_token_do_not_count(keystone, client):
    headers = {'x-service-token': keystone.token('nova', project='service')}
    token = keystone.token('alice', project='demo')
    assert client.call('GET', '/resource_providers', token=token, headers=headers).status_code == 403


def test_keystone_stops_and_comes_back(keystone, client):
    token, fresh = (keystone.token('nova', project='service') for _ in range(2))
    client.must('GET', '/traits', token=token)
    keystone.stop()
    try:
        answer = client.call('GET', '/traits', token=fresh)
        assert answer.status_code == 503
        assert answer.json()['code'] == '503 Service Unavailable'
        assert answer.json()['title'] == 'Service Unavailable'
        assert 'The Keystone service is temporarily unavailable' in answer.json()['message']
        assert 'x-openstack-request-id' in answer.headers
        assert 'openstack-api-version' not in answer.headers
        assert client.call('GET', '/', token=None).status_code == 200
    finally:
        keystone.start()
    client.must('GET', '/traits', token=keystone.token('nova', project='service'))


def test_expired_token(old_token, client):
    """The same token as in the first test, which was valid then."""
    token, given_out = old_token
    time.sleep(max(0, given_out + identity.EXPIRATION + 2 - time.time()))
    unauthorized(client.call('GET', '/resource_providers', token=token))


def test_no_secret_in_the_log(old_token, keystone, client, log):
    """Neither a token nor a password, at a level at which every library talks."""
    fresh = keystone.token('admin', project='admin')
    client.must('GET', '/traits', token=fresh)
    text = log.read_text()
    assert 'keystonemiddleware' in text and 'urllib3' in text
    for secret in (fresh, old_token[0], identity.PASSWORD):
        assert secret not in text
