"""Kernel extreme learning machines: every form against the formula it stands for."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import accuracy_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from typer.testing import CliRunner

import oracles
import pinvlearn
from pinvlearn import KernelELMClassifier, KernelELMRegressor
from pinvlearn._validation import generator, memory
from pinvlearn.cli._app import app
from pinvlearn.features import kernels
from pinvlearn.learners import kernel_elm
from pinvlearn.linalg.kernel import NEGLIGIBLE, Pivots, as_kernel_matrix, randomized_psd
from pinvlearn.readout import kernel as exact_machine
from pinvlearn.readout import pivots as low_rank_machine
from pinvlearn.readout.solve import solve

EPS = np.finfo(float).eps
N = 60
RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((N, 3)), RNG.standard_normal((25, 3))
Y = np.sin(X @ RNG.standard_normal((3, 2))) + 0.1 * RNG.standard_normal((N, 2)) + [0.0, 2.0]
CLASSES = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [-0.5, 0.5])]
BINARY = (Y[:, 0] > 0).astype(int)
WEIGHTS = RNG.uniform(0.2, 3.0, N)
LOW_RANK = ("randomized", "nystroem", "rpcholesky")
EVERY = ("exact", *LOW_RANK)
KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "laplacian": {"gamma": 0.3},
    "exponential": {"gamma": 0.3},
    "poly": {"gamma": 0.3, "degree": 2, "coef0": 0.5},
    "sigmoid": {"gamma": 0.01, "coef0": 0.2},
    "cosine": {},
}


def test_every_kernel_is_compared():
    assert KERNELS.keys() == kernels.KERNELS.keys()


def values(A, B, kernel="rbf"):
    """Kernel values by scikit-learn, which has every name but one."""
    if kernel == "exponential":
        return np.exp(-KERNELS[kernel]["gamma"] * scipy.spatial.distance.cdist(A, B))
    return pairwise_kernels(A, B, metric=kernel, **KERNELS[kernel])


def regressor(solver="exact", cls=KernelELMRegressor, **options):
    """Gaussian kernels of width 0.3; low-rank forms take every row unless told otherwise."""
    if solver in LOW_RANK:
        options = {"rank": N, **options}
    options = {"gamma": 0.3, "alpha": 0.1, "random_state": 0, **options}
    return cls(solver=solver, **options)


def classifier(solver="exact", **options):
    return regressor(solver, KernelELMClassifier, **options)


def bordered(K, Y, alpha, weights=None, intercept=True):
    """c and b of  (K + alpha·W⁻¹)c + b = Y,  1ᵀc = 0, from one dense matrix."""
    n = len(K)
    A = K + alpha * np.diag(1.0 / (np.ones(n) if weights is None else weights))
    if not intercept:
        return np.linalg.solve(A, Y), np.zeros(Y.shape[1])
    whole = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(whole, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:n], solution[n]


def coded(y):
    """Classes as the read-out sees them."""
    names = np.unique(y)
    columns = np.where(y[:, None] == names, 1.0, -1.0)
    return columns[:, 1:] if len(names) == 2 else columns


def stream(seed=0):
    """The stream that pivots and samples come from."""
    return generator(seed).spawn(2)[0]


def randomized(K, rank, n_oversamples=10, seed=0):
    return randomized_psd(K, rank, n_oversamples=n_oversamples, rng=stream(seed))


def close(found, expected, condition=1e4):
    """eps × size × condition (‖K‖ ≤ 60 and alpha ≥ 0.01, unless told otherwise)."""
    allowed = 10 * N * EPS * condition * np.abs(expected).max()
    np.testing.assert_allclose(np.reshape(found, np.shape(expected)), expected, atol=allowed)


def similar(found, expected):
    """For low-rank forms of kernels whose entries differ in rounding: what counts as a negligible
    pivot may differ, and a new row sees the root of what is left of it."""
    allowed = 10 * np.sqrt(NEGLIGIBLE) * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=allowed)


weighting = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["none", "intercept"])
solvers = pytest.mark.parametrize("solver", EVERY)


class TestExact:
    @weighting
    @pytest.mark.parametrize("alpha", [0.05, 2.0])
    @pytest.mark.parametrize("kernel", KERNELS)
    def test_equals_kernel_ridge(self, kernel, alpha, weights):
        model = KernelELMRegressor(
            kernel, alpha=alpha, solver="exact", fit_intercept=False, **KERNELS[kernel]
        ).fit(X, Y, weights)
        peer = KernelRidge(kernel="precomputed", alpha=alpha)
        peer.fit(values(X, X, kernel), Y, weights)
        close(model.coef_.T, peer.dual_coef_)
        close(model.predict(NEW), peer.predict(values(NEW, X, kernel)))
        np.testing.assert_array_equal(model.intercept_, 0.0)

    @weighting
    @intercepts
    @pytest.mark.parametrize("kernel", ["rbf", "laplacian", "exponential", "poly", "cosine"])
    def test_the_bordered_system(self, kernel, intercept, weights):
        model = KernelELMRegressor(
            kernel, alpha=0.1, solver="exact", fit_intercept=intercept, **KERNELS[kernel]
        ).fit(X, Y, weights)
        c, b = bordered(values(X, X, kernel), Y, 0.1, weights, intercept)
        close(model.coef_.T, c)
        close(model.intercept_, b)
        close(model.predict(NEW), values(NEW, X, kernel) @ c + b)
        assert model.rank_ == N

    def test_the_default_width_is_that_of_scikit_learn(self):
        model = regressor(gamma="scale").fit(X, Y)
        gamma = 1.0 / (3 * X.var())
        c, b = bordered(pairwise_kernels(X, metric="rbf", gamma=gamma), Y, 0.1)
        close(model.predict(NEW), pairwise_kernels(NEW, X, metric="rbf", gamma=gamma) @ c + b)

    def test_every_row_is_predicted_in_blocks(self):
        """More rows than a block of the engine."""
        many = np.random.default_rng(1).standard_normal((5000, 3))
        model = regressor().fit(X, Y)
        c, b = bordered(values(X, X), Y, 0.1)
        close(model.predict(many), values(many, X) @ c + b)

    def test_tiles(self, monkeypatch):
        expected = regressor().fit(X, Y).coef_
        monkeypatch.setattr(exact_machine, "TILE", 7)
        close(regressor().fit(X, Y).coef_, expected)


@solvers
class TestAllForms:
    def test_weights_are_repeated_rows(self, solver):
        counts = np.random.default_rng(1).integers(1, 4, N)
        again = np.repeat(np.arange(N), counts)
        rank = {} if solver == "exact" else {"rank": len(again)}
        weighted = regressor(solver).fit(X, Y, counts)
        repeated = regressor(solver, **rank).fit(X[again], Y[again])
        close(weighted.predict(NEW), repeated.predict(NEW), 1e5)

    def test_a_path_of_ridges_without_leave_one_out(self, solver):
        model = classifier(solver, alpha=[0.1, 1.0], loo_scoring=None).fit(X, CLASSES)
        assert len(model.gcv_scores_) == 2
        assert model.decoding_ == "argmax"
        with pytest.raises(ValueError, match="no row was left out here"):
            model.set_params(decoding="logistic").fit(X, CLASSES)

    def test_class_weights_are_weights(self, solver):
        by_class = {"a": 0.5, "b": 2.0, "c": 1.0}
        one = classifier(solver, class_weight=by_class).fit(X, CLASSES)
        two = classifier(solver).fit(X, CLASSES, [by_class[c] for c in CLASSES])
        close(one.decision_function(NEW), two.decision_function(NEW))

    @weighting
    @intercepts
    @pytest.mark.parametrize("alpha", [0.01, 1.0])
    def test_full_rank_is_exact(self, solver, alpha, intercept, weights):
        model = regressor(solver, alpha=alpha, fit_intercept=intercept).fit(X, Y, weights)
        c, b = bordered(values(X, X), Y, alpha, weights, intercept)
        close(model.predict(NEW), values(NEW, X) @ c + b, 1e5)
        close(model.intercept_, b + np.zeros(2), 1e5)

    @weighting
    @intercepts
    def test_leave_one_out_is_refitting(self, solver, intercept, weights):
        """Low-rank forms keep their map, as every learner here; at full rank it makes no odds."""
        model = regressor(solver, fit_intercept=intercept).fit(X, Y, weights)
        K = values(X, X)
        w = np.ones(N) if weights is None else weights
        expected = np.empty_like(Y)
        for i in range(N):
            others = np.arange(N) != i
            part = K[np.ix_(others, others)]
            c, b = bordered(part, Y[others], 0.1, w[others], intercept)
            expected[i] = K[i, others] @ c + b
        allowed = 1e-8 * np.abs(expected).max()
        np.testing.assert_allclose(model.loo_predictions_, expected, atol=allowed)
        score = -np.average(np.square(Y - expected).mean(axis=1), weights=w)
        np.testing.assert_allclose(model.loo_scores_, [score], rtol=1e-7)

    @pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["binary", "multi-class"])
    def test_leave_one_out_accuracy(self, solver, y):
        alphas = np.logspace(-2, 1, 4)
        model = classifier(solver, alpha=alphas, loo_scoring="accuracy", decoding="argmax")
        model.fit(X, y)
        K, T = values(X, X), coded(y)
        scores = []
        for alpha in alphas:
            left_out = np.empty_like(T)
            for i in range(N):
                others = np.arange(N) != i
                c, b = bordered(K[np.ix_(others, others)], T[others], alpha)
                left_out[i] = K[i, others] @ c + b
            best = left_out.argmax(axis=1) if T.shape[1] > 1 else (left_out[:, 0] > 0).astype(int)
            scores.append(accuracy_score(y, model.classes_[best]))
            if alpha == model.alpha_:
                found = model.loo_predictions_.reshape(T.shape)
                np.testing.assert_allclose(found, left_out, atol=1e-8 * np.abs(left_out).max())
        np.testing.assert_allclose(model.loo_scores_, scores, rtol=1e-12)
        assert model.alpha_ in alphas[np.asarray(scores) >= max(scores) - 1e-9]
        np.testing.assert_array_equal(model.alphas_, alphas)

    def test_a_row_of_weight_zero_is_a_new_row(self, solver):
        w = np.ones(N)
        w[:5] = 0.0
        model = regressor(solver).fit(X, Y, w)
        c, b = bordered(values(X[5:], X[5:]), Y[5:], 0.1)
        close(model.predict(NEW), values(NEW, X[5:]) @ c + b, 1e5)
        np.testing.assert_allclose(model.loo_predictions_[:5], model.predict(X[:5]), rtol=1e-8)

    def test_generalised_cross_validation(self, solver):
        alphas = np.logspace(-2, 2, 5)
        model = regressor(solver, alpha=alphas, loo_scoring=None).fit(X, Y)
        values_, vectors = np.linalg.eigh(values(X, X))
        features = vectors * np.sqrt(values_.clip(min=0.0))
        expected = [-oracles.generalised_cross_validation(features, Y, a) for a in alphas]
        np.testing.assert_allclose(model.gcv_scores_, expected, rtol=1e-6)
        assert model.alpha_ == alphas[np.argmax(expected)]
        assert not hasattr(model, "loo_predictions_")
        assert not hasattr(model, "loo_scores_")

    def test_weighted_generalised_cross_validation(self, solver):
        """All forms judge alike, and a factor on all weights changes alpha by that factor only."""
        alphas = np.logspace(-2, 2, 5)
        scores = [
            regressor(form, alpha=factor * alphas, loo_scoring=None)
            .fit(X, Y, factor * WEIGHTS)
            .gcv_scores_
            for form, factor in [("exact", 1.0), (solver, 1.0), (solver, 0.01)]
        ]
        np.testing.assert_allclose(scores[1], scores[0], rtol=1e-6)
        np.testing.assert_allclose(scores[2] / scores[2][0], scores[0] / scores[0][0], rtol=1e-6)

    @pytest.mark.parametrize(
        "kernel", ["linear", "rbf", "laplacian", "exponential", "poly", "cosine"]
    )
    def test_precomputed(self, solver, kernel):
        options = {**KERNELS[kernel], "kernel": kernel}
        computed = regressor(solver, **options).fit(X, Y)
        K, before = values(X, X, kernel), values(X, X, kernel)
        given = regressor(solver, kernel="precomputed").fit(K, Y)
        np.testing.assert_array_equal(K, before)
        similar(given.predict(values(NEW, X, kernel)), computed.predict(NEW))
        assert given.report_.method == solver

    def test_precomputed_of_a_small_rank(self, solver):
        """The columns of the pivots are taken from all those that are given."""
        rank = {} if solver == "exact" else {"rank": 9}
        computed = regressor(solver, **rank).fit(X, Y)
        given = regressor(solver, kernel="precomputed", **rank).fit(values(X, X), Y)
        close(given.predict(values(NEW, X)), computed.predict(NEW), 1e7)

    def test_precomputed_in_cross_validation(self, solver):
        """scikit-learn cuts rows and columns of a pairwise matrix."""
        options = {} if solver == "exact" else {"rank": 0.5}
        computed = cross_val_score(classifier(solver, **options), X, CLASSES, cv=3)
        given = cross_val_score(
            classifier(solver, kernel="precomputed", **options), values(X, X), CLASSES, cv=3
        )
        np.testing.assert_allclose(given, computed)

    def test_a_callable_kernel(self, solver):
        named = regressor(solver).fit(X, Y)
        called = regressor(solver, kernel=values).fit(X, Y)
        similar(called.predict(NEW), named.predict(NEW))

    @pytest.mark.parametrize(
        "kernel", ["linear", "rbf", "laplacian", "exponential", "poly", "cosine"]
    )
    def test_sparse_rows(self, solver, kernel):
        A = np.where(np.abs(X) > 0.7, X, 0.0)
        options = {"kernel": kernel, **KERNELS[kernel]}
        dense = regressor(solver, **options).fit(A, Y)
        sparse = regressor(solver, **options).fit(scipy.sparse.csr_array(A), Y)
        similar(sparse.predict(scipy.sparse.csr_array(NEW)), dense.predict(NEW))
        similar(sparse.predict(NEW), dense.predict(NEW))

    def test_sparse_rows_have_the_same_default_width(self, solver):
        A = np.where(np.abs(X) > 0.7, X, 0.0)
        dense, sparse = (
            regressor(solver, gamma="scale").fit(B, Y) for B in (A, scipy.sparse.csr_matrix(A))
        )
        similar(sparse.predict(NEW), dense.predict(NEW))

    def test_the_same_seed_gives_the_same_bits(self, solver):
        rank = {} if solver == "exact" else {"rank": 8}
        one, two, other = (
            regressor(solver, random_state=s, n_jobs=j, **rank).fit(X, Y)
            for s, j in [(0, 1), (0, 2), (1, 1)]
        )
        np.testing.assert_array_equal(one.predict(NEW), two.predict(NEW))
        if solver != "exact":
            assert not np.array_equal(one.predict(NEW), other.predict(NEW))

    def test_copies(self, solver, tmp_path):
        rank = {} if solver == "exact" else {"rank": 8}
        for make, y in ((regressor, Y), (classifier, CLASSES)):
            model = make(solver, **rank).fit(X, y)
            expected = model.predict(NEW)
            np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW), expected)
            np.testing.assert_array_equal(clone(model).fit(X, y).predict(NEW), expected)
            pinvlearn.save(model, tmp_path / "model.skops")
            loaded = pinvlearn.load(tmp_path / "model.skops")
            np.testing.assert_array_equal(loaded.predict(NEW), expected)

    def test_saved_with_sparse_rows_and_given_kernels(self, solver, tmp_path):
        for kernel, A, B in [
            ("rbf", scipy.sparse.csr_array(X), NEW),
            ("precomputed", values(X, X), values(NEW, X)),
        ]:
            model = regressor(solver, kernel=kernel).fit(A, Y)
            pinvlearn.save(model, tmp_path / "model.skops")
            loaded = pinvlearn.load(tmp_path / "model.skops")
            np.testing.assert_array_equal(loaded.predict(B), model.predict(B))

    def test_intervals(self, solver):
        model = regressor(solver).fit(X, Y[:, 0])
        lower, upper = model.predict_interval(NEW, coverage=0.8)
        errors = np.sort(np.abs(Y[:, 0] - model.loo_predictions_))
        np.testing.assert_allclose(upper - lower, 2 * errors[int(np.ceil(0.8 * 61)) - 1])
        np.testing.assert_allclose((lower + upper) / 2, model.predict(NEW), atol=1e-12)

    @pytest.mark.parametrize("y", [BINARY, CLASSES], ids=["binary", "multi-class"])
    def test_probabilities(self, solver, y):
        model = classifier(solver).fit(X, y)
        found = model.predict_proba(NEW)
        assert found.shape == (25, len(np.unique(y)))
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(NEW))
        without = classifier(solver, loo_scoring=None).fit(X, y)
        with pytest.raises(AttributeError, match="predict_proba"):
            without.predict_proba(NEW)

    def test_one_training_row_or_kernels_that_are_zero(self, solver):
        """All that can be learned is the intercept."""
        options = {} if solver == "exact" else {"rank": 1}
        for alpha in (0.1, "auto"):
            one = regressor(solver, alpha=alpha, **options).fit(X[:1], Y[:1])
            close(one.predict(NEW), np.tile(Y[0], (25, 1)))
            none = regressor(solver, kernel="linear", alpha=alpha, **options)
            none.fit(np.zeros((N, 2)), Y)
            close(none.predict(NEW[:, :2]), np.tile(Y.mean(axis=0), (25, 1)))

    def test_kernel_values_that_are_not_finite(self, solver):
        def kernel(A, B):
            block = values(A, B)
            block[np.isclose(A[:, 0], X[7, 0])] = np.nan
            return block

        with pytest.raises(ValueError, match="kernel.*(NaN|finite)"):
            regressor(solver, kernel=kernel).fit(X, Y)


class TestRandomized:
    """[MW15] Algorithm 3 and its two prediction rules."""

    @intercepts
    @weighting
    @pytest.mark.parametrize("alpha", [0.01, 1.0])
    def test_equation_20(self, alpha, weights, intercept):
        """Train on the approximate kernel, predict with the exact one."""
        model = regressor(
            "randomized", rank=9, alpha=alpha, consistent=False, fit_intercept=intercept
        ).fit(X, Y, weights)
        low, _, _ = randomized(values(X, X), 9)
        c, b = bordered(low.to_array(), Y, alpha, weights, intercept)
        close(model.predict(NEW), values(NEW, X) @ c + b, 1e5)

    def test_equation_20_as_printed(self):
        """f(x) = k(x, X)·C·(I - G(I/C + GᵀG)⁻¹Gᵀ)T."""
        C = 8.0
        G = randomized(values(X, X), 9)[0].F
        inner = np.linalg.inv(np.eye(G.shape[1]) / C + G.T @ G)
        expected = values(NEW, X) @ (C * (np.eye(N) - G @ inner @ G.T)) @ Y
        model = regressor(
            "randomized", rank=9, alpha=1 / C, consistent=False, fit_intercept=False
        ).fit(X, Y)
        close(model.predict(NEW), expected, 1e5)

    @intercepts
    @weighting
    @pytest.mark.parametrize("alpha", [0.01, 1.0])
    def test_consistent(self, alpha, weights, intercept):
        """Ridge on φ(x) = k(x, X) U D^(-1/2), for training rows and new ones alike."""
        model = regressor("randomized", rank=9, alpha=alpha, fit_intercept=intercept)
        model.fit(X, Y, weights)
        K = values(X, X)
        low, U, D = randomized(K, 9)
        coef, b = oracles.ridge(low.F, Y, alpha, weights=weights, intercept=intercept)
        features = values(NEW, X) @ (U / np.sqrt(D))
        close(model.predict(NEW), features @ coef + b, 1e6)

    @weighting
    @intercepts
    def test_leave_one_out_on_its_features(self, weights, intercept):
        model = regressor("randomized", rank=9, fit_intercept=intercept).fit(X, Y, weights)
        F = randomized(values(X, X), 9)[0].F
        expected = oracles.leave_one_out(F, Y, 0.1, weights=weights, intercept=intercept)
        np.testing.assert_allclose(
            model.loo_predictions_, expected, atol=1e-8 * np.abs(expected).max()
        )

    @pytest.mark.parametrize("p", [2, 20])
    def test_oversampling(self, p):
        model = regressor("randomized", rank=9, n_oversamples=p).fit(X, Y)
        assert model.rank_ == 9 + p

    def test_the_report_sets_the_bound_beside_the_error(self):
        model = regressor("randomized", rank=9).fit(X, Y)
        low, _, _ = randomized(values(X, X), 9)
        error = np.linalg.norm(values(X, X) - low.to_array())
        (note,) = [n for n in model.report_.notes if "Theorem 3.1" in n]
        assert f"Frobenius error {error:.4g}" in note

    def test_equation_20_collapses_for_large_c_and_is_repaired(self):
        """C = 2⁸, k = 0.1n, as on the paper's data: digits, 400 rows."""
        D, digits = load_digits(return_X_y=True)
        D = D / 16.0
        train, test = slice(0, 400), slice(900, 1500)

        def score(**options):
            model = KernelELMClassifier(
                gamma=0.02, alpha=2.0**-8, fit_intercept=False, loo_scoring=None, random_state=0,
                **options,
            )  # fmt: skip
            return model.fit(D[train], digits[train]).score(D[test], digits[test])

        exact = score(solver="exact")
        paper = score(solver="randomized", rank=0.1, consistent=False)
        repaired = score(solver="randomized", rank=0.1)
        assert exact > 0.93
        assert paper < 0.5
        assert repaired > exact - 0.08

    def test_equation_20_needs_a_ridge(self):
        with pytest.raises(ValueError, match=r"Eq. \(20\).*alpha > 0"):
            regressor("randomized", rank=9, alpha=0.0, consistent=False).fit(X, Y)


@pytest.mark.parametrize("solver", ["nystroem", "rpcholesky"])
class TestPivoted:
    @intercepts
    @weighting
    @pytest.mark.parametrize("alpha", [0.01, 1.0])
    def test_ridge_on_the_nystroem_features(self, solver, alpha, weights, intercept):
        model = regressor(solver, rank=9, alpha=alpha, fit_intercept=intercept)
        model.fit(X, Y, weights)
        H = model.map_(X)
        centers = model.map_.base.centers
        inner = values(centers, centers)
        assert np.isclose(centers[:, None], X).all(axis=-1).any(axis=1).all()
        low = values(X, centers) @ np.linalg.solve(inner, values(centers, X))
        np.testing.assert_allclose(H @ H.T, low, atol=N * EPS * np.linalg.cond(inner) * 10)
        coef, b = oracles.ridge(H, Y, alpha, weights=weights, intercept=intercept)
        close(model.predict(NEW), model.map_(NEW) @ coef + b, 1e6)
        expected = oracles.leave_one_out(H, Y, alpha, weights=weights, intercept=intercept)
        np.testing.assert_allclose(
            model.loo_predictions_, expected, atol=1e-8 * np.abs(expected).max()
        )

    @pytest.mark.parametrize("gamma", [1.0, 0.1, 0.01, 1e-3])
    @pytest.mark.parametrize("rank", [20, N])
    def test_the_map_is_the_one_that_was_trained(self, solver, rank, gamma, monkeypatch):
        """map(X) = F up to eps × size × condition of the pivots' factor."""
        trained = []

        def spy(problem, *arguments):
            trained.append(problem.stacked()[0])
            return solve(problem, *arguments)

        monkeypatch.setattr(low_rank_machine, "solve", spy)
        model = regressor(solver, rank=rank, gamma=gamma).fit(X, Y)
        allowed = 10 * N * EPS / np.sqrt(NEGLIGIBLE)
        np.testing.assert_allclose(model.map_(X), trained[0], atol=allowed)

    @pytest.mark.parametrize("alpha", [1e-4, 1e-6, 1e-8])
    @pytest.mark.parametrize("gamma", [0.1, 0.01])
    def test_smooth_kernels_and_small_ridges(self, solver, gamma, alpha):
        """At full rank the fit is the exact one up to what negligible pivots hold, over alpha."""
        y = Y[:, 0]
        low, exact = (
            regressor(form, gamma=gamma, alpha=alpha).fit(X, y).predict(X)
            for form in (solver, "exact")
        )
        allowed = 1e-8 + N * NEGLIGIBLE / alpha
        assert np.abs(low - exact).max() <= min(allowed, 0.1) * np.abs(y).max()

    def test_no_more_than_n_times_k_entries_are_evaluated(self, solver):
        evaluated = []

        def kernel(A, B):
            evaluated.append(len(A) * len(B))
            return values(A, B)

        rows = np.random.default_rng(0).standard_normal((800, 3))
        model = KernelELMRegressor(kernel, solver=solver, rank=40, alpha=0.1, random_state=0).fit(
            rows, rows[:, 0]
        )
        assert model.map_.n_columns == 40
        assert sum(evaluated) <= 800 * (40 + 64) + 4 * 40**2  # columns, diagonal tiles, corners
        assert max(evaluated) < 800 * 64

    def test_duplicated_rows(self, solver):
        """No more pivots than different rows."""
        again = np.repeat(np.arange(20), 3)
        model = regressor(solver, gamma=2.0).fit(X[again], Y[again])
        assert model.map_.n_columns == 20


class TestColumns:
    """One alpha, uniform pivots and nothing left out: no features are made."""

    @intercepts
    @weighting
    @pytest.mark.parametrize("alpha", [1e-6, 0.01, 1.0])
    @pytest.mark.parametrize("rank", [9, 30])
    def test_ridge_on_the_nystroem_features(self, rank, alpha, weights, intercept):
        model = regressor(
            "nystroem", rank=rank, alpha=alpha, fit_intercept=intercept, loo_scoring=None
        ).fit(X, Y, weights)
        assert "kernel columns" in model.report_.reason
        assert model.rank_ == rank
        coef, b = oracles.ridge(model.map_(X), Y, alpha, weights=weights, intercept=intercept)
        expected = model.map_(NEW) @ coef + b
        np.testing.assert_allclose(model.predict(NEW), expected, atol=1e-7 * np.abs(expected).max())

    @pytest.mark.parametrize("alpha", [1e-6, 0.1])
    def test_nearly_dependent_columns_are_whitened(self, alpha):
        """The same machine as with leave-one-out, which always takes the features."""
        by_columns, by_features = (
            regressor("nystroem", gamma=1e-3, rank=40, alpha=alpha, loo_scoring=scoring).fit(X, Y)
            for scoring in (None, "mse")
        )
        assert "kernel columns" not in by_columns.report_.reason
        expected = by_features.predict(NEW)
        np.testing.assert_allclose(
            by_columns.predict(NEW), expected, atol=1e-6 * np.abs(expected).max()
        )


class TestRank:
    @pytest.mark.parametrize("solver", ["nystroem", "rpcholesky"])
    @pytest.mark.parametrize(("rank", "columns"), [(7, 7), (0.2, 12), (0.001, 1), (np.int64(9), 9)])
    def test_number_or_fraction(self, solver, rank, columns):
        model = regressor(solver, rank=rank).fit(X, Y)
        assert model.map_.n_columns == columns
        assert model.rank_ <= columns
        assert f"{columns} pivots" in " ".join(model.report_.notes)

    def test_an_explicit_rank_is_obeyed_by_auto(self):
        model = regressor("auto", rank=10).fit(X, Y)
        assert model.map_.n_columns == 10
        assert model.report_.method in ("nystroem", "rpcholesky")
        assert "rank" in model.report_.reason

    @pytest.mark.parametrize("solver", ["nystroem", "rpcholesky"])
    @pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
    def test_auto_doubles_while_validation_gains(self, solver, noise, monkeypatch):
        """The rule written out: from 4, doubling while the last two gains promise a percent."""
        monkeypatch.setattr(low_rank_machine, "FIRST_RANK", 4)
        n, alphas = 300, np.logspace(-4, 2, 7)
        rng = np.random.default_rng(1)
        rows = rng.standard_normal((n, 2))
        y = np.sin(2 * rows).sum(axis=1) + noise * rng.standard_normal(n)
        model = regressor(solver, rank="auto", gamma=0.5, alpha=alphas).fit(rows, y)
        K = model.map_.base.kernel(rows, rows)
        pivots = Pivots(as_kernel_matrix(K), stream(), uniform=solver == "nystroem")

        def error(F):
            return min(oracles.generalised_cross_validation(F, y[:, None], a) for a in alphas)

        k, errors = 4, []
        while True:
            pivots.grow(k)
            F = pivots.F
            if k == n // 2 or F.shape[1] < k:
                break
            if not errors:
                errors = [error(F[:, :1]), error(F[:, :2])]
            errors.append(error(F))
            first, last = np.log(errors[-3] / errors[-2]), np.log(errors[-2] / errors[-1])
            promise = last**2 / first if first > last > 0.0 else max(last, 0.0)
            if 1.0 - np.exp(-promise) < 0.01:
                break
            k = min(2 * k, n // 2)
        assert model.map_.n_columns == F.shape[1]
        note = model.report_.notes[0]
        assert f"{F.shape[1]} pivots leave" in note
        assert ("promises to gain less than 1%" in note) == (F.shape[1] == k < n // 2)

    def test_auto_keeps_within_its_work(self):
        rows = np.random.default_rng(0).standard_normal((400, 3))
        y = np.sin(3.0 * rows).sum(axis=1)
        model = regressor("rpcholesky", rank="auto", max_work=1e7).fit(rows, y)
        k = model.map_.n_columns
        assert 5 * 400 * k**2 + 12 * k**3 <= 1e7 < 5 * 400 * (k + 1) ** 2 + 12 * (k + 1) ** 3
        assert "what max_work=1e+07 allows" in model.report_.notes[0]
        with pytest.raises(ValueError, match="max_work"):
            regressor("rpcholesky", max_work=-1.0).fit(rows, y)

    def test_a_curve_that_starts_slowly_is_followed(self):
        promised = low_rank_machine.promised_gain
        assert promised([1.0, 0.99]) == np.inf
        assert promised([1.0, 0.995, 0.97]) == pytest.approx(1.0 - 0.97 / 0.995)
        assert promised([1.0, 0.9, 0.89]) < 0.01
        assert promised([1.0, 0.9, 0.91]) == 0.0

    @pytest.mark.parametrize("solver", LOW_RANK)
    def test_auto_says_why_it_stopped(self, solver):
        model = regressor(solver, rank="auto").fit(X, Y)
        assert "half the rows" in model.report_.notes[0]
        assert model.rank_ <= N // 2 + 10
        assert "was given" in regressor(solver, rank=5).fit(X, Y).report_.notes[0]

    @pytest.mark.parametrize("solver", LOW_RANK)
    def test_auto_on_few_rows(self, solver):
        model = regressor(solver, rank="auto").fit(X[:3], Y[:3])
        assert np.isfinite(model.predict(NEW)).all()


class TestAuto:
    def test_few_rows_are_solved_exactly(self):
        model = regressor("auto").fit(X, Y)
        assert model.report_.method == "exact"
        assert "60 rows are few enough" in model.report_.reason
        assert "few enough" in str(model.report_)
        np.testing.assert_array_equal(model.predict(NEW), regressor("exact").fit(X, Y).predict(NEW))

    def test_many_rows_by_pivots(self, monkeypatch):
        monkeypatch.setattr(kernel_elm, "EXACT_ROWS", 50)
        model = regressor("auto").fit(X, Y)
        assert model.report_.method == "rpcholesky"
        assert "60 rows" in model.report_.reason
        expected = regressor("rpcholesky", rank="auto").fit(X, Y).predict(NEW)
        np.testing.assert_array_equal(model.predict(NEW), expected)

    def test_a_choice_is_reported_as_such(self):
        assert "chosen by the caller" in regressor("nystroem").fit(X, Y).report_.reason

    def test_the_defaults_learn(self):
        iris, species = load_iris(return_X_y=True)
        assert cross_val_score(KernelELMClassifier(), iris, species, cv=5).mean() > 0.94

    @pytest.mark.parametrize("solver", EVERY)
    def test_the_default_path(self, solver):
        model = regressor(solver, alpha="auto").fit(X, Y)
        assert len(model.alphas_) == len(model.loo_scores_) == 31
        assert model.alpha_ in model.alphas_
        assert np.square(Y - model.predict(X)).mean() < 0.1


class TestSinglePrecision:
    @intercepts
    def test_agrees_with_double(self, intercept):
        single, double = (
            regressor(fit_intercept=intercept, loo_scoring=None, single_precision=flag).fit(X, Y)
            for flag in (True, False)
        )
        difference = np.abs(single.predict(NEW) - double.predict(NEW)).max()
        assert difference <= 1e-6 * np.abs(Y).max()
        assert "float32" in single.report_.reason
        assert "float32" not in double.report_.reason
        assert single.coef_.dtype == np.float64

    @pytest.mark.parametrize("alpha", [1e-5, 1e-6, 1e-7])
    def test_right_or_refused(self, alpha):
        options = {"gamma": 0.01, "alpha": alpha, "loo_scoring": None}
        double = regressor(**options).fit(X, Y).predict(X)
        model = regressor(single_precision=True, **options)
        try:
            single = model.fit(X, Y).predict(X)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError, match="single_precision=False"):
                model.fit(X, Y)
            return
        assert np.abs(single - double).max() <= 1e-5 * np.abs(Y).max()

    @pytest.mark.parametrize(
        "options", [{"alpha": "auto"}, {"alpha": np.array([0.1, 1.0])}, {"loo_scoring": "mse"}]
    )
    def test_no_path_and_no_leave_one_out(self, options):
        options = {"loo_scoring": None, **options}
        with pytest.raises(ValueError, match="alpha as a number and loo_scoring=None"):
            regressor(single_precision=True, **options).fit(X, Y)

    def test_no_weights(self):
        with pytest.raises(ValueError, match="without weights"):
            regressor(single_precision=True, loo_scoring=None).fit(X, Y, WEIGHTS)

    @pytest.mark.parametrize("solver", LOW_RANK)
    def test_only_for_exact(self, solver):
        with pytest.raises(ValueError, match="single_precision"):
            regressor(solver, single_precision=True, loo_scoring=None).fit(X, Y)


class TestDigits:
    """What the rounding of kernel values costs is reported, and refused where it is too much."""

    ROWS = np.random.default_rng(0).standard_normal((100, 20))
    TARGET = ROWS @ np.random.default_rng(1).standard_normal(20) + np.random.default_rng(
        2
    ).standard_normal(100)

    def fit(self, alpha, **options):
        return KernelELMRegressor("linear", alpha=alpha, solver="exact", **options).fit(
            self.ROWS, self.TARGET
        )

    @pytest.mark.parametrize("scoring", ["mse", None])
    @pytest.mark.parametrize("alpha", [1e-14, [1e-14], 1e-12, [1e-12]])
    def test_a_ridge_that_nothing_can_resolve(self, alpha, scoring):
        """Off by 3.5 % and by 8e-4 in silence, once."""
        with pytest.raises(np.linalg.LinAlgError, match="beyond the digits.*larger alpha"):
            self.fit(alpha, loo_scoring=scoring)

    @pytest.mark.parametrize("scoring", ["mse", None])
    @pytest.mark.parametrize("alpha", [0.0, 1e-10, 1e-8, 1e-4])
    def test_a_number_and_a_list_of_one(self, alpha, scoring):
        one, path = (self.fit(a, loo_scoring=scoring) for a in (alpha, [alpha]))
        np.testing.assert_array_equal(one.coef_, path.coef_)
        coef, offset = oracles.ridge(self.ROWS, self.TARGET, alpha, intercept=True)
        error = np.linalg.norm(one.predict(self.ROWS) - self.ROWS @ coef - offset)
        spread = np.linalg.norm(self.TARGET - self.TARGET.mean())
        assert error <= one.report_.error * spread
        assert one.report_.error <= 1e-3

    @pytest.mark.parametrize("solver", ["nystroem", "rpcholesky"])
    @pytest.mark.parametrize("scoring", ["mse", None])
    @pytest.mark.parametrize("alpha", [1e-14, 1e-12, 1e-8, 1e-3])
    def test_pivots_predict_what_their_map_gives(self, solver, scoring, alpha):
        """But for rounding, of which the report says how much there is."""
        rows = np.linspace(0.0, 1.0, 150)[:, None]
        y = np.sin(9 * rows[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(150)
        model = KernelELMRegressor(
            "rbf", gamma=3.0, solver=solver, rank=20, alpha=alpha, loo_scoring=scoring,
            random_state=0,
        )  # fmt: skip
        try:
            model.fit(rows, y)
        except np.linalg.LinAlgError:
            assert alpha < 1e-11
            with pytest.raises(np.linalg.LinAlgError, match="beyond the digits.*smaller rank"):
                model.fit(rows, y)
            return
        through_map = model.map_(rows) @ model.coef_ + model.intercept_
        difference = np.linalg.norm(model.predict(rows) - through_map)
        assert difference <= model.report_.error * np.linalg.norm(y - y.mean())
        said = "rounding of kernel values" in " ".join(model.report_.notes)
        assert said == (model.report_.error > 1e-8)

    @pytest.mark.parametrize("solver", EVERY)
    @pytest.mark.parametrize("alpha", ["auto", 1.0])
    def test_gram_matrices_of_single_precision(self, solver, alpha):
        """Their rounding leaves eigenvalues of -1e-7: indefinite, by the measure of float64."""
        single = self.ROWS.astype(np.float32)
        K = single @ single.T
        assert np.linalg.eigvalsh(K.astype(float))[0] < -1e-7
        model = KernelELMRegressor("precomputed", solver=solver, alpha=alpha, random_state=0)
        model.fit(K, self.TARGET)
        expected = oracles.ridge(self.ROWS, self.TARGET, model.alpha_, intercept=True)
        np.testing.assert_allclose(
            model.predict(K), self.ROWS @ expected[0] + expected[1], atol=1e-3
        )

    def test_a_kernel_that_is_indefinite_beyond_the_rounding_of_its_numbers(self):
        K = np.diag(np.linspace(-0.1, 1.0, 12)).astype(np.float32)
        with pytest.raises(np.linalg.LinAlgError, match="indefinite"):
            KernelELMRegressor("precomputed", solver="exact").fit(K, np.arange(12.0))


class TestMemory:
    @pytest.fixture
    def _small_machine(self, monkeypatch):
        monkeypatch.setattr(memory, "available_memory", lambda: 20 * 1024)

    @pytest.mark.usefixtures("_small_machine")
    @pytest.mark.parametrize("solver", ["exact", "randomized"])
    def test_refused_before_any_work(self, solver):
        def kernel(A, B):
            raise AssertionError("evaluated")

        with pytest.raises(MemoryError, match=r"60 rows need .* GiB.*rpcholesky"):
            regressor(solver, kernel=kernel).fit(X, Y)

    @pytest.mark.usefixtures("_small_machine")
    @pytest.mark.parametrize("solver", ["nystroem", "rpcholesky"])
    def test_the_remedy_works(self, solver):
        assert regressor(solver, rank=5).fit(X, Y).map_.n_columns == 5


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"rank": 0}, r"rank=0: .* give an integer in 1 … 60, or a share of 60"),
            ({"rank": -3}, r"rank=-3: .* give"),
            ({"rank": N + 1}, r"rank=61: .* give an integer in 1 … 60"),
            ({"rank": 1.5}, r"rank=1.5: .* give"),
            ({"rank": None}, r"rank=None: give"),
            ({"rank": "many"}, r"rank='many' is not known; .* 'auto', or give an integer"),
            ({"alpha": -1.0}, r"alpha=-1.0 must be a finite number of at least 0"),
            ({"alpha": np.nan}, r"alpha=nan"),
            ({"alpha": "best"}, r"alpha='best'"),
            ({"alpha": [0.1, -1.0]}, r"a path must be"),
            ({"gamma": 0}, r"gamma=0 must be"),
            ({"gamma": -1.0}, r"gamma=-1.0 must be"),
            ({"gamma": "wide"}, r"gamma='wide' is not known; .* 'auto', or give a number"),
            ({"kernel": "tent"}, r"kernel='tent' is not known; choose one of 'linear', 'rbf'"),
            ({"kernel": None}, r"kernel=None is not known"),
            ({"solver": "best"}, r"solver='best' is not known; .*'rpcholesky'"),
            ({"solver": "exact", "rank": 5}, r'solver="exact" takes no rank'),
            ({"solver": "randomized", "n_oversamples": -1}, r"n_oversamples=-1"),
            ({"loo_scoring": "r2"}, r"loo_scoring='r2'"),
        ],
    )
    def test_parameters(self, options, message):
        for cls, y in ((KernelELMRegressor, Y), (KernelELMClassifier, CLASSES)):
            with pytest.raises(ValueError, match=message):
                cls(**options).fit(X, y)

    @pytest.mark.parametrize("name", ["degree", "coef0"])
    def test_numbers_of_the_polynomial(self, name):
        with pytest.raises(ValueError, match=f"{name}='x'"):
            KernelELMRegressor("poly", **{name: "x"}).fit(X, Y)

    @solvers
    def test_given_kernels(self, solver):
        K = values(X, X)
        model = regressor(solver, kernel="precomputed")
        with pytest.raises(ValueError, match=r"square for fit; its shape is \(60, 5\)"):
            model.fit(K[:, :5], Y)
        K[3, 4] += 0.5
        with pytest.raises(ValueError, match="symmetric.*differ by up to 0.5"):
            model.fit(K, Y)
        with pytest.raises((TypeError, ValueError), match="[Ss]parse"):
            model.fit(scipy.sparse.csr_array(values(X, X)), Y)
        model.fit(values(X, X), Y)
        with pytest.raises(ValueError, match="10 features.*60"):
            model.predict(values(NEW, X)[:, :10])

    @solvers
    @pytest.mark.parametrize("alpha", [0.01, "auto"])
    def test_indefinite_kernels(self, solver, alpha):
        K = values(X, X) - 0.5 * np.eye(N)
        with pytest.raises(np.linalg.LinAlgError, match="positive (semi)?definite|indefinite"):
            regressor(solver, kernel="precomputed", alpha=alpha).fit(K, Y)

    def test_a_callable_of_the_wrong_shape(self):
        with pytest.raises(ValueError, match="kernel.*shape"):
            regressor(kernel=lambda A, B: A.sum(axis=1)).fit(X, Y)

    @pytest.mark.parametrize(
        ("kernel", "message"),
        [
            (lambda A, B: values(A, B[:, ::-1] + 0.3), r"k\(x, z\) and k\(z, x\) differ by up to"),
            (lambda A, B: values(A, B) / np.linalg.norm(A), "a row alone and others differ by"),
            (lambda A, B: values(A, B) + 0.1j, "gave complex values; real ones are needed"),
        ],
    )
    def test_a_callable_that_is_no_kernel(self, kernel, message):
        """Half of the matrix was ignored, or the real part taken, without a word."""
        for solver in ("exact", "rpcholesky"):
            with pytest.raises(ValueError, match=message):
                regressor(solver, kernel=kernel, alpha=10.0).fit(X, Y)

    def test_a_callable_may_write_to_its_rows(self):
        """Centres, and the caller's rows, were others at every call."""

        def doubled(A, B):
            A *= 2.0
            B *= 2.0
            return values(A, B)

        given = X.copy()
        for solver in ("exact", "rpcholesky"):
            model = regressor(solver, kernel=doubled, alpha=0.1).fit(given, Y)
            other = regressor(solver, kernel=lambda A, B: values(2.0 * A, 2.0 * B), alpha=0.1)
            expected = other.fit(X, Y).predict(NEW)
            for _ in range(2):
                np.testing.assert_array_equal(model.predict(NEW), expected)
            np.testing.assert_array_equal(given, X)

    def test_a_callable_takes_no_sparse_rows(self):
        with pytest.raises(TypeError, match="[Ss]parse"):
            regressor(kernel=values).fit(scipy.sparse.csr_array(X), Y)

    def test_a_failed_fit_changes_nothing(self):
        model = regressor().fit(X, Y)
        expected = model.predict(NEW)
        model.set_params(kernel=lambda A, B: -values(A, B))
        with pytest.raises(np.linalg.LinAlgError):
            model.fit(X, Y)
        np.testing.assert_array_equal(model.predict(NEW), expected)


def test_command_line(tmp_path):
    table = np.column_stack([X, BINARY])
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header="a,b,c,kind", comments="")
    out = tmp_path / "model.skops"
    arguments = ["fit", str(tmp_path / "table.csv"), "--target", "kind", "--model", "kernel-elm"]
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    learner = pinvlearn.load(out)[-1]
    assert isinstance(learner, KernelELMClassifier)
    assert learner.report_.method == "exact"
    assert learner.corrected_accuracy_ > 0.7


@pytest.mark.filterwarnings("ignore:The feature scales differ")
@pytest.mark.parametrize("solver", ["exact", "rpcholesky", "nystroem"])
def test_rows_that_lie_far_out_make_no_kernel_indefinite(solver):
    """Distances of the others would have no digits left about a mean that they have moved."""
    rows = np.vstack([X, [[1e10, 0.0, 0.0], [1e10, 1e-3, 0.0]]])
    y = np.append(Y[:, 0], [0.0, 0.0])
    model = KernelELMRegressor(gamma=0.5, alpha=1e-6, solver=solver, direct_links=False)
    model.set_params(random_state=0).fit(rows, y)
    K = np.exp(-0.5 * scipy.spatial.distance.cdist(rows, rows, "sqeuclidean"))
    assert model.score(rows, y) > 0.5
    if solver == "exact":
        np.testing.assert_allclose(model.map_(rows), K, atol=1e-13)
