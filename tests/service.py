"""The service in this process: its configuration and its application on a database. Used by conftest.py."""

import contextlib
from collections.abc import Iterator

from oslo_config import cfg

import placement.conf
from placement import deploy
from placement.db import engine, migration


def configuration(url: str) -> cfg.ConfigOpts:
    """The options of a service on the database `url`: noauth2, no files, everything else by default."""
    conf = cfg.ConfigOpts()
    placement.conf.register_opts(conf)
    # First: a configuration without a database is refused.
    conf.set_override('connection', url, group='placement_database')
    conf([], project='placement', default_config_files=[], default_config_dirs=[])
    conf.set_override('auth_strategy', 'noauth2', group='api')
    return conf


@contextlib.contextmanager
def engine_on(conf: cfg.ConfigOpts) -> Iterator[None]:
    """The engine of this process points at the database of `conf` while the block runs."""
    manager = engine.context_manager
    restore = manager.patch_factory(manager.make_new_manager())
    try:
        engine.configure(conf)
        yield
    finally:
        manager.dispose_pool()
        restore()


def create_schema(url: str) -> None:
    """All tables at head, empty, made by the migrations."""
    with engine_on(configuration(url)):
        migration.upgrade()


@contextlib.contextmanager
def application(conf: cfg.ConfigOpts) -> Iterator[object]:
    """The WSGI application on the database of `conf`, as it is after a start of the service."""
    with engine_on(conf):
        yield deploy.loadapp(conf)
