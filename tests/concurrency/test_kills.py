"""A process of the service is killed at each word that it says to the database, in every route that writes.

Then all of the write is there or nothing of it, and the client that tries again succeeds or hears an honest conflict:
each try comes a word further than the one before, the last but one is done, and the last hears so.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from placement.routes import ROUTES
from tests import claims, invariants
from tests.claims import body, generation, new_uuid, records
from tests.client import Client
from tests.concurrency import kills

TRAIT, CLASS = 'CUSTOM_KILLS', 'CUSTOM_KILLS_CLASS'


@dataclasses.dataclass(frozen=True)
class Write:
    """A request to a prepared cloud; `again` is the answer when it was done before."""

    method: str
    path: str
    body: Any
    again: int


@dataclasses.dataclass(frozen=True)
class Cloud:
    """A root with a child, another root that is empty, and a consumer that holds something of the first two."""

    client: Client
    root: str
    child: str
    empty: str
    consumer: str

    def at(self, uuid: str, **more: Any) -> dict[str, Any]:
        return {'resource_provider_generation': generation(self.client, uuid), **more}

    def inventories(self, uuid: str, **totals: int) -> dict[str, Any]:
        return self.at(uuid, inventories=records(**totals))


def build(client: Client) -> Cloud:
    client.must('PUT', f'/traits/{TRAIT}')
    client.must('PUT', f'/resource_classes/{CLASS}')
    root = claims.provider(client, VCPU=8, MEMORY_MB=64)
    child = claims.provider(client, parent=root, VGPU=2)
    empty = claims.provider(client, DISK_GB=9)
    for uuid in (root, empty):
        path = f'/resource_providers/{uuid}/traits'
        client.must(
            'PUT', path, {'resource_provider_generation': generation(client, uuid), 'traits': ['HW_CPU_X86_VMX']}
        )
    consumer = claims.consumer(client, {root: {'VCPU': 2, 'MEMORY_MB': 8}, child: {'VGPU': 1}})
    return Cloud(client, root, child, empty, consumer)


WRITES: dict[str, Callable[[Cloud], Write]] = {
    'POST /resource_classes': lambda on: Write('POST', '/resource_classes', {'name': 'CUSTOM_NEW'}, 409),
    'PUT /resource_classes/{name}': lambda on: Write('PUT', '/resource_classes/CUSTOM_NEW', None, 204),
    'DELETE /resource_classes/{name}': lambda on: Write('DELETE', f'/resource_classes/{CLASS}', None, 404),
    'PUT /traits/{name}': lambda on: Write('PUT', '/traits/CUSTOM_NEW', None, 204),
    'DELETE /traits/{name}': lambda on: Write('DELETE', f'/traits/{TRAIT}', None, 404),
    'POST /resource_providers': lambda on: Write(
        'POST',
        '/resource_providers',
        {'name': 'new', 'uuid': new_uuid(), 'parent_provider_uuid': on.child},
        409,
    ),
    'PUT /resource_providers/{uuid}': lambda on: Write(
        'PUT', f'/resource_providers/{on.root}', {'name': 'new', 'parent_provider_uuid': on.empty}, 200
    ),
    'DELETE /resource_providers/{uuid}': lambda on: Write('DELETE', f'/resource_providers/{on.empty}', None, 404),
    'POST /resource_providers/{uuid}/inventories': lambda on: Write(
        'POST',
        f'/resource_providers/{on.root}/inventories',
        {'resource_class': CLASS, 'total': 3},
        409,
    ),
    'PUT /resource_providers/{uuid}/inventories': lambda on: Write(
        'PUT',
        f'/resource_providers/{on.root}/inventories',
        on.inventories(on.root, VCPU=9, MEMORY_MB=65, DISK_GB=4),
        409,
    ),
    'DELETE /resource_providers/{uuid}/inventories': lambda on: Write(
        'DELETE', f'/resource_providers/{on.empty}/inventories', None, 204
    ),
    'PUT /resource_providers/{uuid}/inventories/{resource_class}': lambda on: Write(
        'PUT', f'/resource_providers/{on.root}/inventories/VCPU', on.at(on.root, total=10), 409
    ),
    'DELETE /resource_providers/{uuid}/inventories/{resource_class}': lambda on: Write(
        'DELETE', f'/resource_providers/{on.empty}/inventories/DISK_GB', None, 404
    ),
    'PUT /resource_providers/{uuid}/aggregates': lambda on: Write(
        'PUT',
        f'/resource_providers/{on.root}/aggregates',
        on.at(on.root, aggregates=[new_uuid(), new_uuid()]),
        409,
    ),
    'PUT /resource_providers/{uuid}/traits': lambda on: Write(
        'PUT', f'/resource_providers/{on.root}/traits', on.at(on.root, traits=[TRAIT]), 409
    ),
    'DELETE /resource_providers/{uuid}/traits': lambda on: Write(
        'DELETE', f'/resource_providers/{on.root}/traits', None, 204
    ),
    'PUT /allocations/{consumer_uuid}': lambda on: Write(
        'PUT',
        f'/allocations/{new_uuid()}',
        body({on.root: {'VCPU': 1}, on.child: {'VGPU': 1}}, project_id='new', user_id='new', consumer_type='NEW'),
        409,
    ),
    # A move: the instance goes, and its old place is a migration's.
    'POST /allocations': lambda on: Write(
        'POST',
        '/allocations',
        {
            on.consumer: body({on.empty: {'DISK_GB': 1}}, 1, project_id='new'),
            new_uuid(): body({on.root: {'VCPU': 2, 'MEMORY_MB': 8}, on.child: {'VGPU': 1}}),
        },
        409,
    ),
    'DELETE /allocations/{consumer_uuid}': lambda on: Write('DELETE', f'/allocations/{on.consumer}', None, 404),
    'POST /reshaper': lambda on: Write(
        'POST',
        '/reshaper',
        {
            'inventories': {
                on.root: on.inventories(on.root, MEMORY_MB=64),
                on.child: on.inventories(on.child, VGPU=2, VCPU=8),
            },
            'allocations': {on.consumer: body({on.root: {'MEMORY_MB': 8}, on.child: {'VGPU': 1, 'VCPU': 2}}, 1)},
        },
        409,
    ),
}


def test_every_route_that_writes_is_here():
    routes = {f'{route.method} {route.path}' for route in ROUTES if route.method != 'GET'}
    assert {name.partition(' (')[0] for name in WRITES} == routes


# On both databases always: those that write most.
MOST = ('PUT /allocations/{consumer_uuid}', 'POST /allocations', 'POST /reshaper', 'DELETE /resource_providers/{uuid}')
CASES = [pytest.param('sqlite', name) for name in WRITES] + [
    pytest.param('mariadb', name, marks=() if name in MOST else pytest.mark.soak) for name in WRITES
]


@pytest.mark.parametrize(('database', 'name'), CASES, indirect=['database'])
def test_killed_at_each_word(client, database, name):
    on = build(client)
    write = WRITES[name](on)

    def request():
        return client.call(write.method, write.path, write.body, headers={'x-roles': 'admin,service'})

    before = invariants.contents(database.url)
    seen = invariants.check(database.url)
    words = 1
    while kills.run_until(words, request):
        if invariants.contents(database.url) != before:
            break
        words += 1
    else:
        pytest.fail('the write was done, but no kill came after its COMMIT')
    # BEGIN or the lock, the write, the COMMIT at least, and the kill after it.
    assert words >= 3
    seen, after = invariants.check(database.url, seen), invariants.contents(database.url)
    # Only the last word was too late: the client does not know it, tries again, and hears the truth.
    again = request()
    assert again.status_code == write.again, again.text
    if write.again >= 400:
        assert invariants.contents(database.url) == after
    invariants.check(database.url, seen)
