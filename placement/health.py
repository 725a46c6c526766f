"""GET /healthcheck for load balancers: oslo.middleware's, with a check of the database (`[api] healthcheck`).

It stands before authentication, the request log and the versioned API, which know nothing of it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from oslo_db import exception as db_exc
from oslo_middleware import healthcheck
from oslo_middleware.healthcheck import opts, pluginbase

from placement import config, errors
from placement.db import engine, tables
from placement.requestlog import Environ, WSGIApp

PATH = '/healthcheck'
# The name of the entry point of `DatabaseCheck`.
BACKEND = 'placement_database'
# What a read raises when the database cannot be read.
UNREADABLE = (errors.PlacementError, db_exc.DBError, sa.exc.SQLAlchemyError)


class Healthcheck:
    """WSGI middleware that answers at `PATH`, and passes everything else on. Raises config.ConfigError."""

    def __init__(self, application: WSGIApp, conf: cfg.ConfigOpts) -> None:
        self.application = application
        conf.register_opts(opts.HEALTHCHECK_OPTS, group='healthcheck')
        conf.set_default('backends', [BACKEND], group='healthcheck')
        # It passes on what `[healthcheck] allowed_source_ranges` does not allow.
        try:
            self.healthcheck: WSGIApp = healthcheck.Healthcheck(application, conf)
        except (ValueError, cfg.Error) as exc:
            raise config.ConfigError(f'[healthcheck] cannot be used: {exc}.') from exc

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer, or pass the request on."""
        application = self.healthcheck if environ.get('PATH_INFO') == PATH else self.application
        return application(environ, start_response)


class DatabaseCheck(pluginbase.HealthcheckBaseExtension):
    """Whether a query reaches the database and its tables are there."""

    def healthcheck(self, server_port: int) -> pluginbase.HealthcheckResult:
        """Look for a provider, any."""
        statement = sa.select(tables.resource_providers.c.id).limit(1)
        try:
            engine.read(lambda connection: connection.scalar(statement))
        except UNREADABLE:
            return pluginbase.HealthcheckResult(available=False, reason='The database cannot be read')
        return pluginbase.HealthcheckResult(available=True, reason='OK')
