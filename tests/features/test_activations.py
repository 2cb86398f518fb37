"""Activations are their formulas, also where they saturate."""

import numpy as np
import pytest

from oracles import ACTIVATION_FORMULAS
from pinvlearn.features.activations import ACTIVATIONS


def test_every_activation_is_compared():
    assert ACTIVATION_FORMULAS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    Z = np.linspace(-5.0, 5.0, 21)
    np.testing.assert_allclose(
        ACTIVATIONS[name](Z.copy()), ACTIVATION_FORMULAS[name](Z), atol=1e-15
    )


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_saturate_without_warnings(name):
    assert np.isfinite(ACTIVATIONS[name](np.array([-1e4, 0.0, 1e4]))).all()
