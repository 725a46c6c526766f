"""Traces and profiles of requests, off unless they are asked for (contract: service.md 3.8, 5.1). `app.load` puts both
into the pipeline.

The packages are the operator's to install: osprofiler for `[profiler] enabled`, werkzeug for `OS_WSGI_PROFILER`.
"""

import importlib
import os
import socket

import sqlalchemy as sa
from oslo_config import cfg

from placement import config
from placement.db import engine
from placement.requestlog import WSGIApp

# The directory for the profiles, one file for each request.
DIRECTORY = 'OS_WSGI_PROFILER'


def traced(application: WSGIApp, conf: cfg.ConfigOpts) -> WSGIApp:
    """With osprofiler, which traces the requests that are signed with one of `[profiler] hmac_keys`, and, with
    `trace_sqlalchemy`, their statements. A collector that cannot be used is logged, and nothing is traced.
    """
    if 'profiler' not in conf or not conf.profiler.enabled:
        return application
    importlib.import_module('osprofiler.initializer').init_from_conf(
        conf=conf, context={}, project='placement', service='placement', host=socket.gethostname()
    )
    if conf.profiler.trace_sqlalchemy:
        importlib.import_module('osprofiler.sqlalchemy').add_tracing(sa, engine.get_engine(), 'db')
    return importlib.import_module('osprofiler.web').WsgiMiddleware(application)


def profiled(application: WSGIApp) -> WSGIApp:
    """With a profile of each request in the directory that the environment names, if it does.

    Raises config.ConfigError: werkzeug is missing, or there is no such directory.
    """
    directory = os.environ.get(DIRECTORY)
    if not directory:
        return application
    if not os.path.isdir(directory):
        raise config.ConfigError(f'{DIRECTORY} names no directory: {directory}.')
    try:
        profiler = importlib.import_module('werkzeug.middleware.profiler')
    except ImportError as exc:
        raise config.ConfigError(config.uninstalled(DIRECTORY, 'werkzeug')) from exc
    return profiler.ProfilerMiddleware(application, stream=None, profile_dir=directory)
