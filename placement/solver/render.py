"""Step 4 of the solver: a `Result` becomes the JSON body of its microversion (contract: candidates.md 3.2, 5).

The body is put together from encoded fragments, without Python objects for candidates in between. What repeats is
encoded once: the uuid of a provider, the traits of alike providers, and for candidates that share slots among
providers in the same way, all but these uuids. All of it is ASCII.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from placement.query_values import Version
from placement.solver.candidates import SUMMARY_TRAITS, Result
from placement.solver.plan import Slot
from placement.solver.topology import Tree

ALLOCATIONS_BY_UUID = (1, 12)
ALL_CLASSES = (1, 27)
TREES = (1, 29)
MAPPINGS = (1, 34)

# Which slots share a provider: by slot, the number of its provider, counted in the order of first appearance.
Sharing = tuple[int, ...]
# Makes an encoded candidate of the encoded uuids of its providers, in the order of first appearance.
Form = Callable[[list[bytes]], bytes]


def body(result: Result) -> bytes:
    """The whole JSON body."""
    return b'{"allocation_requests":[%s],"provider_summaries":{%s}}' % (
        b','.join(_requests(result)),
        b','.join(_summaries(result)),
    )


def summaries(result: Result) -> dict[str, Any]:
    """The provider summaries as the client sees them."""
    parsed: dict[str, Any] = json.loads(b'{%s}' % b','.join(_summaries(result)))
    return parsed


def _text(value: str) -> bytes:
    return json.dumps(value).encode()


def _uuid(tree: Tree, row: int) -> bytes:
    encoded = tree.encoded.get(row)
    if encoded is None:
        encoded = tree.encoded[row] = _text(tree.uuids[row])
    return encoded


def _requests(result: Result) -> Iterator[bytes]:
    """One allocation request per candidate."""
    if result.plan is None:
        return
    forms: dict[Sharing, Form] = {}
    for choice in result.choices.tolist():
        numbers: dict[int, int] = {}
        sharing = tuple([numbers.setdefault(row, len(numbers)) for row in choice])
        form = forms.get(sharing)
        if form is None:
            form = forms[sharing] = _form(result.plan.slots, sharing, result.query.version)
        yield form([_uuid(result.topology.tree, row) for row in numbers])


def _form(slots: tuple[Slot, ...], sharing: Sharing, version: Version) -> Form:
    """The form of all candidates that share slots among providers in one way."""
    amounts: dict[int, dict[str, int]] = {}
    groups: dict[str, dict[int, None]] = {}
    for slot, provider in zip(slots, sharing, strict=True):
        groups.setdefault(slot.suffix, {})[provider] = None
        for resource_class, amount in slot.demands:
            sums = amounts.setdefault(provider, {})
            sums[resource_class] = sums.get(resource_class, 0) + amount
    # `%` in what is filled in later is the place of a uuid; `places` says whose.
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
    template += b'}'
    return lambda uuids: template % tuple([uuids[place] for place in places])


def _escaped(name: str) -> bytes:
    return _text(name).replace(b'%', b'%%')


def _summaries(result: Result) -> Iterator[bytes]:
    """One `uuid: summary` per provider."""
    tree, version = result.topology.tree, result.query.version
    resources = _resources(result)
    ids = tree.ids.tolist()
    traits: dict[Iterable[str], bytes] = {}
    for row in result.summary_rows.tolist():
        parts = [b'%s:{"resources":{%s}' % (_uuid(tree, row), b','.join(resources.get(row, ())))]
        if version >= SUMMARY_TRAITS:
            names = result.traits.get(ids[row], ())
            if names not in traits:
                traits[names] = json.dumps(sorted(names)).encode()
            parts.append(b'"traits":' + traits[names])
        if version >= TREES:
            parent = int(tree.parents[row])
            parts.append(b'"parent_provider_uuid":' + (b'null' if parent < 0 else _uuid(tree, parent)))
            parts.append(b'"root_provider_uuid":' + _uuid(tree, int(tree.roots[row])))
        yield b','.join(parts) + b'}'


def _resources(result: Result) -> dict[int, list[bytes]]:
    """By provider row, the classes to be shown with capacity and usage."""
    stock = result.topology.stock
    requested = {name for group in result.query.groups for name in group.resources}
    is_shown = np.zeros(result.topology.size, np.bool_)
    is_shown[result.summary_rows] = True
    shown: dict[int, list[bytes]] = {}
    for name, part in stock.of_class.items():
        if result.query.version < ALL_CLASSES and name not in requested:
            continue
        places = part.start + np.flatnonzero(is_shown[stock.rows[part]])
        template = _escaped(name) + b':{"capacity":%d,"used":%d}'
        columns = (column[places].tolist() for column in (stock.rows, stock.capacity, result.usage.used))
        for row, *figures in zip(*columns, strict=True):
            shown.setdefault(row, []).append(template % tuple(figures))
    return shown
