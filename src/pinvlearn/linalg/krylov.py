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
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    f_ordered,
    is_dense,
    is_operator,
    matrix_home,
    squared_norm,
)
from pinvlearn._core.device import home, is_device, moved_to, to_host
from pinvlearn._core.factoring import svd
from pinvlearn._core.products import gram, normal_times, product, times
from pinvlearn._core.progress import told
from pinvlearn.linalg.costs import krylov_flops, krylov_width
from pinvlearn.linalg.dense import rotated
from pinvlearn.linalg.orthonormal import (
    EXHAUSTED,
    column_norms,
    complete,
    extend_basis,
    independent,
    leading_eigen,
    thin_qr,
)
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, gram_resolution, sign_fixed, unresolved_notes

SETTLED = 1e-3
"""Krylov steps end when the residuals r of all wanted Ritz pairs satisfy r² ≤ this·θ·θ_k.

θ is a Ritz value of AᵀA, θ_k the smallest wanted; r²/θ estimates how much θ would still grow.  The
measured excess of the Frobenius error over the optimal one is in benchmarks/results."""

CROWDED = 1e-2
"""Ritz values of AᵀA that differ by less than this part count as equal.  A space finds no more of
equal values than its blocks have columns: where that many are equal there may be others."""

MAX_STEPS = 50

FELT = 1e-4
"""Rounding of AᵀA, beside the square of the error, that adds some thousandths to it [measured]."""
"""Bound on the Krylov steps; a matrix with no decay at all reaches it, and the report says so."""


def block_krylov(
    A: Matrix,
    rank: int,
    *,
    n_power: int | None = None,
    rng: np.random.Generator,
    dtype: Any = None,
) -> SVD:
    """Leading `rank` components from a block Krylov space of AᵀA.

    Blocks of 24 columns, or of about 0.4·rank if that is more, are multiplied by AᵀA and
    orthonormalised against all earlier ones.  What the orthonormalisation subtracts is the
    projected matrix T = VᵀAᵀAV, so the Ritz values come for free, and the steps end when they
    settle.  One last product W = A·V gives U and s through the SVD of W's triangular factor, which
    keeps digits of small singular values that WᵀW would lose; below 1e-7 of the largest none are
    resolved, and the report says so.  In float32 that is 2e-3: where it may be felt blocks are in
    double precision.

    Cost: 4mnb flops a step of width b (2n²b where A is tall enough that AᵀA is formed first), two
    passes over A a step, memory (m + n)·rank + n·b·steps.

    References: [MM15] Algorithm 2.

    Deviations
    ----------
    The space is that of AᵀA on the shorter side, built with full re-orthogonalisation; the number
    of steps follows the Ritz values unless `n_power` gives it.  Where a block's worth of them are
    equal another random block joins the space.
    """
    if A.shape[0] < A.shape[1]:
        return block_krylov(A.T, rank, n_power=n_power, rng=rng, dtype=dtype).T
    watch = Stopwatch()
    n, dtype = A.shape[1], np.dtype(A.dtype if dtype is None else dtype)
    width = krylov_width(n, rank)
    most = MAX_STEPS + ceil(rank / width) if n_power is None else max(n_power, ceil(rank / width))
    with watch("gram"):
        normal = NormalProduct(A, gram(A) if gram_pays(A, rank) else None, keep=True)
    with watch("krylov"):
        start = rng.standard_normal((width, n)).astype(dtype, copy=False).T
        start = moved_to(start, matrix_home(A))
        space = krylov_space(normal, start, rank, most, _settled if n_power is None else None)
    with watch("vectors"):
        U, s, Vt = _rayleigh_ritz(A, space)
    least = gram_resolution(dtype)
    if dtype == np.float32 and not is_operator(A) and (len(s) < rank or _rounded(A, s, least)):
        wide = block_krylov(A, rank, n_power=n_power, rng=rng, dtype=np.float64)
        U, s, Vt = (part.astype(dtype) for part in wide)
        return SVD(U, s, Vt, wide.report)
    notes = unresolved_notes(s, least)
    if not space.settled:
        notes += (f"the Ritz values had not settled after {space.steps} steps",)
    how = "AᵀA formed once" if normal.G is not None else "AᵀA applied as two products"
    how += "" if dtype == A.dtype else ", in double precision"
    reason = f"{space.steps} steps of {width} columns, {how}"
    passes = 2 if normal.G is not None else 2 * space.steps
    report = Report("block-krylov", reason, passes, seconds=watch, notes=notes)
    s = moved_to(_padded(s, rank), U)
    return sign_fixed(complete(U, rank), s, complete(Vt.T, rank).T, report)


def _rounded(A: Matrix, s: Array, least: float) -> bool:
    """Whether rounding of AᵀA hides the last value, or may be felt in ‖A - USVᵀ‖."""
    if s[-1] > 10.0 * least * s[0]:
        return False
    rest = squared_norm(A) - float(s @ s)
    return bool(s[-1] <= least * s[0] or np.finfo(s.dtype).eps * s[0] ** 2 > FELT * rest)


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
        Y = moved_to(Y, matrix_home(A))
        Q = _orthonormal(times(A, Y))
        for step in range(1, power + 1):
            Q = _orthonormal(times(A, _orthonormal(times(A.T, Q))))
            told("iteration", step, power)
    with watch("svd"):
        W, s, Vt = svd(times(A.T, Q).T)
    report = Report(
        "randomized", f"{width} samples, {power} power steps", 2 * power + 2, seconds=watch
    )
    return sign_fixed(Q @ W[:, :rank], s[:rank], Vt[:rank], report)


def _orthonormal(Y: Array) -> Array:
    Q, _ = thin_qr(f_ordered(Y))
    Q, _ = thin_qr(Q)
    return Q


class NormalProduct:
    """X ↦ AᵀAX, in the memory order of X: by AᵀA where that was formed, else by products with A.

    With `keep` the images A·X of every block are kept, and A·X is made apart.
    """

    def __init__(self, A: Matrix, G: Array | None = None, *, keep: bool = False) -> None:
        self.A, self.G, self.keep = A, G, keep
        self.images: list[Array] = []
        self.count = 0

    def __call__(self, X: Array) -> Array:
        self.count += 1
        if self.G is not None:
            by_rows = is_device(X) or X.flags.c_contiguous
            return product(self.G, X) if by_rows else times(self.G, X)
        if self.keep:
            self.images.append(times(self.A, X))
            return times(self.A.T, self.images[-1])
        return normal_times(self.A, X)


def gram_pays(A: Matrix, rank: int) -> bool:
    """Whether `block_krylov` of a tall A forms AᵀA: where that is cheaper for few steps."""
    m, n = A.shape
    formed = krylov_flops(m, n, rank, formed=True)
    cheaper = formed < krylov_flops(m, n, rank, formed=False)
    return is_dense(A) and A.dtype == np.float64 and cheaper


Settled = Callable[[Array, Array], bool]
"""Whether Ritz values, in rising order, with residuals of these norms are good enough."""


def _settled(values: Array, residuals: Array) -> bool:
    limit = SETTLED * np.maximum(values, 0.0) * max(float(values[0]), 0.0)
    return bool(np.all(residuals**2 <= limit))


@dataclass(frozen=True, eq=False)
class Space:
    """A block Krylov space: its basis, wanted Ritz vectors in it, and A times the basis."""

    basis: Array
    ritz: Array
    images: list[Array]
    steps: int
    settled: bool


def krylov_space(
    normal: NormalProduct, start: Array, rank: int, most: int, enough: Settled | None
) -> Space:
    """At most `most` blocks from `start`, until `enough` says so; None asks for all of them.

    Of equal values blocks of w columns find w, however many there are.  Where w of the wanted ones
    are equal, w random columns are added, and go as many steps as there were before them.  So they
    are where the space is used up before it holds as many directions as are wanted: beside a value
    that dwarfs the others rounding hides these in all that comes of the first block.
    """
    basis = _orthonormal(start)
    n, width = basis.shape
    T: Array = np.zeros((0, 0))
    told_apart, look = width, 1  # how many equal values are found, and from which step on
    for step in range(1, most + 1):
        last = basis[:, len(T) :]
        Z = normal(last)
        norms = column_norms(Z)
        Q_new, R, C = extend_basis(basis, Z)
        T, R, norms = _bordered(T, to_host(C)), to_host(R), to_host(norms)
        told("iteration", step, most)
        found = min(independent(R, norms), n - basis.shape[1])
        grown = [basis, Q_new[:, :found]]
        done = found == 0 or step == most
        if done or (enough is not None and len(T) >= rank and step >= look):
            wanted = min(rank, len(T))
            values, X = leading_eigen(T, wanted)
            values, X = values[wanted - 1 :: -1], X[:, wanted - 1 :: -1]
            residuals = column_norms(R @ X[-last.shape[1] :])
            settled = found == 0 or enough is None or enough(values, residuals)
            others = rank > told_apart and basis.shape[1] < n  # which this space may not find
            lacking = others and (len(T) < rank or _crowded(to_host(values), told_apart))
            if step == most or (settled and not lacking):
                settled = settled and not lacking
                break
            if settled:
                grown.append(_others(np.hstack(grown), width, step))
                told_apart, look = told_apart + grown[-1].shape[1], 2 * step
        basis = f_ordered(np.hstack(grown))
    return Space(basis, X[:, ::-1], normal.images, step, settled)


def _crowded(values: Array, count: int) -> bool:
    """Whether so many of the values, in rising order, are equal and not zero."""
    if len(values) < count:
        return False
    high, low = values[count - 1 :], values[: len(values) - count + 1]
    rounding = EXHAUSTED * float(np.finfo(values.dtype).eps) * max(float(values[-1]), 0.0)
    return bool(np.any((high > rounding) & (high - low <= CROWDED * high)))


def _others(Q: Array, count: int, seed: int) -> Array:
    """Orthonormal columns beside those of Q, as many as there is room for, from a fixed stream."""
    n = Q.shape[0]
    count = min(count, n - Q.shape[1])
    if not count:
        return Q[:, :0]
    columns = np.random.default_rng([seed, Q.shape[1]]).standard_normal((count, n)).T
    return extend_basis(f_ordered(Q), moved_to(columns.astype(Q.dtype), Q))[0]


def _bordered(T: Array, C: Array) -> Array:
    """The symmetric matrix with last block column C that continues T."""
    old, size = len(T), len(C)
    grown = np.zeros((size, size), dtype=C.dtype)
    grown[:old, :old] = T
    grown[:, old:] = C
    grown[old:, :old] = C[:old].T
    return grown


def _rayleigh_ritz(A: Matrix, space: Space) -> tuple[Array, Array, Array]:
    """SVD of A restricted to the wanted Ritz vectors."""
    V = space.basis @ space.ritz
    W: Array
    if space.images:
        edges = np.cumsum([image.shape[1] for image in space.images])
        W = np.zeros((A.shape[0], space.ritz.shape[1]), dtype=space.ritz.dtype, like=home(V))
        for image, rows in zip(space.images, np.split(space.ritz, edges[:-1]), strict=True):
            W += image @ rows  # all side by side would be a second copy
    else:
        W = times(A, V)
    return rotated(W, V)


def _padded(s: Array, size: int) -> Array:
    return np.concatenate([s, np.zeros(size - len(s), dtype=s.dtype)])
