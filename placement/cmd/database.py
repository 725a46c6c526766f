"""The database as placement-manage and placement-status see it: they wait for one that is still starting."""

import itertools
import logging
import time

from oslo_config import cfg
from oslo_db import exception as db_exc

from placement.db import engine, migration, revision

LOG = logging.getLogger(__name__)


def connect(conf: cfg.ConfigOpts) -> None:
    """Configure the engine and wait until the database answers, as max_retries and retry_interval say.

    Raises oslo_db's DBConnectionError when the attempts are used up, any other error at once.
    """
    engine.configure(conf)
    retries = conf.placement_database.max_retries
    for attempt in itertools.count(1) if retries else ():
        try:
            engine.get_engine().connect().close()
            return
        except db_exc.DBConnectionError:
            if attempt > retries >= 0:
                raise
            left = 'Unlimited' if retries < 0 else retries - attempt + 1
            LOG.warning('SQL connection failed. %s attempts left.', left)
            time.sleep(conf.placement_database.retry_interval)


def connect_to_head(conf: cfg.ConfigOpts) -> None:
    """Configure the engine for a look into a database that is up and at the newest revision.

    Raises oslo_db's DBConnectionError at once, MigrationError.
    """
    engine.configure(conf)
    found, wanted = migration.version(), revision.HEAD
    if found != wanted:
        raise migration.MigrationError(
            f'The schema of the database is at revision {found}, this release works with {wanted}: '
            'run "placement-manage db sync".'
        )
