"""Step 4 of the solver: a `Result` becomes the JSON body of its microversion (contract: candidates.md 3.2, 5).

The body is put together from encoded fragments, without Python objects for candidates in between. What repeats is
encoded once: a uuid, the traits of alike providers, the share of a provider that serves the same slots in many
candidates. All of it is ASCII.
"""

import json
from collections.abc import Iterator
from typing import Any

from placement.solver.candidates import Result

ALLOCATIONS_BY_UUID = (1, 12)
TRAITS = (1, 17)
ALL_CLASSES = (1, 27)
TREES = (1, 29)
MAPPINGS = (1, 34)


def body(result: Result) -> bytes:
    """The whole JSON body."""
    requests = b','.join(_requests(result))
    summaries_ = b','.join(_summaries(result))
    return b'{"allocation_requests":[%s],"provider_summaries":{%s}}' % (requests, summaries_)


def summaries(result: Result) -> dict[str, Any]:
    """The provider summaries as the client sees them."""
    parsed: dict[str, Any] = json.loads(b'{%s}' % b','.join(_summaries(result)))
    return parsed


def _text(value: str) -> bytes:
    return json.dumps(value).encode()


def _requests(result: Result) -> Iterator[bytes]:
    """One allocation request per candidate."""
    if result.plan is None:
        return
    slots = result.plan.slots
    uuids = result.topology.uuids
    version = result.query.version
    as_list = version < ALLOCATIONS_BY_UUID
    with_mappings = version >= MAPPINGS
    encoded: dict[int, bytes] = {}
    shares: dict[tuple[int, ...], bytes] = {}
    suffixes = [_text(suffix) for suffix in dict.fromkeys(slot.suffix for slot in slots)]
    first_of: dict[str, list[int]] = {}
    for index, slot in enumerate(slots):
        first_of.setdefault(slot.suffix, []).append(index)
    groups = list(zip(suffixes, first_of.values(), strict=True))
    is_asking = [bool(slot.demands) for slot in slots]

    def share(row: int, indexes: tuple[int, ...]) -> bytes:
        """What a provider gives when it serves these slots."""
        amounts: dict[str, int] = {}
        for index in indexes:
            for resource_class, amount in slots[index].demands:
                amounts[resource_class] = amounts.get(resource_class, 0) + amount
        resources = b','.join(b'%s:%d' % (_text(name), amount) for name, amount in amounts.items())
        if as_list:
            return b'{"resource_provider":{"uuid":%s},"resources":{%s}}' % (encoded[row], resources)
        return b'%s:{"resources":{%s}}' % (encoded[row], resources)

    for choice in result.choices.tolist():
        serving: dict[int, list[int]] = {}
        for index, row in enumerate(choice):
            if row not in encoded:
                encoded[row] = _text(uuids[row])
            if is_asking[index]:
                serving.setdefault(row, []).append(index)
        parts = []
        for row, indexes in serving.items():
            key = (row, *indexes)
            part = shares.get(key)
            if part is None:
                part = shares[key] = share(row, key[1:])
            parts.append(part)
        allocations = b','.join(parts)
        if as_list:
            yield b'{"allocations":[%s]}' % allocations
        elif not with_mappings:
            yield b'{"allocations":{%s}}' % allocations
        else:
            mappings = b','.join(
                b'%s:[%s]' % (suffix, b','.join(encoded[row] for row in dict.fromkeys(choice[i] for i in indexes)))
                for suffix, indexes in groups
            )
            yield b'{"allocations":{%s},"mappings":{%s}}' % (allocations, mappings)


def _summaries(result: Result) -> Iterator[bytes]:
    """One `uuid: summary` per provider."""
    topology = result.topology
    version = result.query.version
    rows = result.summary_rows.tolist()
    resources: dict[int, list[bytes]] = {row: [] for row in rows}
    requested = {name for group in result.query.groups for name in group.resources}
    is_shown = set(rows).__contains__
    for name, part in topology.stock.of_class.items():
        if version < ALL_CLASSES and name not in requested:
            continue
        encoded_name = _text(name)
        columns = (topology.stock.rows[part], topology.stock.ceiling[part], result.usage.used[part])
        for row, capacity, used in zip(*(column.tolist() for column in columns), strict=True):
            if is_shown(row):
                resources[row].append(b'%s:{"capacity":%d,"used":%d}' % (encoded_name, capacity, used))
    traits: dict[int, bytes] = {}
    for row in rows:
        text = b'%s:{"resources":{%s}' % (_text(topology.uuids[row]), b','.join(resources[row]))
        if version >= TRAITS:
            number = int(topology.traits.index[row])
            if number not in traits:
                traits[number] = json.dumps(sorted(topology.traits.sets[number])).encode()
            text += b',"traits":%s' % traits[number]
        if version >= TREES:
            parent = int(topology.parents[row])
            text += b',"parent_provider_uuid":%s,"root_provider_uuid":%s' % (
                b'null' if parent < 0 else _text(topology.uuids[parent]),
                _text(topology.uuids[topology.roots[row]]),
            )
        yield text + b'}'
