"""Feature maps: frozen functions of rows, the same for dense and sparse."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import scipy.sparse
import scipy.special

from matrices import sparse
from oracles import ACTIVATION_FORMULAS
from pinvlearn.features.activations import ACTIVATIONS
from pinvlearn.features.radial import RadialBasis
from pinvlearn.features.random_layer import Beside, Inputs, RandomLayer, draw_layer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_layer_is_its_formula(name, dtype):
    layer = draw_layer(4, 7, activation=name, rng=np.random.default_rng(1))
    H = layer(X.astype(dtype))
    assert layer.n_columns == 7
    assert H.dtype == dtype
    atol = 20 * np.finfo(dtype).eps
    sums = X @ layer.W + layer.b
    if name == "hardlimit":
        sums[np.abs(sums) < 1e-5] = 0.0
    np.testing.assert_allclose(H, ACTIVATION_FORMULAS[name](sums), atol=atol)


def test_a_layer_takes_any_function():
    layer = RandomLayer(np.eye(4), np.zeros(4), np.square)
    np.testing.assert_allclose(layer(X), X**2)


@pytest.mark.parametrize(
    ("activation", "n_features"),
    [("sigmoid", 1), ("sigmoid", 400), *((name, 3) for name in [*ACTIVATIONS, np.arctan])],
)
@pytest.mark.sweep
def test_a_layer_of_many_tiles_is_its_formula(activation, n_features):
    """More units and rows than are made at a time, in rows that do not lie next to each other."""
    rng = np.random.default_rng(2)
    layer = draw_layer(n_features, 2500, activation=activation, rng=rng)
    inputs, out = rng.standard_normal((1030, n_features)), np.full((1030, 2503), np.nan)
    layer.into(inputs, out[:, :2500])
    function = ACTIVATION_FORMULAS.get(activation, activation)
    np.testing.assert_allclose(out[:, :2500], function(inputs @ layer.W + layer.b), atol=1e-13)
    assert np.isnan(out[:, 2500:]).all()


def test_own_functions_are_given_whole_rows():
    layer = draw_layer(
        3, 2500, activation=partial(scipy.special.softmax, axis=1), rng=np.random.default_rng(0)
    )
    inputs = np.random.default_rng(1).standard_normal((40, 3))
    np.testing.assert_allclose(layer(inputs).sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_inputs_are_left_alone(name):
    """Activations work in place, but not on what the caller owns."""
    layer = RandomLayer(np.eye(4), np.zeros(4), name)
    before = X.copy()
    layer(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_sparse_rows_are_not_densified(name, monkeypatch):
    S = sparse(30, 4)
    layer = draw_layer(4, 7, activation=name, rng=np.random.default_rng(1))
    expected = layer(S.toarray())
    monkeypatch.setattr(type(S), "toarray", None)
    H = layer(S)
    assert isinstance(H, np.ndarray)
    np.testing.assert_allclose(H, expected, atol=1e-13)


@pytest.mark.parametrize("weights", ["gaussian", "uniform"])
@pytest.mark.parametrize("scale", [0.1, 1.0, 3.0])
def test_sums_have_variance_scale_squared(weights, scale):
    """W gives one, b gives one: on standardised inputs 2·scale², to four standard errors."""
    n = 40_000
    layer = draw_layer(50, n, weights=weights, scale=scale, rng=np.random.default_rng(0))
    assert layer.W.var() * 50 == pytest.approx(scale**2, rel=4 * np.sqrt(2 / (50 * n)))
    assert layer.b.var() == pytest.approx(scale**2, rel=4 * np.sqrt(2 / n))
    if weights == "uniform":
        assert np.abs(layer.b).max() <= np.sqrt(3.0) * scale


def test_inputs_and_beside():
    assert Inputs(4)(X) is X
    layer = draw_layer(4, 7, rng=np.random.default_rng(1))
    both = Beside(layer, 4)
    assert both.n_columns == 11
    np.testing.assert_array_equal(both(X), np.hstack([layer(X), X]))
    S = sparse(30, 4)
    np.testing.assert_allclose(both(S), both(S.toarray()), atol=1e-13)


@pytest.mark.parametrize("cls", [RandomLayer, RadialBasis, Inputs, Beside])
def test_maps_are_frozen(cls):
    assert cls.__dataclass_params__.frozen


def test_dataclass_maps_compare_by_identity():
    assert dataclasses.is_dataclass(RandomLayer)
    layer = draw_layer(4, 3, rng=np.random.default_rng(0))
    assert layer == layer
    assert layer != draw_layer(4, 3, rng=np.random.default_rng(0))
