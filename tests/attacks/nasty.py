"""Matrices that break linear algebra, and their decompositions in 60 digits."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import scipy.linalg

from matrices import with_spectrum

mpmath = pytest.importorskip("mpmath")

M, N = 12, 8
DIGITS = 60
EPS = float(np.finfo(np.float64).eps)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(m: int = M, n: int = N, seed: int = 0) -> np.ndarray:
    return rng(seed).standard_normal((m, n))


def kahan(n: int = N, angle: float = 1.2) -> np.ndarray:
    """A triangle whose pivots hide how near to singular it is."""
    c, s = np.cos(angle), np.sin(angle)
    return s ** np.arange(n)[:, None] * (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def lauchli(small: float) -> np.ndarray:
    """Columns whose Gram matrix rounds to ones."""
    return np.vstack([np.ones(N), small * np.eye(N)])


def with_columns(columns: dict[int, object], seed: int = 0) -> np.ndarray:
    A = normal(seed=seed)
    for j, column in columns.items():
        A[:, j] = column
    return A


def nearly_dependent(distance: float) -> np.ndarray:
    A = normal(seed=3)
    A[:, 4] = A[:, :4].sum(axis=1) + distance * A[:, 4]
    return A


def golub_kahan() -> np.ndarray:
    """A bidiagonal matrix with entries from 1 to 1e-12 in no order."""
    entries = 10.0 ** np.array([0.0, -12.0, -3.0, -9.0, -1.0, -6.0, -11.0, -2.0])
    return np.diag(entries) + np.diag(entries[:-1], 1)


MATRICES: dict[str, Callable[[], np.ndarray]] = {
    "graded spectrum": lambda: with_spectrum(M, N, np.logspace(0.0, -16.0, N), seed=1),
    "graded columns": lambda: normal() * np.logspace(0.0, -14.0, N),
    "graded rows": lambda: normal() * np.logspace(0.0, -14.0, M)[:, None],
    "graded both ways": lambda: (
        normal() * np.logspace(0.0, -9.0, N) * np.logspace(-9.0, 0.0, M)[:, None]
    ),
    "Hilbert": lambda: scipy.linalg.hilbert(N),
    "Hilbert, tall": lambda: scipy.linalg.hilbert(M)[:, :N],
    "Hilbert, wide": lambda: scipy.linalg.hilbert(M)[:N],
    "inverse Hilbert": lambda: scipy.linalg.invhilbert(N),
    "Kahan": kahan,
    "Läuchli, 1e-7": lambda: lauchli(1e-7),
    "Läuchli, 1e-9": lambda: lauchli(1e-9),
    "Vandermonde": lambda: np.vander(np.linspace(0.0, 1.0, M), N),
    "Pascal": lambda: scipy.linalg.pascal(N).astype(float),
    "Golub-Kahan": golub_kahan,
    "ones above the diagonal": lambda: np.eye(N) + np.triu(np.ones((N, N)), 1),
    "a Jordan block": lambda: 1e-3 * np.eye(N) + np.diag(np.ones(N - 1), 1),
    "rank deficient": lambda: with_spectrum(M, N, [3.0, 2.0, 1.0, 0.5], seed=2),
    "rank one": lambda: np.outer(np.arange(1.0, M + 1), np.arange(1.0, N + 1)),
    "repeated values": lambda: with_spectrum(M, N, np.repeat([2.0, 1e-3], N // 2), seed=4),
    "flat": lambda: with_spectrum(M, N, np.ones(N), seed=5),
    "identity": lambda: np.eye(N),
    "Hadamard": lambda: scipy.linalg.hadamard(N).astype(float),
    "a permutation": lambda: np.eye(N)[rng().permutation(N)],
    "a permutation with signs, tall": lambda: np.vstack([-np.eye(N)[::-1], np.zeros((4, N))]),
    "times 1e150": lambda: normal() * 1e150,
    "times 1e-150": lambda: normal() * 1e-150,
    "times 1e300": lambda: normal() * 1e300,
    "times 1e-300": lambda: normal() * 1e-300,
    "columns from 1e-100 to 1e100": lambda: normal() * np.logspace(-100.0, 100.0, N),
    "denormal columns": lambda: with_columns({2: 5e-324, 5: 1e-310 * np.arange(M)}),
    "all denormal": lambda: normal() * 1e-310,
    "duplicated columns": lambda: np.hstack([normal(n=N // 2)] * 2),
    "duplicated rows": lambda: np.vstack([normal(m=M // 2)] * 2),
    "constant columns": lambda: with_columns({1: 3.0, 6: -1e6}),
    "zero columns": lambda: with_columns({0: 0.0, 7: -0.0}),
    "a zero matrix": lambda: np.zeros((M, N)),
    "nearly dependent, 1e-6": lambda: nearly_dependent(1e-6),
    "nearly dependent, 1e-12": lambda: nearly_dependent(1e-12),
    "a large mean": lambda: normal() + 1e8,
    "one row": lambda: normal(m=1),
    "one column": lambda: normal(n=1),
    "one entry": lambda: np.array([[-3.0]]),
    "wide": lambda: normal(N, M),
    "float32": lambda: normal().astype(np.float32),
    "float32, graded": lambda: (normal() * np.logspace(0.0, -5.0, N)).astype(np.float32),
    "float32, Hilbert": lambda: scipy.linalg.hilbert(N).astype(np.float32),
    "float32, times 1e30": lambda: (normal() * 1e30).astype(np.float32),
    "float32, denormal": lambda: (normal() * 1e-41).astype(np.float32),
    "integers to 2**53": lambda: rng().integers(-(2**53), 2**53, (M, N)),
}
"""Every matrix by name."""


def exactly(A: np.ndarray) -> np.ndarray:
    """The same numbers in 60 digits."""
    A = np.asarray(A)
    if A.dtype == object:
        return A
    with mpmath.workdps(DIGITS):
        number = int if A.dtype.kind in "iu" else float
        return np.array([mpmath.mpf(number(a)) for a in A.ravel()], dtype=object).reshape(A.shape)


def norm(A: np.ndarray):
    """Root of the sum of squares, whatever the scale."""
    with mpmath.workdps(DIGITS):
        return mpmath.sqrt(sum((a * a for a in exactly(A).ravel()), mpmath.mpf(0)))


def decomposed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, Vt of numbers in 60 digits."""
    with mpmath.workdps(DIGITS):
        wide = A.shape[0] < A.shape[1]
        B = mpmath.matrix((A.T if wide else A).tolist())
        U, s, Vt = (np.array(part.tolist(), dtype=object) for part in mpmath.svd_r(B))
        s = s.ravel()
        return (Vt.T, s, U.T) if wide else (U, s, Vt)


@cache
def decomposition(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, Vt of one of the matrices."""
    return decomposed(exactly(MATRICES[name]()))


def solutions(factors, y, eps: float, size: int, alpha: float = 0.0, cut_to: float = 0.0):
    """(coefficients, condition) for every rank that rounding may decide on.

    Singular values within a factor of 100 of the cut-off eps·size·s₁ may count or not; with
    `cut_to`, all those below it times s₁.  A ridge cuts nothing off.
    """
    U, s, Vt = factors
    with mpmath.workdps(DIGITS):
        cut = eps * size * s[0]
        most = sum(1 for value in s if value > cut / 100)
        least = min(most, sum(1 for value in s if value > max(cut * 100, cut_to * s[0])))
        ridge = mpmath.mpf(alpha)
        if ridge:
            gains = s / (s**2 + ridge)
            condition = mpmath.sqrt((s[0] ** 2 + ridge) / (s[-1] ** 2 + ridge))
            found = [((Vt.T * gains) @ (U.T @ y), condition)]
        else:
            found = []
            least = least if most else 0
        for r in range(least, most + 1) if not ridge or cut_to else ():
            gains = s[:r] / (s[:r] ** 2 + ridge)
            x = (Vt[:r].T * gains) @ (U[:, :r].T @ y) if r else 0 * Vt.T @ (U.T @ y)
            found.append((x, s[0] / s[r - 1] if r else mpmath.mpf(1)))
        return found
