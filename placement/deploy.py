"""Building the application from a configuration (contract: service.md 4.3; names that other projects import)."""

import importlib
import logging
from typing import Any

from oslo_config import cfg

from placement import app, errors, policy
from placement.db import engine, revision
from placement.objects import resource_class, trait
from placement.requestlog import WSGIApp

LOG = logging.getLogger(__name__)


def update_database(conf: cfg.ConfigOpts) -> None:
    """Bring the database up to date: migrations if `[placement_database] sync_on_startup` says so, then standard
    traits and classes.

    Raises errors.DatabaseUnavailable, errors.SchemaUnusable.
    """
    with engine.translated():
        recorded = revision.recorded()
        if recorded != revision.HEAD and conf.placement_database.sync_on_startup:
            _migrate()
        elif recorded not in (None, revision.HEAD):
            # Not refused: the reference starts on any schema too, and an operator may be about to migrate.
            LOG.warning(
                'The schema of the database is at revision %s, but this release is made for %s: requests may fail. '
                'If it is an older one, run "placement-manage db sync".',
                recorded,
                revision.HEAD,
            )
    trait.sync_standard()
    resource_class.sync_standard()
    engine.close_idle()


def _migrate() -> None:
    # PERF: alembic takes 0.1 s to import, and most starts find nothing to do for it.
    migration = importlib.import_module('placement.db.migration')
    try:
        migration.upgrade('head')
    except (migration.MigrationError, importlib.import_module('alembic.util').CommandError) as exc:
        raise errors.SchemaUnusable(reason=str(exc)) from exc


def deploy(conf: cfg.ConfigOpts) -> WSGIApp:
    """The whole pipeline over a configured engine."""
    policy.init(conf)
    return app.load(conf, lambda: update_database(conf))


def loadapp(conf: cfg.ConfigOpts, project_name: Any = None) -> WSGIApp:
    """The WSGI application of a configuration; `project_name` is accepted for compatibility and means nothing."""
    engine.configure(conf)
    return deploy(conf)
