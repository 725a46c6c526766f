"""[DEFAULT]: what belongs to the process as a whole."""

from oslo_config import cfg
from oslo_policy import opts as policy_opts

GROUP: cfg.OptGroup | None = None

OPTS = [
    cfg.StrOpt('tempdir', help='Kept so that existing files stay valid; the service writes no temporary files.'),
    # Not in the sample (placement.conf.opts), as it never was: only for debugging the start.
    cfg.BoolOpt(
        'log_options', default=True, help='Write the value of every option to the log at start, at level DEBUG.'
    ),
]


def set_lib_defaults() -> None:
    """Set the defaults of libraries that are other than the libraries' own; an entry point of the sample generator."""
    policy_opts.set_defaults(cfg.CONF, policy_file='policy.yaml')
