"""Step 4 of the solver: a `Result` becomes the JSON body of its microversion (contract: candidates.md 3.2, 5).

The body is made in chunks, while they are taken, so that a large one is never in memory as a whole. There are no
Python objects for candidates: those of a chunk are one template, filled in with encoded uuids. What repeats is encoded
once: the uuid of a provider, the traits of alike providers, the form of candidates that share slots among providers in
the same way. All of it is ASCII. Nothing can fail on the way: all that a chunk needs is at hand.
"""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from placement.query_values import Version
from placement.solver.candidates import SUMMARY_TRAITS, Result
from placement.solver.plan import Slot
from placement.solver.topology import Ints, Tree

ALLOCATIONS_BY_UUID = (1, 12)
ALL_CLASSES = (1, 27)
TREES = (1, 29)
MAPPINGS = (1, 34)

# The size of a chunk in bytes, at least, but for the last one.
CHUNK = 128 * 1024
# About so many bytes of a candidate tell of one slot.
_PER_SLOT = 128
# Summaries are prepared for so many providers at once.
_PORTION = 1024
# Forms are kept for the candidates of so many chunks, since there may be as many forms as candidates; so many
# lists of traits, and so many texts about an inventory.
_FORMS, _LISTS, _FIGURES = 8, 256, 4096


class Form(NamedTuple):
    """What candidates that share slots among providers in one way have in common: the text, with `%s` for each uuid,
    and the slots whose providers these are."""

    template: bytes
    slots: Ints


def body(result: Result) -> Iterator[bytes]:
    """The JSON body, in chunks of `CHUNK` bytes or somewhat more."""
    pieces: list[bytes] = []
    size = 0
    for piece in _pieces(result):
        pieces.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield b''.join(pieces)
            pieces, size = [], 0
    yield b''.join(pieces)


def summaries(result: Result) -> dict[str, Any]:
    """The provider summaries as the client sees them."""
    parsed: dict[str, Any] = json.loads(b'{%s}' % b','.join(_summaries(result)))
    return parsed


def _pieces(result: Result) -> Iterator[bytes]:
    yield b'{"allocation_requests":['
    yield from _separated(_requests(result))
    yield b'],"provider_summaries":{'
    yield from _separated(_summaries(result))
    yield b'}}'


def _separated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    separator = b''
    for piece in pieces:
        yield separator
        yield piece
        separator = b','


def _text(value: str) -> bytes:
    return json.dumps(value).encode()


def _list(names: Iterable[str]) -> bytes:
    return json.dumps(sorted(names)).encode()


def _escaped(name: str) -> bytes:
    return _text(name).replace(b'%', b'%%')


def _uuids(tree: Tree, rows: list[int]) -> list[bytes]:
    """The encoded uuids of these rows; null for the row -1."""
    encoded = tree.encoded
    if missing := set(rows) - encoded.keys():
        encoded.update((row, b'null' if row < 0 else _text(tree.uuids[row])) for row in missing)
    return [encoded[row] for row in rows]


# --- allocation requests ---


def _requests(result: Result) -> Iterator[bytes]:
    """The allocation requests, several in one piece."""
    if result.plan is None:
        return
    slots, version, tree = result.plan.slots, result.query.version, result.topology.tree
    at_once = max(1, CHUNK // (_PER_SLOT * len(slots)))
    form_of = functools.lru_cache(_FORMS * at_once)(functools.partial(_form, slots, version))
    for start in range(0, len(result.choices), at_once):
        choices = result.choices[start : start + at_once]
        found = [form_of(key) for key in _owners(choices)]
        template = b','.join([form.template for form in found])
        candidates = np.repeat(np.arange(len(choices)), [len(form.slots) for form in found])
        rows = choices[candidates, np.concatenate([form.slots for form in found])]
        yield template % tuple(_uuids(tree, rows.tolist()))


def _owners(choices: Ints) -> Iterator[bytes]:
    """By candidate, as the bytes of an array: for each slot, the first slot that has the same provider."""
    order = np.argsort(choices, axis=1, kind='stable')
    ordered = np.take_along_axis(choices, order, axis=1)
    is_first = np.ones(choices.shape, np.bool_)
    is_first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.maximum.accumulate(np.where(is_first, np.arange(choices.shape[1]), 0), axis=1)
    owners = np.empty(choices.shape, np.int64)
    np.put_along_axis(owners, order, np.take_along_axis(order, starts, axis=1), axis=1)
    raw, width = owners.tobytes(), choices.shape[1] * owners.itemsize
    return (raw[start : start + width] for start in range(0, len(raw), width))


def _form(slots: tuple[Slot, ...], version: Version, key: bytes) -> Form:
    """The form of all candidates with these `_owners`."""
    owners = np.frombuffer(key, np.int64).tolist()
    amounts: dict[int, dict[str, int]] = {}
    groups: dict[str, dict[int, None]] = {}
    for slot, owner in zip(slots, owners, strict=True):
        groups.setdefault(slot.suffix, {})[owner] = None
        for resource_class, amount in slot.demands:
            sums = amounts.setdefault(owner, {})
            sums[resource_class] = sums.get(resource_class, 0) + amount
    # `%s` in what is filled in later is the place of a uuid.
    places = list(amounts)
    one, all_of = b'%%s:{"resources":{%s}}', b'{"allocations":{%s}'
    if version < ALLOCATIONS_BY_UUID:
        one, all_of = b'{"resource_provider":{"uuid":%%s},"resources":{%s}}', b'{"allocations":[%s]'
    parts = [
        one % b','.join(b'%s:%d' % (_escaped(name), amount) for name, amount in sums.items())
        for sums in amounts.values()
    ]
    template = all_of % b','.join(parts)
    if version >= MAPPINGS:
        mappings = []
        for suffix, providers in groups.items():
            places += providers
            mappings.append(b'%s:[%s]' % (_escaped(suffix), b','.join([b'%s'] * len(providers))))
        template += b',"mappings":{%s}' % b','.join(mappings)
    return Form(template + b'}', np.array(places, np.int64))


# --- provider summaries ---


def _summaries(result: Result) -> Iterator[bytes]:
    """One `uuid: summary` per provider."""
    tree, version = result.topology.tree, result.query.version
    has_traits, has_tree = version >= SUMMARY_TRAITS, version >= TREES
    list_of = functools.lru_cache(_LISTS)(_list)
    resources = _resources(result)
    for start in range(0, len(result.summary_rows), _PORTION):
        rows = result.summary_rows[start : start + _PORTION]
        relatives = zip(*(_uuids(tree, column[rows].tolist()) for column in (tree.parents, tree.roots)), strict=True)
        ids, uuids = tree.ids[rows].tolist(), _uuids(tree, rows.tolist())
        for provider_id, uuid, (parent, root), figures in zip(ids, uuids, relatives, resources, strict=False):
            parts = [uuid, b':{"resources":{', figures, b'}']
            if has_traits:
                parts += (b',"traits":', list_of(tuple(result.traits.get(provider_id, ()))))
            if has_tree:
                parts += (b',"parent_provider_uuid":', parent, b',"root_provider_uuid":', root)
            parts.append(b'}')
            yield b''.join(parts)


def _resources(result: Result) -> Iterator[bytes]:
    """By summarised provider, the classes to be shown with capacity and usage."""
    stock = result.topology.stock
    requested = {name for group in result.query.groups for name in group.resources}
    is_shown = np.zeros(result.topology.size, np.bool_)
    is_shown[result.summary_rows] = True
    parts = {
        name: part.start + np.flatnonzero(is_shown[stock.rows[part]])
        for name, part in stock.of_class.items()
        if name in requested or result.query.version >= ALL_CLASSES
    }
    names = [_text(name) for name in parts]
    numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts.values()])
    places = np.concatenate(list(parts.values()))
    # By provider, and for each the classes in their order.
    order = np.argsort(stock.rows[places], kind='stable')
    places, numbers = places[order], numbers[order]
    edges = np.searchsorted(stock.rows[places], np.append(result.summary_rows, result.topology.size))

    @functools.lru_cache(_FIGURES)
    def encoded(number: int, capacity: float, used: int) -> bytes:
        return b'%s:{"capacity":%d,"used":%d}' % (names[number], capacity, used)

    for start in range(0, len(result.summary_rows), _PORTION):
        ends = edges[start : start + _PORTION + 1]
        window = slice(ends[0], ends[-1])
        columns = (numbers[window], stock.capacity[places[window]], result.usage.used[places[window]])
        shown = list(map(encoded, *(column.tolist() for column in columns)))
        yield from (b','.join(shown[first:last]) for first, last in itertools.pairwise((ends - ends[0]).tolist()))
