"""The commands on 10,000 hosts: as many statements as on six, and no more output than a person reads."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import placement.cmd.manage
from placement.operator import totals
from tests import databases, service, statements
from tests.case_loader import build_sql
from tests.functional.db.conftest import Command
from tests.functional.operator import big_cloud
from tests.functional.operator.conftest import CLOUD

ON_SQLITE = pytest.mark.parametrize('big', ['sqlite'], indirect=True)
HOSTS = big_cloud.HOSTS
TREES = HOSTS + HOSTS // big_cloud.HOSTS_OF_RACK // big_cloud.STORAGE
SERVERS = HOSTS * big_cloud.SERVERS_OF_HOST
# Fits on some, on none, and on some by two of its devices.
FITS = 'resources=VCPU:4,MEMORY_MB:8192,DISK_GB:100&required=HW_CPU_X86_AVX2'
TOO_MUCH = 'resources=VCPU:4,MEMORY_MB:131072,DISK_GB:100&required=HW_CPU_X86_AVX2'
DEVICES = 'resources=VCPU:2&resources1=SRIOV_NET_VF:8&resources2=SRIOV_NET_VF:1&group_policy=isolate'
COMMANDS = {
    'explain': ['explain', FITS],
    'explain-nothing': ['explain', TOO_MUCH],
    'explain-devices': ['explain', DEVICES],
    'forecast': ['forecast', FITS],
    'tree-all': ['tree', '--all'],
    'tree-sorted': ['tree', '--all', '--sort', 'VCPU', '--limit', '20'],
    'consumers': ['consumers'],
    'audit': ['audit'],
}


@pytest.fixture(scope='module', params=databases.DIALECTS)
def big(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> databases.Database:
    """The cloud; the tests of this module do not change it."""
    if request.param == 'sqlite':
        path = tmp_path_factory.mktemp('big') / 'placement.sqlite'
        shutil.copyfile(request.getfixturevalue('sqlite_template'), path)
        found = databases.Database('sqlite', f'sqlite:///{path}')
    else:
        server: databases.MariaDB = request.getfixturevalue('mariadb')
        found = databases.Database('mariadb', server.create('big'))
        service.create_schema(found.url)
    big_cloud.load(found.engine)
    return found


@pytest.fixture
def run(big: databases.Database, tmp_path: Path) -> Command:
    return Command(placement.cmd.manage, big.url, tmp_path)


@pytest.fixture(scope='module')
def small(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[databases.Database]:
    """The cloud of six hosts."""
    path = tmp_path_factory.mktemp('small') / 'placement.sqlite'
    shutil.copyfile(sqlite_template, path)
    found = databases.Database('sqlite', f'sqlite:///{path}')
    with found.engine.begin() as connection:
        build_sql(connection, CLOUD)
    yield found


@pytest.mark.parametrize('name', list(COMMANDS))
def test_statements_and_output_do_not_grow(
    run: Command, big: databases.Database, small: databases.Database, tmp_path: Path, name: str
) -> None:
    with statements.counted() as few:
        assert Command(placement.cmd.manage, small.url, tmp_path)(*COMMANDS[name])[0] in (0, 1)
    with statements.counted() as many:
        status, out, err = run(*COMMANDS[name])
    assert (status in (0, 1), err) == (True, '')
    assert len(out.splitlines()) <= 80
    assert len(queries(many)) <= len(queries(few)), f'{few}\n\n{many}'


def queries(sent: statements.Statements) -> list[str]:
    """Without those that open a connection."""
    return [text for text in sent.starting_with('SELECT') if '@@' not in text and 'VERSION()' not in text.upper()]


def answer(run: Command, *arguments: str) -> tuple[int, Any]:
    status, out, err = run(*arguments, '--json')
    assert err == ''
    return status, json.loads(out)


@ON_SQLITE
def test_explain(run: Command) -> None:
    status, found = answer(run, 'explain', FITS)
    assert (status, found['trees']) == (0, TREES)
    assert 1000 < len(found['fitting']) < HOSTS
    assert len(found['hosts']) == 10
    status, found = answer(run, 'explain', TOO_MUCH)
    assert (status, found['fitting'], len(found['hosts'])) == (1, [], 10)
    assert all('MEMORY_MB' in host['reasons'][0]['text'] for host in found['hosts'])
    status, found = answer(run, 'explain', DEVICES)
    assert status == 0
    assert 0 < len(found['fitting']) <= HOSTS // big_cloud.NESTED
    status, found = answer(run, 'explain', DEVICES, '--host', 'host00001')
    assert (status, found['hosts'][0]['reasons'][0]['text']) == (1, 'no SRIOV_NET_VF inventory')


@ON_SQLITE
def test_forecast(run: Command) -> None:
    _, explained = answer(run, 'explain', FITS)
    status, found = answer(run, 'forecast', FITS)
    assert status == 0
    hosts = {host['uuid'] for host in found['hosts']}
    assert hosts < set(explained['fitting']), 'a storage serves hosts, but is none'
    assert len(explained['fitting']) - len(hosts) <= TREES - HOSTS
    assert found['more'] >= len(found['hosts'])
    assert found['more'] == sum(host['more'] for host in found['hosts'])


@ON_SQLITE
def test_tree(run: Command) -> None:
    status, out, err = run('tree', '--all')
    assert (status, err) == (0, '')
    lines = out.splitlines()
    assert lines[0] == f'{TREES} trees'
    assert lines[-1] == f'… and {TREES - 50:,} more (--limit, --json)'
    _, more, _ = run('tree', '--all', '--limit', '1000')
    assert len(more.splitlines()) == len(lines) + 950
    assert lines[4].split() == more.splitlines()[4].split()
    _, found = answer(run, 'tree', '--all')
    assert len(found) == TREES
    assert sum(host['providers'] for host in found) == TREES + 2 * HOSTS // big_cloud.NESTED


@ON_SQLITE
def test_consumers(run: Command) -> None:
    status, found = answer(run, 'consumers', '--offset', str(SERVERS - 10))
    assert (status, found['count'], len(found['consumers'])) == (0, SERVERS, 10)
    status, found = answer(run, 'consumers', '--provider', 'host00777')
    assert (status, found['count']) == (0, big_cloud.SERVERS_OF_HOST)


@ON_SQLITE
def test_audit(run: Command) -> None:
    status, found = answer(run, 'audit')
    assert status == 1
    assert {name for name, rows in found.items() if rows} == {'over-capacity'}
    assert 1000 < len(found['over-capacity']) < HOSTS


def test_totals_agree_with_the_trees(run: Command, big: databases.Database) -> None:
    """What /metrics tells, by class and by provider."""
    _, hosts = answer(run, 'tree', '--all')
    used = dict.fromkeys(big_cloud.STOCK, 0)
    for host in hosts:
        for stock in host['stocks']:
            used[stock['resource_class']] += stock['used']
    with big.engine.connect() as connection, statements.counted() as sent:
        by_class = totals.read(connection, by_provider=False)
        by_provider = totals.read(connection, by_provider=True)
    assert len(queries(sent)) == 2
    assert {item.resource_class: item.used for item in by_class} == used
    for item in by_class:
        parts = [part for part in by_provider if part.resource_class == item.resource_class]
        assert len({part.provider for part in parts}) == len(parts)
        assert sum(part.used for part in parts) == item.used
        assert sum(part.total for part in parts) == item.total
        assert sum(part.capacity for part in parts) == pytest.approx(item.capacity)
