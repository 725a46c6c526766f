"""placement-manage: the schema of the database, migrations of its data (contract: service.md 1.4 to 1.6, 4.1), and
what operators ask about a cloud, one module of `placement.cmd` for each of these commands."""

import argparse
import functools
import importlib.metadata
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import prettytable
import sqlalchemy as sa
from alembic.util import CommandError
from oslo_config import cfg
from oslo_db import exception as db_exc

from placement import config, errors
from placement.cmd import arguments, audit, completion, consumers, database, explain, forecast, output, tree
from placement.db import migration, online_migrations
from placement.operator.explain import HostUnknown
from placement.operator.flavor import FlavorError

PROG = 'placement-manage'
BATCH = 50

# Exit statuses of online_data_migrations.
DONE, MORE, FAILED, BAD_COUNT = 0, 1, 2, 127

# What an operator can mend is one sentence on stderr; anything else is a traceback.
_EXPECTED = (
    config.ConfigError,
    migration.MigrationError,
    errors.PlacementError,
    CommandError,
    db_exc.DBError,
    sa.exc.DBAPIError,
    FlavorError,
    HostUnknown,
    arguments.ArgumentError,
)

# What an operator's command returns when its arguments, the configuration or the database are wrong.
BAD_INPUT = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    conf = cfg.ConfigOpts()
    conf.register_cli_opt(
        cfg.SubCommandOpt(
            'command',
            title='Command',
            help='Available commands',
            handler=lambda parsers: _add_parsers(conf, parsers),
        )
    )
    shell = completion.wanted(argv)
    if shell is not None:
        print(completion.script_of(conf, PROG, shell))
        return 0
    try:
        version = importlib.metadata.version('openstack-placement')
        config.load(conf, argv or ['--help'], prog=PROG, version=version)
        return conf.command.run()
    except SystemExit as exc:
        return int(exc.code or 0) if argv else 1
    except _EXPECTED as exc:
        if '--debug' in argv or '-d' in argv:
            traceback.print_exc()
        print(f'{PROG}: {_sentence(exc)}', file=sys.stderr)
        return _failure(conf, exc)


def _failure(conf: cfg.ConfigOpts, exc: Exception) -> int:
    """The exit status of a command that could not do its work, as far as the command is known by then."""
    configuration = isinstance(exc, config.ConfigError) and not isinstance(exc, config.ConnectionUnusable)
    try:
        return int(conf.command.misconfigured if configuration else conf.command.failure)
    except cfg.NoSuchOptError:
        return 1


def _sentence(exc: Exception) -> str:
    """What is wrong, without what the libraries between the database and us add to it."""
    inner = getattr(exc, 'inner_exception', exc)
    return ' '.join(str(getattr(inner, 'orig', inner)).split())


def _add_parsers(conf: cfg.ConfigOpts, commands: Any) -> None:
    _add_db(conf, commands)
    for module in (explain, forecast, tree, consumers, audit):
        name = module.__name__.rpartition('.')[2]
        parser = commands.add_parser(
            name,
            help=module.DESCRIPTION.partition('\n\n')[0],
            description=module.DESCRIPTION,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(parser)
        parser.set_defaults(run=functools.partial(module.run, conf), failure=BAD_INPUT, misconfigured=BAD_INPUT)


def _add_db(conf: cfg.ConfigOpts, commands: Any) -> None:
    text = 'The schema of the database, and migrations of its data.'
    db = commands.add_parser('db', help=text, description=text)
    db.set_defaults(run=lambda: _help(db), failure=1, misconfigured=1)
    subcommands = db.add_subparsers(title='subcommands', description='database commands')

    def add(name: str, text: str, run: Callable[[cfg.ConfigOpts], int]) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = subcommands.add_parser(name, help=text, description=text)
        parser.set_defaults(run=lambda: run(conf))
        return parser

    add('sync', 'Bring the schema of the database to the newest revision.', _sync)
    add('version', 'Print the recorded revision of the schema.', _version)
    stamp = add('stamp', 'Record a revision of the schema, without changing it.', _stamp)
    stamp.add_argument('version', help='an id, a unique prefix of one, head or base')
    online = add(
        'online_data_migrations',
        'Mend rows that old releases wrote; the service may be running.',
        _online_data_migrations,
    )
    online.add_argument(
        '--max-count',
        metavar='<number>',
        help='Run one batch of at most this many rows; exit status 1 means: call again.',
    )
    # Deployers repeat the command while it returns 1: a database that is away must not look like progress.
    online.set_defaults(failure=FAILED)


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _sync(conf: cfg.ConfigOpts) -> int:
    database.connect(conf)
    migration.upgrade()
    return 0


def _version(conf: cfg.ConfigOpts) -> int:
    database.connect(conf)
    print(migration.version())
    return 0


def _stamp(conf: cfg.ConfigOpts) -> int:
    database.connect(conf)
    migration.stamp(conf.command.version)
    return 0


def _online_data_migrations(conf: cfg.ConfigOpts) -> int:
    count = _positive(conf.command.max_count)
    if count == 0:
        print('Must supply a positive value for max_count')
        return BAD_COUNT
    database.connect(conf)
    if count is None:
        print(f'Running batches of {BATCH} until complete')
    totals: dict[str, int] = {}
    with output.progress() as progress:
        task = progress.add_task('Migrating', total=None if progress.disable else _pending(count))
        while True:
            changed, failed = _run_batch(conf, count or BATCH, totals)
            progress.advance(task, changed)
            if count is not None or changed == 0:
                break
    print(_table(totals))
    if failed:
        print('Some migrations failed unexpectedly. The tracebacks are on standard error.')
    if count is not None and changed:
        return MORE
    return FAILED if failed else DONE


def _pending(most: int | None) -> int | None:
    """How many rows there are to migrate; None if that cannot be told, as with tables missing."""
    try:
        found = online_migrations.count_without_root() + online_migrations.count_without_consumer()
    except (errors.PlacementError, db_exc.DBError):
        return None
    return found if most is None else min(found, most)


def _positive(text: str | None) -> int | None:
    """The number that `text` is, as far as a database can count; 0 if it is none or not positive."""
    if text is None:
        return None
    try:
        return min(max(int(text), 0), sys.maxsize)
    except ValueError:
        return 0


def _run_batch(conf: cfg.ConfigOpts, count: int, totals: dict[str, int]) -> tuple[int, bool]:
    """Run the migrations on `count` rows in all; returns how many rows changed and whether anything failed."""
    changed, failed = 0, False
    for migrate in online_migrations.MIGRATIONS:
        if changed >= count:
            break
        name = migrate.__name__
        done = 0
        try:
            done = migrate(conf, count - changed)
        except Exception:  # one migration must not keep the other from running
            print(f'Error attempting to run {name}')
            traceback.print_exc()
            failed = True
        if done:
            print(f'{done} rows matched query {name}, {done} migrated')
        changed += done
        totals[name] = totals.get(name, 0) + done
    return changed, failed


def _table(totals: dict[str, int]) -> prettytable.PrettyTable:
    table = prettytable.PrettyTable(['Migration', 'Total Found', 'Completed'])
    for name, total in totals.items():
        table.add_row([name, total, total])
    return table


if __name__ == '__main__':
    sys.exit(main())
