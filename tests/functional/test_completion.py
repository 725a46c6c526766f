"""`--shell_completion`: the shells themselves are asked what they would complete."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import live

COMMANDS = ('manage', 'status', 'serve')

# Completes the last of the words given.
ASK_BASH = """\
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
"_shtab_${1//-/_}" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""
ASK_ZSH = """\
fpath=("$1" $fpath)
autoload -Uz compinit && compinit -u -D
print -r -- "$_comps[$2]"
"""


@pytest.fixture(params=['bash', 'zsh'])
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f'{request.param} is not installed')
    return str(request.param)


def script(command: str, shell: str, home: Path) -> str:
    """It needs neither a configuration nor a database."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
    done = subprocess.run(
        [sys.executable, '-m', f'placement.cmd.{command}', '--shell_completion', shell],
        env=environment | {'PYTHONPATH': str(live.CHECKOUT), 'HOME': str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ''
    return done.stdout


@pytest.mark.parametrize('command', COMMANDS)
def test_the_shell_takes_it(command: str, shell: str, tmp_path: Path) -> None:
    path = tmp_path / f'_placement-{command}'
    path.write_text(script(command, shell, tmp_path))
    subprocess.run([shell, '-n', path], check=True)
    if shell == 'zsh':
        done = subprocess.run(
            ['zsh', '-f', '-c', ASK_ZSH, 'ask', tmp_path, f'placement-{command}'],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == f'_placement-{command}'


@pytest.fixture(scope='module')
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For bash, one for each command."""
    folder = tmp_path_factory.mktemp('completion')
    for command in COMMANDS:
        (folder / f'placement-{command}').write_text(script(command, 'bash', folder))
    return folder


@pytest.mark.skipif(shutil.which('bash') is None, reason='bash is not installed')
@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('placement-manage ', {'db', 'explain', 'forecast', 'tree', 'consumers', 'audit'}),
        ('placement-manage ex', {'explain'}),
        ('placement-manage db ', {'sync', 'version', 'stamp', 'online_data_migrations'}),
        ('placement-manage db online_data_migrations --m', {'--max-count'}),
        ('placement-manage explain --ex', {'--extra-spec'}),
        ('placement-manage audit --fix idle', {'idle-consumers'}),
        ('placement-manage audit --nova-list ser', {'servers'}),
        ('placement-manage --config-f', {'--config-file'}),
        ('placement-status ', {'upgrade'}),
        ('placement-serve --wo', {'--workers'}),
        ('placement-serve --shell_completion ', {'bash', 'zsh'}),
    ],
)
def test_bash_completes(scripts: Path, tmp_path: Path, line: str, expected: set[str]) -> None:
    (tmp_path / 'servers').touch()
    words = line.split(' ')
    done = subprocess.run(
        ['bash', '-c', ASK_BASH, 'ask', scripts / words[0], *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert expected <= set(done.stdout.split())
    if words[-1]:
        assert set(done.stdout.split()) == expected
