"""The query that nova sends for a flavor (nova.scheduler.utils, `resources_for_limits` and the translation of extra
specs), for `placement-manage explain --flavor` and `forecast`. Pure.

What nova takes from the image, from ports and from cyborg's device profiles is not in a flavor and not here.
"""

import re
from collections.abc import Mapping

# A key of extra specs: resources:VCPU, resources1:VCPU, trait_GPU:HW_NUMA_ROOT.
_SPEC = re.compile(r'^(resources|trait)([a-zA-Z0-9_-]{0,64}):(.+)$')
# No database has larger numbers.
_NUMBER = re.compile('[0-9]{1,18}')
_CPUS = re.compile(rf'(\^?)({_NUMBER.pattern})(?:-({_NUMBER.pattern}))?')
_NUMBERS = ('vcpus', 'ram', 'disk', 'ephemeral', 'swap')
# Nova keeps servers from hosts whose compute service is disabled.
_ENABLED = '!COMPUTE_STATUS_DISABLED'


class FlavorError(Exception):
    """A flavor or extra spec that cannot be translated; `str()` is one sentence."""


def parse_flavor(text: str) -> dict[str, int]:
    """`vcpus=4,ram=8192,disk=40[,ephemeral=…][,swap=…]` as numbers by name: ram and swap in MB, disks in GB.

    :raises FlavorError: an unknown name, or no number
    """
    numbers: dict[str, int] = {}
    for piece in text.split(','):
        name, _, value = piece.strip().partition('=')
        if name not in _NUMBERS or not _NUMBER.fullmatch(value):
            raise FlavorError(
                f'--flavor {text!r}: {piece!r} is not one of {", ".join(_NUMBERS)} with a whole number, '
                'as in vcpus=4,ram=8192,disk=40'
            )
        numbers[name] = int(value)
    return numbers


def parse_extra_specs(texts: list[str]) -> dict[str, str]:
    """`key=value` texts as a mapping. Raises FlavorError."""
    specs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition('=')
        if not key or not equals:
            raise FlavorError(f'--extra-spec {text!r} is not of the form KEY=VALUE')
        specs[key.strip()] = value.strip()
    return specs


def query_pairs(flavor: Mapping[str, int], specs: Mapping[str, str]) -> list[tuple[str, str]]:
    """The parameters of GET /allocation_candidates for a flavor (as `parse_flavor` gives it) and its extra specs.

    :raises FlavorError: an extra spec with a bad value
    """
    resources: dict[str, dict[str, int]] = {'': _own_resources(flavor, specs)}
    traits: dict[str, list[str]] = {'': _thread_policy(specs)}
    for key, value in specs.items():
        match = _SPEC.match(key)
        if match is None:
            continue
        kind, suffix, name = match.groups()
        if kind == 'resources':
            if not _NUMBER.fullmatch(value):
                raise FlavorError(f'extra spec {key}={value}: the amount is not a whole number')
            resources.setdefault(suffix, {})[name] = int(value)
        elif value not in ('required', 'forbidden'):
            raise FlavorError(f'extra spec {key}={value}: the value of a trait is required or forbidden')
        else:
            traits.setdefault(suffix, []).append(name if value == 'required' else f'!{name}')
    pairs: list[tuple[str, str]] = []
    for suffix in dict.fromkeys([*resources, *traits]):
        # An amount of 0 takes a class out of the request.
        amounts = [f'{name}:{amount}' for name, amount in resources.get(suffix, {}).items() if amount]
        pairs += [(f'resources{suffix}', ','.join(amounts))] if amounts else []
        pairs += [(f'required{suffix}', ','.join(traits[suffix]))] if traits.get(suffix) else []
    if policy := _group_policy(specs, sum(key.startswith('resources') and key != 'resources' for key, _ in pairs)):
        pairs.append(('group_policy', policy))
    return [*pairs, ('root_required', _ENABLED)]


def _own_resources(flavor: Mapping[str, int], specs: Mapping[str, str]) -> dict[str, int]:
    """What the flavor itself asks for, by class."""
    vcpus = flavor.get('vcpus', 0)
    pinned = _pinned(vcpus, specs)
    # Swap is in MB and takes whole GB of the disk.
    disk = flavor.get('disk', 0) + flavor.get('ephemeral', 0) + -(-flavor.get('swap', 0) // 1024)
    return {
        'PCPU': pinned + (1 if pinned and specs.get('hw:emulator_threads_policy') == 'isolate' else 0),
        'VCPU': vcpus - pinned,
        'MEMORY_MB': flavor.get('ram', 0),
        'DISK_GB': disk,
        'MEM_ENCRYPTION_CONTEXT': int(specs.get('hw:mem_encryption', '').lower() in ('true', '1', 'yes', 'on')),
    }


def _pinned(vcpus: int, specs: Mapping[str, str]) -> int:
    """How many of the CPUs are dedicated to the server."""
    policy = specs.get('hw:cpu_policy', 'shared')
    if policy not in ('shared', 'dedicated', 'mixed'):
        raise FlavorError(f'extra spec hw:cpu_policy={policy}: it is shared, dedicated or mixed')
    if policy == 'mixed':
        return len(_cpus(specs.get('hw:cpu_dedicated_mask', ''), vcpus))
    return vcpus if policy == 'dedicated' else 0


def _cpus(mask: str, vcpus: int) -> set[int]:
    """The CPUs of a mask: `0-3,^1` are 0, 2 and 3; a mask of exclusions alone starts from all."""
    chosen: set[int] = set()
    excluded: set[int] = set()
    pieces = [piece.strip() for piece in mask.split(',')]
    for piece in pieces:
        match = _CPUS.fullmatch(piece)
        if match is None:
            raise FlavorError(f'extra spec hw:cpu_dedicated_mask={mask}: {piece!r} is not a CPU or a range of CPUs')
        first = int(match[2])
        last = min(int(match[3] or first), max(first, vcpus))
        (excluded if match[1] else chosen).update(range(first, last + 1))
    return ((chosen or set(range(vcpus))) - excluded) & set(range(vcpus))


def _thread_policy(specs: Mapping[str, str]) -> list[str]:
    """What hw:cpu_thread_policy asks of a host for dedicated CPUs."""
    if specs.get('hw:cpu_policy') not in ('dedicated', 'mixed'):
        return []
    traits = {'isolate': ['!HW_CPU_HYPERTHREADING'], 'require': ['HW_CPU_HYPERTHREADING']}
    return traits.get(specs.get('hw:cpu_thread_policy', ''), [])


def _group_policy(specs: Mapping[str, str], granular: int) -> str | None:
    """What the flavor says, else none, as nova takes it for several groups."""
    policy = specs.get('group_policy')
    if policy not in (None, 'none', 'isolate'):
        raise FlavorError(f'extra spec group_policy={policy}: it is none or isolate')
    return policy or ('none' if granular > 1 else None)
