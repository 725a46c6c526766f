"""The way of a request from the WSGI server to its handler and back (contract: http.md 1.1, service.md 5.1).

`load` builds the pipeline; read it bottom to top to follow a request from the outside in. `Api` is the core:
negotiation of the version, look-up of the route, what the route demands, the handler, and the one place where errors
become responses.
"""

import functools
import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any

import webob.exc
from oslo_config import cfg
from oslo_middleware import cors, http_proxy_to_wsgi

from placement import auth, errors, health, metrics, microversion, profiler, requestlog, routes
from placement.context import RequestContext
from placement.http import JSON, Request, Response
from placement.requestlog import Environ, WSGIApp

# Names that operators filter by (service.md 5.2).
ERRORS_LOG = logging.getLogger('placement.wsgi_wrapper')
FAULTS_LOG = logging.getLogger('placement.fault_wrap')
LOG = logging.getLogger(__name__)

CODES_SINCE = (1, 23)


def load(conf: cfg.ConfigOpts, prepare: Callable[[], None]) -> WSGIApp:
    """The WSGI application.

    `prepare` gets the database ready; it is called now, and if the database is away now, again by the first requests.
    """
    metrics.start(conf)
    application: WSGIApp = Api(conf, prepare)
    application = profiler.profiled(application)
    application = Identified(application)
    application = auth.wrap(application, conf)
    if conf.cors.allowed_origin:
        application = cors.CORS(application, conf)
    application = requestlog.RequestLog(application)
    if conf.api.server_timing:
        application = requestlog.ServerTiming(application)
    application = metrics.measured(application)
    if conf.api.healthcheck:
        application = health.Healthcheck(application, conf)
    if conf.oslo_middleware.enable_proxy_headers_parsing:
        application = http_proxy_to_wsgi.HTTPProxyToWSGI(application, conf)
    return profiler.traced(application, conf)


class Identified:
    """Makes the request context from what authentication has put into the environment.

    Without a user only the root path is answered; any other is 401.
    """

    def __init__(self, application: WSGIApp) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on with its context in `environ['placement.context']`."""
        context = environ['placement.context'] = RequestContext.from_environ(environ)
        if context.user_id is None and environ.get('PATH_INFO', '') not in ('', '/'):
            logging.getLogger('placement.auth').debug('Neither X_USER_ID nor X_USER found in request')
            return webob.exc.HTTPUnauthorized()(environ, start_response)
        return self.application(environ, start_response)


class Api:
    """The API itself, for requests whose caller is known."""

    def __init__(self, conf: cfg.ConfigOpts, prepare: Callable[[], None]) -> None:
        self.conf = conf
        self.prepare = prepare
        self.prepared = False
        self.attempts = 0
        self.lock = threading.Lock()
        try:
            self._ensure_prepared()
        except errors.DatabaseUnavailable:
            LOG.warning(
                'The database is not available; the service starts all the same and tries again with each request.'
            )

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer the request."""
        request = Request(environ)
        try:
            response: WSGIApp = self._answer(request)
        except errors.PlacementError as exc:
            ERRORS_LOG.debug('Placement API returning an error response: %s', exc)
            response = _error_response(exc, environ)
        except Exception as exc:
            FAULTS_LOG.exception('Placement API unexpected error: %s', exc)
            response = _error_response(errors.InternalError(), environ)
        return response(environ, start_response)

    def _answer(self, request: Request) -> Response:
        environ = request.environ
        request.version = environ['placement.microversion'] = microversion.negotiate(
            environ.get('HTTP_OPENSTACK_API_VERSION')
        )
        _check_declared_body(environ)
        route, request.segments = _find_route(request)
        request.body_schema, request.query_schema = route.body, route.query
        request.conf, request.context = self.conf, environ['placement.context']
        if route.rule is not None:
            request.context.can(route.rule)
        if not self.prepared and route.path != '/':
            self._ensure_prepared()
        response = route.handler(request)
        response.headers.extend(_version_headers(request.version))
        return response

    def _ensure_prepared(self) -> None:
        """Get the database ready. Requests that arrive during an attempt wait for it and share its outcome; they do not
        try again one after the other.

        Raises errors.DatabaseUnavailable, errors.SchemaUnusable.
        """
        attempts = self.attempts
        with self.lock:
            if self.prepared:
                return
            if self.attempts != attempts:
                raise errors.DatabaseUnavailable()
            try:
                self.prepare()
                self.prepared = True
            finally:
                self.attempts += 1


def _check_declared_body(environ: Environ) -> None:
    """A body must say how long it is in digits, and of which type (http.md 2.2). Raises errors.ContentLengthInvalid,
    errors.ContentTypeRequired."""
    length = environ.get('CONTENT_LENGTH')
    if not length:
        return
    try:
        has_body = int(length) > 0
    except ValueError as exc:
        raise errors.ContentLengthInvalid() from exc
    if has_body and not environ.get('CONTENT_TYPE'):
        raise errors.ContentTypeRequired()


def _find_route(request: Request) -> tuple[routes.Route, dict[str, str]]:
    """The route of the request and the variable segments of its path, after all checks that the route table describes,
    except that of the policy rule.

    Raises errors.RouteNotFound, errors.MethodNotAllowed, errors.UnsupportedMediaType, errors.OnlyJson.
    """
    found = routes.match(request.environ.get('PATH_INFO', ''))
    if found is None:
        raise errors.RouteNotFound()
    methods, segments = found
    method = request.environ['REQUEST_METHOD']
    if method not in methods:
        raise errors.MethodNotAllowed(allow=list(methods))
    candidates = methods[method]
    route = next((route for route in candidates if route.since <= request.version <= route.until), candidates[0])
    if route.media_first:
        _check_media_types(route, request)
    if not route.since <= request.version <= route.until:
        raise errors.RouteNotFound() if route.gate_status == 404 else errors.MethodNotYetAllowed()
    _check_media_types(route, request)
    return route, segments


def _check_media_types(route: routes.Route, request: Request) -> None:
    if route.body is not None:
        media_type = request.environ.get('CONTENT_TYPE', '').partition(';')[0].strip()
        if media_type != JSON:
            raise errors.UnsupportedMediaType(media_type=media_type or None)
    if route.gives_json and request.environ['HTTP_ACCEPT'] != JSON and not request.accept.acceptable_offers([JSON]):
        raise errors.OnlyJson()


@functools.cache
def _version_headers(version: microversion.Version) -> list[tuple[str, str]]:
    # `vary` goes with every answer that depends on the version; the reference leaves it out of some
    # (docs/differences.md).
    return [
        ('openstack-api-version', f'{microversion.SERVICE_TYPE} {version}'),
        ('vary', 'openstack-api-version'),
    ]


def _error_response(exc: errors.PlacementError, environ: Environ) -> WSGIApp:
    """The response that tells of an error, in the form that the caller accepts (http.md 1.5, 2.3, 2.7)."""
    version = environ.get('placement.microversion')
    environ['placement.error'] = exc

    def to_json(body: str, status: str, title: str, environ: Environ) -> dict[str, Any]:
        error: dict[str, Any] = {
            'status': exc.status,
            'title': title,
            'detail': webob.exc.strip_tags(body),
            'request_id': environ['openstack.request_id'],
        }
        if version is not None and version >= CODES_SINCE:
            error['code'] = exc.code
        if isinstance(exc, errors.MicroversionUnacceptable):
            error['max_version'] = str(microversion.MAX_VERSION)
            error['min_version'] = str(microversion.MIN_VERSION)
        return {'errors': [error]}

    environ.setdefault('CONTENT_TYPE', 'None')  # webob's text of a 415 shows it
    # The message may quote a lone surrogate, which cannot be encoded.
    message = str(exc).encode('utf-8', 'backslashreplace').decode()
    response = webob.exc.status_map[exc.status](message, json_formatter=to_json)
    if isinstance(exc, errors.MethodNotAllowed) and exc.allow:
        response.allow = exc.allow
    if isinstance(exc, errors.DatabaseUnavailable):
        response.retry_after = 1
    if version is not None and not isinstance(exc, errors.InternalError):
        response.headers.extend(_version_headers(version))
    return response
