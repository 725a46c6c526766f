"""Judge what peerdiff found about candidates that the reference loses (defect D2 of the contract, candidates.md 2.9).

If a query has an un-suffixed and a suffixed group, the reference may lose candidates at all anchors but one. peerdiff
can not tell that from a mistake of ours, so this asks the oracle. For each finding of a report that may be of this, it
builds the same cloud again, from the finding's seed, profile and step, and reads it back; then the service's answer has
to be the oracle's.

    python -m tests.property.check_peerdiff_d2 REPORT --a URL --b URL [--no-oddities] [--peerdiff FOLDER]

REPORT is what peerdiff wrote with --report, run on the same servers (a: the reference, b: this service), with the same
--no-oddities and the default --noise and --skip. Both are emptied. The exit status is 0 if each finding is of this kind
and answered rightly.
"""

import argparse
import importlib
import json
import pathlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.case_loader import Provider, World, requests_of, summaries_of
from tests.property.oracle import KEYS, Oracle

BESIDE = pathlib.Path(__file__).parents[3] / 'shared' / 'peerdiff'


def may_be_d2(finding: Mapping[str, Any]) -> bool:
    """Whether a finding is of two answers to a query with both kinds of group, which differ in their candidates."""
    target = urlsplit(finding['request']['target'])
    names = {pair.split('=')[0] for pair in re.split('[&;]', target.query)}
    suffixed = any(re.match(f'({"|".join(KEYS)}).', name) for name in names)
    answered = all(finding[side].startswith('200') for side in 'ab')
    return answered and target.path == '/allocation_candidates' and 'resources' in names and suffixed


def read_world(side: Any) -> World:
    """The cloud of a running service. side: peerdiff's connection to it."""

    def get(path: str) -> Any:
        return side.get(path).json

    listed = {item['uuid']: item for item in get('/resource_providers')['resource_providers']}
    providers: dict[str, Provider] = {}
    allocations: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)

    def add(uuid: str) -> None:
        parent = listed[uuid]['parent_provider_uuid']
        if parent and parent not in providers:
            add(parent)
        path = f'/resource_providers/{uuid}'
        providers[uuid] = Provider(
            uuid=uuid,
            name=listed[uuid]['name'],
            parent=parent,
            inventories=get(f'{path}/inventories')['inventories'],
            traits=frozenset(get(f'{path}/traits')['traits']),
            aggregates=frozenset(get(f'{path}/aggregates')['aggregates']),
        )
        for consumer, item in get(f'{path}/allocations')['allocations'].items():
            allocations[consumer][uuid] = item['resources']

    for uuid in listed:
        if uuid not in providers:
            add(uuid)
    return World(tuple(providers.values()), tuple(allocations.items()))


def judge(side: Any, request: Any) -> str | None:
    """What is wrong with the service's answer to this request on its present cloud; None if nothing is."""
    unlimited = request.with_query([pair for pair in request.query if pair[0] != 'limit'])
    body = side.ask(unlimited).json
    query = urlsplit(unlimited.target).query
    expected = Oracle(read_world(side), query, request.minor).answer()
    found, wanted = (Counter(map(repr, requests_of(one))) for one in (body, expected))
    if found != wanted:
        return f'too many: {list((found - wanted).elements())}; missing: {list((wanted - found).elements())}'
    if summaries_of(body) != summaries_of(expected):
        return f'summaries: {summaries_of(body)} instead of {summaries_of(expected)}'
    return None


def check(report: Mapping[str, Any], urls: tuple[str, str], tool: pathlib.Path, oddities: bool = True) -> bool:
    """Judge all findings of a report, one line for each; whether all of them are decided."""
    sys.path.insert(0, str(tool.parent))
    wire, state, generate, hostile = (
        importlib.import_module(f'{tool.name}.{name}') for name in ('wire', 'state', 'generate', 'hostile')
    )
    sequences: dict[tuple[int, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    wrong = 0
    for finding in report['findings']:
        if may_be_d2(finding):
            sequences[finding['seed'], finding['profile']][finding['step']] = finding
        else:
            wrong += 1
            print(f'not of this kind: seed {finding["seed"]} step {finding["step"]}: {finding["signature"]}')
    pair = wire.Pair(*(wire.Side(name, url) for name, url in zip('ab', urls, strict=True)))
    for (seed, profile), findings in sorted(sequences.items()):
        state.wipe(pair)
        for side in (pair.a, pair.b):
            side.chosen.clear()
        generator = generate.Generator(seed, profile, skip=() if oddities else hostile.ODDITIES)
        for step in range(max(findings) + 1):
            request = generator.next_request()
            # The tool's next step depends on what a answered.
            answer, _ = pair.ask(request)
            request.outcome = answer.status
            if step in findings:
                same = request.to_script()['target'] == findings[step]['request']['target']
                problem = judge(pair.b, request) if same else 'the sequence came out otherwise'
                wrong += problem is not None
                print(f'seed {seed} {profile} step {step}: {problem or "as the oracle says"}')
            generator.model.learn(request, answer)
    print(f'{wrong} of {len(report["findings"])} findings are not decided')
    return not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description='Judge what peerdiff found about candidates that the reference loses.')
    parser.add_argument('report', type=pathlib.Path)
    parser.add_argument('--a', required=True, help='the URL of the reference')
    parser.add_argument('--b', required=True, help='the URL of this service')
    parser.add_argument('--peerdiff', type=pathlib.Path, default=BESIDE, help='the folder of the tool')
    parser.add_argument('--no-oddities', action='store_true', help='as the tool was told')
    options = parser.parse_args()
    report, urls = json.loads(options.report.read_text()), (options.a, options.b)
    return 0 if check(report, urls, options.peerdiff, not options.no_oddities) else 1


if __name__ == '__main__':
    sys.exit(main())
