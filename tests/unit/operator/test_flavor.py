"""A flavor becomes the query that nova sends for it."""

import pytest

from placement.operator import flavor

TAIL = '&root_required=!COMPUTE_STATUS_DISABLED'


@pytest.mark.parametrize(
    ('numbers', 'specs', 'query'),
    [
        ('vcpus=4,ram=8192,disk=40', [], 'resources=VCPU:4,MEMORY_MB:8192,DISK_GB:40'),
        # Swap takes whole GB of the disk.
        ('vcpus=1,ram=512,disk=10,ephemeral=5,swap=1', [], 'resources=VCPU:1,MEMORY_MB:512,DISK_GB:16'),
        ('vcpus=1,ram=512,disk=10,swap=1024', [], 'resources=VCPU:1,MEMORY_MB:512,DISK_GB:11'),
        # Booted from a volume.
        ('vcpus=1,ram=512,disk=0', [], 'resources=VCPU:1,MEMORY_MB:512'),
        ('vcpus=4,ram=512', ['hw:cpu_policy=dedicated'], 'resources=PCPU:4,MEMORY_MB:512'),
        (
            'vcpus=4,ram=512',
            ['hw:cpu_policy=dedicated', 'hw:emulator_threads_policy=isolate', 'hw:cpu_thread_policy=isolate'],
            'resources=PCPU:5,MEMORY_MB:512&required=!HW_CPU_HYPERTHREADING',
        ),
        (
            'vcpus=4,ram=512',
            ['hw:cpu_policy=mixed', 'hw:cpu_dedicated_mask=0-2,^1'],
            'resources=PCPU:2,VCPU:2,MEMORY_MB:512',
        ),
        (
            'vcpus=4,ram=512',
            ['hw:cpu_policy=mixed', 'hw:cpu_dedicated_mask=^0'],
            'resources=PCPU:3,VCPU:1,MEMORY_MB:512',
        ),
        ('vcpus=4,ram=512', ['hw:cpu_policy=mixed', 'hw:cpu_dedicated_mask=7-9'], 'resources=VCPU:4,MEMORY_MB:512'),
        # A range far beyond the CPUs that there are is not counted through.
        (
            'vcpus=4,ram=512',
            ['hw:cpu_policy=mixed', 'hw:cpu_dedicated_mask=1-999999999999'],
            'resources=PCPU:3,VCPU:1,MEMORY_MB:512',
        ),
        ('vcpus=1,ram=512', ['hw:mem_encryption=True'], 'resources=VCPU:1,MEMORY_MB:512,MEM_ENCRYPTION_CONTEXT:1'),
        (
            'vcpus=1,ram=512',
            ['trait:HW_CPU_X86_AVX2=required', 'trait:STORAGE_DISK_SSD=forbidden', 'quota:cpu_shares=10'],
            'resources=VCPU:1,MEMORY_MB:512&required=HW_CPU_X86_AVX2,!STORAGE_DISK_SSD',
        ),
        # Baremetal: the flavor's own resources are taken out.
        (
            'vcpus=1,ram=512,disk=1',
            ['resources:CUSTOM_GOLD=1', 'resources:VCPU=0', 'resources:MEMORY_MB=0', 'resources:DISK_GB=0'],
            'resources=CUSTOM_GOLD:1',
        ),
        (
            'vcpus=1,ram=512',
            ['resources1:VGPU=1', 'trait1:CUSTOM_A=required', 'resources2:VGPU=1'],
            'resources=VCPU:1,MEMORY_MB:512&resources1=VGPU:1&required1=CUSTOM_A&resources2=VGPU:1&group_policy=none',
        ),
        (
            'vcpus=1,ram=512',
            ['resources_GPU:VGPU=2', 'group_policy=isolate'],
            'resources=VCPU:1,MEMORY_MB:512&resources_GPU=VGPU:2&group_policy=isolate',
        ),
    ],
)
def test_query(numbers: str, specs: list[str], query: str) -> None:
    pairs = flavor.query_pairs(flavor.parse_flavor(numbers), flavor.parse_extra_specs(specs))
    assert '&'.join(f'{key}={value}' for key, value in pairs) == query + TAIL


@pytest.mark.parametrize(
    'specs',
    [
        ['hw:cpu_policy=some'],
        ['hw:cpu_policy=mixed'],
        ['hw:cpu_policy=mixed', 'hw:cpu_dedicated_mask=a'],
        ['hw:cpu_policy=mixed', f'hw:cpu_dedicated_mask=0-{"9" * 5000}'],
        ['resources:VCPU=many'],
        [f'resources:VCPU={"9" * 5000}'],
        ['trait:HW_CPU_X86_AVX2=true'],
        ['group_policy=all'],
        ['nothing'],
    ],
)
def test_bad_extra_specs(specs: list[str]) -> None:
    with pytest.raises(flavor.FlavorError):
        flavor.query_pairs({'vcpus': 4}, flavor.parse_extra_specs(specs))


@pytest.mark.parametrize('text', ['', 'vcpus', 'vcpus=-1', 'cores=4', 'vcpus=4,,ram=5', f'ram={"9" * 5000}'])
def test_bad_flavors(text: str) -> None:
    with pytest.raises(flavor.FlavorError):
        flavor.parse_flavor(text)
