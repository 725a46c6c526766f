"""The service answers every case of the contract, and of our own file, as it is written there.

One application per database serves all cases; the cloud is rebuilt with plain SQL where a case has another world than
the one before.
"""

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from oslo_config import cfg

from placement.db import engine
from tests import databases, service
from tests.case_loader import OWN_CASES, Case, Response, World, build_sql, clear_sql, contract_cases, load, problems
from tests.client import Client

CONTRACT = contract_cases()
CASES = [
    pytest.param(case, id=case.id)
    for path in (CONTRACT, OWN_CASES)
    if path is not None and path.exists()
    for case in load(path)
]


@dataclass
class Cloud:
    """A running service, and the world that it holds at present."""

    conf: cfg.ConfigOpts
    client: Client
    world: World | None = None

    def become(self, world: World) -> None:
        if world is not self.world:
            with engine.get_engine().begin() as connection:
                clear_sql(connection)
                build_sql(connection, world)
            self.world = world

    def ask(self, case: Case) -> Response:
        self.become(case.world)
        with self.options(case):
            answer = self.client.call('GET', f'{case.path}?{case.query}', version=case.version)
        return Response(answer.status_code, dict(answer.headers), answer.json())

    @contextlib.contextmanager
    def options(self, case: Case) -> Iterator[None]:
        names = [tuple(option.split('.')) for option in case.config]
        for (group, option), value in zip(names, case.config.values(), strict=True):
            self.conf.set_override(option, value, group=group)
        try:
            yield
        finally:
            for group, option in names:
                self.conf.clear_override(option, group=group)


@pytest.fixture(scope='module', params=databases.DIALECTS)
def cloud(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    if request.param == 'sqlite':
        path: Path = tmp_path_factory.mktemp('cases') / 'placement.sqlite'
        shutil.copyfile(request.getfixturevalue('sqlite_template'), path)
        url = f'sqlite:///{path}'
    else:
        shared = request.getfixturevalue('mariadb_schema')
        databases.empty(shared)
        url = shared.url
    conf = service.configuration(url)
    with service.application(conf) as application:
        yield Cloud(conf, Client.of_app(application))


def test_the_contract_is_at_hand() -> None:
    if CONTRACT is None:
        pytest.skip('candidate_cases.yaml of the contract is not at hand (PLACEMENT_CONTRACT says where it lies)')
    assert len(load(CONTRACT)) == 264


@pytest.mark.parametrize('case', CASES)
def test_case(cloud: Cloud, case: Case) -> None:
    full = cloud.ask(case.full).body if case.full is not None else None
    assert problems(case, cloud.ask(case), full) == []
