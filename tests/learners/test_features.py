"""RandomFeatures and RBFFeatures: maps as transformers."""

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial.distance as distance
import scipy.special

import pinvlearn
from threads import blas_limited_to, blas_limits

RNG = np.random.default_rng(0)


X = RNG.standard_normal((30, 4))


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


class TestThreads:
    """Waiting for BLAS's threads took a hundred times as long as the features, beside others."""

    @pytest.mark.parametrize("rows", [30, 4000])
    def test_blas_has_one_while_features_are_made(self, rows):
        seen = []

        def watching(sums):
            seen.append(blas_limits())
            return np.tanh(sums)

        many = RNG.standard_normal((rows, 4))
        model = pinvlearn.RandomFeatures(300, activation=watching, random_state=0).fit(many)
        with blas_limited_to(2):
            model.transform(many)
            assert seen
            assert all(limits == {1} for limits in seen)
            assert blas_limits() == {2}

    @pytest.mark.parametrize("name", ["RandomFeatures", "RBFFeatures"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_many_rows_are_the_same_on_any_number_of_threads(self, name, dtype):
        many = RNG.standard_normal((4001, 4)).astype(dtype)
        model = getattr(pinvlearn, name)(300, random_state=0).fit(many)
        found = []
        for count in (1, 2):
            with blas_limited_to(count):
                found.append(model.transform(many))
        np.testing.assert_array_equal(found[0], found[1])
        expected = np.vstack([model.transform(part) for part in np.array_split(many, 40)])
        np.testing.assert_allclose(found[0], expected, atol=30 * np.finfo(dtype).eps)
