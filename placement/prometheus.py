"""The numbers that Prometheus reads at /metrics, and what counts them. Imported by `placement.metrics` if `[metrics]`
says so, for it needs the package prometheus-client.

/metrics is a path beside the API, not a port of its own: workers that share one listening socket cannot each have a
port, and whichever of them answers tells the numbers of all, from files in `[metrics] multiprocess_dir`. Labels are
bounded: routes are those of the route table, and nothing of a request becomes a label.
"""

import contextlib
import glob
import ipaddress
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import prometheus_client as client
import sqlalchemy as sa
from oslo_config import cfg
from prometheus_client import metrics_core, multiprocess

from placement import config, health, metrics, routes, timing
from placement.db import engine
from placement.operator import totals
from placement.requestlog import Environ, WSGIApp

PATH = '/metrics'
# Bounds of buckets, in seconds and in numbers.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
NUMBERS = (0, 1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
METHODS = frozenset(['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])
OTHER = 'other'

LOG = logging.getLogger(__name__)

# Samples that say since when others count: with several processes there are none, either.
client.disable_created_metrics()


class Meter:
    """Counts what it is told (see `placement.metrics`), and tells it at /metrics.

    The numbers are kept here, or if the environment names a directory in files that the processes share.

    :raises config.ConfigError: an option is wrong
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._conf = conf
        self._exposed = client.CollectorRegistry()
        self._exposed.register(_Cloud(conf))
        registry: client.CollectorRegistry | None = self._exposed
        if metrics.DIRECTORY in os.environ:
            multiprocess.MultiProcessCollector(self._exposed)
            registry = None
        self.requests = client.Counter(
            'placement_requests', 'Requests answered.', ['method', 'route', 'status'], registry=registry
        )
        self.durations = client.Histogram(
            'placement_request_duration_seconds',
            'How long requests took.',
            ['method', 'route'],
            buckets=SECONDS,
            registry=registry,
        )
        self.parts = client.Counter(
            'placement_request_part_seconds',
            'Where the time of requests went: database, search, encode, other.',
            ['method', 'route', 'part'],
            registry=registry,
        )
        self.conflicts = client.Counter(
            'placement_conflicts',
            'Requests answered with 409, by the code that the client got and our name of the error.',
            ['code', 'error'],
            registry=registry,
        )
        self.retries = client.Counter(
            'placement_transaction_retries',
            'Transactions tried again before the client was told anything.',
            ['cause'],
            registry=registry,
        )
        self.candidates = client.Histogram(
            'placement_candidates_found',
            'Allocation candidates that a request found.',
            buckets=NUMBERS,
            registry=registry,
        )
        self.steps = client.Histogram(
            'placement_search_steps',
            'Steps of the search for allocation candidates.',
            buckets=NUMBERS,
            registry=registry,
        )
        self.checked_out = client.Gauge(
            'placement_database_pool_checked_out',
            'Connections to the database in use; of the busiest process.',
            multiprocess_mode='livemax',
            registry=registry,
        )
        # PERF: looking up labels costs more than counting.
        self._cells: dict[tuple[str, str, str], tuple[Any, Any]] = {}
        self._part_cells: dict[tuple[str, str, str], Any] = {}

    def measured(self, application: WSGIApp) -> WSGIApp:
        """The application, with its requests counted, and /metrics before it."""
        return _Endpoint(_Requests(application, self), self._exposed, self._conf)

    def watch(self, database: sa.Engine) -> None:
        """Count the connections of an engine that are in use."""
        sa.event.listen(database, 'checkout', lambda *_: self.checked_out.inc())
        sa.event.listen(database, 'checkin', lambda *_: self.checked_out.dec())

    def retried(self, cause: Exception) -> None:
        """Count a transaction that is tried again."""
        self.retries.labels(type(cause).__name__).inc()

    def searched(self, candidates: int, steps: int) -> None:
        """Count a search."""
        self.candidates.observe(candidates)
        self.steps.observe(steps)

    def answered(self, environ: Environ, status: str, seconds: float, parts: dict[str, float]) -> None:
        """Count a request with its time, in all and by part."""
        method = environ['REQUEST_METHOD']
        method = method if method in METHODS else OTHER
        route = _route(environ.get('PATH_INFO', ''))
        key = (method, route, status)
        cells = self._cells.get(key)
        if cells is None:
            cells = self._cells[key] = self.requests.labels(*key), self.durations.labels(method, route)
        cells[0].inc()
        cells[1].observe(seconds)
        for name, part_seconds in parts.items():
            part_key = (method, route, name)
            cell = self._part_cells.get(part_key)
            if cell is None:
                cell = self._part_cells[part_key] = self.parts.labels(*part_key)
            cell.inc(part_seconds)
        error = environ.get('placement.error')
        if status == '409' and error is not None:
            self.conflicts.labels(error.code, type(error).__name__).inc()


def _route(path: str) -> str:
    """The path of the route table that a path matches."""
    found = routes.match(path)
    return OTHER if found is None else next(iter(found[0].values()))[0].path


class _Requests:
    """WSGI middleware that measures each request."""

    def __init__(self, application: WSGIApp, meter: Meter) -> None:
        self.application = application
        self.meter = meter

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on."""
        status = '500'

        def start(line: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            nonlocal status
            status = line[:3]
            return start_response(line, headers, exc_info)

        started = time.perf_counter()
        with timing.measuring() as clock:
            try:
                return self.application(environ, start)
            finally:
                self.meter.answered(environ, status, time.perf_counter() - started, clock.parts())


class _Endpoint:
    """WSGI middleware that answers at `PATH`, and passes everything else on."""

    def __init__(self, application: WSGIApp, registry: client.CollectorRegistry, conf: cfg.ConfigOpts) -> None:
        self.application = application
        self.exposition: WSGIApp = client.make_wsgi_app(registry)
        self.networks = _networks(conf.metrics.allowed_source_ranges)
        self.directory = os.environ.get(metrics.DIRECTORY)
        self.warned = False

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer, or pass the request on."""
        if environ.get('PATH_INFO') != PATH or not self._is_allowed(environ.get('REMOTE_ADDR', '')):
            return self.application(environ, start_response)
        if self.directory:
            _forget_dead(self.directory)
        elif environ.get('wsgi.multiprocess') and not self.warned:
            self.warned = True
            LOG.warning('/metrics tells the numbers of one process only: set [metrics] multiprocess_dir.')
        return self.exposition(environ, start_response)

    def _is_allowed(self, address: str) -> bool:
        if not self.networks:
            return True
        try:
            source = ipaddress.ip_address(address)
        except ValueError:
            return False
        # A socket that listens to both families has clients of IPv4 in IPv6.
        source = getattr(source, 'ipv4_mapped', None) or source
        return any(source in network for network in self.networks)


def _networks(ranges: Iterable[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Raises config.ConfigError."""
    try:
        return [ipaddress.ip_network(text) for text in ranges]
    except ValueError as exc:
        raise config.ConfigError(f'[metrics] allowed_source_ranges has a bad value: {exc}.') from exc


def _forget_dead(directory: str) -> None:
    """Remove what processes that are gone had in use. What they counted stays in the sums."""
    for path in glob.glob(os.path.join(glob.escape(directory), 'gauge_live*_*.db')):
        pid = int(path.rpartition('_')[2].removesuffix('.db'))
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            multiprocess.mark_process_dead(pid, directory)
        except PermissionError:
            pass  # it runs


class _Cloud:
    """Tells, for each scrape, whether the database can be read, and what the cloud has and uses."""

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.by_provider: bool = conf.metrics.by_provider
        group = conf.placement_database
        # What is unset is as SQLAlchemy has it.
        self.pool_size = _default(group.max_pool_size, 5) + _default(group.max_overflow, 10)

    def collect(self) -> Iterator[metrics_core.Metric]:
        """One statement."""
        found: list[totals.Total] | None = None
        with contextlib.suppress(*health.UNREADABLE):
            found = engine.read(lambda connection: totals.read(connection, self.by_provider))
        yield _gauge('placement_database_up', 'Whether the database can be read: 1 or 0.', [((), found is not None)])
        yield _gauge('placement_database_pool_size', 'Connections that each process may open.', [((), self.pool_size)])
        yield from _of_classes(found or ())
        if self.by_provider:
            yield from _of_providers(found or ())


def _default(value: int | None, default: int) -> int:
    return default if value is None else value


Sample = tuple[Sequence[str], float]


def _gauge(name: str, text: str, samples: Iterable[Sample], labels: Sequence[str] = ()) -> metrics_core.Metric:
    family = metrics_core.GaugeMetricFamily(name, text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def _of_classes(found: Iterable[totals.Total]) -> Iterator[metrics_core.Metric]:
    sums: dict[str, list[float]] = {}
    for item in found:
        amounts = sums.setdefault(item.resource_class, [0, 0, 0, 0])
        for place, amount in enumerate((item.total, item.reserved, item.capacity, item.used)):
            amounts[place] += amount
    texts = {
        'total': 'What the inventories of all providers have.',
        'reserved': 'What of it is reserved.',
        'capacity': 'What can be allocated: (total - reserved) * allocation ratio.',
        'used': 'What is allocated.',
    }
    for place, (name, text) in enumerate(texts.items()):
        samples = (((resource_class,), amounts[place]) for resource_class, amounts in sums.items())
        yield _gauge(f'placement_resource_{name}', text, samples, ['resource_class'])


def _of_providers(found: Sequence[totals.Total]) -> Iterator[metrics_core.Metric]:
    """Names and labels are those of openstack-exporter."""
    numbers: dict[str, Callable[[totals.Total], float]] = {
        'total': lambda item: item.total,
        'allocation_ratio': lambda item: item.ratio,
        'reserved': lambda item: item.reserved,
        'usage': lambda item: item.used,
    }
    for name, number in numbers.items():
        samples = (((item.provider, item.resource_class), number(item)) for item in found)
        yield _gauge(
            f'openstack_placement_resource_{name}', f'The {name} of a provider.', samples, ['hostname', 'resourcetype']
        )
