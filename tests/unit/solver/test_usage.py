"""Which usage is read, and of whom (placement.solver.usage, placement.solver.solve)."""

import numpy as np

from placement.solver.usage import Usage
from tests.unit.solver.cloud import Cloud


def hosts(count: int, full: int) -> Cloud:
    """Hosts of 100 MEMORY_MB and 100 VCPU; of the first `full` half of the memory is used."""
    cloud = Cloud()
    for number in range(count):
        cloud.add(VCPU=100, MEMORY_MB=100, used={'VCPU': 1, 'MEMORY_MB': 50 if number < full else 10})
    return cloud


def read(cloud: Cloud) -> list[tuple[int, list[str] | None]]:
    return [(len(ids), classes) for ids, classes in zip(cloud.reads, cloud.read_classes, strict=True)]


def test_of_those_who_lack_the_scarcest_class_nothing_else_is_read() -> None:
    cloud = hosts(1000, full=990)
    result = cloud.ask('resources=VCPU:1,MEMORY_MB:60&limit=900')
    assert len(result) == 10
    assert read(cloud) == [(1000, ['MEMORY_MB']), (10, None)]


def test_where_nothing_fits_all_is_read_after_the_first_of_many() -> None:
    cloud = hosts(3000, full=3000)
    assert len(cloud.ask('resources=VCPU:1,MEMORY_MB:60&limit=300')) == 0
    # Of more than half of the providers, all is read.
    assert read(cloud) == [(337, ['MEMORY_MB']), (3000, ['MEMORY_MB'])]


def test_little_of_everything_is_read_at_once() -> None:
    cloud = hosts(1000, full=0)
    cloud.ask('resources=VCPU:1,MEMORY_MB:30&limit=300')
    assert read(cloud) == [(337, None)]


def test_a_few_are_read_at_once() -> None:
    cloud = hosts(1000, full=0)
    cloud.ask('resources=VCPU:1,MEMORY_MB:60&limit=10')
    assert read(cloud) == [(32, None)]


def test_nothing_is_read_of_those_that_could_not_serve_if_empty() -> None:
    cloud = hosts(4, full=0)
    for _ in range(4):
        cloud.add(VCPU=100, MEMORY_MB=20)
        cloud.add(VCPU=100, MEMORY_MB=100, max_unit=20)
        cloud.add(VCPU=100)
    assert len(cloud.ask('resources=VCPU:1,MEMORY_MB:30')) == 4
    assert [sorted(ids) for ids in cloud.reads] == [[1, 2, 3, 4]]


def test_what_is_known_is_not_read_again() -> None:
    cloud = hosts(10, full=5)
    cloud.amounts[3, 99] = 1  # of a class that does not exist any more
    usage = Usage(cloud.topology, cloud.used)
    stock = cloud.topology.stock
    usage.require(np.array([1, 2]), ['MEMORY_MB'])
    assert usage.used[stock.of_class['MEMORY_MB']].tolist() == [0, 50, 50, *[0] * 7]
    assert usage.used[stock.of_class['VCPU']].tolist() == [0] * 10
    usage.require(np.array([1]), ['MEMORY_MB'])
    usage.require(np.array([2, 3]))
    assert usage.used[stock.of_class['VCPU']].tolist() == [0, 0, 1, 1, *[0] * 6]
    usage.require(np.array([2, 3]))
    assert [sorted(ids) for ids in cloud.reads] == [[2, 3], [3, 4]]
    assert cloud.read_classes == [['MEMORY_MB'], None]
