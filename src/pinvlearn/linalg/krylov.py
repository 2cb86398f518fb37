"""The leading singular values and vectors for a given rank.

References
----------
[MM15] C. Musco, C. Musco (2015). Randomized block Krylov methods for stronger and faster
approximate singular value decomposition. NeurIPS 28.

[Halko11] N. Halko, P.G. Martinsson, J.A. Tropp (2011). Finding structure with randomness.
SIAM Review 53(2).
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np
import scipy.linalg

from pinvlearn._arrays import Array, Matrix, gram, is_operator, is_sparse
from pinvlearn.linalg.orthonormal import (
    column_norms,
    complete,
    extend_basis,
    independent,
    thin_qr,
)
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed

SETTLED = 1e-2
"""Krylov steps end when no wanted Ritz value (a squared singular value) moves by more than this
fraction of the smallest.  The next move would be far smaller than the last: the measured excess of
the Frobenius error over the optimal one is 2e-5 and less at this setting (benchmarks/speed)."""

MAX_STEPS = 50
"""Bound on the Krylov steps; a matrix with no decay at all reaches it, and the report says so."""


def block_krylov(
    A: Matrix, rank: int, *, n_power: int | None = None, rng: np.random.Generator
) -> SVD:
    """Leading `rank` components from a block Krylov space of AᵀA.

    Blocks of max(16, rank/3) columns are multiplied by AᵀA and orthonormalised against all
    earlier ones.  What the orthonormalisation subtracts is the projected matrix T = VᵀAᵀAV, so
    the Ritz values are watched for nothing, and the steps end when they settle.  One last product
    W = A·V gives U and s through the SVD of W's triangular factor, which keeps the relative
    accuracy of small singular values that WᵀW would lose.

    Cost: 4mnb flops a step of width b (2n²b where A is tall enough that AᵀA is formed first), two
    passes over A a step, memory (m + n)·rank + n·b·steps.

    References: [MM15] Algorithm 2.

    Deviations
    ----------
    The space is that of AᵀA on the shorter side, built with full re-orthogonalisation; the number
    of steps follows the Ritz values unless `n_power` gives it.
    """
    if A.shape[0] < A.shape[1]:
        return _transposed(block_krylov(A.T, rank, n_power=n_power, rng=rng))
    watch = Stopwatch()
    n = A.shape[1]
    width = min(n, max(16, rank // 3))
    most = MAX_STEPS + ceil(rank / width) if n_power is None else max(n_power, ceil(rank / width))
    with watch("gram"):
        product, how = _normal_product(A, width * (2 + rank // width))
    with watch("krylov"):
        start = rng.standard_normal((width, n)).astype(A.dtype, copy=False).T
        V, steps, settled = _krylov_space(product, start, rank, most, watch_values=n_power is None)
    with watch("vectors"):
        U, s, Vt = _rayleigh_ritz(A, V[:, :rank])
    notes = () if settled else (f"the Ritz values had not settled after {steps} steps",)
    reason = f"{steps} steps of {width} columns, {how}"
    report = Report("block-krylov", reason, 2 * steps + 1, seconds=watch, notes=notes)
    return sign_fixed(complete(U, rank), _padded(s, rank), complete(Vt.T, rank).T, report)


def randomized(
    A: Matrix,
    rank: int,
    *,
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: np.random.Generator,
) -> SVD:
    """Halko's randomized SVD: subspace iteration from a Gaussian start, normalised at each step.

    Cost: 4mnl flops for each of `n_power` steps plus 4mnl, with l = rank + n_oversamples.
    Defaults: 10 oversamples; 4 steps, or 7 where the rank is under a tenth of the smaller side.
    With ``n_oversamples=rank, n_power=0`` this is RandPI of [JS20].

    References: [Halko11] Algorithms 4.4 and 5.1.

    Deviations
    ----------
    Every product is made orthonormal (the plain power scheme loses all directions below
    eps^(1/(2q+1)) of the largest).
    """
    watch = Stopwatch()
    width = min(rank + (10 if n_oversamples is None else n_oversamples), *A.shape)
    power = (7 if rank < 0.1 * min(A.shape) else 4) if n_power is None else n_power
    with watch("range"):
        Y = rng.standard_normal((width, A.shape[1])).astype(A.dtype, copy=False).T
        Q = _orthonormal(A @ Y)
        for _ in range(power):
            Q = _orthonormal(A @ _orthonormal(A.T @ Q))
    with watch("svd"):
        W, s, Vt = scipy.linalg.svd((A.T @ Q).T, full_matrices=False, check_finite=False)
    report = Report(
        "randomized", f"{width} samples, {power} power steps", 2 * power + 2, seconds=watch
    )
    return sign_fixed(Q @ W[:, :rank], s[:rank], Vt[:rank], report)


def _transposed(flipped: SVD) -> SVD:
    return sign_fixed(flipped.Vt.T, flipped.s, flipped.U.T, flipped.report)


def _orthonormal(Y: Array) -> Array:
    Q, _ = thin_qr(np.asfortranarray(Y))
    Q, _ = thin_qr(Q)
    return Q


def _normal_product(A: Matrix, columns: int) -> tuple[Callable[[Array], Array], str]:
    """X ↦ AᵀAX, through an explicit Gram matrix where that is fewer flops for so many columns."""
    m, n = A.shape
    dense = not (is_sparse(A) or is_operator(A))
    if dense and A.dtype == np.float64 and m * n**2 + 2 * n**2 * columns < 4 * m * n * columns:
        G = gram(A)
        return lambda X: (X.T @ G).T, "AᵀA formed once"
    return lambda X: np.asfortranarray(A.T @ (A @ X)), "AᵀA applied as two products"


def _krylov_space(
    product: Callable[[Array], Array], start: Array, rank: int, most: int, *, watch_values: bool
) -> tuple[Array, int, bool]:
    """Ritz vectors of the block Krylov space, largest first; steps taken; whether they settled."""
    basis = _orthonormal(start)
    n, width = basis.shape
    T: Array = np.zeros((0, 0))
    previous: Array | None = None
    for step in range(1, most + 1):
        Z = product(basis[:, len(T) :])
        norms = column_norms(Z)
        Q_new, R, C = extend_basis(basis, Z)
        T = _bordered(T, C)
        found = min(independent(R, norms), n - basis.shape[1])
        settled = False
        if watch_values and len(T) >= rank + width:
            values = scipy.linalg.eigvalsh(T, check_finite=False)[::-1][:rank]
            if previous is not None:
                settled = bool(np.abs(values - previous).max() <= SETTLED * values[-1])
            previous = values
        if settled or found == 0 or step == most:
            break
        basis = np.asfortranarray(np.hstack([basis, Q_new[:, :found]]))
    first = max(len(T) - rank, 0)
    _, X = scipy.linalg.eigh(T, check_finite=False, subset_by_index=(first, len(T) - 1))
    return basis @ X[:, ::-1], step, settled or found == 0 or not watch_values


def _bordered(T: Array, C: Array) -> Array:
    """The symmetric matrix with last block column C that continues T."""
    old, size = len(T), len(C)
    grown = np.zeros((size, size), dtype=C.dtype)
    grown[:old, :old] = T
    grown[:, old:] = C
    grown[old:, :old] = C[:old].T
    return grown


def _rayleigh_ritz(A: Matrix, V: Array) -> tuple[Array, Array, Array]:
    """SVD of A restricted to span V.

    The columns of W = AV are nearly orthogonal with norms near the singular values, which is
    where column-scaled Cholesky-QR is at its best.
    """
    W, R = thin_qr(np.asfortranarray(A @ V))
    Q, R_again = thin_qr(W)
    X, s, Yt = scipy.linalg.svd(R_again @ R, check_finite=False)
    return Q @ X, s, Yt @ V.T


def _padded(s: Array, size: int) -> Array:
    return np.concatenate([s, np.zeros(size - len(s), dtype=s.dtype)])
