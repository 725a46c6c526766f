"""What an operator reads when something is wrong: the messages of docs/operate.md, as they come out of the service."""

import re
import subprocess
import sys

import pytest

from placement import errors
from placement.db import engine
from tests import databases, live, service
from tests.client import Client

DOCUMENT = (live.CHECKOUT / 'docs' / 'operate.md').read_text()


def documented(text):
    """`text`, which must be in the document, up to a first `…` there."""
    assert text in DOCUMENT, text
    return text.partition('…')[0]


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
@pytest.mark.parametrize(
    ('options', 'message'),
    [
        (
            {'OS_API__AUTH_STRATEGY': 'none'},
            "[api] auth_strategy has a bad value in {place}: Valid values are [keystone, noauth2], but found 'none'.",
        ),
        (
            {'OS_DEFAULT__LOG_FILE': '/nowhere/placement-api.log'},
            '[DEFAULT] log_file, log_dir: {path} cannot be written: No such file or directory.',
        ),
        (
            {'OS_DEFAULT__LOG_CONFIG_APPEND': '/nowhere/logging.conf'},
            '[DEFAULT] log_config_append cannot be used: Error loading logging config /nowhere/logging.conf: ',
        ),
        (
            {'OS_DEFAULT__DEFAULT_LOG_LEVELS': 'placement=LOUD'},
            "[DEFAULT] default_log_levels cannot be used: Unknown level: 'LOUD'.",
        ),
        (
            {'OS_DEFAULT__USE_SYSLOG': 'true', 'OS_DEFAULT__SYSLOG_LOG_FACILITY': 'LOG_LOUD'},
            '[DEFAULT] syslog_log_facility cannot be used: syslog facility must be one of: ',
        ),
        (
            {'OS_PLACEMENT_DATABASE__SYNC_ON_STARTUP': 'false', 'OS_PLACEMENT_DATABASE__CONNECTION': 'sqlite://'},
            'The schema of the database is not usable: tables are missing. Run "placement-manage db sync".',
        ),
    ],
    ids=['option', 'log', 'log_config_append', 'default_log_levels', 'syslog_log_facility', 'schema'],
)
def test_a_start_that_fails_ends_with_one_sentence(database, tmp_path, options, message):
    """Under a server that knows nothing of us."""
    environment = live.configure(database.url, tmp_path, options) | {'PYTHONPATH': str(live.CHECKOUT)}
    command = [sys.executable, '-m', 'gunicorn', '--bind=127.0.0.1:0', 'placement.wsgi.api:application']
    ended = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 3
    sentence = message.format(place='OS_API__AUTH_STRATEGY', path='/nowhere/placement-api.log')
    assert sentence in ended.stderr
    assert 'File "' not in ended.stderr and 'Traceback' not in ended.stderr


@pytest.mark.parametrize('dialect', databases.DIALECTS)
def test_empty_database(dialect, request, tmp_path):
    if dialect == 'sqlite':
        url = f'sqlite:///{tmp_path}/empty.sqlite'
    else:
        url = request.getfixturevalue('mariadb').create('empty')
    message = documented(
        'The schema of the database is not usable: tables are missing. Run "placement-manage db sync".'
    )
    conf = service.configuration(url)
    with pytest.raises(errors.SchemaUnusable, match=re.escape(message)), service.application(conf):
        pass


def test_other_revision_is_told_of_at_start(database, conf, caplog):
    ((head,),) = database.rows('SELECT version_num FROM alembic_version')
    record = 'UPDATE alembic_version SET version_num = :revision'
    database.execute(record, revision='422ece571366')
    try:
        with service.application(conf) as app:
            assert Client.of_app(app).call('GET', '/traits').status_code == 200
    finally:
        database.execute(record, revision=head)
    (warning,) = (record for record in caplog.records if record.name == 'placement.deploy')
    assert documented('The schema of the database is at revision …').strip() in warning.getMessage()
    assert documented('but this release is made for a082b8bb98d0: requests may fail.') in warning.getMessage()


def refuses_writes_only(app, caplog, cause):
    client = Client.of_app(app)
    assert client.call('GET', '/traits').status_code == 200
    assert client.call('GET', '/allocation_candidates?resources=VCPU:1').status_code == 200
    for method, path, body in (('PUT', '/traits/CUSTOM_A', None), ('POST', '/resource_providers', {'name': 'host'})):
        answer = client.call(method, path, body)
        assert answer.status_code == 503
        assert 'The database of the service is not available at present. Please try again.' in answer.text
    said = [record.getMessage() for record in caplog.records if record.levelname == 'ERROR']
    assert len(said) == 2
    for message in said:
        assert message.startswith(documented('The database refuses to work: '))
        assert cause in message


@pytest.mark.parametrize('database', ['sqlite'], indirect=True)
def test_read_only_file(database, conf, app, caplog):
    """A service that starts on a read-only file, which was in use before."""
    url = f'sqlite:///file:{database.url.removeprefix("sqlite:///")}?mode=ro&uri=true'
    with service.application(service.configuration(url)) as read_only:
        refuses_writes_only(read_only, caplog, 'attempt to write a readonly database')


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_read_only_server(database, conf, app, caplog):
    database.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON placement.* TO reader@'%' IDENTIFIED BY 'secret'")
    database.execute('SET GLOBAL read_only = 1')
    try:
        url = database.url.replace('root@', 'reader:secret@')
        with service.application(service.configuration(url)) as read_only:
            refuses_writes_only(
                read_only, caplog, documented('The MariaDB server is running with the --read-only option …')
            )
    finally:
        database.execute('SET GLOBAL read_only = 0')


@pytest.mark.parametrize('database', ['mariadb'], indirect=True)
def test_no_connection_is_free(database, conf, caplog):
    for option, value in (('max_pool_size', 1), ('max_overflow', 0), ('pool_timeout', 1)):
        conf.set_override(option, value, group='placement_database')
    with service.application(conf) as app, engine.get_engine().connect():
        answer = Client.of_app(app).call('GET', '/traits')
    assert answer.status_code == 503
    assert documented('The database is not available: QueuePool limit of size …') in caplog.text
