"""How many examples the property tests take: 300 and always the same ones, or 10,000 new ones at night.

`pytest tests/property` takes the profile ci, `HYPOTHESIS_PROFILE=nightly pytest tests/property` the other one. Whoever
finds a counterexample at night pins it as a case in tests/cases/candidates.yaml.
"""

import os

from hypothesis import settings

settings.register_profile('ci', max_examples=300, deadline=None, derandomize=True)
settings.register_profile('nightly', max_examples=10_000, deadline=None)
settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'ci'))
