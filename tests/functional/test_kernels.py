"""What lowrank_psd refuses, and what it takes for the same; its numbers are tested in linalg."""

import numpy as np
import pytest
from scipy import sparse

from pinvlearn import lowrank_psd
from pinvlearn.functional.kernels import SOLVERS


class ByBlocks:
    """An identity that is asked for blocks."""

    shape = (4, 4)

    def diagonal(self):
        return np.ones(4)

    def __call__(self, rows, columns):
        return np.equal.outer(rows, columns).astype(float)


class TestArguments:
    @pytest.mark.parametrize("shape", [(3, 4), (0, 0), (3,)])
    def test_shape(self, shape):
        with pytest.raises(ValueError, match="square matrix"):
            lowrank_psd(np.ones(shape), 1)

    @pytest.mark.parametrize(
        ("K", "message"),
        [(np.eye(4) * 1j, "K is of type complex128"), (sparse.eye_array(4), "K is sparse; give")],
    )
    def test_entries(self, K, message):
        with pytest.raises(TypeError, match=message):
            lowrank_psd(K, 1)

    @pytest.mark.parametrize("rank", [0, -1, 5])
    def test_rank(self, rank):
        with pytest.raises(ValueError, match=rf"rank={rank}: .* give an integer in 1 … 4"):
            lowrank_psd(np.eye(4), rank)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_a_rank_that_is_no_integer(self, solver):
        with pytest.raises(ValueError, match=r"rank=2.5: .* give an integer in 1 … 4"):
            lowrank_psd(np.eye(4), 2.5, solver=solver)

    @pytest.mark.parametrize("tol", [-0.1, 1.0, np.nan])
    def test_tol(self, tol):
        with pytest.raises(ValueError, match=f"tol={tol}"):
            lowrank_psd(np.eye(4), tol=tol)

    def test_neither_rank_nor_tol(self):
        with pytest.raises(ValueError, match="rank, tol or both"):
            lowrank_psd(np.eye(4))

    def test_method(self):
        with pytest.raises(ValueError, match="solver='cur' is not known; choose one of"):
            lowrank_psd(np.eye(4), 2, solver="cur")

    def test_randomized_needs_all_of_the_matrix(self):
        with pytest.raises(ValueError, match="needs K as an array and a rank"):
            lowrank_psd(ByBlocks(), 2, solver="randomized")
        with pytest.raises(ValueError, match="needs K as an array and a rank"):
            lowrank_psd(np.eye(4), tol=0.1, solver="randomized")

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_integers(self, solver):
        low = lowrank_psd(2 * np.eye(4, dtype=int), 4, solver=solver, rng=0)
        np.testing.assert_allclose(low.to_array(), 2.0 * np.eye(4), atol=1e-10)

    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("seed", range(4))
    def test_a_linear_kernel_in_single_precision(self, solver, seed):
        """Rounding of its products leaves eigenvalues a little below zero."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((120, 6)).astype(np.float32)
        K = X @ X.T
        assert np.linalg.eigvalsh(K.astype(float))[0] < 0.0
        low = lowrank_psd(K, 60, solver=solver, rng=0)
        assert 6 <= low.rank < 60
        np.testing.assert_allclose(low.to_array(), K, atol=1e-4 * np.abs(K).max())

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_one_that_is_indefinite_beyond_rounding(self, solver):
        K = np.diag(np.linspace(-0.1, 1.0, 12)).astype(np.float32)
        with pytest.raises(np.linalg.LinAlgError, match="not positive semidefinite"):
            lowrank_psd(K, 12, solver=solver, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_numpy_integers(self, solver):
        assert lowrank_psd(np.eye(20), np.int64(3), solver=solver, rng=0).rank >= 3

    @pytest.mark.parametrize("solver", SOLVERS)
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_not_finite(self, solver, value):
        K = np.eye(4)
        K[1, 1] = value
        with pytest.raises(ValueError, match=r"NaN|infin|finite"):
            lowrank_psd(K, 4, solver=solver, rng=0)

    def test_masked(self):
        with pytest.raises(ValueError, match="masked"):
            lowrank_psd(np.ma.masked_greater(np.eye(4), 0.5), 4, rng=0)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_lists(self, solver):
        assert lowrank_psd(np.eye(4).tolist(), 4, solver=solver, rng=0).rank == 4

    @pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e160, 1e300])
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_every_scale(self, solver, scale):
        x = np.linspace(0.0, 1.0, 40)
        K = np.exp(-10.0 * np.subtract.outer(x, x) ** 2)
        one, other = (
            lowrank_psd(k, 3, solver=solver, n_oversamples=1, rng=0) for k in (K, K * scale)
        )
        root = np.sqrt(scale)
        np.testing.assert_allclose(other.F / root, one.F, atol=1e-10)
        assert other.trace_error / scale == pytest.approx(one.trace_error)
        assert other.report.error / scale == pytest.approx(one.report.error)


class Wrong(ByBlocks):
    """An identity that answers otherwise."""

    def __init__(self, change):
        self.change = change

    def __call__(self, rows, columns):
        return self.change(super().__call__(rows, columns))


@pytest.mark.parametrize("solver", ["rpcholesky", "nystroem"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda block: block * np.nan, "is nan, and 1 in its diagonal"),
        (lambda block: block * 0.0, "is 0, and 1 in its diagonal"),
        (lambda block: block[:1, :1], r"gave the shape \(1, 1\)"),
        (
            lambda block: np.where(block == 0.0, np.nan, block),
            "NaN or infinity|negative eigenvalue",
        ),
    ],
    ids=["nan", "zero", "shape", "between"],
)
def test_a_matrix_that_contradicts_itself_is_refused(solver, change, message):
    """Pivots of NaN were drawn and refused without end."""
    with pytest.raises((ValueError, np.linalg.LinAlgError), match=message):
        lowrank_psd(Wrong(change), 3, solver=solver, rng=0)


@pytest.mark.parametrize("solver", ["rpcholesky", "nystroem"])
def test_entries_between_pivots_and_others_are_finite(solver):
    def one_bad(block):
        return block if block.shape[1] < 4 or block.shape[0] == 4 else block * [1, 1, 1, np.nan]

    with pytest.raises(ValueError, match="NaN or infinity"):
        lowrank_psd(Wrong(one_bad), 3, solver=solver, rng=0)


def test_a_function_alone_is_no_matrix():
    with pytest.raises(TypeError, match=r"a shape and a method diagonal\(\)"):
        lowrank_psd(lambda rows, columns: np.equal.outer(rows, columns) * 1.0, 3)


def test_numpy_gets_the_product():
    low = lowrank_psd(np.eye(4), 2, rng=0)
    np.testing.assert_array_equal(np.asarray(low), low.to_array())
