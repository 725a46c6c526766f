"""The topology kept between requests is exactly what the database has, whoever changed it, and however (issue of speed:
never stale). Each test asks, changes something behind the service's back, and asks again with the same mirror: the
answer is that of a new mirror, and it is another one than before."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from placement import errors, solver
from placement.db import tables
from tests import databases, service
from tests.case_loader import Provider, World, build_sql
from tests.statements import counted

INVENTORY = {
    'total': 8,
    'reserved': 0,
    'min_unit': 1,
    'max_unit': 8,
    'step_size': 1,
    'allocation_ratio': 1.0,
}
SHARING = 'MISC_SHARES_VIA_AGGREGATE'
AGGREGATE = 'a0000000-0000-4000-8000-000000000001'
QUERY = [('resources', 'VCPU:2,DISK_GB:2')]


def uuid_of(number: int) -> str:
    return f'{number:08x}-0000-4000-8000-000000000000'


def cloud(sharing: bool = True) -> World:
    """600 hosts in several blocks of ids, some with a child; one sharing provider, or disks in the hosts."""
    classes = ('VCPU', 'MEMORY_MB') if sharing else ('VCPU', 'MEMORY_MB', 'DISK_GB')
    hosts = [
        Provider(
            uuid=uuid_of(number),
            name=f'host{number}',
            inventories=dict.fromkeys(classes, INVENTORY),
            traits=frozenset({'HW_CPU_X86_AVX2'} if number % 2 else {'HW_CPU_X86_AVX2', 'CUSTOM_GOLD'}),
            aggregates=frozenset({AGGREGATE} if number % 3 else ()),
        )
        for number in range(1, 600)
    ]
    children = [
        Provider(
            uuid=uuid_of(1000 + number), name=f'child{number}', parent=uuid_of(number), inventories={'VGPU': INVENTORY}
        )
        for number in range(1, 20)
    ]
    storage = Provider(
        uuid=uuid_of(5000),
        name='storage',
        inventories={'DISK_GB': {**INVENTORY, 'total': 1000, 'max_unit': 1000}},
        traits=frozenset({SHARING}),
        aggregates=frozenset({AGGREGATE}),
    )
    return World((*hosts, *children, *([storage] if sharing else [])))


@pytest.fixture
def filled(database: databases.Database) -> databases.Database:
    with database.engine.begin() as connection:
        build_sql(connection, cloud())
    return database


@pytest.fixture
def local(database: databases.Database) -> databases.Database:
    """Without a sharing provider."""
    with database.engine.begin() as connection:
        build_sql(connection, cloud(sharing=False))
    return database


def ask(database: databases.Database, mirror: solver.Mirror | None, query: list[tuple[str, str]]) -> bytes:
    with database.engine.connect() as connection:
        if database.dialect == 'sqlite':  # whose driver begins no transaction by itself
            connection.exec_driver_sql('BEGIN')
        wanted = solver.query.parse(query, (1, 39))
        return b''.join(solver.render.body(solver.candidates(connection, wanted, mirror=mirror)))


def sql(*statements: str) -> Callable[[sa.Connection], Any]:
    def change(connection: sa.Connection) -> None:
        for statement in statements:
            connection.execute(sa.text(statement))

    return change


def swap_totals(connection: sa.Connection) -> None:
    """The same change in two rows of one block, in opposite directions: sums stay what they were."""
    table = tables.inventories
    for provider, total in ((7, 1), (9, 15)):
        connection.execute(
            sa.update(table)
            .where(table.c.resource_provider_id == provider, table.c.total == 8)
            .values(total=total, max_unit=total)
        )


CLASS = '(SELECT id FROM resource_classes WHERE name = {!r})'.format
TRAIT = '(SELECT id FROM traits WHERE name = {!r})'.format
NO_GOLD = sql(
    f'DELETE FROM resource_provider_traits WHERE resource_provider_id = 100 AND trait_id = {TRAIT("CUSTOM_GOLD")}'
)
CHANGES = {
    'inventory total': (QUERY, sql('UPDATE inventories SET total = 1 WHERE resource_provider_id = 7')),
    'the same in two rows': (QUERY, sql('UPDATE inventories SET total = 1 WHERE resource_provider_id IN (7, 8)')),
    'opposite changes': (QUERY, swap_totals),
    'ratio everywhere': (QUERY, sql('UPDATE inventories SET allocation_ratio = 0.1')),
    'inventory moved': (QUERY, sql('UPDATE inventories SET resource_provider_id = 605 WHERE resource_provider_id = 7')),
    'inventory deleted': (QUERY, sql('DELETE FROM inventories WHERE resource_provider_id = 301')),
    'class of inventory': (
        QUERY,
        sql(f'UPDATE inventories SET resource_class_id = {CLASS("DISK_GB")} WHERE resource_provider_id = 602'),
    ),
    'provider deleted': (
        QUERY,
        sql(
            'DELETE FROM inventories WHERE resource_provider_id = 400',
            'DELETE FROM resource_provider_traits WHERE resource_provider_id = 400',
            'DELETE FROM resource_provider_aggregates WHERE resource_provider_id = 400',
            'UPDATE resource_providers SET root_provider_id = 1 WHERE id = 400',
            'DELETE FROM resource_providers WHERE id = 400',
        ),
    ),
    'uuid': (QUERY, sql(f"UPDATE resource_providers SET uuid = '{uuid_of(4444)}' WHERE id = 5")),
    'two uuids swapped': (
        [('resources', 'VGPU:1')],
        sql(
            "UPDATE resource_providers SET uuid = 'x' WHERE id = 1",
            f"UPDATE resource_providers SET uuid = '{uuid_of(1)}' WHERE id = 2",
            f"UPDATE resource_providers SET uuid = '{uuid_of(2)}' WHERE id = 1",
        ),
    ),
    'moved below another parent': (
        [('resources', 'VCPU:2,VGPU:1')],
        sql('UPDATE resource_providers SET parent_provider_id = 50, root_provider_id = 50 WHERE id = 601'),
    ),
    'made a root': (
        [('resources', 'VCPU:2,VGPU:1')],
        sql('UPDATE resource_providers SET parent_provider_id = NULL, root_provider_id = id WHERE id = 601'),
    ),
    'trait': (
        [*QUERY, ('required', 'CUSTOM_GOLD')],
        NO_GOLD,
    ),
    'trait that nobody asks for': (
        [('resources', 'VCPU:8')],
        NO_GOLD,
    ),
    'trait renamed': (
        [('resources', 'VCPU:8')],
        sql("UPDATE traits SET name = 'CUSTOM_SILVER' WHERE name = 'CUSTOM_GOLD'"),
    ),
    'no sharing any more': (QUERY, sql(f'DELETE FROM resource_provider_traits WHERE trait_id = {TRAIT(SHARING)}')),
    'aggregate left': (QUERY, sql('DELETE FROM resource_provider_aggregates WHERE resource_provider_id = 10')),
    'aggregate renamed': (
        [('resources', 'VCPU:2'), ('member_of', AGGREGATE)],
        sql(f"UPDATE placement_aggregates SET uuid = '{uuid_of(6)}' WHERE uuid = '{AGGREGATE}'"),
    ),
    'usage': (
        QUERY,
        sql(
            'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) '
            f"VALUES (11, '{uuid_of(77)}', {CLASS('VCPU')}, 8)"
        ),
    ),
}


@pytest.mark.parametrize('name', CHANGES)
def test_a_change_is_seen(filled: databases.Database, name: str) -> None:
    query, change = CHANGES[name]
    mirror = solver.Mirror()
    before = ask(filled, mirror, query)
    assert before == ask(filled, None, query)
    with filled.engine.begin() as connection:
        change(connection)
    after = ask(filled, mirror, query)
    assert after == ask(filled, None, query)
    assert after != before


@pytest.mark.parametrize('name', CHANGES)
def test_a_change_is_seen_by_those_who_want_few(local: databases.Database, name: str) -> None:
    """Of them only the inventories of the first providers are compared."""
    query, change = CHANGES[name]
    queries = [[*query, ('limit', str(limit))] for limit in (1, 5, 38)]
    mirror = solver.Mirror()
    ask(local, mirror, query)
    with local.engine.begin() as connection:
        change(connection)
    # Twice: the first may have read all that has changed.
    for few in [*queries, *queries]:
        assert ask(local, mirror, few) == ask(local, None, few)


FEW = [('resources', 'VCPU:2,DISK_GB:2'), ('limit', '3')]
INVENTORIES_READ = 'inventories.total'


@pytest.mark.parametrize(
    ('change', 'differs'),
    [
        ('UPDATE inventories SET total = 1 WHERE resource_provider_id = 2', True),
        ('DELETE FROM inventories WHERE resource_provider_id = 2', True),
        ('UPDATE inventories SET total = 1 WHERE resource_provider_id = 300', False),
    ],
)
def test_what_lies_behind_is_not_looked_at(local: databases.Database, change: str, differs: bool) -> None:
    mirror = solver.Mirror()
    before = ask(local, mirror, FEW)
    local.execute(change)
    with counted() as statements:
        after = ask(local, mirror, FEW)
    assert after == ask(local, None, FEW)
    assert (after != before) == differs
    # The sums; and if one of the first hosts is not what it was, the sums again, those of blocks, and the block.
    texts = [text for text in statements.starting_with('SELECT') if INVENTORIES_READ in text]
    assert len(texts) == (4 if differs else 1), statements


def test_a_host_that_can_serve_now_comes_first(local: databases.Database) -> None:
    """It was passed over because of what was known of it."""
    local.execute('UPDATE inventories SET total = 1 WHERE resource_provider_id IN (1, 2)')
    mirror = solver.Mirror()
    before = ask(local, mirror, FEW)
    local.execute('UPDATE inventories SET total = 8 WHERE resource_provider_id = 1')
    after = ask(local, mirror, FEW)
    assert after == ask(local, None, FEW)
    assert uuid_of(1).encode() in after
    assert uuid_of(1).encode() not in before


def test_few_where_there_are_none(local: databases.Database) -> None:
    """Nothing is concluded about all hosts from what was known."""
    mirror = solver.Mirror()
    query = [('resources', 'VCPU:9'), ('limit', '3')]
    nothing = b'{"allocation_requests":[],"provider_summaries":{}}'
    assert [ask(local, mirror, query) for _ in range(2)] == [nothing] * 2
    local.execute('UPDATE inventories SET total = 9, max_unit = 9 WHERE resource_provider_id = 599')
    after = ask(local, mirror, query)
    assert uuid_of(599).encode() in after
    assert after == ask(local, None, query)


def test_classes_come_and_go(filled: databases.Database) -> None:
    mirror = solver.Mirror()
    query = [('resources', 'CUSTOM_LATE:1')]
    with pytest.raises(errors.ResourcesClassUnknown):
        ask(filled, mirror, query)
    filled.execute("INSERT INTO resource_classes (name) VALUES ('CUSTOM_LATE')")
    assert ask(filled, mirror, query) == b'{"allocation_requests":[],"provider_summaries":{}}'
    filled.execute("UPDATE resource_classes SET name = 'CUSTOM_LATER' WHERE name = 'CUSTOM_LATE'")
    with pytest.raises(errors.ResourcesClassUnknown):
        ask(filled, mirror, query)


def test_traits_that_are_gone_are_not_shown(filled: databases.Database) -> None:
    """There are databases with links to them, made without foreign keys."""
    mirror = solver.Mirror()
    shown = ask(filled, mirror, QUERY)
    with filled.engine.begin() as connection:
        if filled.dialect == 'mariadb':
            connection.execute(sa.text('SET foreign_key_checks = 0'))
        connection.execute(sa.text("DELETE FROM traits WHERE name = 'CUSTOM_GOLD'"))
    assert b'CUSTOM_GOLD' in shown
    expected = shown.replace(b'"CUSTOM_GOLD", ', b'')
    assert ask(filled, mirror, QUERY) == ask(filled, None, QUERY) == expected


def test_one_mirror_serves_different_databases(filled: databases.Database, tmp_path: Any) -> None:
    """As after a restore from backup: other content under the same ids, uuids and generations."""
    url = f'sqlite:///{tmp_path / "other.sqlite"}'
    service.create_schema(url)
    other = databases.Database('sqlite', url)
    with other.engine.begin() as connection:
        build_sql(connection, World((Provider(uuid=uuid_of(1), name='host1', inventories={'DISK_GB': INVENTORY}),)))
    mirror = solver.Mirror()
    for _ in range(2):
        for place in (filled, other):
            assert ask(place, mirror, QUERY) == ask(place, None, QUERY)


def test_statements(filled: databases.Database) -> None:
    """A fixed number: checksums, traits and aggregates, usage, traits to show – and more only for what changed. The
    first request reads providers, inventories and their checksums at once, and names."""
    mirror = solver.Mirror()
    with counted() as first:
        ask(filled, mirror, QUERY)
    assert len(first.starting_with('SELECT')) == 8, first
    with counted() as unchanged:
        ask(filled, mirror, QUERY)
    assert len(unchanged.starting_with('SELECT')) == 4, unchanged
    filled.execute('UPDATE inventories SET total = 4 WHERE resource_provider_id IN (1, 300)')
    with counted() as changed:
        ask(filled, mirror, QUERY)
    assert len(changed.starting_with('SELECT')) == 6, changed
    assert 'BETWEEN' in changed.starting_with('SELECT')[2]


def test_claims_cause_no_reading(filled: databases.Database) -> None:
    """Generations move with every write of allocations; the topology does not."""
    mirror = solver.Mirror()
    ask(filled, mirror, QUERY)
    filled.execute('UPDATE resource_providers SET generation = generation + 1')
    with counted() as statements:
        ask(filled, mirror, QUERY)
    assert len(statements.starting_with('SELECT')) == 4, statements


def test_threads_share_a_mirror(filled: databases.Database) -> None:
    """While one thread changes the cloud, others get answers of one state each, and at the end the last one."""
    mirror = solver.Mirror()
    query = [('resources', 'VCPU:1'), ('in_tree', uuid_of(1))]
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(15):
                ask(filled, mirror, query)
        except BaseException as exc:
            failures.append(exc)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for total in range(10, 25):
        filled.execute('UPDATE inventories SET total = :total WHERE resource_provider_id IN (1, 300)', total=total)
    for reader in readers:
        reader.join(60)
    assert not failures
    assert ask(filled, mirror, query) == ask(filled, None, query)
