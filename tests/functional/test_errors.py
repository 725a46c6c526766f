"""Errors as responses: what no route shows by itself."""

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

    monkeypatch.setattr(engine, '_run', broken)
    request = webob.Request.blank(
        '/traits', headers={'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.39'}
    )
    response = request.get_response(app)
    assert response.status_int == 500
    assert 'secret words' not in response.text
    assert 'openstack-api-version' not in response.headers
    assert 'Placement API unexpected error: secret words' in caplog.text
