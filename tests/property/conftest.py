"""A database for clouds, and how many examples the property tests take: 300 and always the same ones, or 10,000 new
ones at night.

`pytest tests/property` takes the profile ci, `HYPOTHESIS_PROFILE=nightly pytest tests/property` the other one. Whoever
finds a counterexample at night pins it as a case in tests/cases/candidates.yaml.
"""

import os
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from hypothesis import settings

from placement.db import checksum, tables
from tests.case_loader import World, build_sql

settings.register_profile('ci', max_examples=300, deadline=None, derandomize=True)
settings.register_profile('nightly', max_examples=10_000, deadline=None)
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'ci'))


@pytest.fixture(scope='module')
def engine() -> Iterator[sa.Engine]:
    """A database in memory that has the standard names."""
    engine = sa.create_engine('sqlite://')
    sa.event.listen(engine, 'connect', lambda connection, _record: checksum.prepare(connection, 'sqlite'))
    tables.metadata.create_all(engine)
    with engine.begin() as connection:
        build_sql(connection, World(()))  # standard names, once
    yield engine
    engine.dispose()
