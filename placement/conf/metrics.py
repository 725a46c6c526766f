"""[metrics]: numbers for Prometheus."""

from oslo_config import cfg

GROUP = cfg.OptGroup('metrics', title='Prometheus metrics')

OPTS = [
    cfg.BoolOpt(
        'enabled',
        default=False,
        help='Count requests, conflicts, retries, searches and time, and answer GET /metrics with these numbers and '
        'with the capacity of the cloud. It is answered without a token and is not in the request log. Needs the '
        'Python package prometheus-client. Costs some microseconds for each request.',
    ),
    cfg.BoolOpt(
        'by_provider',
        default=False,
        help='Tell inventory and usage of each resource provider, too, under the names that dashboards for '
        'openstack-exporter use (openstack_placement_resource_total and so on). Turn it on where one Prometheus job '
        'reads it: it is four numbers for each inventory of the cloud.',
    ),
    cfg.StrOpt(
        'multiprocess_dir',
        help='A directory, of this service and host alone, in which its processes share their numbers; it is made if '
        'it is missing. Without it, and without PROMETHEUS_MULTIPROC_DIR in the environment, each process '
        'tells only its own. placement-serve needs none. Best on a file system in memory that is emptied at '
        'each start, as RuntimeDirectory= of systemd is.',
    ),
    cfg.ListOpt(
        'allowed_source_ranges',
        default=[],
        help='The networks whose hosts may read /metrics, as CIDR; for others the path does not exist. Empty: all.',
    ),
]
