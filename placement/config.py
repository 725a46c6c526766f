"""Finding, reading and checking placement.conf (contract: service.md 3.1). Called by the WSGI module and the commands.

Values come from the command line, else the environment (OS_<GROUP>__<OPTION>), else the files, else the defaults. A
mistake ends the start with one sentence that names the option and where its value came from.
"""

import contextlib
import inspect
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence

import sqlalchemy as sa
from oslo_config import cfg

from placement import conf as options

PROJECT = 'placement'
CONFIG_DIR_VARIABLE = 'OS_PLACEMENT_CONFIG_DIR'
# What `placement/db` speaks, as URLs begin.
DATABASES = ('mysql', 'mariadb', 'sqlite')
# What oslo.config raises for a value with `$name` in it that leads nowhere, or in a circle.
BAD_REFERENCES = (cfg.NoSuchOptError, cfg.NoSuchGroupError, cfg.TemplateSubstitutionError, RecursionError)


class ConfigError(cfg.Error):
    """The configuration is wrong; `str()` of it is one sentence for the operator."""


class ConnectionUnusable(ConfigError):
    """`[placement_database] connection` has a value that leads to no database. The commands have an exit status of its
    own for it, that of a database that is away (service.md 1.6, 1.7)."""


def load(
    conf: cfg.ConfigOpts,
    argv: Sequence[str] = (),
    *,
    prog: str | None = None,
    version: str | None = None,
) -> cfg.ConfigOpts:
    """Register our options on `conf`, fill it, check every value, and return it.

    If the environment has OS_PLACEMENT_CONFIG_DIR, the file is `placement.conf` in that directory and must exist;
    otherwise `placement.conf` and `<prog>.conf` are searched in the standard directories and may be missing.
    `--config-file` and `--config-dir` in `argv` take their place. `prog` is the name of the program, by default that
    of the running one.

    Raises ConfigError.
    """
    options.register_opts(conf)
    directory = os.environ.get(CONFIG_DIR_VARIABLE, '').strip()
    files = [os.path.join(directory, f'{PROJECT}.conf')] if directory else None
    try:
        with _bad_values_raise():
            conf(list(argv), project=PROJECT, prog=prog, version=version, default_config_files=files)
    except ConfigError:
        raise
    except cfg.RequiredOptError as exc:
        raise ConfigError(_missing(str(exc.group or 'DEFAULT'), exc.opt_name)) from exc
    except cfg.ConfigFilesNotFoundError as exc:
        hint = f' {CONFIG_DIR_VARIABLE} points to it.' if files and list(exc.config_files) == files else ''
        raise ConfigError(f'The configuration file {", ".join(exc.config_files)} does not exist.{hint}') from exc
    except BAD_REFERENCES as exc:
        # Values that oslo.config looks at itself: the one that is required, and those that are command options too.
        _read(conf.placement_database, 'placement_database', 'connection')
        raise ConfigError(misleading('DEFAULT', 'an option of logging')) from exc
    except cfg.Error as exc:
        raise ConfigError(f'{" ".join(str(exc).split())}.') from exc
    except OSError as exc:
        raise ConfigError(f'The configuration file {exc.filename} cannot be read: {exc.strerror}.') from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f'A configuration file ({PROJECT}.conf or one that was named) is not UTF-8: {exc}.') from exc
    check(conf)
    return conf


def check(conf: cfg.ConfigOpts) -> None:
    """Read every value once, so that a bad one shows at start and not in a request. Raises ConfigError."""
    for name in conf:
        value = _read(conf, None, name)
        if isinstance(value, cfg.ConfigOpts.GroupAttr):
            for option in value:
                _read(value, name, option)
    _check_connection(conf.placement_database.connection, conf.placement_database.connection_parameters)


@contextlib.contextmanager
def _bad_values_raise() -> Iterator[None]:
    """Raise ConfigError where oslo.config prints and exits: a bad value of what is a command option too."""
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr):
            yield
    except SystemExit as exc:
        complaint = re.search(r'^argument --(\w+): Invalid (\w+) value: (.*)$', stderr.getvalue(), re.MULTILINE)
        if exc.code != 1 or complaint is None:
            raise
        name, kind, value = complaint.groups()
        stderr.truncate(0)
        raise ConfigError(f'[DEFAULT] {name} has a bad value: {value!r} is not a {kind}.') from None
    finally:
        sys.stderr.write(stderr.getvalue())


def _missing(group: str, name: str) -> str:
    return (
        f'[{group}] {name} is not set: put it into {PROJECT}.conf, or into the environment as {_variable(group, name)}.'
    )


def _read(source: cfg.ConfigOpts | cfg.ConfigOpts.GroupAttr, group: str | None, name: str) -> object:
    try:
        return source[name]
    except cfg.ConfigSourceValueError as exc:
        raise ConfigError(_invalid(group or 'DEFAULT', name, str(exc))) from exc
    except BAD_REFERENCES as exc:
        raise ConfigError(misleading(group or 'DEFAULT', name)) from exc


def _invalid(group: str, name: str, complaint: str) -> str:
    """One sentence out of what oslo.config says, which blames the file even when the environment is at fault."""
    variable = _variable(group, name)
    file = re.search(r"detail='([^']*)'", complaint)
    place = variable if variable in os.environ else file.group(1) if file else 'the configuration'
    reason = complaint.partition(' is not valid: ')[2] or complaint
    number = re.fullmatch(r"invalid literal for int\(\) with base 10: ('.*')", reason, re.DOTALL)
    if number:
        reason = f'{number.group(1)} is not an integer'
    return f'[{group}] {name} has a bad value in {place}: {reason}.'


def misleading(group: str, name: str) -> str:
    """What the value refers to is not shown: it may be half of a password."""
    return (
        f'[{group}] {name} refers by $ to an option that does not exist or that refers back; '
        'a dollar sign itself is written $$.'
    )


def uninstalled(what: str, package: str) -> str:
    """The sentence for a missing package; `what` is the option that needs it, or the variable."""
    return f'{what} needs the Python package {package}, which is not installed.'


def _variable(group: str, name: str) -> str:
    return f'OS_{group.upper()}__{name.upper()}'


def _check_connection(connection: str, parameters: str) -> None:
    """The URL is never shown: it has the password."""
    if not connection:
        raise ConnectionUnusable(_missing('placement_database', 'connection'))
    try:
        url = sa.make_url(connection)
        dialect = url.get_dialect()
    except (sa.exc.ArgumentError, ValueError, UnicodeError) as exc:
        raise ConnectionUnusable(
            '[placement_database] connection is no database URL: expected something like '
            'mysql+pymysql://user:password@host/placement or sqlite:////var/lib/placement/placement.sqlite.'
        ) from exc
    if dialect.name not in DATABASES:
        raise ConnectionUnusable(
            f'[placement_database] connection names a database that is not supported, {dialect.name}: '
            f'it must be one of {", ".join(DATABASES)}.'
        )
    try:
        driver = dialect.import_dbapi()
    except ImportError as exc:
        raise ConnectionUnusable(uninstalled('[placement_database] connection', str(exc.name))) from exc
    url = url.update_query_string(parameters, append=True).difference_update_query(['plugin'])
    try:
        arguments, named = dialect().create_connect_args(url)
        if inspect.isclass(driver.connect):  # the one of sqlite3 is not written in Python, and cannot be asked
            inspect.signature(driver.connect).bind(*arguments, **named)
    except (TypeError, ValueError, sa.exc.ArgumentError) as exc:
        raise ConnectionUnusable(
            f'[placement_database] connection or connection_parameters has a parameter of no use: {exc}.'
        ) from exc
