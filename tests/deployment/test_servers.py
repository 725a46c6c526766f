"""The service under gunicorn, uWSGI, nginx with uWSGI, and Apache with mod_wsgi: each one started for real, by the
examples in etc/, at the root and under a URL prefix."""

import concurrent.futures
import contextlib
import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.client import Client
from tests.deployment import servers

pytestmark = pytest.mark.parametrize('database', ['mariadb'], indirect=True)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path that everybody may enter."""
    with tempfile.TemporaryDirectory(prefix='placement-') as path:
        Path(path).chmod(0o755)
        yield Path(path)


@contextlib.contextmanager
def started(server, *arguments):
    try:
        with server(*arguments) as url:
            yield url
    except servers.Missing as exc:
        pytest.skip(str(exc))


@pytest.mark.parametrize(
    ('server', 'prefix'),
    [
        (servers.systemd_unit, ''),
        (servers.uwsgi, '/placement'),
        *(
            pytest.param(server, prefix, marks=pytest.mark.deployment)
            for server, prefix in (
                (servers.systemd_unit, '/placement'),
                (servers.uwsgi, ''),
                (servers.nginx, ''),
                (servers.nginx, '/placement'),
                (servers.apache, ''),
                (servers.apache, '/placement'),
            )
        ),
    ],
)
def test_serves(server, prefix, database, folder):
    with started(server, database.url, folder, prefix) as url:
        discovery = httpx.get(f'{url}/', trust_env=False)
        assert discovery.json()['versions'][0]['links'] == [{'rel': 'self', 'href': ''}]
        client = Client.of_url(url)
        links_carry_the_prefix(client, prefix)
        long_and_large_requests_pass(client)
        many_at_once(url)
    assert len(workers(folder / servers.LOG)) == servers.PROCESSES


def links_carry_the_prefix(client, prefix):
    provider = str(uuid.uuid4())
    made = client.must('POST', '/resource_providers', {'name': 'host', 'uuid': provider})
    links = {link['rel']: link['href'] for link in made.json()['links']}
    assert links['self'] == f'{prefix}/resource_providers/{provider}'
    location = client.must('PUT', '/traits/CUSTOM_A').headers['location']
    assert location == f'http://{client.http.base_url.netloc.decode()}{prefix}/traits/CUSTOM_A'


def long_and_large_requests_pass(client):
    aggregates = ','.join(str(uuid.uuid4()) for _ in range(1000))  # 37 kB
    # A server that cuts the query makes this list every provider.
    assert client.must('GET', f'/resource_providers?member_of=in:{aggregates}').json() == {'resource_providers': []}
    body = b' ' * 2_000_000 + b'{}'
    answer = client.call('POST', '/allocations', content=body, headers={'content-type': 'application/json'})
    assert answer.status_code == 400 and 'does not validate' in answer.text


def many_at_once(url):
    """Several connections reach several processes and threads; what one has written the others see."""
    names = {f'host{number}' for number in range(40)}

    def make(name):
        Client.of_url(url).must('POST', '/resource_providers', {'name': name})

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(make, names))
    for _ in range(4):
        found = Client.of_url(url).must('GET', '/resource_providers').json()['resource_providers']
        assert names < {provider['name'] for provider in found}


def workers(log: Path) -> set[str]:
    """The ids of the processes that answered requests."""
    return set(re.findall(r' (\d+) INFO placement\.requestlog ', log.read_text()))
