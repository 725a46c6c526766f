"""What other projects import: the fixtures of placement.tests, placement.direct, placement.db_api.

Used here as nova and osc-placement use them (contract: service.md 7.3 to 7.5).
"""

import logging

import fixtures
import pytest
import requests
from keystoneauth1 import session
from oslo_config import cfg
from oslo_config import fixture as config_fixture

import placement.conf
from placement import db_api, deploy, direct
from placement.db.sqlalchemy import migration
from placement.tests.fixtures import Database
from placement.tests.functional.fixtures import capture
from placement.tests.functional.fixtures.placement import PlacementFixture


def get(fixture, path, version='1.39'):
    headers = {'x-auth-token': fixture.token, 'openstack-api-version': f'placement {version}'}
    return requests.get(f'{fixture.endpoint}{path}', headers=headers, timeout=10)


def post(fixture, path, body):
    headers = {'x-auth-token': fixture.token, 'openstack-api-version': 'placement 1.39'}
    return requests.post(f'{fixture.endpoint}{path}', json=body, headers=headers, timeout=10)


def names(fixture):
    return [provider['name'] for provider in get(fixture, '/resource_providers').json()['resource_providers']]


def test_fixture_serves_requests_in_this_process():
    """One after the other, as tests are."""
    for _ in range(2):
        with PlacementFixture() as service:
            made = post(service, '/resource_providers', {'name': 'host'})
            assert made.json()['links'][0]['href'].startswith('/placement/resource_providers/')
            assert names(service) == ['host']
            assert get(service, '/resource_providers').headers['openstack-api-version'] == 'placement 1.39'
            # As the defaults of old: the role of a service is not needed.
            assert post(service, '/reshaper', {}).status_code == 400
            endpoint = service.endpoint
        with pytest.raises(requests.ConnectionError):
            requests.get(endpoint, timeout=10)


class NovaFixture(PlacementFixture):
    """As in nova: other options and a database in a file."""

    def _configure_placement(self, conf_fixture):
        file = f'{self.useFixture(fixtures.TempDir()).path}/placement.sqlite'
        conf_fixture.config(group='placement_database', connection=f'sqlite:///{file}')
        conf_fixture.config(group='workarounds', optimize_for_wide_provider_trees=True)
        conf_fixture.config(group='placement', allocation_candidates_generation_strategy='breadth-first')


def test_fixture_can_be_configured():
    with NovaFixture(token='someone') as service:
        assert 'placement.sqlite' in service.conf_fixture.conf.placement_database.connection
        assert get(service, '/traits').status_code == 403
        service.token = 'admin'
        assert 'HW_CPU_X86_AVX2' in get(service, '/traits').json()['traits']


def test_two_services_on_one_database():
    """As in a regression test of nova: the database is made first, and two services share it."""
    with config_fixture.Config(cfg.ConfigOpts()) as conf_fixture:
        placement.conf.register_opts(conf_fixture.conf)
        options = {'conf_fixture': conf_fixture, 'db': False, 'register_opts': False}
        with (
            Database(conf_fixture, set_config=True),
            PlacementFixture(**options) as one,
            PlacementFixture(**options) as two,
        ):
            assert one.endpoint != two.endpoint
            post(one, '/resource_providers', {'name': 'host'})
            assert names(two) == ['host']


def test_output_is_captured():
    with capture.WarningsFixture(), capture.Logging() as captured, PlacementFixture() as service:
        get(service, '/traits')
        assert 'INFO [placement.requestlog] 127.0.0.1 "GET /placement/traits" status: 200' in captured.logger.output


@pytest.fixture
def conf(tmp_path):
    """A parsed configuration whose database is made and configured by the caller."""
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    conf.set_override('connection', f'sqlite:///{tmp_path}/placement.sqlite', group='placement_database')
    conf([], default_config_files=[], default_config_dirs=[])
    manager = db_api.placement_context_manager
    restore = manager.patch_factory(manager.make_new_manager())
    db_api.configure.reset()
    db_api.configure(conf)
    migration.create_schema()
    yield conf
    manager.dispose_pool()
    restore()


def test_direct(conf):
    found = session.Session.get_endpoint
    with direct.PlacementDirect(conf) as client:
        assert conf.api.auth_strategy == 'noauth2'
        made = client.post('/resource_providers', json={'name': 'host'}, microversion='1.39')
        assert made.json()['name'] == 'host'
        answer = client.get('/resource_providers')
        assert [provider['name'] for provider in answer.json()['resource_providers']] == ['host']
        assert answer.headers['openstack-api-version'] == 'placement 1.0'
        assert client.get('/usages', microversion='1.9').status_code == 400  # no exception
        assert client.put('/traits/CUSTOM_A', microversion='1.6', headers={'x-own': '1'}).status_code == 201
        assert client.delete('/traits/CUSTOM_A', microversion='1.6').status_code == 204
        assert session.Session().get_endpoint(service_type='anything').endswith('/placement')
    assert session.Session.get_endpoint is found
    with direct.PlacementDirect(conf, latest_microversion=True) as client:
        assert client.get('/traits').headers['openstack-api-version'] == 'placement 1.39'
        assert client.get('/traits', microversion='1.6').headers['openstack-api-version'] == 'placement 1.6'


def test_second_configuration_is_ignored(conf, caplog):
    engine = db_api.get_placement_engine()
    db_api.configure(conf)
    deploy.loadapp(conf)
    assert db_api.get_placement_engine() is engine
    warned = [record for record in caplog.records if record.name == 'placement.db_api']
    assert [record.levelno for record in warned] == [logging.WARNING] * 2
