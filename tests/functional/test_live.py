"""The real service in processes of its own, and the reference in the same way: what tests/live.py promises."""

import uuid

from tests import live
from tests.client import Client


def register_and_read(url):
    """A provider made over one connection is seen over others, whichever process they reach."""
    provider = {'name': 'host', 'uuid': str(uuid.uuid4())}
    Client.of_url(url).must('POST', '/resource_providers', provider)
    for _ in range(8):
        (found,) = Client.of_url(url).must('GET', '/resource_providers').json()['resource_providers']
        assert (found['name'], found['uuid']) == (provider['name'], provider['uuid'])


def test_serves(database, tmp_path):
    with live.serve(database.url, tmp_path, workers=2) as url:
        register_and_read(url)
    assert [row.name for row in database.rows('SELECT name FROM resource_providers')] == ['host']


def test_reference_serves(tmp_path, reference_python):
    with live.serve(f'sqlite:///{tmp_path}/reference.sqlite', tmp_path, python=reference_python) as url:
        register_and_read(url)
