"""The clouds that both services are measured on, made by plain SQL in the schema that they share.

Everything is a function of numbers, so that a request can name host 17 or its third server without a look at the
database. Uuids are MD5 of a name, for their order must say nothing about the order of ids. Used by works.py (names) and
__main__.py (loading).
"""

import hashlib
import uuid
from dataclasses import dataclass

import sqlalchemy as sa

SERVERS, TRAITS = 20, 60
PROJECT, USER, CONSUMER_TYPE = 'bench-project', 'bench-user', 'INSTANCE'
# The trait that `required` names: the first of those that every host has.
TRAIT = 'COMPUTE_ACCELERATORS'
# Every host: what it has, and what each of its servers takes. 16 × 64 VCPU, 512 GB and 8 TB.
HOST_INVENTORY = {'VCPU': (64, 16.0), 'MEMORY_MB': (524_288, 1.0), 'DISK_GB': (8_192, 1.0)}
SERVER_USE = {'VCPU': 4, 'MEMORY_MB': 16_384, 'DISK_GB': 100}
# More than is left (196,608) and less than there is.
TOO_MUCH_MEMORY = 300_000
VFS = 8

# A host of `flat` that has been bumped by nothing has this generation.
GENERATION = 3

_NUMAS, _PFS_OF_NUMA = 2, 2
_NESTED = 1 + _NUMAS * (1 + _PFS_OF_NUMA)


def uuid_of(name: str) -> str:
    """The uuid of `host7`, `server7-3` and so on."""
    return str(uuid.UUID(hashlib.md5(name.encode()).hexdigest()))


def _uuid_sql(name: str) -> str:
    parts = '^(.{8})(.{4})(.{4})(.{4})(.{12})$'
    return f"REGEXP_REPLACE(MD5({name}), '{parts}', '\\\\1-\\\\2-\\\\3-\\\\4-\\\\5')"


@dataclass(frozen=True)
class Cloud:
    """`shape` is flat (hosts), nested (hosts of 2 NUMA nodes with 2 network devices each) or wide (one host with
    `hosts` network devices)."""

    name: str
    shape: str
    hosts: int

    def load(self, url: str) -> None:
        """Fill an empty database that has the schema, the standard classes and the standard traits."""
        with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
            # A colon in sa.text would be a parameter.
            run = connection.exec_driver_sql
            for name, column, value in (
                ('projects', 'external_id', PROJECT),
                ('users', 'external_id', USER),
                ('consumer_types', 'name', CONSUMER_TYPE),
            ):
                run(f"INSERT INTO {name} ({column}, created_at) VALUES ('{value}', UTC_TIMESTAMP())")
            for statement in {'flat': _flat, 'nested': _nested, 'wide': _wide}[self.shape](self.hosts):
                run(statement)
            for table in ('resource_providers', 'inventories', 'allocations', 'consumers', 'resource_provider_traits'):
                run(f'ANALYZE TABLE {table}')


def _flat(hosts: int) -> list[str]:
    every = f'seq_1_to_{hosts}'
    return [
        _providers(f"SELECT seq, CONCAT('host', seq), NULL, seq FROM {every}"),
        *(_inventory(f'SELECT seq FROM {every}', name, *HOST_INVENTORY[name]) for name in HOST_INVENTORY),
        _traits(f'SELECT seq AS id FROM {every}'),
        _consumers(every),
        *(_allocations(every, name, amount, 'h.seq') for name, amount in SERVER_USE.items()),
    ]


def _nested(hosts: int) -> list[str]:
    """Host `h` has the ids from (h - 1) * 7 + 1 on: itself, then each NUMA node followed by its two devices."""
    every = f'seq_1_to_{hosts}'
    first = f'((h.seq - 1) * {_NESTED} + 1)'
    numa = f'({first} + 1 + n.seq * {1 + _PFS_OF_NUMA})'
    numas = f'{every} h, seq_0_to_{_NUMAS - 1} n'
    devices = f'{numas}, seq_1_to_{_PFS_OF_NUMA} p'
    numa_of_server = f'{first} + 1 + MOD(s.seq, {_NUMAS}) * {1 + _PFS_OF_NUMA}'
    return [
        _providers(f"SELECT {first}, CONCAT('host', h.seq), NULL, {first} FROM {every} h"),
        _providers(f"SELECT {numa}, CONCAT('numa', h.seq, '-', n.seq), {first}, {first} FROM {numas}"),
        _providers(
            f"SELECT {numa} + p.seq, CONCAT('pf', h.seq, '-', n.seq, '-', p.seq), {numa}, {first} FROM {devices}"
        ),
        _inventory(f'SELECT {first} FROM {every} h', 'DISK_GB', *HOST_INVENTORY['DISK_GB']),
        _inventory(f'SELECT {numa} FROM {numas}', 'VCPU', *HOST_INVENTORY['VCPU']),
        _inventory(f'SELECT {numa} FROM {numas}', 'MEMORY_MB', *HOST_INVENTORY['MEMORY_MB']),
        _inventory(f'SELECT {numa} + p.seq FROM {devices}', 'SRIOV_NET_VF', VFS, 1.0),
        _traits(f'SELECT {first} AS id FROM {every} h'),
        _consumers(every),
        _allocations(every, 'DISK_GB', SERVER_USE['DISK_GB'], first),
        _allocations(every, 'VCPU', SERVER_USE['VCPU'], numa_of_server),
        _allocations(every, 'MEMORY_MB', SERVER_USE['MEMORY_MB'], numa_of_server),
        # One server in five uses a device.
        _allocations(every, 'SRIOV_NET_VF', 1, f'{numa_of_server} + 1', 'MOD(s.seq, 5) = 0'),
    ]


def _wide(devices: int) -> list[str]:
    every = f'seq_1_to_{devices}'
    return [
        _providers("SELECT 1, 'host1', NULL, 1"),
        _providers(f"SELECT 1 + seq, CONCAT('pf', seq), 1, 1 FROM {every}"),
        *(_inventory('SELECT 1', name, *HOST_INVENTORY[name]) for name in HOST_INVENTORY),
        _inventory(f'SELECT 1 + seq FROM {every}', 'SRIOV_NET_VF', VFS, 1.0),
        _traits('SELECT 1 AS id'),
    ]


def _providers(rows: str) -> str:
    return (
        'INSERT INTO resource_providers (id, uuid, name, generation, parent_provider_id, root_provider_id, created_at) '
        f'WITH new (id, name, parent, root) AS ({rows}) '
        f'SELECT id, {_uuid_sql("name")}, name, {GENERATION}, parent, root, UTC_TIMESTAMP() FROM new'
    )


def _inventory(providers: str, resource_class: str, total: int, ratio: float) -> str:
    return (
        'INSERT INTO inventories (resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, '
        f'step_size, allocation_ratio, created_at) WITH new (id) AS ({providers}) '
        f'SELECT new.id, c.id, {total}, 0, 1, {total}, 1, {ratio}, UTC_TIMESTAMP() FROM new '
        f"JOIN resource_classes c ON c.name = '{resource_class}'"
    )


def _traits(providers: str) -> str:
    return (
        'INSERT INTO resource_provider_traits (resource_provider_id, trait_id, created_at) '
        f'SELECT p.id, t.id, UTC_TIMESTAMP() FROM ({providers}) p, '
        f"(SELECT id FROM traits WHERE name >= '{TRAIT}' ORDER BY name LIMIT {TRAITS}) t"
    )


def _consumers(hosts: str) -> str:
    return (
        'INSERT INTO consumers (uuid, project_id, user_id, generation, consumer_type_id, created_at) '
        f'SELECT {_uuid_sql(_SERVER)}, p.id, u.id, 1, t.id, UTC_TIMESTAMP() '
        f'FROM {hosts} h, seq_1_to_{SERVERS} s, projects p, users u, consumer_types t'
    )


def _allocations(hosts: str, resource_class: str, amount: int, provider: str, where: str = 'TRUE') -> str:
    return (
        'INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used, created_at) '
        f'SELECT {provider}, {_uuid_sql(_SERVER)}, c.id, {amount}, UTC_TIMESTAMP() '
        f"FROM {hosts} h, seq_1_to_{SERVERS} s, resource_classes c WHERE c.name = '{resource_class}' AND {where}"
    )


_SERVER = "CONCAT('server', h.seq, '-', s.seq)"
