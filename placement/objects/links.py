"""The rows that link a provider to its traits and to its aggregates. Called by `trait` and `aggregate`, which check the
generation of the provider first and increment it afterwards.
"""

from typing import Any

import sqlalchemy as sa

from placement.db import engine
from placement.objects.resource_provider import Provider


def replace(
    connection: sa.Connection, table: sa.Table, member: sa.Column[Any], provider: Provider, wanted: set[int]
) -> bool:
    """Link a locked provider to exactly these members; returns whether that changed anything.

    `member` is the column of the link table that holds the id of the trait or aggregate.
    """
    is_link = table.c.resource_provider_id == provider.id
    has = set(connection.scalars(sa.select(member).where(is_link)))
    if gone := has - wanted:
        connection.execute(sa.delete(table).where(is_link, member.in_(gone)))
    if new := wanted - has:
        now = engine.utcnow()
        rows = [{'resource_provider_id': provider.id, member.name: key, 'created_at': now} for key in sorted(new)]
        connection.execute(sa.insert(table), rows)
    return has != wanted
