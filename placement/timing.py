"""Where the time of an answer goes, for the header Server-Timing (`[api] server_timing`) and the metrics, both off by
default.

`requestlog.ServerTiming` and `placement.prometheus` measure with a `Clock` for each request. Code that takes its time
says so: `with timing.part('encode'): …`; `watch`, called by `db/engine.py`, sees the statements. Without a clock they
do nothing.
"""

import contextlib
import contextvars
import time
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa


class Clock:
    """Seconds by part of one request; a part within another one does not count for the outer one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.running: list[str] = []
        self.last = time.perf_counter()

    def parts(self) -> dict[str, float]:
        """The seconds so far, by part."""
        self._lap()
        return self.seconds

    def header(self) -> str:
        """The seconds so far as the value of a Server-Timing header, which counts in milliseconds."""
        seconds = self.parts()
        parts = {'total': sum(seconds.values()), **seconds}
        return ', '.join(f'{name};dur={seconds * 1000:.2f}' for name, seconds in parts.items())

    def _lap(self) -> None:
        now = time.perf_counter()
        if self.running:
            self.seconds[self.running[-1]] = self.seconds.get(self.running[-1], 0.0) + now - self.last
        self.last = now

    def start(self, name: str) -> None:
        """A part begins."""
        self._lap()
        self.running.append(name)

    def stop(self) -> None:
        """The part that began last ends."""
        self._lap()
        self.running.pop()


_clock: contextvars.ContextVar[Clock | None] = contextvars.ContextVar('placement_clock', default=None)


@contextlib.contextmanager
def measuring() -> Iterator[Clock]:
    """Measure the request that this thread answers in the block; time outside of all parts counts as `other`.

    If a clock measures the request already, it is that one.
    """
    running = _clock.get()
    if running is not None:
        yield running
        return
    clock = Clock()
    token = _clock.set(clock)
    clock.start('other')
    try:
        yield clock
    finally:
        _clock.reset(token)


def part(name: str) -> contextlib.AbstractContextManager[None]:
    """Count the time of the block for this part of the request."""
    clock = _clock.get()
    return contextlib.nullcontext() if clock is None else _running(clock, name)


@contextlib.contextmanager
def _running(clock: Clock, name: str) -> Iterator[None]:
    clock.start(name)
    try:
        yield
    finally:
        clock.stop()


def watch(engine: sa.Engine) -> None:
    """Count the time of the engine's statements as `database`."""

    def before(*_arguments: Any) -> None:
        clock = _clock.get()
        if clock is not None:
            clock.start('database')

    def after(*_arguments: Any) -> None:
        clock = _clock.get()
        if clock is not None and clock.running[-1:] == ['database']:
            clock.stop()

    sa.event.listen(engine, 'before_cursor_execute', before)
    sa.event.listen(engine, 'after_cursor_execute', after)
    sa.event.listen(engine, 'handle_error', after)
