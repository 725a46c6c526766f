"""placement-status (contract: service.md 1.7, 4.2)."""

from pathlib import Path

import pytest

from tests import databases
from tests.functional.db.conftest import Command
from tests.functional.db.test_migrations import insert_allocation, insert_provider, migrate

FINE = """\
+-------------------------------------------+
| Upgrade Check Results                     |
+-------------------------------------------+
| Check: Missing Root Provider IDs          |
| Result: Success                           |
| Details: None                             |
+-------------------------------------------+
| Check: Incomplete Consumers               |
| Result: Success                           |
| Details: None                             |
+-------------------------------------------+
| Check: Policy File JSON to YAML Migration |
| Result: Success                           |
| Details: None                             |
+-------------------------------------------+
"""


@pytest.mark.parametrize('revision', ['b4ed3a175331', 'head'])
@pytest.mark.parametrize('empty_database', ['sqlite', 'mariadb'], indirect=True)
def test_all_is_well(empty_database: databases.Database, status: Command, revision: str) -> None:
    migrate(empty_database, revision)
    assert status('upgrade', 'check') == (0, FINE, '')


@pytest.mark.parametrize('empty_database', ['sqlite', 'mariadb'], indirect=True)
def test_the_worst_result_is_the_exit_status(empty_database: databases.Database, status: Command) -> None:
    migrate(empty_database)
    for consumer in 'aab':
        insert_allocation(empty_database, consumer)
    code, out, err = status('upgrade', 'check')
    assert (code, err) == (1, '')
    assert '| Result: Warning ' in out
    assert 'There are 2 incomplete consumers table records' in out
    assert 'online_data_migrations' in out
    insert_provider(empty_database, 1, root=None)
    code, out, err = status('upgrade', 'check')
    assert (code, err) == (2, '')
    assert out.count('Result: Failure') == 1


@pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)
class TestCommand:
    @pytest.mark.parametrize(('text', 'code'), [('{"a": "role:b"}', 2), ('"a": "role:b"\n', 0)])
    def test_the_content_of_the_policy_file_decides(
        self, empty_database: databases.Database, status: Command, tmp_path: Path, text: str, code: int
    ) -> None:
        migrate(empty_database)
        (tmp_path / 'policy.json').write_text(text)
        (tmp_path / 'placement.conf').write_text('[oslo_policy]\npolicy_file = policy.json\n')
        found, out, _ = status('--config-file', str(tmp_path / 'placement.conf'), 'upgrade', 'check')
        assert found == code
        assert ('oslopolicy-convert-json-to-yaml' in out) == (code == 2)

    def test_the_arguments_that_are_accepted(self, empty_database: databases.Database, status: Command) -> None:
        migrate(empty_database)
        assert status('upgrade', 'check', '--json') == (0, FINE, '')
        assert status('upgrade', 'anything') == (0, FINE, '')

    @pytest.mark.parametrize('arguments', [[], ['upgrade'], ['--version'], ['upgrade', 'check', 'more']])
    def test_usage_errors(self, status: Command, arguments: list[str]) -> None:
        code, out, err = status(*arguments)
        assert (code, out) == (2, '')
        assert 'usage: placement-status' in err

    def test_a_fault_inside_the_checks(self, status: Command) -> None:
        code, out, _ = status('upgrade', 'check')
        assert code == 255
        assert out.startswith('Error:\nTraceback')

    @pytest.mark.parametrize('url', ['', 'nonsense', 'postgresql://u:p@127.0.0.1/x', 'mysql://u:p@127.0.0.1/x'])
    def test_a_connection_that_leads_nowhere_is_no_warning(self, status: Command, url: str) -> None:
        """1 would be a result of the checks, with which an upgrade goes on."""
        status.url = url
        code, out, err = status('upgrade', 'check')
        assert (code, out, err.count('\n')) == (255, '', 1)
        assert err.startswith('placement-status: [placement_database] connection')

    def test_a_bad_configuration(self, status: Command) -> None:
        status.environment['OS_PLACEMENT_DATABASE__MAX_POOL_SIZE'] = 'many'
        code, out, err = status('upgrade', 'check')
        assert (code, out, err.count('\n')) == (1, '', 1)
        assert err.startswith('placement-status: [placement_database] max_pool_size')
