"""A TCP proxy in front of a database server, which loses connections on command: used by test_faults.py."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

# How a connection ends at the chosen packet: before the server has it; after it, so that the server does what it says
# and nobody hears of it; in the middle of the server's answer.
BEFORE, AFTER, MIDST = 'before', 'after', 'midst'


@dataclass
class _Link:
    """One connection; `how` it is to end, as soon as that is known."""

    client: socket.socket
    server: socket.socket
    how: str | None = None


@dataclass
class Proxy:
    """Forwards 127.0.0.1:`port` to 127.0.0.1:`target`."""

    target: int
    port: int = 0
    # Packets of clients that were seen since `cut_at`, and the one at which the connection is to be lost.
    seen: int = 0
    at: int | None = None
    how: str = BEFORE
    # While set, nothing is forwarded, and nobody is told; while `refusing`, new connections end at once.
    stalled: threading.Event = field(default_factory=threading.Event)
    refusing: bool = False
    open: set[socket.socket] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def cut_at(self, packet: int | None, how: str) -> None:
        """Lose one connection, at the n-th packet (from 1) that clients send from now on."""
        with self.lock:
            self.seen, self.at, self.how = 0, packet, how

    def cut_all(self) -> None:
        """Lose all connections that are open, by a reset."""
        with self.lock:
            for end in list(self.open):
                _reset(end)

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self.refusing:
                _reset(client)
                continue
            server = socket.create_connection(('127.0.0.1', self.target))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.open |= {client, server}
            link = _Link(client, server)
            for run in (self._upwards, self._downwards):
                threading.Thread(target=run, args=(link,), daemon=True).start()

    def _upwards(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := link.client.recv(1 << 16):
                self._wait()
                with self.lock:
                    self.seen += 1
                    link.how = self.how if self.seen == self.at else None
                if link.how == BEFORE:
                    break
                link.server.sendall(data)
        self._end(link)

    def _downwards(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := link.server.recv(1 << 16):
                self._wait()
                if link.how == MIDST:
                    link.client.sendall(data[: len(data) // 2])
                if link.how is not None:
                    break
                link.client.sendall(data)
        self._end(link)

    def _wait(self) -> None:
        while self.stalled.is_set():
            threading.Event().wait(0.05)

    def _end(self, link: _Link) -> None:
        with self.lock:
            for end in (link.client, link.server):
                self.open.discard(end)
                _reset(end)


def _reset(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextlib.contextmanager
def proxy(target: int) -> Iterator[Proxy]:
    """A proxy to a port of this machine while the block runs."""
    with socket.socket() as listener:
        listener.bind(('127.0.0.1', 0))
        listener.listen(128)
        between = Proxy(target, listener.getsockname()[1])
        thread = threading.Thread(target=between.serve, args=(listener,), daemon=True)
        thread.start()
        try:
            yield between
        finally:
            between.stalled.clear()
            # A close alone does not wake the thread that accepts.
            listener.shutdown(socket.SHUT_RDWR)
    thread.join(timeout=5)
    between.cut_all()
