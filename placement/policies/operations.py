"""One rule for each operation of the API, in the order of the sample file."""

from oslo_policy import policy

from placement.policies import base

_PROVIDER = '/resource_providers/{uuid}'
_INVENTORIES = f'{_PROVIDER}/inventories'
_INVENTORY = f'{_INVENTORIES}/{{resource_class}}'


def _rule(
    name: str, description: str, method: str, *paths: str, check: str = base.ADMIN_OR_SERVICE
) -> policy.DocumentedRuleDefault:
    return policy.DocumentedRuleDefault(
        name=f'placement:{name}',
        check_str=check,
        description=description,
        operations=[{'method': method, 'path': path} for path in paths],
        scope_types=['project'],
    )


RULES = [
    _rule('resource_providers:list', 'List resource providers.', 'GET', '/resource_providers'),
    _rule('resource_providers:create', 'Create a resource provider.', 'POST', '/resource_providers'),
    _rule('resource_providers:show', 'Show a resource provider.', 'GET', _PROVIDER),
    _rule('resource_providers:update', 'Rename a resource provider or give it a parent.', 'PUT', _PROVIDER),
    _rule('resource_providers:delete', 'Delete a resource provider.', 'DELETE', _PROVIDER),
    _rule('resource_classes:list', 'List resource classes.', 'GET', '/resource_classes'),
    _rule('resource_classes:create', 'Create a custom resource class.', 'POST', '/resource_classes'),
    _rule('resource_classes:show', 'Show a resource class.', 'GET', '/resource_classes/{name}'),
    _rule('resource_classes:update', 'Create or rename a custom resource class.', 'PUT', '/resource_classes/{name}'),
    _rule('resource_classes:delete', 'Delete a custom resource class.', 'DELETE', '/resource_classes/{name}'),
    _rule('resource_providers:inventories:list', 'List the inventories of a resource provider.', 'GET', _INVENTORIES),
    _rule('resource_providers:inventories:create', 'Add an inventory to a resource provider.', 'POST', _INVENTORIES),
    _rule('resource_providers:inventories:show', 'Show one inventory of a resource provider.', 'GET', _INVENTORY),
    _rule(
        'resource_providers:inventories:update',
        'Replace one or all inventories of a resource provider.',
        'PUT',
        _INVENTORIES,
        _INVENTORY,
    ),
    _rule(
        'resource_providers:inventories:delete',
        'Delete one or all inventories of a resource provider.',
        'DELETE',
        _INVENTORIES,
        _INVENTORY,
    ),
    _rule(
        'resource_providers:aggregates:list',
        'List the aggregates of a resource provider.',
        'GET',
        f'{_PROVIDER}/aggregates',
    ),
    _rule(
        'resource_providers:aggregates:update',
        'Replace the aggregates of a resource provider.',
        'PUT',
        f'{_PROVIDER}/aggregates',
    ),
    _rule('resource_providers:usages', 'Show what is used of a resource provider.', 'GET', f'{_PROVIDER}/usages'),
    _rule(
        'usages',
        'Show what a project, or a user of it, uses in all.',
        'GET',
        '/usages',
        check=base.ADMIN_OR_PROJECT_READER_OR_SERVICE,
    ),
    _rule('traits:list', 'List traits.', 'GET', '/traits'),
    _rule('traits:show', 'Tell whether a trait exists.', 'GET', '/traits/{name}'),
    _rule('traits:update', 'Create a custom trait.', 'PUT', '/traits/{name}'),
    _rule('traits:delete', 'Delete a custom trait.', 'DELETE', '/traits/{name}'),
    _rule('resource_providers:traits:list', 'List the traits of a resource provider.', 'GET', f'{_PROVIDER}/traits'),
    _rule(
        'resource_providers:traits:update', 'Replace the traits of a resource provider.', 'PUT', f'{_PROVIDER}/traits'
    ),
    _rule(
        'resource_providers:traits:delete',
        'Remove all traits from a resource provider.',
        'DELETE',
        f'{_PROVIDER}/traits',
    ),
    _rule('allocations:manage', 'Write the allocations of several consumers at once.', 'POST', '/allocations'),
    _rule('allocations:list', 'List the allocations of a consumer.', 'GET', '/allocations/{consumer_uuid}'),
    _rule('allocations:update', 'Replace the allocations of a consumer.', 'PUT', '/allocations/{consumer_uuid}'),
    _rule('allocations:delete', 'Delete the allocations of a consumer.', 'DELETE', '/allocations/{consumer_uuid}'),
    _rule(
        'resource_providers:allocations:list',
        'List the allocations from a resource provider.',
        'GET',
        f'{_PROVIDER}/allocations',
    ),
    _rule('allocation_candidates:list', 'List allocation candidates.', 'GET', '/allocation_candidates'),
    _rule(
        'reshaper:reshape',
        'Change inventories and allocations of several resource providers in one step.',
        'POST',
        '/reshaper',
        check=base.SERVICE,
    ),
]
