"""The read-out on all kernel columns against the dense bordered system it stands for."""

import numpy as np
import pytest
import scipy.linalg

import decimals
from oracles import leave_one_out, ridge
from pinvlearn._core.cholesky import SingleFactor
from pinvlearn.linalg.kernel import as_kernel_matrix
from pinvlearn.readout import kernel, kernel_factors
from pinvlearn.readout.kernel import (
    PATH_DECADES,
    KernelTask,
    solve_kernel,
    solve_single_precision,
)
from pinvlearn.readout.kernel_factors import KernelRows, by_cholesky, by_mixed_cholesky
from pinvlearn.readout.scoring import MSE

EPS = np.finfo(float).eps
N = 40


def bordered(K, Y, alpha, weights=None, intercept=True):
    """c and b of  (K + alpha·W⁻¹)c + b = Y,  1ᵀc = 0, from one dense matrix; weights above 0."""
    n = len(K)
    weights = np.ones(n) if weights is None else weights
    A = K + alpha * np.diag(1.0 / weights)
    if not intercept:
        return np.linalg.solve(A, Y), np.zeros(Y.shape[1])
    whole = np.block([[A, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(whole, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
    return solution[:n], solution[n]


def refitted(K, Y, alpha, weights=None, intercept=True):
    """Prediction for each row by a fit to all others."""
    n = len(K)
    weights = np.ones(n) if weights is None else weights
    left_out = np.empty_like(Y)
    for i in range(n):
        others = np.flatnonzero((np.arange(n) != i) & (weights > 0.0))
        c, b = bordered(K[np.ix_(others, others)], Y[others], alpha, weights[others], intercept)
        left_out[i] = K[i, others] @ c + b
    return left_out


@pytest.fixture(params=[0.5, 0.02], ids=["sharp", "smooth"])
def K(request):
    X = np.random.default_rng(0).standard_normal((N, 3))
    return np.exp(-request.param * np.square(X[:, None] - X).sum(axis=-1))


@pytest.fixture
def Y():
    return np.random.default_rng(1).standard_normal((N, 2)) + [0.0, 5.0]


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def weights(request):
    return np.random.default_rng(2).uniform(0.2, 3.0, N) if request.param else None


intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["none", "intercept"])
ALPHAS = [1e-6, 1e-2, 10.0]


def tolerance(K, alpha):
    """eps × size × condition of K + alpha (weights spread it by at most 15)."""
    return 15 * N * EPS * (N / alpha + 1.0)


class TestSingleFactors:
    """Weights to the digits of double precision, rows left out to the error that is told."""

    @pytest.fixture(autouse=True)
    def few_are_many(self, monkeypatch):
        monkeypatch.setattr(kernel_factors, "MANY", 8)

    def rows(self, K, Y, weights, intercept=True):
        root = np.ones(N) if weights is None else np.sqrt(weights)
        return KernelRows.of(K.copy(), Y, root, intercept)

    @intercepts
    @pytest.mark.parametrize("alpha", [1e-2, 10.0])
    def test_what_is_told_of_their_errors_is_true(self, K, Y, weights, alpha, intercept):
        rows = self.rows(K, Y, weights, intercept)
        exact = by_cholesky(self.rows(K, Y, weights, intercept), alpha)
        fit = by_mixed_cholesky(rows, alpha, limit=1.0)
        scale = np.abs(exact.dual.weights).max()
        np.testing.assert_allclose(fit.dual.weights, exact.dual.weights, atol=1e-8 * scale)
        np.testing.assert_allclose(fit.offset, exact.offset, atol=1e-7)
        one, two = (f.dual.numerator / f.dual.freedom[:, None] for f in (fit, exact))
        assert (np.abs(one - two) <= fit.dual.moved + exact.dual.moved).all()
        assert 0.0 < fit.dual.moved.max() < 1e-2

    @pytest.mark.parametrize(
        ("alpha", "limit", "row", "many", "tried"),
        [
            (1e-2, 1e-12, 0, 8, [10]),
            (1e-9, 1.0, 0, 8, [10]),
            (1e-9, 1.0, N - 2, 8, [10, N]),
            (1e-2, 1.0, 0, 41, []),
        ],
    )
    def test_where_they_are_not_enough_nothing_has_happened(
        self, K, Y, alpha, limit, row, many, tried, monkeypatch
    ):
        """Two rows are equal; a quarter of many tells first, and of few there is no gain."""
        sizes = []

        def watched(K, alpha):
            sizes.append(len(K))
            return SingleFactor(K, alpha)

        monkeypatch.setattr(kernel_factors, "MANY", many)
        monkeypatch.setattr(kernel_factors, "SingleFactor", watched)
        K[row + 1], K[:, row + 1], K[row + 1, row + 1] = K[row], K[:, row], 1.0
        rows = self.rows(K, Y, None)
        assert by_mixed_cholesky(rows, alpha, limit) is None
        assert sizes == tried
        np.testing.assert_array_equal(rows.K, K)

    def test_a_task_may_ask_for_them(self, K, Y, monkeypatch):
        monkeypatch.setattr(kernel, "MOST_WORK", 0.0)
        found = {}
        for mixed in (False, True):
            task = KernelTask(None, None, Y, None, 0.1, MSE, True, (), mixed=mixed)
            monkeypatch.setattr(KernelTask, "rounding", EPS)
            every = np.arange(N)
            found[mixed] = kernel.solve_part(K.copy(), None, every, task)
        assert "float32" in found[True].report.reason
        assert "float32" not in found[False].report.reason
        off = np.abs(found[True].leave_one_out - found[False].leave_one_out)
        assert (off <= found[True].leave_one_out_error).all()
        assert found[True].leave_one_out_error.max() > 1e-8


@intercepts
@pytest.mark.parametrize("alpha", ALPHAS)
class TestOneAlpha:
    def test_the_bordered_system(self, K, Y, weights, alpha, intercept):
        c, b = bordered(K, Y, alpha, weights, intercept)
        found = solve_kernel(K.copy(), Y, weights, intercept=intercept, alpha=alpha, score=None)
        allowed = tolerance(K, alpha) * np.abs(c).max()
        np.testing.assert_allclose(found.coef, c, atol=allowed)
        np.testing.assert_allclose(found.intercept, b, atol=tolerance(K, alpha) * 10)
        assert found.alpha == alpha
        assert found.scores is None
        assert found.leave_one_out is None
        if intercept:
            np.testing.assert_allclose(found.coef.sum(axis=0), 0.0, atol=N * allowed)

    def test_leave_one_out_is_refitting(self, K, Y, weights, alpha, intercept):
        expected = refitted(K, Y, alpha, weights, intercept)
        found = solve_kernel(K.copy(), Y, weights, intercept=intercept, alpha=alpha, score=MSE)
        allowed = max(1e-8, tolerance(K, alpha)) * np.abs(expected).max()
        assert np.abs(found.leave_one_out - expected).max() <= allowed
        w = np.ones(N) if weights is None else weights
        score = -np.average(np.square(Y - found.leave_one_out).mean(axis=1), weights=w)
        np.testing.assert_allclose(found.scores, [score], rtol=1e-10)

    def test_a_path_of_one_is_the_same(self, K, Y, weights, alpha, intercept):
        """By an eigendecomposition instead of a Cholesky factor."""
        one, path = (
            solve_kernel(K.copy(), Y, weights, intercept=intercept, alpha=a, score=MSE)
            for a in (alpha, np.array([alpha]))
        )
        allowed = tolerance(K, alpha) * np.abs(one.coef).max()
        np.testing.assert_allclose(path.coef, one.coef, atol=allowed)
        largest = np.abs(one.leave_one_out).max()
        np.testing.assert_allclose(
            path.leave_one_out, one.leave_one_out, atol=max(1e-8, tolerance(K, alpha)) * largest
        )


@intercepts
def test_a_path_is_judged_by_leave_one_out(K, Y, weights, intercept):
    alphas = np.logspace(-4, 2, 7)
    found = solve_kernel(K.copy(), Y, weights, intercept=intercept, alpha=alphas, score=MSE)
    w = np.ones(N) if weights is None else weights
    expected = [
        -np.average(np.square(Y - refitted(K, Y, a, weights, intercept)).mean(axis=1), weights=w)
        for a in alphas
    ]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-7)
    best = alphas[np.argmax(expected)]
    assert found.alpha == best
    c, _ = bordered(K, Y, best, weights, intercept)
    np.testing.assert_allclose(found.coef, c, atol=tolerance(K, best) * np.abs(c).max())


@intercepts
def test_generalised_cross_validation(K, Y, intercept):
    """n·RSS / (n - df)² with the dense hat matrix, where leave-one-out is not asked for."""
    alphas = np.logspace(-3, 2, 6)
    found = solve_kernel(K.copy(), Y, None, intercept=intercept, alpha=alphas, score=None)
    expected = []
    for alpha in alphas:
        hat = np.empty((N, N))
        for j in range(N):
            c, b = bordered(K, np.eye(N)[:, [j]], alpha, None, intercept)
            hat[:, j] = (K @ c + b)[:, 0]
        rss = np.square(Y - hat @ Y).sum(axis=0).mean()
        expected.append(-N * rss / (N - np.trace(hat)) ** 2)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-8)
    assert found.alpha == alphas[np.argmax(expected)]
    assert found.leave_one_out is None


def test_the_built_in_path(K, Y):
    found = solve_kernel(K.copy(), Y, None, intercept=True, alpha=None, score=MSE)
    largest = scipy.linalg.eigvalsh(K)[-1]
    assert len(found.alphas) == len(found.scores) == 31
    np.testing.assert_allclose(
        found.alphas[[0, -1]], largest * 10.0 ** np.array(PATH_DECADES), rtol=1e-10
    )
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize("alpha", [0.1, np.array([0.1, 1.0])], ids=["one", "path"])
@intercepts
def test_rows_of_weight_zero(K, Y, alpha, intercept):
    """They change nothing, and are predicted like new rows."""
    w = np.ones(N)
    w[:6] = 0.0
    found = solve_kernel(K.copy(), Y, w, intercept=intercept, alpha=alpha, score=MSE)
    c, b = bordered(K[6:, 6:], Y[6:], found.alpha, None, intercept)
    atol = 1e-8 * np.abs(c).max()
    np.testing.assert_allclose(found.coef[6:], c, atol=atol)
    np.testing.assert_allclose(found.coef[:6], 0.0, atol=atol)
    expected = refitted(K, Y, found.alpha, w, intercept)
    np.testing.assert_allclose(found.leave_one_out, expected, atol=1e-8 * np.abs(expected).max())


def test_no_ridge_interpolates(Y):
    X = np.random.default_rng(3).standard_normal((N, 3))
    K = np.exp(-5.0 * np.square(X[:, None] - X).sum(axis=-1))
    found = solve_kernel(K.copy(), Y, None, intercept=False, alpha=0.0, score=MSE)
    allowed = N * EPS * np.linalg.cond(K) * np.abs(Y).max()
    np.testing.assert_allclose(K @ found.coef, Y, atol=allowed)
    expected = refitted(K, Y, 0.0, None, False)
    np.testing.assert_allclose(found.leave_one_out, expected, atol=10 * allowed)


class TestIndefinite:
    @pytest.fixture
    def indefinite(self, K):
        return K - 0.3 * np.eye(N)

    def test_one_alpha(self, indefinite, Y):
        with pytest.raises(np.linalg.LinAlgError, match="indefinite.*larger alpha"):
            solve_kernel(indefinite, Y, None, intercept=True, alpha=0.1, score=None)

    def test_path(self, indefinite, Y):
        with pytest.raises(np.linalg.LinAlgError, match=r"indefinite.*smallest eigenvalue is -0"):
            solve_kernel(indefinite, Y, None, intercept=True, alpha=None, score=None)

    def test_an_alpha_that_is_large_enough(self, indefinite, Y):
        found = solve_kernel(indefinite.copy(), Y, None, intercept=True, alpha=1.0, score=None)
        c, _ = bordered(indefinite, Y, 1.0)
        np.testing.assert_allclose(found.coef, c, atol=1e-10)

    def test_rounding_is_no_reason(self, Y):
        K = np.ones((N, N)) + EPS * np.random.default_rng(0).standard_normal((N, N))
        K = (K + K.T) / 2.0
        assert scipy.linalg.eigvalsh(K)[0] < 0.0
        found = solve_kernel(K, Y, None, intercept=False, alpha=None, score=MSE)
        np.testing.assert_allclose(
            found.coef.sum(), N * 2 * Y.mean() / (N + found.alpha), rtol=1e-6
        )


def test_rounding_beside_a_large_mean_is_not_indefinite():
    """Centring leaves noise of 1e17·eps, which is large beside all that is left of K."""
    X = np.random.default_rng(0).standard_normal((12, 8)) + 1e8
    y = X[:, :1] - X[:, :1].mean()
    found = solve_kernel(X @ X.T, y, intercept=True, weights=None, alpha=1e6, score=MSE)
    assert found.error < 1e-2
    with pytest.raises(np.linalg.LinAlgError, match="beyond the digits of the kernel matrix"):
        solve_kernel(X @ X.T, y, intercept=True, weights=None, alpha=1e-4, score=MSE)


class TestDigits:
    """A ridge that the rounding of K makes meaningless is refused; others say what they cost."""

    ROWS = np.random.default_rng(0).standard_normal((60, 6))
    Y = np.random.default_rng(1).standard_normal((60, 1))

    def solve(self, alpha, score=None, K=None):
        K = self.ROWS @ self.ROWS.T if K is None else K
        return solve_kernel(K.copy(), self.Y, None, intercept=True, alpha=alpha, score=score)

    def ridge(self, alpha):
        coef, offset = ridge(self.ROWS, self.Y, alpha, intercept=True)
        return self.ROWS @ coef + offset

    @pytest.mark.parametrize("score", [None, MSE], ids=["plain", "leave-one-out"])
    @pytest.mark.parametrize("alpha", [1e-11, 1e-9, 1e-6, 1e-2])
    def test_the_error_that_is_reported_is_there_at_most(self, alpha, score):
        K, found = self.ROWS @ self.ROWS.T, self.solve(alpha, score)
        error = np.linalg.norm(K @ found.coef + found.intercept - self.ridge(alpha))
        assert error <= found.report.error * np.linalg.norm(self.Y - self.Y.mean())
        said = "rounding of kernel values" in " ".join(found.report.notes)
        assert said == (found.error > 1e-8)

    @pytest.mark.parametrize("score", [None, MSE], ids=["plain", "leave-one-out"])
    @pytest.mark.parametrize("alpha", [1e-15, np.array([1e-15]), np.array([1e-16, 1e-15])])
    def test_beyond_them_there_is_no_answer(self, alpha, score):
        with pytest.raises(np.linalg.LinAlgError, match="beyond the digits.*larger alpha"):
            self.solve(alpha, score)

    @pytest.mark.parametrize("score", [None, MSE], ids=["validation", "leave-one-out"])
    def test_a_path_is_chosen_from_what_is_within_them(self, score):
        found = self.solve(np.array([1e-16, 1e-3, 1.0]), score)
        assert np.isneginf(found.scores[0])
        assert np.isfinite(found.scores[1:]).all()
        assert "1 alphas are beyond the digits" in found.report.notes[0]

    @pytest.mark.parametrize("score", [None, MSE], ids=["plain", "leave-one-out"])
    @pytest.mark.parametrize("alpha", [0.0, 1e-8, 0.1, 10.0])
    def test_a_number_and_a_path_of_one_are_the_same(self, alpha, score):
        one, path = (self.solve(a, score) for a in (alpha, np.array([alpha])))
        np.testing.assert_array_equal(one.coef, path.coef)
        np.testing.assert_array_equal(one.intercept, path.intercept)
        assert one.report.reason == path.report.reason

    @pytest.mark.parametrize("intercept", [False, True])
    def test_without_ridge_a_singular_kernel_is_least_squares(self, intercept):
        K = self.ROWS @ self.ROWS.T
        found = solve_kernel(K.copy(), self.Y, None, intercept=intercept, alpha=0.0, score=MSE)
        coef, offset = ridge(self.ROWS, self.Y, 0.0, intercept=intercept)
        fitted = K @ found.coef + found.intercept
        np.testing.assert_allclose(fitted, self.ROWS @ coef + offset, atol=1e-10)
        expected = leave_one_out(self.ROWS, self.Y, 0.0, intercept=intercept)
        np.testing.assert_allclose(found.leave_one_out, expected, atol=1e-10)

    def test_without_ridge_a_spectrum_that_fades_out_is_told(self):
        x = np.linspace(0.0, 1.0, 60)
        found = self.solve(0.0, None, np.exp(-np.square(x[:, None] - x)))
        assert found.error > 1e-5
        assert "rounding of kernel values" in found.report.notes[-1]

    @pytest.mark.parametrize("alpha", [1e-9, np.array([1e-9, 1e-8])], ids=["one", "path"])
    def test_small_ridges_are_left_out_exactly(self, alpha):
        """Given the values of K; as far as that is affordable."""
        x = np.linspace(0.0, 3.0, 16)
        K = np.exp(-np.square(x[:, None] - x))
        Y = np.sin(2 * x)[:, None]
        found = solve_kernel(K.copy(), Y, None, intercept=True, alpha=alpha, score=MSE)
        exact = decimals.leave_one_out(K, Y, found.alpha, kernel=True)
        np.testing.assert_allclose(found.leave_one_out, exact, atol=1e-8 * np.abs(exact).max())
        assert found.leave_one_out_error.max() <= 1e-8 * np.abs(exact).max()
        best = list(found.alphas).index(found.alpha)
        expected = -np.square(Y - found.leave_one_out).mean()
        assert found.scores[best] == pytest.approx(expected, rel=1e-9)

    def test_large_problems_say_what_they_keep(self, monkeypatch):
        monkeypatch.setattr(kernel, "MOST_WORK", 0.0)
        x = np.linspace(0.0, 3.0, 16)
        K = np.exp(-np.square(x[:, None] - x))
        Y = np.sin(2 * x)[:, None]
        found = solve_kernel(K.copy(), Y, None, intercept=True, alpha=1e-12, score=MSE)
        exact = decimals.leave_one_out(K, Y, 1e-12, kernel=True)
        assert (np.abs(found.leave_one_out - exact) <= found.leave_one_out_error).all()
        assert "leave-one-out predictions may be wrong" in found.report.notes[-1]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("size", [1, 2, 30])
def test_the_unit_of_the_built_in_path(size, intercept):
    """The largest eigenvalue of K, though what is decomposed lacks the intercept's direction."""
    rng = np.random.default_rng(size)
    X = rng.standard_normal((size, 3)) + 1.0
    K = X @ X.T
    found = solve_kernel(K.copy(), X[:, :1], None, intercept=intercept, alpha=None, score=MSE)
    largest = np.linalg.eigvalsh(K)[-1]
    np.testing.assert_allclose(found.alphas[-1], largest, rtol=1e-12)


def test_kernel_values_that_cannot_be_squared_are_refused():
    with pytest.raises(ValueError, match=r"Kernel values reach 1e\+150; 1e\+140 is the most"):
        kernel.check_range(np.array([1.0, 1e150]))
    kernel.check_range(np.array([1e140]))


class TestSinglePrecision:
    @pytest.fixture(autouse=True)
    def _tiles(self, monkeypatch):
        monkeypatch.setattr(kernel, "TILE", 13)

    def solve(self, K, Y, alpha, intercept=True):
        self.evaluated = 0
        given = as_kernel_matrix(K)

        class Counted:
            diagonal = given.diagonal

            def __call__(counted, rows, columns):  # noqa: N805
                self.evaluated += len(rows)
                return given(rows, columns)

        task = KernelTask(Counted(), None, Y, None, alpha, None, intercept, ())
        return solve_single_precision(task)

    @intercepts
    @pytest.mark.parametrize("alpha", [1e-2, 10.0])
    def test_digits_of_double_precision(self, K, Y, alpha, intercept):
        c, b = bordered(K, Y, alpha, None, intercept)
        found = self.solve(K, Y, alpha, intercept)
        assert found.coef.dtype == np.float64
        np.testing.assert_allclose(K @ found.coef + found.intercept, K @ c + b, atol=1e-8)
        np.testing.assert_allclose(found.coef, c, atol=1e-7 * np.abs(c).max())
        assert self.evaluated >= 2 * N  # one float32 solve alone has seven digits at best

    def test_targets_far_from_zero(self, K, Y):
        near, far = self.solve(K, Y, 0.1), self.solve(K, Y + 1e8, 0.1)
        np.testing.assert_allclose(far.coef, near.coef, atol=1e-6)
        np.testing.assert_allclose(far.intercept - 1e8, near.intercept, atol=1e-6)

    @pytest.mark.parametrize("alpha", [1e-2, 1e-3, 1e-4])
    def test_the_error_is_that_of_the_weights(self, alpha, Y):
        """Corrections win as many digits each, and were taken to double them."""
        X = np.random.default_rng(0).standard_normal((N, 3))
        K = np.exp(-0.02 * np.square(X[:, None] - X).sum(axis=-1))
        c, _ = bordered(K, Y, alpha)
        found = self.solve(K, Y, alpha)
        left = np.linalg.norm(found.coef - c) / np.linalg.norm(c)
        assert left < 3.0 * found.error < 3e-8

    @pytest.mark.parametrize("alpha", [1e-5, 3e-6, 1e-6, 3e-7, 1e-7, 0.0])
    @pytest.mark.parametrize("gamma", [0.5, 0.02, 0.005])
    def test_right_or_refused(self, gamma, alpha, Y):
        """Beyond the digits of float32 there is the right answer or none."""
        X = np.random.default_rng(0).standard_normal((N, 3))
        K = np.exp(-gamma * np.square(X[:, None] - X).sum(axis=-1))
        try:
            found = self.solve(K, Y, alpha)
        except np.linalg.LinAlgError:
            with pytest.raises(np.linalg.LinAlgError, match="single_precision=False"):
                self.solve(K, Y, alpha)
            return
        c, b = bordered(K, Y, alpha)
        np.testing.assert_allclose(
            K @ found.coef + found.intercept, K @ c + b, atol=1e-6 * np.abs(Y).max()
        )

    @pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e30, 1e60])
    @pytest.mark.parametrize("target", [1e-60, 1e60])
    def test_numbers_beyond_the_range_of_float32(self, K, Y, scale, target):
        """Infinite or zero in float32, and NaN from there."""
        one = self.solve(K, Y, 0.1)
        other = self.solve(scale * K, target * Y, 0.1 * scale)
        np.testing.assert_allclose(other.coef * scale / target, one.coef, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(other.intercept / target, one.intercept, rtol=1e-6)
