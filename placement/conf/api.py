"""[api]: the HTTP side."""

from oslo_config import cfg

GROUP = cfg.OptGroup('api', title='HTTP API')

OPTS = [
    cfg.StrOpt(
        'auth_strategy',
        default='keystone',
        choices=[
            ('keystone', 'tokens are validated by Keystone, as [keystone_authtoken] says'),
            ('noauth2', 'everybody is who they say they are; the token "admin" has the role admin. For tests only'),
        ],
        deprecated_group='DEFAULT',
        help='How a request proves who sent it.',
    ),
    cfg.BoolOpt(
        'server_timing',
        default=False,
        help='Answer with a Server-Timing header: how many milliseconds a request took in all, and of these in '
        'statements of the database, in the search for allocation candidates, in encoding JSON, and in anything '
        'else. Costs some microseconds for each statement; browsers and tracing tools show it.',
    ),
    cfg.BoolOpt(
        'healthcheck',
        default=False,
        help='Answer GET /healthcheck to everybody, without a token: 200 if the database can be read, else 503. '
        'Meant for load balancers; not in the request log. The options of oslo.middleware in [healthcheck] apply, '
        'such as allowed_source_ranges and detailed.',
    ),
]
