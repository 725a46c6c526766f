"""The documents made of the API's data are those in docs/."""

import json
from pathlib import Path

import pytest

from placement import apidoc
from placement.microversion import HISTORY
from placement.routes import ROUTES

DOCS = Path(__file__).parents[2] / 'docs'


@pytest.mark.parametrize('name', ['openapi.json', 'microversions.md'])
def test_current(tmp_path, name):
    apidoc.write(tmp_path)
    assert (DOCS / name).read_text() == (tmp_path / name).read_text(), 'run: make docs'


def test_every_version_shows_somewhere():
    rows = [line.split('|') for line in apidoc.microversions().splitlines() if line.startswith('| 1.')]
    assert [row[1].strip() for row in rows] == [f'{major}.{minor}' for major, minor in HISTORY]
    assert all(row[3].strip() for row in rows)


def test_every_route_is_described():
    described = json.loads((DOCS / 'openapi.json').read_text())['paths']
    assert {(route.method.lower(), route.path) for route in ROUTES} == {
        (method, path) for path, methods in described.items() for method in methods
    }
    operations = [operation for methods in described.values() for operation in methods.values()]
    assert all(operation['summary'] for operation in operations)
    assert len({operation['operationId'] for operation in operations}) == len(operations)
