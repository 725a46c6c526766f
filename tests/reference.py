"""The reference (openstack-placement) as a test peer: installed in an environment of its own, run, never imported.

Tests take the fixture `reference_python` of conftest.py, which skips where the reference cannot be had, and start it
with `live.serve(..., python=reference_python)`.
"""

from tests.environments import Environment, Unavailable

__all__ = ['OVERRIDE', 'Unavailable', 'python']

# A virtual environment that has it already.
OVERRIDE = 'PLACEMENT_REFERENCE_VENV'

_ENVIRONMENT = Environment('reference', ('openstack-placement==16.0.0', 'gunicorn', 'PyMySQL'), OVERRIDE)


def python() -> str:
    """The interpreter of the environment, which is made at the first call (a minute). Raises Unavailable."""
    return str(_ENVIRONMENT.bin() / 'python')
