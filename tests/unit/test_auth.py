"""Authentication: what is wrong with its options is one sentence."""

import pytest

from placement import auth, config
from tests import service


def test_unknown_plugin(tmp_path):
    conf = service.configuration(f'sqlite:///{tmp_path}/placement.sqlite')
    conf.set_override('auth_strategy', 'keystone', group='api')
    auth.wrap(lambda environ, start_response: [], conf)
    conf.set_override('auth_type', 'nope', group='keystone_authtoken')
    with pytest.raises(config.ConfigError, match=r'^\[keystone_authtoken\] cannot be used: .*nope'):
        auth.wrap(lambda environ, start_response: [], conf)
