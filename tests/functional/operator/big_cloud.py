"""A cloud of 10,000 hosts, the same every time, put into a database by bulk inserts."""

import datetime
import random
import uuid
from collections.abc import Iterator
from typing import Any

import os_resource_classes
import sqlalchemy as sa

from placement.db import tables
from placement.solver.members import SHARING

HOSTS, SERVERS_OF_HOST, HOSTS_OF_RACK = 10_000, 2, 40
# One host in so many has network devices below it, and one rack in so many a shared storage.
NESTED, STORAGE = 20, 10
TRAITS = ('HW_CPU_X86_AVX2', 'HW_CPU_X86_AVX512F', SHARING, 'COMPUTE_STATUS_DISABLED')
NOW = datetime.datetime(2026, 11, 1, 12)
# total, reserved, ratio
STOCK = {
    'VCPU': (32, 0, 4.0),
    'MEMORY_MB': (131_072, 2048, 1.0),
    'DISK_GB': (2000, 0, 1.0),
    'SRIOV_NET_VF': (8, 0, 1.0),
}
# Servers are of one of these: VCPU, MEMORY_MB, DISK_GB.
FLAVORS = ((2, 4096, 20), (8, 32_768, 100), (16, 65_536, 400), (4, 130_000, 40))


def rack(number: int) -> str:
    """The uuid of the aggregate of a rack."""
    return f'aaaaaaaa-0000-4000-8000-{number:012}'


class Builder:
    """Collects rows; providers are numbered from 1 on."""

    def __init__(self) -> None:
        self.random = random.Random(10)
        self.rows: dict[sa.Table, list[dict[str, Any]]] = {}
        self.count = 0

    def add(self, table: sa.Table, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def provider(
        self, name: str, *classes: str, parent: tuple[int, int] | None = None, times: int = 1
    ) -> tuple[int, int]:
        """A provider with so many times the usual stock; takes and gives (id, id of the root)."""
        self.count += 1
        own = self.count
        parent_id, root = parent or (None, own)
        row = {'parent_provider_id': parent_id, 'root_provider_id': root, 'generation': 1}
        self.add(tables.resource_providers, id=own, uuid=self.uuid(), name=name, **row)
        for name in classes:
            total, reserved, ratio = STOCK[name]
            total *= times
            row = {'total': total, 'reserved': reserved, 'allocation_ratio': ratio}
            row |= {'min_unit': 1, 'max_unit': total, 'step_size': 1}
            self.add(tables.inventories, resource_provider_id=own, resource_class_id=CLASS_IDS[name], **row)
        return own, root

    def server(self, host: int, disk: int) -> None:
        """A server on a host, with its disk there or elsewhere."""
        consumer = self.uuid()
        created = NOW - datetime.timedelta(minutes=self.random.randrange(500_000))
        row = {'project_id': self.random.randrange(1, 101), 'user_id': 1, 'generation': 1, 'consumer_type_id': 1}
        self.add(tables.consumers, uuid=consumer, created_at=created, **row)
        flavor = self.random.choice(FLAVORS)
        for name, amount in zip(('VCPU', 'MEMORY_MB', 'DISK_GB'), flavor, strict=True):
            holder = disk if name == 'DISK_GB' else host
            row = {'resource_class_id': CLASS_IDS[name], 'used': amount}
            self.add(tables.allocations, resource_provider_id=holder, consumer_id=consumer, **row)


CLASS_IDS = {name: os_resource_classes.STANDARDS.index(name) for name in STOCK}


def load(engine: sa.Engine) -> None:
    """Fill an empty database that has the schema."""
    with engine.begin() as connection:
        if connection.dialect.name != 'sqlite':
            # The class VCPU has the id 0.
            connection.execute(sa.text("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')"))
        for table, rows in _rows():
            connection.execute(table.insert(), rows)


def _rows() -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    build = Builder()
    yield tables.resource_classes, [{'id': key, 'name': name} for name, key in CLASS_IDS.items()]
    yield tables.traits, [{'id': key, 'name': name} for key, name in enumerate(TRAITS, 1)]
    yield tables.projects, [{'id': key, 'external_id': f'project{key}'} for key in range(1, 101)]
    yield tables.users, [{'id': 1, 'external_id': 'user'}]
    yield tables.consumer_types, [{'id': 1, 'name': 'INSTANCE'}]
    racks = range(1, HOSTS // HOSTS_OF_RACK + 1)
    yield tables.placement_aggregates, [{'id': number, 'uuid': rack(number)} for number in racks]
    has, is_in = tables.resource_provider_traits, tables.resource_provider_aggregates
    for number in racks:
        storage = None
        if number % STORAGE == 0:
            storage, _ = build.provider(f'storage{number}', 'DISK_GB', times=HOSTS_OF_RACK)
            build.add(has, resource_provider_id=storage, trait_id=3)
            build.add(is_in, resource_provider_id=storage, aggregate_id=number)
        for index in range(HOSTS_OF_RACK):
            host_number = (number - 1) * HOSTS_OF_RACK + index
            local = () if storage else ('DISK_GB',)
            host = build.provider(f'host{host_number:05}', 'VCPU', 'MEMORY_MB', *local)
            build.add(is_in, resource_provider_id=host[0], aggregate_id=number)
            for trait in (1, 2)[: number % 3]:
                build.add(has, resource_provider_id=host[0], trait_id=trait)
            if host_number % NESTED == 0:
                build.provider(f'host{host_number:05}_nic0', 'SRIOV_NET_VF', parent=host)
                build.provider(f'host{host_number:05}_nic1', 'SRIOV_NET_VF', parent=host)
            for _ in range(SERVERS_OF_HOST):
                build.server(host[0], storage or host[0])
    for table in (tables.resource_providers, tables.inventories, has, is_in, tables.consumers, tables.allocations):
        yield table, build.rows[table]
