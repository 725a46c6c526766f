"""What is wrong with the arguments, the configuration or the database is one line and exit status 2, for every command
that operators ask with."""

import pathlib

import pytest

import placement.cmd.manage
from tests import databases, processes
from tests.functional.db.conftest import Command
from tests.functional.db.test_migrations import migrate

ON_SQLITE = pytest.mark.parametrize('database', ['sqlite'], indirect=True)
COMMANDS = {
    'explain': ['explain', 'resources=VCPU:1'],
    'explain-flavor': ['explain', '--flavor', 'vcpus=1,ram=512,disk=1'],
    'forecast': ['forecast', 'resources=VCPU:1'],
    'tree': ['tree', 'host1'],
    'tree-all': ['tree', '--all'],
    'consumers': ['consumers'],
    'audit': ['audit'],
    'audit-fix': ['audit', '--fix', 'unused-traits', '--yes'],
}
EVERY = pytest.mark.parametrize('arguments', COMMANDS.values(), ids=COMMANDS)


def complaint(command: Command, *arguments: str) -> str:
    """The one line."""
    status, out, err = command(*arguments)
    assert (status, out) == (2, '')
    assert err.startswith('placement-manage: ')
    assert err.count('\n') == 1
    assert err.endswith('\n')
    assert 'Traceback' not in err
    return err


class TestConfiguration:
    @pytest.fixture
    def command(self, tmp_path: pathlib.Path) -> Command:
        """Without a database."""
        (tmp_path / 'placement.conf').write_text('')
        return Command(placement.cmd.manage, '', tmp_path, {'OS_PLACEMENT_CONFIG_DIR': str(tmp_path)})

    @EVERY
    def test_no_connection(self, command: Command, arguments: list[str]) -> None:
        assert '[placement_database] connection is not set' in complaint(command, *arguments)

    @EVERY
    def test_no_url(self, command: Command, arguments: list[str]) -> None:
        command.url = 'placement'
        assert '[placement_database] connection is no database URL' in complaint(command, *arguments)

    @EVERY
    def test_bad_value(self, command: Command, arguments: list[str]) -> None:
        command.environment['OS_PLACEMENT_DATABASE__MAX_POOL_SIZE'] = 'many'
        assert "max_pool_size has a bad value in OS_PLACEMENT_DATABASE__MAX_POOL_SIZE: 'many'" in complaint(
            command, *arguments
        )

    @EVERY
    def test_missing_file(self, command: Command, arguments: list[str]) -> None:
        command.environment['OS_PLACEMENT_CONFIG_DIR'] = f'{command.directory}/absent'
        assert 'absent/placement.conf does not exist' in complaint(command, *arguments)
        assert 'absent.conf' in complaint(command, '--config-file', 'absent.conf', *arguments)

    @pytest.mark.parametrize('arguments', [[], ['db'], ['db', 'sync'], *([name[0]] for name in COMMANDS.values())])
    def test_help_needs_none(self, command: Command, arguments: list[str]) -> None:
        status, out, err = command(*arguments, '--help')
        assert (status, err) == (0, '')
        assert out.startswith('usage: placement-manage')


class TestDatabase:
    @EVERY
    def test_unreachable(self, tmp_path: pathlib.Path, arguments: list[str]) -> None:
        url = f'mysql+pymysql://somebody:secret@127.0.0.1:{processes.free_port()}/placement'
        said = complaint(Command(placement.cmd.manage, url, tmp_path), *arguments)
        assert "Can't connect to MySQL server" in said
        assert 'secret' not in said

    @EVERY
    def test_no_such_directory(self, tmp_path: pathlib.Path, arguments: list[str]) -> None:
        command = Command(placement.cmd.manage, f'sqlite:///{tmp_path}/absent/placement.sqlite', tmp_path)
        assert 'unable to open database file' in complaint(command, *arguments)

    @EVERY
    def test_no_database(self, tmp_path: pathlib.Path, arguments: list[str]) -> None:
        (tmp_path / 'text').write_text('This is no database, but a text that is somewhat longer than its header.' * 20)
        command = Command(placement.cmd.manage, f'sqlite:///{tmp_path}/text', tmp_path)
        assert 'file is not a database' in complaint(command, *arguments)

    @EVERY
    @pytest.mark.parametrize('revision', [None, 'b4ed3a175331', 'a-later-one'])
    def test_other_revision(self, tmp_path: pathlib.Path, arguments: list[str], revision: str | None) -> None:
        database = databases.Database('sqlite', f'sqlite:///{tmp_path}/placement.sqlite')
        if revision is not None:
            migrate(database, 'b4ed3a175331')
            database.execute('UPDATE alembic_version SET version_num = :revision', revision=revision)
        said = complaint(Command(placement.cmd.manage, database.url, tmp_path), *arguments)
        assert f'revision {revision}' in said
        assert 'a082b8bb98d0' in said

    @EVERY
    @pytest.mark.parametrize('database', ['mariadb'], indirect=True)
    def test_refused(
        self, database: databases.Database, mariadb: databases.MariaDB, tmp_path: pathlib.Path, arguments: list[str]
    ) -> None:
        command = Command(placement.cmd.manage, mariadb.url('missing'), tmp_path)
        assert "Unknown database 'missing'" in complaint(command, *arguments)
        command.url = f'mysql+pymysql://somebody:secret@127.0.0.1:{mariadb.port}/placement'
        said = complaint(command, *arguments)
        assert 'Access denied' in said
        assert 'secret' not in said


@ON_SQLITE
@pytest.mark.usefixtures('cloud')
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['explain', 'resources=CUSTOM_NOPE:1'], 'CUSTOM_NOPE'),
        (['explain', 'resources=VCPU:1&required=CUSTOM_NOPE'], 'CUSTOM_NOPE'),
        (['explain', 'resources=VCPU'], 'VCPU'),
        (['explain', 'resources=VCPU:none'], 'none'),
        (['explain', 'nonsense'], 'nonsense'),
        (['explain', 'nonsense=1'], 'nonsense'),
        (['explain', ''], 'the query is empty'),
        (['explain'], 'give either a query or --flavor'),
        (['explain', 'resources=VCPU:1', '--flavor', 'vcpus=1'], 'give either a query or --flavor'),
        (['explain', 'resources=VCPU:1', '--extra-spec', 'a=b'], '--extra-spec goes with --flavor'),
        (['explain', 'resources=VCPU:1', '--microversion', '1.99'], '1.99'),
        (['explain', 'resources=VCPU:1', '--host', 'host99'], 'host99'),
        (['explain', '--flavor', 'cpus=1'], 'cpus'),
        (['explain', '--flavor', 'vcpus=1', '--extra-spec', 'resources:NOPE=1'], 'NOPE'),
        (['forecast', 'resources=CUSTOM_NOPE:1'], 'CUSTOM_NOPE'),
        (['forecast', 'nonsense=1'], 'nonsense'),
        (['forecast', '--flavor', 'vcpus=none'], 'none'),
        (['forecast'], 'give either a query or --flavor'),
        (['tree', 'host99'], 'host99'),
        (['tree', 'host1', '--all'], '--all'),
        (['tree', '--sort', 'CUSTOM_NOPE'], 'CUSTOM_NOPE'),
        (['consumers', '--provider', 'host99'], 'host99'),
        (['audit', '--nova-list', 'absent'], 'absent'),
        (['audit', '--check', 'gone-servers'], '--nova-list'),
        (['audit', '--fix', 'gone-servers', '--yes'], '--nova-list'),
        (['audit', '--fix', 'unused-traits', '--check', 'wrong-root'], '--check'),
    ],
)
def test_bad_arguments(manage: Command, arguments: list[str], words: str) -> None:
    assert words in complaint(manage, *arguments)


@ON_SQLITE
@pytest.mark.parametrize(
    'arguments',
    [
        ['explain', 'resources=VCPU:1', '--misses', '-1'],
        ['forecast', 'resources=VCPU:1', '--limit', 'all'],
        ['tree', '--all', '--limit', '-1'],
        ['consumers', '--limit', '1.5'],
        ['consumers', '--older-than', 'yesterday'],
        ['audit', '--limit', '-1'],
        ['audit', '--check', 'everything'],
        ['audit', '--fix', 'everything'],
        ['trees'],
    ],
)
def test_usage(manage: Command, arguments: list[str]) -> None:
    """The last line says what is wrong, after the usage."""
    status, out, err = manage(*arguments)
    assert (status, out) == (2, '')
    assert err.startswith('usage: placement-manage')
    assert 'error: argument' in err.splitlines()[-1]
