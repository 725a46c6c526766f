"""placement-manage consumers."""

import json

import pytest

from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import check_golden, uuid_of


@pytest.fixture
def consumers(cloud: databases.Database) -> databases.Database:
    """The cloud, with an old migration in it."""
    cloud.execute("INSERT INTO consumer_types (id, name) VALUES (1, 'INSTANCE'), (2, 'MIGRATION')")
    cloud.execute("UPDATE consumers SET consumer_type_id = 1, created_at = '2026-11-01 09:30:00'")
    cloud.execute(
        "UPDATE consumers SET consumer_type_id = 2, created_at = '2026-10-01 09:30:00' WHERE uuid = :uuid",
        uuid=uuid_of('server3'),
    )
    cloud.execute(
        'UPDATE consumers SET consumer_type_id = NULL, created_at = :time WHERE uuid = :uuid',
        uuid=uuid_of('server2'),
        time='2999-01-01 00:00:00',
    )
    return cloud


@pytest.mark.usefixtures('consumers')
class TestConsumers:
    @pytest.mark.parametrize(('name', 'arguments'), [('all', []), ('page', ['--limit=1', '--offset=1'])])
    def test_golden(self, manage: Command, name: str, arguments: list[str]) -> None:
        status, out, err = manage('consumers', *arguments)
        assert (status, err) == (0, '')
        check_golden(f'consumers_{name}', out)

    @pytest.mark.parametrize(
        ('arguments', 'expected'),
        [
            ([], ['server3', 'server1', 'server2']),
            (['--type', 'MIGRATION'], ['server3']),
            (['--type', 'unknown'], ['server2']),
            (['--provider', 'host6_nic0'], ['server3']),
            (['--provider', uuid_of('host1')], ['server1']),
            (['--older-than', '24', '--type', 'INSTANCE'], ['server1']),
            (['--older-than', '24'], ['server3', 'server1']),
            (['--project', 'case-project', '--user', 'case-user'], ['server3', 'server1', 'server2']),
            (['--project', 'another'], []),
            (['--user', 'another'], []),
            (['--limit', '0'], []),
        ],
    )
    def test_filters(self, manage: Command, arguments: list[str], expected: list[str]) -> None:
        status, out, err = manage('consumers', '--json', *arguments)
        assert (status, err) == (0, '')
        found = json.loads(out)
        assert [consumer['uuid'] for consumer in found['consumers']] == [uuid_of(name) for name in expected]
        if expected == ['server3']:
            assert (found['count'], found['totals']) == (
                1,
                {'VCPU': 4, 'MEMORY_MB': 8192, 'DISK_GB': 100, 'SRIOV_NET_VF': 4},
            )

    def test_bad_input(self, manage: Command) -> None:
        status, out, err = manage('consumers', '--provider', 'host99')
        assert (status, out, err.count('\n')) == (2, '', 1)
        assert 'host99' in err
        status, out, err = manage('consumers', '--limit', '-1')
        assert (status, out) == (2, '')
