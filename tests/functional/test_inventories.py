"""Inventories, beyond the steps of gabbits/inventor*.yaml: the rows, warnings, races, several providers."""

import logging

import pytest
import sqlalchemy as sa

from placement import errors
from placement.capacity import effective_ratio
from placement.db import dialect, engine, tables
from placement.objects import inventory, resource_provider
from placement.objects.inventory import Inventory
from tests import claims
from tests.claims import code, detail
from tests.client import Client
from tests.together import together

# Operators look for warnings under this name.
LOGGER = 'placement.objects.resource_provider'


def path(rp):
    return f'/resource_providers/{rp}/inventories'


def totals(client, rp):
    shown = client.must('GET', path(rp)).json()['inventories']
    return {name: record['total'] for name, record in shown.items()}


def test_what_stays_keeps_its_row(client, database):
    rp = claims.provider(client, VCPU=4, DISK_GB=10)
    database.execute("UPDATE inventories SET created_at = '2020-01-02 03:04:05'")
    before = database.rows('SELECT * FROM inventories ORDER BY resource_class_id')
    claims.set_inventories(client, rp, VCPU={'total': 5, 'allocation_ratio': 1.5}, MEMORY_MB=7)
    vcpu, memory = database.rows('SELECT * FROM inventories ORDER BY resource_class_id')
    assert (vcpu.id, vcpu.created_at, vcpu.total) == (before[0].id, before[0].created_at, 5)
    assert before[0].updated_at is None and vcpu.updated_at is not None
    assert (memory.resource_class_id, memory.total, memory.updated_at) == (1, 7, None)


def test_the_age_is_that_of_the_youngest(client, database):
    rp = claims.provider(client, VCPU=4, DISK_GB=10)
    database.execute("UPDATE inventories SET created_at = '2020-01-02 03:04:05'")
    database.execute("UPDATE inventories SET updated_at = '2021-01-02 03:04:05' WHERE resource_class_id = 2")
    assert client.must('GET', path(rp)).headers['last-modified'] == 'Sat, 02 Jan 2021 03:04:05 GMT'
    assert client.must('GET', f'{path(rp)}/VCPU').headers['last-modified'] == 'Thu, 02 Jan 2020 03:04:05 GMT'


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.name == LOGGER]


def test_over_capacity_is_logged(client, caplog):
    """Accepted, with the text that operators look for (service.md 5.2)."""
    rp = claims.provider(client, VCPU=8, DISK_GB=100)
    claims.consumer(client, {rp: {'VCPU': 4, 'DISK_GB': 50}})
    with caplog.at_level(logging.WARNING, LOGGER):
        claims.set_inventories(client, rp, VCPU=4, DISK_GB=50)
        assert warnings(caplog) == []
        claims.set_inventories(client, rp, VCPU=3, DISK_GB=50)
        assert warnings(caplog) == [f'Resource provider {rp} is now over-capacity for VCPU']
        caplog.clear()
        changed = {'total': 100, 'allocation_ratio': 0.4, 'resource_provider_generation': claims.generation(client, rp)}
        client.must('PUT', f'{path(rp)}/DISK_GB', changed)
        assert warnings(caplog) == [f'Resource provider {rp} is now over-capacity for DISK_GB']
    assert claims.used(client, rp) == {'VCPU': 4, 'DISK_GB': 50}


def test_units_that_allow_nothing_are_logged(client, caplog):
    """Decision A21: accepted, but somebody will wonder why nothing is scheduled there."""
    rp = claims.provider(client)
    with caplog.at_level(logging.WARNING, LOGGER):
        record = {'total': 8, 'min_unit': 4, 'max_unit': 2}
        claims.set_inventories(client, rp, VCPU=record, DISK_GB=9)
        client.must('POST', path(rp), {'resource_class': 'PCPU', **record})
        client.must('PUT', f'{path(rp)}/PCPU', {**record, 'resource_provider_generation': 2})
    assert [text.split(' on ')[0] for text in warnings(caplog)] == [
        'Nothing can be allocated of VCPU',
        'Nothing can be allocated of PCPU',
        'Nothing can be allocated of PCPU',
    ]


def test_a_refused_change_is_not_logged(client, caplog):
    rp = claims.provider(client)
    with caplog.at_level(logging.WARNING, LOGGER):
        record = {'total': 8, 'min_unit': 4, 'max_unit': 2, 'resource_provider_generation': 7}
        assert client.call('PUT', f'{path(rp)}/VCPU', record).status_code == 409
    assert warnings(caplog) == []


@pytest.mark.parametrize('ratio', [3.40282e38, 1e-300, -5, 16.123456789, 2])
def test_ratios_at_the_edge(client, ratio):
    rp = claims.provider(client)
    # At the full reservation any ratio has a capacity of nothing.
    record = {'total': 4, 'reserved': 4, 'allocation_ratio': ratio}
    body = {'resource_provider_generation': 0, 'inventories': {'VCPU': record}}
    assert client.must('PUT', path(rp), body).json()['inventories']['VCPU']['allocation_ratio'] == ratio
    shown = client.must('GET', f'{path(rp)}/VCPU').json()['allocation_ratio']
    assert shown == pytest.approx(ratio, rel=1e-5, abs=1e-30)


def test_the_ratio_that_counts_is_one_number_in_sql_and_in_python(client, database):
    """Decision A11; the ratios that end just below a decimal in single precision among them."""
    ratios = [0.7, 0.9, 1.3, 2.7, 16, 16.123456789, 1 / 3, 0.33333334, 1e-5, 123456.7, 1234567.8, 3.4e38, 0, -0.7]
    rps = [claims.provider(client, VCPU={'total': 1, 'reserved': 1, 'allocation_ratio': ratio}) for ratio in ratios]
    assert len(rps) == len(ratios)
    column = tables.inventories.c.allocation_ratio
    statement = sa.select(column, dialect.effective_ratio(column).label('counts')).order_by(tables.inventories.c.id)
    rows = engine.read(lambda connection: connection.execute(statement).all())
    assert [row.counts for row in rows] == [effective_ratio(row.allocation_ratio) for row in rows]
    assert [row.counts for row in rows] == [effective_ratio(ratio) for ratio in ratios]


def test_an_empty_answer_has_no_age(client):
    rp = claims.provider(client, VCPU=1)
    emptied = claims.set_inventories(client, rp)
    assert emptied.json()['inventories'] == {}
    assert 'last-modified' not in emptied.headers and emptied.headers['cache-control'] == 'no-cache'


def test_only_one_of_many_writers_at_one_generation_wins(app, client):
    rp = claims.provider(client)

    def write(total):
        body = {'resource_provider_generation': 0, 'inventories': {'VCPU': {'total': total}}}
        return Client.of_app(app).call('PUT', path(rp), body)

    answers = together([lambda total=total: write(total) for total in range(1, 9)])
    (winner,) = (answer for answer in answers if answer.status_code == 200)
    assert winner.json()['resource_provider_generation'] == 1
    for answer in answers:
        if answer is not winner:
            assert (answer.status_code, code(answer)) == (409, 'placement.concurrent_update')
            assert 'resource provider generation conflict' in detail(answer)
    assert totals(client, rp) == {'VCPU': winner.json()['inventories']['VCPU']['total']}


def test_writers_without_a_generation_all_win(app, client):
    """New providers next to each other, and all of them on one: nobody gets a conflict that is not one."""
    shared = claims.provider(client)
    several = [claims.provider(client) for _ in range(4)]
    classes = ['VCPU', 'MEMORY_MB', 'DISK_GB', 'PCPU']

    def add(rp, resource_class):
        return Client.of_app(app).call('POST', path(rp), {'resource_class': resource_class, 'total': 4})

    calls = [lambda rp=rp: add(rp, 'VCPU') for rp in several]
    calls += [lambda name=name: add(shared, name) for name in classes]
    assert [answer.status_code for answer in together(calls)] == [201] * 8
    assert claims.generation(client, shared) == 4
    assert totals(client, shared) == dict.fromkeys(classes, 4)


def test_an_inventory_and_the_end_of_its_class_at_once(app, client, database):
    for _ in range(5):
        rp = claims.provider(client)
        client.must('PUT', '/resource_classes/CUSTOM_BRIEF')
        put, deleted = together(
            [
                lambda rp=rp: Client.of_app(app).call('POST', path(rp), {'resource_class': 'CUSTOM_BRIEF', 'total': 1}),
                lambda: Client.of_app(app).call('DELETE', '/resource_classes/CUSTOM_BRIEF'),
            ]
        )
        assert (put.status_code, deleted.status_code) in ((201, 409), (400, 204))
        client.must('DELETE', path(rp))
    lost = 'SELECT * FROM inventories WHERE resource_class_id NOT IN (SELECT id FROM resource_classes)'
    assert database.rows(lost) == []


def _replace(wanted, **options):
    """`inventory.replace` by uuid, as a reshape uses it."""

    def work(connection):
        locked = resource_provider.lock(connection, wanted)
        inventory.replace(
            connection,
            {locked[rp]: inventories for rp, inventories in wanted.items()},
            unknown=lambda name: errors.ReshapeClassUnknown(resource_class=name),
            **options,
        )

    engine.write(work)


def test_several_providers_at_once(client):
    one, two, three = (claims.provider(client, VCPU=1, DISK_GB=2) for _ in range(3))
    _replace({one: {'VCPU': Inventory(11)}, two: {'VCPU': Inventory(21), 'PCPU': Inventory(22)}})
    assert totals(client, one) == {'VCPU': 11}
    assert totals(client, two) == {'VCPU': 21, 'PCPU': 22}
    assert totals(client, three) == {'VCPU': 1, 'DISK_GB': 2}
    # Bumping is the caller's.
    assert claims.generation(client, one) == 1


def test_others_may_be_kept(client, caplog):
    rp = claims.provider(client, VCPU=4, DISK_GB=2)
    claims.consumer(client, {rp: {'VCPU': 4, 'DISK_GB': 2}})
    with caplog.at_level(logging.WARNING, LOGGER):
        _replace({rp: {'VCPU': Inventory(1), 'VGPU': Inventory(3)}}, keep_others=True)
    assert totals(client, rp) == {'VCPU': 1, 'DISK_GB': 2, 'VGPU': 3}
    assert warnings(caplog) == []


def test_several_providers_change_all_or_none(client):
    one, two = (claims.provider(client, VCPU=1, DISK_GB=2, MEMORY_MB=3) for _ in range(2))
    claims.consumer(client, {two: {'DISK_GB': 1, 'VCPU': 1}})
    with pytest.raises(errors.InventoryInUse) as caught:
        _replace({one: {}, two: {'MEMORY_MB': Inventory(5)}}, in_use_prefix='update conflict: ')
    assert str(caught.value) == f"update conflict: Inventory for 'VCPU, DISK_GB' on resource provider '{two}' in use."
    with pytest.raises(errors.ReshapeClassUnknown, match='CUSTOM_NOT_THERE'):
        _replace({one: {'VCPU': Inventory(5)}, two: {'CUSTOM_NOT_THERE': Inventory(1)}})
    assert totals(client, one) == totals(client, two) == {'VCPU': 1, 'MEMORY_MB': 3, 'DISK_GB': 2}
