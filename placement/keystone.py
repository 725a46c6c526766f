"""Authentication by Keystone (contract: http.md 3.1). Called by `auth.py`."""

import importlib.util
from collections.abc import Callable, Iterable
from typing import Any

from keystoneauth1.exceptions import AuthPluginException
from keystonemiddleware import auth_token
from oslo_config import cfg

from placement import config
from placement.requestlog import Environ, WSGIApp


class Keystone:
    """Tokens are validated by keystonemiddleware; the root path is open to all, so that clients can discover versions.

    Raises config.ConfigError.
    """

    def __init__(self, application: WSGIApp, conf: cfg.ConfigOpts) -> None:
        self.open = application
        try:
            self.guarded = auth_token.AuthProtocol(application, {'oslo_config_config': conf})
        except config.BAD_REFERENCES as exc:
            raise config.ConfigError(config.misleading('keystone_authtoken', 'an option')) from exc
        except (AuthPluginException, cfg.Error) as exc:
            raise config.ConfigError(f'[keystone_authtoken] cannot be used: {exc}.') from exc
        if conf.keystone_authtoken.memcached_servers and importlib.util.find_spec('memcache') is None:
            # It would be found missing by each request.
            option = '[keystone_authtoken] memcached_servers'
            raise config.ConfigError(config.uninstalled(option, 'python-memcached'))

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on, if it may."""
        application = self.open if environ.get('PATH_INFO', '') in ('', '/') else self.guarded
        return application(environ, start_response)
