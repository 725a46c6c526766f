"""placement-serve: its arguments, and what a start that fails says."""

import os
import pathlib
import tempfile

import pytest

from placement import config, metrics, wsgi
from placement.cmd import serve


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """The settings that gunicorn would run with."""
    seen: dict[str, object] = {}

    def run(server: serve._Server) -> None:
        seen.update({name: setting.get() for name, setting in server.cfg.settings.items()})

    monkeypatch.setattr(serve._Server, 'run', run)
    return seen


def test_defaults(settings: dict[str, object]) -> None:
    assert serve.main([]) == 0
    assert settings['bind'] == ['127.0.0.1:8778']
    assert (settings['workers'], settings['threads']) == (1, 8)
    # Long queries pass, and the proxy's headers are not gunicorn's to believe.
    assert settings['limit_request_line'] == 0
    assert settings['forwarded_allow_ips'] == []


def test_arguments(settings: dict[str, object]) -> None:
    serve.main(['--host', '::1', '--port', '80', '--workers', '3', '--threads', '5'])
    assert settings['bind'] == ['[::1]:80']
    assert (settings['workers'], settings['threads']) == (3, 5)


@pytest.mark.parametrize('fails', [False, True])
def test_where_workers_count_is_gone_afterwards(
    fails: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    seen = []

    def run(server: serve._Server) -> None:
        seen.append(pathlib.Path(os.environ[metrics.DIRECTORY]))
        assert seen[0].is_dir()
        if fails:
            raise config.ConfigError('No.')

    monkeypatch.setattr(serve._Server, 'run', run)
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    assert serve.main(['--workers', '2']) == fails
    assert seen[0].parent == tmp_path
    assert metrics.DIRECTORY not in os.environ
    assert not list(tmp_path.iterdir())


def test_variables_of_gunicorn_do_not_matter(settings: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('GUNICORN_CMD_ARGS', '--workers 7')
    monkeypatch.setenv('WEB_CONCURRENCY', '7')
    serve.main([])
    assert settings['workers'] == 1


@pytest.mark.parametrize('arguments', [['--workers', '0'], ['--threads', 'x'], ['--port', 'http'], ['more']])
def test_usage_errors(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        serve.main(arguments)
    assert caught.value.code == 2
    assert 'usage: placement-serve' in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        serve.main(['--version'])
    assert caught.value.code == 0
    assert capsys.readouterr().out == '16.0.0\n'


def test_a_start_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise config.ConfigError('[api] auth_strategy has a bad value.')

    monkeypatch.setattr(wsgi, 'init_application', fail)
    assert serve.main(['--port', '0']) == 1
    assert capsys.readouterr().err.splitlines()[-1] == 'placement-serve: [api] auth_strategy has a bad value.'
