"""placement-manage explain: output, exit statuses, errors."""

import json
from pathlib import Path

import pytest

import placement.cmd.manage
from tests import databases, processes
from tests.case_loader import World, build_sql
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import RACK1, check_golden, uuid_of

ON_SQLITE = pytest.mark.parametrize('database', ['sqlite'], indirect=True)
BIG = 'resources=VCPU:4,MEMORY_MB:8192,DISK_GB:60&required=HW_CPU_X86_AVX2'


@pytest.mark.usefixtures('cloud')
class TestTables:
    @pytest.mark.parametrize(
        ('name', 'status', 'arguments'),
        [
            ('rack', 1, [f'{BIG}&member_of={RACK1}']),
            ('fits', 0, [BIG]),
            ('host', 1, [BIG, '--host', 'host1', '--host', uuid_of('host6_nic1')]),
            ('unit', 1, ['resources=VCPU:32,MEMORY_MB:512', '--misses', '2']),
            (
                'isolate',
                1,
                [
                    'resources=VCPU:1&resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=isolate',
                    '--host=host6',
                ],
            ),
            (
                'together',
                1,
                [
                    'resources=VCPU:1&resources1=SRIOV_NET_VF:3&resources2=SRIOV_NET_VF:3&group_policy=none',
                    '--host=host6',
                ],
            ),
            (
                'subtree',
                1,
                [
                    'resources=VCPU:1&resources_NET=SRIOV_NET_VF:1&required_OTHER=HW_NIC_OFFLOAD_TSO'
                    '&same_subtree=_NET,_OTHER&group_policy=none',
                    '--misses=2',
                ],
            ),
            ('flavor', 1, ['--flavor', 'vcpus=4,ram=8192,disk=40,swap=1025', '--extra-spec=hw:cpu_policy=dedicated']),
            (
                'root',
                1,
                ['resources=VCPU:1&root_required=!COMPUTE_STATUS_DISABLED', '--host', 'host5', '--host', 'host4'],
            ),
            ('nowhere', 1, ['resources=VCPU:1&in_tree=cccccccc-0000-4000-8000-000000000001', '--misses=1']),
        ],
    )
    def test_golden(self, manage: Command, name: str, status: int, arguments: list[str]) -> None:
        found, out, err = manage('explain', *arguments)
        assert (found, err) == (status, '')
        check_golden(f'explain_{name}', out)

    def test_json(self, manage: Command) -> None:
        status, out, err = manage('explain', BIG, '--json', '--host', 'host1')
        assert (status, err) == (1, '')
        found = json.loads(out)
        assert (found['query'], found['providers'], found['trees']) == (BIG, 9, 7)
        assert set(found['fitting']) == {uuid_of(name) for name in ('host4', 'host5', 'host6', 'storage2')}
        assert found['funnel'][0] == {'group': '', 'condition': 'VCPU inventory', 'providers': 6, 'trees': 6}
        (host,) = found['hosts']
        assert (host['name'], host['fits'], len(host['reasons'])) == ('host1', False, 1)
        assert host['reasons'][0]['text'].startswith('MEMORY_MB 7168 free of 8192 asked; 57344 used of 64512')

    def test_a_line_of_the_log_will_do(self, manage: Command) -> None:
        line = f'127.0.0.1 "GET /placement/allocation_candidates?limit=5&{BIG}" status: 200 len: 53 microversion: 1.36'
        status, out, err = manage('explain', line)
        assert (status, err) == (0, '')
        assert f'Request: limit=5&{BIG}\n' in out


@ON_SQLITE
@pytest.mark.usefixtures('cloud')
@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        ([], 'give either a query or --flavor'),
        ([BIG, '--flavor', 'vcpus=1'], 'give either a query or --flavor'),
        ([BIG, '--extra-spec', 'a=b'], '--extra-spec goes with --flavor'),
        (['nonsense'], "'nonsense' is no parameter"),
        ([''], 'the query is empty'),
        (['resources=VCPU:1&limit=0'], 'limit'),
        (['resources=VCPU'], 'VCPU'),
        (['resources=CUSTOM_NONE:1'], 'CUSTOM_NONE'),
        (['resources=VCPU:1&required=CUSTOM_NONE'], 'CUSTOM_NONE'),
        ([BIG, '--host', 'host99'], "no resource provider has the name or uuid 'host99'"),
        ([BIG, '--microversion', '2.1'], 'from 1.10 to 1.39'),
        ([BIG, '--microversion', '1.40'], 'from 1.10 to 1.39'),
        (['--flavor', 'vcpus=many'], 'whole number'),
        (['--flavor', 'vcpus=1', '--extra-spec', 'trait:X'], 'KEY=VALUE'),
        (['--flavor', 'vcpus=1', '--extra-spec', 'trait:X=maybe'], 'required or forbidden'),
    ],
)
def test_bad_input_is_one_line(manage: Command, arguments: list[str], complaint: str) -> None:
    status, out, err = manage('explain', *arguments)
    assert (status, out) == (2, '')
    assert err.startswith('placement-manage: ')
    assert err.count('\n') == 1
    assert complaint in err


@ON_SQLITE
@pytest.mark.usefixtures('cloud')
def test_an_amount_of_any_size(manage: Command) -> None:
    status, out, err = manage('explain', f'resources=VCPU:{10**400}')
    assert (status, err) == (1, '')
    assert 'is above max_unit' in out


class TestDatabaseTrouble:
    @ON_SQLITE
    def test_another_revision(self, manage: Command) -> None:
        manage('db', 'stamp', 'b4ed3a175331')
        status, out, err = manage('explain', BIG)
        assert (status, out, err.count('\n')) == (2, '', 1)
        assert 'b4ed3a175331' in err
        assert 'placement-manage db sync' in err

    def test_an_unreachable_database(self, tmp_path: Path) -> None:
        url = f'mysql+pymysql://somebody:secret@127.0.0.1:{processes.free_port()}/empty'
        status, out, err = Command(placement.cmd.manage, url, tmp_path)('explain', BIG)
        assert (status, out, err.count('\n')) == (2, '', 1)
        assert 'secret' not in err

    def test_a_cloud_without_providers(self, manage: Command, database: databases.Database) -> None:
        with database.engine.begin() as connection:
            build_sql(connection, World(()))
        status, out, err = manage('explain', 'resources=VCPU:1')
        assert (status, err) == (1, '')
        assert 'Cloud: 0 providers in 0 trees' in out
