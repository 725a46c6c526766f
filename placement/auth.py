"""Authentication: keystonemiddleware, or none at all for tests (contract: http.md 3.1, 3.2)."""

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import webob.exc
from oslo_config import cfg

from placement.requestlog import Environ, WSGIApp


def wrap(application: WSGIApp, conf: cfg.ConfigOpts) -> WSGIApp:
    """`application` behind the authentication that `[api] auth_strategy` names."""
    if conf.api.auth_strategy == 'noauth2':
        return NoAuth(application)
    # PERF: whoever does without need not wait until it is imported.
    guarded: WSGIApp = importlib.import_module('placement.keystone').Keystone(application, conf)
    return guarded


class NoAuth:
    """Whoever comes is who he says he is: the token is `user[:project]`. For tests only."""

    def __init__(self, application: WSGIApp) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on with the identity that the token claims."""
        if environ.get('PATH_INFO') == '/':
            return self.application(environ, start_response)
        token = environ.get('HTTP_X_AUTH_TOKEN')
        if token is None:
            return webob.exc.HTTPUnauthorized()(environ, start_response)
        user, _, project = token.partition(':')
        environ['HTTP_X_USER_ID'] = user
        if not environ.get('HTTP_OPENSTACK_SYSTEM_SCOPE'):
            environ['HTTP_X_TENANT_ID'] = project or user
        environ.setdefault('HTTP_X_ROLES', 'admin' if user == 'admin' else '')
        return self.application(environ, start_response)
