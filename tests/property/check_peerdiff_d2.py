"""peerdiff, with the oracle as a judge of candidates that the reference loses (defect D2 of the contract, candidates.md
2.9).

If a query has an un-suffixed and a suffixed group, the reference may lose candidates at all anchors but one. peerdiff
can not tell that from a mistake of ours, so at each finding that may be of this kind the cloud is read back at once,
and the service's answer has to be the oracle's. Such findings are told and not counted. (To build the cloud again
later, from the seed and the step, does not always work: what the tool does next depends on the order in which the
reference lists candidates, and that is not the same in each run.)

    python -m tests.property.check_peerdiff_d2 [--peerdiff FOLDER] --a URL --b URL --profile candidates …

All other arguments are the tool's, as its README tells them; a is the reference, b this service. The exit status is the
tool's: 0 if no difference is left.
"""

import argparse
import importlib
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


def judged(runner: Any) -> Any:
    """The tool's way to take down a finding, but those of kind D2 which the service answers as the oracle does."""
    count = runner._found

    def found(self: Any, finding: Any) -> None:
        if not may_be_d2(finding.to_json()):
            return count(self, finding)
        problem = judge(self.pair.b, finding.request)
        self.say(f'seed {finding.seed} {finding.profile} step {finding.step}: {problem or "as the oracle says"}')
        return count(self, finding) if problem else None

    return found


def main() -> int:
    parser = argparse.ArgumentParser(description='Run peerdiff, with the oracle as a judge of defect D2.')
    parser.add_argument('--peerdiff', type=pathlib.Path, default=BESIDE, help='the folder of the tool')
    options, arguments = parser.parse_known_args()
    sys.path.insert(0, str(options.peerdiff.parent))
    run, tool = (importlib.import_module(f'{options.peerdiff.name}.{name}') for name in ('run', '__main__'))
    run.Runner._found = judged(run.Runner)
    return int(tool.main(arguments))


if __name__ == '__main__':
    sys.exit(main())
