"""placement-manage: arguments, output, exit statuses (contract: service.md 1.4 to 1.6, 4.1)."""

import re
from pathlib import Path

import pytest

from tests import databases, processes
from tests.functional.db.conftest import Command
from tests.functional.db.test_migrations import HEAD, insert_allocation, insert_provider, migrate

ON_SQLITE = pytest.mark.parametrize('empty_database', ['sqlite'], indirect=True)


@ON_SQLITE
def test_sync_version_and_stamp(manage: Command) -> None:
    assert manage('db', 'version') == (0, 'None\n', '')
    assert manage('--debug', 'db', 'sync') == (0, '', '')
    assert manage('db', 'version') == (0, f'{HEAD}\n', '')
    assert manage('db', 'sync') == (0, '', '')
    assert manage('db', 'stamp', 'b4ed3') == (0, '', '')
    assert manage('db', 'version') == (0, 'b4ed3a175331\n', '')
    status, out, err = manage('db', 'stamp', 'nonsense')
    assert (status, out) == (1, '')
    assert err == "placement-manage: Can't locate revision identified by 'nonsense'\n"


@ON_SQLITE
def test_a_blocker_is_one_sentence(empty_database: databases.Database, manage: Command) -> None:
    migrate(empty_database, 'b4ed3a175331')
    insert_provider(empty_database, 1, root=None)
    status, out, err = manage('db', 'sync')
    assert (status, out, err.count('\n')) == (1, '', 1)
    assert err.startswith('placement-manage: ')
    assert 'missing its root provider id' in err
    _, _, err = manage('-d', 'db', 'sync')
    assert 'Traceback' in err


class TestDatabaseTrouble:
    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    def test_what_is_wrong_is_one_sentence_without_the_password(
        self, manage: Command, mariadb: databases.MariaDB
    ) -> None:
        for url, words in [
            (mariadb.url('missing'), "Unknown database 'missing'"),
            (f'mysql+pymysql://somebody:secret@127.0.0.1:{mariadb.port}/empty', 'Access denied'),
            (f'mysql+pymysql://somebody:secret@127.0.0.1:{processes.free_port()}/empty', 'Connection refused'),
        ]:
            manage.url = url
            status, out, err = manage('db', 'sync')
            assert (status, out, err.count('\n')) == (1, '', 1)
            assert words in err
            assert 'secret' not in err

    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    def test_it_waits_for_a_database_that_is_starting(self, manage: Command) -> None:
        manage.url = f'mysql+pymysql://somebody:secret@127.0.0.1:{processes.free_port()}/empty'
        manage.environment |= {
            'OS_PLACEMENT_DATABASE__MAX_RETRIES': '2',
            'OS_PLACEMENT_DATABASE__RETRY_INTERVAL': '0',
        }
        with manage.start('db', 'sync') as process:
            _, err = process.communicate(timeout=60)
        assert process.returncode == 1
        assert re.findall(r'SQL connection failed\. (\d+) attempts left\.', err) == ['2', '1']

    @pytest.mark.parametrize('empty_database', ['mariadb'], indirect=True)
    @pytest.mark.parametrize('arguments', [[], ['--max-count', '5']])
    def test_a_database_that_is_away_is_no_progress(
        self, manage: Command, mariadb: databases.MariaDB, arguments: list[str]
    ) -> None:
        """Deployers repeat online_data_migrations while it returns 1."""
        manage.environment |= {
            'OS_PLACEMENT_DATABASE__MAX_RETRIES': '1',
            'OS_PLACEMENT_DATABASE__RETRY_INTERVAL': '0',
        }
        for url in [
            mariadb.url('missing'),
            f'mysql+pymysql://somebody:secret@127.0.0.1:{mariadb.port}/empty',
            f'mysql+pymysql://somebody:secret@127.0.0.1:{processes.free_port()}/empty',
            'sqlite:////nowhere/placement.sqlite',
            'postgresql://somebody:secret@127.0.0.1/empty',
            'nonsense',
            '',
        ]:
            manage.url = url
            status, _, err = manage('db', 'online_data_migrations', *arguments)
            assert (url, status) == (url, 2)
            assert 'placement-manage: ' in err and 'secret' not in err

    @ON_SQLITE
    def test_a_directory_that_does_not_exist(self, manage: Command) -> None:
        manage.url = 'sqlite:////nowhere/placement.sqlite'
        status, out, err = manage('db', 'sync')
        assert (status, out, err.count('\n')) == (1, '', 1)
        assert 'unable to open database file' in err


@ON_SQLITE
class TestArguments:
    def test_version(self, manage: Command) -> None:
        assert manage('--version') == (0, '16.0.0\n', '')

    def test_help_and_version_need_no_configuration(self, manage: Command) -> None:
        manage.environment['OS_PLACEMENT_DATABASE__CONNECTION'] = ''
        assert manage('--version')[0] == 0
        assert manage('db', 'sync', '-h')[0] == 0

    def test_no_arguments_print_help_and_fail(self, manage: Command) -> None:
        status, out, err = manage()
        assert (status, err) == (1, '')
        assert '--config-file' in out
        assert '{db,' in out

    def test_db_alone_prints_help(self, manage: Command) -> None:
        status, out, err = manage('db')
        assert (status, err) == (0, '')
        assert all(name in out for name in ('sync', 'version', 'stamp', 'online_data_migrations'))

    @pytest.mark.parametrize(
        ('arguments', 'complaint'),
        [
            (['api'], 'invalid choice'),
            (['db', 'archive'], 'invalid choice'),
            (['db', 'sync', 'head'], 'unrecognized arguments'),
            (['db', 'sync', '--debug'], 'unrecognized arguments'),
            (['db', 'stamp'], 'required'),
        ],
    )
    def test_usage_errors(self, manage: Command, arguments: list[str], complaint: str) -> None:
        status, out, err = manage(*arguments)
        assert (status, out) == (2, '')
        assert complaint in err

    @pytest.mark.parametrize('arguments', [['db'], ['db', 'version']])
    def test_without_a_connection(self, manage: Command, arguments: list[str], tmp_path: Path) -> None:
        (tmp_path / 'placement.conf').write_text('')
        manage.environment['OS_PLACEMENT_CONFIG_DIR'] = str(tmp_path)
        manage.url = ''
        status, out, err = manage(*arguments)
        assert (status, out, err.count('\n')) == (1, '', 1)
        assert '[placement_database] connection' in err

    def test_the_config_dir_variable_is_honoured(
        self, manage: Command, empty_database: databases.Database, tmp_path: Path
    ) -> None:
        migrate(empty_database)
        (tmp_path / 'placement.conf').write_text('[DEFAULT]\nlog_file = never-made.log\n')
        manage.environment['OS_PLACEMENT_CONFIG_DIR'] = str(tmp_path)
        assert manage('db', 'version') == (0, f'{HEAD}\n', '')
        assert not Path('never-made.log').exists()


@ON_SQLITE
class TestOnlineDataMigrations:
    @pytest.fixture(autouse=True)
    def schema(self, empty_database: databases.Database) -> None:
        migrate(empty_database)

    def test_until_complete(self, manage: Command, empty_database: databases.Database) -> None:
        for identity in range(1, 61):
            insert_provider(empty_database, identity, root=None)
        insert_allocation(empty_database, 'c')
        status, out, err = manage('db', 'online_data_migrations')
        assert (status, err) == (0, '')
        assert out == (
            'Running batches of 50 until complete\n'
            '50 rows matched query set_root_provider_ids, 50 migrated\n'
            '10 rows matched query set_root_provider_ids, 10 migrated\n'
            '1 rows matched query create_incomplete_consumers, 1 migrated\n'
            '+-----------------------------+-------------+-----------+\n'
            '|          Migration          | Total Found | Completed |\n'
            '+-----------------------------+-------------+-----------+\n'
            '|    set_root_provider_ids    |      60     |     60    |\n'
            '| create_incomplete_consumers |      1      |     1     |\n'
            '+-----------------------------+-------------+-----------+\n'
        )

    def test_one_batch_says_call_again(self, manage: Command, empty_database: databases.Database) -> None:
        for identity in range(1, 4):
            insert_provider(empty_database, identity, root=None)
        insert_allocation(empty_database, 'c')
        # The batch is used up: the second migration is not called.
        status, out, _ = manage('db', 'online_data_migrations', '--max-count', '3')
        assert status == 1
        assert out.splitlines()[0] == '3 rows matched query set_root_provider_ids, 3 migrated'
        assert 'create_incomplete_consumers' not in out
        assert manage('db', 'online_data_migrations', '--max-count', '3')[0] == 1
        assert manage('db', 'online_data_migrations', '--max-count', '3')[0] == 0

    @pytest.mark.parametrize('count', ['0', '-1', 'abc', '1.5'])
    def test_a_bad_count(self, manage: Command, count: str) -> None:
        expected = (127, 'Must supply a positive value for max_count\n', '')
        assert manage('db', 'online_data_migrations', f'--max-count={count}') == expected

    def test_a_count_beyond_all_numbers_of_a_database(
        self, manage: Command, empty_database: databases.Database
    ) -> None:
        insert_provider(empty_database, 1, root=None)
        assert manage('db', 'online_data_migrations', f'--max-count={10**20}')[0] == 1
        assert empty_database.rows('SELECT root_provider_id FROM resource_providers') == [(1,)]

    def test_failures(self, manage: Command, empty_database: databases.Database) -> None:
        empty_database.execute('DROP TABLE consumers')
        insert_provider(empty_database, 1, root=None)
        # One migration fails, the other one works.
        status, out, err = manage('db', 'online_data_migrations', '--max-count', '5')
        assert status == 1
        assert 'Error attempting to run create_incomplete_consumers\n' in out
        assert 'set_root_provider_ids, 1 migrated' in out
        assert 'Some migrations failed unexpectedly' in out
        assert 'Traceback' in err
        for arguments in [], ['--max-count', '5']:
            assert manage('db', 'online_data_migrations', *arguments)[0] == 2

    def test_no_schema(self, manage: Command) -> None:
        manage.url = manage.url.replace('empty.sqlite', 'no-schema.sqlite')
        status, out, _ = manage('db', 'online_data_migrations')
        assert status == 2
        assert out.count('Error attempting to run') == 2
