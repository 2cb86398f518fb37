"""Shared fixtures and the settings of hypothesis."""

import numpy as np
import pytest
from hypothesis import settings

# Few examples, always the same ones: a failure here must fail for everybody.
settings.register_profile("pinvlearn", max_examples=25, deadline=None, derandomize=True)
settings.load_profile("pinvlearn")


@pytest.fixture
def rng():
    return np.random.default_rng(0)
