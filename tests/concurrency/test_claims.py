"""Many clients claim at once, through several worker processes: nothing is given out twice, nothing is lost.

The probes are histories that over-allocate, lose allocations, deadlock or answer 500 elsewhere (decisions A01 to A09).
"""

import collections
import concurrent.futures
import random
import threading

import pytest

from tests import claims, live
from tests.claims import body, detail, held, new_uuid, put, used
from tests.client import Client

CLIENTS = 32


@pytest.fixture
def url(database, tmp_path):
    with live.serve(database.url, tmp_path, workers=2, threads=16) as address:
        yield address


@pytest.fixture
def client(url):
    return Client.of_url(url)


@pytest.fixture
def together(url):
    """Runs `work(client, argument)` for each argument, on 32 connections at once; returns the results in order."""
    local = threading.local()

    def run(work, arguments):
        def one(argument):
            if not hasattr(local, 'client'):
                local.client = Client.of_url(url)
            return work(local.client, argument)

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(one, arguments))

    return run


def statuses(answers):
    return collections.Counter(answer.status_code for answer in answers)


def test_claims_on_four_hosts(client, together, database):
    """Capacities are never exceeded, every 204 can be read back, and everything refused was too much."""
    sizes = {claims.provider(client, VCPU=size, MEMORY_MB=10_000): size for size in (20, 30, 40, 50)}

    def claim(caller, number):
        choice = random.Random(number)
        host, consumer, amount = choice.choice(list(sizes)), new_uuid(), choice.randint(1, 3)
        answer = put(caller, consumer, {host: {'VCPU': amount, 'MEMORY_MB': 1}})
        return host, consumer, amount, answer

    outcomes = together(claim, range(320))
    accepted = [outcome for outcome in outcomes if outcome[3].status_code == 204]
    refused = [answer for *_, answer in outcomes if answer.status_code != 204]
    for host, size in sizes.items():
        stored = used(client, host)
        assert stored['VCPU'] == sum(amount for place, _, amount, _ in accepted if place == host)
        assert stored['MEMORY_MB'] == sum(place == host for place, *_ in accepted)
        # All but the last few units are given out: nobody is refused without need.
        assert size - 2 <= stored['VCPU'] <= size
    for host, consumer, amount, _ in accepted:
        assert held(client, consumer) == {host: {'VCPU': amount, 'MEMORY_MB': 1}}
    assert statuses(refused).keys() == {409}
    assert {detail(answer).rpartition('. ')[2] for answer in refused} == {
        'The requested amount would exceed the capacity.'
    }
    assert len(database.rows('SELECT id FROM consumers')) == len(accepted)


def test_one_provider_is_not_given_out_twice(client, together):
    """200 clients and 50 units: exactly 50 get one."""
    host = claims.provider(client, VCPU=50)
    answers = together(lambda caller, _: put(caller, new_uuid(), {host: {'VCPU': 1}}), range(200))
    assert statuses(answers) == {204: 50, 409: 150}
    assert used(client, host) == {'VCPU': 50}


def test_last_slots(client, together):
    """Eight clients race for the only unit of each of 20 providers."""
    hosts = [claims.provider(client, VCPU=1) for _ in range(20)]
    answers = together(lambda caller, number: put(caller, new_uuid(), {hosts[number // 8]: {'VCPU': 1}}), range(160))
    assert statuses(answers) == {204: 20, 409: 140}
    assert [used(client, host) for host in hosts] == [{'VCPU': 1}] * 20


def test_creators_of_one_consumer(client, together):
    """One of 32 wins, its allocation is there; the others hear that the consumer exists."""
    host = claims.provider(client, VCPU=10_000)
    for _ in range(4):
        consumer = new_uuid()
        answers = together(
            lambda caller, number, consumer=consumer: (number, put(caller, consumer, {host: {'VCPU': number}})),
            range(1, CLIENTS + 1),
        )
        (winner,) = [number for number, answer in answers if answer.status_code == 204]
        assert held(client, consumer) == {host: {'VCPU': winner}}
        lost = [answer for number, answer in answers if number != winner]
        assert statuses(lost) == {409: CLIENTS - 1}
        for answer in lost:
            assert claims.code(answer) == 'placement.concurrent_update'
            assert 'consumer generation conflict' in detail(answer)
        client.must('DELETE', f'/allocations/{consumer}')


def test_creators_of_one_consumer_on_many_hosts(client, together, database):
    """As above, where not even the hosts make them queue."""
    hosts = [claims.provider(client, VCPU=10) for _ in range(CLIENTS)]
    consumer = new_uuid()
    answers = together(lambda caller, host: put(caller, consumer, {host: {'VCPU': 1}}), hosts)
    assert statuses(answers) == {204: 1, 409: CLIENTS - 1}
    assert all('consumer generation conflict' in detail(answer) for answer in answers if answer.status_code == 409)
    (winner,) = [host for host, answer in zip(hosts, answers, strict=True) if answer.status_code == 204]
    assert held(client, consumer) == {winner: {'VCPU': 1}}
    assert len(database.rows('SELECT id FROM allocations')) == 1


def test_first_mentions_of_one_project(client, together, database):
    """New projects, users and types that many name at once are made once."""
    hosts = [claims.provider(client, VCPU=10) for _ in range(CLIENTS)]
    answers = together(lambda caller, host: put(caller, new_uuid(), {host: {'VCPU': 1}}), hosts)
    assert statuses(answers) == {204: CLIENTS}
    for table in ('projects', 'users', 'consumer_types'):
        assert len(database.rows(f'SELECT id FROM {table}')) == 1


def test_two_providers_in_opposite_orders(client, together):
    one, two = (claims.provider(client, VCPU=10_000) for _ in range(2))

    def claim(caller, number):
        order = [one, two] if number % 2 else [two, one]
        return put(caller, new_uuid(), {host: {'VCPU': 1} for host in order})

    assert statuses(together(claim, range(200))) == {204: 200}
    assert [used(client, host) for host in (one, two)] == [{'VCPU': 200}] * 2


def test_moves_that_cross(client, together):
    """Consumers swap between two full hosts, all at once: after each, both hosts are as full as before."""
    one, two = (claims.provider(client, VCPU=8) for _ in range(2))
    pairs = [
        (claims.consumer(client, {one: {'VCPU': 1}}), claims.consumer(client, {two: {'VCPU': 1}})) for _ in range(8)
    ]

    def swap(caller, number):
        first, second = pairs[number % len(pairs)]
        for _ in range(20):
            state = {consumer: claims.shown(caller, consumer) for consumer in (first, second)}
            places = [next(iter(shown['allocations'])) for shown in state.values()]
            wanted = {
                consumer: body({place: {'VCPU': 1}}, shown['consumer_generation'])
                for (consumer, shown), place in zip(state.items(), reversed(places), strict=True)
            }
            answer = claims.post(caller, wanted)
            if answer.status_code == 204:
                return True
            assert 'consumer generation conflict' in detail(answer)
        return False

    assert all(together(swap, range(32)))
    assert [used(client, host) for host in (one, two)] == [{'VCPU': 8}] * 2


def test_new_aggregates_of_many_providers(client, together):
    hosts = [claims.provider(client, VCPU=1) for _ in range(20)]
    aggregates = [new_uuid() for _ in range(5)]

    def join(caller, host):
        wanted = {'resource_provider_generation': 1, 'aggregates': aggregates}
        return caller.call('PUT', f'/resource_providers/{host}/aggregates', wanted)

    assert statuses(together(join, hosts)) == {200: 20}
    for host in hosts:
        stored = client.must('GET', f'/resource_providers/{host}/aggregates').json()['aggregates']
        assert sorted(stored) == sorted(aggregates)
