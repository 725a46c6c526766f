"""Reshaping: inventories move from a host to its children, and the allocations with them."""

import pytest

from tests import claims
from tests.claims import body, code, detail, generation, held, new_uuid, records, shown, used

SERVICE = {'x-roles': 'service'}


def reshape(client, inventories, bodies=None, version='1.39', **options):
    """`inventories` maps provider uuids to what they shall have, at their present generations."""
    return client.call(
        'POST',
        '/reshaper',
        {
            'inventories': {
                rp: {'resource_provider_generation': generation(client, rp), 'inventories': records(**wanted)}
                for rp, wanted in inventories.items()
            },
            'allocations': bodies or {},
        },
        version=version,
        **{'headers': SERVICE, **options},
    )


@pytest.fixture
def host(client):
    return claims.provider(client, VCPU=8, VGPU=4)


@pytest.fixture
def child(client, host):
    return claims.provider(client, parent=host)


@pytest.mark.parametrize('version', ['1.30', '1.34', '1.38'])
def test_inventory_and_allocations_move(client, host, child, version):
    consumer = claims.consumer(client, {host: {'VCPU': 2, 'VGPU': 4}})
    wanted = body({host: {'VCPU': 2}, child: {'VGPU': 4}}, 1)
    if version != '1.38':
        del wanted['consumer_type']
    answer = reshape(client, {host: {'VCPU': 8}, child: {'VGPU': 4}}, {consumer: wanted}, version)
    assert answer.status_code == 204
    assert answer.content == b''
    assert 'content-type' not in answer.headers
    assert held(client, consumer) == {host: {'VCPU': 2}, child: {'VGPU': 4}}
    assert [used(client, rp) for rp in (host, child)] == [{'VCPU': 2}, {'VGPU': 4}]
    assert shown(client, consumer)['consumer_generation'] == 2


def test_generations(client, host, child):
    """Each step counts: the interim inventory if there is one, the allocations, the final inventory."""
    consumer = claims.consumer(client, {host: {'VCPU': 2, 'VGPU': 4}})
    bystander = claims.provider(client, VCPU=8)
    assert [generation(client, rp) for rp in (host, child, bystander)] == [2, 0, 1]
    wanted = body({bystander: {'VCPU': 2}, child: {'VGPU': 4}}, 1)
    assert reshape(client, {host: {}, child: {'VGPU': 4}}, {consumer: wanted}).status_code == 204
    # The host: final only, since it is not named and its new inventory is empty. The child: all three.
    assert [generation(client, rp) for rp in (host, child, bystander)] == [3, 3, 2]
    # Emptied: the providers of what is given back count as touched.
    assert reshape(client, {child: {'VGPU': 2}}, {consumer: body({}, 2)}).status_code == 204
    assert [generation(client, rp) for rp in (host, child, bystander)] == [3, 6, 3]
    assert reshape(client, {child: {'VGPU': 1}}).status_code == 204
    assert [generation(client, rp) for rp in (host, child, bystander)] == [3, 8, 3]
    assert reshape(client, {child: {}}).status_code == 204
    assert generation(client, child) == 9


def test_capacity_of_inventories_is_not_judged(client, host):
    assert reshape(client, {host: {'DISK_GB': {'total': 100, 'reserved': 200}}}).status_code == 204


def refused(answer, status, error_code, *words):
    assert (answer.status_code, code(answer)) == (status, error_code)
    for text in words:
        assert text in detail(answer)


class TestRefusals:
    """Nothing of a refused reshape happens."""

    @pytest.fixture
    def consumer(self, client, host):
        return claims.consumer(client, {host: {'VCPU': 2, 'VGPU': 4}})

    @pytest.fixture(autouse=True)
    def unchanged(self, client, host, child, consumer, database):
        yield
        assert [generation(client, rp) for rp in (host, child)] == [2, 0]
        assert held(client, consumer) == {host: {'VCPU': 2, 'VGPU': 4}}
        assert shown(client, consumer)['consumer_generation'] == 1
        assert used(client, host) == {'VCPU': 2, 'VGPU': 4}
        assert len(database.rows('SELECT * FROM consumers')) == 1

    def test_unknown_provider_of_inventories(self, client, host):
        unknown = new_uuid()
        wanted = {'resource_provider_generation': 0, 'inventories': {}}
        known = {'resource_provider_generation': 99, 'inventories': {}}
        for inventories in ({unknown: wanted}, {unknown: wanted, host: known}):
            answer = client.call('POST', '/reshaper', {'inventories': inventories, 'allocations': {}}, headers=SERVICE)
            refused(
                answer,
                400,
                'placement.resource_provider.not_found',
                f'Resource provider {unknown} in inventories not found',
            )

    def test_stale_generation(self, client, host):
        wanted = {host: {'resource_provider_generation': 1, 'inventories': {}}}
        answer = client.call('POST', '/reshaper', {'inventories': wanted, 'allocations': {}}, headers=SERVICE)
        refused(
            answer,
            409,
            'placement.concurrent_update',
            f'resource provider generation conflict for provider {host}: actual: 2, given: 1',
        )
        assert 'consumer generation conflict' not in detail(answer)

    def test_consumer_generation(self, client, host, child, consumer):
        wanted = body({host: {'VCPU': 2}, child: {'VGPU': 4}}, 7)
        answer = reshape(client, {host: {'VCPU': 8}, child: {'VGPU': 4}}, {consumer: wanted})
        refused(answer, 409, 'placement.concurrent_update', 'consumer generation conflict - expected 1 but got 7')

    def test_unknown_provider_of_allocations(self, client, host, consumer):
        unknown = new_uuid()
        answer = reshape(client, {host: {'VCPU': 8, 'VGPU': 4}}, {consumer: body({unknown: {'VGPU': 4}}, 1)})
        refused(
            answer,
            400,
            'placement.undefined_code',
            f"Allocation for resource provider '{unknown}' that does not exist",
        )

    def test_unknown_class(self, client, host, consumer):
        words = 'malformed reshaper data: No such resource class CUSTOM_X.'
        refused(reshape(client, {host: {'CUSTOM_X': 8}}), 400, 'placement.undefined_code', words)
        wanted = body({host: {'VCPU': 2, 'CUSTOM_X': 4}}, 1)
        answer = reshape(client, {host: {'VCPU': 8, 'VGPU': 4}}, {consumer: wanted})
        refused(answer, 400, 'placement.undefined_code', words)

    def test_inventory_in_use(self, client, host):
        answer = reshape(client, {host: {'VCPU': 8}})
        refused(
            answer,
            409,
            'placement.inventory.inuse',
            f"update conflict: Inventory for 'VGPU' on resource provider '{host}' in use.",
        )

    def test_inventory_in_use_by_the_request_itself(self, client, host, consumer):
        answer = reshape(client, {host: {'VCPU': 8}}, {consumer: body({host: {'VCPU': 1, 'VGPU': 1}}, 1)})
        refused(answer, 409, 'placement.inventory.inuse')

    def test_allocations_that_do_not_fit(self, client, host, child, consumer):
        wanted = body({host: {'VCPU': 2}, child: {'VGPU': 4}}, 1)
        answer = reshape(client, {host: {'VCPU': 8}, child: {'VGPU': {'total': 3, 'max_unit': 4}}}, {consumer: wanted})
        refused(
            answer,
            409,
            'placement.undefined_code',
            'Unable to allocate inventory',
            'The requested amount would exceed the capacity',
        )

    @pytest.mark.parametrize(
        ('change', 'words'),
        [
            ({'inventories': {}}, 'should be non-empty'),
            ({'inventories': {'x': {}}}, 'does not match any of the regexes'),
            ({'bad_field': 1}, "Additional properties are not allowed ('bad_field' was unexpected)"),
            ({'allocations': {new_uuid(): {}}}, 'is a required property'),
        ],
    )
    def test_bodies(self, client, host, change, words):
        right = {'inventories': {host: {'resource_provider_generation': 2, 'inventories': {}}}, 'allocations': {}}
        answer = client.call('POST', '/reshaper', {**right, **change}, headers=SERVICE)
        refused(answer, 400, 'placement.undefined_code', 'JSON does not validate', words)

    def test_consumer_type_by_version(self, client, host, consumer):
        typed = {consumer: body({host: {'VCPU': 2, 'VGPU': 4}}, 1)}
        untyped = {consumer: {key: value for key, value in typed[consumer].items() if key != 'consumer_type'}}
        same = {host: {'VCPU': 8, 'VGPU': 4}}
        answer = reshape(client, same, typed, version='1.37')
        refused(answer, 400, 'placement.undefined_code', "'consumer_type' was unexpected")
        refused(
            reshape(client, same, untyped), 400, 'placement.undefined_code', "'consumer_type' is a required property"
        )

    def test_admins_may_not(self, client, host):
        answer = reshape(client, {host: {}}, headers={})
        refused(answer, 403, 'placement.undefined_code', 'placement:reshaper:reshape')

    def test_not_before_1_30(self, client, host):
        assert reshape(client, {host: {}}, version='1.29').status_code == 404


def test_interim_inventory_is_old_and_new_together(client, host, child):
    """What a provider has now and what it is to have both count while allocations move; kept amounts may exceed it."""
    consumer = claims.consumer(client, {host: {'VCPU': 2, 'VGPU': 4}})
    other = claims.consumer(client, {host: {'VCPU': 6}})
    assert reshape(client, {host: {'VCPU': 4, 'VGPU': 4}}, {}).status_code == 204
    # Over capacity by now: kept amounts stay possible within a reshape, too.
    wanted = {consumer: body({host: {'VCPU': 2}, child: {'VGPU': 4}}, 1), other: body({host: {'VCPU': 6}}, 1)}
    assert reshape(client, {host: {'VCPU': 4}, child: {'VGPU': 4}}, wanted).status_code == 204
    assert used(client, host) == {'VCPU': 8}


def test_capacity_of_what_is_set_is_not_checked(client):
    uuid = claims.provider(client, VCPU=1)
    before = generation(client, uuid)
    answer = reshape(client, {uuid: {'VCPU': {'total': 100, 'reserved': 200}}})
    assert answer.status_code == 204
    assert generation(client, uuid) == before + 2


def test_consumers_and_providers_are_looked_at_before_classes(client, host, child):
    """Of several mistakes, that of the consumers is told of first, then an unknown provider (http.md 6.6)."""
    consumer = claims.consumer(client, {host: {'VCPU': 2}})
    unknown_class = {host: {'VCPU': 8, 'CUSTOM_NOPE': 1}}
    answer = reshape(client, unknown_class, {consumer: body({host: {'VCPU': 2}}, 7)})
    assert (answer.status_code, code(answer)) == (409, 'placement.concurrent_update')
    assert 'consumer generation conflict' in detail(answer)
    answer = reshape(client, unknown_class, {consumer: body({new_uuid(): {'VCPU': 2}}, 1)})
    assert answer.status_code == 400
    assert 'that does not exist' in detail(answer)
    answer = reshape(client, unknown_class, {consumer: body({host: {'VCPU': 2}}, 1)})
    assert answer.status_code == 400
    assert 'No such resource class CUSTOM_NOPE' in detail(answer)
    assert held(client, consumer) == {host: {'VCPU': 2}}
