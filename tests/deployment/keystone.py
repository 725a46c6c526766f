"""A real Keystone on loopback, with SQLite, installed in an environment of its own. For test_keystone.py.

The cloud has the projects `service`, `demo` and `other`, and USERS; everybody's password is PASSWORD.
"""

import base64
import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests import environments, processes

ENVIRONMENT = environments.Environment('keystone', ('keystone', 'gunicorn'), 'PLACEMENT_KEYSTONE_VENV')

PASSWORD = 'unutterable'
# Seconds that a token is valid.
EXPIRATION = 30
# Who has which role in which project.
USERS = {
    'placement': [('service', 'service')],
    'nova': [('service', 'service')],
    'alice': [('reader', 'demo'), ('reader', 'other')],
    'bob': [('member', 'demo')],
    'nobody': [],
}

_CONFIG = """\
[database]
connection = sqlite:///{directory}/keystone.sqlite
[token]
expiration = {expiration}
[fernet_tokens]
key_repository = {directory}/fernet
[credential]
key_repository = {directory}/credential
[identity]
password_hash_rounds = 4
"""


class Keystone:
    """A running Keystone; `start` and `stop` it as often as you like."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = processes.free_port()
        self.url = f'http://127.0.0.1:{self.port}'
        self.projects: dict[str, str] = {}
        self._programs = ENVIRONMENT.bin()
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith('OS_')}
        self._environment['OS_KEYSTONE_CONFIG_FILES'] = str(directory / 'keystone.conf')
        self._server = contextlib.ExitStack()
        self._http = httpx.Client(base_url=f'{self.url}/v3', trust_env=False, timeout=60)

    def install(self) -> None:
        """Make the database, the keys and the administrator."""
        (self.directory / 'keystone.conf').write_text(_CONFIG.format(directory=self.directory, expiration=EXPIRATION))
        self._manage('db_sync')
        for repository in ('fernet', 'credential'):
            # As `keystone-manage fernet_setup` and `credential_setup` do, of which each takes many seconds to start.
            (self.directory / repository).mkdir(mode=0o700)
            for key in ('0', '1'):
                (self.directory / repository / key).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))
        # It reads the command line of the server, so that this must have no arguments.
        (self.directory / 'gunicorn.conf.py').write_text(
            f'bind, worker_class, threads = "127.0.0.1:{self.port}", "gthread", 4\n'
            'control_socket_disable, wsgi_app = True, "keystone.wsgi.api:application"\n'
        )
        urls = [
            argument for kind in ('admin', 'internal', 'public') for argument in (f'--bootstrap-{kind}-url', self.url)
        ]
        self._manage('bootstrap', f'--bootstrap-password={PASSWORD}', *urls)

    def start(self) -> None:
        """Serve, until `stop`."""
        self._server.enter_context(
            processes.running(
                [str(self._programs / 'gunicorn')],
                log=self.directory / 'keystone.log',
                ready=self._answers,
                env=self._environment,
                cwd=self.directory,
            )
        )

    def stop(self) -> None:
        """Stop serving."""
        self._server.close()

    def populate(self, placement: str) -> None:
        """Make projects, users and the catalog, in which the service is at the URL `placement`."""
        admin = {'x-auth-token': self.token('admin', project='admin')}

        def make(kind: str, **values: Any) -> str:
            answer = self._http.post(f'/{kind}s', json={kind: values}, headers=admin).raise_for_status()
            return answer.json()[kind]['id']

        listed = self._http.get('/roles', headers=admin).raise_for_status().json()['roles']
        roles = {role['name']: role['id'] for role in listed}
        for project in ('service', 'demo', 'other'):
            self.projects[project] = make('project', name=project, domain_id='default')
        for user, assignments in USERS.items():
            user_id = make('user', name=user, domain_id='default', password=PASSWORD)
            for role, project in assignments:
                path = f'/projects/{self.projects[project]}/users/{user_id}/roles/{roles[role]}'
                self._http.put(path, headers=admin).raise_for_status()
        (admin_user,) = self._http.get('/users?name=admin', headers=admin).raise_for_status().json()['users']
        path = f'/domains/default/users/{admin_user["id"]}/roles/{roles["admin"]}'
        self._http.put(path, headers=admin).raise_for_status()
        catalog_entry = make('service', type='placement', name='placement')
        for interface in ('public', 'internal', 'admin'):
            make('endpoint', service_id=catalog_entry, interface=interface, url=placement)

    def token(self, user: str, project: str | None = None, scope: dict[str, Any] | str | None = None) -> str:
        """A new token, scoped to a project, to another `scope`, or to none."""
        if project:
            scope = {'project': {'name': project, 'domain': {'id': 'default'}}}
        password = {'user': {'name': user, 'domain': {'id': 'default'}, 'password': PASSWORD}}
        auth = {'identity': {'methods': ['password'], 'password': password}, 'scope': scope or 'unscoped'}
        answer = self._http.post('/auth/tokens', json={'auth': auth}).raise_for_status()
        return answer.headers['x-subject-token']

    def _answers(self) -> bool:
        try:
            return self._http.get('/', timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    def _manage(self, *arguments: str) -> None:
        configuration = f'--config-file={self.directory / "keystone.conf"}'
        command = [str(self._programs / 'keystone-manage'), configuration, *arguments]
        done = subprocess.run(
            command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise processes.NotReady(f'{command}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}')


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Keystone]:
    """A Keystone with nobody but its administrator, while the block runs. Raises environments.Unavailable."""
    keystone = Keystone(directory)
    keystone.install()
    keystone.start()
    try:
        yield keystone
    finally:
        keystone.stop()
