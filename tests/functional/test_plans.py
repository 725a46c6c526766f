"""What every claim asks reads the rows of its providers and no more, even while MariaDB's statistics tell nothing of
the truth: those of a young table, or of one just restored."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from placement.db import tables
from placement.objects import fit, inventory, resource_provider, usage
from tests import databases
from tests.case_loader import INVENTORY_DEFAULTS, Provider, World, build_sql

HOSTS, SERVERS = 20, 50


def uuid_of(number: int) -> str:
    return f'{number:08x}-0000-4000-8000-000000000000'


@pytest.fixture
def misled(database: databases.Database) -> Iterator[databases.Database]:
    """A thousand allocations of one class, while the statistics say that each is of a class of its own, and all are of
    one provider."""
    plenty = {**INVENTORY_DEFAULTS, 'total': 1000}
    hosts = [Provider(uuid_of(number), f'host{number}', inventories={'VCPU': plenty}) for number in range(HOSTS)]
    held = [(uuid_of(1000 + number), {hosts[number % HOSTS].uuid: {'VCPU': 1}}) for number in range(HOSTS * SERVERS)]
    with database.engine.begin() as connection:
        build_sql(connection, World(tuple(hosts), tuple(held)))
    database.execute('ALTER TABLE allocations STATS_AUTO_RECALC = 0')
    lie = (
        'UPDATE mysql.innodb_index_stats SET stat_value = :value '
        "WHERE database_name = DATABASE() AND table_name = 'allocations' AND index_name = :name"
    )
    database.execute(lie, value=HOSTS * SERVERS, name='allocations_resource_class_id_idx')
    database.execute(lie, value=1, name=tables.ALLOCATIONS_BY_PROVIDER)
    database.execute('FLUSH TABLES allocations')
    yield database
    database.execute('ALTER TABLE allocations STATS_AUTO_RECALC = DEFAULT')
    database.execute('ANALYZE TABLE allocations')


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize(
    'read',
    [
        lambda connection, provider: fit.read_stocks(connection, [provider]),
        lambda connection, provider: inventory._rows_with_usage(connection, [provider]),
        lambda connection, _: connection.execute(usage._OF_PROVIDER, {'of': uuid_of(3)}).all(),
    ],
    ids=['claim', 'inventories', 'usages'],
)
def test_usage_of_one_provider(misled: databases.Database, read: Callable[[sa.Connection, Any], object]) -> None:
    with misled.engine.connect() as connection:
        provider = resource_provider.lock_one(connection, uuid_of(3))
        before = _rows_read(connection)
        read(connection, provider)
        assert SERVERS <= _rows_read(connection) - before <= SERVERS + 10


def _rows_read(connection: sa.Connection) -> int:
    """How often this connection has gone on to the next row of an index or a table so far."""
    status = connection.execute(sa.text("SHOW SESSION STATUS LIKE 'Handler_read_%'"))
    return sum(int(value) for name, value in status if name in ('Handler_read_next', 'Handler_read_rnd_next'))
