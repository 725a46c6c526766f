"""The service under each web server, started from the very examples in etc/ with their paths replaced.

with servers.apache(database.url, directory, prefix='/placement') as url:
    client = Client.of_url(url)

`directory` gets configuration, sockets and logs (`server.log`): a short path that every user may enter, since a web
server that was started by root runs as another user. A server that is not installed raises Missing.
"""

import contextlib
import getpass
import grp
import os
import pwd
import shlex
import shutil
import socket
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from tests import live, processes

PROCESSES, THREADS = 2, 4
LOG = 'server.log'

# Whom Debian's web servers run as; they refuse to serve as root.
_WEB_USER = 'www-data'
_APACHE_MODULES = ('mpm_event', 'authz_core', 'alias', 'wsgi')


class Missing(Exception):
    """A server is not installed here, or cannot work here; the text says why."""


@contextlib.contextmanager
def systemd_unit(url: str, directory: Path, prefix: str = '') -> Iterator[str]:
    """gunicorn, by the command of etc/systemd/placement.service, which has to say when it is ready."""
    port = processes.free_port()
    unit = _example(
        'systemd/placement.service',
        {
            '/opt/placement/bin': str(_bin()),
            '0.0.0.0 --port 8778 --workers 4 --threads 8': (
                f'127.0.0.1 --port {port} --workers {PROCESSES} --threads {THREADS}'
            ),
        },
    )
    (command,) = (line.partition('=')[2] for line in unit.splitlines() if line.startswith('ExecStart='))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(directory / 'notify'))
        manager.settimeout(0)
        environment = _environment(url, directory) | {'NOTIFY_SOCKET': str(directory / 'notify')}
        if prefix:
            assert '#Environment=SCRIPT_NAME=/placement' in unit
            environment['SCRIPT_NAME'] = prefix
        with _running(shlex.split(command), directory, lambda: _notified(manager), environment):
            yield f'http://127.0.0.1:{port}{prefix}'


@contextlib.contextmanager
def uwsgi(url: str, directory: Path, prefix: str = '') -> Iterator[str]:
    """uWSGI alone, by etc/uwsgi/placement.ini."""
    address = f'127.0.0.1:{processes.free_port()}'
    ready = lambda: live.answers(f'http://{address}{prefix}/')  # noqa: E731
    # It ends a connection after each answer without saying so.
    arguments = ('--http-socket', address, '--add-header', 'Connection: close')
    with _uwsgi(url, directory, prefix, arguments, ready):
        yield f'http://{address}{prefix}'


@contextlib.contextmanager
def nginx(url: str, directory: Path, prefix: str = '') -> Iterator[str]:
    """uWSGI behind nginx, by etc/uwsgi/placement.ini and etc/nginx/placement.conf."""
    program = _program('nginx', 'nginx-light')
    port = processes.free_port()
    site = {
        '/run/placement/uwsgi.sock': str(directory / 'uwsgi.sock'),
        'listen 8778': f'listen 127.0.0.1:{port}',
    }
    if prefix:
        site['location /'] = f'location {prefix}'
    (directory / 'site.conf').write_text(_example('nginx/placement.conf', site))
    temporary = ''.join(
        f'{kind}_temp_path {directory}/{kind};' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')
    )
    configuration = directory / 'nginx.conf'
    configuration.write_text(
        f'daemon off; user {getpass.getuser()}; pid {directory}/nginx.pid; error_log {directory}/nginx.log;'
        f'events {{}} http {{ access_log off; {temporary} include {directory}/site.conf; }}'
    )
    command = [program, '-e', str(directory / 'nginx.log'), '-c', str(configuration)]
    base = f'http://127.0.0.1:{port}{prefix}'
    with (
        _uwsgi(url, directory, prefix, (), (directory / 'uwsgi.sock').is_socket),
        processes.running(command, log=directory / 'nginx.log', ready=lambda: live.answers(f'{base}/')),
    ):
        yield base


@contextlib.contextmanager
def apache(url: str, directory: Path, prefix: str = '') -> Iterator[str]:
    """Apache with mod_wsgi, by etc/apache2/placement.conf."""
    program = _program('apache2', 'apache2 libapache2-mod-wsgi-py3')
    modules = Path('/usr/lib/apache2/modules')
    version = f'{sys.version_info.major}.{sys.version_info.minor}'
    if not list(modules.glob(f'mod_wsgi.so-{version}')):
        raise Missing(f'Apache has no mod_wsgi for Python {version} (Debian: libapache2-mod-wsgi-py3)')
    port = processes.free_port()
    user = _WEB_USER if getpass.getuser() == 'root' else getpass.getuser()
    group = grp.getgrgid(pwd.getpwnam(user).pw_gid).gr_name
    script_folder = live.CHECKOUT / 'placement' / 'wsgi'
    packages = Path(sysconfig.get_path('purelib'))
    for path in (directory, script_folder, packages):
        if user == _WEB_USER and not all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents)):
            raise Missing(f'the user {user} may not enter {path}')
    site = _example(
        'apache2/placement.conf',
        {
            'Listen 8778': f'Listen 127.0.0.1:{port}',
            '*:8778': f'127.0.0.1:{port}',
            'processes=4 threads=8': f'processes={PROCESSES} threads={THREADS}',
            'user=placement group=placement': f'user={user} group={group}',
            # Debian's Python with our packages: the environment of the tests may be of another build of this version.
            'python-home=/opt/placement': f'python-path={live.CHECKOUT}:{packages} home={directory}',
            'WSGIScriptAlias / ': f'WSGIScriptAlias {prefix or "/"} ',
            '/opt/placement/lib/python3.11/site-packages/placement/wsgi': str(script_folder),
            '/var/log/apache2/placement.log': str(directory / LOG),
        },
    )
    load = ''.join(f'LoadModule {name}_module {modules}/mod_{name}.so\n' for name in _APACHE_MODULES)
    configuration = directory / 'httpd.conf'
    configuration.write_text(
        f'ServerName localhost\nServerRoot {directory}\nPidFile {directory}/httpd.pid\nUser {user}\nGroup {group}\n'
        f'DefaultRuntimeDir {directory}\nErrorLog {directory}/{LOG}\nWSGISocketPrefix {directory}/wsgi\n{load}{site}'
    )
    command = [program, '-DFOREGROUND', '-f', str(configuration)]
    base = f'http://127.0.0.1:{port}{prefix}'
    with _running(command, directory, lambda: live.answers(f'{base}/'), _environment(url, directory)):
        yield base


@contextlib.contextmanager
def _uwsgi(
    url: str, directory: Path, prefix: str, arguments: tuple[str, ...], ready: Callable[[], bool]
) -> Iterator[None]:
    program = _program('uwsgi', 'uwsgi-core uwsgi-plugin-python3, or pip install uwsgi')
    replacements = {
        '/opt/placement': sys.prefix,
        '/run/placement/uwsgi.sock': str(directory / 'uwsgi.sock'),
        'processes = 4\nthreads = 8': f'processes = {PROCESSES}\nthreads = {THREADS}',
    }
    if prefix:
        replacements |= {
            'module = placement.wsgi.api:application\n': '',
            '#mount = /placement=': f'mount = {prefix}=',
            '#manage-script-name': 'manage-script-name',
        }
    (directory / 'placement.ini').write_text(_example('uwsgi/placement.ini', replacements))
    command = [program, '--ini', str(directory / 'placement.ini'), *arguments]
    with _running(command, directory, ready, _environment(url, directory)):
        yield


def _running(
    command: list[str], directory: Path, ready: Callable[[], bool], environment: dict[str, str]
) -> contextlib.AbstractContextManager[object]:
    return processes.running(command, log=directory / LOG, ready=ready, env=environment, cwd=directory)


def _environment(url: str, directory: Path) -> dict[str, str]:
    return live.configure(url, directory) | {'PYTHONPATH': str(live.CHECKOUT)}


def _example(name: str, replacements: dict[str, str]) -> str:
    """The text of a file in etc/ with other values. What is replaced must be there, or the examples have drifted."""
    text = (live.CHECKOUT / 'etc' / name).read_text()
    for old, new in replacements.items():
        assert old in text, f'etc/{name} has no {old!r}'
        text = text.replace(old, new)
    return text


def _bin() -> Path:
    return Path(sys.executable).parent


def _program(name: str, packages: str) -> str:
    path = os.pathsep.join([str(_bin()), os.environ.get('PATH', os.defpath), '/usr/sbin'])
    found = shutil.which(name, path=path)
    if found is None:
        raise Missing(f'{name} is not installed (Debian: {packages})')
    return found


def _notified(manager: socket.socket) -> bool:
    """Whether the server has told its service manager that it is ready."""
    try:
        return b'READY=1' in manager.recv(4096)
    except BlockingIOError:
        return False
