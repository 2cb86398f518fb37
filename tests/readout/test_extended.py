"""Leave-one-out to twice the precision, against refits in 90 digits."""

import numpy as np
import pytest
import scipy.sparse

import decimals
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout import extended
from pinvlearn.readout.extended import (
    Augmented,
    KernelSystem,
    left_out_again,
    left_out_exactly,
    scale_of,
    take_better,
)
from pinvlearn.readout.kernel_factors import KernelRows, Spectrum
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import MSE

EPS = np.finfo(float).eps
ROWS = 12
EXACT = 1e-13


def smooth(rows, columns, width=2.0):
    """Wide kernels: condition numbers of 1e10 and more."""
    x, c = np.linspace(0.0, 1.0, rows), np.linspace(0.0, 1.0, columns)
    return np.exp(-np.square((x[:, None] - c) / width))


def targets(rows=ROWS, t=2):
    return np.random.default_rng(0).standard_normal((rows, t)) + [0.0, 3.0]


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def weights(request):
    return np.random.default_rng(2).uniform(0.2, 3.0, ROWS) if request.param else np.ones(ROWS)


@pytest.mark.parametrize("intercept", [False, True], ids=["through zero", "intercept"])
@pytest.mark.parametrize("columns", [5, ROWS - 1, ROWS, 30])
@pytest.mark.parametrize("alpha", [1e-13, 1e-6, 1.0])
def test_any_shape_at_any_ridge(alpha, columns, intercept, weights):
    H, Y = smooth(ROWS, columns), targets()
    assert np.linalg.cond(H) > 1e5
    system = Augmented(H, np.sqrt(weights), alpha, intercept)
    assert system.is_solvable
    found, moved, fit = left_out_exactly(system, Y, np.arange(ROWS))
    exact = decimals.leave_one_out(H, Y, alpha, weights=weights, intercept=intercept)
    scale = scale_of(Y, exact)
    assert (np.abs(found - exact) <= EXACT * scale).all()
    assert (moved <= 1e-9 * scale).all()
    assert fit.B.shape == (columns, 2)


@pytest.mark.parametrize("columns", [4, 20])
def test_without_ridge(columns):
    H, Y = np.random.default_rng(3).standard_normal((ROWS, columns)), targets()
    found, _, _ = left_out_exactly(Augmented(H, np.ones(ROWS), 0.0, True), Y, np.arange(ROWS))
    exact = decimals.leave_one_out(H, Y, 0.0)
    np.testing.assert_allclose(found, exact, atol=EXACT * np.abs(exact).max())


def test_without_ridge_a_row_may_be_the_only_one_of_its_direction():
    H, Y = np.random.default_rng(3).standard_normal((ROWS, 4)), targets()
    H[:, 0] = 0.0
    H[5, 0] = 1.0
    found, _, _ = left_out_exactly(Augmented(H, np.ones(ROWS), 0.0, True), Y, np.arange(ROWS))
    exact = decimals.leave_one_out(H, Y, 0.0)
    np.testing.assert_allclose(found, exact, atol=EXACT * np.abs(exact).max())


def test_what_no_correction_would_mend_is_told():
    H = np.random.default_rng(3).standard_normal((ROWS, 4))
    H[:, 3] = H[:, 0] + H[:, 1]
    assert not Augmented(H, np.ones(ROWS), 0.0, True).is_solvable
    assert not Augmented(np.zeros((ROWS, 2)), np.ones(ROWS), 0.0, True).is_solvable
    assert Augmented(H, np.ones(ROWS), 1e-6, True).is_solvable


@pytest.mark.parametrize("intercept", [False, True], ids=["none", "intercept"])
@pytest.mark.parametrize("alpha", [1e-10, 1e-3])
def test_kernel_machines(alpha, intercept, weights):
    H, Y = smooth(ROWS, 30, width=0.5), targets()
    K = H @ H.T
    K = (K + K.T) / 2.0
    root = np.sqrt(weights)
    spectrum = Spectrum.of(KernelRows.of(K.copy(), Y, root, intercept), EPS)
    system = KernelSystem(K, root, alpha, intercept, spectrum.duals, spectrum.mean)
    some = np.array([0, 3, 7])
    found, moved, fit = left_out_exactly(system, Y, some)
    exact = decimals.leave_one_out(K, Y, alpha, weights=weights, intercept=intercept, kernel=True)
    np.testing.assert_allclose(found, exact[some], atol=EXACT * np.abs(exact).max())
    assert moved.max() <= 1e-9 * np.abs(exact).max()
    left = Y - K @ fit.u - alpha * fit.u / weights[:, None] - fit.b
    assert np.abs(left).max() <= 1e3 * EPS * np.abs(K).max() * np.abs(fit.u).sum(axis=0).max()


def problem(H, Y, weights=None):
    rows = rows_in_memory(lambda X: X, H, Y, weights, H.shape[1], 1)
    return Problem(rows, True, MSE, np.random.default_rng(0))


class TestAgain:
    H, Y = smooth(ROWS, 30), targets()
    WEIGHTS = np.where(np.arange(ROWS) % 5 == 0, 0.0, 1.0)

    @pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
    def test_only_uncertain_rows_are_found_again(self, kind):
        """Those without weight among them, which are predicted like new ones."""
        exact = decimals.leave_one_out(self.H, self.Y, 1e-9, weights=self.WEIGHTS)
        rough, errors = exact + 1e-3, np.zeros_like(exact)
        errors[[0, 1, 2]] = 1e-2
        given = problem(kind(self.H), self.Y, self.WEIGHTS)
        again = left_out_again(given, 1e-9, self.Y, rough, errors, 1e-8)
        scale = np.abs(exact).max()
        np.testing.assert_allclose(again.predictions[:3], exact[:3], atol=1e-9 * scale)
        np.testing.assert_array_equal(again.predictions[3:], rough[3:])
        assert again.errors[:3].max() <= 1e-8 * scale
        assert self.WEIGHTS[0] == 0.0
        expected = -np.square(self.Y - again.predictions).mean(axis=1)
        assert again.verdict.scores[0] == pytest.approx(np.average(expected, weights=self.WEIGHTS))

    def test_no_more_work_than_allowed(self, monkeypatch):
        arguments = problem(self.H, self.Y), 1e-9, self.Y, self.Y, np.ones_like(self.Y), 1e-8
        assert left_out_again(*arguments) is not None
        monkeypatch.setattr(extended, "MOST_WORK", 10.0)
        assert left_out_again(*arguments) is None


def test_worse_values_are_not_taken():
    predictions, errors = np.zeros((3, 1)), np.array([[1.0], [1e-9], [1.0]])
    found, moved = np.array([[5.0], [5.0]]), np.array([[0.1], [np.nan]])
    take_better(predictions, errors, np.array([0, 2]), found, moved)
    np.testing.assert_array_equal(predictions, [[5.0], [0.0], [0.0]])
    np.testing.assert_array_equal(errors, [[0.1], [1e-9], [1.0]])
