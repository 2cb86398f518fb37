"""Receptive fields: the formula, and the contract of an estimator whose input is images.

scikit-learn's checks bring tables of any width, which are not images: `ReceptiveFields` says so in
its tags (`two_d_array` is False unless `image_shape` is given), and `test_sklearn.py` leaves it out
for that. The checks that need no data are run here; what the others ask is asked below, of images.
"""

import inspect
import pickle
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags

import pinvlearn
from pinvlearn import ReceptiveFields
from pinvlearn.features import receptive_fields

RNG = np.random.default_rng(0)
IMAGES = RNG.standard_normal((9, 8, 7))
COLOURS = RNG.standard_normal((6, 8, 7, 3))
FLAT = IMAGES.reshape(9, -1)
EPS = float(np.finfo(np.float32).eps)


def by_loops(model, images):
    """The definition, one patch and one window at a time, in float64."""
    images = images.reshape(len(images), *model.image_shape_) / model.map_.unit
    f, m = model.map_.filters.astype(float), model.map_
    down, across = ((side - m.size) // m.stride + 1 for side in model.image_shape_[:2])
    rows, columns, maps = model.grid_
    H = np.zeros((len(images), rows, columns, maps))
    for i, image in enumerate(images):
        Z = np.empty((down, across, f.shape[1]))
        for a in range(down):
            for b in range(across):
                at = slice(a * m.stride, a * m.stride + m.size)
                to = slice(b * m.stride, b * m.stride + m.size)
                p = image[at, to].ravel()
                p = p - p.mean()
                Z[a, b] = p @ f / (1.0 if m.contrast is None else np.sqrt(p.var() + m.contrast))
        R = np.concatenate([np.maximum(Z, 0), np.minimum(Z, 0)], axis=2) if m.two_sided else Z
        for a in range(rows):
            for b in range(columns):
                at = slice(a * m.pool_stride, a * m.pool_stride + m.pool)
                to = slice(b * m.pool_stride, b * m.pool_stride + m.pool)
                H[i, a, b] = np.sqrt(np.square(R[at, to]).sum(axis=(0, 1)))
    return H.reshape(len(images), -1)


@pytest.mark.parametrize("filters", ["pca", "random"])
@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("contrast", [None, 0.1])
@pytest.mark.parametrize(
    ("size", "stride", "pool", "pool_stride"),
    [(3, 1, 2, None), (3, 2, 2, 1), (2, 1, 3, 2), (7, 1, 1, None), (3, 1, 50, None), (4, 3, 1, 1)],
)
def test_the_definition(filters, two_sided, contrast, size, stride, pool, pool_stride):
    model = ReceptiveFields(
        3, size=size, stride=stride, filters=filters, pool=pool, pool_stride=pool_stride,
        two_sided=two_sided, contrast=contrast, random_state=0,
    ).fit(IMAGES)  # fmt: skip
    H = model.transform(IMAGES)
    assert H.shape == (9, np.prod(model.grid_))
    # Sums of size² products, then of pool² squares, in single precision.
    atol = EPS * (size**2 + min(pool, 8) ** 2) * np.abs(H).max()
    np.testing.assert_allclose(H, by_loops(model, IMAGES), atol=atol)


def test_the_definition_with_channels():
    model = ReceptiveFields(5, size=3, pool=2, contrast=0.2, random_state=0).fit(COLOURS)
    H = model.transform(COLOURS)
    np.testing.assert_allclose(H, by_loops(model, COLOURS), atol=100 * EPS * H.max())
    assert model.filters_.shape == (5, 3, 3, 3)
    assert model.image_shape_ == (8, 7, 3)


@given(length=st.integers(1, 30), pool=st.integers(1, 12), stride=st.integers(1, 12))
def test_windows_cover_every_patch_that_strides_reach(length, pool, stride):
    sums = receptive_fields._window_sums(length, pool, stride)
    starts = np.argmax(sums, axis=1)
    np.testing.assert_array_equal(starts, stride * np.arange(len(sums)))
    assert (sums.sum(axis=1)[:-1] == pool).all()
    assert sums[-1].sum() >= 1
    if stride <= pool:
        assert sums.any(axis=0).all()


class TestFilters:
    @pytest.mark.parametrize("filters", ["pca", "random"])
    def test_orthonormal_and_without_mean(self, filters):
        f = ReceptiveFields(8, size=3, filters=filters, random_state=0).fit(IMAGES).map_.filters
        np.testing.assert_allclose(f.T @ f, np.eye(8), atol=20 * EPS)
        np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=20 * EPS)

    def test_more_random_filters_than_directions(self):
        model = ReceptiveFields(20, size=3, filters="random", random_state=0).fit(IMAGES)
        f = model.map_.filters
        for start in (0, 8, 16):
            block = f[:, start : start + 8]
            np.testing.assert_allclose(block.T @ block, np.eye(block.shape[1]), atol=20 * EPS)
        np.testing.assert_allclose(f.sum(axis=0), 0.0, atol=20 * EPS)

    def test_pca_finds_what_patches_are_made_of(self):
        """Images of stripes vary in two directions; the first two filters are in their span."""
        phase = RNG.uniform(0, 2 * np.pi, 200)[:, None, None]
        stripes = np.sin(np.arange(8) * 2 * np.pi / 4 + phase) * np.ones((1, 8, 1))
        f = ReceptiveFields(2, size=4, random_state=0).fit(stripes).filters_.reshape(2, -1)
        waves = np.stack([np.tile(np.sin(np.arange(4) * np.pi / 2 + s), 4) for s in (0, np.pi / 2)])
        inside = f @ np.linalg.pinv(waves) @ waves
        np.testing.assert_allclose(inside, f, atol=1e-5)

    @pytest.mark.parametrize("shape", [(2, 3, 3), (2, 3, 3, 1)])
    def test_given_filters(self, shape):
        given_filters = RNG.standard_normal(shape)
        model = ReceptiveFields(size=3, filters=given_filters, pool=2).fit(IMAGES)
        flat = given_filters.reshape(2, 9)
        expected = (flat - flat.mean(axis=1, keepdims=True)).reshape(2, 3, 3)
        np.testing.assert_allclose(model.filters_, expected, atol=10 * EPS)
        assert model.grid_ == (3, 3, 4)

    def test_constant_images(self):
        model = ReceptiveFields(4, size=3, random_state=0).fit(np.full((3, 6, 6), 7))
        assert not model.transform(np.full((2, 6, 6), 7)).any()


class TestInvariance:
    @pytest.mark.parametrize("factor", [1e-200, 1e-3, 255.0, 1e30, 1e300])
    def test_the_unit_of_the_pixels_does_not_matter(self, factor):
        options = {"size": 3, "pool": 2, "contrast": 0.1, "random_state": 0}
        one = ReceptiveFields(4, **options).fit_transform(IMAGES)
        other = ReceptiveFields(4, **options).fit_transform(IMAGES * factor)
        np.testing.assert_allclose(other, one, atol=100 * EPS * one.max())

    def test_brightness_does_not_matter(self):
        model = ReceptiveFields(4, size=3, pool=2, random_state=0).fit(IMAGES)
        H = model.transform(IMAGES)
        brighter = model.transform(IMAGES + 1e6)
        # Adding 1e6 leaves eps·1e6 of the pixels in double precision; the mean goes before float32.
        np.testing.assert_allclose(brighter, H, atol=100 * EPS * H.max())

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, bool])
    def test_number_types(self, dtype):
        pixels = (np.abs(IMAGES) * 40).astype(np.uint8)
        pixels = pixels > 20 if dtype is bool else pixels
        model = ReceptiveFields(4, size=3, random_state=0).fit(pixels.astype(dtype))
        same = ReceptiveFields(4, size=3, random_state=0).fit(pixels.astype(float))
        H = model.transform(pixels.astype(dtype))
        assert H.dtype == np.float32
        np.testing.assert_allclose(H, same.transform(pixels.astype(float)), atol=20 * EPS * H.max())


class TestContract:
    MODEL = ReceptiveFields(4, size=3, pool=2, random_state=0)

    @pytest.mark.parametrize(
        "check",
        [
            "check_no_attributes_set_in_init",
            "check_get_params_invariance",
            "check_set_params",
            "check_estimator_cloneable",
            "check_estimator_repr",
            "check_mixin_order",
            "check_do_not_raise_errors_in_init_or_set_params",
            "check_parameters_default_constructible",
            "check_valid_tag_types",
            "check_estimator_tags_renamed",
        ],
    )
    def test_scikit_learns_checks_without_data(self, check):
        getattr(estimator_checks, check)("ReceptiveFields", clone(self.MODEL))

    def test_parameters_are_documented(self):
        for name in ReceptiveFields().get_params():
            assert re.search(rf"^{name} : ", inspect.getdoc(ReceptiveFields), re.MULTILINE), name

    def test_tags_say_what_it_takes(self):
        images, rows = get_tags(ReceptiveFields()), get_tags(ReceptiveFields(image_shape=(8, 7)))
        assert images.input_tags.three_d_array
        assert not images.input_tags.two_d_array
        assert rows.input_tags.two_d_array
        assert not rows.input_tags.sparse

    def test_fit_returns_self_and_leaves_parameters_and_images_alone(self):
        model, images = clone(self.MODEL), IMAGES.copy()
        before = model.get_params()
        assert model.fit(images) is model
        model.transform(images)
        assert model.get_params() == before
        np.testing.assert_array_equal(images, IMAGES)
        assert model.n_features_in_ == 56

    def test_read_only_images(self):
        images = IMAGES.copy()
        images.flags.writeable = False
        assert clone(self.MODEL).fit_transform(images).shape[0] == 9

    def test_fit_transform_is_fit_then_transform(self):
        np.testing.assert_array_equal(
            clone(self.MODEL).fit_transform(IMAGES), clone(self.MODEL).fit(IMAGES).transform(IMAGES)
        )

    def test_the_same_seed_gives_the_same_features(self):
        model = clone(self.MODEL).set_params(filters="random")
        one, two = model.fit_transform(IMAGES), clone(model).fit_transform(IMAGES)
        np.testing.assert_array_equal(one, two)
        other = clone(model).set_params(random_state=1).fit_transform(IMAGES)
        assert not np.array_equal(one, other)

    def test_images_are_transformed_one_by_one(self):
        model = clone(self.MODEL).fit(IMAGES)
        whole = model.transform(IMAGES)
        alone = np.vstack([model.transform(image[None]) for image in IMAGES])
        np.testing.assert_allclose(alone, whole, atol=20 * EPS * whole.max())

    def test_flat_rows_are_the_same_images(self):
        images = clone(self.MODEL).fit(IMAGES)
        rows = clone(self.MODEL).set_params(image_shape=(8, 7)).fit(FLAT)
        expected = images.transform(IMAGES)
        for model in (images, rows):
            for X in (IMAGES, FLAT, IMAGES[..., None], FLAT.tolist()):
                np.testing.assert_array_equal(model.transform(X), expected)

    @pytest.mark.parametrize("n_jobs", [1, 2, -1])
    def test_threads_and_tiles_do_not_change_it(self, n_jobs, monkeypatch):
        whole = clone(self.MODEL).fit_transform(IMAGES)
        monkeypatch.setattr(receptive_fields, "TILE_BYTES", 4000)
        model = clone(self.MODEL).set_params(n_jobs=n_jobs)
        tiled = model.fit_transform(IMAGES)
        assert model.map_.tile < 9
        np.testing.assert_allclose(tiled, whole, atol=20 * EPS * whole.max())

    def test_memory_of_a_tile_is_bounded(self):
        model = ReceptiveFields(8, size=7, random_state=0).fit(RNG.random((2, 28, 28)))
        assert 1 <= model.map_.tile * 22 * 22 * 49 * 4 <= receptive_fields.TILE_BYTES

    def test_pickle_and_file(self, tmp_path):
        model = clone(self.MODEL).fit(IMAGES)
        expected = model.transform(IMAGES)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(IMAGES), expected)
        pinvlearn.save(model, tmp_path / "fields.skops")
        again = pinvlearn.load(tmp_path / "fields.skops")
        np.testing.assert_array_equal(again.transform(IMAGES), expected)
        assert again.grid_ == model.grid_

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames(self, library):
        frames = pytest.importorskip(library)
        model = clone(self.MODEL).set_output(transform=library).fit(IMAGES)
        out = model.transform(IMAGES)
        assert isinstance(out, frames.DataFrame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert list(out.columns)[:2] == ["receptivefields0", "receptivefields1"]
        frame = frames.DataFrame({f"p{i}": FLAT[:, i] for i in range(56)})
        rows = clone(self.MODEL).set_params(image_shape=(8, 7)).fit(frame)
        assert list(rows.feature_names_in_) == list(frame.columns)
        np.testing.assert_array_equal(rows.transform(frame), np.asarray(out))
        with pytest.raises(ValueError, match="feature names"):
            rows.transform(frame[frame.columns[::-1]])

    def test_before_fit(self):
        with pytest.raises(NotFittedError):
            ReceptiveFields().transform(IMAGES)

    @pytest.mark.parametrize(
        ("X", "error", "message"),
        [
            (FLAT, ValueError, r"flat rows\. Give image_shape"),
            (IMAGES[0, 0], ValueError, "1 dimension"),
            (np.ones((2, 3, 4, 5, 6)), ValueError, "5 dimension"),
            (IMAGES[:0], ValueError, "empty"),
            (IMAGES[:, :, :0], ValueError, "empty"),
            (np.where(IMAGES > 2, np.nan, IMAGES), ValueError, "X contains NaN, first in row"),
            (IMAGES * 1j, TypeError, "complex"),
            (np.full((2, 4, 4), "a"), TypeError, "real numbers"),
            (scipy.sparse.csr_array(FLAT), TypeError, "toarray"),
            (IMAGES[:, :2], ValueError, "size=3 exceeds the images, which are 2 × 7"),
        ],
    )  # fmt: skip
    def test_bad_images(self, X, error, message):
        model = clone(self.MODEL).fit(IMAGES)
        before = model.map_
        with pytest.raises(error, match=message):
            model.fit(X)
        assert model.map_ is before

    def test_other_images_than_in_fit(self):
        model = clone(self.MODEL).fit(IMAGES)
        with pytest.raises(ValueError, match=r"shape \(7, 8, 1\); \(8, 7, 1\) is expected"):
            model.transform(IMAGES.transpose(0, 2, 1))
        with pytest.raises(ValueError, match="X has 55 features.*have 56"):
            model.transform(FLAT[:, 1:])

    def test_images_on_another_scale_than_in_fit(self):
        model = clone(self.MODEL).fit(IMAGES)
        with pytest.raises(ValueError, match="Image 1 is too far beyond.*Scale all images alike"):
            model.transform(IMAGES * np.array([1.0, 1e30, *[1.0] * 7])[:, None, None])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"n_filters": 0}, "n_filters=0"),
            ({"n_filters": 9}, "vary in 8 directions"),
            ({"size": 0}, "size=0"),
            ({"size": 2.5}, "size=2.5"),
            ({"size": 1}, "one pixel"),
            ({"stride": 0}, "stride=0"),
            ({"pool": 0}, "pool=0"),
            ({"pool_stride": -1}, "pool_stride=-1"),
            ({"contrast": -0.1}, "contrast=-0.1"),
            ({"filters": "gabor"}, "filters='gabor'.*'pca', 'random'"),
            ({"filters": np.ones((2, 4, 4))}, r"must be \(n_filters, 3, 3\)"),
            ({"filters": np.full((2, 3, 3), np.nan)}, "filters contains NaN"),
            ({"image_shape": (7, 8)}, r"\(7, 8, 1\) is expected"),
            ({"image_shape": 56}, "image_shape=56"),
            ({"image_shape": (8, 0)}, "image_shape"),
        ],
    )
    def test_bad_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            clone(self.MODEL).set_params(**options).fit(IMAGES)

    def test_in_a_pipeline_it_beats_the_pixels(self):
        digits = load_digits()
        X, y = digits.data, digits.target
        net = pinvlearn.RBFNetworkClassifier(300, alpha=1e-6, loo_scoring=None, random_state=0)
        fields = ReceptiveFields(
            8, size=3, pool=3, pool_stride=2, image_shape=(8, 8), random_state=0
        )
        plain = make_pipeline(StandardScaler(), clone(net)).fit(X[:900], y[:900])
        local = make_pipeline(fields, StandardScaler(), clone(net)).fit(X[:900], y[:900])
        assert local.score(X[900:], y[900:]) > plain.score(X[900:], y[900:])

    def test_as_the_features_of_a_learner(self):
        digits = load_digits()
        fields = ReceptiveFields(8, size=3, pool=2, image_shape=(8, 8), random_state=0)
        model = pinvlearn.PinvClassifier(fields, random_state=0)
        model.fit(digits.data[:500], digits.target[:500])
        assert model.score(digits.data[500:], digits.target[500:]) > 0.9
