"""A small cloud, and placement-manage on it."""

import os
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

import pytest

import placement.cmd.manage
from tests import databases
from tests.case_loader import INVENTORY_DEFAULTS, Provider, World, build_sql
from tests.functional.db.conftest import Command

GOLDEN = pathlib.Path(__file__).parent / 'golden'
# Set to write the files of outputs anew, to be looked through.
UPDATE = 'PLACEMENT_TEST_UPDATE_GOLDEN'

RACK1, RACK2 = 'aaaaaaaa-0000-4000-8000-000000000001', 'aaaaaaaa-0000-4000-8000-000000000002'
AVX2, SHARES = 'HW_CPU_X86_AVX2', 'MISC_SHARES_VIA_AGGREGATE'


def uuid_of(name: str) -> str:
    """The uuid of a provider or consumer of the cloud."""
    return str(uuid.uuid5(uuid.UUID(int=8), name))


def provider(
    name: str, parent: str | None = None, traits: set[str] | None = None, rack: str | None = None, **stock: Any
) -> Provider:
    """A provider; an inventory is its total, or what differs from the defaults."""
    records: dict[str, Mapping[str, Any]] = {
        key: {**INVENTORY_DEFAULTS, **(value if isinstance(value, dict) else {'total': value})}
        for key, value in stock.items()
    }
    return Provider(
        uuid=uuid_of(name),
        name=name,
        parent=uuid_of(parent) if parent else None,
        inventories=records,
        traits=frozenset(traits or ()),
        aggregates=frozenset([rack] if rack else ()),
    )


def compute(name: str, rack: str, traits: set[str] | None = None, vcpus: int = 16, **more: Any) -> Provider:
    """A compute host with 64 GiB of memory."""
    memory = {'total': 65536, 'reserved': 1024}
    cpus = {'total': vcpus, 'allocation_ratio': 4.0, 'max_unit': vcpus}
    return provider(name, None, traits, rack, VCPU=cpus, MEMORY_MB=memory, **more)


CLOUD = World(
    (
        compute('host1', RACK1, {AVX2}, DISK_GB=500),
        compute('host2', RACK1, {AVX2}, DISK_GB=500),
        compute('host3', RACK1, DISK_GB=500),
        # Its disk is in the storage of the rack.
        compute('host4', RACK2, {AVX2}),
        compute('host5', RACK2, {AVX2, 'COMPUTE_STATUS_DISABLED'}),
        # Two network cards of four functions each.
        compute('host6', RACK2, {AVX2}),
        provider('host6_nic0', 'host6', {'HW_NIC_SRIOV', 'HW_NIC_OFFLOAD_TSO'}, SRIOV_NET_VF=4),
        provider('host6_nic1', 'host6', {'HW_NIC_SRIOV'}, SRIOV_NET_VF=4),
        provider('storage2', None, {SHARES}, RACK2, DISK_GB={'total': 2000, 'reserved': 100}),
    ),
    (
        (uuid_of('server1'), {uuid_of('host1'): {'VCPU': 16, 'MEMORY_MB': 57344, 'DISK_GB': 40}}),
        (uuid_of('server2'), {uuid_of('host2'): {'VCPU': 8, 'MEMORY_MB': 16384, 'DISK_GB': 480}}),
        (
            uuid_of('server3'),
            {
                uuid_of('host6'): {'VCPU': 4, 'MEMORY_MB': 8192},
                uuid_of('host6_nic0'): {'SRIOV_NET_VF': 4},
                uuid_of('storage2'): {'DISK_GB': 100},
            },
        ),
    ),
)


@pytest.fixture
def cloud(database: databases.Database) -> databases.Database:
    with database.engine.begin() as connection:
        build_sql(connection, CLOUD)
    return database


@pytest.fixture
def manage(database: databases.Database, tmp_path: pathlib.Path) -> Command:
    return Command(placement.cmd.manage, database.url, tmp_path)


def check_golden(name: str, output: str) -> None:
    """The output is that of the file, which a person has found good."""
    path = GOLDEN / f'{name}.txt'
    plain = '\n'.join(line.rstrip() for line in output.splitlines()) + '\n'
    if os.environ.get(UPDATE):
        path.parent.mkdir(exist_ok=True)
        path.write_text(plain, encoding='utf-8')
    assert plain == path.read_text(encoding='utf-8')
