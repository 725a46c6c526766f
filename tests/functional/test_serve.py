"""placement-serve as a process: where it listens, and how it stops."""

import os
import re
import signal
import socket
import sys
from pathlib import Path

import pytest

from tests import databases, processes

BODY = b'{"name": "CUSTOM_LATE"}'


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_requests_under_way_are_answered_after_sigterm(database: databases.Database, tmp_path: Path) -> None:
    log = tmp_path / 'log'
    command = [sys.executable, '-m', 'placement.cmd.serve', '--port', '0', '--workers', '2', '--threads', '2']
    environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')} | {
        'HOME': str(tmp_path),
        'OS_API__AUTH_STRATEGY': 'noauth2',
        'OS_PLACEMENT_DATABASE__CONNECTION': database.url,
    }

    def port() -> int | None:
        listening = re.search(r'Listening at: http://127\.0\.0\.1:(\d+)', log.read_text())
        return int(listening.group(1)) if listening else None

    def ready() -> bool:
        return log.read_text().count('Booting worker') == 2 and port() is not None

    with processes.running(command, log=log, ready=ready, env=environment) as process:
        found = port()
        assert found is not None
        with socket.create_connection(('127.0.0.1', found), timeout=60) as client:
            client.sendall(
                b'POST /resource_classes HTTP/1.1\r\nHost: placement\r\nX-Auth-Token: admin\r\n'
                b'OpenStack-API-Version: placement 1.39\r\nContent-Type: application/json\r\n'
                b'Content-Length: %d\r\n\r\n%b' % (len(BODY), BODY[:5])
            )
            # The worker reads the body in the handler: the request has begun when the next answer comes back.
            with socket.create_connection(('127.0.0.1', found), timeout=60) as other:
                other.sendall(b'GET / HTTP/1.1\r\nHost: placement\r\nConnection: close\r\n\r\n')
                assert other.recv(12) == b'HTTP/1.1 200'
            process.send_signal(signal.SIGTERM)
            with pytest.raises(processes.subprocess.TimeoutExpired):
                process.wait(timeout=2)
            client.sendall(BODY[5:])
            assert client.recv(12) == b'HTTP/1.1 201'
        assert process.wait(timeout=30) == 0
    assert database.rows("SELECT id FROM resource_classes WHERE name = 'CUSTOM_LATE'") == [(10000,)]
