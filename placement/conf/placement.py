"""[placement]: what the service decides, above all about allocation candidates."""

from oslo_config import cfg

GROUP = cfg.OptGroup('placement', title='Placement')

_INCOMPLETE = '00000000-0000-0000-0000-000000000000'

OPTS = [
    cfg.BoolOpt(
        'randomize_allocation_candidates',
        default=False,
        help='Return allocation candidates in random order and, if there are more than the limit of the request, a '
        'random choice of them. Spreads load at the price of repeatable answers.',
    ),
    cfg.StrOpt(
        'incomplete_consumer_project_id',
        default=_INCOMPLETE,
        help='The project of consumers whose allocations were written without one (before microversion 1.8).',
    ),
    cfg.StrOpt(
        'incomplete_consumer_user_id',
        default=_INCOMPLETE,
        help='The user of consumers whose allocations were written without one (before microversion 1.8).',
    ),
    cfg.IntOpt(
        'allocation_conflict_retry_count',
        default=10,
        help='How often in all a write of allocations is tried when other writes change the same resource providers '
        'meanwhile. The client is told of a conflict only when all of them failed.',
    ),
    cfg.IntOpt(
        'max_allocation_candidates',
        default=-1,
        help='Stop looking for allocation candidates when this many are found, whatever the limit of the request. A '
        'negative number means never. Requests for several resources of trees with many alike children can have '
        'millions of candidates; 100000 is a good bound.',
    ),
    cfg.StrOpt(
        'allocation_candidates_generation_strategy',
        default='depth-first',
        choices=[
            ('depth-first', 'all candidates of one provider tree, then those of the next'),
            ('breadth-first', 'one candidate of each provider tree in turn'),
        ],
        help='The order in which allocation candidates are found. It matters when max_allocation_candidates or the '
        'limit of the request stops the search: breadth-first then offers more different hosts.',
    ),
]
