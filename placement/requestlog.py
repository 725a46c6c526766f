"""The outermost layer of our own: a request id for each request, and one line in the log (contract: http.md 2.1,
service.md 5.2, 5.3)."""

import logging
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from oslo_context import context

from placement import timing

LOG = logging.getLogger(__name__)
Environ = dict[str, Any]
WSGIApp = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

# Operators parse this line; whatever is new comes at its end.
LINE = (
    '%(REMOTE_ADDR)s "%(REQUEST_METHOD)s %(REQUEST_URI)s" status: %(status)s len: %(bytes)s '
    'microversion: %(microversion)s time: %(seconds)s'
)
# Characters of a path that would end the line, so that anybody could forge records, or that control a terminal.
_CONTROL = re.compile(r'[\x00-\x1f\x7f-\x9f]')
_REQUEST_ID = re.compile(r'req-[a-f0-9]{8}(-[a-f0-9]{4}){3}-[a-f0-9]{12}')


class RequestLog:
    """WSGI middleware that gives each request an id, answers with it in a header, and logs the request."""

    def __init__(self, application: WSGIApp) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on."""
        started = time.monotonic()
        environ.setdefault('HTTP_ACCEPT', '')
        if environ['HTTP_ACCEPT'] in ('', '*/*'):
            environ['HTTP_ACCEPT'] = 'application/json'
        if not environ.get('QUERY_STRING') and '?' in environ.get('REQUEST_URI', ''):
            # uWSGI passes the query twice within 64 kB, and the second time not at all where that is too little.
            environ['QUERY_STRING'] = environ['REQUEST_URI'].partition('?')[2]
        request_id = environ['openstack.request_id'] = context.generate_request_id()
        global_id = environ.get('HTTP_X_OPENSTACK_REQUEST_ID', '')
        if _REQUEST_ID.fullmatch(global_id):
            environ['openstack.global_request_id'] = global_id
        # Log records before authentication carry the ids; who is asking is not known yet.
        context.RequestContext(request_id=request_id, global_request_id=environ.get('openstack.global_request_id'))
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug(
                'Starting request: %s "%s %s"', environ.get('REMOTE_ADDR'), environ['REQUEST_METHOD'], _uri(environ)
            )

        def log_and_start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            if not any(name.lower() == 'x-openstack-request-id' for name, _ in headers):
                headers.append(('x-openstack-request-id', request_id))
            if LOG.isEnabledFor(logging.INFO):
                LOG.info(LINE, _fields(environ, status, headers, started))
            return start_response(status, headers, exc_info)

        return self.application(environ, log_and_start)


class ServerTiming:
    """WSGI middleware that answers with a Server-Timing header (`[api] server_timing`)."""

    def __init__(self, application: WSGIApp) -> None:
        self.application = application

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Pass the request on."""
        with timing.measuring() as clock:

            def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
                headers.append(('server-timing', clock.header()))
                return start_response(status, headers, exc_info)

            return self.application(environ, start)


def _fields(environ: Environ, status: str, headers: list[tuple[str, str]], started: float) -> dict[str, Any]:
    return {
        'REMOTE_ADDR': environ.get('REMOTE_ADDR', '-'),
        'REQUEST_METHOD': environ['REQUEST_METHOD'],
        'REQUEST_URI': _uri(environ),
        'status': status.partition(' ')[0],
        'bytes': next((value for name, value in headers if name.lower() == 'content-length'), '-'),
        'microversion': environ.get('placement.microversion', '-'),
        'seconds': f'{time.monotonic() - started:.3f}',
    }


def _uri(environ: Environ) -> str:
    """The path and query of a request, on one line: control characters are shown as the client sent them (%0A)."""
    path = environ.get('SCRIPT_NAME', '') + environ.get('PATH_INFO', '')
    query = environ.get('QUERY_STRING')
    return _CONTROL.sub(lambda found: f'%{ord(found[0]):02X}', f'{path}?{query}' if query else path)
