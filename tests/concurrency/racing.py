"""Many clients at once over sockets: used by the tests of this folder."""

import collections
import concurrent.futures
import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import httpx

from tests.client import Client

A = TypeVar('A')
T = TypeVar('T')

CLIENTS = 24


def race(urls: Sequence[str], work: Callable[[Client, A], T], arguments: Iterable[A]) -> list[T]:
    """Run `work(client, argument)` for each argument, on many connections that share the `urls`; results in order."""
    turns, lock, local = itertools.cycle(urls), threading.Lock(), threading.local()

    def one(argument: A) -> T:
        if not hasattr(local, 'client'):
            with lock:
                local.client = Client.of_url(next(turns))
        return work(local.client, argument)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(one, arguments))


def statuses(answers: Iterable[httpx.Response]) -> collections.Counter[int]:
    return collections.Counter(answer.status_code for answer in answers)
