"""Feature maps: frozen functions of rows, the same for dense and sparse."""

import dataclasses
from functools import partial

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial.distance as distance
import scipy.special
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import pinvlearn
from matrices import sparse
from pinvlearn.features.activations import ACTIVATIONS
from pinvlearn.features.radial import RADIAL, RadialBasis
from pinvlearn.features.random_layer import Beside, Inputs, RandomLayer, draw_layer

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 4))
METRIC = {"rbf": "sqeuclidean", "laplacian": "cityblock", "exponential": "euclidean"}
MATHEMATICS = {
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: z * (z > 0),
    "sine": np.sin,
    "hardlimit": lambda z: (z >= 0).astype(float),
    "identity": lambda z: z,
}


def test_every_activation_is_compared():
    assert MATHEMATICS.keys() == ACTIVATIONS.keys()
    assert METRIC.keys() == RADIAL.keys()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    Z = np.linspace(-5.0, 5.0, 21)
    np.testing.assert_allclose(ACTIVATIONS[name](Z.copy()), MATHEMATICS[name](Z), atol=1e-15)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_saturate_without_warnings(name):
    assert np.isfinite(ACTIVATIONS[name](np.array([-1e4, 0.0, 1e4]))).all()


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
    np.testing.assert_allclose(H, MATHEMATICS[name](sums), atol=atol)


def test_a_layer_takes_any_function():
    layer = RandomLayer(np.eye(4), np.zeros(4), np.square)
    np.testing.assert_allclose(layer(X), X**2)


@pytest.mark.parametrize("activation", [*ACTIVATIONS, np.arctan])
@pytest.mark.parametrize("n_features", [1, 3, 400])
def test_a_layer_of_many_tiles_is_its_formula(activation, n_features):
    """More units and rows than are made at a time, in rows that do not lie next to each other."""
    rng = np.random.default_rng(2)
    layer = draw_layer(n_features, 2500, activation=activation, rng=rng)
    inputs, out = rng.standard_normal((1030, n_features)), np.full((1030, 2503), np.nan)
    layer.into(inputs, out[:, :2500])
    function = MATHEMATICS.get(activation, activation)
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


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_radial_functions(kernel, dtype):
    C = X[:6]
    H = RadialBasis(C.astype(dtype), 0.3, kernel)(X.astype(dtype))
    assert H.dtype == dtype
    expected = np.exp(-0.3 * distance.cdist(X, C, METRIC[kernel]))
    np.testing.assert_allclose(H, expected, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("forms", [("csr", "csr"), ("csr", "dense"), ("dense", "csr")])
def test_radial_functions_of_sparse_rows(kernel, forms):
    S = sparse(30, 8).toarray()
    rows, centers = (
        scipy.sparse.csr_array(A) if form == "csr" else A
        for A, form in zip((S, S[:6]), forms, strict=True)
    )
    H = RadialBasis(centers, 0.3, kernel)(rows)
    expected = np.exp(-0.3 * distance.cdist(S, S[:6], METRIC[kernel]))
    np.testing.assert_allclose(H, expected, atol=1e-14)


@given(
    shift=st.floats(-1e6, 1e6),
    Z=arrays(float, (5, 3), elements=st.floats(-3, 3)),
)
def test_gaussians_keep_their_digits_far_from_the_origin(shift, Z):
    """‖x‖² - 2x·c + ‖c‖² loses shift²·eps of the exponent; about the mean it loses shift·eps."""
    C = Z[:2] + shift
    H = RadialBasis(C, 0.5)(Z + shift)
    expected = np.exp(-0.5 * distance.cdist(Z + shift, C, "sqeuclidean"))
    np.testing.assert_allclose(H, expected, atol=1e-12)
    assert H.max() <= 1.0 + 1e-12


def test_rows_that_are_centres_give_one():
    H = RadialBasis(X[:6], 100.0)(X[:6])
    np.testing.assert_allclose(np.diagonal(H), 1.0, atol=1e-12)


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


class TestTransformers:
    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    def test_the_same_seed_gives_the_same_map(self, name):
        cls = getattr(pinvlearn, name)
        one, two, other = (cls(5, random_state=seed).fit_transform(X) for seed in (0, 0, 1))
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)
        assert one.shape == (30, 5)

    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("fitted", [np.float32, np.float64])
    def test_the_precision_is_that_of_the_rows(self, name, dtype, fitted):
        model = getattr(pinvlearn, name)(5, random_state=0).fit(X.astype(fitted))
        assert model.transform(X.astype(dtype)).dtype == dtype

    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_in_and_out(self, name, library):
        pl = pytest.importorskip(library)
        frame = pl.DataFrame({name: X[:, i] for i, name in enumerate("abcd")})
        model = getattr(pinvlearn, name)(3, random_state=0).set_output(transform=library)
        out = model.fit_transform(frame)
        assert isinstance(out, pl.DataFrame)
        assert list(out.columns) == [f"{name.lower()}{i}" for i in range(3)]
        assert list(model.feature_names_in_) == list("abcd")
        plain = getattr(pinvlearn, name)(3, random_state=0).fit_transform(X)
        np.testing.assert_allclose(np.asarray(out), plain, rtol=1e-12)
        with pytest.raises(ValueError, match="feature names"):
            model.transform(frame[["b", "a", "c", "d"]])

    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    def test_a_bad_entry_is_named(self, name):
        bad = X.copy()
        bad[2, 3] = np.inf
        with pytest.raises(ValueError, match="infinity.*row 2, column 3"):
            getattr(pinvlearn, name)(3).fit(bad)

    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    def test_a_failed_fit_leaves_it_as_it_was(self, name):
        model = getattr(pinvlearn, name)(3, random_state=0).fit(X)
        before = model.transform(X)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full((3, 2), np.nan))
        assert model.n_features_in_ == 4
        np.testing.assert_array_equal(model.transform(X), before)

    @pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
    def test_widths_are_those_of_scikit_learn(self, gamma):
        expected = {"scale": 1.0 / (4 * X.var()), "auto": 0.25}.get(gamma, gamma)
        for rows in (X, scipy.sparse.csr_array(X)):
            width = pinvlearn.RBFFeatures(5, gamma=gamma, random_state=0).fit(rows).map_.gamma
            assert width == pytest.approx(expected, rel=1e-12)

    def test_constant_rows_have_a_width(self):
        assert pinvlearn.RBFFeatures(2).fit(np.ones((5, 2))).map_.gamma == 1.0

    def test_random_centres_are_different_rows(self):
        centers = pinvlearn.RBFFeatures(20, random_state=0).fit(X).map_.centers
        matches = (centers[:, None] == X[None]).all(axis=2)
        assert (matches.sum(axis=1) == 1).all()
        assert matches.any(axis=0).sum() == 20

    def test_k_means_centres(self):
        groups = np.repeat(np.eye(3) * 50.0, 20, axis=0) + RNG.standard_normal((60, 3)) * 0.1
        centers = (
            pinvlearn.RBFFeatures(3, centers="kmeans", random_state=0).fit(groups).map_.centers
        )
        nearest = distance.cdist(np.eye(3) * 50.0, centers).min(axis=1)
        assert (nearest < 1.0).all()

    def test_given_centres(self):
        model = pinvlearn.RBFFeatures(centers=[[0.0, 0, 0, 0], [1, 1, 1, 1]], gamma=1.0).fit(X)
        np.testing.assert_allclose(
            model.transform(X)[:, 0], np.exp(-(X**2).sum(axis=1)), atol=1e-14
        )

    @pytest.mark.parametrize(
        ("name", "options", "message"),
        [
            ("RandomFeatures", {"n_hidden": 0}, "n_hidden=0"),
            ("RandomFeatures", {"n_hidden": None}, "n_hidden=None"),
            ("RandomFeatures", {"activation": "swish"}, "activation='swish'.*'sigmoid'"),
            ("RandomFeatures", {"weights": "cauchy"}, "weights='cauchy'.*'uniform'"),
            ("RandomFeatures", {"scale": 0.0}, "scale=0.0 must be a finite number above 0"),
            ("RandomFeatures", {"scale": "big"}, "scale='big'"),
            ("RBFFeatures", {"n_kernels": 0}, "n_kernels=0"),
            ("RBFFeatures", {"n_kernels": None}, "n_kernels=None"),
            ("RBFFeatures", {"gamma": "wide"}, "gamma='wide'.*'scale'"),
            ("RBFFeatures", {"gamma": -1.0}, "gamma=-1.0"),
            ("RBFFeatures", {"kernel": "cosine"}, "kernel='cosine'.*'laplacian'"),
            ("RBFFeatures", {"centers": "grid"}, "centers='grid'.*'kmeans'"),
            ("RBFFeatures", {"centers": np.ones((2, 3))}, "3 columns; X has 4"),
            ("RBFFeatures", {"centers": np.full((2, 4), np.nan)}, "centers contains NaN"),
            ("RBFFeatures", {"centers": np.ones(4)}, "centers has 1 dimension"),
        ],
    )  # fmt: skip
    def test_bad_parameters(self, name, options, message):
        with pytest.raises(ValueError, match=message):
            getattr(pinvlearn, name)(**options).fit(X)


def test_dataclass_maps_compare_by_identity():
    assert dataclasses.is_dataclass(RandomLayer)
    layer = draw_layer(4, 3, rng=np.random.default_rng(0))
    assert layer == layer
    assert layer != draw_layer(4, 3, rng=np.random.default_rng(0))
