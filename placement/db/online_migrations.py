"""Migrations of data that run while the service does, in batches (contract: service.md 1.6).

placement-manage calls them. They mend rows that old releases wrote, and work at every revision of the schema. Each call
is one transaction of a fixed number of statements, changes `count` rows at most, and returns how many; 0 means
that it is done.
"""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg

from placement.db import engine, upsert
from placement.db.tables import allocations, consumers, projects, resource_providers, users

Migration = Callable[[cfg.ConfigOpts, int], int]


def count_without_root() -> int:
    """How many resource providers have no root: the rows of `set_root_provider_ids`."""
    return _count(sa.select(resource_providers.c.id).where(resource_providers.c.root_provider_id.is_(None)))


def count_without_consumer() -> int:
    """How many consumers of allocations have no record: the rows of `create_incomplete_consumers`."""
    return _count(
        sa.select(allocations.c.consumer_id)
        .outerjoin(consumers, consumers.c.uuid == allocations.c.consumer_id)
        .where(consumers.c.id.is_(None))
        .distinct()
    )


def _count(rows: sa.Select[Any]) -> int:
    statement = sa.select(sa.func.count()).select_from(rows.subquery())
    return engine.read(lambda connection: int(connection.scalar(statement) or 0))


def set_root_provider_ids(_conf: cfg.ConfigOpts, count: int) -> int:
    """Give resource providers without a root theirs: that of the parent, or themselves if there is no parent.

    A tree is mended from the top: children whose parent has no root yet are left to the next call.
    """
    parents = resource_providers.alias('parents')
    # The parent may be missing altogether: SQLite does not enforce foreign keys.
    parent_is_ready = sa.or_(parents.c.id.is_(None), parents.c.root_provider_id.isnot(None))
    batch = (
        sa.select(
            resource_providers.c.id,
            sa.func.coalesce(parents.c.root_provider_id, resource_providers.c.id).label('root_provider_id'),
        )
        .outerjoin(parents, resource_providers.c.parent_provider_id == parents.c.id)
        .where(resource_providers.c.root_provider_id.is_(None), parent_is_ready)
        .order_by(resource_providers.c.id)
        .limit(count)
        .subquery('batch')
    )

    def work(connection: sa.Connection) -> int:
        return connection.execute(
            sa.update(resource_providers)
            .where(resource_providers.c.id == batch.c.id)
            .values(root_provider_id=batch.c.root_provider_id, updated_at=engine.utcnow())
        ).rowcount

    return engine.write(work)


def create_incomplete_consumers(conf: cfg.ConfigOpts, count: int) -> int:
    """Give allocations whose consumer has no record one, of the project and user that [placement] names for them."""
    project = conf.placement.incomplete_consumer_project_id
    user = conf.placement.incomplete_consumer_user_id

    def work(connection: sa.Connection) -> int:
        now = engine.utcnow()
        upsert.insert_absent(connection, projects, [{'external_id': project, 'created_at': now}])
        upsert.insert_absent(connection, users, [{'external_id': user, 'created_at': now}])
        missing = (
            sa.select(
                allocations.c.consumer_id,
                sa.select(projects.c.id).where(projects.c.external_id == project).scalar_subquery(),
                sa.select(users.c.id).where(users.c.external_id == user).scalar_subquery(),
                sa.literal(0),
                sa.literal(now, sa.DateTime),
            )
            .outerjoin(consumers, consumers.c.uuid == allocations.c.consumer_id)
            .where(consumers.c.id.is_(None))
            .distinct()
            .limit(count)
        )
        names = ['uuid', 'project_id', 'user_id', 'generation', 'created_at']
        return connection.execute(sa.insert(consumers).from_select(names, missing)).rowcount

    return engine.write(work)


# In the order in which they run.
MIGRATIONS: tuple[Migration, ...] = (set_root_provider_ids, create_incomplete_consumers)
