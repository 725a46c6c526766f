"""placement-manage audit: what it finds in a cloud with every trouble, and what it mends."""

import json
import os
import uuid
from pathlib import Path

import pytest

from placement.operator.audit import CHECKS
from placement.operator.fixes import FIXES
from tests import databases, service
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import check_golden, uuid_of

OLD, NEW = '2026-01-05 10:00:00', '2999-01-01 00:00:00'
GONE, MOVE = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


@pytest.fixture
def trouble(cloud: databases.Database) -> databases.Database:
    """The cloud with one of each."""
    run = cloud.execute
    run('UPDATE consumers SET created_at = :time', time=OLD)
    run("INSERT INTO consumer_types (id, name) VALUES (1, 'INSTANCE'), (2, 'MIGRATION')")
    run("INSERT INTO projects (id, external_id) VALUES (7, 'idle-project')")
    run("INSERT INTO users (id, external_id) VALUES (7, 'idle-user')")
    run("INSERT INTO traits (id, name) VALUES (9001, 'CUSTOM_UNUSED')")
    run("INSERT INTO resource_classes (id, name) VALUES (1000001, 'CUSTOM_UNUSED'), (1000002, 'CUSTOM_LOST')")
    run("INSERT INTO placement_aggregates (id, uuid) VALUES (99, 'aaaaaaaa-0000-4000-8000-000000000099')")
    consumer = (
        'INSERT INTO consumers (uuid, project_id, user_id, generation, consumer_type_id, created_at) '
        'VALUES (:uuid, :project, 1, 1, :type, :time)'
    )
    run(consumer, uuid=GONE, project=1, type=1, time=OLD)
    run(consumer, uuid=MOVE, project=1, type=2, time=OLD)
    run(consumer, uuid=str(uuid.UUID(int=3)), project=1, type=1, time=OLD)  # idle
    run(consumer, uuid=str(uuid.UUID(int=4)), project=5, type=1, time=NEW)  # of no project
    run(consumer, uuid=str(uuid.UUID(int=5)), project=1, type=2, time=NEW)  # a new migration
    allocation = (
        'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) '
        'SELECT p.id, :consumer, c.id, :used FROM resource_providers p, resource_classes c '
        'WHERE p.name = :host AND c.name = :name'
    )
    run(allocation, host='host3', consumer=GONE, name='VCPU', used=1)
    run(allocation, host='host4', consumer=GONE, name='VCPU', used=1)  # on two hosts
    run(allocation, host='host3', consumer=MOVE, name='VCPU', used=1)
    run(allocation, host='host3', consumer=str(uuid.UUID(int=4)), name='CUSTOM_LOST', used=1)  # no inventory
    run(allocation, host='host3', consumer=str(uuid.UUID(int=5)), name='VCPU', used=1)
    run(allocation, host='host3', consumer=str(uuid.UUID(int=6)), name='VCPU', used=62)  # no consumer, over capacity
    run('UPDATE resource_providers SET root_provider_id = 1 WHERE name = :name', name='host6_nic1')
    return cloud


def servers(directory: Path, *names: str) -> str:
    """A list of servers, taken in the distant future."""
    path = directory / 'servers'
    path.write_text(''.join(f'{uuid_of(name)}\n' for name in names))
    os.utime(path, (4e9, 4e9))
    return str(path)


def test_golden(trouble: databases.Database, manage: Command, tmp_path: Path) -> None:
    listed = servers(tmp_path, 'server1', 'server2', 'server3')
    status, out, err = manage('audit', '--nova-list', listed)
    assert (status, err) == (1, '')
    check_golden('audit', out)
    status, out, err = manage('audit', '--nova-list', listed, '--json')
    assert (status, err) == (1, '')
    found = json.loads(out)
    assert list(found) == [check.name for check in CHECKS]
    assert all(found.values()), 'every check has something to find'
    assert found['over-capacity'] == [
        {'provider': uuid_of('host3'), 'name': 'host3', 'class': 'VCPU', 'used': '65', 'capacity': '64'}
    ]


@pytest.mark.usefixtures('cloud')
def test_nothing_is_wrong(manage: Command) -> None:
    status, out, err = manage('audit', '--json')
    assert (status, err) == (0, '')
    assert not any(json.loads(out).values())


@pytest.mark.usefixtures('trouble')
class TestFix:
    @pytest.mark.parametrize('name', list(FIXES))
    def test_it_deletes_what_was_found_and_no_more(self, manage: Command, name: str, tmp_path: Path) -> None:
        listed = ['--nova-list', servers(tmp_path, 'server1', 'server2', 'server3')]
        before = json.loads(manage('audit', '--json', *listed)[1])
        status, out, err = manage('audit', '--fix', name, '--yes', *listed)
        assert (status, err) == (0, '')
        assert f'{len(before[name])} deleted, 0 left' in out
        for row in before[name]:
            assert next(iter(row.values())) in out
        after = json.loads(manage('audit', '--json', *listed)[1])
        assert after[name] == []
        if name == 'gone-servers':
            before['several-roots'] = []
            before['over-capacity'] = after['over-capacity']
        assert {**after, name: None} == {**before, name: None}
        assert manage('audit', '--fix', name, '--yes', *listed)[0] == 0

    def test_a_young_consumer_is_not_gone(self, manage: Command, tmp_path: Path) -> None:
        path = servers(tmp_path, 'server1')
        os.utime(path, (1.5e9, 1.5e9))  # taken before any of them was made
        status, out, _ = manage('audit', '--check', 'gone-servers', '--nova-list', path)
        assert (status, 'gone-servers: 0' in out) == (0, True)

    def test_what_is_in_use_by_now_stays(self, database: databases.Database) -> None:
        with service.engine_on(service.configuration(database.url)):
            database.execute('INSERT INTO resource_provider_traits (trait_id, resource_provider_id) VALUES (9001, 1)')
            assert FIXES['unused-traits']('CUSTOM_UNUSED') is False
            assert FIXES['unused-traits']('CUSTOM_NONE') is False
            assert FIXES['idle-consumers'](GONE) is False
            assert FIXES['gone-servers'](str(uuid.UUID(int=3))) is False
            database.execute(
                'INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, '
                'max_unit, step_size, allocation_ratio) SELECT 1, id, 1, 0, 1, 1, 1, 1.0 FROM resource_classes '
                "WHERE name = 'CUSTOM_UNUSED'"
            )
            assert FIXES['unused-classes']('CUSTOM_UNUSED') is False
        assert database.rows('SELECT count(*) FROM allocations WHERE consumer_id = :uuid', uuid=GONE)[0][0] == 2

    def test_without_a_terminal_it_deletes_nothing(self, manage: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr('sys.stdin', open(os.devnull))  # noqa: SIM115
        status, _, err = manage('audit', '--fix', 'unused-traits')
        assert (status, err.count('\n')) == (2, 1)
        assert '--yes' in err
        assert 'unused-traits: 1' in manage('audit', '--check', 'unused-traits')[1]


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        (['--check', 'gone-servers'], 'needs --nova-list'),
        (['--fix', 'gone-servers'], 'needs --nova-list'),
        (['--fix', 'unused-traits', '--check', 'wrong-root'], 'leave --check out'),
        (['--nova-list', 'nowhere'], 'nowhere'),
        (['--nova-list', os.devnull], 'is empty'),
    ],
)
def test_bad_input_is_one_line(manage: Command, arguments: list[str], complaint: str) -> None:
    status, out, err = manage('audit', *arguments)
    assert (status, out, err.count('\n')) == (2, '', 1)
    assert complaint in err
