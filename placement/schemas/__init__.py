"""JSON schemas of bodies and query strings: one module per resource, later versions as deltas on earlier ones.

A schema of a resource module is a `VersionedSchema`: the schema at its first version, and the changes that later
versions made. Reading it top to bottom is reading its history.
"""

import copy
import functools
import importlib
from collections.abc import Callable, Mapping
from typing import Any

import jsonschema_rs

from placement import errors
from placement.uuids import is_dashed, is_uuid_like

Schema = dict[str, Any]
Version = tuple[int, int]

MAX_INT = 2147483647
RESOURCE_CLASS_PATTERN = '^[A-Z0-9_]+$'
UUID_KEY_PATTERN = '^[0-9a-fA-F-]{36}$'
UUID: Schema = {'type': 'string', 'format': 'uuid'}
GENERATION: Schema = {'type': 'integer'}


def closed(required: Schema, optional: Schema | None = None) -> Schema:
    """The schema of an object with exactly these properties."""
    return {
        'type': 'object',
        'properties': {**required, **(optional or {})},
        'required': list(required),
        'additionalProperties': False,
    }


class VersionedSchema:
    """A JSON schema and its history.

    `base` is the schema at the first version; `changes` maps a later version to a function that turns a copy of the
    schema before into the schema from there on.
    """

    def __init__(self, base: Schema, changes: Mapping[Version, Callable[[Schema], Schema]] | None = None) -> None:
        self.base = base
        self.changes = dict(changes or {})

    def at(self, version: Version) -> Schema:
        """The schema in force at a version."""
        return self._at(self._since(version))

    def _since(self, version: Version) -> Version | None:
        return max((step for step in self.changes if step <= version), default=None)

    @functools.cache  # noqa: B019 - schemas are module constants, they live as long as the process
    def _at(self, since: Version | None) -> Schema:
        schema = copy.deepcopy(self.base)
        for step in sorted(self.changes):
            if since is not None and step <= since:
                schema = self.changes[step](schema)
        return schema

    @functools.cache  # noqa: B019
    def _fast_validator(self, since: Version | None, is_uuid: Callable[[str], bool]) -> Any:
        schema = _without_final_newlines(self._at(since))
        return jsonschema_rs.Draft202012Validator(schema, formats={'uuid': is_uuid}, validate_formats=True)

    def _problem(self, value: Any, version: Version, is_uuid: Callable[[str], bool]) -> str | None:
        since = self._since(version)
        try:
            # PERF: a hundred times as fast as the other library, whose words on errors clients know.
            if self._fast_validator(since, is_uuid).is_valid(value):
                return None
        except ValueError:
            pass  # half a character, or nested too deeply
        # PERF: it takes 0.1 s to import; some processes never need it.
        problem: str | None = importlib.import_module('placement.schemas.explain').problem(
            self._at(since), value, is_uuid
        )
        return problem

    def validate_body(self, value: Any, version: Version) -> Any:
        """`value`, if it is a valid body at this version. Raises errors.InvalidBody."""
        problem = self._problem(value, version, is_uuid_like)
        if problem is not None:
            raise errors.InvalidBody(reason=problem)
        return value

    def validate_query(self, value: dict[str, str], version: Version) -> None:
        """Check query parameters, one value for each. Raises errors.InvalidQuery."""
        # The dashes of a uuid must be in place (http.md 2.5).
        problem = self._problem(value, version, is_dashed)
        if problem is not None:
            raise errors.InvalidQuery(reason=problem)


def _without_final_newlines(schema: Any) -> Any:
    """A schema for the fast library, in whose expressions "$" is the true end, and which must refuse the same keys as
    `explain`."""
    if isinstance(schema, list):
        return [_without_final_newlines(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {keyword: _without_final_newlines(part) for keyword, part in schema.items()}
    if 'patternProperties' in changed:
        changed['propertyNames'] = {'pattern': '^$|[^\n]$'}
    return changed
