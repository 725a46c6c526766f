"""placement-manage forecast: how many more of a flavor fit, and what runs out first."""

import argparse

from oslo_config import cfg

from placement import microversion
from placement.cmd import arguments as common
from placement.cmd import database, explain, output
from placement.db import engine
from placement.operator import forecast
from placement.operator.forecast import Forecast

DESCRIPTION = """\
How many more servers of a flavor fit into the cloud, on which hosts and aggregates; what runs out first? Reads only.

  placement-manage forecast --flavor vcpus=4,ram=8192,disk=40
  placement-manage forecast 'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX2'
"""

FITS, FITS_NOWHERE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `forecast`."""
    explain.add_query(parser)
    common.add_output(parser, limit=10, what=' hosts and aggregates; --json gives all of them')


def run(conf: cfg.ConfigOpts) -> int:
    """Forecast; returns 0 if at least one fits, else 1."""
    arguments = conf.command
    pairs = explain.pairs_of(arguments)
    query = explain.parse(pairs, str(microversion.MAX_VERSION))
    database.connect_to_head(conf)
    found = engine.read(lambda connection: forecast.forecast(connection, query))
    text = '&'.join(f'{key}={value}' for key, value in pairs)
    if arguments.json:
        output.print_json({'query': text, **vars(found)})
    else:
        _print(text, found, arguments.limit)
    return FITS if found.more else FITS_NOWHERE


def _print(query: str, found: Forecast, limit: int) -> None:
    console = output.console()
    console.print(f'Request: {query}', soft_wrap=True)
    console.print(f'{found.more} more fit, on {len(found.hosts)} of {found.trees} trees')
    if not found.more:
        console.print('"placement-manage explain" says why')
        return
    hosts = ((host.name or host.uuid, host.more) for host in found.hosts[:limit])
    console.print(output.table('Roomiest hosts', ['host', 'more'], hosts, ['more']))
    if found.aggregates:
        rows = ((place.uuid, place.trees, place.more) for place in found.aggregates[:limit])
        console.print(output.table('Aggregates', ['aggregate', 'trees', 'more'], rows, ['trees', 'more']))
    if found.limits:
        console.print(
            output.table('Runs out first', ['class', 'full on trees'], found.limits.items(), ['full on trees'])
        )
