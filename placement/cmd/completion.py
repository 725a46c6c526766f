"""Completion scripts for shells: `--shell_completion bash` of all commands.

oslo.config has this option, too, but its packages come without the templates that it needs; so the commands that are
built on it look for the option before.
"""

import argparse
import contextlib
import io
from collections.abc import Sequence

import shtab
from oslo_config import cfg

from placement import config

OPTION = '--shell_completion'
SHELLS = ('bash', 'zsh')
_PATHS = {'FILE': shtab.FILE, 'PATH': shtab.FILE, 'DIR': shtab.DIRECTORY}


def wanted(argv: Sequence[str]) -> str | None:
    """The shell that a script is asked for, if that is what the arguments do."""
    return argv[1] if len(argv) == 2 and argv[0] == OPTION and argv[1] in SHELLS else None


def script_of(conf: cfg.ConfigOpts, prog: str, shell: str) -> str:
    """The script for a command whose arguments are options of `conf`, which is not loaded yet."""
    # oslo.config builds its parser when it parses, and does not give it away.
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        config.load(conf, ['--help'], prog=prog)
    assert conf._oparser is not None
    return script(conf._oparser, shell)


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for the arguments of a parser, paths included."""
    waiting = [parser]
    while waiting:
        for action in waiting.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            elif action.metavar in _PATHS:
                action.complete = _PATHS[str(action.metavar)]  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))
