"""Leave-one-out without refitting is leave-one-out with refitting, to 1e-8."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.metrics import accuracy_score

import pinvlearn
from oracles import generalised_cross_validation, leave_one_out
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import leave_one_out as leaving
from pinvlearn.readout import solvers
from pinvlearn.readout.choose import (
    TIE,
    best_cell,
    best_of,
    freedom_of,
    left_out,
    settled,
    validation,
)
from pinvlearn.readout.factors import CholeskyFactor, Spectral
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import MSE, Scoring, judged, part_of
from pinvlearn.readout.solve import solve

ROWS = 45
FAMILIES = {"Pinv": {}, "RBFNetwork": {"n_kernels": 12}, "ELM": {"n_hidden": 12}}
ALPHAS = np.logspace(-3, 1, 5)
SOLVERS = ["auto", "exact", "qr", "gram", "cholesky"]


def classes(n):
    return make_classification(
        ROWS, 5, n_informative=4, n_redundant=0, n_classes=n, n_clusters_per_class=1,
        flip_y=0.1, random_state=n,
    )  # fmt: skip


PROBLEMS = {
    "binary": ("Classifier", *classes(2)),
    "multi-class": ("Classifier", *classes(3)),
    "multi-label": (
        "Classifier",
        classes(2)[0],
        np.random.default_rng(0).integers(0, 2, (ROWS, 3)),
    ),
    "regression": ("Regressor", *make_regression(ROWS, 5, noise=10.0, random_state=0)),
    "multi-output": (
        "Regressor",
        *make_regression(ROWS, 5, n_targets=2, noise=9.0, random_state=1),
    ),
}


def model(family, kind, **options):
    cls = getattr(pinvlearn, family + kind)
    return cls(**FAMILIES[family], random_state=0, **options)


def encoded(kind, y):
    """Targets as the read-out sees them."""
    if kind == "Regressor" or y.ndim == 2:
        Y = y.reshape(len(y), -1).astype(float)
        return Y if kind == "Regressor" else np.where(Y > 0, 1.0, -1.0)
    if len(np.unique(y)) == 2:
        return np.where(y == 1, 1.0, -1.0)[:, None]
    return np.where(y[:, None] == np.unique(y), 1.0, -1.0)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_predictions_are_those_of_refitting(family, problem, weighted):
    kind, X, y = PROBLEMS[problem]
    w = np.random.default_rng(3).uniform(0.2, 3.0, ROWS) if weighted else None
    fitted = model(family, kind, alpha=0.1).fit(X, y, w)
    Y = encoded(kind, y)
    expected = leave_one_out(fitted.map_(X), Y, 0.1, weights=w)
    found = fitted.loo_predictions_.reshape(Y.shape)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("units", [20, ROWS - 2, ROWS - 1, ROWS, 80])
@pytest.mark.parametrize("alpha", [0.0, 1e-14, 1e-10, 1e-6])
def test_interpolation(alpha, units, weighted):
    """Without ridge, residual and 1 - leverage vanish together where every row can be fitted."""
    kind, X, y = PROBLEMS["multi-output"]
    w = np.random.default_rng(3).uniform(0.2, 3.0, ROWS) if weighted else None
    fitted = pinvlearn.ELMRegressor(units, scale=5.0, alpha=alpha, random_state=0).fit(X, y, w)
    H = fitted.map_(X)
    expected = leave_one_out(H, y, alpha, weights=w)
    s = np.linalg.svd(H - np.average(H, axis=0, weights=w), compute_uv=False)
    kept = s[s > 1e-12 * s[0]]
    condition = s[0] / np.sqrt(kept[-1] ** 2 + alpha)
    allowed = 1e-8 + 1e3 * np.finfo(float).eps * condition
    difference = np.abs(fitted.loo_predictions_ - expected).max()
    assert difference <= allowed * np.abs(expected).max()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_solver_finds_the_same(family, solver):
    kind, X, y = PROBLEMS["multi-class"]
    fitted = model(family, kind, alpha=ALPHAS, solver=solver, loo_scoring="mse").fit(X, y)
    H, Y = fitted.map_(X), encoded(kind, y)
    expected = [-np.mean((Y - leave_one_out(H, Y, a)) ** 2) for a in ALPHAS]
    np.testing.assert_allclose(fitted.loo_scores_, expected, rtol=1e-8)
    np.testing.assert_array_equal(fitted.alphas_, ALPHAS)
    assert fitted.alpha_ == ALPHAS[np.argmax(expected)]


@pytest.mark.parametrize("problem", ["binary", "multi-class", "multi-label"])
def test_accuracy_is_that_of_the_left_out_rows(problem):
    kind, X, y = PROBLEMS[problem]
    fitted = model("RBFNetwork", kind, alpha=ALPHAS, loo_scoring="accuracy").fit(X, y)
    H, Y = fitted.map_(X), encoded(kind, y)
    scores, squares = [], []
    for alpha in ALPHAS:
        left_out = leave_one_out(H, Y, alpha)
        if problem == "multi-class":
            predicted = fitted.classes_[left_out.argmax(axis=1)]
        else:
            predicted = (left_out > 0).astype(int).reshape(y.shape)
        scores.append(accuracy_score(y, predicted))
        squares.append(np.mean((Y - left_out) ** 2))
    np.testing.assert_allclose(fitted.loo_scores_, scores, rtol=1e-12)
    squares = np.where(np.asarray(scores) >= max(scores) * (1 - TIE), squares, np.inf)
    assert fitted.alpha_ == ALPHAS[squares <= squares.min() * (1 + TIE)].max()


def test_weighted_accuracy():
    kind, X, y = PROBLEMS["binary"]
    w = np.random.default_rng(3).uniform(0.2, 3.0, ROWS)
    fitted = model("Pinv", kind, alpha=ALPHAS, loo_scoring="accuracy").fit(X, y, w)
    expected = [
        accuracy_score(
            y, leave_one_out(X, encoded(kind, y), a, weights=w)[:, 0] > 0, sample_weight=w
        )
        for a in ALPHAS
    ]
    np.testing.assert_allclose(fitted.loo_scores_, expected, rtol=1e-12)


def test_a_row_without_weight_is_not_missed():
    kind, X, y = PROBLEMS["regression"]
    w = np.ones(ROWS)
    w[:5] = 0.0
    fitted = model("Pinv", kind, alpha=0.1).fit(X, y, w)
    np.testing.assert_allclose(fitted.loo_predictions_[:5], fitted.predict(X[:5]), rtol=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_one_alpha_has_scores_too(family):
    kind, X, y = PROBLEMS["regression"]
    fitted = model(family, kind, alpha=0.5).fit(X, y)
    expected = -np.mean((y - fitted.loo_predictions_) ** 2)
    np.testing.assert_allclose(fitted.loo_scores_, [expected], rtol=1e-10)
    np.testing.assert_array_equal(fitted.alphas_, [0.5])


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_built_in_path_is_exact_where_it_is_chosen(solver, shape):
    """Leverages of a Gram-based factor are trusted only where they can be."""
    kind, X, y = PROBLEMS["regression"]
    units = 15 if shape == "tall" else 80
    fitted = pinvlearn.RBFNetworkRegressor(
        centers=np.random.default_rng(0).standard_normal((units, 5)), gamma=0.1, solver=solver
    ).fit(X, y)
    expected = leave_one_out(fitted.map_(X), y[:, None], fitted.alpha_)[:, 0]
    allowed = 1e-8 if solver in ("exact", "qr") else 1e-5  # LEVERAGE_TOLERANCE, and a margin
    np.testing.assert_allclose(
        fitted.loo_predictions_, expected, atol=allowed * np.abs(expected).max()
    )
    assert len(fitted.alphas_) == len(fitted.loo_scores_) == 31


def test_without_leave_one_out_a_path_is_judged_by_generalised_cross_validation():
    kind, X, y = PROBLEMS["multi-output"]
    fitted = model("ELM", kind, alpha=ALPHAS, loo_scoring=None).fit(X, y)
    expected = [-generalised_cross_validation(fitted.map_(X), y, a) for a in ALPHAS]
    np.testing.assert_allclose(fitted.gcv_scores_, expected, rtol=1e-8)
    assert fitted.alpha_ == ALPHAS[np.argmax(expected)]
    assert not hasattr(fitted, "loo_scores_")
    assert not hasattr(fitted, "loo_predictions_")


@pytest.mark.parametrize("shape", [(20, 30), (20, 20), (20, 19)])
def test_targets_are_told_to_the_last_by_as_many_directions_as_rows(shape):
    """Rounding of one sign was taken for what no ridge explains, and small ones not chosen."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, alphas = rng.standard_normal(shape), [1e-8, 1e-6, 1e-2]
        y = X[:, 0] + 0.1 * rng.standard_normal(shape[0])
        fitted = pinvlearn.PinvRegressor(alpha=alphas, loo_scoring=None).fit(X, y)
        Z, T = X - X.mean(axis=0), y - y.mean()
        eigenvalues, U = np.linalg.eigh(Z @ Z.T)
        taken = [a / (eigenvalues[1:] + a) for a in alphas]
        squares = np.square(U[:, 1:].T @ T)
        expected = [-20 * share**2 @ squares / share.sum() ** 2 for share in taken]
        np.testing.assert_allclose(fitted.gcv_scores_, expected, rtol=1e-6)


@pytest.mark.parametrize("solver", ["auto", "gram", "exact", "qr"])
@pytest.mark.parametrize("shape", [(6, 30), (20, 20), (20, 19), (2, 1)])
def test_no_ridge_is_judged_by_its_limit_where_every_row_can_be_fitted(solver, shape):
    """Residuals and freedom are both 0 there, which was the best of scores."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    fitted = pinvlearn.PinvRegressor(alpha=[0.0, 1e-9, 1.0], loo_scoring=None, solver=solver)
    nothing, little, _ = fitted.fit(X, y).gcv_scores_
    assert nothing == pytest.approx(little, rel=1e-4)


@pytest.mark.parametrize("solver", ["exact", "qr"])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_the_direction_that_centring_leaves_is_no_direction(solver, offset):
    """Of as many singular values as rows the last is rounding, which tiny ridges do not hide."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((6, 30)) + offset, rng.standard_normal(6)
        expected = pinvlearn.PinvRegressor(solver="gram", loo_scoring=None).fit(X, y)
        found = pinvlearn.PinvRegressor(solver=solver, loo_scoring=None).fit(X, y)
        np.testing.assert_allclose(found.gcv_scores_, expected.gcv_scores_, rtol=1e-6)
        assert found.alpha_ == pytest.approx(expected.alpha_)


def test_one_alpha_without_leave_one_out_has_no_scores():
    kind, X, y = PROBLEMS["regression"]
    fitted = model("Pinv", kind, alpha=1.0, loo_scoring=None).fit(X, y)
    assert not hasattr(fitted, "gcv_scores_")
    assert not hasattr(fitted, "loo_scores_")


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_bits_do_not_depend_on_the_number_of_jobs(n_jobs):
    X, y = make_regression(2500, 4, noise=1.0, random_state=0)
    one, many = (
        pinvlearn.ELMRegressor(20, random_state=0, n_jobs=n).fit(X, y) for n in (1, n_jobs)
    )
    for name in ("coef_", "intercept_", "alpha_", "loo_scores_", "loo_predictions_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))
    np.testing.assert_array_equal(one.predict(X), many.predict(X))


def test_solver_objects_and_names_agree():
    kind, X, y = PROBLEMS["multi-class"]
    for name in solvers.SOLVERS:
        by_name, by_object = (
            model("RBFNetwork", kind, alpha=0.1, solver=solver).fit(X, y).coef_
            for solver in (name, solvers.SOLVERS[name]())
        )
        np.testing.assert_array_equal(by_name, by_object)


class TestFormulae:
    """What everything is judged by, once."""

    def test_residual_over_freedom_and_both_over_alpha_are_one_quotient(self):
        targets, residual, free = np.array([[1.0], [2.0]]), np.array([[0.5], [0.2]]), [0.5, 0.1]
        expected = [[0.0], [0.0]]
        for scale in (1.0, 1e-200, 1e200):
            found = left_out(targets, residual * scale, np.array(free) * scale)
            np.testing.assert_allclose(found, expected, atol=1e-15)

    def test_a_row_without_freedom_keeps_its_target(self):
        found = left_out(np.array([[3.0]]), np.array([[0.0]]), np.array([0.0]))
        np.testing.assert_array_equal(found, [[3.0]])

    def test_freedom_is_no_smaller_than_its_rounding(self):
        free = freedom_of(np.array([0.25, 1.0, 1.0 + 1e-15]))
        assert free[0] == 0.75
        assert 0.0 < free[1] == free[2] < 1e-14

    def test_generalised_cross_validation_does_not_see_the_scale_of_weights(self):
        one, other = (validation(3.0 * w, 5.0, 10, 10.0 * w) for w in (1.0, 7.0))
        assert one == pytest.approx(other)
        assert one == pytest.approx(-10 * 3.0 / 25.0)


def verdict_of(*scores):
    """A verdict on candidates with these mean scores, of ten rows."""
    outputs = np.sqrt(-np.array(scores)) * np.ones((10, 1))
    return judged(MSE, [part_of(MSE, np.zeros((10, 1)), outputs[..., None], np.ones(10))])


class TestTies:
    def test_the_largest_of_equal_alphas(self):
        scores = np.array([-2.0, -1.0, -1.0 - 1e-8, -1.1])
        assert best_of(scores, np.array([1.0, 2.0, 3.0, 4.0])) == 2

    def test_the_least_squared_error_of_equal_scores_and_then_the_largest_alpha(self):
        scores, alphas = np.array([0.9, 0.9, 0.9, 0.5]), np.array([1.0, 2.0, 3.0, 4.0])
        assert best_of(scores, alphas, np.array([-0.2, -0.1, -0.3, -0.01])) == 1
        assert best_of(scores, alphas, np.array([-0.2, -0.1, -0.1, -0.01])) == 2

    def test_the_smallest_size_and_then_the_largest_alpha(self):
        scores = np.array([[0.1, 0.5, 0.5], [0.5, 0.5, 0.5], [0.5, 0.2, 0.1]])
        assert best_cell(scores, np.arange(3.0)) == (0, 2)
        scores[1, 0] = 0.6
        assert best_cell(scores, np.arange(3.0)) == (1, 0)

    def test_what_is_not_finite_is_not_chosen(self):
        assert best_of(np.array([np.nan, -5.0, -np.inf]), np.arange(3.0)) == 1
        assert best_of(np.full(3, -np.inf), np.arange(3.0)) == 2

    def test_better_scores_may_change_the_choice(self):
        truth, asked = {0: -3.0, 1: -4.0, 2: -2.5}, []

        def again(i):
            asked.append(i)
            return verdict_of(truth[i])

        best, verdict = settled(verdict_of(-2.0, -1.0, -2.5), np.arange(3.0), again)
        assert best == 2
        assert asked == [1, 0, 2]
        np.testing.assert_allclose(verdict.scores, [-3.0, -4.0, -2.5])

    def test_no_choice_is_made_where_a_score_cannot_be_found_again(self):
        best, _ = settled(verdict_of(-1.0, -2.0), np.arange(2.0), lambda i: None)
        assert best is None


class TestErrors:
    """Every left-out prediction says how far it may be off."""

    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("problem", ["multi-class", "binary", "regression", "multi-output"])
    def test_of_the_shape_of_the_predictions(self, problem, solver):
        kind, X, y = PROBLEMS[problem]
        fitted = model("ELM", kind, alpha=0.1, solver=solver).fit(X, y)
        assert fitted.loo_error_.shape == fitted.loo_predictions_.shape
        expected = leave_one_out(fitted.map_(X), encoded(kind, y), 0.1)
        difference = np.abs(fitted.loo_predictions_ - expected.reshape(fitted.loo_error_.shape))
        # the refits round too
        assert (difference <= fitted.loo_error_ + 1e-11 * np.abs(expected).max()).all()
        assert fitted.loo_error_.max() <= 1e-8 * np.abs(expected).max()
        assert "wrong by" not in " ".join(fitted.report_.notes)

    @pytest.mark.parametrize("solver", ["exact", "qr", "gram", "cholesky"])
    def test_a_solver_that_was_asked_for_is_obeyed_and_its_loss_told(self, solver):
        """Only `auto` leaves rows out with twice the precision."""
        X = np.linspace(0.0, 1.0, 20)[:, None]
        y = np.sin(3.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(20)
        options = {"alpha": 1e-13, "gamma": 0.3, "random_state": 0}
        given = pinvlearn.RBFNetworkRegressor(9, solver=solver, **options).fit(X, y)
        auto = pinvlearn.RBFNetworkRegressor(9, **options).fit(X, y)
        scale = np.abs(auto.loo_predictions_).max()
        assert auto.loo_error_.max() <= 1e-8 * scale < given.loo_error_.max()
        assert "leave-one-out predictions may be wrong by" in given.report_.notes[-1]
        difference = np.abs(given.loo_predictions_ - auto.loo_predictions_)
        assert (difference <= given.loo_error_ + auto.loo_error_).all()

    @pytest.mark.parametrize("units", [6, 30])
    def test_rows_of_weight_zero_are_judged_like_new_ones(self, units):
        kind, X, y = PROBLEMS["regression"]
        w = np.where(np.arange(ROWS) % 3 == 0, 0.0, 1.0)
        fitted = pinvlearn.ELMRegressor(units, alpha=1e-6, random_state=0).fit(X, y, w)
        expected = leave_one_out(fitted.map_(X), y[:, None], 1e-6, weights=w)[:, 0]
        difference = np.abs(fitted.loo_predictions_ - expected)
        assert (difference <= fitted.loo_error_ + 1e-9 * np.abs(expected).max()).all()

    @pytest.mark.parametrize("family", FAMILIES)
    def test_the_only_row_cannot_be_left_out(self, family):
        fitted = model(family, "Regressor").fit([[1.0, 2.0]], [3.0])
        np.testing.assert_array_equal(fitted.loo_error_, [np.inf])
        assert "could not be made" in fitted.report_.notes[-1]
        lower, upper = fitted.predict_interval([[1.0, 2.0]])
        assert (lower[0], upper[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_rows_are_left_out_as_dense_ones(weighted, rng):
    """Their mean stays apart: they are never made dense."""
    X = scipy.sparse.random_array((90, 12), density=0.3, rng=rng, format="csr")
    y = X @ rng.standard_normal(12) + 3.0
    weights = rng.random(90) if weighted else None
    sparse = pinvlearn.PinvRegressor().fit(X, y, sample_weight=weights)
    dense = pinvlearn.PinvRegressor().fit(X.toarray(), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.loo_scores_, dense.loo_scores_, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(sparse.loo_predictions_, dense.loo_predictions_, atol=1e-8)


@pytest.mark.parametrize("scoring", ["log_loss", "accuracy", "mse"])
def test_ridges_that_predict_the_same_are_judged_once(scoring, monkeypatch):
    X, y = make_classification(400, 8, n_informative=8, n_redundant=0, n_classes=3, random_state=0)
    alphas = np.concatenate([[0.0], np.logspace(-16, 3, 20)])[::-1]

    def fitted(**options):
        return pinvlearn.PinvClassifier(alpha=alphas, loo_scoring=scoring, **options).fit(X, y)

    merged = fitted()
    seen = []
    original = Spectral.coefs
    monkeypatch.setattr(
        Spectral,
        "coefs",
        lambda self, ridges: seen.append(ridges) or original(self, ridges),
    )
    again = fitted()
    monkeypatch.setattr(leaving, "SAME", 0.0)
    each = fitted()
    assert len(seen[0]) < 16
    assert len(seen[-1]) == len(alphas)
    np.testing.assert_array_equal(again.loo_scores_, merged.loo_scores_)
    np.testing.assert_allclose(merged.loo_scores_, each.loo_scores_, rtol=1e-7)
    assert merged.alpha_ == each.alpha_
    assert merged.corrected_score_ == pytest.approx(each.corrected_score_, rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_scoring", ["log_loss", "mse"])
def test_few_entries_in_many_columns_are_searched(fit_scoring, weighted, monkeypatch, rng):
    levels, m = (40, 15, 5), 400
    H = scipy.sparse.hstack(
        [scipy.sparse.csr_array(np.eye(c)[rng.integers(c, size=m)]) for c in levels]
    ).tocsr()
    y = (H @ rng.standard_normal(60) + 0.5 * rng.standard_normal(m) > 0).astype(int)
    w = rng.integers(1, 4, size=m).astype(float) if weighted else None
    whole = pinvlearn.PinvClassifier(loo_scoring=fit_scoring).fit(H, y, sample_weight=w)
    monkeypatch.setattr("pinvlearn.readout.problem.WIDE", 50)
    searched = pinvlearn.PinvClassifier(loo_scoring=fit_scoring).fit(H, y, sample_weight=w)
    assert whole.report_.method == "gram"
    assert searched.report_.method == "cholesky"
    judged = np.isfinite(searched.loo_scores_)
    assert 3 <= judged.sum() < 10
    assert f"judged {judged.sum()} of 31" in str(searched.report_)
    np.testing.assert_allclose(searched.alphas_, whole.alphas_, rtol=1e-6)
    np.testing.assert_allclose(searched.loo_scores_[judged], whole.loo_scores_[judged], rtol=1e-5)
    assert searched.alpha_ == pytest.approx(whole.alpha_)
    np.testing.assert_allclose(searched.coef_, whole.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(searched.loo_predictions_, whole.loo_predictions_, atol=1e-6)
    assert searched.corrected_score_ <= searched.best_score_ + 1e-12


def test_some_rows_are_left_out_of_the_fit_to_all(monkeypatch):
    X, y = make_regression(60, 5, noise=1.0, random_state=0)
    alphas, Y = np.array([1e-3, 1.0]), y[:, None]
    problem = Problem(rows_in_memory(lambda X: X, X, Y, None, 5, 1), True, MSE)
    factor = CholeskyFactor(problem.moments, problem.center(problem.moments))
    monkeypatch.setattr(leaving, "SOME_ROWS", 7)
    some = np.linspace(0, 59, 7).astype(int)  # evenly spread
    expected = [-np.mean((leave_one_out(X, Y, a) - Y)[some] ** 2) for a in alphas]
    for one, score in zip(alphas, expected, strict=True):
        found = leaving.left_out_of_some(problem, factor, np.array([one]))
        np.testing.assert_allclose(found, [score], rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", [MSE, Scoring(log_loss="labels")])
def test_rows_that_were_left_out_to_guess_by_are_not_left_out_again(score, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X, alphas = rng.standard_normal((60, 5)), np.array([1e-3, 1.0])
    Y = np.where(X[:, :2] + rng.standard_normal((60, 2)) > 0.0, 1.0, -1.0)
    seen = []

    def features(X):
        seen.append(len(X))
        return X

    w = rng.integers(0, 3, 60).astype(float) if weighted else None
    problem = Problem(rows_in_memory(features, X, Y, w, 5, 1), True, score)
    factor, _ = solvers.GramSVD().factor(problem, alphas)
    monkeypatch.setattr(leaving, "SOME_ROWS", 7)
    whole = leaving.leave_one_out(problem, factor, alphas, score)
    leaving.left_out_of_some(problem, factor, alphas)
    seen.clear()
    again = leaving.leave_one_out(problem, factor, alphas, score)
    assert sum(seen) == 53
    np.testing.assert_allclose(again.free, whole.free, rtol=1e-13)
    np.testing.assert_allclose(again.verdict.squares, whole.verdict.squares, rtol=1e-13)
    np.testing.assert_allclose(again.verdict.scores, whole.verdict.scores, rtol=1e-5)
    if not weighted:
        np.testing.assert_allclose(again.outputs, whole.outputs, rtol=1e-12)
    seen.clear()
    other = leaving.leave_one_out(problem, factor, alphas[:1], score)  # not what was begun
    assert sum(seen) == 60
    np.testing.assert_allclose(other.free, whole.free[:, :1], rtol=1e-13)


def test_no_row_is_read_again_where_nothing_is_refined(monkeypatch):
    X, y = make_regression(60, 5, noise=1.0, random_state=0)
    Y, alphas = y[:, None], np.array([1e-3, 1.0, 10.0])

    def fitted():
        passes = []

        def features(X):
            passes.append(len(X))
            return X

        problem = Problem(rows_in_memory(features, X, Y, None, 5, 1), True, MSE)
        return solve(problem, solvers.GramSVD(), alphas), passes.count(60)

    kept, few = fitted()
    monkeypatch.setattr(leaving, "MOST_KEPT", 0)
    again, more = fitted()
    assert more == few + 1
    scale = np.abs(y).max()
    np.testing.assert_allclose(kept.leave_one_out, again.leave_one_out, atol=1e-14 * scale)
    np.testing.assert_allclose(kept.leave_one_out_error, again.leave_one_out_error, rtol=1e-6)
    expected = leave_one_out(X, Y, kept.alpha)
    np.testing.assert_allclose(kept.leave_one_out, expected, atol=1e-12 * scale)


def test_rows_that_repeat_are_left_out_exactly_where_each_could_be_fitted():
    """Eleven rows of ten columns and an intercept, of which few directions are there."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((11, 10)), rng.standard_normal(11)
    X[5:] = X[:6]
    model = pinvlearn.PinvRegressor(alpha=[0.0, 1e-3]).fit(X, y)
    one = pinvlearn.PinvRegressor(alpha=float(model.alpha_), loo_scoring=None)
    others = [np.arange(11) != i for i in range(11)]
    refitted = [one.fit(X[rest], y[rest]).predict(X[~rest])[0] for rest in others]
    np.testing.assert_allclose(model.loo_predictions_, refitted, rtol=1e-8)


def test_features_of_nothing_but_zeros_have_a_path_that_can_be_divided_by():
    y = np.arange(20) % 2
    model = pinvlearn.PinvClassifier(lambda X: np.zeros((len(X), 30))).fit(np.ones((20, 3)), y)
    assert model.alphas_.min() > 1e-20
    np.testing.assert_allclose(model.predict_proba(np.ones((2, 3))), 0.5, atol=0.05)
