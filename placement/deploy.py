"""Building the application from a configuration (contract: service.md 4.3; names that other projects import)."""

from typing import Any

from oslo_config import cfg

from placement import app, policy
from placement.db import engine, migration
from placement.objects import resource_class, trait
from placement.requestlog import WSGIApp


def update_database(conf: cfg.ConfigOpts) -> None:
    """Bring the database up to date: migrations if `[placement_database] sync_on_startup` says so, then standard
    traits and classes.

    Raises errors.DatabaseUnavailable.
    """
    if conf.placement_database.sync_on_startup:
        migration.upgrade('head')
    engine.write(trait.sync_standard)
    engine.write(resource_class.sync_standard)


def deploy(conf: cfg.ConfigOpts) -> WSGIApp:
    """The whole pipeline over a configured engine."""
    policy.init(conf)
    return app.load(conf, lambda: update_database(conf))


def loadapp(conf: cfg.ConfigOpts, project_name: Any = None) -> WSGIApp:
    """The WSGI application of a configuration; `project_name` is accepted for compatibility and means nothing."""
    engine.configure(conf)
    return deploy(conf)
