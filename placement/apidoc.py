"""The API as documents, made of the data that the code uses: `docs/openapi.json` and `docs/microversions.md`.

`python -m placement.apidoc DIRECTORY` (by `make docs`) writes them; a test compares them with what this module makes.
"""

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

from placement import (
    app,  # noqa: F401 - so that all the code in which versions make a difference is loaded
    errors,
    policies,
)
from placement.microversion import HISTORY, MAX_VERSION, MIN_VERSION, SERVICE_TYPE
from placement.routes import ROUTES, Route
from placement.schemas import Schema, Version

_ERROR: Schema = {
    'type': 'object',
    'required': ['errors'],
    'properties': {
        'errors': {
            'type': 'array',
            'items': {
                'type': 'object',
                'required': ['status', 'title', 'detail', 'request_id'],
                'properties': {
                    'status': {'type': 'integer'},
                    'title': {'type': 'string'},
                    'detail': {'type': 'string', 'description': 'The specific message is its last line.'},
                    'request_id': {'type': 'string'},
                    'code': {'type': 'string', 'enum': [], 'description': 'From 1.23 on.'},
                },
            },
        }
    },
}


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 description of the API at its latest microversion."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        if route.until == MAX_VERSION:
            paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    _ERROR['properties']['errors']['items']['properties']['code']['enum'] = _codes()
    return {
        'openapi': '3.1.0',
        'info': {
            'title': 'Placement',
            'version': str(MAX_VERSION),
            'description': 'The inventory ledger of a cloud. Bodies and parameters are those of the latest '
            'microversion; docs/microversions.md tells what came when.',
            'license': {'name': 'Apache-2.0', 'identifier': 'Apache-2.0'},
        },
        'security': [{'token': []}],
        'paths': paths,
        'components': {
            'schemas': {'Error': _ERROR},
            'parameters': {
                'microversion': {
                    'name': 'OpenStack-API-Version',
                    'in': 'header',
                    'description': f'`{SERVICE_TYPE} X.Y` or `{SERVICE_TYPE} latest`; 1.0 if absent.',
                    'schema': {'type': 'string', 'const': f'{SERVICE_TYPE} {MAX_VERSION}'},
                    'required': True,
                }
            },
            'responses': {
                'error': {
                    'description': 'The request was refused, and nothing was changed.',
                    'content': {'application/json': {'schema': {'$ref': '#/components/schemas/Error'}}},
                }
            },
            'securitySchemes': {'token': {'type': 'apiKey', 'in': 'header', 'name': 'X-Auth-Token'}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        'operationId': f'{route.handler.__module__.rpartition(".")[2]}.{route.handler.__name__}',
        'summary': (inspect.getdoc(route.handler) or '').partition('\n')[0],
        'x-since': '.'.join(map(str, route.since)),
        'parameters': [{'$ref': '#/components/parameters/microversion'}, *_path_parameters(route)],
        'responses': {
            '2XX': {'description': 'Done.'},
            '4XX': {'$ref': '#/components/responses/error'},
            '503': {'$ref': '#/components/responses/error'},
        },
    }
    if route.rule is not None:
        operation['x-policy'] = route.rule
        operation['description'] = f'Policy: `{route.rule}`, by default `{_default_check(route.rule)}`.'
    if route.query is not None:
        operation['parameters'] += _query_parameters(route.query.at(MAX_VERSION))
    if route.body is not None:
        operation['requestBody'] = {
            'required': True,
            'content': {'application/json': {'schema': route.body.at(MAX_VERSION)}},
        }
    return operation


def _path_parameters(route: Route) -> list[dict[str, Any]]:
    return [
        {'name': name, 'in': 'path', 'required': True, 'schema': {'type': 'string', 'minLength': 1}}
        for name in re.findall('{(.*?)}', route.path)
    ]


def _query_parameters(schema: Schema) -> list[dict[str, Any]]:
    named = [
        {'name': name, 'in': 'query', 'required': name in schema['required'], 'schema': value}
        for name, value in schema['properties'].items()
    ]
    patterned = [
        {
            'name': f'<{pattern}>',
            'in': 'query',
            'description': f'Any names that match `{pattern}`: the parameters of request groups.',
            'required': False,
            'style': 'form',
            'explode': True,
            'schema': {'type': 'object', 'patternProperties': {pattern: value}, 'additionalProperties': False},
        }
        for pattern, value in schema.get('patternProperties', {}).items()
    ]
    return named + patterned


def _default_check(rule: str) -> str:
    return next(str(default.check_str) for default in policies.list_rules() if default.name == rule)


def _codes() -> list[str]:
    return sorted({value for name, value in vars(errors).items() if name.isupper() and isinstance(value, str)})


def microversions() -> str:
    """The history of the API as Markdown: what each version brought, and in which routes and schemas it shows."""
    lines = [
        '# Microversions',
        '',
        'Made by `make docs` of the data that the code uses (`microversion.HISTORY`, `routes.ROUTES`, `schemas/`).',
        '',
        '| version | what it brought | where it shows |',
        '|---|---|---|',
    ]
    for version, summary in HISTORY.items():
        shows = [*_new_routes(version), *_changed_schemas(version), *_constants(version)]
        where = '; '.join(shows) if version != MIN_VERSION else 'all other routes'
        lines.append(f'| {version[0]}.{version[1]} | {summary} | {where} |')
    return '\n'.join(lines) + '\n'


def _new_routes(version: Version) -> list[str]:
    return [f'new: {route.method} `{route.path}`' for route in ROUTES if route.since == version]


def _changed_schemas(version: Version) -> list[str]:
    return [
        f'{kind} of {route.method} `{route.path}`'
        for route in ROUTES
        for kind, schema in (('query', route.query), ('body', route.body))
        if schema is not None and version in schema.changes and version > route.since
    ]


def _constants(version: Version) -> list[str]:
    """The names by which code asks for a version, where they are defined: differences in answers and in values."""
    return [
        f'`{module.removeprefix("placement.")}.{name}`'
        for module, content in sorted(sys.modules.items())
        if module.startswith('placement.') and module not in (__name__, 'placement.routes', 'placement.microversion')
        for name, value in vars(content).items()
        if name.isupper() and not name.startswith(('MIN_', 'MAX_')) and _names(value, version)
    ]


def _names(value: Any, version: Version) -> bool:
    """Whether a constant is a version, or a table with a column of versions."""
    if not isinstance(value, tuple):
        return False
    return value == version or any(isinstance(row, tuple) and version in row for row in value)


def write(directory: Path) -> None:
    """Write both documents into a directory."""
    (directory / 'openapi.json').write_text(json.dumps(openapi(), indent=1) + '\n')
    (directory / 'microversions.md').write_text(microversions())


if __name__ == '__main__':
    write(Path(sys.argv[1]))
