"""[workarounds]: switches for single troubles."""

from oslo_config import cfg

GROUP = cfg.OptGroup('workarounds', title='Workarounds')

OPTS = [
    cfg.BoolOpt(
        'optimize_for_wide_provider_trees',
        default=False,
        help='Give up impossible combinations early when provider trees have many alike children. This service always '
        'does; the option is kept so that existing files stay valid.',
    ),
]
