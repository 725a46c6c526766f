"""placement-manage audit: what is wrong or untidy in the database, and mending what is safe to mend."""

import argparse
import datetime
import pathlib
import sys
from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from oslo_utils import uuidutils
from rich.text import Text

from placement import uuids
from placement.cmd import arguments as common
from placement.cmd import database, output
from placement.db import engine
from placement.operator.audit import CHECKS, Check, Options, Row
from placement.operator.fixes import FIXES

DESCRIPTION = """\
Find what clouds suffer from: leftovers of migrations, usage beyond capacity, damaged rows. Reads only, without --fix.

  placement-manage audit
  openstack server list --all-projects -f value -c ID > servers
  openstack server migration list -f value -c UUID >> servers
  placement-manage audit --nova-list servers --check gone-servers
  placement-manage audit --fix idle-consumers
"""

CLEAN, FOUND = 0, 1

Found = list[tuple[Check, list[Row]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `audit`."""
    names = [check.name for check in CHECKS]
    parser.add_argument(
        '--check',
        action='append',
        choices=names,
        metavar='CHECK',
        help=f'only this check; may be repeated. One of {", ".join(names)}',
    )
    parser.add_argument(
        '--fix',
        choices=list(FIXES),
        metavar='CHECK',
        help=f'show what this check finds and, after a question, delete it. One of {", ".join(FIXES)}',
    )
    parser.add_argument('--yes', action='store_true', help='with --fix: do not ask')
    parser.add_argument(
        '--nova-list',
        metavar='FILE',
        help='the uuids of all servers, one a line, and of migrations: these hold the source of a move',
    )
    parser.add_argument(
        '--older-than',
        type=float,
        default=24.0,
        metavar='HOURS',
        help='how old a migration, or a consumer that is missing in --nova-list, must be (default: %(default)s)',
    )
    common.add_output(parser, limit=20, what=' rows of each check; --json gives all of them')


def run(conf: cfg.ConfigOpts) -> int:
    """Audit; returns 0 if nothing is wrong (untidy is not wrong), else 1. After a fix: 0 if all of it was mended."""
    arguments = conf.command
    options = _options(arguments)
    names = [arguments.fix] if arguments.fix else arguments.check or [check.name for check in CHECKS]
    if arguments.fix and arguments.check:
        raise common.ArgumentError('--fix names the check itself: leave --check out')
    if options.servers is None and 'gone-servers' in (arguments.fix, *(arguments.check or ())):
        raise common.ArgumentError('the check gone-servers needs --nova-list')
    database.connect_to_head(conf)
    found = _find([check for check in CHECKS if check.name in names], options)
    if arguments.json:
        output.print_json(
            {check.name: [dict(zip(check.columns, row, strict=True)) for row in rows] for check, rows in found}
        )
    else:
        _print(found, arguments.limit, all_of_it=bool(arguments.fix))
    if arguments.fix:
        return _fix(arguments, found[0][1])
    return FOUND if any(rows and check.is_problem for check, rows in found) else CLEAN


def _options(arguments: Any) -> Options:
    """Raises ArgumentError for a bad list of servers."""
    before = engine.utcnow() - datetime.timedelta(hours=arguments.older_than)
    if arguments.nova_list is None:
        return Options(before)
    path = pathlib.Path(arguments.nova_list)
    try:
        lines = path.read_text(encoding='utf-8').split()
        taken = datetime.datetime.fromtimestamp(path.stat().st_mtime, datetime.UTC).replace(tzinfo=None)
    except (OSError, UnicodeDecodeError) as exc:
        raise common.ArgumentError(f'--nova-list {path}: {exc}') from exc
    for line in lines:
        if not uuidutils.is_uuid_like(line):
            raise common.ArgumentError(f'--nova-list {path}: {line!r} is no uuid')
    if not lines:
        raise common.ArgumentError(f'--nova-list {path} is empty: every server would count as gone')
    # A server that was made after the list was taken is not in it.
    return Options(min(before, taken), frozenset(uuids.canonical(line) for line in lines))


def _find(checks: list[Check], options: Options) -> Found:
    """All checks on one snapshot."""

    def work(connection: sa.Connection) -> Found:
        with output.progress() as progress:
            watched = progress.track(checks, description='Auditing')
            return [(check, list(check.find(connection, options))) for check in watched]

    return engine.read(work)


def _print(found: Found, limit: int, all_of_it: bool) -> None:
    console = output.console()
    for check, rows in found:
        style = ('red' if check.is_problem else 'yellow') if rows else 'green'
        console.print(Text.assemble((f'{check.name}: {len(rows)}', style), f'  {check.title}'), soft_wrap=True)
        if rows:
            shown = rows if all_of_it else rows[:limit]
            console.print(output.table('', check.columns, shown))
            if len(shown) < len(rows):
                console.print(f'  {output.left_out(len(rows) - len(shown))}')
            console.print(f'  {check.advice}\n', soft_wrap=True)


def _fix(arguments: Any, rows: list[Row]) -> int:
    if not rows:
        return CLEAN
    if not arguments.yes:
        if not sys.stdin.isatty():
            raise common.ArgumentError('--fix without a terminal to ask on needs --yes')
        if input(f'Delete these {len(rows)}? [y/N] ').strip().lower() not in ('y', 'yes'):
            return FOUND
    fix = FIXES[arguments.fix]
    with output.progress() as progress:
        mended = sum(fix(row[0]) for row in progress.track(rows, description='Deleting'))
    if not arguments.json:
        output.console().print(f'{mended} deleted, {len(rows) - mended} left because they are in use or gone by now')
    return CLEAN if mended == len(rows) else FOUND
