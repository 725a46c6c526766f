"""The service inside the caller's process, without socket and Keystone, for tools and tests of other projects.

Contract: service.md 7.4. Needs the packages of the extra `testing`.

    with direct.PlacementDirect(conf) as client:
        client.get('/resource_providers', microversion='1.39').json()
"""

import uuid
from types import TracebackType
from typing import Any
from unittest import mock

from keystoneauth1 import adapter, session, token_endpoint
from oslo_config import cfg
from wsgi_intercept import interceptor

from placement import deploy


class PlacementDirect:
    """A context manager; entering it starts the service and gives a keystoneauth1 Adapter that talks to it as `admin`.

    `conf` has the options of placement, is parsed, and its database is configured (`placement.db_api.configure`); its
    `[api] auth_strategy` is overridden for good. Calls without a microversion use 1.0, or with `latest_microversion`
    the newest. While it is open, each keystoneauth1 session of the process finds this service whatever it looks for.
    """

    def __init__(self, conf: cfg.ConfigOpts, latest_microversion: bool = False) -> None:
        conf.set_override('auth_strategy', 'noauth2', group='api')
        self._url = f'http://{uuid.uuid4()}/placement'
        self._conf = conf
        self._microversion = 'latest' if latest_microversion else None
        self._endpoint: Any = mock.patch.object(session.Session, 'get_endpoint', lambda *_args, **_kwargs: self._url)

    def __enter__(self) -> adapter.Adapter:
        application = deploy.deploy(self._conf)
        self._interceptor = interceptor.RequestsInterceptor(lambda: application, url=self._url)
        self._interceptor.__enter__()
        self._endpoint.start()
        return adapter.Adapter(
            session.Session(auth=token_endpoint.Token(self._url, 'admin')),
            service_type='placement',
            raise_exc=False,
            default_microversion=self._microversion,
        )

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._endpoint.stop()
        self._interceptor.__exit__(exc_type, exc, traceback)
