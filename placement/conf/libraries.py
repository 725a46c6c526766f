"""Options that libraries define: logging, [cors], [oslo_middleware], [oslo_policy], [profiler].

[keystone_authtoken] is missing: keystonemiddleware registers it on the same object when it is put into the pipeline.
"""

from oslo_config import cfg
from oslo_log import log
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy_opts

try:
    from osprofiler import opts as profiler_opts
except ImportError:
    profiler_opts = None  # type: ignore[assignment]

_ALLOWED_HEADERS = [
    'X-Auth-Token',
    'X-Openstack-Request-Id',
    'X-Identity-Status',
    'X-Roles',
    'X-Service-Catalog',
    'X-User-Id',
    'X-Tenant-Id',
    'OpenStack-API-Version',
]
_EXPOSED_HEADERS = [
    'X-Auth-Token',
    'X-Openstack-Request-Id',
    'X-Subject-Token',
    'X-Service-Token',
    'OpenStack-API-Version',
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of the libraries on `conf`; calling it again on the same object changes nothing."""
    # Logging options are command line options too, and they cannot be registered once `conf` is parsed, not even again.
    if 'debug' not in conf:
        log.register_options(conf)
    conf.register_opts(cors.CORS_OPTS, group='cors')
    conf.register_opts(http_proxy_to_wsgi.OPTS, group='oslo_middleware')
    for group, options in policy_opts.list_opts():
        conf.register_opts(options, group=group)
    if profiler_opts is not None:
        profiler_opts.set_defaults(conf)


def set_service_defaults() -> None:
    """Set the library defaults of the HTTP service (service.md 3.9, 5.5); once, before its configuration is read."""
    log.set_defaults(default_log_levels=[*log.get_default_log_levels(), 'routes=INFO'])
    cors.set_defaults(
        allow_headers=_ALLOWED_HEADERS,
        expose_headers=_EXPOSED_HEADERS,
        allow_methods=['GET', 'PUT', 'POST', 'DELETE', 'PATCH'],
    )
