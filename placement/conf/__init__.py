"""Every option of placement.conf, one module per group (contract: service.md 3.2 to 3.9).

`register_opts` prepares a ConfigOpts; `placement.config` fills it. Each module has `GROUP` and `OPTS`; names, types,
defaults and choices are a public interface that deployment tools write to, including options without effect.
"""

from oslo_config import cfg

from placement.conf import api, base, database, libraries, metrics, paths, placement, workarounds

MODULES = (base, paths, api, database, placement, workarounds, metrics)


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register all options on `conf`, a caller's object; calling it again on the same object changes nothing."""
    for module in MODULES:
        # By name: a group object keeps the values, and would share them among all the `conf` that it is registered on.
        conf.register_opts(module.OPTS, group=module.GROUP and module.GROUP.name)
    libraries.register_opts(conf)
