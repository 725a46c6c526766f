"""Errors as responses: what no route shows by itself."""

import io

import pytest
import webob

from placement import errors
from placement.db import engine
from tests.client import Client


def test_missing_media_type_is_named_none(app):
    response = Client.of_app(app).call('PUT', '/allocations/11111111-2222-4333-8444-555555555555', content=b'')
    (error,) = response.json()['errors']
    assert response.status_code == 415
    assert error['detail'].splitlines() == [
        'The request media type None is not supported by this server. ',
        '',
        ' The media type None is not supported, use application/json',
    ]


def test_names_that_never_come_free(app, monkeypatch):
    def busy(*_arguments, **_options):
        raise engine.retry(errors.NameRace())

    monkeypatch.setattr(engine, 'LONGEST_PAUSE', 0.001)
    monkeypatch.setattr(engine, '_run', busy)
    response = Client.of_app(app).call('PUT', '/traits/CUSTOM_BUSY')
    assert response.status_code == 409
    assert 'Max retries of DB transaction exceeded' in response.json()['errors'][0]['detail']


def test_fault_keeps_its_words_for_the_log(app, monkeypatch, caplog):
    def broken(*_arguments, **_options):
        raise RuntimeError('secret words')

    monkeypatch.setattr(engine, '_attempt', broken)
    request = webob.Request.blank(
        '/traits', headers={'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.39'}
    )
    response = request.get_response(app)
    assert response.status_int == 500
    assert 'secret words' not in response.text
    assert 'openstack-api-version' not in response.headers
    assert 'Placement API unexpected error: secret words' in caplog.text


@pytest.mark.parametrize('accept', ['application/json', 'text/html', 'text/plain'])
def test_half_a_character_can_be_told(app, accept):
    """A lone surrogate of a body comes back as what was sent, in whatever form the error has."""
    client = Client.of_app(app)
    provider = client.must('POST', '/resource_providers', {'name': 'host'}).json()['uuid']
    response = client.call(
        'PUT',
        f'/resource_providers/{provider}/aggregates',
        content=b'{"aggregates": ["\\ud800"], "resource_provider_generation": 0}',
        headers={'accept': accept, 'content-type': 'application/json'},
    )
    assert response.status_code == 400
    text = response.json()['errors'][0]['detail'] if accept == 'application/json' else response.text
    assert r"\ud800' is not a 'uuid'" in text.replace('&#39;', "'").replace('&#x27;', "'")


class BrokenChunk(Exception):
    """What a WSGI server may raise from the stream of a body; each has classes of its own."""


class BrokenStream(io.BytesIO):
    def read(self, *_arguments):
        raise BrokenChunk()


@pytest.mark.parametrize('stream', [io.BytesIO(b'{"name": "ho'), BrokenStream()], ids=['short', 'broken'])
def test_body_that_does_not_arrive(app, stream, caplog):
    request = webob.Request.blank(
        '/resource_providers',
        method='POST',
        headers={'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.39'},
        content_type='application/json',
    )
    request.environ.update({'wsgi.input': stream, 'CONTENT_LENGTH': '50'})
    response = request.get_response(app)
    assert response.status_int == 400
    assert 'The body did not arrive whole' in response.json['errors'][0]['detail']
    assert 'Traceback' not in caplog.text
