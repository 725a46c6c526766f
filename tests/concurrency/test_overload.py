"""Too many clients, too slow ones, too large requests: memory stays bounded, answers clear, others are served."""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path

import pytest

from tests import claims, invariants, live
from tests.claims import body, generation, new_uuid, records
from tests.client import Client
from tests.concurrency.workers import workers

pytestmark = pytest.mark.parametrize('database', ['mariadb'], indirect=True)

THREADS = 8
# What a worker may take in megabytes; it needs about 100 for itself.
MEMORY = 400
HEADERS = (
    'host: placement\r\nx-auth-token: admin\r\naccept: application/json\r\n'
    'openstack-api-version: placement 1.39\r\ncontent-type: application/json\r\n'
)


@pytest.fixture
def url(database, tmp_path):
    with live.serve(database.url, tmp_path, threads=THREADS) as address:
        yield address
        found = workers(tmp_path)
        assert len(found) == 1
        for pid in found:
            status = dict(line.split(':', 1) for line in Path(f'/proc/{pid}/status').read_text().splitlines())
            assert int(status['VmHWM'].split()[0]) // 1024 < MEMORY


@pytest.fixture
def client(url):
    return Client.of_url(url)


def connect(url, stack):
    end = stack.enter_context(socket.create_connection(('127.0.0.1', int(url.rpartition(':')[2])), timeout=60))
    end.settimeout(60)
    return end


def first_line(end):
    received = b''
    while b'\r\n' not in received:
        data = end.recv(1 << 16)
        assert data, 'the service closed the connection'
        received += data
    return received.partition(b'\r\n')[0].decode()


def test_500_connections(url, client):
    host = claims.provider(client, VCPU=8)
    with contextlib.ExitStack() as stack:
        ends = [connect(url, stack) for _ in range(500)]
        for end in ends:
            end.sendall(f'GET /resource_providers/{host} HTTP/1.1\r\n{HEADERS}\r\n'.encode())
        assert {first_line(end) for end in ends} == {'HTTP/1.1 200 OK'}


def test_slow_clients(url, client):
    """As many as leave one thread: those that send their requests byte by byte keep nobody else waiting."""
    host = claims.provider(client, VCPU=8)
    stop = threading.Event()

    def dribble(ends):
        while not stop.wait(0.2):
            for end in ends:
                end.sendall(b' ')

    with contextlib.ExitStack() as stack:
        ends = [connect(url, stack) for _ in range(THREADS - 1)]
        for number, end in enumerate(ends):
            head = f'PUT /allocations/{new_uuid()} HTTP/1.1\r\n{HEADERS}'
            # Half of them are slow within their headers.
            end.sendall(f'{head}content-length: 1000\r\n\r\n{{'.encode() if number % 2 else f'{head}x-slow:'.encode())
        slow = threading.Thread(target=dribble, args=[ends])
        slow.start()
        try:
            other = Client.of_url(url)
            for _ in range(8):
                began = time.monotonic()
                other.must('GET', f'/resource_providers/{host}')
                other.must('PUT', f'/allocations/{new_uuid()}', body({host: {'VCPU': 1}}))
                assert time.monotonic() - began < 5
        finally:
            stop.set()
            slow.join()


LARGE = {
    'braces': b'{' * 10_000_000,
    'brackets': b'[' * 10_000_000,
    'text': b'"' + b'x' * 10_000_000 + b'"',
    'key': json.dumps({'allocations': {'x' * 10_000_000: {'resources': {'VCPU': 1}}}}).encode(),
    'keys': json.dumps({f'unknown{number}': number for number in range(500_000)}).encode(),
}


def test_10_megabytes(url, client):
    """Refused in few words."""
    for name, sent in LARGE.items():
        headers = {'content-type': 'application/json'}
        answer = client.call('PUT', f'/allocations/{new_uuid()}', content=sent, headers=headers)
        assert answer.status_code in (400, 413), name
        assert len(answer.content) < 20_000, name
    client.must('GET', '/resource_providers')


def test_large_writes(url, client, database):
    """1,000 consumers in one POST; then 2,000 allocations in one reshape, while others go on."""
    root = claims.provider(client, VCPU=2_000, MEMORY_MB=2_000)
    child = claims.provider(client, parent=root)
    other = claims.provider(client, VCPU=10_000)
    consumers = [new_uuid() for _ in range(1_000)]
    wanted = {consumer: body({root: {'VCPU': 1, 'MEMORY_MB': 1}}) for consumer in consumers}
    longest = 0.0
    stop = threading.Event()

    def live_on():
        nonlocal longest
        small = Client.of_url(url)
        while not stop.is_set():
            began = time.monotonic()
            small.must('PUT', f'/allocations/{new_uuid()}', body({other: {'VCPU': 1}}))
            longest = max(longest, time.monotonic() - began)
            time.sleep(0.05)

    others = threading.Thread(target=live_on)
    others.start()
    try:
        assert claims.post(client, wanted).status_code == 204
        assert claims.used(client, root) == {'VCPU': 1_000, 'MEMORY_MB': 1_000}
        reshape = {
            'inventories': {
                root: {'resource_provider_generation': generation(client, root), 'inventories': {}},
                child: {'resource_provider_generation': 0, 'inventories': records(VCPU=2_000, MEMORY_MB=2_000)},
            },
            'allocations': {consumer: body({child: {'VCPU': 1, 'MEMORY_MB': 1}}, 1) for consumer in consumers},
        }
        client.must('POST', '/reshaper', reshape, headers={'x-roles': 'admin,service'})
    finally:
        stop.set()
        others.join()
    assert claims.used(client, child) == {'VCPU': 1_000, 'MEMORY_MB': 1_000}
    assert 0 < longest < 10
    invariants.check(database.url)
