"""Whether what clients were told can be explained: by some order of their requests, each done at once and whole.

`load.py` records the calls, `explain` judges them:

* Per consumer it searches an order of all calls that fits the times (a call that ended before another began comes
  first) and all answers (Wing and Gong's search for a linearization). Calls without an answer may have been
  done or not.
* Per provider the generations give the order: each is handed out once, none is seen after a later one, and inventories
  and traits are at each generation what the last write up to it said.
"""

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """One request and what came of it; times are those of the client's clock. Status 0: no answer came."""

    client: int
    began: float
    ended: float
    method: str
    path: str
    body: Any
    status: int
    answer: Any

    @property
    def unknown(self) -> bool:
        """Whether it may have been done or not."""
        return self.status == 0 or self.status == 503

    @property
    def changed(self) -> bool:
        """Whether it changed something, or may have: a look, a refusal and traits that were there already did not."""
        if self.status == 200 and self.path.endswith('/traits') and self.body:
            return self.answer['resource_provider_generation'] != self.body['resource_provider_generation']
        return self.unknown or (self.method != 'GET' and self.status < 300)

    @property
    def detail(self) -> str:
        return self.answer['errors'][0]['detail'] if self.status >= 400 and self.answer else ''

    def __str__(self) -> str:
        end = '…' if self.unknown else f'{self.ended:.4f}'
        return (
            f'[{self.began:.4f} {end}] {self.client}: {self.method} {self.path} {self.body} '
            f'→ {self.status} {self.answer}'
        )


# How long before a crash a commit may have been visible without being in the database's log, in seconds: a moment, but
# on a busy machine that moment can be long.
_VISIBLE_BEFORE_LOGGED = 0.5


def explain(calls: Iterable[Call], stale_reads: bool = False, crashes: Sequence[float] = ()) -> None:
    """Assert that the calls can be explained; the message has the calls that cannot.

    With `stale_reads` an answer that changed nothing may be of any time before it, but not of the future: what a Galera
    node says that does not wait for what the others did. To clear a consumer that the node does not know of is such an
    answer, too.

    `crashes` are the times at which the database server was killed. InnoDB shows a commit to others before it is in the
    log, and acknowledges it after: what was seen in the last moment may be gone, what was acknowledged may not. Answers
    of that moment that changed nothing are thus not judged.
    """
    recorded = sorted((call for call in calls if not _seen_at(call, crashes)), key=lambda call: call.began)
    for consumer, ops in _consumer_operations(recorded).items():
        stuck = _first_inexplicable(ops, stale_reads)
        if stuck is not None:
            story = '\n'.join(str(op.call) for op in ops[max(0, stuck - 10) : stuck + 10])
            raise AssertionError(f'no order explains what clients were told of consumer {consumer}:\n{story}')
    _check_generations(recorded, stale_reads)
    _check_contents(recorded)


def _seen_at(call: Call, crashes: Iterable[float]) -> bool:
    """Whether the answer tells no more than what was seen when the database died."""
    return not call.changed and any(call.began < crash < call.ended + _VISIBLE_BEFORE_LOGGED for crash in crashes)


# --- consumers ---

# What a consumer is: its generation and all that it holds. A consumer that holds nothing is None.
Held = frozenset[tuple[str, str, int]]
State = tuple[int, Held] | None


@dataclass(frozen=True)
class _Operation:
    """A call as one consumer saw it.

    `kind` is `write` (of `held`, if it is at `generation`), `delete`, `read` (which found `state`; also a write of
    nothing that found nothing), `conflict` (it was not at `generation`) or `absent`.
    """

    call: Call
    kind: str
    generation: int | None = None
    held: Held = frozenset()
    state: State = None

    @property
    def changes(self) -> bool:
        """Whether the consumer is another one after it."""
        return self.kind in ('write', 'delete')

    @property
    def ended(self) -> float:
        return math.inf if self.call.unknown else self.call.ended

    def apply(self, state: State) -> tuple[bool, State]:
        """Whether it can happen in `state`, and the state after it."""
        at = None if state is None else state[0]
        if self.kind == 'write':
            after = ((at or 0) + 1, self.held) if self.held else None
            return at == self.generation, after
        if self.kind == 'delete':
            return state is not None, None
        if self.kind == 'read':
            return state == self.state, state
        if self.kind == 'conflict':
            return at != self.generation, state
        return state is None, state


def _consumer_operations(calls: Iterable[Call]) -> dict[str, list[_Operation]]:
    found: dict[str, list[_Operation]] = defaultdict(list)
    for call in calls:
        for consumer, operation in _operations(call):
            found[consumer].append(operation)
    return found


def _operations(call: Call) -> Iterator[tuple[str, _Operation]]:
    kind, _, consumer = call.path.strip('/').partition('/')
    if kind == 'allocations' and call.method == 'GET':
        if call.status == 200:
            yield consumer, _Operation(call, 'read', state=_shown(call.answer))
    elif kind == 'allocations' and call.method == 'DELETE':
        if call.status == 204 or call.unknown:
            yield consumer, _Operation(call, 'delete')
        elif call.status == 404:
            yield consumer, _Operation(call, 'absent')
    elif kind in ('allocations', 'reshaper'):
        bodies = {consumer: call.body} if consumer else call.body
        bodies = bodies['allocations'] if kind == 'reshaper' else bodies
        conflict = call.status == 409 and 'consumer generation conflict' in call.detail
        for uuid, body in bodies.items():
            wanted = held(body['allocations'])
            if call.status == 204 or call.unknown:
                kind = 'write' if wanted or body['consumer_generation'] is not None else 'read'
                yield uuid, _Operation(call, kind, body['consumer_generation'], wanted)
            elif conflict and len(bodies) == 1:  # else nobody knows whose
                yield uuid, _Operation(call, 'conflict', body['consumer_generation'])


def held(allocations: Mapping[str, Any]) -> Held:
    """What the `allocations` of a body or an answer say."""
    return frozenset(
        (provider, name, amount) for provider, item in allocations.items() for name, amount in item['resources'].items()
    )


def _shown(answer: Any) -> State:
    return (answer['consumer_generation'], held(answer['allocations'])) if answer['allocations'] else None


def _first_inexplicable(operations: list[_Operation], stale_reads: bool) -> int | None:
    """The place (by the time at which they began) of the first operation that no order explains together with those
    before it; None if there is an order that explains the answers of all."""
    required = sum(1 << place for place, operation in enumerate(operations) if not operation.call.unknown)
    furthest = 0
    seen: set[tuple[int, State]] = set()
    ahead: list[tuple[int, State]] = [(0, None)]
    while ahead:
        done, state = ahead.pop()
        # What changes nothing and fits is best done at once: that binds nothing else.
        while idle := [
            place
            for place in _possible(operations, done, stale_reads)
            if not operations[place].changes and operations[place].apply(state)[0]
        ]:
            done |= sum(1 << place for place in idle)
        if done & required == required:
            return None
        missing = required & ~done
        furthest = max(furthest, (missing & -missing).bit_length() - 1)
        # The one that began first is tried first.
        for place in reversed(_possible(operations, done, stale_reads)):
            fits, after = operations[place].apply(state)
            following = done | 1 << place, after
            if fits and operations[place].changes and following not in seen:
                seen.add(following)
                ahead.append(following)
    return furthest


def _possible(operations: list[_Operation], done: int, stale_reads: bool) -> list[int]:
    """The places of those that may come next: they began before any that is left ended."""
    left = [place for place in range(len(operations)) if not done >> place & 1]
    first_end = min((operations[place].ended for place in left), default=math.inf)
    return [
        place
        for place in left
        if operations[place].call.began <= first_end or (stale_reads and not operations[place].changes)
    ]


# --- providers ---


def _check_generations(calls: Iterable[Call], stale_reads: bool) -> None:
    """Generations that were handed out are used once, and nobody sees an older one after a newer one."""
    writers: dict[tuple[str, int], Call] = {}
    seen: dict[str, list[tuple[float, float, int, Call]]] = defaultdict(list)
    for call in calls:
        provider, generation = _generation(call)
        if provider is None or generation is None:
            continue
        seen[provider].append((call.began, call.ended, generation, call))
        if call.changed:
            assert generation == call.body['resource_provider_generation'] + 1, call
            other = writers.setdefault((provider, generation), call)
            assert other is call, f'two writes got generation {generation}:\n{other}\n{call}'
    for looks in () if stale_reads else seen.values():
        newest, by = -1, None
        ended = sorted(looks, key=lambda look: look[1])
        place = 0
        for began, _, generation, call in sorted(looks, key=lambda look: look[0]):
            while ended[place][1] < began:
                if ended[place][2] > newest:
                    newest, by = ended[place][2], ended[place][3]
                place += 1
            assert generation >= newest, f'generation {generation} was seen after {newest}:\n{by}\n{call}'


def _generation(call: Call) -> tuple[str | None, int | None]:
    parts = call.path.strip('/').split('/')
    if parts[0] != 'resource_providers' or len(parts) < 3 or call.status != 200:
        return None, None
    return parts[1], call.answer['resource_provider_generation']


def _check_contents(calls: Sequence[Call]) -> None:
    """Inventories and traits are at each generation what the last write up to it said.

    Not so of providers that were reshaped: nobody is told which generation they came to by that.
    """
    reshaped = {uuid for call in calls if call.path == '/reshaper' for uuid in call.body['inventories']}
    for suffix, content in (('/inventories', _totals), ('/traits', _traits)):
        written: dict[str, list[tuple[int, Any, bool]]] = defaultdict(list)
        read: dict[str, list[tuple[int, Any, Call]]] = defaultdict(list)
        for call in calls:
            parts = call.path.strip('/').split('/')
            if parts[0] != 'resource_providers' or not call.path.endswith(suffix) or parts[1] in reshaped:
                continue
            if call.method == 'GET' and call.status == 200:
                read[parts[1]].append((call.answer['resource_provider_generation'], content(call.answer), call))
            elif call.method == 'PUT' and call.status == 200:
                generation = call.answer['resource_provider_generation']
                written[parts[1]].append((generation, content(call.body), True))
            elif call.method == 'PUT' and call.unknown:
                written[parts[1]].append((call.body['resource_provider_generation'] + 1, content(call.body), False))
        for provider, looks in read.items():
            writes = sorted(written.get(provider, []), key=lambda write: write[0])
            for generation, found, call in looks:
                possible = []
                before = bisect.bisect_right(writes, generation, key=lambda write: write[0])
                for _, said, certain in reversed(writes[:before]):
                    possible.append(said)
                    if certain:
                        break
                else:
                    continue  # nothing certain was written before
                assert found in possible, f'{found} instead of {possible}:\n{call}'


def _totals(said: Any) -> Any:
    return {name: item['total'] for name, item in said['inventories'].items()}


def _traits(said: Any) -> Any:
    return sorted(said['traits'])
