"""Runs one file of gabbits/ against a WSGI application. Used by tests/functional/test_gabbits.py.

A file may use `$ENVIRON['SOMETHING_UUID']` for any such name: it stands for a new uuid, the same all over the file.
What it lists under `fixtures:` are the classes of tests/gabbi_fixtures.py.
"""

import contextlib
import os
import re
import unittest
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from gabbi import handlers, suitemaker

from tests import gabbi_fixtures
from tests.client import Client

GABBITS = Path(__file__).parent.parent / 'gabbits'

_UUID_NAME = re.compile(r"""\$ENVIRON\[['"](\w+_UUID)['"]\]""")


def files() -> list[Path]:
    """All files of steps, by name. Raises FileNotFoundError if there are none: a test of nothing would pass."""
    found = sorted(GABBITS.glob('**/*.yaml'))
    if not found:
        raise FileNotFoundError(f'no .yaml files in {GABBITS}')
    return found


def problems(path: Path, app: Any) -> list[str]:
    """Run the steps of a file in their order; returns one text for each step that failed or was left out.

    Raises ValueError if the file has no steps.
    """
    text = path.read_text()
    with _environment(_UUID_NAME.findall(text)), gabbi_fixtures.serving(Client.of_app(app)):
        suite = suitemaker.test_suite_from_dict(
            unittest.TestLoader(),
            path.stem,
            yaml.safe_load(text),
            str(path.parent),
            host='placement.test',
            port=80,
            fixture_module=gabbi_fixtures,
            intercept=lambda: app,
            handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
        )
        result = unittest.TestResult()
        suite.run(result)
    if not result.testsRun and not result.errors:
        raise ValueError(f'{path.name} has no steps')
    passed = [(test, 'was expected to fail and passes') for test in result.unexpectedSuccesses]
    found = [*result.errors, *result.failures, *result.skipped, *passed]
    return [f'{test.test_data["name"]}: {trace}' for test, trace in found]


@contextlib.contextmanager
def _environment(names: list[str]) -> Iterator[None]:
    """Each name is a new uuid in the environment while the block runs."""
    before = dict(os.environ)
    os.environ.update({name: str(uuid.uuid4()) for name in names})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
