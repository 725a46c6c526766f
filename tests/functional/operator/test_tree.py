"""placement-manage tree."""

import json

import pytest

from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.operator.conftest import AVX2, RACK2, check_golden, uuid_of


@pytest.mark.usefixtures('cloud')
class TestTree:
    @pytest.mark.parametrize(
        ('name', 'arguments'),
        [
            ('nested', ['host6']),
            ('all', ['--all']),
            ('sorted', ['--sort', 'MEMORY_MB']),
        ],
    )
    def test_golden(self, manage: Command, name: str, arguments: list[str]) -> None:
        status, out, err = manage('tree', *arguments)
        assert (status, err) == (0, '')
        check_golden(f'tree_{name}', out)

    def test_any_provider_of_the_tree_by_name_or_uuid(self, manage: Command) -> None:
        whole = manage('tree', 'host6')
        assert manage('tree', 'host6_nic1') == whole
        assert manage('tree', uuid_of('host6_nic0')) == whole

    def test_usage_beyond_and_without_inventory(self, manage: Command, cloud: databases.Database) -> None:
        cloud.execute('DELETE FROM inventories WHERE total = 500')
        cloud.execute('UPDATE inventories SET reserved = 60000 WHERE total = 65536')
        status, out, err = manage('tree', 'host1')
        assert (status, err) == (0, '')
        check_golden('tree_over', out)

    def test_json(self, manage: Command) -> None:
        status, out, err = manage('tree', 'host6', '--json')
        assert (status, err) == (0, '')
        root, nic0, _ = json.loads(out)
        assert (root['name'], root['parent'], root['traits'], root['aggregates']) == ('host6', None, [AVX2], [RACK2])
        assert (nic0['name'], nic0['parent'], nic0['consumers']) == ('host6_nic0', uuid_of('host6'), 1)
        assert (nic0['stocks'][0]['used'], nic0['stocks'][0]['capacity']) == (4, 4)
        status, out, err = manage('tree', '--json', '--sort=SRIOV_NET_VF')
        assert (status, err) == (0, '')
        first = json.loads(out)[0]
        assert (first['name'], first['providers']) == ('host6', 3)
        assert [stock['used'] for stock in first['stocks']] == [4, 8192, 4]

    @pytest.mark.parametrize(
        ('arguments', 'complaint'),
        [
            (['host99'], "no resource provider has the name or uuid 'host99'"),
            (['host1', '--all'], 'leave the name out'),
            (['--sort', 'PCPU'], '--sort PCPU'),
        ],
    )
    def test_bad_input_is_one_line(self, manage: Command, arguments: list[str], complaint: str) -> None:
        status, out, err = manage('tree', *arguments)
        assert (status, out, err.count('\n')) == (2, '', 1)
        assert complaint in err


def test_an_empty_cloud(manage: Command) -> None:
    status, out, err = manage('tree')
    assert (status, err) == (0, '')
    assert '0 trees' in out
