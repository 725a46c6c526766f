"""The options as the sample generator and the configuration validator want them (entry point oslo.config.opts)."""

from oslo_config import cfg

from placement import conf


def list_opts() -> list[tuple[cfg.OptGroup | str, list[cfg.Opt]]]:
    """All options of ours, as (group, options)."""
    return [
        (module.GROUP or 'DEFAULT', [option for option in module.OPTS if option.name != 'log_options'])
        for module in conf.MODULES
    ]
