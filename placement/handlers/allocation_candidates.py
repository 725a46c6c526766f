"""GET /allocation_candidates (contract: candidates.md, http.md 5.18)."""

import itertools
import random
from collections.abc import Iterator

from oslo_config import cfg

from placement import metrics, solver, timing
from placement.db import engine
from placement.http import Request, Response, json_response

# The topology of the last request of this process.
_MIRROR = solver.Mirror()
_RANDOM = random.SystemRandom()
# A body of more bytes than this is made while it is sent. Smaller ones are made before, so that their answers have a
# Content-Length, and the time that they took is in the log and in Server-Timing.
STREAMED_FROM = 4 * 1024 * 1024


def list_all(request: Request) -> Response:
    """Who could serve the request, and what is known of these providers."""
    query = solver.query.parse(request.query().items(), request.version)
    settings = _settings(request.conf)
    with timing.part('search'):
        result = engine.read(lambda connection: solver.candidates(connection, query, settings, _RANDOM, _MIRROR))
    metrics.searched(len(result), result.steps)
    response = json_response(request, b'', last_modified=engine.utcnow())
    with timing.part('encode'):
        _set_body(response, solver.render.body(result))
    return response


def _set_body(response: Response, chunks: Iterator[bytes]) -> None:
    """Make the body of these chunks. If it is large, only its beginning is made now, the rest while it is sent."""
    ready: list[bytes] = []
    size = 0
    for chunk in chunks:
        ready.append(chunk)
        size += len(chunk)
        if size > STREAMED_FROM:
            response.app_iter, response.content_length = itertools.chain(ready, chunks), None
            return
    response.app_iter, response.content_length = ready, size


def _settings(conf: cfg.ConfigOpts) -> solver.Settings:
    options = conf.placement
    return solver.Settings(
        maximum=options.max_allocation_candidates,
        breadth_first=options.allocation_candidates_generation_strategy == 'breadth-first',
        randomize=options.randomize_allocation_candidates,
    )
