"""Matrices with known spectra and known defects; the product tables of the tests run over them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
import scipy.spatial.distance
from scipy.sparse.linalg import LinearOperator, aslinearoperator

M, N = 60, 40


def with_spectrum(m: int, n: int, s, seed: int = 0) -> np.ndarray:
    """A dense m × n matrix with the given singular values and Haar vectors."""
    rng = np.random.default_rng(seed)
    k = len(s)
    U, _ = np.linalg.qr(rng.standard_normal((m, k)))
    V, _ = np.linalg.qr(rng.standard_normal((n, k)))
    return (U * np.asarray(s)) @ V.T


def fast(m: int = M, n: int = N) -> np.ndarray:
    """Exponential decay, condition 2e4 at 40 columns."""
    return with_spectrum(m, n, np.exp(-np.arange(min(m, n)) / 4.0), seed=1)


def slow(m: int = M, n: int = N) -> np.ndarray:
    """1, 1/2, 1/3, …"""
    return with_spectrum(m, n, 1.0 / (1.0 + np.arange(min(m, n))), seed=2)


def flat() -> np.ndarray:
    return with_spectrum(M, N, np.ones(N), seed=3)


def medium() -> np.ndarray:
    """Condition 8e3: little for a decomposition, much for the square of it."""
    return with_spectrum(M, N, np.logspace(0.0, -3.9, N), seed=15)


def clustered() -> np.ndarray:
    return with_spectrum(M, N, np.repeat([1.0, 1e-2, 1e-5], [12, 12, N - 24]), seed=4)


def kernel() -> np.ndarray:
    """Gaussian kernels around some of the rows, as a learner sees them."""
    X = np.random.default_rng(5).standard_normal((M, 3))
    return np.exp(-scipy.spatial.distance.cdist(X, X[:N], "sqeuclidean") / 8.0)


def rank_deficient() -> np.ndarray:
    return with_spectrum(M, N, np.linspace(1.0, 0.1, 12), seed=6)


def duplicate_columns() -> np.ndarray:
    A = np.random.default_rng(7).standard_normal((M, N // 2))
    return np.hstack([A, A])


def constant_columns() -> np.ndarray:
    A = np.random.default_rng(8).standard_normal((M, N))
    A[:, [0, 3, 17]] = [2.0, -1.0, 0.0]
    return A


def zero() -> np.ndarray:
    return np.zeros((M, N))


def rank_one() -> np.ndarray:
    return with_spectrum(M, N, [3.0], seed=9)


def graded() -> np.ndarray:
    """Singular values from 1 to 1e-16."""
    return with_spectrum(M, N, np.logspace(0.0, -16.0, N), seed=10)


def huge() -> np.ndarray:
    return slow() * 1e150


def tiny() -> np.ndarray:
    return slow() * 1e-150


def one_row() -> np.ndarray:
    return np.random.default_rng(11).standard_normal((1, N))


def one_column() -> np.ndarray:
    return np.random.default_rng(12).standard_normal((M, 1))


def one_entry() -> np.ndarray:
    return np.array([[-3.0]])


def wide() -> np.ndarray:
    return fast(N, M)


def wide_graded() -> np.ndarray:
    return np.ascontiguousarray(graded().T)


def tall() -> np.ndarray:
    return slow(400, 20)


def single() -> np.ndarray:
    return slow().astype(np.float32)


def fortran() -> np.ndarray:
    return np.asfortranarray(fast())


def strided() -> np.ndarray:
    """Neither C nor Fortran contiguous, with a negative stride."""
    return fast(2 * M, 2 * N)[::-2, ::2]


def read_only() -> np.ndarray:
    A = fast()
    A.setflags(write=False)
    return A


def integers() -> np.ndarray:
    return np.random.default_rng(13).integers(-5, 6, (M, N))


MATRICES: dict[str, Callable[[], np.ndarray]] = {
    maker.__name__: maker
    for maker in (
        fast, slow, flat, medium, clustered, kernel, rank_deficient, duplicate_columns,
        constant_columns, zero, rank_one, graded, huge, tiny, one_row, one_column, one_entry, wide,
        wide_graded, tall, single, fortran, strided, read_only, integers,
    )
}  # fmt: skip
"""Every dense matrix by name."""


def sparse(m: int = M, n: int = N, dtype=np.float64) -> scipy.sparse.csr_array:
    """A tenth of the entries, of both signs, decaying from column to column."""
    rng = np.random.default_rng(14)
    A = scipy.sparse.random_array((m, n), density=0.1, rng=rng, data_sampler=rng.standard_normal)
    return scipy.sparse.csr_array(A @ scipy.sparse.diags_array(0.9 ** np.arange(n))).astype(dtype)


def skewed(m=600, n=120, density=0.04, seed=0, dtype=float):
    """Rows and columns of very unequal degree, as of words in documents."""
    rng = np.random.default_rng(seed)
    chance = np.outer(rng.pareto(1.5, m) + 0.2, rng.pareto(1.0, n) + 0.1)
    A = rng.random((m, n)) < np.minimum(chance * density / chance.mean(), 0.9)
    return scipy.sparse.csr_array(A.astype(dtype))


def defective():
    """Repeated rows and columns, empty ones, and columns that are sums of others."""
    A = skewed().toarray()
    A[100:200] = A[300:400]
    A[[3, 50, 599]] = 0.0
    A[:, [7, 80]] = 0.0
    A[:, 20:30] = A[:, 30:40]
    A[:, 90] = A[:, 91] + A[:, 92]
    return scipy.sparse.csr_array(A)


def explicit_zeros() -> scipy.sparse.csr_array:
    A = sparse()
    A.data[::3] = 0.0
    return A


FORMS: dict[str, Callable[[np.ndarray], object]] = {
    "dense": lambda A: A,
    "csr": scipy.sparse.csr_array,
    "csc": scipy.sparse.csc_array,
    "coo": scipy.sparse.coo_array,
    "csr_matrix": scipy.sparse.csr_matrix,
    "operator": aslinearoperator,
    "list": lambda A: A.tolist(),
}
"""The same matrix in every form that is accepted."""


def products_only(A: np.ndarray) -> LinearOperator:
    """An operator that offers nothing but vectors: the least a caller may bring."""
    return LinearOperator(A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: A.T @ y, dtype=A.dtype)


KNOWN_SHAPE = (40, 30)


def known_entries(seed: int = 0, share: float = 0.4, rank: int = 3, noise: float = 0.1):
    """A low-rank matrix, and rows, columns and values of the entries that are known, with noise."""
    rng = np.random.default_rng(seed)
    m, n = KNOWN_SHAPE
    full = rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))
    full = full / full.std() + rng.standard_normal(n)
    rows, cols = np.nonzero(rng.random(KNOWN_SHAPE) < share)
    return full, rows, cols, full[rows, cols] + noise * rng.standard_normal(len(rows))


def table_with_gaps(n=300, p=8, rank=3, noise=0.1, share=0.2, seed=0):
    """A low-rank table with noise, and the same with cells missing."""
    rng = np.random.default_rng(seed)
    full = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    full = full + noise * rng.standard_normal((n, p))
    full = full * 10.0 ** rng.uniform(-2, 2, p) + rng.standard_normal(p)
    return full, np.where(rng.random((n, p)) < share, np.nan, full)
