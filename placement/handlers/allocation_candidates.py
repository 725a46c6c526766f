"""GET /allocation_candidates (contract: candidates.md, http.md 5.18)."""

import random

import webob
from oslo_config import cfg

from placement import metrics, solver, timing
from placement.db import engine
from placement.http import Request, json_response

# The topology of the last request of this process.
_MIRROR = solver.Mirror()
_RANDOM = random.SystemRandom()


def list_all(request: Request) -> webob.Response:
    """Who could serve the request, and what is known of these providers."""
    query = solver.query.parse(request.query().items(), request.version)
    settings = _settings(request.conf)
    with timing.part('search'):
        result = engine.read(lambda connection: solver.candidates(connection, query, settings, _RANDOM, _MIRROR))
    metrics.searched(len(result), result.steps)
    with timing.part('encode'):
        body = solver.render.body(result)
    return json_response(request, body, last_modified=engine.utcnow())


def _settings(conf: cfg.ConfigOpts) -> solver.Settings:
    options = conf.placement
    return solver.Settings(
        maximum=options.max_allocation_candidates,
        breadth_first=options.allocation_candidates_generation_strategy == 'breadth-first',
        randomize=options.randomize_allocation_candidates,
    )
