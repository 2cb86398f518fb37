"""[MW15] Eq. (19) and (21) for a hidden layer, against dense matrices made of the same sample."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import pinvlearn
from matrices import fast, slow
from oracles import ridge
from pinvlearn import ELMClassifier, ELMRegressor, PinvRegressor
from pinvlearn._validation import generator
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.features.random_layer import Inputs
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solve import solve
from pinvlearn.readout.solvers import RandomizedSVD

EPS = np.finfo(float).eps
IRIS, SPECIES = load_iris(return_X_y=True)
H = slow(80, 50) * 10.0 + np.linspace(0.0, 1.0, 50)
Y = np.random.default_rng(1).standard_normal((80, 2)) + [0.0, 3.0]
WEIGHTS = np.random.default_rng(2).uniform(0.2, 3.0, 80)
ALPHAS = [1e-6, 1e-2, 1.0]


def problem(weights=None, intercept=True, seed=0, H=H, Y=Y):
    rows = rows_in_memory(Inputs(H.shape[1]), H, Y, weights, H.shape[1], 1)
    return Problem(rows, intercept, None, np.random.default_rng(seed))


def centred(weights, intercept):
    """Z and Y as the read-out sees them."""
    w = np.ones(len(H)) if weights is None else weights
    H_mean = np.average(H, axis=0, weights=w) if intercept else 0.0
    Y_mean = np.average(Y, axis=0, weights=w) if intercept else 0.0
    root = np.sqrt(w)[:, None]
    return root * (H - H_mean), root * (Y - Y_mean)


def basis(Z, width, seed=0):
    """Steps 2 to 4 of Algorithm 3 with M = ZZᵀ, from the sample that the solver draws."""
    sample = np.random.default_rng(seed).standard_normal((len(Z), width))
    return np.linalg.qr(Z @ (Z.T @ sample))[0]


weighting = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["none", "intercept"])


def close(found, expected, alpha):
    """eps × size × condition of ZZᵀ + alpha."""
    condition = np.linalg.norm(H, 2) ** 2 / alpha + 1.0
    allowed = max(1e-12, 10 * len(H) * EPS * condition) * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=allowed)


@weighting
@intercepts
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("rank", [1, 8, 25])
class TestOracles:
    def test_consistent_is_ridge_on_the_projection(self, rank, alpha, intercept, weights):
        Z, T = centred(weights, intercept)
        Q = basis(Z, rank + 5)
        factor, _ = RandomizedSVD(rank, n_oversamples=5).factor(problem(weights, intercept), alpha)
        expected, _ = ridge(Q @ (Q.T @ Z), T, alpha)
        close(factor.coef(alpha), expected, alpha)

    def test_inconsistent_is_equation_21(self, rank, alpha, intercept, weights):
        Z, T = centred(weights, intercept)
        Q = basis(Z, rank + 5)
        solver = RandomizedSVD(rank, n_oversamples=5, consistent=False)
        factor, _ = solver.factor(problem(weights, intercept), alpha)
        M = Q @ (Q.T @ Z) @ (Q.T @ Z).T @ Q.T
        expected = Z.T @ np.linalg.solve(M + alpha * np.eye(len(Z)), T)
        close(factor.coef(alpha), expected, alpha)

    def test_one_factor_for_all_alphas(self, rank, alpha, intercept, weights):
        for consistent in (True, False):
            solver = RandomizedSVD(rank, consistent=consistent)
            first, _ = solver.factor(problem(weights, intercept), alpha)
            other, _ = solver.factor(problem(weights, intercept), 100.0)
            np.testing.assert_array_equal(first.coef(alpha), other.coef(alpha))


@weighting
@intercepts
@pytest.mark.parametrize("consistent", [True, False])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_all_directions_are_the_ridge_solution(alpha, consistent, intercept, weights):
    solver = RandomizedSVD(50, consistent=consistent)
    found = solve(problem(weights, intercept), solver, alpha)
    coef, offset = ridge(H, Y, alpha, weights=weights, intercept=intercept)
    close(found.coef, coef, alpha)
    close(found.intercept, offset, alpha)


def test_without_ridge_it_is_the_pseudo_inverse_of_the_projection():
    Z, T = centred(None, True)
    Q = basis(Z, 13)
    factor, _ = RandomizedSVD(8, n_oversamples=5).factor(problem(), 0.0)
    expected = np.linalg.pinv(Q.T @ Z) @ (Q.T @ T)
    np.testing.assert_allclose(factor.coef(0.0), expected, atol=1e-10 * np.abs(expected).max())
    assert factor.rank == 13


def test_equation_21_needs_a_ridge():
    with pytest.raises(ValueError, match=r"Eq. \(21\).*above 0"):
        solve(problem(), RandomizedSVD(8, consistent=False), 0.0)


def test_equation_21_fails_for_small_ridges_and_the_projection_does_not():
    """What the sample misses is multiplied by 1/alpha instead of being left out."""
    A = fast(80, 50)
    truth = A @ np.random.default_rng(0).standard_normal((50, 1))
    rows = problem(H=A, Y=truth)
    errors = {}
    for consistent in (True, False):
        found = solve(rows, RandomizedSVD(8, n_oversamples=2, consistent=consistent), 1e-8)
        errors[consistent] = np.linalg.norm(A @ found.coef + found.intercept - truth)
    assert errors[True] < 0.3 * np.linalg.norm(truth)
    assert errors[False] > 10.0 * np.linalg.norm(truth)


class TestWidth:
    @pytest.mark.parametrize(
        ("rank", "width"),
        [(None, 8 + 10), (7, 17), (0.25, 20 + 10), (0.001, 1 + 10), (45, 50), (1, 11)],
    )
    def test_samples(self, rank, width):
        factor, report = RandomizedSVD(rank).factor(problem(), 1.0)
        assert len(factor.s) == width
        assert report.method == "randomized"
        assert f"{width} samples" in report.reason

    def test_the_same_seed_gives_the_same_bits(self):
        one, two, other = (
            RandomizedSVD(5).factor(problem(seed=s), 1.0)[0].coef(1.0) for s in (0, 0, 1)
        )
        np.testing.assert_array_equal(one, two)
        assert not np.array_equal(one, other)

    def test_rank_deficient(self):
        A = H @ np.diag(np.arange(50) < 6)
        found = solve(problem(H=A), RandomizedSVD(20), 0.1)
        coef, _ = ridge(A, Y, 0.1, intercept=True)
        np.testing.assert_allclose(found.coef, coef, atol=1e-10)

    def test_a_constant_layer(self):
        found = solve(problem(H=np.ones((80, 50))), RandomizedSVD(5), 0.1)
        np.testing.assert_allclose(found.coef, 0.0, atol=1e-10)
        np.testing.assert_allclose(found.intercept, Y.mean(axis=0), atol=1e-10)


class TestELM:
    @pytest.mark.parametrize("cls", [ELMClassifier, ELMRegressor])
    @pytest.mark.parametrize("rank", [None, 5, 0.1])
    def test_rank(self, cls, rank):
        y = SPECIES if cls is ELMClassifier else IRIS[:, 0]
        model = cls(40, solver="randomized", rank=rank, alpha=0.1, random_state=0).fit(IRIS, y)
        width = {None: 25, 5: 15, 0.1: 25}[rank]
        assert model.rank_ == min(width, 40)
        assert "randomized" in model.report_.method
        as_object = cls(40, solver=RandomizedSVD(rank), alpha=0.1, random_state=0).fit(IRIS, y)
        np.testing.assert_array_equal(model.coef_, as_object.coef_)

    def test_coefficients(self):
        """The solver of a learner gets the second of its two streams."""
        model = ELMRegressor(40, solver="randomized", rank=10, alpha=0.1, random_state=3)
        model.fit(IRIS, IRIS[:, 2:])
        layer = model.map_(IRIS)
        Z, T = layer - layer.mean(axis=0), IRIS[:, 2:] - IRIS[:, 2:].mean(axis=0)
        stream = generator(3).spawn(2)[1]
        Q, _ = np.linalg.qr(Z @ (Z.T @ stream.standard_normal((150, 20))))
        expected, _ = ridge(Q @ (Q.T @ Z), T, 0.1)
        np.testing.assert_allclose(model.coef_.T, expected, atol=1e-9 * np.abs(expected).max())

    def test_learns(self):
        exact, low = (
            ELMClassifier(100, random_state=0, **options).fit(IRIS, SPECIES).score(IRIS, SPECIES)
            for options in ({}, {"solver": "randomized", "rank": 0.1})
        )
        assert low >= exact - 0.02

    def test_a_path(self):
        model = ELMRegressor(40, solver="randomized", rank=10, random_state=0)
        model.fit(IRIS, IRIS[:, 0])
        assert len(model.alphas_) == len(model.loo_scores_) == 31
        assert model.score(IRIS, IRIS[:, 0]) > 0.9

    @pytest.mark.parametrize("solver", ["randomized", RandomizedSVD(6, consistent=False)])
    def test_copies(self, solver, tmp_path):
        model = ELMRegressor(20, solver=solver, alpha=1.0, random_state=0).fit(IRIS, IRIS[:, 0])
        expected = model.predict(IRIS)
        again = clone(model).fit(IRIS, IRIS[:, 0])
        np.testing.assert_array_equal(again.predict(IRIS), expected)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(IRIS), expected)
        pinvlearn.save(model, tmp_path / "model.skops")
        loaded = pinvlearn.load(tmp_path / "model.skops")
        np.testing.assert_array_equal(loaded.predict(IRIS), expected)

    @pytest.mark.parametrize("rank", [0, -2, 1.5, 0.0, "many"])
    def test_ranks_that_are_none(self, rank):
        with pytest.raises(ValueError, match=f"rank={rank!r} must be an integer of at least 1"):
            ELMRegressor(20, solver="randomized", rank=rank).fit(IRIS, IRIS[:, 0])

    def test_a_rank_above_the_rows(self):
        with pytest.raises(ValueError, match="rank=151.*1 … 150"):
            ELMRegressor(200, solver="randomized", rank=151).fit(IRIS, IRIS[:, 0])

    def test_a_rank_for_another_solver_truncates_its_decomposition(self):
        assert ELMRegressor(20, rank=5).fit(IRIS, IRIS[:, 0]).rank_ == 5

    def test_a_share_truncates_it_too(self):
        assert ELMRegressor(20, rank=0.3).fit(IRIS, IRIS[:, 0]).rank_ == 6
        with pytest.raises(ValueError, match=r"rank=1.5: .*give an integer in 1 … 20"):
            ELMRegressor(20, rank=1.5).fit(IRIS, IRIS[:, 0])

    def test_the_rank_may_be_chosen_by_leave_one_out(self):
        model = ELMRegressor(20, solver="randomized", rank="loo", alpha=1e-3, random_state=0)
        assert model.fit(IRIS, IRIS[:, 0]).rank_ in model.sizes_

    def test_what_lies_outside_cannot_be_truncated(self):
        solver = RandomizedSVD(6, consistent=False)
        with pytest.raises(ValueError, match="makes none"):
            ELMRegressor(20, solver=solver, rank="loo", alpha=1.0).fit(IRIS, IRIS[:, 0])

    @pytest.mark.parametrize(
        "options", [{"rank": 0}, {"rank": -1}, {"rank": 3, "n_oversamples": -5}]
    )
    def test_solver_objects_are_checked_too(self, options):
        with pytest.raises(ValueError, match="rank=|n_oversamples="):
            ELMRegressor(20, solver=RandomizedSVD(**options)).fit(IRIS, IRIS[:, 0])


def test_directions_that_a_sample_of_squares_does_not_hold_are_cut_off():
    """Without a ridge noise was divided by singular values down to 1e-14: worse than the mean."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 8)) * np.logspace(0.0, -14.0, 8), rng.standard_normal(12)
    model = PinvRegressor(alpha=0.0, solver="randomized", random_state=0)
    with pytest.warns(UserWarning, match="The feature scales differ"):
        model.fit(X, y)
    assert np.linalg.norm(model.predict(X) - y) <= np.linalg.norm(y - y.mean())
    assert np.abs(model.coef_).max() < 1e9
