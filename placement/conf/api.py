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
]
