"""A client that costs next to nothing, so that what is measured is the service: one kept-alive connection, requests as
bytes. Used by measure.py."""

import json
import socket
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 120.0


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: Any = None

    def encode(self, host: str) -> bytes:
        body = b'' if self.body is None else json.dumps(self.body).encode()
        lines = [
            f'{self.method} {self.path} HTTP/1.1',
            f'host: {host}',
            'accept: application/json',
            'x-auth-token: admin',
            'openstack-api-version: placement 1.39',
        ]
        if self.body is not None:
            lines += ['content-type: application/json', f'content-length: {len(body)}']
        return '\r\n'.join([*lines, '', '']).encode() + body


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes
    # From the first byte sent to the last byte received.
    seconds: float


class Connection:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.netloc
        self.address = (parts.hostname, parts.port)
        self.socket: socket.socket | None = None

    def send(self, request: Request) -> Answer:
        """Raises TimeoutError and other OSErrors; the next request then makes a new connection."""
        raw = request.encode(self.host)
        try:
            if self.socket is None:
                self.socket = socket.create_connection(self.address, timeout=TIMEOUT)
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            started = time.perf_counter()
            self.socket.sendall(raw)
            return self._receive(started)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None

    def _receive(self, started: float) -> Answer:
        received = bytearray()
        while (end := received.find(b'\r\n\r\n')) < 0:
            received += self._some()
        status, *lines = received[:end].decode('latin-1').split('\r\n')
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(':') for line in lines)}
        length = end + 4 + int(headers.get('content-length', 0))
        while len(received) < length:
            received += self._some()
        seconds = time.perf_counter() - started
        if headers.get('connection', '').lower() == 'close':
            self.close()
        return Answer(int(status.split()[1]), headers, bytes(received[end + 4 :]), seconds)

    def _some(self) -> bytes:
        assert self.socket is not None
        data = self.socket.recv(1 << 20)
        if not data:
            raise ConnectionError('the service closed the connection')
        return data
