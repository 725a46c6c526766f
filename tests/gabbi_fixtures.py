"""What a gabbi file can ask for under `fixtures:`: worlds laid out over the API, their names in the environment.

A fixture's class says which variables it sets. They are gone at the end of the file, as is its database.
"""

import contextlib
import os
import uuid
from collections.abc import Iterator

from gabbi import fixture

from tests.client import Client

_client: Client | None = None


@contextlib.contextmanager
def serving(client: Client) -> Iterator[None]:
    """The fixtures, which gabbi makes without arguments, lay out their worlds through `client` while the block runs."""
    global _client
    _client = client
    try:
        yield
    finally:
        _client = None


def _new_uuid(name: str) -> str:
    """A new uuid, also in the environment variable `name`."""
    return os.environ.setdefault(name, str(uuid.uuid4()))


class Host(fixture.GabbiFixture):
    """A compute host `host` of generation 3 with 8 VCPU (2 times over), 16384 MEMORY_MB (512 reserved) and 200 DISK_GB.

    Sets HOST_UUID; AGGREGATE_UUID, an aggregate that it is in; CONSUMER_UUID, PROJECT_UUID and USER_UUID, of which the
    service knows nothing yet. It has the traits HW_CPU_X86_AVX2 and COMPUTE_NODE.
    """

    def start_fixture(self) -> None:
        for name in ('CONSUMER_UUID', 'PROJECT_UUID', 'USER_UUID'):
            _new_uuid(name)
        host = _new_uuid('HOST_UUID')
        provider = f'/resource_providers/{host}'
        inventories = {
            'VCPU': {'total': 8, 'allocation_ratio': 2.0},
            'MEMORY_MB': {'total': 16384, 'reserved': 512},
            'DISK_GB': {'total': 200},
        }
        aggregates = [_new_uuid('AGGREGATE_UUID')]
        traits = ['COMPUTE_NODE', 'HW_CPU_X86_AVX2']
        _client.must('POST', '/resource_providers', {'name': 'host', 'uuid': host})
        for path, key, value in (
            ('inventories', 'inventories', inventories),
            ('aggregates', 'aggregates', aggregates),
            ('traits', 'traits', traits),
        ):
            generation = _client.must('GET', provider).json()['generation']
            _client.must('PUT', f'{provider}/{path}', {key: value, 'resource_provider_generation': generation})
