"""The real clients against the real service: each command of osc-placement, and the adapter of openstacksdk."""

import json
import subprocess
from pathlib import Path

import pytest

from tests import environments, live

pytestmark = [pytest.mark.deployment, pytest.mark.timeout(300)]

CLIENTS = environments.Environment(
    'clients', ('python-openstackclient', 'osc-placement', 'openstacksdk'), 'PLACEMENT_CLIENTS_VENV'
)
HERE = Path(__file__).parent

HOST, CHILD = '11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'
AGGREGATE = '33333333-3333-4333-8333-333333333333'
CONSUMER = '44444444-4444-4444-8444-444444444444'
RP = 'resource provider'

# Command, its arguments, and what must be in its output (None: it has none). In this order they tell the story of one
# host.
COMMANDS = [
    (f'{RP} create', ['host', '--uuid', HOST], HOST),
    (f'{RP} create', ['child', '--uuid', CHILD, '--parent-provider', HOST], HOST),
    (f'{RP} list', ['--in-tree', HOST], CHILD),
    (f'{RP} show', [HOST], 'host'),
    (f'{RP} set', [CHILD, '--name', 'renamed'], 'renamed'),
    ('resource class create', ['CUSTOM_OLD'], None),
    ('resource class set', ['CUSTOM_NEW'], None),
    ('resource class list', [], 'CUSTOM_NEW'),
    ('resource class show', ['CUSTOM_NEW'], 'CUSTOM_NEW'),
    ('resource class delete', ['CUSTOM_OLD'], None),
    (
        f'{RP} inventory set',
        [HOST, '--resource', 'VCPU=8', '--resource', 'MEMORY_MB=1024', '--resource', 'CUSTOM_NEW=2'],
        'CUSTOM_NEW',
    ),
    (f'{RP} inventory set', [HOST, '--amend', '--resource', 'VCPU:allocation_ratio=2.0'], '2.0'),
    (f'{RP} inventory class set', [HOST, 'VCPU', '--total', '16'], '16'),
    (f'{RP} inventory list', [HOST], 'MEMORY_MB'),
    (f'{RP} inventory show', [HOST, 'VCPU'], '16'),
    (f'{RP} inventory delete', [HOST, '--resource-class', 'CUSTOM_NEW'], None),
    ('trait create', ['CUSTOM_FAST'], None),
    ('trait list', ['--name', 'startswith:CUSTOM_'], 'CUSTOM_FAST'),
    ('trait show', ['CUSTOM_FAST'], 'CUSTOM_FAST'),
    (f'{RP} trait set', [HOST, '--trait', 'CUSTOM_FAST', '--trait', 'HW_CPU_X86_AVX2'], 'HW_CPU_X86_AVX2'),
    (f'{RP} trait list', [HOST], 'CUSTOM_FAST'),
    (f'{RP} aggregate set', [HOST, '--aggregate', AGGREGATE, '--generation', '5'], AGGREGATE),
    (f'{RP} aggregate list', [HOST], AGGREGATE),
    (
        'allocation candidate list',
        ['--resource', 'VCPU=2', '--required', 'CUSTOM_FAST', '--member-of', AGGREGATE, '--limit', '5'],
        HOST,
    ),
    (
        f'{RP} allocation set',
        [
            CONSUMER,
            '--allocation',
            f'rp={HOST},VCPU=2,MEMORY_MB=512',
            '--project-id',
            'project',
            '--user-id',
            'user',
            '--consumer-type',
            'INSTANCE',
        ],
        HOST,
    ),
    (f'{RP} allocation show', [CONSUMER], '512'),
    (f'{RP} usage show', [HOST], '512'),
    ('resource usage show', ['project', '--user-id', 'user'], '512'),
    (f'{RP} show', [HOST, '--allocations'], CONSUMER),
    (f'{RP} allocation unset', [CONSUMER, '--resource-class', 'MEMORY_MB'], 'VCPU'),
    (f'{RP} allocation delete', [CONSUMER], None),
    (f'{RP} trait delete', [HOST], None),
    ('trait delete', ['CUSTOM_FAST'], None),
    (f'{RP} inventory delete', [HOST], None),
    (f'{RP} delete', [CHILD], None),
    (f'{RP} delete', [HOST], None),
    ('resource class delete', ['CUSTOM_NEW'], None),
]


@pytest.fixture(scope='module')
def python():
    """The interpreter of the environment that has the clients."""
    try:
        return str(CLIENTS.bin() / 'python')
    except environments.Unavailable as exc:
        pytest.skip(str(exc))


@pytest.fixture
def service(tmp_path):
    with live.serve(f'sqlite:///{tmp_path}/placement.sqlite', tmp_path) as url:
        yield url


def run(*command, given=''):
    done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def test_every_command_of_osc_placement(python, service):
    group = 'openstack.placement.v1'
    names = (
        f'import importlib.metadata as m, json; print(json.dumps([e.name for e in m.entry_points(group={group!r})]))'
    )
    assert {name.replace('_', ' ') for name in run(python, '-c', names)} == {command for command, _, _ in COMMANDS}

    access = ['--os-auth-type=admin_token', '--os-token=admin', f'--os-endpoint={service}']
    version = '--os-placement-api-version=1.39'
    calls = [
        [*access, version, *command.split(), *arguments, *(['-f', 'json'] if expected else [])]
        for command, arguments, expected in COMMANDS
    ]
    unknown = [*access, version, *f'{RP} show'.split(), CONSUMER]
    results = run(python, str(HERE / 'openstack_shell.py'), given=json.dumps([*calls, unknown]))
    for (command, arguments, expected), (status, output, errors) in zip(COMMANDS, results[:-1], strict=True):
        assert not status, f'{command} {arguments}: {output}{errors}'
        assert (expected or '') in output, f'{command} {arguments}: {output}'
        assert 'No such' not in errors, errors
    status, _, errors = results[-1]
    assert status == 1
    assert f'No resource provider with uuid {CONSUMER} found' in errors


def test_openstacksdk(python, service):
    assert run(python, str(HERE / 'openstack_sdk.py'), service) == {
        'latest': [1, 39],
        'root': 200,
        'providers': ['sdk'],
        'provider': True,
        'traits': ['CUSTOM_SDK'],
        'classes': ['CUSTOM_SDK'],
        'total': 3,
        'inventories': [3],
        'missing': True,
        'left': [],
    }
