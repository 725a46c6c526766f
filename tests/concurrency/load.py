"""Random clients that do to a small cloud all that can be done, and remember each request and answer.

    world = load.build(url)
    load.run(world, [url], seconds=20, seed=1)
    load.settle(world, url)     # the last looks, which are calls too
    history.explain(world.calls)

The cloud is small so that the clients meet: few hosts, few consumers, all of them anybody's.

* `hosts` have VCPU that are fought for; their DISK_GB is plenty, and each write of it has another total.
* `pairs` are an instance and a migration consumer of a project of their own. They hand 2 VCPU over to each other, again
  and again, to and fro between the hosts: the project never has anything but 2.
* `trees` are a root and a child. Reshapes carry 4 VGPU and what is held of them from the one to the other. (The root's
  uuid is also the project of those who hold it.)
* Provider after provider comes, is claimed from, and goes.
"""

import http.client
import json
import random
import threading
import time
import urllib.parse
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.claims import body, new_uuid
from tests.concurrency.history import Call

CLIENTS = 8
HOSTS, CONSUMERS, PAIRS, TREES = 4, 12, 3, 2
VCPU, DISK_GB, VGPU = 12, 1_000_000, 4
HANDED = 2
TRAITS = [f'CUSTOM_HISTORY_{number}' for number in range(4)]


class Caller:
    """One client on one kept-alive connection; all its calls are in `calls`."""

    def __init__(self, url: str, number: int = 0, timeout: float = 60) -> None:
        self.address = urllib.parse.urlsplit(url)
        self.number = number
        self.timeout = timeout
        self.calls: list[Call] = []
        self.connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: Any = None) -> Call:
        """Send one request, once: an answer that does not come is one of status 0."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection(
                self.address.hostname or '', self.address.port, timeout=self.timeout
            )
        headers = {
            'x-auth-token': 'admin',
            'x-roles': 'admin,service',
            'accept': 'application/json',
            'openstack-api-version': 'placement 1.39',
            'content-type': 'application/json',
        }
        began = time.monotonic()
        try:
            self.connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = self.connection.getresponse()
            raw = response.read()
            status, answer = response.status, json.loads(raw) if raw else None
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.connection = None
            status, answer = 0, None
        done = Call(self.number, began, time.monotonic(), method, path, body, status, answer)
        self.calls.append(done)
        return done

    def must(self, method: str, path: str, body: Any = None) -> Any:
        done = self.call(method, path, body)
        assert done.status in (200, 201, 204), str(done)
        return done.answer


@dataclass
class World:
    """Who and what is there."""

    hosts: list[str] = field(default_factory=list)
    consumers: list[str] = field(default_factory=list)
    pairs: list[tuple[str, str, str]] = field(default_factory=list)
    trees: list[tuple[str, str, list[str]]] = field(default_factory=list)
    passing: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    # What was said while it was built, and since.
    calls: list[Call] = field(default_factory=list)


def build(url: str) -> World:
    """A new cloud."""
    caller, world = Caller(url), World()
    for trait in TRAITS:
        caller.must('PUT', f'/traits/{trait}')
    for _ in range(HOSTS):
        world.hosts.append(_provider(caller, VCPU=VCPU, DISK_GB=DISK_GB))
    world.consumers = [new_uuid() for _ in range(CONSUMERS)]
    for _ in range(PAIRS):
        project, instance, migration = new_uuid(), new_uuid(), new_uuid()
        holder = body({world.hosts[0]: {'VCPU': HANDED}}, project_id=project)
        caller.must('PUT', f'/allocations/{instance}', holder)
        world.pairs.append((project, instance, migration))
    for _ in range(TREES):
        root = _provider(caller, VGPU=VGPU)
        child = _provider(caller, parent=root)
        users = [new_uuid() for _ in range(VGPU)]
        for user in users:
            caller.must('PUT', f'/allocations/{user}', body({root: {'VGPU': 1}}, project_id=root))
        world.trees.append((root, child, users))
    world.calls = caller.calls
    return world


def _provider(caller: Caller, parent: str | None = None, **totals: int) -> str:
    uuid = new_uuid()
    caller.must('POST', '/resource_providers', {'uuid': uuid, 'name': uuid, 'parent_provider_uuid': parent})
    if totals:
        caller.must('PUT', f'/resource_providers/{uuid}/inventories', _inventories(0, **totals))
    return uuid


def _inventories(generation: int, **totals: int) -> dict[str, Any]:
    return {
        'resource_provider_generation': generation,
        'inventories': {name: {'total': total} for name, total in totals.items()},
    }


def run(
    world: World, urls: Sequence[str], seconds: float, seed: int, meanwhile: Callable[[], None] | None = None
) -> None:
    """Let the clients do what they like for some seconds, through all `urls` in turn.

    `meanwhile` runs at their side, for accidents; then answers of 503 and none at all are no faults of the service.
    """
    until = time.monotonic() + seconds
    stop = threading.Event()

    def live(number: int) -> list[Call]:
        caller = Caller(urls[number % len(urls)], number)
        client = _Client(world, caller, random.Random(f'{seed}.{number}'))
        while time.monotonic() < until and not stop.is_set():
            try:
                client.act()
            except _Unanswered:
                # The client was told to come back, or hears nothing.
                time.sleep(0.1)
        return caller.calls

    with ThreadPoolExecutor(CLIENTS) as pool:
        lives = [pool.submit(live, number) for number in range(CLIENTS)]
        try:
            if meanwhile is not None:
                meanwhile()
        finally:
            if meanwhile is not None:
                stop.set()
        calls = [call for life in lives for call in life.result()]
    world.calls += calls
    allowed = {200, 201, 204, 400, 404, 409} | ({0, 503} if meanwhile is not None else set())
    world.faults += [str(call) for call in calls if call.status not in allowed]
    assert not world.faults, '\n'.join(world.faults[:10])


def wait_until_served(url: str, seconds: float = 30) -> float:
    """Wait until the service answers from its database; returns after how many seconds it did."""
    caller, began = Caller(url), time.monotonic()
    while caller.call('GET', '/resource_providers').status != 200:
        assert time.monotonic() - began < seconds, f'not served after {seconds} s'
        time.sleep(0.1)
    return time.monotonic() - began


def settle(world: World, url: str) -> None:
    """Look at everybody once more: what is found has to be what the calls left, and must add up."""
    caller = Caller(url, CLIENTS)
    amounts: dict[tuple[str, str], int] = {}
    users = [user for *_, users in world.trees for user in users]
    everybody = [*world.consumers, *(consumer for _, *pair in world.pairs for consumer in pair), *users]
    for consumer in everybody:
        shown = caller.must('GET', f'/allocations/{consumer}')['allocations']
        for provider, item in shown.items():
            for name, amount in item['resources'].items():
                amounts[provider, name] = amounts.get((provider, name), 0) + amount
    for provider in [*world.hosts, *(provider for tree in world.trees for provider in tree[:2])]:
        usages = caller.must('GET', f'/resource_providers/{provider}/usages')['usages']
        caller.must('GET', f'/resource_providers/{provider}/inventories')
        caller.must('GET', f'/resource_providers/{provider}/traits')
        for name, used in usages.items():
            assert used == amounts.get((provider, name), 0), f'{provider} {name}: {used} used'
    client = _Client(world, caller, random.Random(0))
    client.look_at_projects()
    assert not world.faults, '\n'.join(world.faults[:10])
    world.calls += caller.calls


class _Unanswered(Exception):
    pass


class _Client:
    """What a client may do; each act is one or a few calls."""

    def __init__(self, world: World, caller: Caller, choice: random.Random) -> None:
        self.world, self.caller, self.choice = world, caller, choice
        self.acts: dict[Callable[[], None], int] = {
            self.claim: 10,
            self.release: 4,
            self.hand_over: 6,
            self.swap: 3,
            self.reshape: 2,
            self.set_inventories: 3,
            self.set_traits: 3,
            self.look_at_host: 3,
            self.look_at_projects: 4,
            self.come: 1,
            self.claim_from_passing: 2,
            self.go: 2,
        }

    def act(self) -> None:
        """One act at random."""
        (act,) = self.choice.choices(list(self.acts), list(self.acts.values()))
        act()

    def call(self, method: str, path: str, body: Any = None) -> Call:
        done = self.caller.call(method, path, body)
        if done.unknown:
            raise _Unanswered
        return done

    def claim(self) -> None:
        consumer = self.choice.choice(self.world.consumers)
        hosts = self.choice.sample(self.world.hosts, self.choice.choice([1, 1, 2]))
        amounts = {host: {'VCPU': self.choice.randint(1, 4), 'DISK_GB': self.choice.randint(1, 9)} for host in hosts}
        self.call('PUT', f'/allocations/{consumer}', body(amounts, self.generation(consumer)))

    def release(self) -> None:
        consumer = self.choice.choice(self.world.consumers)
        if self.choice.random() < 0.5:
            self.call('DELETE', f'/allocations/{consumer}')
        else:
            self.call('PUT', f'/allocations/{consumer}', body({}, self.generation(consumer)))

    def hand_over(self) -> None:
        """The one of a pair that holds gives all to the other, which may take it on another host."""
        project, *pair = self.choice.choice(self.world.pairs)
        shown = {consumer: self.shown(consumer) for consumer in pair}
        holders = [consumer for consumer in pair if shown[consumer]['allocations']]
        if len(holders) != 1:
            return  # handed over between the two looks
        host = self.choice.choice([*self.world.hosts, *shown[holders[0]]['allocations']])
        bodies = {
            consumer: body(
                {} if consumer in holders else {host: {'VCPU': HANDED}},
                shown[consumer].get('consumer_generation'),
                project_id=project,
            )
            for consumer in pair
        }
        self.call('POST', '/allocations', bodies)

    def swap(self) -> None:
        """Two consumers change places."""
        two = self.choice.sample(self.world.consumers, 2)
        shown = [self.shown(consumer) for consumer in two]
        bodies = {
            consumer: body(
                {host: item['resources'] for host, item in other['allocations'].items()},
                mine.get('consumer_generation'),
            )
            for consumer, mine, other in zip(two, shown, reversed(shown), strict=True)
        }
        self.call('POST', '/allocations', bodies)

    def reshape(self) -> None:
        """Carry the VGPU of a tree, and all who hold them, to where they are not."""
        root, child, users = self.choice.choice(self.world.trees)
        stock = {uuid: self.call('GET', f'/resource_providers/{uuid}/inventories').answer for uuid in (root, child)}
        source, target = (root, child) if stock[root]['inventories'] else (child, root)
        generation = {uuid: stock[uuid]['resource_provider_generation'] for uuid in stock}
        claims = {user: body({target: {'VGPU': 1}}, self.generation(user), project_id=root) for user in users}
        inventories = {source: _inventories(generation[source]), target: _inventories(generation[target], VGPU=VGPU)}
        self.call('POST', '/reshaper', {'inventories': inventories, 'allocations': claims})

    def set_inventories(self) -> None:
        host = self.choice.choice(self.world.hosts)
        disk = DISK_GB + self.choice.randrange(DISK_GB)
        path = f'/resource_providers/{host}/inventories'
        generation = self.call('GET', path).answer['resource_provider_generation']
        self.call('PUT', path, _inventories(generation, VCPU=VCPU, DISK_GB=disk))

    def set_traits(self) -> None:
        path = f'/resource_providers/{self.choice.choice(self.world.hosts)}/traits'
        generation = self.call('GET', path).answer['resource_provider_generation']
        traits = self.choice.sample(TRAITS, self.choice.randrange(len(TRAITS)))
        self.call('PUT', path, {'resource_provider_generation': generation, 'traits': traits})

    def look_at_host(self) -> None:
        host = self.choice.choice(self.world.hosts)
        self.call('GET', f'/resource_providers/{host}/traits')
        usages = self.call('GET', f'/resource_providers/{host}/usages')
        self.expect(usages.answer['usages']['VCPU'] <= VCPU, usages)
        held = self.call('GET', f'/resource_providers/{host}/allocations')
        used = sum(item['resources'].get('VCPU', 0) for item in held.answer['allocations'].values())
        self.expect(used <= VCPU, held)

    def look_at_projects(self) -> None:
        """Projects whose consumers only hand things to each other always have the same."""
        for project, *_ in self.world.pairs:
            usages = self.call('GET', f'/usages?project_id={project}&consumer_type=all')
            self.expect(usages.answer['usages'] == {'all': {'consumer_count': 1, 'VCPU': HANDED}}, usages)
        for root, *_ in self.world.trees:
            usages = self.call('GET', f'/usages?project_id={root}&consumer_type=all')
            self.expect(usages.answer['usages'] == {'all': {'consumer_count': VGPU, 'VGPU': VGPU}}, usages)

    def come(self) -> None:
        """A provider that will not stay."""
        uuid = new_uuid()
        self.call('POST', '/resource_providers', {'uuid': uuid, 'name': uuid})
        self.call('PUT', f'/resource_providers/{uuid}/inventories', _inventories(0, VCPU=VCPU))
        self.world.passing.append(uuid)

    def claim_from_passing(self) -> None:
        if self.world.passing:
            consumer = self.choice.choice(self.world.consumers)
            amounts = {self.choice.choice(self.world.passing[-3:]): {'VCPU': 1}}
            self.call('PUT', f'/allocations/{consumer}', body(amounts, self.generation(consumer)))

    def go(self) -> None:
        if self.world.passing:
            uuid = self.choice.choice(self.world.passing[-3:])
            if self.call('DELETE', f'/resource_providers/{uuid}').status == 204:
                gone = self.call('GET', f'/resource_providers/{uuid}')
                self.expect(gone.status == 404, gone)

    def shown(self, consumer: str) -> Any:
        return self.call('GET', f'/allocations/{consumer}').answer

    def generation(self, consumer: str) -> int | None:
        """Usually what it is, sometimes a guess."""
        if self.choice.random() < 0.1:
            return self.choice.choice([None, 1, 2])
        return self.shown(consumer).get('consumer_generation')

    def expect(self, holds: bool, call: Call) -> None:
        if not holds:
            self.world.faults.append(f'a state that no order explains: {call}')
