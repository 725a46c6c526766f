"""Allocation candidates: who could serve a request (contract: candidates.md).

The entry point::

    query = solver.query.parse(params, version)            # [(key, value), …] decoded, in query order; (1, 39)
    result = solver.candidates(connection, query)          # in one read transaction
    for candidate in result:                               # solver.Candidate
        candidate.allocations                              # {provider uuid: {class: amount}}
        candidate.mappings                                 # {suffix: [provider uuid, …]}
    solver.render.summaries(result)                        # {provider uuid: {…}} as in the response
    result.steps                                           # how much searching was done
    solver.render.body(result)                             # the JSON body, in chunks of bytes

`solver.candidates` takes `solver.Settings` (cap, strategy, randomize) as its third argument and a `random.Random` as
`rng`. It raises `errors.ResourcesClassUnknown` and `errors.CandidateTraitUnknown`; `parse` raises the other errors of
candidates.md 1.4.

The way of a request: `query` (text to `CandidateQuery`) → `mirror` (the `Topology`, kept between requests) and `source`
(what is read anew: `members`, `usage`) → `plan` (who may serve what) → `solve`, `anchors`, `search`, `matching`
(combinations; `sample` if randomized) → `render` (bytes). All but `mirror`, `source` and `trait_lists` are pure.
"""

import contextlib
import random

import sqlalchemy as sa

from placement.solver import query, render
from placement.solver.candidates import Candidate, Result, find
from placement.solver.mirror import Mirror, Outdated
from placement.solver.query import CandidateQuery
from placement.solver.solve import Settings
from placement.solver.source import Source

__all__ = ['Candidate', 'CandidateQuery', 'Mirror', 'Result', 'Settings', 'candidates', 'query', 'render']


def candidates(
    connection: sa.Connection,
    wanted: CandidateQuery,
    settings: Settings | None = None,
    rng: random.Random | None = None,
    mirror: Mirror | None = None,
) -> Result:
    """The candidates of a query. All statements run on `connection`, which must be in one transaction (one snapshot).

    `mirror` keeps the topology for the next call; without it, all of the topology is read.

    :raises errors.ResourcesClassUnknown: unknown class
    :raises errors.CandidateTraitUnknown: unknown trait
    """
    mirror, settings, rng = mirror or Mirror(), settings or Settings(), rng or random.Random()
    source = Source(connection, mirror.traits)
    if wanted.limit is not None and not settings.randomize and (belief := mirror.belief(connection, wanted.limit)):
        with contextlib.suppress(Outdated):
            return find(wanted, belief.topology, source, settings, rng, belief.check)
    return find(wanted, mirror.topology(connection), source, settings, rng)
