"""/metrics under web servers that fork: whichever process answers tells the numbers of all."""

import concurrent.futures
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest
from prometheus_client import parser

from tests import databases, live
from tests.client import Client
from tests.deployment import servers


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix='placement-') as path:
        Path(path).chmod(0o777)
        yield Path(path)


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
@pytest.mark.parametrize(
    ('server', 'prefix'),
    [
        (servers.uwsgi, '/placement'),
        pytest.param(servers.nginx, '', marks=pytest.mark.deployment),
        pytest.param(servers.apache, '/placement', marks=pytest.mark.deployment),
    ],
)
def test_all_processes_are_counted(
    server: Callable[..., AbstractContextManager[str]],
    prefix: str,
    database: databases.Database,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = folder / 'metrics'
    monkeypatch.setattr(live, '_CONFIG', f'{live._CONFIG}\n[metrics]\nenabled = true\nmultiprocess_dir = {directory}\n')
    try:
        with server(database.url, folder, prefix) as url, concurrent.futures.ThreadPoolExecutor(10) as pool:
            list(pool.map(lambda _: Client.of_url(url).must('GET', '/resource_classes/VCPU'), range(60)))
            for _ in range(6):
                answer = httpx.get(f'{url}/metrics', trust_env=False)
                counts = {
                    sample.labels['route']: sample.value
                    for family in parser.text_string_to_metric_families(answer.text)
                    for sample in family.samples
                    if sample.name == 'placement_requests_total'
                }
                assert counts['/resource_classes/{name}'] == 60
    except servers.Missing as exc:
        pytest.skip(str(exc))
    assert len(list(directory.glob('counter_*.db'))) == servers.PROCESSES
