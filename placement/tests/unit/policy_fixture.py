"""The default policy for the tests of other projects."""

import pathlib

import fixtures
from oslo_config import fixture as config_fixture

from placement import policy


class PolicyFixture(fixtures.Fixture):
    """The policy has its defaults, whatever files this machine has, and is forgotten afterwards."""

    def __init__(self, conf_fixture: config_fixture.Config) -> None:
        super().__init__()
        self.conf_fixture = conf_fixture

    def setUp(self) -> None:
        """Load it."""
        super().setUp()
        file = pathlib.Path(self.useFixture(fixtures.TempDir()).path) / 'policy.yaml'
        file.touch()
        self.conf_fixture.config(policy_file=str(file), policy_dirs=[], group='oslo_policy')
        policy.init(self.conf_fixture.conf)
        self.addCleanup(policy.reset)
