"""placement-manage explain: why a request for candidates finds what it finds."""

import argparse
import re
import urllib.parse

from oslo_config import cfg
from rich.console import Console
from rich.table import Table
from rich.text import Text

from placement import microversion, solver
from placement.cmd import arguments as common
from placement.cmd import database, output
from placement.db import engine
from placement.operator import explain, flavor
from placement.operator.explain import Explanation, Host
from placement.operator.funnel import Step
from placement.query_values import Version
from placement.schemas import allocation_candidates as schemas
from placement.solver.query import CandidateQuery, group_keys

DESCRIPTION = """\
Why does a request find no host, or so few? Tells how many are left after each condition of the request, and of the
hosts that come nearest what exactly is missing. Reads only.

  placement-manage explain 'resources=VCPU:4,MEMORY_MB:8192&required=HW_CPU_X86_AVX2'
  placement-manage explain --flavor vcpus=4,ram=8192,disk=40 --extra-spec hw:cpu_policy=dedicated
  placement-manage explain --host host17 --flavor vcpus=4,ram=8192,disk=40

The query is what the scheduler sent to GET /allocation_candidates: copy it from the log of placement, quoted.
"""

FITS, FITS_NOWHERE = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `explain`."""
    add_query(parser)
    parser.add_argument(
        '--microversion',
        default=str(microversion.MAX_VERSION),
        metavar='1.N',
        help='the microversion of the request (default: %(default)s)',
    )
    parser.add_argument(
        '--host',
        action='append',
        default=[],
        metavar='NAME|UUID',
        help='tell of this host, whether it fits or not, instead of the nearest misses; may be repeated',
    )
    parser.add_argument(
        '--misses',
        type=common.natural,
        default=10,
        metavar='N',
        help='tell of so many nearest misses (default: %(default)s)',
    )
    common.add_output(parser)


def add_query(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what is asked for."""
    parser.add_argument('query', nargs='?', metavar='QUERY', help='the query string, as the scheduler sent it')
    parser.add_argument(
        '--flavor',
        metavar='vcpus=N,ram=MB,disk=GB',
        help='instead of a query: what nova would send for a flavor; also ephemeral=GB and swap=MB',
    )
    parser.add_argument(
        '--extra-spec', action='append', default=[], metavar='KEY=VALUE', help='of the flavor; may be repeated'
    )


def pairs_of(arguments: cfg.ConfigOpts.SubCommandAttr) -> list[tuple[str, str]]:
    """The parameters of the query that the arguments ask for. Raises ArgumentError, FlavorError."""
    if (arguments.query is None) == (arguments.flavor is None):
        raise common.ArgumentError('give either a query or --flavor')
    if arguments.flavor is not None:
        specs = flavor.parse_extra_specs(arguments.extra_spec)
        return flavor.query_pairs(flavor.parse_flavor(arguments.flavor), specs)
    if arguments.extra_spec:
        raise common.ArgumentError('--extra-spec goes with --flavor')
    # A whole line of the log, or a path, will do.
    match = re.search(r'/allocation_candidates\?([^\s"]*)', arguments.query)
    text = match[1] if match else arguments.query.lstrip('?')
    pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
    if not pairs:
        raise common.ArgumentError('the query is empty: expected something like resources=VCPU:1,MEMORY_MB:512')
    return pairs


def parse(pairs: list[tuple[str, str]], version_text: str) -> CandidateQuery:
    """The query of these parameters. Raises ArgumentError, errors.PlacementError."""
    match = re.fullmatch(r'1\.(\d+)', version_text)
    version: Version = (1, int(match[1])) if match else (0, 0)
    if not (1, 10) <= version <= microversion.MAX_VERSION:
        raise common.ArgumentError(
            f'--microversion {version_text!r}: there are candidates from 1.10 to {microversion.MAX_VERSION}'
        )
    known = re.compile(f'{group_keys(version)}|^(limit|group_policy|root_required|same_subtree)$')
    for key, _ in pairs:
        if not known.match(key):
            raise common.ArgumentError(
                f'{key!r} is no parameter of a request for candidates, as resources=VCPU:1,MEMORY_MB:512 is'
            )
    schemas.GET.validate_query(dict(pairs), microversion.Version(*version))
    return solver.query.parse(pairs, version)


def run(conf: cfg.ConfigOpts) -> int:
    """Explain; returns 0 if the request fits somewhere (on all hosts asked for), else 1."""
    arguments = conf.command
    pairs = pairs_of(arguments)
    query = parse(pairs, arguments.microversion)
    database.connect_to_head(conf)
    found = engine.read(lambda connection: explain.explain(connection, query, arguments.host, arguments.misses))
    text = '&'.join(f'{key}={value}' for key, value in pairs)
    if arguments.json:
        output.print_json({'query': text, **vars(found)})
    else:
        _print(text, found, bool(arguments.host))
    fits = all(host.fits for host in found.hosts) if arguments.host else bool(found.fitting)
    return FITS if fits else FITS_NOWHERE


def _print(query: str, found: Explanation, asked: bool) -> None:
    console = output.console()
    console.print(Text.assemble(('Request: ', 'bold'), query), soft_wrap=True)
    console.print(f'Cloud: {found.providers} providers in {found.trees} trees')
    console.print(_funnel(found.funnel))
    if asked:
        console.print(Text('The hosts you asked for', 'bold'))
    elif found.hosts:
        console.print(Text('Nearest misses', 'bold'))
    for host in found.hosts:
        _print_host(console, host)


def _print_host(console: Console, host: Host) -> None:
    verdict = ('fits', 'green') if host.fits else ('does not fit', 'red')
    console.print(Text.assemble(f'  {host.name}: ', verdict))
    for reason in host.reasons:
        where = [f'group {reason.group}'] if reason.group not in ('', '*') else []
        where += [reason.provider] if reason.provider != host.name else []
        prefix = f'{", ".join(where)}: ' if where else ''
        console.print(f'      {prefix}{reason.text}', soft_wrap=True)


def _funnel(steps: tuple[Step, ...]) -> Table:
    return output.table(
        'What is left after each condition',
        ['group', 'condition', 'providers', 'trees'],
        (
            (
                {'': '(un-suffixed)', '*': '(all)'}.get(step.group, step.group),
                step.condition,
                '' if step.providers is None else step.providers,
                Text(str(step.trees), 'bold red' if step.trees == 0 else ''),
            )
            for step in steps
        ),
        numbers=['providers', 'trees'],
    )
