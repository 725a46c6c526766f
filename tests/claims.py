"""What tests of allocations ask of the API, in few words: providers, claims, and looks at what came of them."""

import uuid
from collections.abc import Mapping
from typing import Any

import httpx

from tests.client import Client

# Amounts by provider uuid and class name.
Amounts = Mapping[str, Mapping[str, int]]


def new_uuid() -> str:
    return str(uuid.uuid4())


def provider(client: Client, parent: str | None = None, **inventories: Any) -> str:
    """A new provider; each class is given as its total or as a whole inventory record."""
    rp = new_uuid()
    client.must('POST', '/resource_providers', {'name': rp, 'uuid': rp, 'parent_provider_uuid': parent})
    if inventories:
        set_inventories(client, rp, **inventories)
    return rp


def set_inventories(client: Client, rp: str, **inventories: Any) -> httpx.Response:
    """Replace the inventories of a provider, at whatever generation it is."""
    return client.must(
        'PUT',
        f'/resource_providers/{rp}/inventories',
        {'resource_provider_generation': generation(client, rp), 'inventories': records(**inventories)},
    )


def records(**inventories: Any) -> dict[str, dict[str, Any]]:
    """Inventory records as bodies have them."""
    return {name: {'total': value} if isinstance(value, int) else value for name, value in inventories.items()}


def body(amounts: Amounts, generation: int | None = None, **more: Any) -> dict[str, Any]:
    """What one consumer shall hold, in the form of 1.38 and later."""
    return {
        'allocations': {rp: {'resources': dict(resources)} for rp, resources in amounts.items()},
        'project_id': 'project',
        'user_id': 'user',
        'consumer_generation': generation,
        'consumer_type': 'INSTANCE',
        **more,
    }


def put(client: Client, consumer: str, amounts: Amounts, generation: int | None = None, **more: Any) -> httpx.Response:
    """Claim for one consumer."""
    return client.call('PUT', f'/allocations/{consumer}', body(amounts, generation, **more))


def post(client: Client, bodies: Mapping[str, Any]) -> httpx.Response:
    """Claim for several consumers."""
    return client.call('POST', '/allocations', bodies)


def consumer(client: Client, amounts: Amounts, **more: Any) -> str:
    """A new consumer that holds these amounts."""
    new = new_uuid()
    client.must('PUT', f'/allocations/{new}', body(amounts, **more))
    return new


def shown(client: Client, consumer: str, version: str = '1.39') -> dict[str, Any]:
    return client.must('GET', f'/allocations/{consumer}', version=version).json()


def held(client: Client, consumer: str) -> dict[str, dict[str, int]]:
    """What a consumer holds, by provider."""
    return {rp: item['resources'] for rp, item in shown(client, consumer)['allocations'].items()}


def used(client: Client, rp: str) -> dict[str, int]:
    """What is used of a provider, of the classes that it has."""
    return client.must('GET', f'/resource_providers/{rp}/usages').json()['usages']


def generation(client: Client, rp: str) -> int:
    return client.must('GET', f'/resource_providers/{rp}').json()['generation']


def detail(response: httpx.Response) -> str:
    """The specific message of an error: its last line."""
    return response.json()['errors'][0]['detail'].split('\n')[-1].strip()


def code(response: httpx.Response) -> str:
    return response.json()['errors'][0]['code']


# The keys of a body besides `allocations`, and the first version that wants them.
KEYS_SINCE = {'project_id': 8, 'user_id': 8, 'consumer_generation': 28, 'consumer_type': 38}


def body_at(minor: int, amounts: Amounts, generation: int | None = None, **more: Any) -> dict[str, Any]:
    """A valid body of PUT at version 1.`minor`; of POST from 1.13 on."""
    full = body(amounts, generation, **more)
    keys = {key: full[key] for key, since in KEYS_SINCE.items() if minor >= since}
    if minor >= 12:
        return {'allocations': full['allocations'], **keys}
    return {
        'allocations': [
            {'resource_provider': {'uuid': rp}, 'resources': resources} for rp, resources in amounts.items()
        ],
        **keys,
    }


def put_at(client: Client, minor: int, consumer: str, wanted: Any) -> httpx.Response:
    """Claim for one consumer at version 1.`minor`."""
    return client.call('PUT', f'/allocations/{consumer}', wanted, version=f'1.{minor}')
