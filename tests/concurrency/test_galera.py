"""Clients write through all three nodes of a Galera cluster at once, each node behind a service of its own.

There, nobody waits for the lock of a client of another node: what the nodes cannot both do fails at the COMMIT of the
slower one, and has to be done again.
"""

import contextlib
import os
import tempfile
import time
from pathlib import Path

import pytest

from tests import claims, galera, invariants, live, service
from tests.claims import held, new_uuid, put, used
from tests.client import Client
from tests.concurrency import history, load
from tests.concurrency.racing import race, statuses

# A cluster takes half a minute to come up; there is one for all tests, in one process of the test run.
pytestmark = [pytest.mark.soak, pytest.mark.xdist_group('galera')]

SECONDS = float(os.environ.get('PLACEMENT_TEST_HISTORY_SECONDS', '10'))


@pytest.fixture(scope='module')
def nodes():
    if reason := galera.missing():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory(prefix='placement-galera-', ignore_cleanup_errors=True) as directory,
        galera.cluster(Path(directory)) as nodes,
    ):
        service.create_schema(nodes[0].url)
        yield nodes


@pytest.fixture(scope='module')
def urls(nodes, tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(live.serve(node.url, tmp_path_factory.mktemp('node'), threads=12)) for node in nodes]


@pytest.fixture(scope='module')
def clients(urls):
    return [Client.of_url(url) for url in urls]


@pytest.fixture
def client(clients):
    return clients[0]


@pytest.fixture(autouse=True)
def sound(nodes):
    yield
    for node in nodes:
        invariants.check(node.url)


def test_one_provider_is_not_given_out_twice(urls, client):
    host = claims.provider(client, VCPU=50)
    answers = race(urls, lambda caller, _: put(caller, new_uuid(), {host: {'VCPU': 1}}), range(150))
    wins = statuses(answers)[204]
    assert statuses(answers).keys() == {204, 409}
    assert used(client, host) == {'VCPU': wins}
    # 409s of lost races do not count as refusals for want of capacity; there may be some left.
    assert 40 <= wins <= 50


def test_last_slots(urls, client):
    hosts = [claims.provider(client, VCPU=1) for _ in range(20)]
    answers = race(urls, lambda caller, number: put(caller, new_uuid(), {hosts[number // 8]: {'VCPU': 1}}), range(160))
    assert statuses(answers) == {204: 20, 409: 140}
    assert [used(client, host) for host in hosts] == [{'VCPU': 1}] * 20


def test_creators_of_one_consumer(urls, clients):
    hosts = [claims.provider(clients[0], VCPU=100) for _ in range(24)]
    for _ in range(3):
        consumer = new_uuid()
        answers = race(
            urls, lambda caller, host, consumer=consumer: (host, put(caller, consumer, {host: {'VCPU': 1}})), hosts
        )
        (winner,) = [host for host, answer in answers if answer.status_code == 204]
        lost = [answer for host, answer in answers if host != winner]
        assert statuses(lost) == {409: len(hosts) - 1}
        assert all('consumer generation conflict' in claims.detail(answer) for answer in lost)
        for caller in clients:
            assert held(caller, consumer) == {winner: {'VCPU': 1}}


def test_two_providers_in_opposite_orders(urls, client):
    one, two = (claims.provider(client, VCPU=10_000) for _ in range(2))

    def claim(caller, number):
        order = [one, two] if number % 2 else [two, one]
        return put(caller, new_uuid(), {host: {'VCPU': 1} for host in order})

    answers = race(urls, claim, range(120))
    assert statuses(answers).keys() <= {204, 409}
    wins = statuses(answers)[204]
    assert [used(client, host) for host in (one, two)] == [{'VCPU': wins}] * 2


def test_new_aggregates_of_many_providers(urls, client):
    hosts = [claims.provider(client, VCPU=1) for _ in range(20)]
    aggregates = [new_uuid() for _ in range(5)]

    def join(caller, host):
        wanted = {'resource_provider_generation': 1, 'aggregates': aggregates}
        return caller.call('PUT', f'/resource_providers/{host}/aggregates', wanted)

    assert statuses(race(urls, join, hosts)) == {200: 20}


def test_history(nodes, urls):
    """Reads may be of the past, of one and the same moment of it; writes may not."""
    world = load.build(urls[0])
    before = invariants.check(nodes[0].url)
    load.run(world, urls, SECONDS, seed=int.from_bytes(os.urandom(4)))
    load.settle(world, urls[0])
    invariants.check(nodes[0].url, before)
    history.explain(world.calls, stale_reads=True)


def test_history_of_causal_reads(nodes, tmp_path_factory):
    """With wsrep_sync_wait, each node knows what was acknowledged by any: no answer is of the past."""
    with contextlib.ExitStack() as stack:
        urls = []
        for node in nodes:
            database = f'{node.url}?init_command=SET SESSION wsrep_sync_wait = 7'
            urls.append(stack.enter_context(live.serve(database, tmp_path_factory.mktemp('causal'), threads=8)))
        world = load.build(urls[0])
        load.run(world, urls, SECONDS, seed=int.from_bytes(os.urandom(4)))
        load.settle(world, urls[0])
    history.explain(world.calls)


def test_node_killed_and_back(nodes, urls):
    """The others go on; its service says 503 until it is back, and then serves again by itself."""
    world = load.build(urls[0])
    before = invariants.check(nodes[0].url)

    def accident():
        time.sleep(3)
        nodes[2].kill()
        time.sleep(8)
        nodes[2].start()
        time.sleep(5)

    load.run(world, urls, 600, seed=1, meanwhile=accident)
    load.settle(world, urls[2])
    invariants.check(nodes[2].url, before)
    history.explain(world.calls, stale_reads=True)
