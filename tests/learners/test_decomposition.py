"""FastPCA and FastTruncatedSVD: against dense oracles, in pieces, and at the edges."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_low_rank_matrix
from sklearn.decomposition import PCA, TruncatedSVD

import pinvlearn
from pinvlearn import Energy, FastPCA, FastTruncatedSVD, FlatGradient, Rank, Tolerance
from pinvlearn.linalg.principal import likely_rank

EPS = np.finfo(np.float64).eps
DIGITS = load_digits().data
SOLVERS = ["gram", "exact", "block-krylov", "randomized", "arpack"]
BOTH = pytest.mark.parametrize("cls", [FastPCA, FastTruncatedSVD])
PCA_ATTRIBUTES = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
)
SVD_ATTRIBUTES = PCA_ATTRIBUTES[:4]


def attributes(model):
    return PCA_ATTRIBUTES if isinstance(model, FastPCA) else SVD_ATTRIBUTES


def in_pieces(model, X, cuts):
    for piece in np.split(X, cuts):
        if len(piece):
            model.partial_fit(piece)
    return model


def assert_same_fit(one, other, rtol=1e-7, atol=1e-9):
    for name in attributes(one):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=rtol, atol=atol, err_msg=name
        )


@pytest.mark.parametrize("shape", [(150, 40), (40, 150), (60, 60)])
def test_pca_is_scikit_learns(shape):
    X = make_low_rank_matrix(*shape, effective_rank=8, random_state=0) + 3.0
    theirs, ours = PCA(5, svd_solver="full").fit(X), FastPCA(5).fit(X)
    for name in PCA_ATTRIBUTES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-10)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-10)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-6)
    assert ours.n_samples_, ours.n_features_in_ == shape


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_truncated_svd_is_scikit_learns(kind):
    X = scipy.sparse.random_array((150, 60), density=0.2, rng=0, format="csr")
    X = X.toarray() if kind == "dense" else X
    theirs, ours = TruncatedSVD(5, algorithm="arpack").fit(X), FastTruncatedSVD(5).fit(X)
    for name in SVD_ATTRIBUTES:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-10)
    np.testing.assert_allclose(
        ours.inverse_transform(ours.transform(X))[:3].sum(),
        theirs.inverse_transform(theirs.transform(X))[:3].sum(),
    )


@BOTH
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(200, 50), (50, 200)])
def test_sparse_rows_give_what_dense_rows_give(cls, solver, shape):
    X = scipy.sparse.random_array(shape, density=0.1, rng=1, format="csc")
    option = {"algorithm" if cls is FastTruncatedSVD else "svd_solver": solver}
    model = cls(4, random_state=0, **option)
    assert_same_fit(clone(model).fit(X), clone(model).fit(X.toarray()))
    output = model.fit_transform(X)
    np.testing.assert_allclose(output, model.transform(X.toarray()), atol=1e-12)


@BOTH
@pytest.mark.parametrize(
    ("solver", "n_components"),
    [("block-krylov", 3), ("randomized", 3), ("arpack", 3), ("auto", Energy(0.3)), ("auto", 3)],
)
def test_sparse_rows_are_not_made_dense(cls, solver, n_components, monkeypatch):
    X = scipy.sparse.random_array((1200, 1500), density=2e-3, rng=0, format="csr")

    def refuse(*_):
        raise AssertionError("the rows were made dense")

    monkeypatch.setattr(scipy.sparse.csr_array, "toarray", refuse)
    monkeypatch.setattr(scipy.sparse.csc_array, "toarray", refuse)
    option = {"algorithm" if cls is FastTruncatedSVD else "svd_solver": solver}
    model = cls(n_components, random_state=0, **option).fit(X)
    assert model.transform(X).shape == (1200, model.n_components_)
    if solver == "auto" and n_components == 3:
        assert model.report_.method == "block-krylov"
        assert "few" in model.report_.reason


@BOTH
@pytest.mark.parametrize("n_components", [3, 0.8, Energy(0.9)])
def test_fit_transform_is_fit_and_transform_to_the_bit(cls, n_components):
    model = cls(n_components, random_state=0)
    np.testing.assert_array_equal(
        model.fit_transform(DIGITS), clone(model).fit(DIGITS).transform(DIGITS)
    )


@BOTH
@given(st.lists(st.integers(0, 150), max_size=8), st.sampled_from([0.0, 1e5]))
def test_pieces_do_not_matter(cls, cuts, offset):
    offset = offset if cls is FastPCA else offset / 1e3  # not centred, so it takes digits
    X = load_iris().data + offset
    whole = cls(3).fit(X)
    pieces = in_pieces(cls(3), X, sorted(cuts))
    assert pieces.n_samples_ == 150
    # Rounding of the data's own size, over the smallest gap between the variances.
    assert_same_fit(pieces, whole, rtol=1e-7, atol=150 * EPS * (1.0 + offset) * 100)


@BOTH
def test_single_rows_and_sparse_pieces(cls):
    X = scipy.sparse.random_array((60, 12), density=0.3, rng=2, format="csr")
    model = cls(3)
    for i in range(60):
        model.partial_fit(X[[i]])
        assert model.components_.shape == (min(i + 1, 3), 12)
    assert "rows have been seen" not in str(model.report_)
    assert_same_fit(model, cls(3).fit(X))
    first = cls(3).partial_fit(X[[0]])
    assert "3 components were asked for, 1 rows have been seen" in str(first.report_)
    assert np.isfinite(first.transform(X)).all()


@BOTH
@pytest.mark.parametrize(
    "n_components", [0.9, Rank(4), Tolerance(0.1, relative=True), Energy(0.95), None]
)
def test_every_kind_of_n_components_works_in_pieces(cls, n_components):
    model = in_pieces(cls(n_components, random_state=0), DIGITS[:300], [50, 120])
    whole = cls(n_components, random_state=0).fit(DIGITS[:300])
    if callable(n_components):
        assert abs(model.n_components_ - whole.n_components_) <= 5  # other samples, same law
    else:
        assert model.n_components_ == whole.n_components_
    same = min(model.n_components_, whole.n_components_, 4)
    np.testing.assert_allclose(
        model.explained_variance_ratio_[:same], whole.explained_variance_ratio_[:same], rtol=0.05
    )


def test_pieces_resolve_variances_not_tiny_values(rng):
    """What the docstring says of partial_fit: values below 1e-8 of the largest are lost."""
    Q = np.linalg.qr(rng.standard_normal((100, 3)))[0]
    X = (Q - Q.mean(axis=0)) * [1.0, 1e-5, 1e-12]
    exact = FastPCA(svd_solver="exact").fit(X).singular_values_
    found = FastPCA().partial_fit(X)
    np.testing.assert_allclose(found.singular_values_[:2], exact[:2], rtol=1e-4)
    assert found.singular_values_[2] < 1e-7
    assert "not resolved" in str(found.report_)
    np.testing.assert_allclose(found.explained_variance_, exact**2 / 99, atol=100 * EPS)


@BOTH
def test_partial_fit_says_what_it_cannot_do(cls, rng):
    X = rng.standard_normal((20, 4))
    fitted = cls(2).fit(X)
    with pytest.raises(AttributeError) as raised:
        fitted.partial_fit(X)
    assert "keeps no summary" in str(raised.value.__cause__)
    solver = "algorithm" if cls is FastTruncatedSVD else "svd_solver"
    with pytest.raises(ValueError, match="all rows at once"):
        cls(2, **{solver: "arpack"}).partial_fit(X)
    with pytest.raises(ValueError, match="n_features² numbers"):
        cls(2).partial_fit(scipy.sparse.random_array((5, 20_000), density=1e-3))
    with pytest.raises(ValueError, match="between"):
        cls(5).partial_fit(X)
    with pytest.raises(ValueError, match="squares of X overflow"):
        cls(2).partial_fit(X * 1e200)
    model = cls(2).partial_fit(X)
    before = model.components_
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X * np.nan)
    assert model.n_samples_ == 20
    assert model.components_ is before
    assert model.fit(X[:9]).n_samples_ == 9  # fit starts over
    assert not hasattr(model, "summary_")


@BOTH
def test_a_model_in_pieces_is_copied_pickled_and_saved_before_it_is_solved(cls, tmp_path):
    model = in_pieces(cls(2), DIGITS[:99], [50])
    assert "components_" not in vars(model)
    again = pickle.loads(pickle.dumps(model))
    pinvlearn.save(model, tmp_path / "model.skops")
    loaded = pinvlearn.load(tmp_path / "model.skops")
    for copy in (again, loaded):
        copy.partial_fit(DIGITS[99:150])
    assert_same_fit(again, loaded, rtol=0, atol=0)
    assert_same_fit(again, cls(2).fit(DIGITS[:150]))
    with pytest.raises(AttributeError, match="components_"):
        cls().components_  # noqa: B018


@BOTH
def test_copies_give_the_same_bits_and_no_more_is_held_than_is_shown(cls, rng):
    for _ in range(8):
        X = rng.standard_normal((60, 12)) + 3.0
        model = cls(2).fit(X)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.transform(X), model.transform(X))
        held = model.components_ if model.components_.base is None else model.components_.base
        assert held.size == 2 * 12


@BOTH
@pytest.mark.parametrize("fraction", [0.3, 0.9, 0.999])
def test_a_fraction_is_reached_and_not_overshot(cls, fraction):
    model = cls(fraction).fit(DIGITS)
    X = DIGITS - DIGITS.mean(axis=0) if cls is FastPCA else DIGITS
    held = np.cumsum(model.singular_values_**2) / np.sum(X**2)
    assert held[-1] >= fraction
    assert model.n_components_ == 1 or held[-2] < fraction


@BOTH
def test_a_fraction_of_rows_too_many_for_products(cls, monkeypatch):
    from pinvlearn.learners import _decomposing

    monkeypatch.setattr(_decomposing, "DENSE_ENTRIES", 100)
    model = cls(0.8, random_state=0).fit(scipy.sparse.csr_array(DIGITS))
    exact = cls(0.8, **{model._solver_name: "exact"}).fit(DIGITS)
    assert model.report_.method == "adaptive"
    assert exact.n_components_ <= model.n_components_ <= exact.n_components_ + 3
    X = DIGITS - DIGITS.mean(axis=0) if cls is FastPCA else DIGITS
    assert np.sum(model.singular_values_**2) >= 0.8 * np.sum(X**2)


@pytest.mark.parametrize(
    "rule", [Rank(7), Tolerance(0.2, relative=True), FlatGradient(relative=True)]
)
def test_stop_rules_find_the_number(rule):
    model = FastPCA(rule, random_state=0).fit(DIGITS)
    assert model.report_.method == "adaptive"
    if isinstance(rule, Rank):
        assert model.n_components_ == 7
    exact = FastPCA(model.n_components_, svd_solver="exact").fit(DIGITS)
    assert model.explained_variance_.sum() > 0.8 * exact.explained_variance_.sum()
    assert np.all(model.explained_variance_ <= exact.explained_variance_ * (1 + 1e-9))


def test_minkas_choice_is_scikit_learns():
    for X in (load_iris().data, DIGITS[:, 2:12], np.random.default_rng(0).normal(size=(60, 8))):
        theirs = PCA("mle", svd_solver="full").fit(X).n_components_
        assert FastPCA("mle").fit(X).n_components_ == theirs
        assert in_pieces(FastPCA("mle"), X, [20]).n_components_ == theirs
        for scale in (1e-30, 1e-9, 1e9, 1e30):
            assert FastPCA("mle").fit(scale * X).n_components_ == theirs
    assert likely_rank(np.array([1.0, 1e-30, 1e-30]), 10) == 1
    assert likely_rank(np.array([2.0, 1.0, 1.0, 1.0]), 50) == 1  # no cut between equal ones
    with pytest.raises(ValueError, match="3 rows and 5 columns"):
        FastPCA("mle").partial_fit(np.eye(3, 5)).components_  # noqa: B018


@pytest.mark.parametrize("whiten", [False, True])
def test_the_model_is_the_datas_whitened_or_not(whiten):
    X = load_iris().data
    model = FastPCA(whiten=whiten).fit(X)
    np.testing.assert_allclose(model.get_covariance(), np.cov(X.T), atol=1e-12)
    some = FastPCA(2, whiten=whiten).fit(X)
    np.testing.assert_allclose(some.get_precision() @ some.get_covariance(), np.eye(4), atol=1e-11)
    density = scipy.stats.multivariate_normal(some.mean_, some.get_covariance())
    np.testing.assert_allclose(some.score_samples(X), density.logpdf(X))
    np.testing.assert_allclose(some.score_samples(scipy.sparse.csr_array(X)), density.logpdf(X))
    # scikit-learn's is only without whitening (the reason given in test_substituted.py).
    same = np.allclose(PCA(whiten=whiten).fit(X).get_covariance(), np.cov(X.T))
    assert same != whiten


def test_a_flat_distribution_has_a_density_in_its_span(rng):
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5))
    model = FastPCA(2).fit(X)
    inner = scipy.stats.multivariate_normal(np.zeros(2), np.diag(model.explained_variance_))
    model.noise_variance_ = 0.0
    np.testing.assert_allclose(model.score_samples(X), inner.logpdf(model.transform(X)))
    precision = np.linalg.pinv(model.get_covariance())
    np.testing.assert_allclose(model.get_precision(), precision, atol=1e-8)
    empty = FastPCA(0).fit(X)
    assert empty.transform(X).shape == (30, 0)
    np.testing.assert_allclose(empty.get_precision(), np.eye(5) / empty.noise_variance_)


def test_whitening_divides_by_what_there_is(rng):
    X = rng.standard_normal((50, 3)) @ rng.standard_normal((3, 6)) * 1e3
    model = FastPCA(whiten=True).fit(X)
    assert model.report_.method == "exact"  # values that are rounding would be divided by
    Z = model.transform(X)
    np.testing.assert_allclose(Z[:, :3].std(axis=0, ddof=1), 1.0)
    np.testing.assert_array_equal(Z[:, 3:], 0.0)
    np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-9)
    assert FastPCA(3, whiten=True).fit(X).report_.method == "gram"


def test_a_dominant_mean_does_not_blur_the_rest(rng):
    X = rng.standard_normal((60, 5)) * [4, 3, 2, 1, 1] + 1e6
    model = FastTruncatedSVD(3).fit(X)
    assert model.report_.method == "exact"
    assert "blurs" in model.report_.reason
    np.testing.assert_allclose(model.singular_values_, np.linalg.svd(X)[1][:3], rtol=1e-8)
    loose = FastTruncatedSVD(3, algorithm="gram").fit(X)  # an explicit choice is obeyed
    assert loose.report_.method == "gram"


@BOTH
@pytest.mark.parametrize("X", [np.zeros((6, 4)), np.full((6, 4), 0.1), np.eye(6, 4)[[0] * 6]])
def test_rows_without_variance(cls, X):
    model = cls(2).fit(X)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(model.explained_variance_, 0.0, atol=EPS**2)
    assert np.all(model.explained_variance_ratio_ >= 0)
    assert np.isfinite(model.transform(X)).all()
    assert cls(0.5).fit(X).n_components_ == 1
    assert in_pieces(cls(2), X, [1]).n_components_ == 2


@BOTH
def test_offsets_and_scales(cls, rng):
    X = rng.standard_normal((80, 6)) * [9, 5, 3, 2, 1, 0.5]
    base = cls(2).fit(X)
    for factor in (1e-120, 1e120):
        scaled = cls(2).fit(X * factor)
        np.testing.assert_allclose(scaled.components_, base.components_, atol=1e-12)
        np.testing.assert_allclose(scaled.singular_values_ / factor, base.singular_values_)
    if cls is FastPCA:
        moved = cls(2).fit(X + 1e8)  # a mean of 1e8 is known to 1e-8
        np.testing.assert_allclose(moved.explained_variance_, base.explained_variance_, rtol=1e-6)
    single = cls(2).fit(X.astype(np.float32))
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.components_, base.components_, atol=1e-4)


@pytest.mark.parametrize("offset", [1.0, 100.0])
def test_float32_rows_take_single_products_and_keep_what_scikit_learn_loses(offset, rng):
    """Variances are as exact as sums of 1024 products are: to √1024·2⁻²⁴ of the largest."""
    X = (rng.standard_normal((4000, 130)) / np.sqrt(1 + np.arange(130)) + offset).astype(np.float32)
    exact = FastPCA(5, svd_solver="gram").fit(X.astype(np.float64))
    peer = PCA(5, svd_solver="covariance_eigh").fit(X)
    error = {}
    for name, model in {
        "whole": FastPCA(5).fit(X),
        "pieces": in_pieces(FastPCA(5), X, [3980]),
        "peer": peer,
    }.items():
        variances = model.explained_variance_ - exact.explained_variance_
        error[name] = np.abs(variances).max() / exact.explained_variance_[0]
        if model is not peer:
            assert model.components_.dtype == model.mean_.dtype == np.float32
            assert any("single precision" in note for note in model.report_.notes)
            limit = 2.0**-24 * np.abs(X).max()
            np.testing.assert_allclose(model.mean_, exact.mean_, rtol=0, atol=limit)
    assert max(error["whole"], error["pieces"]) <= np.sqrt(1024) * 2.0**-24
    assert max(error["whole"], error["pieces"]) < error["peer"]


def test_small_values_are_not_left_to_single_products(rng):
    """Whitening divides by them; a truncated SVD has a mean beside which all else is small."""
    X = (rng.standard_normal((4000, 130)) * np.r_[1.0, 0.5, np.full(128, 1e-4)]).astype(np.float32)
    for model in (FastPCA(3, whiten=True), FastTruncatedSVD(3)):
        for fitted in (clone(model).fit(X), clone(model).partial_fit(X)):
            exact = clone(model).fit(X.astype(np.float64))
            assert not any("single precision" in note for note in fitted.report_.notes)
            np.testing.assert_allclose(
                fitted.singular_values_, exact.singular_values_, rtol=4 * 2.0**-24
            )
    large = FastPCA(2, whiten=True).fit(X)
    assert any("single precision" in note for note in large.report_.notes)
    lost = FastPCA(3).fit(X).report_.notes
    assert any("1 singular values lie below 0.001" in note for note in lost)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["auto", "exact", "randomized", "arpack"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("cls", [FastPCA, FastTruncatedSVD])
def test_numbers_that_cannot_be_squared(cls, kind, solver, rng):
    """Variances were infinite in float32 from 2e19 on, and outputs zero where they underflow."""
    X = rng.standard_normal((30, 5)) * [5, 4, 3, 2, 1]
    large, small = (1e30, 1e-30) if kind == np.float32 else (1e200, 1e-200)
    options = {cls._solver_name: solver, "random_state": 0}
    with pytest.raises(ValueError, match=f"deviations of X.*{kind.__name__}.*by a large number"):
        cls(2, **options).fit((X * large).astype(kind))
    whiten = {"whiten": True} if cls is FastPCA else {}
    base = cls(2, **options, **whiten).fit_transform(X)
    tiny = cls(2, **options, **whiten)
    outputs = tiny.fit_transform((X * small).astype(kind))
    np.testing.assert_allclose(outputs / (1.0 if whiten else small), base, rtol=1e-3, atol=1e-3)
    if cls is FastPCA:
        with pytest.raises(ValueError, match="inverse variances are beyond"):
            tiny.get_precision()
    rows = np.full((1, 5), np.finfo(kind).max, dtype=kind)
    with pytest.raises(ValueError, match=f"outputs are beyond.*{kind.__name__}"):
        cls(2, **options).fit(X.astype(kind)).transform(rows * np.sign(tiny.components_[0]))


@pytest.mark.parametrize("cls", [FastPCA, FastTruncatedSVD])
def test_pieces_that_cannot_be_squared(cls, rng):
    X = rng.standard_normal((30, 5))
    for factor, what in ((1e-200, "underflow"), (1e200, "overflow")):
        with pytest.raises(ValueError, match=f"squares of X {what}"):
            cls(2).partial_fit(X * factor)


def test_likelihood_of_rows_far_away(rng):
    model = FastPCA(2).fit(rng.standard_normal((30, 5)))
    with pytest.raises(ValueError, match="too far from the rows of the fit"):
        model.score_samples(np.full((1, 5), 1e200))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, "min.n_samples, n_features.=4.*n_features=4"),
        ({"n_components": 1.5}, "fraction between 0 and 1"),
        ({"n_components": True}, "must be between"),
        ({"n_components": "all"}, "must be between"),
        ({"n_components": 0.5, "svd_solver": "randomized"}, "cannot be a fraction"),
        ({"n_components": Rank(2), "svd_solver": "gram"}, "is a stop rule"),
        ({"n_components": 2, "svd_solver": "adaptive"}, "needs a stop rule"),
        ({"svd_solver": "svd"}, "is not known"),
        ({"tol": -1.0}, "tol"),
        ({"n_oversamples": 0}, "n_oversamples"),
        ({"n_oversamples": None}, "n_oversamples"),
        ({"iterated_power": -1}, "iterated_power"),
        ({"power_iteration_normalizer": "qr"}, "power_iteration_normalizer"),
    ],
)
def test_bad_parameters_are_named_and_leave_the_model(options, message, rng):
    X = rng.standard_normal((20, 4))
    model = FastPCA(2).fit(X).set_params(**options)
    before = model.components_
    with pytest.raises(ValueError, match=message):
        model.fit(X)
    assert model.components_ is before
    with pytest.raises(ValueError, match="n_iter"):
        FastTruncatedSVD(n_iter=None).fit(X)
    with pytest.raises(ValueError, match="'mle' must be between"):
        FastTruncatedSVD("mle").fit(X)
    with pytest.raises(ValueError, match="4 columns, and the model 2 components"):
        model.inverse_transform(X)


@BOTH
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("n_components", [2, Tolerance(1e9)])
def test_new_rows_must_be_finite(cls, bad, n_components, rng):
    X = rng.standard_normal((20, 4))
    model = cls(n_components).fit(X)
    X[3, 1] = bad
    for rows in (X, scipy.sparse.csr_array(X)):
        with pytest.raises(ValueError, match="row 3, column 1"):
            model.transform(rows)


def test_what_a_normalizer_does_is_said(rng):
    X = rng.standard_normal((20, 4))
    model = FastPCA(2, svd_solver="randomized", power_iteration_normalizer="LU").fit(X)
    assert "orthonormal, not LU" in str(model.report_)


def test_names_and_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(load_iris().data, columns=list("abcd"))
    model = FastPCA(2).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["fastpca0", "fastpca1"]
    assert list(model.feature_names_in_) == list("abcd")


@pytest.mark.parametrize("n_components", [3, 0.9])
@pytest.mark.parametrize(("signal", "noise", "offset"), [(1e3, 1e-4, 0), (1.0, 1e-3, 1e6)])
def test_noise_far_below_the_components(signal, noise, offset, n_components):
    """Differences of squares told it to 2 % at 1e-7 of the deviations, and likelihoods to 0.1."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((10, 3)))[0]
    X = signal * rng.standard_normal((200, 3)) @ directions.T
    X += noise * rng.standard_normal((200, 10)) + offset
    model = FastPCA(n_components, svd_solver="exact").fit(X)
    centred = (X - X.mean(axis=0)).astype(np.longdouble)
    outside = np.linalg.svd(centred.astype(float), compute_uv=False)[3:]
    assert model.noise_variance_ == pytest.approx(np.mean(outside**2) / 199, rel=1e-5)
    V, variances = model.components_.astype(np.longdouble), model.explained_variance_
    inside = (X.astype(np.longdouble) - model.mean_) @ V.T
    left = X.astype(np.longdouble) - model.mean_ - inside @ V
    expected = -0.5 * (
        (inside**2 / variances).sum(axis=1)
        + (left**2).sum(axis=1) / model.noise_variance_
        + 10 * np.log(2 * np.pi)
        + np.log(variances).sum()
        + 7 * np.log(model.noise_variance_)
    )
    np.testing.assert_allclose(model.score_samples(X), expected.astype(float), atol=1e-6)
