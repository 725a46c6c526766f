"""GET /healthcheck: off by default; for everybody; tells whether the database can be read."""

import pytest
from oslo_middleware.healthcheck import opts

from placement import config, health
from tests import databases
from tests.client import Client

# Neither a token nor a version.
NOBODY = {'token': None, 'version': None, 'headers': {'accept': 'text/plain'}}


def test_off_by_default(client: Client) -> None:
    assert client.call('GET', '/healthcheck').status_code == 404


class TestOn:
    @pytest.fixture
    def conf(self, conf):
        conf.set_override('healthcheck', True, group='api')
        return conf

    def test_healthy(self, client: Client) -> None:
        response = client.call('GET', '/healthcheck', **NOBODY)
        assert (response.status_code, response.text) == (200, 'OK')
        assert 'openstack-api-version' not in response.headers
        assert client.call('HEAD', '/healthcheck', **NOBODY).status_code == 204

    def test_everything_else_is_as_before(self, client: Client) -> None:
        assert client.call('GET', '/healthcheck/more').status_code == 404
        assert client.call('GET', '/resource_providers', **NOBODY).status_code == 401
        assert client.call('GET', '/resource_providers').status_code == 200

    def test_tables_are_gone(self, client: Client, database: databases.Database) -> None:
        database.execute('ALTER TABLE resource_providers RENAME TO hidden')
        try:
            response = client.call('GET', '/healthcheck', **NOBODY)
            assert (response.status_code, response.text) == (503, 'The database cannot be read')
            assert client.call('HEAD', '/healthcheck', **NOBODY).status_code == 503
        finally:
            database.execute('ALTER TABLE hidden RENAME TO resource_providers')
        assert client.call('GET', '/healthcheck', **NOBODY).status_code == 200

    def test_only_from_where_it_is_allowed(self, conf, request: pytest.FixtureRequest) -> None:
        conf.register_opts(opts.HEALTHCHECK_OPTS, group='healthcheck')
        conf.set_override('allowed_source_ranges', ['192.0.2.0/24'], group='healthcheck')
        client: Client = request.getfixturevalue('client')
        assert client.call('GET', '/healthcheck', **NOBODY).status_code == 401

    @pytest.mark.parametrize('database', ['sqlite'], indirect=True)
    def test_ranges_of_no_use_are_one_sentence(self, conf) -> None:
        conf.register_opts(opts.HEALTHCHECK_OPTS, group='healthcheck')
        conf.set_override('allowed_source_ranges', ['nonsense'], group='healthcheck')
        with pytest.raises(config.ConfigError, match=r"^\[healthcheck\] cannot be used: 'nonsense' does not appear"):
            health.Healthcheck(lambda environ, start_response: [], conf)
