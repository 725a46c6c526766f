"""Behind a proxy: `enable_proxy_headers_parsing` works, unlike in the reference (docs/differences.md)."""

import logging

import pytest

pytestmark = pytest.mark.parametrize('database', ['sqlite'], indirect=True)

X_FORWARDED = {
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'cloud.example',
    'x-forwarded-for': '192.0.2.60',
    'x-forwarded-prefix': '/placement',
}
FORWARDED = {'forwarded': 'for=192.0.2.60;proto=https;host=cloud.example', 'x-forwarded-prefix': '/placement'}


@pytest.fixture
def believes(request, conf):
    """Whether the service is told to believe the proxy; None leaves the default."""
    if request.param is not None:
        conf.set_override('enable_proxy_headers_parsing', request.param, group='oslo_middleware')
    return request.param


@pytest.mark.parametrize('headers', [X_FORWARDED, FORWARDED], ids=['x-forwarded', 'forwarded'])
@pytest.mark.parametrize('believes', [None, False, True], indirect=True)
def test_location_links_and_log(believes, client, headers, caplog):
    caplog.set_level(logging.INFO, 'placement.requestlog')
    made = client.must('POST', '/resource_providers', {'name': 'host'}, headers=headers)
    location = client.must('PUT', '/traits/CUSTOM_A', headers=headers).headers['location']
    (self_link,) = (link['href'] for link in made.json()['links'] if link['rel'] == 'self')
    line = caplog.records[-1].getMessage()
    if believes:
        assert location == 'https://cloud.example/placement/traits/CUSTOM_A'
        assert self_link == f'/placement/resource_providers/{made.json()["uuid"]}'
        assert line.startswith('192.0.2.60 "PUT /placement/traits/CUSTOM_A" status: 201 ')
    else:
        assert location == 'http://placement.test/traits/CUSTOM_A'
        assert self_link == f'/resource_providers/{made.json()["uuid"]}'
        assert line.startswith('127.0.0.1 "PUT /traits/CUSTOM_A" status: 201 ')
