"""Orthonormal bases: of blocks of columns, at BLAS-3 speed, and of leading eigenvectors."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, f_ordered, power_of_two_scale, scaled
from pinvlearn._core.blas import call, lapack
from pinvlearn._core.device import is_device, moved_to, to_host
from pinvlearn._core.factoring import eigh, over_upper, qr, subtract_product, upper_factor
from pinvlearn._core.products import SHARED_WORK, TILES, gram
from pinvlearn._core.threads import in_parts, lapack_threads
from pinvlearn.linalg.costs import eigen_flops

CHOLESKY_LIMIT = 64.0
"""Smallest pivot, in units of √eps, of the scaled Gram matrix's factor for which Cholesky-QR is
trusted (1e-6 in float64).  A second orthonormalisation then repairs what the first lost."""


EXHAUSTED = 100.0
"""A column whose remainder is below this many eps of its own norm is rounding noise."""


def column_norms(Y: Array) -> Array:
    """Euclidean norm of each column."""
    norms: Array = np.sqrt(np.einsum("ij,ij->j", Y, Y))
    return norms


def thin_qr(Y: Array) -> tuple[Array, Array]:
    """Y = QR with orthonormal Q: Cholesky of the column-scaled Gram matrix, else Householder.

    Scaling the columns first keeps a block of very unequal norms from looking ill conditioned.
    One call leaves Q orthonormal to about eps·cond(Y)²; callers that need more call twice.
    """
    R = _cholesky(Y)
    if R is None:
        return _householder(Y)
    return over_upper(Y, R), R


def basis(Y: Array) -> Array:
    """Q of `thin_qr` for a block in C order, and in C order.

    A product with R⁻¹ is three times as fast as solving with R, and loses eps·cond(Y) beside the
    eps·cond(Y)² of Cholesky; but then Y = QR holds to no more.
    """
    R = _cholesky(Y)
    if R is None:
        return np.ascontiguousarray(_householder(Y)[0])
    inverse, n = lapack("trtri", R)(R)[0], len(R)
    Q = np.array(Y, order="C")

    def turn(first: int, last: int) -> None:  # rows of Q are columns to Fortran
        call("dtrmm", "L", "U", "T", "N", n, last - first, 1.0, inverse, n, Q[first:last], n)

    in_parts(turn, len(Q), TILES if len(Q) * n**2 >= SHARED_WORK else 1)
    return Q


def _cholesky(Y: Array) -> Array | None:
    """R with YᵀY = RᵀR, or None where it could not be trusted."""
    G = Y.T @ Y if is_device(Y) or Y.dtype != np.float64 else gram(Y)
    norms = np.sqrt(np.diagonal(G))
    if not np.all(norms > 0.0):
        return None
    G /= norms
    G /= norms[:, None]
    R = upper_factor(G)
    if R is None or np.diagonal(R).min() < CHOLESKY_LIMIT * np.sqrt(np.finfo(Y.dtype).eps):
        return None
    scaled: Array = R * norms
    return scaled


def _householder(Y: Array) -> tuple[Array, Array]:
    Q, R = qr(Y)
    return f_ordered(Q), R


def project_out(Q: Array, Y: Array) -> Array:
    """Y ← Y - QQᵀY in place; returns the coefficients QᵀY.  Y must be Fortran-ordered."""
    coefficients: Array = Q.T @ Y
    if Q.shape[1]:
        subtract_product(Y, Q, coefficients)
    return coefficients


def extend_basis(Q: Array, Y: Array) -> tuple[Array, Array, Array]:
    """Orthonormal directions that Y adds to the columns of Q.  Y is overwritten.

    Block Gram-Schmidt with re-orthogonalisation: project, factor, project, factor.  The second
    round removes what cancellation left in the first, so the new columns are orthogonal to Q and
    to each other to rounding.

    Returns
    -------
    Q_new, R, C : arrays with Y = Q C + Q_new R.
    """
    C = project_out(Q, Y)
    Y, R = thin_qr(Y)
    again = project_out(Q, Y)
    Q_new, R_again = thin_qr(Y)
    return Q_new, R_again @ R, C + again @ R


def independent(R: Array, norms: Array) -> int:
    """How many leading columns of Y brought a direction that is more than rounding noise.

    R is the factor that `extend_basis` returned for Y, `norms` the norms Y's columns had before.
    """
    diagonal, R, norms = to_host(np.abs(np.diagonal(R))), to_host(R), to_host(norms)
    noise = diagonal <= noise_of(R, norms)
    return int(np.argmax(noise)) if noise.any() else len(diagonal)


def noise_of(R: Array, norms: Array) -> Array:
    """What cannot be told from rounding, of columns that had these norms."""
    noise: Array = EXHAUSTED * np.finfo(R.dtype).eps * norms[: R.shape[1]]
    return noise


def leading_eigen(
    G: Array, k: int, *, resolved: float = 0.0, subset: bool | None = None
) -> tuple[Array, Array]:
    """Eigenvalues of a symmetric G, the largest first, with the vectors of at least k.

    All vectors are there where value k is no more than the part `resolved` of the largest.

    LAPACK's driver for some of them bisects intervals, and where values are equal (those of the
    identity, for one) it may return fewer than were asked for, without an error: then all are
    computed, and some turned back.  `subset` says whether to try it; by default where it is
    cheaper.
    """
    n = len(G)
    if is_device(G):  # which has no driver for some of them
        values, V = eigh(G)
        return values[::-1], V[:, ::-1]

    def wanted(values: Array) -> int:
        return n if resolved and not values[-k] > resolved * values[-1] else k

    unit = power_of_two_scale(G)
    with lapack_threads(n) as several:
        values, V = np.empty(0), np.empty((n, 0))
        every, some = eigen_flops(n, k)
        if some < every if subset is None else subset:
            with suppress(np.linalg.LinAlgError):
                few = (n - k, n - 1)
                values, V = scipy.linalg.eigh(
                    scaled(G, unit), subset_by_index=few, check_finite=False
                )
        if len(values) != k or wanted(values) != k:
            values, V = eigh(np.array(scaled(G, unit), order="F"), wanted, at_once=several)
    values, V = (found.astype(G.dtype, copy=False) for found in (values / unit, V))
    return values[::-1], V[:, ::-1]


def complete(Q: Array, columns: int) -> Array:
    """Q with further orthonormal columns, any, up to the given number."""
    missing = columns - Q.shape[1]
    if missing <= 0:
        return Q
    filler = np.random.default_rng(0).standard_normal((missing, Q.shape[0])).T
    extra, _, _ = extend_basis(f_ordered(Q), moved_to(filler.astype(Q.dtype), Q))
    return np.hstack([Q, extra])
