"""[DEFAULT]: directories."""

import pathlib

from oslo_config import cfg

GROUP: cfg.OptGroup | None = None

OPTS = [
    cfg.StrOpt(
        'pybasedir',
        default=str(pathlib.Path(__file__).resolve().parents[2]),
        sample_default='<Path>',
        help='The directory that holds the Python package `placement`. Other paths may refer to it as `$pybasedir`.',
    ),
    cfg.StrOpt(
        'state_path',
        default='$pybasedir',
        help='The top directory for files that describe the state of the service. The service itself keeps none: all '
        'of its state is in the database.',
    ),
]
