"""Traces of osprofiler and profiles of werkzeug, off by default (contract: service.md 3.8, 5.1)."""

import pstats
import sys

import pytest
from osprofiler import _utils, notifier, web

from placement import config
from tests import service
from tests.claims import new_uuid
from tests.client import Client

KEY = 'a key'


@pytest.fixture
def own_state(monkeypatch):
    """What osprofiler keeps for the process is as before when the test is over."""
    monkeypatch.setattr(web, '_ENABLED', None)
    monkeypatch.setattr(web, '_HMAC_KEYS', None)
    before = notifier.get()
    yield
    notifier.set(before)


@pytest.fixture
def traces(own_state, conf, monkeypatch):
    """What is told to the collector while the service runs with osprofiler."""
    told = []
    monkeypatch.setattr(notifier, 'create', lambda *_args, **_kwargs: told.append)
    for name, value in {'enabled': True, 'trace_sqlalchemy': True, 'hmac_keys': KEY}.items():
        conf.set_override(name, value, group='profiler')
    return told


def signed(key: str) -> dict[str, str]:
    packed, mac = _utils.signed_pack({'base_id': 'a-trace', 'parent_id': 'its-parent'}, key)
    text = packed.decode() if isinstance(packed, bytes) else packed
    return {web.X_TRACE_INFO: text, web.X_TRACE_HMAC: mac}


class TestTraces:
    def test_signed_requests_are_traced_with_their_statements(self, traces: list, client: Client) -> None:
        response = client.call('GET', '/resource_providers', headers=signed(KEY))
        assert response.status_code == 200
        assert [told['name'] for told in traces] == ['wsgi-start', 'db-start', 'db-stop', 'wsgi-stop']
        assert {told['base_id'] for told in traces} == {'a-trace'}
        assert traces[0]['info']['request']['path'] == '/resource_providers'
        assert 'SELECT' in traces[1]['info']['db']['statement']

    def test_others_are_not(self, traces: list, client: Client) -> None:
        for headers in ({}, signed('another key')):
            assert client.call('GET', '/resource_providers', headers=headers).status_code == 200
        assert traces == []

    def test_a_collector_of_no_use_is_no_reason_not_to_serve(self, own_state, conf, caplog) -> None:
        conf.set_override('enabled', True, group='profiler')
        nobody = f'nobody://{new_uuid()}'  # osprofiler complains of each address once
        conf.set_override('connection_string', nobody, group='profiler')
        with service.application(conf) as application:
            response = Client.of_app(application).call('GET', '/resource_providers', headers=signed(KEY))
            assert response.status_code == 200
        assert nobody in caplog.text

    def test_off_by_default(self, conf, client: Client, monkeypatch) -> None:
        told: list[object] = []
        monkeypatch.setattr(notifier, 'get', lambda: told.append)
        assert client.call('GET', '/resource_providers', headers=signed('SECRET_KEY')).status_code == 200
        assert told == []


class TestProfiles:
    @pytest.fixture
    def directory(self, tmp_path, monkeypatch):
        monkeypatch.setenv('OS_WSGI_PROFILER', str(tmp_path))
        return tmp_path

    def test_one_for_each_request(self, directory, client: Client) -> None:
        assert client.call('GET', '/resource_providers').json() == {'resource_providers': []}
        (profile,) = directory.glob('GET.resource_providers.*.prof')
        functions = {function for _, _, function in pstats.Stats(str(profile)).stats}  # type: ignore[attr-defined]
        assert 'list_all' in functions

    @pytest.mark.parametrize('is_missing', ['directory', 'package'])
    def test_what_is_missing_ends_the_start(self, conf, tmp_path, monkeypatch, is_missing: str) -> None:
        monkeypatch.setenv('OS_WSGI_PROFILER', str(tmp_path / 'no' if is_missing == 'directory' else tmp_path))
        monkeypatch.setitem(sys.modules, 'werkzeug.middleware.profiler', None)
        sentence = {'directory': 'names no directory', 'package': 'needs the Python package werkzeug'}[is_missing]
        with pytest.raises(config.ConfigError, match=f'^OS_WSGI_PROFILER {sentence}'), service.application(conf):
            pass
