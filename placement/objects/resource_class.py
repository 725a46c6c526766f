"""Resource classes, standard and custom ones (contract: http.md 5.2, 5.3, 7; service.md 2.1).

Called by `handlers/resource_classes.py`; `sync_standard` by the start of the service.
"""

import logging
from collections.abc import Sequence
from typing import Any

import os_resource_classes
import sqlalchemy as sa

from placement import errors
from placement.db import dialect, engine, tables
from placement.objects import by_name

LOG = logging.getLogger(__name__)

# Standard classes have the ids below this one: their places in the list of the library.
FIRST_CUSTOM_ID = 10000

_CLASSES = tables.resource_classes.c
_ALL = sa.select(tables.resource_classes).order_by(_CLASSES.id)


def sync_standard() -> None:
    """Insert the standard classes that are missing. A database that has them all need not be writable."""

    def insert_missing(connection: sa.Connection) -> None:
        now = engine.utcnow()
        rows = [{'id': place, 'name': name, 'created_at': now} for place, name in _missing_standard(connection)]
        if rows:
            with dialect.explicit_zero_ids(connection):
                connection.execute(sa.insert(tables.resource_classes), rows)
            LOG.debug('Synced resource_classes from os_resource_classes')

    if engine.read(_missing_standard):
        engine.write(insert_missing)


def _missing_standard(connection: sa.Connection) -> list[tuple[int, str]]:
    """Place and name of each class that the library has and the database has not."""
    present = set(connection.scalars(sa.select(_CLASSES.name)))
    return [(place, name) for place, name in enumerate(os_resource_classes.STANDARDS) if name not in present]


def list_all() -> Sequence[sa.Row[Any]]:
    """The rows of all classes, by id."""
    return engine.read_rows(_ALL)


def get(name: str) -> sa.Row[Any]:
    """The row of a class. Raises errors.ResourceClassNotFound."""
    row = by_name.read(tables.resource_classes, name)
    if row is None:
        raise errors.ResourceClassNotFound(name=name)
    return row


def create(name: str) -> None:
    """Make a custom class. Raises errors.ResourceClassExists."""
    if not ensure(name):
        raise errors.ResourceClassExists(name=name)


def ensure(name: str) -> bool:
    """Make a custom class unless it is there; returns whether it was made."""

    def work(connection: sa.Connection) -> bool:
        # Creators queue on one row that is always there, since each takes the id after the highest.
        connection.execute(sa.select(_CLASSES.id).where(_CLASSES.id == 0).with_for_update())
        if by_name.find(connection, tables.resource_classes, name) is not None:
            return False
        highest = connection.scalar(sa.select(sa.func.max(_CLASSES.id))) or 0
        connection.execute(
            sa.insert(tables.resource_classes).values(
                id=max(highest + 1, FIRST_CUSTOM_ID), name=name, created_at=engine.utcnow()
            )
        )
        return True

    return engine.write(work, exhausted=errors.NameRace)


def rename(name: str, new_name: str) -> sa.Row[Any]:
    """Give a custom class another name (before 1.7); returns its row.

    Raises errors.ResourceClassNotFound, errors.ResourceClassIsStandard, errors.ResourceClassNameTaken.
    """

    def work(connection: sa.Connection) -> sa.Row[Any]:
        row = _get(connection, name, lock=True)
        if row.id < FIRST_CUSTOM_ID:
            raise errors.ResourceClassIsStandard(action='Cannot update', name=name)
        if new_name != name:
            if by_name.find(connection, tables.resource_classes, new_name) is not None:
                raise errors.ResourceClassNameTaken(name=new_name)
            connection.execute(
                sa.update(tables.resource_classes)
                .where(_CLASSES.id == row.id)
                .values(name=new_name, updated_at=engine.utcnow())
            )
        return _get(connection, new_name)

    return engine.write(work, exhausted=errors.NameRace)


def delete(name: str) -> None:
    """Remove a custom class that no provider has inventory of.

    Raises errors.ResourceClassNotFound, errors.ResourceClassIsStandard, errors.ResourceClassInUse.
    """

    def work(connection: sa.Connection) -> None:
        row = _get(connection, name, lock=True)
        if row.id < FIRST_CUSTOM_ID:
            raise errors.ResourceClassIsStandard(action='Error in delete resource class: Cannot delete', name=name)
        in_use = sa.exists().where(tables.inventories.c.resource_class_id == row.id)
        if connection.scalar(sa.select(in_use)):
            raise errors.ResourceClassInUse(name=name)
        connection.execute(sa.delete(tables.resource_classes).where(_CLASSES.id == row.id))

    engine.write(work, exhausted=errors.NameRace)


def _get(connection: sa.Connection, name: str, lock: bool = False) -> sa.Row[Any]:
    row = by_name.find(connection, tables.resource_classes, name, lock)
    if row is None:
        raise errors.ResourceClassNotFound(name=name)
    return row
