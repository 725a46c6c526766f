"""Start-up of the service under a WSGI server (contract: service.md 4.3)."""

import logging as py_logging
import sys
import traceback

from oslo_config import cfg
from oslo_log import log as logging

from placement import config, deploy, errors
from placement.conf import libraries
from placement.requestlog import WSGIApp

LOG_FILE = 'placement-api.log'

# What oslo.log raises for a value that it cannot use, and which option has it.
_LOGGING_FAULTS: dict[type[Exception], str] = {
    logging.LogConfigError: 'log_config_append',
    ImportError: 'publish_errors',
    RuntimeError: 'use_journal',
    TypeError: 'syslog_log_facility',
    ValueError: 'default_log_levels',
}


def init_application() -> WSGIApp:
    """Read the configuration, set up logging and build the application.

    Raises config.ConfigError, and errors.PlacementError if the database is there but not usable.
    """
    try:
        return _init_application()
    except (config.ConfigError, errors.PlacementError) as exc:
        # The server prints what the import of the application raises. The sentence alone says what to mend; the
        # frames of server and importer would bury it.
        sys.tracebacklimit = 0
        raise exc from None


def _init_application() -> WSGIApp:
    libraries.set_service_defaults()
    conf = config.load(cfg.ConfigOpts())
    _name_log_file(conf)
    _set_up_logging(conf)
    py_logging.captureWarnings(True)
    application = deploy.loadapp(conf)
    if conf.log_options:
        conf.log_opt_values(logging.getLogger(__name__), py_logging.DEBUG)
    return application


def _set_up_logging(conf: cfg.ConfigOpts) -> None:
    """As [DEFAULT] says. Raises config.ConfigError, which names the option that oslo.log cannot use."""
    try:
        logging.setup(conf, 'placement')
    except OSError as exc:
        raise config.ConfigError(
            f'[DEFAULT] log_file, log_dir: {exc.filename} cannot be written: {exc.strerror}.'
        ) from exc
    except tuple(_LOGGING_FAULTS) as exc:
        option = next(option for fault, option in _LOGGING_FAULTS.items() if isinstance(exc, fault))
        raise config.ConfigError(f'[DEFAULT] {option} cannot be used: {" ".join(str(exc).split())}.') from exc


def _name_log_file(conf: cfg.ConfigOpts) -> None:
    """Where there is only a directory, oslo.log names the file after the outermost program. uWSGI has none: the
    outermost frame is the importer's (decision G12)."""
    if conf.log_dir and not conf.log_file:
        *_, (outermost, _) = traceback.walk_stack(None)
        if outermost.f_code.co_filename.startswith('<'):
            conf.set_default('log_file', LOG_FILE)
