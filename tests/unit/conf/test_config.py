"""Where placement.conf is found, what wins, and what a mistake says (contract: service.md 3.1)."""

import sys
from pathlib import Path

import pytest
from oslo_config import cfg

from placement import config

CONNECTION = '[placement_database]\nconnection = sqlite://\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory, which is searched before /etc, and nothing of ours in the environment."""
    for variable in ('OS_PLACEMENT_CONFIG_DIR', 'OS_PLACEMENT_DATABASE__CONNECTION', 'SNAP', 'SNAP_COMMON'):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.setattr(sys, 'argv', ['gunicorn'])
    return tmp_path


def load(*argv: str, prog: str | None = None) -> cfg.ConfigOpts:
    return config.load(cfg.ConfigOpts(), argv, prog=prog)


def candidates(number: int) -> str:
    return f'[placement]\nmax_allocation_candidates = {number}\n'


class TestFiles:
    def test_the_standard_directories(self, home: Path) -> None:
        (home / '.placement').mkdir()
        (home / '.placement/placement.conf').write_text(CONNECTION + candidates(1))
        (home / 'placement.conf').write_text(CONNECTION + candidates(2))
        assert load().placement.max_allocation_candidates == 1

    def test_no_file_is_fine(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', 'sqlite://')
        assert load().placement_database.connection == 'sqlite://'

    def test_the_file_of_the_program_wins(self, home: Path) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        (home / 'gunicorn.conf').write_text(candidates(2))
        assert load().placement.max_allocation_candidates == 2
        assert load(prog='placement-manage').placement.max_allocation_candidates == 1

    def test_a_directory_of_files_wins_in_sorted_order(self, home: Path) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        (home / 'placement.conf.d').mkdir()
        (home / 'placement.conf.d/b.conf').write_text(candidates(3))
        (home / 'placement.conf.d/a.conf').write_text(candidates(2))
        assert load().placement.max_allocation_candidates == 3

    def test_the_config_dir_variable(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        (home / 'else').mkdir()
        (home / 'else/placement.conf').write_text(CONNECTION + candidates(2))
        monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', f' {home / "else"} ')
        assert load().placement.max_allocation_candidates == 2
        assert load(prog='placement-manage').placement.max_allocation_candidates == 2

    def test_a_blank_config_dir_variable_is_none(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', ' ')
        assert load().placement.max_allocation_candidates == 1

    def test_config_file_arguments_replace_the_files(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', str(home))
        (home / 'a').write_text(CONNECTION)
        (home / 'b').write_text(candidates(3))
        conf = load('--config-file', str(home / 'a'), '--config-file', str(home / 'b'))
        assert conf.placement.max_allocation_candidates == 3


class TestPrecedence:
    def test_the_environment_beats_files(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        monkeypatch.setenv('OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES', '5')
        assert load().placement.max_allocation_candidates == 5

    def test_the_command_line_beats_the_environment(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION)
        monkeypatch.setenv('OS_DEFAULT__DEBUG', 'False')
        assert load('--debug').debug is True

    def test_unknown_options_and_sections_are_ignored(self, home: Path) -> None:
        (home / 'placement.conf').write_text(
            CONNECTION + '[placement]\npolicy_file = x\n[oslo_policy]\nenforce_scope = false\n[cache]\nenabled = true\n'
        )
        assert load().oslo_policy.policy_file == 'policy.yaml'


class TestMistakes:
    @pytest.mark.parametrize(
        ('text', 'parts'),
        [
            (
                candidates('many'),
                ['[placement] max_allocation_candidates', 'placement.conf', "'many' is not an integer"],
            ),
            (
                '[placement]\nallocation_candidates_generation_strategy = Depth-First\n',
                ['[placement] allocation_candidates_generation_strategy', 'depth-first, breadth-first', 'Depth-First'],
            ),
            ('[api]\nauth_strategy = none\n', ['[api] auth_strategy', 'keystone, noauth2', 'none']),
            ('[DEFAULT]\ndebug = maybe\n', ['[DEFAULT] debug', 'maybe']),
            ('[cors]\nmax_age = x\n', ['[cors] max_age', "'x' is not an integer"]),
            ('[api\n', ['placement.conf', ':3', '[api']),
            ('[DEFAULT]\nlog_file = $nowhere\n', ['[DEFAULT] an option of logging', 'does not exist', '$$']),
            ('[cors]\nmax_age = $nowhere.x\n', ['[cors] max_age', 'does not exist', '$$']),
            ('[DEFAULT]\ntempdir = $state_path\nstate_path = $tempdir\n', ['[DEFAULT] ', 'refers back']),
        ],
    )
    def test_one_sentence(self, home: Path, text: str, parts: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        (home / 'placement.conf').write_text(CONNECTION + text)
        with pytest.raises(config.ConfigError) as caught:
            load()
        sentence = str(caught.value)
        assert '\n' not in sentence
        assert [part for part in parts if part not in sentence] == []
        assert capsys.readouterr().err == ''

    def test_the_environment_is_blamed_when_it_is_at_fault(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (home / 'placement.conf').write_text(CONNECTION + candidates(1))
        monkeypatch.setenv('OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES', 'x')
        with pytest.raises(config.ConfigError, match='OS_PLACEMENT__MAX_ALLOCATION_CANDIDATES') as caught:
            load()
        assert str(home) not in str(caught.value)

    def test_no_connection(self, home: Path) -> None:
        with pytest.raises(config.ConfigError, match=r'\[placement_database\] connection is not set') as caught:
            load()
        assert 'OS_PLACEMENT_DATABASE__CONNECTION' in str(caught.value)

    @pytest.mark.parametrize(
        'url', ['', 'secret', 'nosql://user:secret@host/db', 'mysql+pymysql://u:secret@host:port/']
    )
    def test_a_connection_that_is_no_url_is_not_shown(self, home: Path, url: str) -> None:
        (home / 'placement.conf').write_text(f'[placement_database]\nconnection = {url}\n')
        with pytest.raises(config.ConfigError, match=r'\[placement_database\] connection') as caught:
            load()
        assert 'secret' not in str(caught.value)

    @pytest.mark.parametrize('password', ['$secret', '$secret.x'])
    def test_a_password_with_a_dollar_sign(self, home: Path, password: str) -> None:
        (home / 'placement.conf').write_text(
            f'[placement_database]\nconnection = mysql+pymysql://u:{password}@host/db\n'
        )
        with pytest.raises(config.ConfigError, match=r'\[placement_database\] connection.*is written \$\$') as caught:
            load()
        assert 'secret' not in str(caught.value)

    @pytest.mark.parametrize(
        ('url', 'parameters', 'complaint'),
        [
            ('mysql+pymysql://u:secret@host/db', 'nope=1', "unexpected keyword argument 'nope'"),
            ('mysql+pymysql://u:secret@host/db?nope=1', '', "unexpected keyword argument 'nope'"),
            ('mysql+pymysql://u:secret@host/db', 'read_timeout=soon', "'soon'"),
            ('sqlite:////tmp/db', 'timeout=soon', "'soon'"),
        ],
    )
    def test_a_parameter_that_the_driver_does_not_take(
        self, home: Path, url: str, parameters: str, complaint: str
    ) -> None:
        (home / 'placement.conf').write_text(
            f'[placement_database]\nconnection = {url}\nconnection_parameters = {parameters}\n'
        )
        with pytest.raises(
            config.ConfigError, match=f'connection_parameters has .* of no use: .*{complaint}'
        ) as caught:
            load()
        assert 'secret' not in str(caught.value)

    @pytest.mark.parametrize(
        'parameters', ['', 'charset=utf8mb4&read_timeout=60', 'init_command=SET SESSION wsrep_sync_wait = 7']
    )
    def test_parameters_that_it_takes(self, home: Path, parameters: str) -> None:
        (home / 'placement.conf').write_text(
            f'[placement_database]\nconnection = mysql+pymysql://u:p@host/db\nconnection_parameters = {parameters}\n'
        )
        assert load().placement_database.connection_parameters == parameters

    def test_fewer_connections_than_none(self, home: Path) -> None:
        (home / 'placement.conf').write_text('[placement_database]\nconnection = sqlite://\nmax_overflow = -2\n')
        with pytest.raises(config.ConfigError, match=r'\[placement_database\] max_overflow has a bad value'):
            load()

    def test_a_file_that_is_a_directory(self, home: Path) -> None:
        (home / 'placement.conf').mkdir()
        with pytest.raises(config.ConfigError, match=r'/placement\.conf cannot be read: Is a directory'):
            load('--config-file', str(home / 'placement.conf'))

    def test_a_database_that_is_not_supported(self, home: Path) -> None:
        (home / 'placement.conf').write_text('[placement_database]\nconnection = postgresql://u:secret@host/db\n')
        with pytest.raises(config.ConfigError, match='postgresql: it must be one of mysql, mariadb, sqlite') as caught:
            load()
        assert 'secret' not in str(caught.value)

    def test_a_file_that_is_not_utf8(self, home: Path) -> None:
        (home / 'placement.conf').write_bytes(CONNECTION.encode() + b'# caf\xe9\n')
        with pytest.raises(config.ConfigError, match=r'placement.conf.*is not UTF-8'):
            load()

    def test_a_driver_that_is_not_installed(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, 'pymysql', None)
        (home / 'placement.conf').write_text('[placement_database]\nconnection = mysql+pymysql://u:secret@host/db\n')
        with pytest.raises(config.ConfigError, match='pymysql, which is not installed') as caught:
            load()
        assert 'secret' not in str(caught.value)

    def test_the_file_of_the_config_dir_variable_must_exist(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv('OS_PLACEMENT_CONFIG_DIR', str(home / 'nowhere'))
        monkeypatch.setenv('OS_PLACEMENT_DATABASE__CONNECTION', 'sqlite://')
        with pytest.raises(config.ConfigError, match='nowhere/placement.conf does not exist') as caught:
            load()
        assert 'OS_PLACEMENT_CONFIG_DIR' in str(caught.value)

    def test_a_file_of_the_arguments_must_exist(self, home: Path) -> None:
        with pytest.raises(config.ConfigError, match='/nowhere does not exist'):
            load('--config-file', '/nowhere')
