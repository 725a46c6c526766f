"""placement-manage tree: one provider tree in full, or a table of all hosts."""

import argparse

from oslo_config import cfg
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from placement.cmd import arguments as common
from placement.cmd import database, output
from placement.db import engine
from placement.operator import trees
from placement.operator.trees import Host, Node, Stock

DESCRIPTION = """\
Show what a provider tree has, how much of it is used, its traits and aggregates; or all hosts in a table. Reads only.

  placement-manage tree host17
  placement-manage tree --all --sort MEMORY_MB --limit 20
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of `tree`."""
    parser.add_argument('provider', nargs='?', metavar='NAME|UUID', help='a provider; all of its tree is shown')
    parser.add_argument('--all', action='store_true', help='a table of all trees; so it is without a name too')
    parser.add_argument(
        '--sort',
        default='name',
        metavar='name|CLASS',
        help='order of the table: by name, or the fullest of a class first',
    )
    common.add_output(parser, limit=50, what=' trees of the table; --json gives all of them')


def run(conf: cfg.ConfigOpts) -> int:
    """Show the tree, or all of them."""
    arguments = conf.command
    if arguments.provider is not None and (arguments.all or arguments.sort != 'name'):
        raise common.ArgumentError('--all and --sort are for the table of all trees: leave the name out')
    database.connect_to_head(conf)
    if arguments.provider is not None:
        nodes = engine.read(lambda connection: trees.read_tree(connection, arguments.provider))
        if arguments.json:
            output.print_json(nodes)
        else:
            output.console().print(_tree(nodes))
        return 0
    hosts = engine.read(trees.read_hosts)
    classes = list(dict.fromkeys(stock.resource_class for host in hosts for stock in host.stocks))
    if arguments.sort != 'name':
        if arguments.sort not in classes:
            raise common.ArgumentError(f'--sort {arguments.sort}: nobody has inventory of such a class')
        hosts = trees.fullest_first(hosts, arguments.sort)
    if arguments.json:
        output.print_json(hosts)
    else:
        _print_hosts(hosts, classes, arguments.limit)
    return 0


def _tree(nodes: list[Node]) -> Tree:
    below: dict[str, list[Node]] = {}
    for node in nodes[1:]:
        # A parent elsewhere is a fault in the data (see audit); the provider is shown all the same.
        below.setdefault(node.parent or nodes[0].uuid, []).append(node)
    top = Tree(_node(nodes[0]))
    waiting = [(top, nodes[0])]
    while waiting:
        branch, node = waiting.pop()
        waiting += [(branch.add(_node(child)), child) for child in below.get(node.uuid, [])]
    return top


def _node(node: Node) -> Group:
    head = Text.assemble(
        (node.name, 'bold'), f'  {node.uuid}  generation {node.generation}  consumers {node.consumers}'
    )
    parts: list[Text | Table] = [head]
    if node.aggregates:
        parts.append(Text(f'aggregates: {", ".join(node.aggregates)}'))
    if node.traits:
        parts.append(Text(f'traits: {", ".join(node.traits)}'))
    if node.stocks:
        parts.append(_inventory(node.stocks))
    return Group(*parts)


def _inventory(stocks: tuple[Stock, ...]) -> Table:
    numbers = ['used', 'capacity', 'total', 'reserved', 'ratio', 'min', 'max', 'step']
    return output.table(
        '',
        ['class', 'usage', *numbers],
        (
            (
                stock.resource_class,
                output.bar(stock.used, stock.capacity),
                stock.used,
                stock.capacity,
                stock.total,
                stock.reserved,
                stock.allocation_ratio,
                stock.min_unit,
                # The default stands for no limit.
                '' if stock.max_unit == 2**31 - 1 else stock.max_unit,
                stock.step_size,
            )
            if stock.step_size
            else (stock.resource_class, Text('no inventory', 'red'), stock.used, *[''] * 7)
            for stock in stocks
        ),
        numbers,
    )


def _print_hosts(hosts: list[Host], classes: list[str], limit: int) -> None:
    def cells(host: Host) -> list[Text]:
        by_class = {stock.resource_class: stock for stock in host.stocks}
        return [
            Text.assemble(output.bar(by_class[name].used, by_class[name].capacity), f' of {by_class[name].capacity}')
            if name in by_class
            else Text('')
            for name in classes
        ]

    console = output.console()
    rows = [(host.name, host.providers, *cells(host)) for host in hosts[:limit]]
    columns = ['host', 'providers', *classes]
    console.print(output.long_table(f'{len(hosts)} trees', columns, rows, ['providers']), soft_wrap=True)
    if len(rows) < len(hosts):
        console.print(output.left_out(len(hosts) - len(rows)))
