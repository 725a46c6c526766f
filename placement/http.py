"""What handlers see of HTTP: the request with its validated body and query, and the builders of responses (contract:
http.md 2)."""

import contextlib
import datetime
import http
import json
from collections.abc import Callable, Iterable
from email.utils import format_datetime
from typing import Any

import orjson
import webob
from oslo_config import cfg
from webob.multidict import MultiDict

from placement import errors, timing
from placement.context import RequestContext
from placement.microversion import Version
from placement.schemas import VersionedSchema

JSON = 'application/json'
# From this version on, answers say how old they are (http.md 2.9).
CACHE_HEADERS_SINCE = (1, 15)
_STATUS_LINES = {status.value: f'{status.value} {status.phrase}' for status in http.HTTPStatus}


class Request(webob.BaseRequest):
    """One request, on its way from the dispatcher to a handler."""

    # Set by app.py before a handler sees the request.
    conf: cfg.ConfigOpts
    context: RequestContext
    version: Version
    # The variable segments of the path, verbatim: {'uuid': …}.
    segments: dict[str, str]
    # The schemas of the route; None where it takes no body, or does not look at its query string.
    body_schema: VersionedSchema | None
    query_schema: VersionedSchema | None

    def json(self) -> Any:
        """The body, parsed and validated against the schema of the route at the version of the request.

        Raises errors.BodyIncomplete, errors.MalformedJson, errors.InvalidBody.
        """
        assert self.body_schema is not None
        try:
            raw = self.body
        except Exception as exc:  # each WSGI server has classes of its own
            raise errors.BodyIncomplete() from exc
        return self.body_schema.validate_body(parse_json(raw), self.version)

    def query(self) -> 'MultiDict[str, str]':
        """The parameters of the query string in their order, validated against the schema of the route (which sees the
        last value of each).

        Raises errors.InvalidQuery.
        """
        assert self.query_schema is not None
        parameters = self.parameters()
        self.query_schema.validate_query(dict(parameters), self.version)
        return parameters

    def parameters(self) -> 'MultiDict[str, str]':
        """The parameters of the query string in their order, not validated. Raises errors.InvalidQuery for
        undecodable bytes."""
        try:
            return MultiDict(self.GET.items())
        except UnicodeDecodeError as exc:
            raise errors.InvalidQuery(reason=str(exc)) from exc

    def href(self, path: str) -> str:
        """`path` below the mount point of the service, as links in bodies show it."""
        return self.script_name + path


class Response:
    """An answer, and the WSGI application that sends it.

    `app_iter` yields the parts of the body. If they are made while they are sent, their length is not known, and
    `content_length` is None. PERF: webob's Response does more, and takes twenty times as long.
    """

    def __init__(self, status: int, body: bytes = b'') -> None:
        self.status = status
        self.headers: list[tuple[str, str]] = []
        self.app_iter: Iterable[bytes] = [body]
        self.content_length: int | None = len(body)

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Send it."""
        if self.content_length is not None:
            self.headers.append(('content-length', str(self.content_length)))
        start_response(_STATUS_LINES[self.status], self.headers)
        return self.app_iter


def parse_json(raw: bytes) -> Any:
    """The value that a JSON text in UTF-8 stands for. Raises errors.MalformedJson."""
    try:
        return json.loads(raw.decode('utf-8'), parse_constant=_refuse_constant)
    except RecursionError as exc:
        raise errors.MalformedJson(reason='nested too deeply') from exc
    except ValueError as exc:
        raise errors.MalformedJson(reason=exc) from exc


def _refuse_constant(name: str) -> None:
    raise ValueError(f'{name} is not a number in JSON')


def dump_json(value: Any) -> bytes:
    """`value` as ASCII-only JSON."""
    with contextlib.suppress(TypeError):  # a number beyond 64 bits
        raw = orjson.dumps(value)
        if raw.isascii():
            return raw
    return json.dumps(value).encode()


def json_response(
    request: Request,
    body: Any,
    *,
    last_modified: datetime.datetime | None = None,
    cached: bool = True,
    status: int = 200,
    location: str | None = None,
) -> Response:
    """An answer with a JSON body (`bytes` are taken as encoded already).

    `cached`: whether the route has the headers of http.md 2.9; for `last_modified` see `set_cache_headers`.
    """
    with timing.part('encode'):
        raw = body if isinstance(body, bytes) else dump_json(body)
    response = Response(status, raw)
    response.headers.append(('content-type', JSON))
    if location is not None:
        _set_location(request, response, location)
    if cached:
        set_cache_headers(request, response, last_modified)
    return response


def empty_response(request: Request, *, status: int = 204, location: str | None = None) -> Response:
    """An answer without a body, and so without a content type."""
    response = Response(status)
    if location is not None:
        _set_location(request, response, location)
    return response


def _set_location(request: Request, response: Response, path: str) -> None:
    response.headers.append(('location', request.host_url + request.href(path)))


def set_cache_headers(request: Request, response: Response, last_modified: datetime.datetime | None) -> None:
    """Say how old the answer is, from 1.15 on; `last_modified` is a naive UTC time, None leaves that header out."""
    if request.version >= CACHE_HEADERS_SINCE:
        response.headers.append(('cache-control', 'no-cache'))
        if last_modified is not None:
            text = format_datetime(last_modified.replace(tzinfo=datetime.UTC), usegmt=True)
            response.headers.append(('last-modified', text))


def newest(rows: Iterable[Any], default: datetime.datetime | None = None) -> datetime.datetime | None:
    """The latest change (`updated_at`, else `created_at`) among rows; `default` if there is none."""
    times = [row.updated_at or row.created_at for row in rows]
    return max((time for time in times if time is not None), default=default)
