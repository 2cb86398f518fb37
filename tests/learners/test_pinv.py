"""A ridge for each target, beside RidgeCV; features of every shape and kind."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

import pinvlearn as pl

ALPHAS = np.logspace(-3, 4, 15)


def drawn(n, p):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p)) + 2.0
    noise = rng.standard_normal((n, 4)) * [0.01, 1.0, 10.0, 100.0]
    return X, X @ rng.standard_normal((p, 4)) + noise, rng.uniform(0.5, 2.0, n)


class TestAlphaPerTarget:
    @pytest.mark.parametrize("shape", [(80, 10), (30, 50)], ids=["tall", "wide"])
    def test_it_is_ridge_cvs(self, shape):
        X, Y, _ = drawn(*shape)
        theirs = RidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y)
        ours = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True).fit(X, Y)
        np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_it_is_that_of_each_target_alone(self, weighted):
        X, Y, w = drawn(80, 10)
        w = w if weighted else None
        both = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True).fit(X, Y, w)
        assert both.loo_scores_.shape == (15, 4)
        for j in range(4):
            alone = pl.PinvRegressor(alpha=ALPHAS).fit(X, Y[:, j], w)
            assert both.alpha_[j] == alone.alpha_
            np.testing.assert_allclose(both.coef_[j], alone.coef_, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(both.loo_predictions_[:, j], alone.loo_predictions_)
            np.testing.assert_allclose(both.loo_scores_[:, j], alone.loo_scores_)
        alone = [pl.PinvRegressor(alpha=ALPHAS).fit(X, y, w).corrected_score_ for y in Y.T]
        assert both.corrected_score_ == pytest.approx(np.mean(alone))
        lower, upper = both.predict_interval(X)
        assert ((lower < Y) & (upper > Y)).mean() > 0.85

    @pytest.mark.parametrize("solver", ["cholesky", "gram", "qr", "exact"])
    def test_it_is_that_of_every_solver(self, solver):
        X, Y, w = drawn(80, 10)
        found = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True, solver=solver).fit(X, Y, w)
        known = pl.PinvRegressor(alpha=ALPHAS, alpha_per_target=True).fit(X, Y, w)
        np.testing.assert_array_equal(found.alpha_, known.alpha_)
        np.testing.assert_allclose(found.loo_scores_, known.loo_scores_)
        assert found.corrected_score_ == pytest.approx(known.corrected_score_)

    def test_the_report_tells_what_digits_were_lost(self):
        X, Y, _ = drawn(80, 10)
        X = np.hstack([X, X])
        model = pl.PinvRegressor(alpha=0, solver="cholesky")
        alone = model.fit(X, Y).report_
        report = model.set_params(alpha_per_target=True).fit(X, Y).report_
        assert report.error == pytest.approx(alone.error)
        assert report.notes == alone.notes
        assert any("its factor was shifted" in note for note in report.notes)

    def test_the_built_in_path_and_one_target(self):
        X, Y, _ = drawn(80, 10)
        one = pl.PinvRegressor(alpha_per_target=True).fit(X, Y[:, 1])
        assert one.alpha_.shape == (1,)
        assert one.predict(X).shape == (80,)
        assert one.alpha_[0] == pytest.approx(pl.PinvRegressor().fit(X, Y[:, 1]).alpha_)

    def test_what_it_does_not_go_with(self):
        X, Y, _ = drawn(80, 10)
        with pytest.raises(ValueError, match='set loo_scoring="mse" instead of None'):
            pl.PinvRegressor(alpha_per_target=True, loo_scoring=None).fit(X, Y)
        model = pl.PinvRegressor(alpha_per_target=True).fit(X, Y)
        assert not hasattr(model, "partial_fit")
        with pytest.raises(ValueError, match="a ridge of its own"):
            model.predict_interval(X, method="jackknife+", training=(X, Y))
        with pytest.raises(ValueError, match="a path of its own"):
            pl.AlphaPathDisplay.from_estimator(model)


def refitted(X, Y, alpha):
    """Predictions of ridges on all other rows, by least squares on centred rows."""
    found = np.empty_like(Y)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        mean, level = X[others].mean(axis=0), Y[others].mean(axis=0)
        K = (X[others] - mean) @ (X[others] - mean).T
        duals = np.linalg.solve(K + alpha * np.eye(len(K)), Y[others] - level)
        found[i] = level + (X[i] - mean) @ (X[others] - mean).T @ duals
    return found


def awkward(kind, X):
    if kind == "offset":
        return X + 1e4
    if kind == "constant":
        return np.hstack([X, np.full((len(X), 3), 7.0)])
    if kind == "duplicated":
        return np.hstack([X, X, X[:, :2]])
    return X[:, :3] @ np.random.default_rng(1).standard_normal((3, X.shape[1]))


class TestFeaturesOfAUser:
    """What a function or a transformer gives, in any form that holds numbers."""

    FORMS = {
        "frame": lambda H: pd.DataFrame(H),  # the class itself has a transform
        "objects": lambda H: H.astype(object),
        "list": lambda H: H.tolist(),
        "pandas": StandardScaler(with_mean=False, with_std=False).set_output(transform="pandas"),
        "polars": StandardScaler(with_mean=False, with_std=False).set_output(transform="polars"),
    }

    @pytest.mark.parametrize("form", FORMS)
    def test_forms(self, form):
        X, Y, _ = drawn(40, 3)
        found = pl.PinvRegressor(self.FORMS[form]).fit(X, Y)
        np.testing.assert_allclose(found.predict(X), pl.PinvRegressor().fit(X, Y).predict(X))

    @pytest.mark.parametrize(
        ("features", "error", "message"),
        [
            (lambda X: X[:, 0], ValueError, r"of 1 rows have the shape \(1,\); \(1, any\)"),
            (lambda X: X[:, : len(X)], ValueError, r"of 8 rows .* \(8, 3\); \(8, 1\) is needed"),
            (lambda X: X[: len(X) // 2 + 1], ValueError, r"shape \(5, 3\); \(8, 3\) is needed"),
            (lambda X: [["a"]] * len(X), TypeError, "of type <U1; numbers are needed"),
            (lambda X: X[:, :0], ValueError, "features= gives no columns for 1 rows; at least one"),
            (np.fft.rfft, TypeError, "what features= gives is of type complex128; real numbers"),
            (lambda X: X.astype("m8[s]"), TypeError, r"is of type timedelta64\[s\]; real numbers"),
            (lambda X: scipy.sparse.csr_array(X * 1j), TypeError, "is of type complex128; real"),
        ],
    )
    def test_others_are_refused(self, features, error, message):
        X, Y, _ = drawn(40, 3)
        with pytest.raises(error, match=message):
            pl.PinvRegressor(features).fit(X, Y)


@pytest.mark.parametrize("constant", [0.1, -7.0, 1e6])
@pytest.mark.parametrize("alpha", [0.0, "auto"])
def test_a_constant_column_of_sparse_weighted_rows_does_nothing(constant, alpha):
    X, Y, w = drawn(15, 1)
    X[:] = constant
    model = pl.PinvRegressor(alpha=alpha).fit(scipy.sparse.csr_array(X), Y, w)
    np.testing.assert_allclose(model.predict(X), np.tile(np.average(Y, 0, w), (15, 1)), atol=1e-8)


@pytest.mark.parametrize("way", ["fit", "partial_fit", "fit_blocks"])
@pytest.mark.parametrize("solver", ["exact", "qr", "auto"])
@pytest.mark.parametrize("offset", [10.0, 1e3, 1e5])
def test_rounding_of_large_means_is_no_direction_where_rows_repeat(offset, solver, way):
    X, Y, w = drawn(10, 20)
    X, new = np.vstack([X - 2.0, X - 2.0]), X[:3] + 1.0
    Y, w = np.vstack([Y, Y[::-1]]), np.append(w, w[::-1])
    known = pl.PinvRegressor(alpha=0, solver="exact").fit(X, Y, w).predict(new)
    model, X = pl.PinvRegressor(alpha=0, solver=solver), X + offset
    if way == "fit_blocks":
        model.fit_blocks([(X[:7], Y[:7], w[:7]), (X[7:], Y[7:], w[7:])])
    else:
        getattr(model, way)(X, Y, sample_weight=w)
    np.testing.assert_allclose(model.predict(new + offset), known, atol=1e-10 * offset)


def test_a_large_constant_is_no_direction_to_rows_left_out_of_blocks():
    rng = np.random.default_rng(1)
    X, y, w = rng.standard_normal((21, 20)), rng.standard_normal(21), rng.uniform(0.5, 2.0, 21)
    X[:, 0] = 100010.0
    blocks = [(X[:9], y[:9], w[:9]), (X[9:], y[9:], w[9:])]
    found = pl.PinvRegressor(alpha=0).fit_blocks(blocks).loo_predictions_
    known = pl.PinvRegressor(alpha=0).fit(X[:, 1:], y, w).loo_predictions_
    np.testing.assert_allclose(found, known, atol=1e-5)


@pytest.mark.parametrize("n", [40, 12], ids=["tall", "wide"])
@pytest.mark.parametrize("kind", ["offset", "constant", "duplicated", "rank deficient"])
class TestAwkwardFeatures:
    def test_rows_left_out_are_those_of_refits(self, kind, n):
        X, Y, _ = drawn(n, 20)
        X = awkward(kind, X)
        model = pl.PinvRegressor(alpha=0.5).fit(X, Y)
        off = 1e-7 if kind == "offset" else 1e-9
        np.testing.assert_allclose(model.loo_predictions_, refitted(X, Y, 0.5), atol=off)

    def test_ridges_choose_themselves_and_probabilities_are_some(self, kind, n):
        X, Y, _ = drawn(n, 20)
        y = (Y[:, 0] > np.median(Y[:, 0])).astype(int)
        X = awkward(kind, X)
        model = pl.PinvClassifier().fit(X, y)
        assert np.isfinite(model.loo_scores_).all()
        assert -10.0 < model.best_score_ < 0.0
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)

    def test_no_ridge_at_all(self, kind, n):
        X, Y, _ = drawn(n, 20)
        X = awkward(kind, X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model = pl.PinvRegressor(alpha=0.0).fit(X, Y)
        centred = X - X.mean(axis=0)
        expected, *_ = np.linalg.lstsq(centred, Y - Y.mean(axis=0), rcond=1e-10)
        np.testing.assert_allclose(model.predict(X), centred @ expected + Y.mean(axis=0), atol=1e-5)


@pytest.mark.parametrize("learner", [pl.PinvClassifier, pl.PinvRegressor])
def test_few_rows_of_many_columns_are_copied_once(learner):
    """Room for the factor while it is needed, or for the rows that are kept, and little more."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((36, 50_000)), np.arange(36) % 3
    learner().fit(X[:, :100], y)  # what is imported and compiled is not counted
    tracemalloc.start()
    try:
        model = learner().fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model.report_.method == "gram"
    assert peak < 1.4 * X.nbytes


@pytest.mark.sweep
def test_more_entries_than_32_bits_count(tmp_path):
    """Rows of zeros but for the last, which lie beyond 2³¹ entries; the file has holes."""
    p, last = 64, 1000
    n = 2**31 // p + last
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, p))
    y = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", np.float32, (n,))
    X[-last:] = rng.standard_normal((last, p))
    y[-last:] = X[-last:] @ np.arange(p) + 1.0
    tail, targets = X[-last:].astype(float), y[-last:].astype(float)
    del X, y
    blocks = pl.NpyBlocks(tmp_path / "X.npy", tmp_path / "y.npy", rows=2**18)
    model = pl.PinvRegressor(alpha=1.0, loo_scoring=None).fit_blocks(blocks)
    sums, total = tail.sum(axis=0), targets.sum()
    G = tail.T @ tail - np.outer(sums, sums) / n + np.eye(p)
    expected = np.linalg.solve(G, tail.T @ targets - sums * total / n)
    np.testing.assert_allclose(model.coef_, expected, rtol=1e-6)


@pytest.mark.parametrize("n", [20, 400])
@pytest.mark.parametrize("alpha", [1e-3, [1e-3, 1e-2], "auto"])
@pytest.mark.parametrize(("away", "mean"), [(1e3, 1e10), (0.0, 1e12)])
def test_targets_far_from_zero_keep_their_digits(n, alpha, away, mean):
    """Products with features that lie off zero too are some 1e13 times what is left of them."""
    X, Y, w = drawn(n, 3)
    X, Y = X + away, Y + mean
    model = pl.PinvRegressor(alpha=alpha).fit(X, Y, w)
    Z, T = X - np.average(X, 0, w), Y - np.average(Y, 0, w)
    root = np.sqrt(w)[:, None]
    stacked = np.vstack([root * Z, np.sqrt(model.alpha_) * np.eye(3)])
    coef = np.linalg.lstsq(stacked, np.vstack([root * T, np.zeros((3, Y.shape[1]))]))[0]
    np.testing.assert_allclose(model.coef_, coef.T, atol=1e-7 * np.abs(coef).max())
    np.testing.assert_allclose(model.summary_.target_totals, w @ Y, rtol=1e-14)
    raw = model.summary_.products.shifted(-model.summary_.middle)
    np.testing.assert_allclose(raw.HT[:, 1:], (X.T * w) @ Y, rtol=1e-11)


@pytest.mark.parametrize("solver", ["auto", "gram", "cholesky", "qr"])
@pytest.mark.parametrize(("away", "mean"), [(1e3, 1e10), (2e3, 1e6), (0.0, 1e12)])
def test_targets_far_from_zero_keep_their_digits_in_pieces(solver, away, mean):
    """Also where pieces lie apart, are merged, forgotten, decayed or of no weight."""
    X, Y, w = drawn(240, 3)
    X, Y = X + away, Y + mean + np.repeat([0.0, 3.0, -5.0, 10.0], 60)[:, None]
    w[:60] = 0.0
    Z, T = X - np.average(X, 0, w), Y - np.average(Y, 0, w)
    root = np.sqrt(w)[:, None]
    stacked = np.vstack([root * Z, np.sqrt(1e-3) * np.eye(3)])
    coef = np.linalg.lstsq(stacked, np.vstack([root * T, np.zeros((3, Y.shape[1]))]))[0]
    cuts = [slice(first, first + 60) for first in range(0, 240, 60)]
    blocks = [(X[rows], Y[rows], w[rows]) for rows in cuts]
    new = pl.PinvRegressor(alpha=1e-3, solver=solver)
    with warnings.catch_warnings(action="ignore"):
        pieces, halves = clone(new), [clone(new), clone(new)]
        for i, (rows, targets, weights) in enumerate(blocks):
            pieces.partial_fit(rows, targets, sample_weight=weights)
            halves[i // 2].partial_fit(rows, targets, sample_weight=weights)
        moved = clone(new).partial_fit(X[:50], Y[:50] + 7.0)
        for rows, targets, weights in blocks:
            moved.partial_fit(rows, targets, sample_weight=weights)
        found = [
            clone(new).fit_blocks(blocks),
            clone(new).fit_blocks(iter(blocks)),
            pieces,
            halves[0].merge(halves[1]),
        ]
        if solver != "qr":  # an R factor forgets nothing
            found.append(moved.forget(X[:50], Y[:50] + 7.0))
    for model in found:
        np.testing.assert_allclose(model.coef_, coef.T, atol=1e-6 * np.abs(coef).max())
        np.testing.assert_allclose(model.summary_.target_totals, w @ Y, rtol=1e-13)
    constant = clone(new).fit_blocks([(X[:60], Y[:60] * 0.0 + mean), (X[60:], Y[60:] * 0.0 + mean)])
    np.testing.assert_allclose(constant.predict(X), mean, rtol=1e-15)


@pytest.mark.parametrize("alpha", [None, True, "1", np.array(3.0)], ids=repr)
def test_what_alpha_may_be_is_said(alpha):
    X, Y, _ = drawn(20, 3)
    with pytest.raises(ValueError, match='give "auto", a number of at least 0, or a 1-D array'):
        pl.PinvRegressor(alpha=alpha).fit(X, Y)


def test_weights_that_are_no_numbers_are_named():
    X, Y, _ = drawn(20, 3)
    with pytest.raises(ValueError, match="sample_weight must be a number for each row: could not"):
        pl.PinvRegressor().fit(X, Y, sample_weight="balanced")


@pytest.mark.parametrize("away", [1e4, 3e4])
def test_refining_takes_no_digits_of_targets_far_from_zero(away):
    """Residuals of targets as they are end at 1e10·eps; the factor itself has more digits."""
    X, Y, _ = drawn(8, 2)
    X, Y = X + away, Y + 1e10
    model = pl.PinvRegressor(alpha=0.0, solver="cholesky").fit_blocks(
        [(X[:5], Y[:5]), (X[5:], Y[5:])]
    )
    assert "refined on the rows" in " ".join(model.report_.notes)
    coef = np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(axis=0))[0]
    np.testing.assert_allclose(model.coef_, coef.T, atol=1e-9 * np.abs(coef).max())
