"""Uses the placement adapter of openstacksdk. Run by the interpreter of the clients' environment, for
test_openstack_clients.py, with the URL of the service as its argument; writes what it found as JSON."""

import json
import sys

import openstack

connection = openstack.connect(
    load_yaml_config=False,
    load_envvars=False,
    auth_type='admin_token',
    auth={'token': 'admin', 'endpoint': sys.argv[1]},
    placement_endpoint_override=sys.argv[1],
)
placement = connection.placement
host = placement.create_resource_provider(name='sdk')
placement.create_trait('CUSTOM_SDK')
custom = placement.create_resource_class(name='CUSTOM_SDK')
inventory = placement.create_resource_provider_inventory(host, custom, total=3, resource_provider_generation=0)
found = {
    'latest': placement.get_endpoint_data().max_microversion,
    'root': placement.get('/', microversion='1.39').status_code,
    'providers': [provider.name for provider in placement.resource_providers()],
    'provider': placement.get_resource_provider(host).id == host.id,
    'traits': [trait.id for trait in placement.traits(name='startswith:CUSTOM_')],
    'classes': [each.name for each in placement.resource_classes() if each.name.startswith('CUSTOM_')],
    'total': inventory.total,
    'inventories': [each.total for each in placement.resource_provider_inventories(host)],
    'missing': placement.find_resource_provider('missing') is None,
}
placement.delete_resource_provider(host)
found['left'] = [provider.name for provider in placement.resource_providers()]
json.dump(found, sys.stdout)
