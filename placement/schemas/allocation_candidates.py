"""Query of GET /allocation_candidates (contract: candidates.md 1.1, http.md 5.18). What values mean is checked by
`solver.query`."""

from collections.abc import Callable

from placement.schemas import Schema, Version, VersionedSchema, closed
from placement.solver.query import FREE_SUFFIXES, GRANULAR, IN_TREE, LIMIT, RESOURCELESS, ROOT_REQUIRED, group_patterns

_TEXT: Schema = {'type': 'string'}


def _with(name: str, value: Schema) -> Callable[[Schema], Schema]:
    def change(schema: Schema) -> Schema:
        schema['properties'][name] = value
        return schema

    return change


def _with_groups(version: Version) -> Callable[[Schema], Schema]:
    """Keys may have suffixes; the names of groups are patterns, and none of them is required by name."""

    def change(schema: Schema) -> Schema:
        for name in ('resources', 'required', 'member_of'):
            schema['properties'].pop(name, None)
        schema['required'] = []
        schema['patternProperties'] = dict.fromkeys(group_patterns(version), _TEXT)
        schema['properties']['group_policy'] = {'type': 'string', 'enum': ['none', 'isolate']}
        return schema

    return change


GET = VersionedSchema(
    closed({'resources': _TEXT}),
    {
        (1, 16): _with('limit', {'type': 'string', 'pattern': LIMIT.pattern}),
        (1, 17): _with('required', _TEXT),
        (1, 21): _with('member_of', _TEXT),
        GRANULAR: _with_groups(GRANULAR),
        IN_TREE: _with_groups(IN_TREE),
        FREE_SUFFIXES: _with_groups(FREE_SUFFIXES),
        ROOT_REQUIRED: _with('root_required', _TEXT),
        RESOURCELESS: _with('same_subtree', _TEXT),
    },
)
