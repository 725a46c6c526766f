"""Names under which other projects reach the database engine (contract: service.md 7.5)."""

from oslo_context import context
from oslo_db.sqlalchemy import enginefacade

from placement.db.engine import configure
from placement.db.engine import context_manager as placement_context_manager
from placement.db.engine import get_engine as get_placement_engine

__all__ = ['DbContext', 'configure', 'get_placement_engine', 'placement_context_manager']


@enginefacade.transaction_context_provider
class DbContext(context.RequestContext):
    """A context on which oslo.db can open transactions."""
