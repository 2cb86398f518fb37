"""Low-rank factors of positive semidefinite matrices: what they promise, on spectra we know."""

import tracemalloc

import numpy as np
import pytest
import scipy.linalg

from matrices import with_spectrum
from pairs import sweep
from pinvlearn import LowRankPSD, lowrank_psd
from pinvlearn.features.kernels import Kernel, KernelMatrix
from pinvlearn.functional.kernels import SOLVERS
from pinvlearn.linalg import kernel
from pinvlearn.linalg.kernel import MAX_BLOCK, NEGLIGIBLE, Pivots, as_kernel_matrix, randomized_psd

EPS = np.finfo(float).eps
N = 50
PIVOTED = ("rpcholesky", "nystroem")


def psd(values, n=N, seed=0):
    """A dense n × n matrix with the given eigenvalues and Haar vectors."""
    A = with_spectrum(n, n, np.sqrt(values), seed)
    return A @ A.T


def gaussian(n=N, gamma=0.5, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 3))
    return np.exp(-gamma * np.square(X[:, None] - X).sum(axis=-1))


def duplicates():
    K = gaussian(N // 2, seed=1)
    return np.kron(np.ones((2, 2)), K)


def scattered():
    """A diagonal over twelve decades, and zeros in it."""
    d = np.logspace(-6, 6, N)
    d[::7] = 0.0
    K = gaussian(seed=2) + np.eye(N)
    return K * np.sqrt(np.outer(d, d))


MATRICES = {
    "fast": lambda: psd(np.exp(-np.arange(N) / 2.0)),
    "slow": lambda: psd(1.0 / (1.0 + np.arange(N)), seed=1),
    "flat": lambda: psd(np.ones(N), seed=2),
    "identity": lambda: np.eye(N),
    "diagonal": lambda: np.diag(np.arange(N, dtype=float)),
    "gaussian": gaussian,
    "smooth": lambda: gaussian(gamma=0.01),
    "rank_deficient": lambda: psd(np.linspace(2.0, 1.0, 12), seed=3),
    "rank_one": lambda: psd([3.0], seed=4),
    "duplicates": duplicates,
    "scattered": scattered,
    "zero": lambda: np.zeros((N, N)),
    "one_entry": lambda: np.array([[4.0]]),
    "huge": lambda: 1e100 * gaussian(),
    "tiny": lambda: 1e-100 * gaussian(),
}


class Counting:
    """Blocks of a matrix on request, and how many entries were requested."""

    def __init__(self, K):
        self.K, self.shape, self.entries, self.largest = K, K.shape, 0, 0

    def diagonal(self):
        self.entries += len(self.K)
        return np.diagonal(self.K)

    def __call__(self, rows, columns):
        block = self.K[rows][:, columns]
        self.entries += block.size
        self.largest = max(self.largest, block.size)
        return block


def slack(K):
    """Rounding of n products of the size of K, and the pivots that are called negligible."""
    n = len(K)
    return n * (10 * EPS + NEGLIGIBLE) * max(np.diagonal(K).max(), 1e-300)


@sweep(solver=SOLVERS, name=MATRICES, rank=[3, 20])
class TestEveryMatrix:
    def found(self, solver, name, rank):
        K = MATRICES[name]()
        rank = min(rank, len(K))
        return K, rank, lowrank_psd(K, rank, solver=solver, rng=0)

    def test_shape_and_trace(self, solver, name, rank):
        K, rank, low = self.found(solver, name, rank)
        most = min(rank + (10 if solver == "randomized" else 0), len(K))
        assert isinstance(low, LowRankPSD)
        assert low.shape == K.shape
        assert low.F.shape == (len(K), low.rank)
        assert low.rank <= most
        assert np.isfinite(low.F).all()
        true = np.trace(K - low.F @ low.F.T)
        assert abs(low.trace_error - true) <= len(K) * slack(K)
        np.testing.assert_allclose(low.to_array(), low.F @ low.F.T, atol=slack(K))
        X = np.random.default_rng(1).standard_normal((len(K), 2))
        np.testing.assert_allclose(low @ X, low.to_array() @ X, atol=len(K) * slack(K))
        assert low.report.method == solver
        assert str(low.report)

    def test_never_more_than_the_matrix(self, solver, name, rank):
        """K - FFᵀ ≥ 0 for pivots (a Schur complement); its trace never grows for samples."""
        K, _, low = self.found(solver, name, rank)
        if solver in PIVOTED:
            least = scipy.linalg.eigvalsh(K - low.F @ low.F.T)[0]
            assert least >= -slack(K)
        else:
            assert low.pivots is None
            assert 0.0 <= low.trace_error <= np.trace(K) + slack(K)

    def test_pivots(self, solver, name, rank):
        K, rank, low = self.found(solver, name, rank)
        if solver not in PIVOTED:
            return
        assert len(set(low.pivots.tolist())) == len(low.pivots) == low.rank
        assert np.isin(low.pivots, np.arange(len(K))).all()
        assert np.issubdtype(low.pivots.dtype, np.integer)
        expected = min(rank, np.linalg.matrix_rank(K, tol=slack(K), hermitian=True))
        if name not in ("smooth", "scattered", "fast"):  # whose numerical rank is a matter of taste
            assert low.rank == expected
        # On the rows and columns of the pivots nothing is left.
        rest = (K - low.F @ low.F.T)[low.pivots]
        assert np.abs(rest).max(initial=0.0) <= np.sqrt(NEGLIGIBLE) * max(K.max(), 1e-300)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_matrix_is_left_alone(solver):
    K, before = gaussian(), gaussian()
    K.setflags(write=False)
    lowrank_psd(K, 20, solver=solver, rng=0)
    np.testing.assert_array_equal(K, before)


def schur(K, pivots):
    """The Nyström approximation of given pivots, by a pseudo-inverse."""
    return K[:, pivots] @ np.linalg.pinv(K[np.ix_(pivots, pivots)], hermitian=True) @ K[pivots]


@pytest.mark.parametrize("name", ["slow", "flat", "gaussian", "diagonal"])
@pytest.mark.parametrize("solver", PIVOTED)
def test_the_factor_is_the_nystroem_approximation_of_its_pivots(solver, name):
    K = MATRICES[name]()
    low = lowrank_psd(K, 15, solver=solver, rng=3)
    condition = np.linalg.cond(K[np.ix_(low.pivots, low.pivots)])
    allowed = (NEGLIGIBLE + N * EPS * condition) * K.max() * 10
    np.testing.assert_allclose(low.to_array(), schur(K, low.pivots), atol=allowed)


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_exact_at_full_rank(solver, name):
    K = MATRICES[name]()
    low = lowrank_psd(K, len(K), solver=solver, rng=0)
    allowed = len(K) * slack(K)
    np.testing.assert_allclose(low.to_array(), K, atol=allowed)
    assert low.trace_error <= allowed
    true_rank = np.linalg.matrix_rank(K, tol=slack(K), hermitian=True)
    if name in ("rank_deficient", "rank_one", "duplicates", "zero"):
        assert low.rank == true_rank


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_rank_above_that_of_the_matrix_is_exact(solver):
    K = MATRICES["rank_deficient"]()
    low = lowrank_psd(K, 20, solver=solver, rng=0)
    assert low.rank == 12
    np.testing.assert_allclose(low.to_array(), K, atol=N * slack(K))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 10.0])
def test_solve_is_the_dense_inverse(solver, alpha, rng):
    K = gaussian()
    low = lowrank_psd(K, 12, solver=solver, rng=0)
    Y = rng.standard_normal((N, 3))
    expected = np.linalg.solve(low.to_array() + alpha * np.eye(N), Y)
    condition = K.trace() / alpha
    np.testing.assert_allclose(
        low.solve(alpha, Y), expected, atol=10 * EPS * condition * np.abs(expected).max()
    )
    np.testing.assert_allclose(low.solve(alpha, Y[:, 0]), low.solve(alpha, Y)[:, 0], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_solve_needs_a_ridge(alpha):
    with pytest.raises(ValueError, match=f"alpha={alpha}.*above 0"):
        lowrank_psd(np.eye(3), 2, rng=0).solve(alpha, np.ones(3))


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bits(solver):
    K = gaussian()
    one, two = (lowrank_psd(K, 10, solver=solver, rng=7) for _ in range(2))
    three = lowrank_psd(K, 10, solver=solver, rng=np.random.default_rng(7))
    other = lowrank_psd(K, 10, solver=solver, rng=8)
    np.testing.assert_array_equal(one.F, two.F)
    np.testing.assert_array_equal(one.F, three.F)
    assert not np.array_equal(one.F, other.F)


@pytest.mark.parametrize("solver", PIVOTED)
class TestCallable:
    """A matrix that can only be asked for blocks."""

    def test_equals_the_array(self, solver):
        K = gaussian(200)
        by_array, by_blocks = (lowrank_psd(A, 30, solver=solver, rng=0) for A in (K, Counting(K)))
        np.testing.assert_array_equal(by_array.F, by_blocks.F)
        np.testing.assert_array_equal(by_array.pivots, by_blocks.pivots)

    @pytest.mark.parametrize("rank", [5, 150, 300])
    def test_entries_read(self, solver, rank):
        """n·k columns, the diagonal, and the corner of each block."""
        n = 600
        K = Counting(gaussian(n, gamma=20.0))
        low = lowrank_psd(K, rank, solver=solver, rng=0)
        assert low.rank == rank
        corners = 4 * rank * min(rank, MAX_BLOCK)  # one for each block, and some are rejected
        assert K.entries <= n * rank + n + corners
        assert K.largest <= max(n, MAX_BLOCK) * min(rank, MAX_BLOCK)

    def test_memory(self, solver):
        """At most half as much again as the factor itself."""
        n, rank = 4000, 250
        X = np.random.default_rng(0).standard_normal((n, 8))
        K = KernelMatrix(Kernel("rbf", 0.1), X)
        tracemalloc.start()
        try:
            low = lowrank_psd(K, rank, solver=solver, rng=0)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert low.rank == rank
        assert peak <= 1.5 * 8 * n * rank

    def test_a_function_of_index_arrays_is_enough(self, solver):
        """As the docstring has it: K(rows, columns) for index arrays."""
        K = Counting(gaussian())
        matrix = K.K

        class ByIndex(Counting):
            def __call__(self, rows, columns):
                return matrix[np.ix_(rows, columns)]

        low = lowrank_psd(ByIndex(matrix), 8, solver=solver, rng=0)
        np.testing.assert_array_equal(low.F, lowrank_psd(matrix, 8, solver=solver, rng=0).F)


@pytest.mark.parametrize("tol", [0.5, 0.1, 1e-3, 1e-8])
@pytest.mark.parametrize("solver", PIVOTED)
def test_tolerance(solver, tol):
    """Met, and by no more than one block beyond the pivot that met it."""
    n = 300
    K = gaussian(n, gamma=2.0)
    low = lowrank_psd(K, tol=tol, solver=solver, rng=0)
    true = np.trace(K - low.to_array())
    assert true <= tol * np.trace(K) + n * slack(K)
    before = low.pivots[: max(low.rank - MAX_BLOCK, 0)]
    if len(before):
        assert np.trace(K - schur(K, before)) > tol * np.trace(K)


def test_a_tolerance_that_one_block_meets():
    """Smooth kernels have few directions: the rejection step must not take more of them."""
    x = np.linspace(0.0, 1.0, 200)
    K = np.exp(-(np.subtract.outer(x, x) ** 2))
    low = lowrank_psd(K, tol=1e-6, rng=0)
    values = scipy.linalg.eigvalsh(K)[::-1]
    needed = int(np.argmax(np.cumsum(values) >= (1 - 1e-6) * values.sum())) + 1
    assert needed <= low.rank <= needed + 8


def test_rank_and_tolerance_together():
    K = gaussian(200, gamma=2.0)
    assert lowrank_psd(K, 10, tol=1e-9, rng=0).rank == 10
    early = lowrank_psd(K, 200, tol=0.05, rng=0)
    assert early.rank < 200
    assert early.trace_error <= 0.05 * 200


def test_rpcholesky_is_near_optimal_on_fast_spectra():
    """[CETW24] Theorem 2.3: with k ≥ r/ε + r·log(1/(εη)), η the relative error of the best rank r,
    the mean trace error is at most (1 + ε) times the best; uniform pivots have no such bound."""
    values = np.exp(-np.arange(N, dtype=float))
    K = psd(values, seed=5)
    r, best = 3, values[3:].sum()
    k = int(np.ceil(r + r * np.log(values.sum() / best)))  # ε = 1
    errors = [lowrank_psd(K, k, rng=seed).trace_error for seed in range(60)]
    assert np.mean(errors) <= 2.0 * best
    # Well below the guarantee in practice: within a small factor of the best of the same rank.
    assert np.mean(errors) <= 20.0 * values[k:].sum()


def test_pivots_by_the_diagonal_find_what_uniform_ones_miss():
    """Ten far points among 190 close ones: a uniform sample of twenty finds one of them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([1e-2 * rng.standard_normal(190), 100.0 * np.arange(1, 11)])
    K = np.exp(-(np.subtract.outer(x, x) ** 2)) + 1e-3 * np.eye(200)
    by = {m: [lowrank_psd(K, 20, solver=m, rng=s).trace_error for s in range(20)] for m in PIVOTED}
    assert np.mean(by["rpcholesky"]) < 0.5
    assert np.mean(by["nystroem"]) > 5.0


def heavy_and_light():
    """One heavy row that explains half of each of many light ones, which hardly explain it."""
    V = 0.7 * np.eye(41)[1:]
    V[:, 0] = 0.7
    V[0] = 6.0 * np.eye(41)[0]
    return V @ V.T


@pytest.fixture
def runs(monkeypatch):
    """Factors of sixteen pivots, drawn in blocks of at most a given size."""

    def made(block, seeds, rank=16):
        monkeypatch.setattr(kernel, "MAX_BLOCK", block)
        K = as_kernel_matrix(heavy_and_light())
        for seed in seeds:
            pivots = Pivots(K, np.random.default_rng(seed), uniform=False)
            pivots.grow(rank)
            yield pivots

    return made


@pytest.mark.parametrize("block", [4, 16])
@pytest.mark.sweep
def test_blocks_are_equal_in_law_to_one_at_a_time(block, runs):
    """[ETW24]: the first pivot, the set of pivots and the trace error, within four deviations."""
    count = 400
    single, blocks = list(runs(1, range(count))), list(runs(block, range(count, 2 * count)))
    for statistic in (
        lambda p: p.pivots[0] == 0,
        lambda p: 0 in p.pivots[:4],
        lambda p: 0 in p.pivots,
        lambda p: p.trace_error,
    ):
        a, b = (np.array([statistic(p) for p in made], dtype=float) for made in (single, blocks))
        deviation = np.sqrt((a.var() + b.var()) / count)
        assert abs(a.mean() - b.mean()) <= 4.0 * deviation + EPS


@pytest.mark.parametrize("block", [1, 16])
@pytest.mark.sweep
def test_the_first_pivot_is_drawn_in_proportion_to_the_diagonal(block, runs):
    K, count = heavy_and_light(), 400
    share = K[0, 0] / np.trace(K)
    found = np.mean([p.pivots[0] == 0 for p in runs(block, range(count))])
    assert abs(found - share) <= 4.0 * np.sqrt(share * (1 - share) / count)


def test_uniform_pivots_are_uniform():
    K, count = np.diag(np.logspace(0, -6, 20)), 400
    drawn = [lowrank_psd(K, 5, solver="nystroem", rng=s).pivots for s in range(count)]
    share = np.bincount(np.concatenate(drawn), minlength=20) / count
    assert np.abs(share - 0.25).max() <= 4.5 * np.sqrt(0.25 * 0.75 / count)


def test_growing_in_steps():
    """A factor that grows keeps what it has."""
    K = as_kernel_matrix(gaussian(100))
    pivots = Pivots(K, np.random.default_rng(0), uniform=False)
    pivots.grow(20)
    before, rows = pivots.F.copy(), list(pivots.pivots)
    pivots.grow(45)
    np.testing.assert_array_equal(pivots.F[:, :20], before)
    assert pivots.pivots[:20] == rows
    assert pivots.F.shape == (100, 45)


class TestRandomized:
    """[MW15] Algorithm 3."""

    def test_as_printed(self):
        """Steps 2 to 9 with the same sample; the approximation does not depend on Q's basis."""
        K, k, p = MATRICES["slow"](), 6, 4
        low, U, D = randomized_psd(K, k, n_oversamples=p, rng=np.random.default_rng(0))
        Omega = np.random.default_rng(0).standard_normal((k + p, N)).T
        Q, _ = np.linalg.qr(K @ Omega)
        T = (Q.T @ K) @ Q
        expected = Q @ T @ Q.T
        np.testing.assert_allclose(low.to_array(), expected, atol=100 * N * EPS)
        np.testing.assert_allclose(U.T @ U, np.eye(k + p), atol=100 * EPS)
        np.testing.assert_allclose((U * D) @ U.T, expected, atol=100 * N * EPS)
        np.testing.assert_allclose(D, scipy.linalg.eigvalsh(T)[::-1], atol=100 * N * EPS)

    def test_the_report_measures_the_error(self):
        K = MATRICES["slow"]()
        low = lowrank_psd(K, 6, solver="randomized", rng=0)
        assert low.report.error == pytest.approx(np.linalg.norm(K - low.to_array()), rel=1e-10)
        assert "Theorem 3.1" in low.report.notes[0]

    @pytest.mark.parametrize("name", ["slow", "fast", "gaussian"])
    def test_the_bound_of_theorem_3_1_holds_on_average(self, name):
        """E‖K - QQᵀK‖_F ≤ √(1 + k/(p-1)) (Σ_{j>k} σ²)^½, and twice that for QQᵀKQQᵀ."""
        K, k, p = MATRICES[name](), 8, 5
        tail = np.sqrt(np.square(scipy.linalg.eigvalsh(K)[::-1][k:]).sum())
        bound = np.sqrt(1.0 + k / (p - 1.0)) * tail
        one_sided, two_sided, reported = [], [], []
        for seed in range(40):
            low, U, _ = randomized_psd(K, k, n_oversamples=p, rng=np.random.default_rng(seed))
            one_sided.append(np.linalg.norm(K - U @ (U.T @ K)))
            two_sided.append(low.report.error)
            reported.append(float(low.report.notes[0].split()[-1]))
        assert np.mean(one_sided) <= bound
        assert np.mean(two_sided) <= 2.0 * bound
        # The reported bound takes the tail from what was found, so it is never below the true one.
        assert min(reported) >= bound * (1 - 1e-3)

    def test_more_samples_are_better(self):
        K = MATRICES["slow"]()
        errors = [
            np.mean([lowrank_psd(K, k, solver="randomized", rng=s).trace_error for s in range(10)])
            for k in (2, 10, 25)
        ]
        assert errors[0] > errors[1] > errors[2] > 0.0


class TestNotPositiveSemidefinite:
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_negative_diagonal(self, solver):
        K = np.diag([1.0, 2.0, -1.0, 3.0])
        with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
            lowrank_psd(K, 4, solver=solver, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("seed", range(5))
    def test_indefinite(self, solver, seed):
        """A negative eigenvalue as large as the positive ones, behind a positive diagonal."""
        Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((20, 20)))
        K = (Q * np.repeat([1.0, -0.5], [12, 8])) @ Q.T
        K[np.diag_indices(20)] = np.abs(np.diagonal(K)) + 0.1
        assert scipy.linalg.eigvalsh(K)[0] < -0.1
        with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
            lowrank_psd(K, 20, solver=solver, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_two_by_two(self, solver):
        with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
            lowrank_psd(np.array([[1.0, 2.0], [2.0, 1.0]]), 2, solver=solver, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_no_diagonal(self, solver):
        """Such as distances with a minus: there is no pivot, and the error was said to be 0."""
        K = -np.abs(np.subtract.outer(np.arange(20.0), np.arange(20.0)))
        with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
            lowrank_psd(K, 2, solver=solver, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_rounding_is_no_reason(self, solver):
        """Eigenvalues of -1e-17 are those of any computed kernel matrix."""
        K = gaussian(gamma=1e-4)
        assert scipy.linalg.eigvalsh(K)[0] < 0.0
        low = lowrank_psd(K, N, solver=solver, rng=0)
        np.testing.assert_allclose(low.to_array(), K, atol=N * slack(K))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("solver", SOLVERS)
def test_smooth_kernels_of_every_width(solver, seed):
    """Pivots with next to nothing left, drawn while others have much, must not spoil the rest."""
    rng = np.random.default_rng(seed)
    n, X = 200, rng.standard_normal((200, 1 + seed % 3))
    K = np.exp(-(10.0 ** rng.uniform(-2, 0.5)) * np.square(X[:, None] - X).sum(axis=-1))
    low = lowrank_psd(K, n // 2, solver=solver, rng=seed)
    allowed = n * slack(K)
    assert abs(low.trace_error - np.trace(K - low.to_array())) <= allowed
    if solver in PIVOTED:
        assert scipy.linalg.eigvalsh(K - low.to_array())[0] >= -allowed
