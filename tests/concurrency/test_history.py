"""Random clients over two worker processes: the database stays sound, and some order explains what they were told."""

import os

import pytest

from tests import invariants, live
from tests.concurrency import history, load
from tests.concurrency.history import Call

SECONDS = float(os.environ.get('PLACEMENT_TEST_HISTORY_SECONDS', '6'))


def test_history(database, tmp_path):
    with live.serve(database.url, tmp_path, workers=2, threads=8) as url:
        world = load.build(url)
        before = invariants.check(database.url)
        load.run(world, [url], SECONDS, seed=int.from_bytes(os.urandom(4)))
        load.settle(world, url)
    invariants.check(database.url, before)
    history.explain(world.calls)
    # It was a load, and not a queue of refusals.
    acknowledged = [call for call in world.calls if call.status in (200, 201, 204) and call.method != 'GET']
    assert len(acknowledged) > 50


# --- the judge is just ---

CONSUMER, HOST = 'consumer', 'host'


def put(began, ended, generation, amount, status=204, detail=''):
    wanted = {HOST: {'resources': {'VCPU': amount}}} if amount else {}
    answer = {'errors': [{'detail': detail}]} if detail else None
    body = {'allocations': wanted, 'consumer_generation': generation}
    return Call(0, began, ended, 'PUT', f'/allocations/{CONSUMER}', body, status, answer)


def get(began, ended, generation, amount):
    wanted = {HOST: {'resources': {'VCPU': amount}}} if amount else {}
    answer = {'allocations': wanted, 'consumer_generation': generation}
    return Call(0, began, ended, 'GET', f'/allocations/{CONSUMER}', None, 200, answer)


def delete(began, ended, status=204):
    return Call(0, began, ended, 'DELETE', f'/allocations/{CONSUMER}', None, status, None)


def traits(began, ended, method, generation, *names):
    body = {'resource_provider_generation': generation - 1, 'traits': list(names)} if method == 'PUT' else None
    answer = {'resource_provider_generation': generation, 'traits': list(names)}
    return Call(0, began, ended, method, f'/resource_providers/{HOST}/traits', body, 200, answer)


CONFLICT = {'status': 409, 'detail': 'consumer generation conflict'}


@pytest.mark.parametrize(
    'calls',
    [
        [put(0, 1, None, 1), get(2, 3, 1, 1)],
        [put(0, 3, None, 1), get(1, 2, None, 0), get(2, 4, 1, 1)],
        [put(0, 1, None, 1), put(2, 3, 1, 2), delete(4, 5), get(6, 7, None, 0), put(8, 9, None, 3), get(10, 11, 1, 3)],
        [put(0, 2, None, 1), put(0, 2, None, 2, **CONFLICT), get(3, 4, 1, 1)],
        # An answer that never came: done late, or not at all.
        [put(0, 1, None, 1), put(2, 3, 1, 2, status=0), get(4, 5, 1, 1), get(6, 7, 2, 2)],
        [put(0, 1, None, 1), put(2, 3, 1, 2, status=503), get(4, 5, 1, 1)],
        [traits(0, 1, 'PUT', 1, 'A'), traits(2, 3, 'GET', 1, 'A'), traits(4, 5, 'GET', 2, 'A')],
        # Nothing to clear, and nothing is known of it.
        [put(0, 1, None, 0), put(2, 3, None, 0, status=0), put(4, 5, None, 1), get(6, 7, 1, 1)],
    ],
)
def test_explicable(calls):
    history.explain(calls)


@pytest.mark.parametrize(
    'calls',
    [
        # A lost write, a write done twice, two creators, a read of the past, of the future, of half.
        [put(0, 1, None, 1), get(2, 3, None, 0)],
        [put(0, 1, None, 1), put(2, 3, 1, 2), get(4, 5, 3, 2)],
        [put(0, 2, None, 1), put(1, 3, None, 2)],
        [put(0, 1, None, 1), put(2, 3, 1, 2), get(4, 5, 1, 1)],
        [get(0, 1, 1, 1), put(2, 3, None, 1)],
        [put(0, 1, None, 2), get(2, 3, 1, 1)],
        [put(0, 1, None, 1, **CONFLICT)],
        [put(0, 1, None, 1), delete(2, 3, 404)],
        [put(0, 1, None, 1), delete(2, 3), delete(4, 5)],
        # What is there is not cleared by one who does not know of it.
        [put(0, 1, None, 1), put(2, 3, None, 0), get(4, 5, 1, 1)],
        # What is unknown was seen, and then was not.
        [put(0, 1, None, 1, status=0), get(2, 3, 1, 1), get(4, 5, None, 0)],
        [traits(0, 1, 'PUT', 1, 'A'), traits(2, 3, 'PUT', 1, 'B')],
        [traits(0, 1, 'PUT', 1, 'A'), traits(2, 3, 'GET', 2, 'B')],
        [traits(0, 1, 'GET', 2, 'A'), traits(2, 3, 'GET', 1, 'A')],
    ],
)
def test_inexplicable(calls):
    with pytest.raises(AssertionError):
        history.explain(calls)


@pytest.mark.parametrize(
    'look', [get(2, 3, None, 0), put(2, 3, None, 0), delete(2, 3, 404), put(2, 3, 1, 2, **CONFLICT)]
)
def test_a_node_may_say_what_was(look):
    calls = [put(0, 1, None, 1), look, get(4, 5, 1, 1)]
    history.explain(calls, stale_reads=True)
    with pytest.raises(AssertionError):
        history.explain(calls)


def test_no_node_may_do_what_was():
    for done in (put(2, 3, None, 2), put(2, 3, 2, 0), put(2, 3, 2, 1)):
        with pytest.raises(AssertionError):
            history.explain([put(0, 1, None, 1), done], stale_reads=True)


# Some of what is unknown was seen, and went with the database that was killed at 4.2.
SEEN_AND_LOST = [put(0, 1, None, 1), put(2, 3, 1, 2, status=0), get(3, 4, 2, 2), get(5, 6, 1, 1)]
SEEN_AND_LOST_TRAITS = [
    traits(0, 1, 'PUT', 1, 'A'),
    traits(2, 4, 'GET', 2, 'A', 'B'),
    traits(5, 6, 'GET', 1, 'A'),
    traits(7, 8, 'PUT', 2, 'C'),
]


@pytest.mark.parametrize('calls', [SEEN_AND_LOST, SEEN_AND_LOST_TRAITS])
def test_what_was_seen_may_go_with_the_database(calls):
    history.explain(calls, crashes=[4.2])
    for crashes in ([], [1.5], [4.9]):
        with pytest.raises(AssertionError):
            history.explain(calls, crashes=crashes)


def test_what_was_acknowledged_may_not():
    with pytest.raises(AssertionError):
        history.explain([put(0, 1, None, 1), put(2, 4, 1, 2), get(5, 6, 1, 1)], crashes=[4.2])
    with pytest.raises(AssertionError):
        history.explain([put(0, 1, None, 1), delete(2, 4), get(5, 6, 1, 1)], crashes=[4.2])
