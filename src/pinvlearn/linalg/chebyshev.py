"""Leading singular triplets by Chebyshev-filtered subspace iteration on AᵀA.

References
----------
[ZSTC06] Y. Zhou, Y. Saad, M.L. Tiago, J.R. Chelikowsky (2006). Self-consistent-field calculations
using Chebyshev-filtered subspace iteration. J. Comput. Phys. 219(1).
"""

from __future__ import annotations

from math import acosh

import numpy as np
import scipy.linalg

from pinvlearn._arrays import (
    Array,
    Matrix,
    gram,
    gram_work,
    is_operator,
    is_sparse,
    merged_rows,
    normal_times,
    squared_norm,
    transposed,
)
from pinvlearn.linalg.dense import triplets
from pinvlearn.linalg.orthonormal import column_norms, thin_qr
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD, sign_fixed

EXCESS = 1e-4
"""Rounds end when the Ritz residuals promise less growth than this share of the error.

Measured on seven sparse sets, ranks from 1 to 20 % and every round: the true excess of the
Frobenius error over the optimum is at most nine times the promise."""

DEGREE, MOST_DEGREE = 4, 16
"""Degree of the first filter, doubled with every round, and the largest.  It is one less where
the block has a fifth more columns than wanted, and two less where it has half as many more."""

AMPLIFIED = 1e14
"""Bound on a filter's largest over its smallest gain.  Products are in single precision: what they
leave of the first vector in the last is amplified by this, and has to stay removable."""

MAX_ROUNDS = 12

PRODUCTS = 8
"""Products of the whole block that a run usually takes."""

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
    nothing, and the residuals ‖AᵀAvᵢ - θᵢvᵢ‖²/θᵢ say how much of it another round would gain.

    Products are in single precision, all else in double: a filter's rounding only slows it down.
    AᵀA is formed where that is fewer operations, else applied in one pass over A.

    Cost: about 8 products AᵀA·X of width 1.1·rank, 20n·rank² flops, 2|A|·rank for the left vectors;
    memory (m + 5n)·rank.

    References: [ZSTC06] Algorithm 4.1.

    Deviations
    ----------
    The block is Ritz-rotated before it is filtered, which keeps the columns of a high-degree filter
    independent; the degree is bounded by the filter's gain; nothing is locked.
    """
    if A.shape[0] < A.shape[1]:
        flipped = chebyshev(
            transposed(A), rank, n_oversamples=n_oversamples, n_power=n_power, rng=rng
        )
        return sign_fixed(flipped.Vt.T, flipped.s, flipped.U.T, flipped.report)
    watch = Stopwatch()
    n = A.shape[1]
    extra = 5 + rank // 10 if n_oversamples is None else n_oversamples
    # Vector registers hold 16 numbers in single precision: a partly used one costs the same.
    width = min(n, -(-(rank + extra) // 16) * 16 if n_oversamples is None else rank + extra)
    with watch("gram"):
        normal = _Normal(A, width)
    with watch("filter"):
        whole = None if is_operator(A) else squared_norm(A)
        start = rng.standard_normal((width, n)).T
        space = _Space(normal, start if width < n else np.eye(n), rank, whole)
        rounds = space.iterate(
            MAX_ROUNDS if n_power is None else n_power, fixed=n_power is not None
        )
    with watch("vectors"):
        found = triplets(A, space.X, rank)
    how = "AᵀA formed once" if normal.G is not None else "AᵀA applied in one pass over A"
    notes = () if space.settled else (f"the values had not settled after {rounds} rounds",)
    report = Report(
        "chebyshev",
        f"{rounds} rounds of {width} columns, {how}",
        passes=2 if normal.G is not None else normal.products + 1,
        error=None if whole is None else float(np.sqrt(max(whole - float(found.s @ found.s), 0.0))),
        seconds=watch,
        notes=notes,
    )
    return found.svd(A.dtype, report)


class _Normal:
    """X ↦ AᵀAX for blocks of so many columns, in single or double precision."""

    def __init__(self, A: Matrix, width: int) -> None:
        n, columns = A.shape[1], PRODUCTS * width
        self.A, self.G, self.products = A, None, 0
        self.single: Matrix = None
        if is_operator(A):
            return
        if is_sparse(A):
            forming, applying = gram_work(A) / SCATTER_RATE, 4 * A.nnz / SPARSE_RATE
        else:
            forming, applying = A.shape[0] * n**2 / DENSE_RATE, 4 * A.shape[0] * n / DENSE_RATE
        if forming + columns * 2 * n**2 / DENSE_RATE < columns * applying:
            self.G = gram(A)
        elif hasattr(A, "astype"):
            self.A = A.astype(np.float64, copy=False)
            # Finding equal rows costs about what a product of 30 columns does.
            self.A = merged_rows(self.A) if is_sparse(A) and columns > 300 else self.A
        source = self.A if self.G is None else self.G
        if n * width >= SINGLE_PAYS and hasattr(source, "astype"):
            self.single = source.astype(np.float32)

    def __call__(self, X: Array, *, single: bool = True) -> Array:
        self.products += 1
        if single and self.single is not None:
            M, X = self.single, X.astype(np.float32)
        else:
            M = self.A if self.G is None else self.G
        Z = M @ X if self.G is not None else normal_times(M, X)
        return np.asfortranarray(Z, dtype=np.float64)


class _Space:
    """A block of orthonormal columns that turns into the leading eigenvectors of AᵀA."""

    def __init__(self, normal: _Normal, start: Array, rank: int, whole: float | None) -> None:
        self.normal, self.rank, self.whole = normal, rank, whole
        self.settled = False
        self.X = start

    def iterate(self, most: int, *, fixed: bool) -> int:
        """Filter until settled, or `most` times; the number of rounds."""
        if self.X.shape[1] == len(self.X):
            self.rotate(single=False)
            self.settled = True
            return 0
        self.X, _ = thin_qr(self.normal(self.normal(self.X)))
        self.rotate(single=most > 0)
        extra = self.X.shape[1] - self.rank
        first = DEGREE - (5 * extra >= self.rank) - (2 * extra >= self.rank)
        for done in range(most):
            self.filter(min(first * 2**done, MOST_DEGREE))
            self.rotate(single=False)
            if not fixed and self.promise() <= EXCESS:
                self.settled = True
                return done + 1
        self.settled = fixed
        return most

    def rotate(self, *, single: bool) -> None:
        """Rayleigh-Ritz: X and AᵀAX in the basis in which XᵀAᵀAX is diagonal, and falling."""
        image = self.normal(self.X, single=single)
        H = self.X.T @ image
        values, Z = scipy.linalg.eigh(0.5 * (H + H.T), driver="evd", check_finite=False)
        Z = Z[:, ::-1]
        self.values, self.X, self.image = values[::-1].clip(min=0.0), self.X @ Z, image @ Z

    def promise(self) -> float:
        """What another round would gain, as a share of the Frobenius error."""
        k = self.rank
        values = self.values[:k]
        residual = column_norms(self.image[:, :k] - self.X[:, :k] * values)
        eps = float(np.finfo(np.float64).eps)
        growth = float(np.sum(residual**2 / np.maximum(values, eps * values[0] + 1e-300)))
        if self.whole is None:
            rest = float(values[-1])  # the error is unknown, and at least of this order
        else:
            rest = max(self.whole - float(values.sum()), 0.0)
        return 0.5 * growth / max(rest, 1e3 * eps * float(values.sum()), 1e-300)

    def filter(self, degree: int) -> None:
        """X ← p(AᵀA)X with the Chebyshev polynomial of [0, θ], made orthonormal."""
        edge = float(self.values[(self.rank + len(self.values)) // 2 - 1])
        if edge <= 0.0:  # the block holds all of A
            return
        centre = 0.5 * edge
        reach = acosh(max(float(self.values[0]) / centre - 1.0, 1.0 + 1e-12))
        degree = max(1, min(degree, int(acosh(AMPLIFIED) / reach)))
        before, now = self.X, self.image / centre - self.X
        for _ in range(degree - 1):
            following = self.normal(now)
            following *= 2.0 / centre
            following -= 2.0 * now
            following -= before
            before, now = now, following
        self.X, _ = thin_qr(now)
        self.X, _ = thin_qr(self.X)
