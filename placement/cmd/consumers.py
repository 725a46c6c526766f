"""placement-manage consumers: who holds what."""

import argparse
import datetime

from oslo_config import cfg

from placement.cmd import arguments as common
from placement.cmd import database, output
from placement.db import engine
from placement.operator import consumers
from placement.operator.consumers import Filter, Page

DESCRIPTION = """\
List consumers (servers, migrations, …), oldest first, with what they hold and where, and the totals. Reads only.

  placement-manage consumers --provider host17
  placement-manage consumers --type MIGRATION --older-than 24
  placement-manage consumers --project PROJECT_ID --limit 50 --offset 100
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `consumers`."""
    parser.add_argument('--project', metavar='ID', help='only those of this project')
    parser.add_argument('--user', metavar='ID', help='only those of this user')
    parser.add_argument('--type', metavar='TYPE', help='only those of this type; unknown: those without one')
    parser.add_argument('--provider', metavar='NAME|UUID', help='only those that hold something of this provider')
    parser.add_argument('--older-than', type=float, metavar='HOURS', help='only those made longer ago')
    parser.add_argument('--offset', type=common.natural, default=0, metavar='N', help='leave so many out before')
    common.add_output(parser, limit=50)


def run(conf: cfg.ConfigOpts) -> int:
    """List them."""
    arguments = conf.command
    hours = arguments.older_than
    wanted = Filter(
        project=arguments.project,
        user=arguments.user,
        consumer_type=arguments.type,
        provider=arguments.provider,
        before=None if hours is None else engine.utcnow() - datetime.timedelta(hours=hours),
    )
    database.connect_to_head(conf)
    page = engine.read(lambda connection: consumers.read(connection, wanted, arguments.limit, arguments.offset))
    if arguments.json:
        output.print_json(page)
    else:
        _print(page, arguments.offset)
    return 0


def _print(page: Page, offset: int) -> None:
    console = output.console()
    shown = f'{offset + 1} to {offset + len(page.consumers)} of ' if len(page.consumers) < page.count else ''
    console.print(
        output.table(
            f'{shown}{page.count} consumers',
            ['consumer', 'type', 'project', 'since', 'holds', 'of'],
            (
                (
                    consumer.uuid,
                    consumer.consumer_type,
                    consumer.project,
                    consumer.created,
                    _amounts(consumer.resources),
                    ', '.join(consumer.providers),
                )
                for consumer in page.consumers
            ),
        )
    )
    console.print(f'All of them hold {_amounts(page.totals) or "nothing"}', soft_wrap=True)


def _amounts(resources: dict[str, int]) -> str:
    return ', '.join(f'{name}:{amount}' for name, amount in resources.items())
