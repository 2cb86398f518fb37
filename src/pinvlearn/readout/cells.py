"""Rank and ridge of a truncated read-out, judged together from one decomposition.

With A = U diag(s) Vᵀ and C = UᵀY every cell (rank r, ridge alpha) has the outputs
U_r diag(f) C_r, f = s²/(s² + alpha), and the leverages Σ_{j ≤ r} u_ij² f_j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array, IntArray, Matrix, slices, to_dense
from pinvlearn._core.blas import blas
from pinvlearn._core.products import gram
from pinvlearn._core.progress import told
from pinvlearn.linalg.ranking import relevant, top_columns
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import GRAM_RESOLUTION, SVD, cutoff_gain, default_rcond
from pinvlearn.readout.choose import left_out, validation
from pinvlearn.readout.duals import weights_of

RATIOS = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])
"""Ranks that "auto" tries, as parts of the smaller side: the paper's range."""

ALPHAS = np.append(0.0, np.logspace(-6.0, -1.0, 11))
"""Ridges that "auto" tries, in units of s[0]².  The best of bibtex, delicious and rcv1 lie between
1e-4 and 1e-2 at full rank; below 1e-6 the outputs no longer change."""

JUDGE_FLOPS, RANKING, LEAST_JUDGED = 2e11, 300.0, 500
"""Leave-one-out judges as many rows as cost these flops, a few seconds in float32, if a score
ranked counts as this many of them; and no fewer rows than these."""

CHUNK_ENTRIES = 2**22
"""Scores held at a time: 16 MiB in float32."""

CACHED_ENTRIES, LEAST_CHUNK = 2**18, 256
"""Scores judged at a time, few enough to stay in the second-level cache from the product to the
ranking, and the fewest rows of them, so that the product does not suffer."""

NO_FREEDOM = 1e-5
"""A row whose 1 - leverage is below this is fitted by itself alone, and its left-out outputs are
0 / 0 in float32.  They count as 0, which speaks against fits that interpolate without a ridge."""

Judge = Callable[[Array, Array], Array]
"""(left-out outputs, targets) of some rows to the score of each, larger being better.  The outputs
may be overwritten."""


def judge_precision(k: int) -> Judge:
    """Share of the k best left-out labels that are right."""

    def judge(left_out: Array, Y: Array) -> Array:
        found: Array = relevant(Y, top_columns(left_out, k, overwrite=True)).mean(axis=1)
        return found

    return judge


def judge_accuracy(left_out: Array, Y: Array) -> Array:
    """Whether the one output of a row, for classes coded as ±1, has the right sign."""
    right: Array = np.equal(left_out[:, 0] > 0.0, Y[:, 0] > 0.0).astype(np.float64)
    return right


def judge_squared_error(left_out: Array, Y: Array) -> Array:
    """Minus the mean squared error."""
    score: Array = -np.square(left_out - Y, dtype=np.float64).mean(axis=1)
    return score


@dataclass(frozen=True, eq=False)
class Decomposed:
    """A ≈ U diag(s) Vᵀ and C = UᵀY, without all of U and V where they would have to be made.

    Attributes
    ----------
    s : array of shape (r,)
        Values at or below rcond·s[0] count as zero.
    C : array of shape (r, L)
    left : callable
        Rows of U by their numbers.
    right : callable
        V_k·W for W with k ≤ r rows.
    """

    s: Array
    C: Array
    left: Callable[[IntArray], Array]
    right: Callable[[Array], Array]
    rcond: float
    report: Report


def from_svd(factors: SVD, Y: Matrix) -> Decomposed:
    """From factors that hold U and V."""
    C = np.asarray(Y.T @ factors.U).T
    rcond = default_rcond(factors.shape, factors.s.dtype)
    report = replace(factors.report, seconds=dict(factors.report.seconds))
    return Decomposed(
        factors.s,
        C,
        factors.U.__getitem__,
        lambda W: factors.Vt[: len(W)].T @ W,
        rcond,
        report,
    )


def from_gram(A: Matrix, Y: Matrix, most: int) -> Decomposed:
    """From the smaller Gram matrix of A: every rank up to `most` at once.

    The vectors of the other side are A·V/s or Aᵀ·U/s, made where they are used, and C = Vᵀ(AᵀY)/s:
    orthonormalising all of them would take several times as long as the rest.  Only values that
    the Gram matrix resolves are kept, for which these divisions are harmless.
    """
    watch, tall = Stopwatch(), A.shape[0] >= A.shape[1]
    with watch("gram"):
        G = gram(A if tall else A.T)
    with watch("eigen"):
        values, vectors = scipy.linalg.eigh(G, check_finite=False, driver="evd", overwrite_a=True)
    s = np.sqrt(values[::-1].clip(min=0.0))
    kept = min(most, max(1, int(np.count_nonzero(s > GRAM_RESOLUTION * s[0]))))
    s, vectors = s[:kept], np.ascontiguousarray(vectors[:, ::-1][:, :kept])
    gain = cutoff_gain(s, GRAM_RESOLUTION)
    report = Report("gram", "one eigendecomposition serves every rank", 2, seconds=watch)
    if not tall:
        C = np.asarray(Y.T @ vectors).T

        def right(W: Array) -> Array:
            k = len(W)
            return np.asarray(A.T @ (vectors[:, :k] @ (gain[:k, None] * W)))

        report = replace(report, seconds=dict(watch))
        return Decomposed(s, C, vectors.__getitem__, right, GRAM_RESOLUTION, report)
    with watch("targets"):
        B, step = Y.T @ A, max(1, CHUNK_ENTRIES // A.shape[1])
        parts = [to_dense(B[at : at + step]) @ vectors for at in range(0, Y.shape[1], step)]
        C = gain[:, None] * np.vstack(parts).T
    return Decomposed(
        s,
        C,
        lambda rows: (A[rows] @ vectors) * gain,
        lambda W: vectors[:, : len(W)] @ W,
        GRAM_RESOLUTION,
        replace(report, seconds=dict(watch)),
    )


def leave_one_out_cells(
    factors: Decomposed,
    Y: Matrix,
    ranks: IntArray,
    alphas: Array,
    judge: Judge,
    rng: np.random.Generator,
) -> tuple[Array, int]:
    """Leave-one-out score of every (rank, alpha), and the number of rows that judged.

    Exact for a ridge on the directions V_r, which are held fixed.  The outputs of growing ranks
    are sums, so one ridge costs 2·rows·r·L flops whatever the number of ranks; where all rows
    would cost more than `JUDGE_FLOPS`, a random part of them judges all cells.
    """
    m, L = Y.shape
    per_row = len(alphas) * L * (2.0 * ranks[-1] + len(ranks) * RANKING)
    count = min(m, max(LEAST_JUDGED, int(JUDGE_FLOPS / per_row)))
    rows = np.arange(m) if count == m else np.sort(rng.choice(m, count, replace=False))
    C32 = np.ascontiguousarray(factors.C, dtype=np.float32)
    multiply = blas("gemm", C32)
    gains = [filtered(factors, alpha) for alpha in alphas]
    edges = [0, *ranks]
    scores = np.zeros((len(ranks), len(alphas)))
    most = max(1, CHUNK_ENTRIES // max(L, int(ranks[-1])))
    step = min(most, max(CACHED_ENTRIES // L, LEAST_CHUNK))
    parts = list(slices(0, count, step))
    for number, chosen in enumerate((rows[part] for part in parts), start=1):
        U, marked = factors.left(chosen), Y[chosen]
        targets = marked.toarray()
        targets32 = targets.astype(np.float32)
        squares, U32 = np.square(U, dtype=np.float64), U.astype(np.float32)
        outputs = np.empty((len(chosen), L), dtype=np.float32)
        for j, (alpha, gain) in enumerate(zip(alphas, gains, strict=True)):
            left, right = U32, C32
            if len(chosen) < L:  # the smaller of the two is scaled
                left = left * gain.astype(np.float32)
            else:
                right = right * gain.astype(np.float32)[:, None]
            leverage = np.zeros(len(chosen))
            for i, (low, high) in enumerate(zip(edges, ranks, strict=False)):
                if high == m:
                    predictions = _from_duals(factors, U, targets, alpha)
                else:
                    part = slice(low, high)
                    # added to what lower ranks gave, in place; BLAS sees the transposes
                    given = {"beta": float(low > 0), "c": outputs.T, "overwrite_c": True}
                    multiply(1.0, right[part].T, left[:, part].T, **given)
                    leverage += squares[:, part] @ gain[part]
                    predictions = _from_leverages(outputs, targets32, leverage)
                scores[i, j] += judge(predictions, targets).sum()
        told("piece of rows", number, len(parts))
    return scores / count, count


def _from_leverages(outputs: Array, targets: Array, leverage: Array) -> Array:
    """Left-out outputs of rows that could not all be fitted."""
    free = 1.0 - leverage
    predictions = left_out(targets, targets - outputs, free.clip(min=NO_FREEDOM).astype(np.float32))
    predictions[free < NO_FREEDOM] = 0.0
    return predictions


def _from_duals(factors: Decomposed, U: Array, Y: Array, alpha: float) -> Array:
    """The same with as many directions as rows.  Values below the cut-off count as the cut-off."""
    s = factors.s.astype(np.float64)
    least = max(alpha, (factors.rcond * float(s[0])) ** 2)
    # in units of the largest of them, which may be beyond the range of floats
    gains = 1.0 / (1.0 + (s**2 - s[-1] ** 2) / (s[-1] ** 2 + least)) if least else np.ones_like(s)
    return left_out(Y, weights_of(U, gains, factors.C), np.square(U) @ gains)


def cross_validated_cells(factors: Decomposed, Y: Matrix, ranks: IntArray, alphas: Array) -> Array:
    """Minus the generalised cross-validation error of every (rank, alpha); no row is visited."""
    m = Y.shape[0]
    squares = np.square(factors.C, dtype=np.float64).sum(axis=1)
    total = float(np.square(Y.data, dtype=np.float64).sum())
    scores = np.empty((len(ranks), len(alphas)))
    for j, alpha in enumerate(alphas):
        gain = filtered(factors, alpha)
        explained = np.cumsum(squares * gain * (2.0 - gain))[ranks - 1]
        freedom = np.maximum(m - np.cumsum(gain)[ranks - 1], NO_FREEDOM)
        rss = (total - explained).clip(min=0.0) / Y.shape[1]
        scores[:, j] = validation(rss, freedom, m, m)
    return scores


def filtered(factors: Decomposed, alpha: float) -> Array:
    """s²/(s² + alpha) in float64; without ridge 1 above the cut-off and 0 below."""
    s = factors.s.astype(np.float64)
    if alpha == 0.0:
        return s * cutoff_gain(s, factors.rcond)
    with np.errstate(divide="ignore", over="ignore"):
        return 1.0 / (1.0 + (alpha / s) / s)
