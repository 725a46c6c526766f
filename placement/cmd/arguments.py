"""Arguments that commands for operators have in common. Used by the modules of `placement.cmd`."""

import argparse


class ArgumentError(Exception):
    """The arguments are wrong or do not go together; `str()` is one sentence."""


def natural(text: str) -> int:
    """A number of things."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number')
    return int(text)


def add_output(parser: argparse.ArgumentParser, limit: int | None = None, what: str = '') -> None:
    """How much is printed, and for whom: `--limit` (if it has a default) of `what`, and `--json`."""
    if limit is not None:
        parser.add_argument(
            '--limit', type=natural, default=limit, metavar='N', help=f'show so many{what} (default: %(default)s)'
        )
    parser.add_argument('--json', action='store_true', help='for programs: one JSON document')
