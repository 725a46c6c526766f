"""Start-up of the service under a WSGI server (contract: service.md 4.3)."""

import logging as py_logging

from oslo_config import cfg
from oslo_log import log as logging

from placement import config, deploy
from placement.conf import libraries
from placement.requestlog import WSGIApp


def init_application() -> WSGIApp:
    """Read the configuration, set up logging and build the application.

    Raises config.ConfigError, and errors.PlacementError if the database is there but not usable.
    """
    libraries.set_service_defaults()
    conf = config.load(cfg.ConfigOpts())
    logging.setup(conf, 'placement')
    py_logging.captureWarnings(True)
    application = deploy.loadapp(conf)
    if conf.log_options:
        conf.log_opt_values(logging.getLogger(__name__), py_logging.DEBUG)
    return application
