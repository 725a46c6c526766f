"""A private Galera cluster of three MariaDB nodes on 127.0.0.1, whose nodes can be killed and brought back.

    with galera.cluster(directory) as nodes:
        nodes[2].kill()
        nodes[2].start()

Used by tests/concurrency/test_galera.py.
"""

import contextlib
import getpass
import os
import pwd
import shutil
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from tests import databases, processes

NODES = 3
PROVIDER = Path('/usr/lib/galera/libgalera_smm.so')


def missing() -> str | None:
    """Why there can be no cluster here, or None."""
    if reason := databases.missing_mariadb():
        return reason
    if not PROVIDER.exists():
        return 'galera is not installed (Debian: galera-4)'
    for program in ('rsync', 'wsrep_sst_rsync'):
        if shutil.which(program) is None:
            return f'{program} is not installed (Debian: rsync, mariadb-server)'
    return None


@dataclass
class Node:
    """One server of the cluster; `replication` is the first of the ports that it talks to the others by."""

    number: int
    directory: Path
    port: int
    replication: int
    peers: list[int] = field(default_factory=list)
    running: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def url(self) -> str:
        return f'mysql+pymysql://root@127.0.0.1:{self.port}/placement'

    @property
    def socket_path(self) -> str:
        return str(self.directory / 'socket')

    def query(self, statement: str) -> list[tuple[str, ...]]:
        with pymysql.connect(unix_socket=self.socket_path, user='root') as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def is_synced(self) -> bool:
        try:
            state = dict(self.query("SHOW STATUS LIKE 'wsrep_local_state_comment'"))
        except pymysql.err.MySQLError:
            return False
        return state.get('wsrep_local_state_comment') == 'Synced'

    def start(self, found: bool = False) -> None:
        """Join the others, or `found` the cluster; returns when the node has all that they have."""
        peers = '' if found else ','.join(f'127.0.0.1:{port}' for port in self.peers)
        command = [
            databases.program('mariadbd'),
            '--no-defaults',
            f'--user={_user()}',
            f'--datadir={self.directory / "data"}',
            f'--socket={self.socket_path}',
            f'--pid-file={self.directory / "pid"}',
            f'--port={self.port}',
            '--bind-address=127.0.0.1',
            '--skip-name-resolve',
            '--max-connections=500',
            '--innodb-flush-log-at-trx-commit=0',
            '--innodb-log-file-size=16M',
            '--innodb-buffer-pool-size=64M',
            '--performance-schema=0',
            '--binlog-format=ROW',
            '--innodb-autoinc-lock-mode=2',
            '--wsrep-on=ON',
            f'--wsrep-provider={PROVIDER}',
            '--wsrep-cluster-name=placement-tests',
            f'--wsrep-cluster-address=gcomm://{peers}',
            f'--wsrep-node-name=node{self.number}',
            f'--wsrep-node-address=127.0.0.1:{self.replication}',
            '--wsrep-provider-options='
            f'base_port={self.replication};gmcast.listen_addr=tcp://127.0.0.1:{self.replication};'
            f'ist.recv_addr=127.0.0.1:{self.replication + 1};gcache.size=32M',
            '--wsrep-sst-method=rsync',
            f'--wsrep-sst-receive-address=127.0.0.1:{self.replication + 4}',
        ]
        if found:
            command.append('--wsrep-new-cluster')
        environment = {**os.environ, 'PATH': f'{os.environ.get("PATH", os.defpath)}:/usr/sbin'}
        self.running.enter_context(
            processes.running(command, log=self.directory / 'log', ready=self.is_synced, env=environment)
        )

    def kill(self) -> None:
        """As if its machine had lost its power."""
        os.kill(int((self.directory / 'pid').read_text()), signal.SIGKILL)
        self.running.close()

    def stop(self) -> None:
        """In order."""
        self.running.close()


@contextlib.contextmanager
def cluster(directory: Path) -> Iterator[list[Node]]:
    """Three nodes while the block runs, with their data in `directory`, a short, disposable path; each has an empty
    database `placement`."""
    directory.chmod(0o755)
    nodes = [Node(number, directory / f'n{number}', processes.free_port(), _free_ports(5)) for number in range(NODES)]
    with contextlib.ExitStack() as stack:
        for node in nodes:
            node.peers = [other.replication for other in nodes]
            node.directory.mkdir()
            databases.install_mariadb(node.directory)
            _give_away(node.directory)
            stack.push(node.running)
            node.start(found=node is nodes[0])
        nodes[0].query('CREATE DATABASE placement CHARACTER SET utf8mb3')
        yield nodes


def _user() -> str:
    """Whom the nodes run as: the state transfer refuses root."""
    return 'mysql' if getpass.getuser() == 'root' else getpass.getuser()


def _give_away(directory: Path) -> None:
    owner = pwd.getpwnam(_user())
    for path in [directory, *directory.rglob('*')]:
        os.chown(path, owner.pw_uid, owner.pw_gid)


def _free_ports(count: int) -> int:
    """The first of some neighbouring ports that nothing uses at this moment."""
    while True:
        first = processes.free_port()
        try:
            with contextlib.ExitStack() as stack:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(('127.0.0.1', port))
        except OSError:
            continue
        return first
