"""Runs calls at the same moment, for tests of races within one process."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar('T')


def together(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Run all calls, each in a thread of its own, released at once; what they return, in their order."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        gate.wait(timeout=30)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
