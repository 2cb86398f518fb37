"""Leading singular triplets by Chebyshev-filtered subspace iteration on AᵀA.

References
----------
[ZSTC06] Y. Zhou, Y. Saad, M.L. Tiago, J.R. Chelikowsky (2006). Self-consistent-field calculations
using Chebyshev-filtered subspace iteration. J. Comput. Phys. 219(1).
"""

from __future__ import annotations

from math import acosh
from typing import Any

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, Matrix, is_operator, is_sparse, squared_norm, transposed
from pinvlearn._core.products import gram, gram_work, merged_rows, product
from pinvlearn._core.progress import told
from pinvlearn.linalg.dense import triplets
from pinvlearn.linalg.krylov import NormalProduct
from pinvlearn.linalg.orthonormal import basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, unresolved_notes

EXCESS = 1.6e-4
"""Rounds end when the Ritz residuals promise less growth than this share of the error.

Measured on seven sparse sets and ranks from 1 to 30 %: promises near this one mean a true excess of
the Frobenius error over the optimum of 3e-4 to 9e-4, up to seven times as much."""

DEGREE, MOST_DEGREE = 3, 24
"""Degree of the first filter, doubled with every round, and the largest.  It is one less where
the block has two fifths more columns than wanted."""

AMPLIFIED = 1e14
"""Bound on a filter's largest over its smallest gain.  Products are in single precision: what they
leave of the first vector in the last is amplified by this, and has to stay removable."""

MAX_ROUNDS = 12

KNOWN = 1e3 * float(np.finfo(np.float64).eps)
"""Share of ‖A‖² above which the difference of it and Σθᵢ is more than rounding."""

PROBES = 32
"""Random signs by which residuals are summed: their sum is right to a quarter where one residual
is all of it, and much closer where many are."""

LARGEST_EXPONENT = 15
"""Matrices whose norm is 2 to more than plus or minus this power are scaled for the filter."""

PRODUCTS = 7
"""Products of the whole block in single precision that a run usually takes the time of."""

SINGLE_PAYS = 2**14
"""Entries of a block from which single precision saves more than its conversions cost."""

DENSE_RATE, SPARSE_RATE, SCATTER_RATE = 90.0, 15.0, 1.0
"""Billions of operations a second of single-precision BLAS, of the compiled AᵀA·X and of forming
AᵀA from sparse rows [measured on AVX-512]; only their ratios matter."""


def chebyshev(
    A: Matrix,
    rank: int,
    *,
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: np.random.Generator,
) -> SVD:
    """Leading `rank` components from a subspace filtered by Chebyshev polynomials of AᵀA.

    A random block is multiplied by (AᵀA)².  Each round then rotates it to its Ritz vectors, filters
    it by the Chebyshev polynomial that is small on [0, θ] for a Ritz value θ just below the wanted
    ones, and makes it orthonormal.  With Ritz pairs (θᵢ, vᵢ) the error ‖A‖² - Σθᵢ is known for
    free where it is more than rounding, and the residuals ‖AᵀAvᵢ - θᵢvᵢ‖²/θᵢ say how much of it
    another round would gain.

    Filters are in single precision, as their rounding only slows them down; orthonormal bases and
    the last rotation are in double.  AᵀA is formed where that is fewer operations, else applied in
    one pass over A.

    Cost: about 6 products AᵀA·X of width 1.1·rank, 15n·rank² flops, 2|A|·rank for the left vectors;
    memory (m + 5n)·rank.

    References: [ZSTC06] Algorithm 4.1.

    Deviations
    ----------
    The block is Ritz-rotated before it is filtered, which keeps the columns of a high-degree filter
    independent; the degree is bounded by the filter's gain; nothing is locked.
    """
    if A.shape[0] < A.shape[1]:
        A = transposed(A)
        return chebyshev(A, rank, n_oversamples=n_oversamples, n_power=n_power, rng=rng).T
    watch = Stopwatch()
    n = A.shape[1]
    extra = 5 + rank // 10 if n_oversamples is None else n_oversamples
    # Vector registers hold 16 numbers in single precision: a partly used one costs the same.
    width = min(n, -(-(rank + extra) // 16) * 16 if n_oversamples is None else rank + extra)
    whole = None if is_operator(A) else squared_norm(A)
    with watch("gram"):
        normal = _Normal(A, width, whole)
    with watch("filter"):
        space = _Space(normal, width, rank, rng)
        rounds = space.iterate(
            MAX_ROUNDS if n_power is None else n_power, fixed=n_power is not None
        )
    with watch("vectors"):
        found = triplets(A, space.vectors(), rank)
    how = "AᵀA formed once" if normal.formed else "AᵀA applied in one pass over A"
    notes = unresolved_notes(found.s)
    if not space.settled:
        notes = (f"the values had not settled after {rounds} rounds", *notes)
    rest = 0.0 if whole is None else whole - float(found.s @ found.s)
    report = Report(
        "chebyshev",
        f"{rounds} rounds of {width} columns, {how}",
        passes=2 if normal.formed else normal.products + 1,
        error=None if whole is None or rest <= KNOWN * whole else float(np.sqrt(rest)),
        seconds=watch,
        notes=notes,
    )
    return found.svd(A.dtype, report)


class _Normal:
    """X ↦ cAᵀAX in X's precision and in C order, with a power of two c that brings ‖A‖ near one."""

    def __init__(self, A: Matrix, width: int, whole: float | None) -> None:
        n, columns = A.shape[1], PRODUCTS * width
        self.n, self.whole = n, whole
        self.double, self.single = NormalProduct(A), None
        if whole is None:
            return
        if is_sparse(A):
            forming, applying = gram_work(A) / SCATTER_RATE, 4 * A.nnz / SPARSE_RATE
        else:
            forming, applying = A.shape[0] * n**2 / DENSE_RATE, 4 * A.shape[0] * n / DENSE_RATE
        # Powers of AᵀA are to stay within the range of single precision.
        exponent = int(np.frexp(whole)[1]) // 2
        unit = 1.0 if abs(exponent) <= LARGEST_EXPONENT else float(np.ldexp(1.0, -exponent))
        single = n * width >= SINGLE_PAYS
        if forming + columns * 2 * n**2 / DENSE_RATE < columns * applying:
            G = gram(A)
            G *= unit**2
            self.double = NormalProduct(A, G)
            self.single = NormalProduct(A, G.astype(np.float32)) if single else None
        elif hasattr(A, "astype"):
            A64 = A.astype(np.float64, copy=False)
            A64 = A64 if unit == 1.0 else A64 * unit
            # Finding equal rows costs about what a product of 150 columns does.
            A64 = merged_rows(A64) if is_sparse(A) and columns > 2500 else A64
            self.double = NormalProduct(A64)
            self.single = NormalProduct(A64.astype(np.float32)) if single else None
        else:
            return
        self.whole = whole * unit**2

    @property
    def formed(self) -> bool:
        """Whether AᵀA was formed."""
        return self.double.G is not None

    @property
    def products(self) -> int:
        """How often it was applied."""
        return self.double.count + (0 if self.single is None else self.single.count)

    @property
    def dtype(self) -> Any:
        """The precision of filters."""
        return np.float64 if self.single is None else np.float32

    def __call__(self, X: Array) -> Array:
        apply = self.single if self.single is not None and X.dtype == np.float32 else self.double
        return np.ascontiguousarray(apply(X))


class _Space:
    """The span of orthonormal columns Q, which turns into the leading eigenvectors of AᵀA.

    Its Ritz vectors are Q·W, their images AᵀAQ·W, and their values fall.
    """

    Q: Array
    image: Array
    W: Array
    values: Array

    def __init__(self, normal: _Normal, width: int, rank: int, rng: np.random.Generator) -> None:
        self.normal, self.width, self.rank, self.rng = normal, width, rank, rng
        self.settled = False

    def iterate(self, most: int, *, fixed: bool) -> int:
        """Filter until settled, or `most` times; the number of rounds."""
        n = self.normal.n
        if self.width == n:
            self.rotate(np.eye(n))
            self.settled = True
            return 0
        start = self.rng.random((n, self.width), dtype=self.normal.dtype)
        start -= 0.5
        Q = basis(self.normal(self.normal(start)).astype(np.float64, copy=False))
        self.rotate(Q.astype(self.normal.dtype, copy=False) if most else Q)
        extra = self.width - self.rank
        first = DEGREE - (5 * extra >= 2 * self.rank)
        for done in range(most):
            filtered = self.filtered(min(first * 2**done, MOST_DEGREE))
            self.rotate(basis(filtered.astype(np.float64, copy=False)))
            told("iteration", done + 1, most)
            if not fixed and self.promise() <= EXCESS:
                self.settled = True
                return done + 1
        self.settled = fixed
        return most

    def rotate(self, Q: Array) -> None:
        """Rayleigh-Ritz: the rotation W for which WᵀQᵀAᵀAQW is diagonal.

        In double precision it makes the columns orthonormal to rounding as well.
        """
        self.Q, self.image = Q, self.normal(Q)
        H = product(Q.T, self.image)
        metric = gram(Q) if Q.dtype == np.float64 else None
        values, W = scipy.linalg.eigh(
            0.5 * (H + H.T), metric, driver="evd" if metric is None else "gvd", check_finite=False
        )
        self.values, self.W = values[::-1].clip(min=0.0).astype(np.float64), W[:, ::-1]

    def vectors(self) -> Array:
        """The Ritz vectors."""
        return product(self.Q, self.W)

    def promise(self) -> float:
        """What another round would gain, as a share of the Frobenius error.

        That takes Σ‖rᵢ‖²/θᵢ of the Ritz residuals rᵢ, which is the mean of ‖Σ ±rᵢ/√θᵢ‖² over
        signs: some random ones stand for all.
        """
        eps = float(np.finfo(np.float64).eps)
        values, W = self.values[: self.rank], self.W[:, : self.rank]
        roots = np.sqrt(np.maximum(values, eps * values[0] + 1e-300))
        signs = self.rng.choice([-1.0, 1.0], (self.rank, PROBES))
        residual = self.image @ (W @ (signs / roots[:, None]))
        residual -= self.Q @ (W @ (signs * (values / roots)[:, None]))
        growth = float(np.vdot(residual, residual)) / PROBES
        if self.normal.whole is None:
            rest = float(values[-1])  # the error is unknown, and at least of this order
        else:
            rest = max(self.normal.whole - float(values.sum()), 0.0)
        return 0.5 * growth / max(rest, KNOWN * float(values.sum()), 1e-300)

    def filtered(self, degree: int) -> Array:
        """p(AᵀA)X of the Ritz vectors X with the Chebyshev polynomial p of [0, θ]."""
        dtype = self.normal.dtype
        Q, image, W = (x.astype(dtype, copy=False) for x in (self.Q, self.image, self.W))
        before = product(Q, W)
        edge = float(self.values[(self.rank + self.width) // 2 - 1])
        if edge <= 0.0:  # the block holds all of A
            return before
        centre = 0.5 * edge
        reach = acosh(max(float(self.values[0]) / centre - 1.0, 1.0 + 1e-12))
        degree = max(1, min(degree, int(acosh(AMPLIFIED) / reach)))
        now = product(image, W)
        now /= centre
        now -= before
        for _ in range(degree - 1):
            following = self.normal(now)
            following *= 2.0 / centre
            following -= before
            now *= 2.0
            following -= now
            now *= 0.5
            before, now = now, following
        return now
