"""placement-manage forecast: what it promises can be claimed."""

import json
import random
from urllib.parse import parse_qsl

import pytest

from placement import solver
from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import RACK1, RACK2, check_golden, uuid_of

SMALL = 'resources=VCPU:4,MEMORY_MB:8192,DISK_GB:60'


@pytest.mark.usefixtures('cloud')
class TestForecast:
    @pytest.mark.parametrize(
        ('name', 'status', 'arguments'),
        [
            ('small', 0, [SMALL]),
            ('none', 1, ['--flavor', 'vcpus=4,ram=8192,disk=40', '--extra-spec', 'hw:cpu_policy=dedicated']),
            ('devices', 0, ['resources=VCPU:1&resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=none']),
        ],
    )
    def test_golden(self, manage: Command, name: str, status: int, arguments: list[str]) -> None:
        found, out, err = manage('forecast', *arguments)
        assert (found, err) == (status, '')
        check_golden(f'forecast_{name}', out)

    def test_json(self, manage: Command) -> None:
        status, out, err = manage('forecast', '--json', SMALL)
        assert (status, err) == (0, '')
        found = json.loads(out)
        # By memory 7 on an empty host and 6 on host6, by disk 8 on host3 and 30 in the storage of rack 2.
        more = {host['name']: host['more'] for host in found['hosts']}
        assert more == {'host3': 7, 'host4': 7, 'host5': 7, 'host6': 6}
        assert found['more'] == 27
        assert {place['uuid']: (place['trees'], place['more']) for place in found['aggregates']} == {
            RACK1: (1, 7),
            RACK2: (3, 20),
        }
        assert found['limits'] == {'MEMORY_MB': 4}

    def test_shared_storage_is_counted_once(self, manage: Command) -> None:
        _, out, _ = manage('forecast', '--json', f'resources=VCPU:1,DISK_GB:600&member_of={RACK2}')
        assert (json.loads(out)['more'], json.loads(out)['limits']) == (3, {'DISK_GB': 1})

    @pytest.mark.parametrize('arguments', [[], ['resources=CUSTOM_NONE:1'], ['--flavor', 'many']])
    def test_bad_input_is_one_line(self, manage: Command, arguments: list[str]) -> None:
        status, out, err = manage('forecast', *arguments)
        assert (status, out, err.count('\n')) == (2, '', 1)


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_so_many_can_be_claimed_and_no_more(manage: Command, cloud: databases.Database) -> None:
    """Claimed one after the other, whatever candidate comes up at random."""
    query = solver.query.parse(parse_qsl(SMALL), (1, 39))
    promised = json.loads(manage('forecast', '--json', SMALL)[1])['more']
    rng = random.Random(1)
    claimed = 0
    with cloud.engine.connect() as connection:
        while found := list(solver.candidates(connection, query)):
            claimed += 1
            for provider, amounts in rng.choice(found).allocations.items():
                for name, amount in amounts.items():
                    connection.exec_driver_sql(
                        'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) '
                        'SELECT p.id, ?, c.id, ? FROM resource_providers p, resource_classes c '
                        'WHERE p.uuid = ? AND c.name = ?',
                        (uuid_of(f'claim{claimed}'), amount, provider, name),
                    )
        connection.rollback()
    assert claimed == promised
