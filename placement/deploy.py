"""Building the application from a configuration (contract: service.md 4.3; names that other projects import)."""

import logging
from typing import Any

from alembic.util import CommandError
from oslo_config import cfg

from placement import app, errors, policy
from placement.db import engine, migration
from placement.objects import resource_class, trait
from placement.requestlog import WSGIApp

LOG = logging.getLogger(__name__)


def update_database(conf: cfg.ConfigOpts) -> None:
    """Bring the database up to date: migrations if `[placement_database] sync_on_startup` says so, then standard
    traits and classes.

    Raises errors.DatabaseUnavailable, errors.SchemaUnusable.
    """
    with engine.translated():
        if conf.placement_database.sync_on_startup:
            _migrate()
        else:
            _warn_of_other_revision()
    trait.sync_standard()
    resource_class.sync_standard()
    engine.close_idle()


def _migrate() -> None:
    try:
        migration.upgrade('head')
    except (migration.MigrationError, CommandError) as exc:
        raise errors.SchemaUnusable(reason=str(exc)) from exc


def _warn_of_other_revision() -> None:
    """Not refused: the reference starts on any schema too, and an operator may be about to migrate."""
    recorded, head = migration.version(), migration.head()
    if recorded is not None and recorded != head:
        LOG.warning(
            'The schema of the database is at revision %s, but this release is made for %s: requests may fail. '
            'If it is an older one, run "placement-manage db sync".',
            recorded,
            head,
        )


def deploy(conf: cfg.ConfigOpts) -> WSGIApp:
    """The whole pipeline over a configured engine."""
    policy.init(conf)
    return app.load(conf, lambda: update_database(conf))


def loadapp(conf: cfg.ConfigOpts, project_name: Any = None) -> WSGIApp:
    """The WSGI application of a configuration; `project_name` is accepted for compatibility and means nothing."""
    engine.configure(conf)
    return deploy(conf)
