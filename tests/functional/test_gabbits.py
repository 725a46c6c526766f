"""Every file of gabbits/, each on a fresh SQLite and a fresh MariaDB database. See tests/gabbi_loader.py."""

import pytest

from tests import gabbi_loader


@pytest.mark.parametrize('path', gabbi_loader.files(), ids=lambda path: path.stem)
def test_file(path, app):
    assert not (found := gabbi_loader.problems(path, app)), '\n\n'.join(found)
