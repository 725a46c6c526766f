"""The building blocks that the rules of the operations refer to."""

from oslo_policy import policy

ADMIN_OR_SERVICE = 'rule:admin_or_service_api'
ADMIN_OR_PROJECT_READER_OR_SERVICE = 'rule:admin_or_project_reader_or_service_api'
SERVICE = 'rule:service_api'

# What the rules below were before they were told apart. Its odd name is an accident that policy files depend on.
_ADMIN_ONLY = policy.DeprecatedRule(
    name='rule:admin_api',
    check_str='role:admin',
    deprecated_reason='The rules now tell services, project readers and administrators apart.',
    deprecated_since='W',
)


def _rule(name: str, check: str, description: str, scope_types: list[str] | None) -> policy.RuleDefault:
    return policy.RuleDefault(name, check, description, deprecated_rule=_ADMIN_ONLY, scope_types=scope_types)


RULES = [
    policy.RuleDefault(
        'admin_api',
        'role:admin',
        'An administrator. No default refers to it; policy files may.',
        scope_types=['project'],
    ),
    _rule('service_api', 'role:service', 'Another service of the cloud.', ['project']),
    _rule(
        'admin_or_service_api',
        'role:admin or role:service',
        'An administrator or another service of the cloud: the default of most operations.',
        ['project'],
    ),
    _rule(
        'project_reader_api',
        'role:reader and project_id:%(project_id)s',
        'A reader of the project that the request is about.',
        None,
    ),
    _rule(
        'admin_or_project_reader_or_service_api',
        'role:admin or rule:project_reader_api or role:service',
        'An administrator, a reader of the project that the request is about, or another service of the cloud.',
        ['project'],
    ),
]
