"""Completion by alternating small solves: ridge solutions (ALS) or posterior draws (Gibbs).

Both fit a_ij ≈ b_i + c_j + u_i·v_j to the known entries.  Given one side, every row of the other
is a small ridge problem of its own; `update` solves them all, in any number of threads and to the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.progress import told
from pinvlearn._core.threads import allowed_threads, share_out

BIAS_RIDGE = 3.0
"""Penalty of a row's or column's bias, as a number of entries; 2 to 5 do equally well."""

START = 0.1
"""Deviation of the random start of the factors, of entries with unit variance."""

EXTRA_ENTRIES = 25.0
"""A row is penalised as if it had so many entries more: rows with few entries are shrunk more than
by the plain weighted penalty, worth .005 to .006 RMSE on movielens_100k (10 to 200 all help)."""

LEAST_RIDGE = 1e-8
"""Keeps the system of a row with fewer entries than factors definite where alpha is 0."""

DIRECT_SIZE = 24
"""Unknowns per row up to which ALS solves by Cholesky, n_i·d² flops; above, conjugate gradients of
n_i·d a step are cheaper (1.2 times at 24, 4 times at 50, on movielens_100k)."""

STEPS = 3
"""Conjugate-gradient steps from the last solution: Takács, Pilászy & Tikk (2011), RecSys."""

CHUNKS_PER_THREAD = 4

Run = Callable[[Callable[[int, int], Any], IntArray], None]
"""run(work, starts): work(low, high) over all rows, shared out by number of entries."""


class Entries(NamedTuple):
    """Known entries of each row: those of row i are starts[i] … starts[i + 1]."""

    starts: IntArray
    indices: IntArray
    values: Array


class Prior(NamedTuple):
    """What a row's solution is drawn to.

    Precision of an entry, precision matrix and its product with the mean, and what each entry of a
    row adds to the precision's diagonal (the weighted penalty).
    """

    noise_precision: float
    precision: Array
    rhs: Array
    per_entry: Array


class Factors(NamedTuple):
    """Biases (first column, if any) and factors of rows and columns, and the error on the way."""

    rows: Array
    cols: Array
    rmse: Array


def entries_of(rows: IntArray, cols: IntArray, values: Array, n_rows: int) -> Entries:
    """Entries by row, in the order of columns, for any order of the triplets."""
    order = np.lexsort((cols, rows))
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=starts[1:])
    return Entries(starts, cols[order].astype(np.uint32), values[order].astype(np.float64))


def rows_of_entries(entries: Entries, rows: IntArray) -> Entries:
    """The entries of some rows alone."""
    counts = np.diff(entries.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    at = np.repeat(entries.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
    return Entries(starts, entries.indices[at], entries.values[at])


def merged(
    rows: IntArray, cols: IntArray, values: Array, n_cols: int, *, summed: bool = False
) -> tuple[IntArray, IntArray, Array]:
    """One value for each place: the mean of repeated ones, or their sum."""
    places, first, counts = np.unique(rows * n_cols + cols, return_inverse=True, return_counts=True)
    if len(places) == len(rows):
        return rows, cols, values
    order = np.lexsort((values, first))  # so that sums do not depend on that of the entries
    sums: Array = np.bincount(first[order], weights=values[order]).astype(np.float64)
    return places // n_cols, places % n_cols, sums if summed else sums / counts


def both_ways(
    rows: IntArray, cols: IntArray, values: Array, shape: tuple[int, int]
) -> tuple[Entries, Entries]:
    """The entries by row and by column; twice the memory, no search."""
    return entries_of(rows, cols, values, shape[0]), entries_of(cols, rows, values, shape[1])


def row_runner(n_jobs: int | None) -> Run:
    """A way to run row by row work in `n_jobs` threads, or as many as are allowed."""

    def run(work: Callable[[int, int], Any], starts: IntArray) -> None:
        threads = n_jobs or allowed_threads()
        n_rows = len(starts) - 1
        load = starts + np.arange(n_rows + 1)  # an empty row takes time, too
        marks = np.linspace(0, load[-1], CHUNKS_PER_THREAD * threads + 1 if threads > 1 else 2)
        bounds = np.searchsorted(load, marks)
        bounds[0], bounds[-1] = 0, n_rows
        edges = bounds.tolist()
        share_out(work, list(zip(edges[:-1], edges[1:], strict=True)), threads)

    return run


def update(
    run: Run, side: Entries, others: Array, biases: bool, prior: Prior, out: Array, draws: Array
) -> float:
    """Solve every row of one side given the other; returns the squared error of all entries.

    Row i of `out` becomes x = P⁻¹h + L⁻ᵀz with P = precision + count·diag(per_entry) +
    noise_precision·Σwwᵀ over its entries' regressors w, P = LLᵀ; zero
    draws z give the ridge solution.
    """
    from pinvlearn.completion._compiled import solve_rows

    squared = np.zeros(len(out))
    solved = []

    def work(low: int, high: int) -> None:
        solved.append(solve_rows(*side, others, biases, *prior, draws, out, squared, low, high))

    run(work, side.starts)
    if not all(solved):
        raise ValueError(
            "A row's system is not positive definite: alpha is too small for its entries. "
            "Give a larger alpha, or fewer components."
        )
    return float(squared.sum())


def improve(
    run: Run, side: Entries, others: Array, biases: bool, prior: Prior, out: Array
) -> float:
    """As `update` without draws, by a few conjugate-gradient steps from `out`.

    Returns the squared error before the steps.
    """
    from pinvlearn.completion._compiled import improve_rows

    squared = np.zeros(len(out))
    diagonal = np.diag(prior.precision).copy()

    def work(low: int, high: int) -> None:
        improve_rows(
            *side, others, biases, diagonal, prior.per_entry, STEPS, out, squared, low, high
        )

    run(work, side.starts)
    return float(squared.sum())


def ridge_prior(rank: int, alpha: float, biases: bool) -> Prior:
    """alpha·(count + EXTRA_ENTRIES)·‖u‖² + BIAS_RIDGE·b² for a row with `count` entries."""
    d = rank + biases
    precision = (LEAST_RIDGE + alpha * EXTRA_ENTRIES) * np.eye(d)
    per_entry = np.full(d, alpha)
    if biases:
        precision[0, 0], per_entry[0] = BIAS_RIDGE, 0.0
    return Prior(1.0, precision, np.zeros(d), per_entry)


def als(
    sides: tuple[Entries, Entries],
    rank: int,
    alpha: float,
    *,
    biases: bool = True,
    max_iter: int = 30,
    tol: float = 1e-4,
    rng: np.random.Generator,
    run: Run,
) -> Factors:
    """Alternating least squares with the weighted penalty.

    Minimises Σ_known (a_ij - b_i - c_j - u_i·v_j)² + alpha·(Σ_i n_i‖u_i‖² + Σ_j n_j‖v_j‖²)
    + BIAS_RIDGE·(‖b‖² + ‖c‖²), n being numbers of entries plus EXTRA_ENTRIES: the penalty of
    [LingPipe]'s descent, alpha per entry, with more for those who have few.  A row's bias and
    factors are solved for together.

    Cost per iteration entries·d² + (m + n)·d³/3 flops for d = rank + 1 up to DIRECT_SIZE, above it
    8·(STEPS + 1)·entries·d.

    References: Zhou, Wilkinson, Schreiber & Pan (2008), AAIM; Hu, Koren & Volinsky (2008), ICDM.
    """
    by_row, by_column = sides
    d = rank + biases
    m, n = len(by_row.starts) - 1, len(by_column.starts) - 1
    A, B = np.zeros((m, d)), START * rng.standard_normal((n, d))
    if biases:
        B[:, 0] = 0.0
    prior, direct = ridge_prior(rank, alpha, biases), d <= DIRECT_SIZE
    nothing = np.zeros((max(m, n), d)) if direct else np.empty((0, d))
    count, rmse = len(by_row.values), []
    for _ in range(max_iter):
        if direct:
            update(run, by_row, B, biases, prior, A, nothing)
            squared = update(run, by_column, A, biases, prior, B, nothing)
        else:
            improve(run, by_row, B, biases, prior, A)
            squared = improve(run, by_column, A, biases, prior, B)
        rmse.append(np.sqrt(max(squared, 0.0) / count))
        enough = told("iteration", len(rmse), max_iter)
        if enough or len(rmse) > 1 and abs(rmse[-2] - rmse[-1]) <= tol * rmse[-1]:
            break
    return Factors(A, B, np.array(rmse))


def predicted(A: Array, B: Array, rows: IntArray, cols: IntArray, biases: bool) -> Array:
    """b_i + c_j + u_i·v_j for pairs, in blocks."""
    answer = np.empty(len(rows))
    first = int(biases)
    block = max(1, 2**20 // max(1, A.shape[1]))
    for at in range(0, len(rows), block):
        a, b = A[rows[at : at + block]], B[cols[at : at + block]]
        part = np.einsum("ij,ij->i", a[:, first:], b[:, first:], dtype=np.float64)
        answer[at : at + block] = part + a[:, 0] + b[:, 0] if biases else part
    return answer


def chosen_alpha(
    rows: IntArray,
    cols: IntArray,
    values: Array,
    path: Array,
    fit: Callable[[tuple[IntArray, IntArray, Array], float], tuple[Array, Array]],
    biases: bool,
    rng: np.random.Generator,
    *,
    patient: bool = True,
    held_out: float = 0.1,
) -> tuple[float, Array]:
    """The alpha whose fit to nine tenths of the entries is best on the rest, and the RMSEs.

    The path is walked from its start.  With `patient` all of it; without, until two steps in a row
    were no better, and between its points the error is taken as a parabola in log alpha.
    """
    order = rng.permutation(len(values))
    cut = min(max(1, int(held_out * len(values))), len(values) - 1)
    test, train = order[:cut], np.sort(order[cut:])
    if not len(train):
        return float(path[0]), np.zeros(len(path))
    part = (rows[train], cols[train], values[train])
    scores: list[float] = []
    for alpha in path:
        A, B = fit(part, float(alpha))
        gap = predicted(A, B, rows[test], cols[test], biases) - values[test]
        scores.append(float(np.sqrt(np.mean(gap**2))))
        best = int(np.argmin(scores))
        if not patient and len(scores) - best > 2:
            break
    if patient or not 0 < best < len(scores) - 1:
        return float(path[best]), np.array(scores)
    x = np.log(path[best - 1 : best + 2])
    bend, slope, _ = np.polyfit(x - x[1], scores[best - 1 : best + 2], 2)
    move = np.clip(-slope / (2.0 * bend), *sorted((x[0] - x[1], x[2] - x[1]))) if bend > 0 else 0.0
    return float(np.exp(x[1] + move)), np.array(scores)
