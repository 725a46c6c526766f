"""Names under which other projects reach the database engine (contract: service.md 7.5)."""

from oslo_config import cfg
from oslo_context import context
from oslo_db.sqlalchemy import enginefacade

from placement.db import engine
from placement.db.engine import context_manager as placement_context_manager
from placement.db.engine import get_engine as get_placement_engine

__all__ = ['DbContext', 'configure', 'get_placement_engine', 'placement_context_manager']


class _Configure:
    """`configure(conf)`, which has a method of its own."""

    def __call__(self, conf: cfg.ConfigOpts) -> None:
        """Point the engine at `[placement_database]` of `conf`, unless it is in use already."""
        engine.configure(conf)

    def reset(self) -> None:
        """Let the next call count. It does anyway, as soon as a new manager is patched in."""


configure = _Configure()


@enginefacade.transaction_context_provider
class DbContext(context.RequestContext):
    """A context on which oslo.db can open transactions."""
