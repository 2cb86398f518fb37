"""Implicit feedback: clicks, plays and purchases, of which only the positive ones are seen.

Every cell counts: a user prefers what was clicked (1) and not what was not (0), the former with
more confidence.  Minimised is [HKV08] eq. (3),

    Σ_ij c_ij (p_ij - u_i·v_j)² + alpha·(Σ_i ‖u_i‖² + Σ_j ‖v_j‖²),  p_ij = 1 where there is a count,

with c_ij = 1 + confidence·log₂(1 + count), their eq. (6): 1 + confidence for a single click.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.progress import told
from pinvlearn._core.threads import allowed_threads, share_out
from pinvlearn.completion.als import Entries, both_ways, entries_of
from pinvlearn.linalg.ranking import top_columns

CHUNK = 256
"""Rows solved together: their directions stay in cache, and one product serves them all.  The
chunks are the same for any number of threads, and so are the bits."""

STEPS = 3
"""Conjugate-gradient steps from the last solution: Takács, Pilászy & Tikk (2011), RecSys."""

START = 0.1
"""Length of a random start's rows."""

EXACT = 1e-10
"""Relative gradient at which a row that is folded in counts as solved."""


TOP = 10
"""Length of the lists that settings are judged by."""

SCORE_CELLS = 2**22
"""Scores held at a time: 16 MiB."""

HALF_DECADE, MOST_TRIALS = 10**0.5, 40
"""Step of the grid of settings, and fits after which the search ends."""


class Clicks(NamedTuple):
    """Factors of rows and columns, and the root of the mean loss of a cell after each iteration."""

    rows: Array
    cols: Array
    loss: Array


def extra_confidence(counts: Array, confidence: float) -> Array:
    """c - 1 of each entry: what it weighs beyond a cell without clicks."""
    return confidence * log2_above_one(counts)


def log2_above_one(counts: Array) -> Array:
    """log₂(1 + count), also of counts that are lost beside 1."""
    logs: Array = np.log1p(counts) / np.log(2.0)
    return logs


def implicit_als(
    sides: tuple[Entries, Entries],
    rank: int,
    alpha: float,
    *,
    max_iter: int,
    tol: float = 1e-4,
    rng: np.random.Generator,
    threads: int | None = None,
) -> Clicks:
    """Alternating least squares over all cells; `values` of the sides are `extra_confidence`.

    The cells without clicks enter by the Gram matrix of the other side [HKV08], and a row is
    improved by `STEPS` conjugate-gradient steps.  Cost per iteration: 2·STEPS·(m + n)·rank² flops
    in matrix products, and 4·(STEPS + 1)·entries·rank.
    """
    by_row, by_column = sides
    m, n = len(by_row.starts) - 1, len(by_column.starts) - 1
    by_row, by_column = (side._replace(values=side.values.astype(np.float32)) for side in sides)
    U = np.zeros((m, rank), dtype=np.float32)
    V = (rng.standard_normal((n, rank)) * (START / np.sqrt(rank))).astype(np.float32)
    V[np.diff(by_column.starts) == 0] = 0.0  # the solution; steps would leave a direction of it
    losses: list[float] = []
    for _ in range(max_iter):
        improve(by_row, V, alpha, U, threads=threads)
        total = improve(by_column, U, alpha, V, threads=threads)
        losses.append(float(np.sqrt(max(total, 0.0) / (m * n))))
        enough = told("iteration", len(losses), max_iter)
        if enough or len(losses) > 1 and losses[-2] - losses[-1] <= tol * losses[-1]:
            break
    return Clicks(U, V, np.array(losses))


def improve(
    side: Entries,
    others: Array,
    alpha: float,
    out: Array,
    *,
    steps: int = STEPS,
    exact: bool = False,
    threads: int | None = None,
) -> float:
    """Conjugate-gradient steps from `out`, in place; returns the loss of all rows before them.

    With `exact` as many steps as it takes.
    """
    from pinvlearn.completion._compiled_implicit import begin_rows, step_rows

    G = others.T @ others
    diagonal = np.diag(G).copy()
    given = (*side, others, others.dtype.type(1.0), others.dtype.type(alpha))
    d, loss = others.shape[1], np.zeros(len(out))

    def work(low: int, high: int) -> None:
        image, rest, direction, scale = (np.empty((high - low, d), others.dtype) for _ in range(4))
        size = np.empty(high - low, others.dtype)
        np.matmul(out[low:high], G, out=image)
        scratch = (rest, direction, scale, size)
        begin_rows(*given, diagonal, out, image, *scratch, loss, low, high)
        enough = EXACT**2 * size
        for _ in range(4 * d if exact else steps):
            np.matmul(direction, G, out=image)
            step_rows(*given, out, image, *scratch, low, high)
            if exact and np.all(size <= enough):
                break

    edges = range(0, len(out), CHUNK)
    share_out(work, [(at, min(at + CHUNK, len(out))) for at in edges], threads or allowed_threads())
    return float(loss.sum())


def solved_rows(entries: Entries, others: Array, alpha: float) -> Array:
    """Rows that minimise their part of the loss given the other side."""
    rows = np.zeros((len(entries.starts) - 1, others.shape[1]))
    improve(entries, others, alpha, rows, exact=True, threads=1)
    return rows


def ranking_score(U: Array, V: Array, known: Entries, held: Entries) -> float:
    """Mean normalised discounted gain of the `TOP` best columns that a row did not know.

    Over rows with entries that were held out, which are the ones to find.
    """
    gains = 1.0 / np.log2(np.arange(2, TOP + 2))
    best_possible = np.concatenate([[0.0], np.cumsum(gains)])
    rows = np.flatnonzero(np.diff(held.starts))
    total, block = 0.0, max(1, SCORE_CELLS // len(V))
    for at in range(0, len(rows), block):
        some = rows[at : at + block]
        scores = U[some] @ V.T
        wanted = np.zeros(scores.shape, dtype=bool)
        for place, row in enumerate(some):
            scores[place, known.indices[known.starts[row] : known.starts[row + 1]]] = -np.inf
            wanted[place, held.indices[held.starts[row] : held.starts[row + 1]]] = True
        top = top_columns(scores, TOP, overwrite=True)
        found = np.take_along_axis(wanted, top, axis=1) @ gains[: top.shape[1]]
        counts = np.diff(held.starts)[some]
        total += float(np.sum(found / best_possible[np.minimum(counts, TOP)]))
    return total / max(1, len(rows))


class Trial(NamedTuple):
    """A pair of settings and the `ranking_score` of its fit on entries held out."""

    alpha: float
    confidence: float
    score: float


def chosen_settings(
    rows: IntArray,
    cols: IntArray,
    counts: Array,
    shape: tuple[int, int],
    fit: Callable[[tuple[Entries, Entries], float], Clicks],
    alphas: Array | None,
    confidence: float | None,
    rng: np.random.Generator,
) -> tuple[Trial, list[Trial]]:
    """The best alpha and confidence on a tenth of the entries held out, and all that were tried.

    Given ones stay.  Those that are not are looked for on a grid of half decades, from a start that
    the entries tell, by steps to a neighbour as long as one is better.  Start: entries weigh four
    times a cell without any on average, and alpha, which is subtracted from singular values, is
    what those of as many entries at random places reach.
    """
    order = rng.permutation(len(counts))
    cut = min(max(1, len(counts) // 10), len(counts) - 1)
    out, kept = order[:cut], np.sort(order[cut:])
    held = entries_of(rows[out], cols[out], counts[out], shape[0])
    mean_log = float(np.mean(log2_above_one(counts)))
    edge = np.sqrt(len(counts) / np.prod(shape)) * np.sum(np.sqrt(shape))
    tried: dict[tuple[float, float], Trial] = {}

    def at(alpha: float, weight: float) -> Trial:
        if (alpha, weight) not in tried:
            extra = extra_confidence(counts[kept], weight)
            sides = both_ways(rows[kept], cols[kept], extra, shape)
            found = fit(sides, alpha)
            score = ranking_score(found.rows, found.cols, sides[0], held)
            tried[alpha, weight] = Trial(alpha, weight, score)
        return tried[alpha, weight]

    def neighbours(trial: Trial) -> Iterator[Trial]:
        for up in (HALF_DECADE, 1.0 / HALF_DECADE):
            if alphas is None:
                yield at(trial.alpha * up, trial.confidence)
            if confidence is None:
                yield at(trial.alpha, trial.confidence * up)
                if alphas is None:  # they go together: both say how much a click counts
                    yield at(trial.alpha * up, trial.confidence * up)

    first = 3.0 / mean_log if confidence is None else confidence
    starts = np.array([edge]) if alphas is None else alphas
    best = max((at(float(alpha), first) for alpha in starts), key=lambda trial: trial.score)
    while True:
        better = max(neighbours(best), key=lambda trial: trial.score, default=best)
        if better.score <= best.score or len(tried) > MOST_TRIALS:
            return best, list(tried.values())
        best = better
