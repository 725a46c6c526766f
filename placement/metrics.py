"""What the service tells about itself, for Prometheus (`[metrics]`, off by default).

Code that has something to tell calls a function of this module. Somebody listens only if `start`, which `app.load`
calls, has found that the options want it; else these functions do nothing, and `placement.prometheus`, which needs the
package prometheus-client, is not even imported.
"""

import importlib
import os
from typing import Any, Protocol

import sqlalchemy as sa
from oslo_config import cfg

from placement import config

# Where prometheus-client looks, when it is imported, for the directory in which processes share their numbers.
DIRECTORY = 'PROMETHEUS_MULTIPROC_DIR'


class Meter(Protocol):
    """Who listens (`placement.prometheus.Meter`)."""

    def measured(self, application: Any) -> Any:
        """See `measured`."""

    def watch(self, engine: sa.Engine) -> None:
        """See `watch`."""

    def retried(self, cause: Exception) -> None:
        """See `retried`."""

    def searched(self, candidates: int, steps: int) -> None:
        """See `searched`."""


_meter: Meter | None = None


def start(conf: cfg.ConfigOpts) -> None:
    """Listen from now on, or no longer, as `[metrics] enabled` says; before the engine of the database is made.

    Raises config.ConfigError: the package is missing, or an option is wrong.
    """
    global _meter
    _meter = None
    if not conf.metrics.enabled:
        return
    directory = conf.metrics.multiprocess_dir or os.environ.pop(DIRECTORY, None)
    if directory:
        os.environ[DIRECTORY] = directory
        try:
            os.makedirs(directory, exist_ok=True)
        except OSError as exc:
            raise config.ConfigError(f'[metrics] multiprocess_dir {directory} cannot be made: {exc.strerror}.') from exc
    try:
        # Not at the top: it is an extra, and reads its environment when it is imported.
        prometheus = importlib.import_module('placement.prometheus')
    except ImportError as exc:
        if exc.name != 'prometheus_client':
            raise
        raise config.ConfigError(config.uninstalled('[metrics] enabled', 'prometheus-client')) from exc
    _meter = prometheus.Meter(conf)


def measured(application: Any) -> Any:
    """The WSGI application, with its requests counted and the numbers told at /metrics."""
    return application if _meter is None else _meter.measured(application)


def watch(engine: sa.Engine) -> None:
    """Count the connections of the engine that are in use."""
    if _meter is not None:
        _meter.watch(engine)


def retried(cause: Exception) -> None:
    """A transaction is tried again, because of this exception."""
    if _meter is not None:
        _meter.retried(cause)


def searched(candidates: int, steps: int) -> None:
    """A search has found so many candidates, in so many steps."""
    if _meter is not None:
        _meter.searched(candidates, steps)
