"""placement-status: what has to be done before an upgrade (contract: service.md 1.7, 4.2)."""

import sys
from collections.abc import Sequence

from oslo_config import cfg
from oslo_upgradecheck import common_checks, upgradecheck

from placement import config
from placement.cmd import completion, database
from placement.db import online_migrations

PROG = 'placement-status'

# The exit status of `upgradecheck.run` when the checks could not be made: 1 and 2 are results of theirs.
FAULT = 255

_ADVICE = 'Run the "placement-manage db online_data_migrations" command.'


class Checks(upgradecheck.UpgradeCommands):
    """The checks, in the order in which they are printed. They read only what every revision of the schema has."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__()
        self.conf = conf

    def check(self) -> upgradecheck.Code:
        """Run all checks; returns the worst result. An exception is printed and becomes 255 in `upgradecheck.run`."""
        database.connect(self.conf)
        return super().check()

    def _root_provider_ids(self) -> upgradecheck.Result:
        missing = online_migrations.count_without_root()
        text = f'Resource providers that miss their root provider id: {missing}.'
        return _result(missing, upgradecheck.Code.FAILURE, text)

    def _incomplete_consumers(self) -> upgradecheck.Result:
        missing = online_migrations.count_without_consumer()
        text = f'There are {missing} incomplete consumers table records for existing allocations.'
        return _result(missing, upgradecheck.Code.WARNING, text)

    def _policy_file(self) -> upgradecheck.Result:
        return common_checks.check_policy_json(self, self.conf)

    _upgrade_checks = (
        ('Missing Root Provider IDs', _root_provider_ids),
        ('Incomplete Consumers', _incomplete_consumers),
        ('Policy File JSON to YAML Migration', _policy_file),
    )


def _result(missing: int, code: upgradecheck.Code, text: str) -> upgradecheck.Result:
    if not missing:
        return upgradecheck.Result(upgradecheck.Code.SUCCESS)
    return upgradecheck.Result(code, f'{text} {_ADVICE}')


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    conf = cfg.ConfigOpts()
    upgradecheck.register_cli_options(conf, Checks(conf))
    shell = completion.wanted(argv)
    if shell is not None:
        print(completion.script_of(conf, PROG, shell))
        return 0
    try:
        config.load(conf, argv, prog=PROG)
    except config.ConfigError as exc:
        print(f'{PROG}: {exc}', file=sys.stderr)
        return FAULT if isinstance(exc, config.ConnectionUnusable) else 1
    return upgradecheck.run(conf)


if __name__ == '__main__':
    sys.exit(main())
