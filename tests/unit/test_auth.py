"""Authentication: what is wrong with its options is one sentence."""

import sys
import types

import pytest

from placement import auth, config
from tests import service


@pytest.fixture
def conf(tmp_path):
    """A configuration with Keystone, whose options are registered by now."""
    conf = service.configuration(f'sqlite:///{tmp_path}/placement.sqlite')
    conf.set_override('auth_strategy', 'keystone', group='api')
    auth.wrap(lambda environ, start_response: [], conf)
    return conf


@pytest.mark.parametrize(
    ('option', 'value', 'message'),
    [
        ('auth_type', 'nope', r'^\[keystone_authtoken\] cannot be used: .*nope'),
        ('auth_version', 'pass$word', r'^\[keystone_authtoken\] an option refers by \$ .* is written \$\$\.$'),
    ],
)
def test_one_sentence(conf, option, value, message):
    conf.set_override(option, value, group='keystone_authtoken')
    with pytest.raises(config.ConfigError, match=message) as caught:
        auth.wrap(lambda environ, start_response: [], conf)
    assert 'word' not in str(caught.value)


def test_memcached_needs_its_library_at_start(conf, monkeypatch):
    conf.set_override('memcached_servers', ['127.0.0.1:11211'], group='keystone_authtoken')
    monkeypatch.setitem(sys.modules, 'memcache', None)
    with pytest.raises(config.ConfigError, match=r'memcached_servers needs the Python package python-memcached'):
        auth.wrap(lambda environ, start_response: [], conf)
    library = types.ModuleType('memcache')
    library.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, 'memcache', library)
    auth.wrap(lambda environ, start_response: [], conf)
