"""No request whatsoever gets a 500, and none that is refused changes the database.

Requests are made at the WSGI seam, where also that arrives which no client library would send.
"""

import io
import json
import sys
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from placement.db import engine, tables
from placement.routes import ROUTES
from tests.client import Client

PROVIDER = '11111111-2222-4333-8444-555555555555'
CONSUMER = '99999999-2222-4333-8444-555555555555'
NAMES = ['VCPU', 'CUSTOM_A', 'CUSTOM_T', PROVIDER, CONSUMER]

odd_text = st.one_of(
    st.sampled_from(
        ['', ' ', '\x00', '\r\n', '%00', '%zz', '\xff\xfe', "' OR 1=1 --", '"', '\\', '{}', '../..', 'a' * 5000]
        + NAMES
        + [PROVIDER.upper(), PROVIDER.replace('-', ''), f'{{{PROVIDER}}}', f'urn:uuid:{PROVIDER}', '-' * 36, '0' * 36]
    ),
    st.text(st.characters(max_codepoint=0x10FFFF, exclude_categories=()), max_size=40),
)
latin = odd_text.map(lambda text: text.encode('utf-8', 'surrogatepass').decode('latin-1'))
numbers = st.one_of(
    st.integers(-5, 5),
    st.sampled_from(
        [2**31 - 1, 2**31, 2**63, 2**64, 10**400, -(10**400), 1e308, 1e-320, 0.1, float('nan'), float('inf')]
    ),
    st.floats(),
)
keys = st.one_of(
    st.sampled_from(
        [
            *('name', 'uuid', 'parent_provider_uuid', 'inventories', 'resource_provider_generation', 'total'),
            *('allocation_ratio', 'reserved', 'min_unit', 'max_unit', 'step_size', 'resource_class', 'aggregates'),
            *('traits', 'allocations', 'resources', 'project_id', 'user_id', 'consumer_generation', 'consumer_type'),
            *('mappings', 'generation', 'resource_provider', *NAMES),
        ]
    ),
    odd_text,
)
scalars = st.one_of(st.none(), st.booleans(), numbers, odd_text)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=20
)


def inventories_of(record: Any) -> dict[str, Any]:
    return {'resource_provider_generation': 1, 'inventories': {'VCPU': record}}


def claim_of(amount: Any, generation: Any, kind: Any) -> dict[str, Any]:
    return {
        'allocations': {PROVIDER: {'resources': {'VCPU': amount}}},
        'project_id': 'p',
        'user_id': 'u',
        'consumer_generation': generation,
        'consumer_type': kind,
    }


# Bodies that are nearly right reach further than noise does.
nearly_right = st.one_of(
    st.fixed_dictionaries({'name': scalars}, optional={'uuid': scalars, 'parent_provider_uuid': scalars}),
    st.dictionaries(st.sampled_from(['total', 'allocation_ratio', 'reserved', 'max_unit', 'step_size']), numbers).map(
        inventories_of
    ),
    st.builds(claim_of, numbers | scalars, scalars, scalars),
    st.builds(lambda *parts: {CONSUMER: claim_of(*parts)}, numbers, scalars, st.just('INSTANCE')),
    st.builds(
        lambda generation, record: {
            'inventories': {PROVIDER: {**inventories_of(record), 'resource_provider_generation': generation}},
            'allocations': {},
        },
        scalars,
        st.dictionaries(keys, numbers, max_size=3),
    ),
    st.fixed_dictionaries({'traits': st.lists(odd_text, max_size=3), 'resource_provider_generation': scalars}),
    st.fixed_dictionaries({'aggregates': st.lists(odd_text, max_size=3), 'resource_provider_generation': scalars}),
)
bodies = st.one_of(
    st.binary(max_size=200),
    st.sampled_from(
        [b'', b'\xef\xbb\xbf{}', b'[' * 100_000, b'{"a":' * 50_000, b'"\\ud800"', b'1' * 10_000, b'{"a":1}{', b'NaN']
    ),
    (values | nearly_right).map(lambda value: json.dumps(value).encode()),
)
parameters = st.sampled_from(
    [
        *('name', 'uuid', 'in_tree', 'member_of', 'resources', 'required', 'limit', 'group_policy', 'same_subtree'),
        *('root_required', 'resources1', 'required1', 'member_of1', 'in_tree1', 'resources_A', 'project_id', 'user_id'),
        *('consumer_type', 'associated', 'x'),
    ]
)
query_values = st.one_of(
    odd_text,
    st.builds('{}:{}'.format, st.sampled_from(NAMES), numbers | odd_text),
    st.builds('{}{}'.format, st.sampled_from(['in:', '!in:', '!', 'startswith:', '']), st.sampled_from(NAMES)),
)
queries = st.one_of(
    latin,
    st.lists(st.tuples(parameters, query_values).map('='.join), max_size=4)
    .map('&'.join)
    .map(lambda text: text.encode('utf-8', 'surrogatepass').decode('latin-1')),
)
methods = st.sampled_from(['GET', 'PUT', 'POST', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'X'])
headers = st.dictionaries(
    st.sampled_from(
        ['HTTP_ACCEPT', 'HTTP_X_ROLES', 'HTTP_OPENSTACK_SYSTEM_SCOPE', 'HTTP_X_PROJECT_ID', 'CONTENT_TYPE']
    ),
    latin,
    max_size=2,
)


def seldom(odd: st.SearchStrategy[Any], usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what is usual: two odd things in one request hide each other."""
    return st.integers(0, 7).flatmap(lambda number: usual if number else odd)


versions = seldom(st.integers(0, 39).map(lambda minor: f'placement 1.{minor}') | latin, st.just('placement latest'))


@st.composite
def targets(draw: st.DrawFn) -> tuple[str, str]:
    """A method and a path."""
    route = draw(st.sampled_from(ROUTES))
    known = {'{uuid}': PROVIDER, '{consumer_uuid}': CONSUMER}
    parts = [
        draw(seldom(latin, st.just(known[part]) if part in known else st.sampled_from(NAMES)))
        if part.startswith('{')
        else part
        for part in route.path.split('/')
    ]
    path = draw(seldom(latin.map('/{}'.format), st.just('/'.join(parts))))
    return draw(seldom(methods, st.just(route.method))), path


def prepare(app: Any) -> None:
    client = Client.of_app(app)
    client.must('PUT', '/resource_classes/CUSTOM_A')
    client.must('PUT', '/traits/CUSTOM_T')
    client.must('POST', '/resource_providers', {'name': 'host', 'uuid': PROVIDER})
    client.must(
        'PUT',
        f'/resource_providers/{PROVIDER}/inventories',
        inventories_of({'total': 8}) | {'resource_provider_generation': 0},
    )
    client.must('PUT', f'/allocations/{CONSUMER}', claim_of(1, None, 'INSTANCE'))


def content() -> dict[str, list[Any]]:
    """All rows of all tables."""
    with engine.get_engine().connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(sa.select(table))))
            for table in tables.metadata.sorted_tables
        }


def call(app: Any, environ: dict[str, Any]) -> tuple[int, bytes]:
    answer: list[str] = []
    body = b''.join(app(environ, lambda status, _headers, _exc=None: answer.append(status)))
    return int(answer[0].split()[0]), body


@pytest.mark.timeout(600)
def test_no_request_gets_a_500(app):
    prepare(app)
    before = content()

    @settings(
        max_examples=400,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(targets(), queries, bodies, seldom(headers, st.just({})), versions)
    def check(target: tuple[str, str], query: str, body: bytes, more: dict[str, str], version: str) -> None:
        nonlocal before
        method, path = target
        environ = {
            'REQUEST_METHOD': method,
            'SCRIPT_NAME': '',
            'PATH_INFO': path,
            'QUERY_STRING': query,
            'SERVER_NAME': 'localhost',
            'SERVER_PORT': '80',
            'SERVER_PROTOCOL': 'HTTP/1.1',
            'CONTENT_LENGTH': str(len(body)),
            'CONTENT_TYPE': 'application/json',
            'HTTP_X_AUTH_TOKEN': 'admin',
            'HTTP_X_ROLES': 'admin,service',
            'HTTP_OPENSTACK_API_VERSION': version,
            'wsgi.version': (1, 0),
            'wsgi.url_scheme': 'http',
            'wsgi.input': io.BytesIO(body),
            'wsgi.errors': sys.stderr,
            'wsgi.multithread': False,
            'wsgi.multiprocess': False,
            'wsgi.run_once': False,
            **more,
        }
        status, answer = call(app, environ)
        assert status < 500, answer
        after = content()
        if status >= 400:
            assert after == before
        before = after

    check()
