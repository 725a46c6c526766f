"""A database of the service for the tests of other projects."""

import fixtures
from oslo_config import fixture as config_fixture

from placement import deploy
from placement.conf import database
from placement.db import engine, migration


class Database(fixtures.Fixture):
    """An empty database at head with the standard traits and classes; the engine of the process points to it.

    `conf_fixture` says which; with `set_config` it is one in memory if nothing is said.
    """

    def __init__(self, conf_fixture: config_fixture.Config, set_config: bool = False) -> None:
        super().__init__()
        self.conf_fixture = conf_fixture
        self.set_config = set_config

    def setUp(self) -> None:
        """Make it."""
        super().setUp()
        conf = self.conf_fixture.conf
        if self.set_config:
            conf.register_opts(database.OPTS, group=database.GROUP)
            if conf.placement_database.connection is None:
                self.conf_fixture.config(connection='sqlite://', group='placement_database')
        manager = engine.context_manager
        self.addCleanup(manager.patch_factory(manager.make_new_manager()))
        engine.configure(conf)
        self.addCleanup(manager.dispose_pool)
        migration.create_schema()
        deploy.update_database(conf)
