"""The singular value decomposition of a partially known matrix, one factor at a time [LingPipe]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.progress import told
from pinvlearn.linalg.driver import decompose
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import SVD

Callback = Callable[[int, int, float], Any]
"""callback(rank, epoch, rmse); a truthy answer ends the descent."""

UPDATES_PER_CALL = 50_000_000
"""Updates of one call of the compiled loop, about half a second: an interrupt is heard soon."""

DIVERGED = 100.0
"""Growth of the squared error over that of the start from which a descent has diverged."""


class Descent(NamedTuple):
    """How one factor is descended; the names are those of `pinvlearn.partial_svd`."""

    learning_rate: float
    annealing: float
    alpha: float
    min_improvement: float
    min_epochs: int
    max_epochs: int


class _Epochs(NamedTuple):
    """What a loop answers: epochs done, errors of the last one, and whether to go on."""

    done: int
    penalised: float
    squared: float
    status: int


GO_ON, CONVERGED, HAS_DIVERGED = 0, 1, 2


def factor_at_a_time(
    rows: IntArray,
    cols: IntArray,
    values: Array,
    shape: tuple[int, int],
    rank: int,
    init: float,
    descent: Descent,
    rng: np.random.Generator,
    callback: Callback | None = None,
    loop: Callable[..., Any] | None = None,
) -> SVD:
    """Regularised stochastic gradient descent over the known entries, factor after factor.

    For each factor in turn, the squared error of the known entries plus
    alpha·Σ_known (u_i² + v_j²), with the earlier factors held and their residual cached.

    Cost rank·epochs·entries updates; memory one float for each entry and four for the longest row.

    Parameters
    ----------
    rows, cols, values : arrays of shape (n,)
        Sorted by row, then column; no pair twice.
    loop : callable, optional
        Anything with the signature of `_compiled.descend`, instead of that loop.
    """
    watch = Stopwatch()
    m, n = shape
    with watch("compile"):
        run = _compiled_loop() if loop is None else loop
    with watch("descent"):
        starts = np.zeros(m + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=m), out=starts[1:])
        columns = cols.astype(np.uint32 if n < 2**32 else np.uint64)
        seen_rows, seen_columns = np.unique(rows), np.unique(cols)
        residual = values.astype(np.float64)
        work = np.empty((4, int(np.diff(starts).max())))
        X, Y = np.zeros((m, rank)), np.zeros((n, rank))
        epochs, penalty, ended, k, squared = 0, 0.0, False, 0, 0.0
        while k < rank and not ended:
            # The whole vectors are drawn, so that a row's start depends on no other row's entries.
            u, v = np.zeros(m), np.zeros(n)
            u[seen_rows] = init * rng.standard_normal(m)[seen_rows]
            v[seen_columns] = init * rng.standard_normal(n)[seen_columns]
            arrays = (starts, columns, residual, u, v)
            state, ended = _one_factor(run, arrays, rows, descent, penalty, k, callback, work)
            product = u[rows]
            product *= v[columns]
            residual -= product
            product = u[rows] ** 2 + v[columns] ** 2
            penalty += descent.alpha * float(product.sum())
            squared = float(residual @ residual)
            X[:, k], Y[:, k] = u, v
            k, epochs = k + 1, epochs + state.done
            told("factor", k, rank)
    with watch("orthonormal"):
        factors = orthonormal(X[:, :k], Y[:, :k], seen_rows, seen_columns)
    notes = (f"{factors.rank} of {rank} factors: the callback ended the descent",) if ended else ()
    report = Report(
        "descent",
        f"stochastic gradient descent, {epochs} epochs over {k} factors",
        passes=epochs,
        error=float(np.sqrt(squared / len(values))),
        seconds=dict(watch),
        notes=notes,
    )
    return SVD(factors.U, factors.s, factors.Vt, report)


def _one_factor(
    run: Callable[..., Any],
    arrays: tuple[Any, ...],
    rows: IntArray,
    descent: Descent,
    penalty: float,
    k: int,
    callback: Callback | None,
    work: Array,
) -> tuple[_Epochs, bool]:
    """Descend the factor in `arrays`, in place; the second answer is the callback's wish to end."""
    _, columns, residual, u, v = arrays
    with np.errstate(over="ignore"):  # beyond the largest float the first epoch says diverged
        start = np.square(u[rows] * v[columns]).sum() + residual @ residual
        limit = min(DIVERGED * float(start), np.finfo(np.float64).max)
    at_once = 1 if callback is not None else max(1, UPDATES_PER_CALL // len(residual))
    state = _Epochs(0, -1.0, 0.0, GO_ON)
    while state.done < descent.max_epochs and state.status == GO_ON:
        last = min(state.done + at_once, descent.max_epochs)
        state = _Epochs(
            *run(
                *arrays,
                descent.learning_rate,
                descent.annealing,
                descent.alpha,
                state.done,
                last,
                state.penalised,
                penalty,
                descent.min_improvement,
                descent.min_epochs,
                limit,
                work,
            )
        )
        if state.status == HAS_DIVERGED:
            raise ValueError(
                f"The descent diverged in epoch {state.done} of factor {k + 1} with "
                f"learning_rate={descent.learning_rate:g}. Lower the learning rate, for instance "
                f"to {descent.learning_rate / 10:g}, or scale the values down."
            )
        rmse = float(np.sqrt(state.squared / len(residual)))
        if callback is not None and callback(k + 1, state.done, rmse):
            return state, True
    return state, False


def orthonormal(X: Array, Y: Array, seen_rows: IntArray, seen_columns: IntArray) -> SVD:
    """The decomposition of X Yᵀ in which rows and columns outside the seen ones are zero.

    The original's factors are not orthogonal on partial data.  Two QRs and a small SVD make them
    so and leave the product as it is.
    """
    inner = SVD.from_factors(X[seen_rows], Y[seen_columns])
    U, Vt = np.zeros((len(X), inner.rank)), np.zeros((inner.rank, len(Y)))
    U[seen_rows], Vt[:, seen_columns] = inner.U, inner.Vt
    return SVD(U, inner.s, Vt, inner.report)


def of_complete(
    rows: IntArray,
    cols: IntArray,
    values: Array,
    shape: tuple[int, int],
    rank: int,
    alpha: float,
    rng: np.random.Generator,
) -> SVD:
    """Where the descent would end on a complete matrix: s shrunk by alpha·√(m·n), no epochs.

    With every entry known the penalty is alpha·(n‖X‖² + m‖Y‖²), at least 2·alpha·√(mn) times the
    sum of the singular values of X Yᵀ and equal to it at the best split of them.
    """
    A = np.empty(shape)
    A[rows, cols] = values
    full = decompose(A, rank, stop=None, solver="auto", rng=rng, n_oversamples=None, n_power=None)
    shrunk = np.maximum(full.s - alpha * np.sqrt(shape[0] * shape[1]), 0.0)
    reason = "one SVD, singular values shrunk by alpha·√(m·n)"
    report = Report("exact", reason, passes=full.report.passes, seconds=full.report.seconds)
    return SVD(full.U, shrunk, full.Vt, report)


def _compiled_loop() -> Callable[..., Any]:
    from pinvlearn.completion._compiled import descend

    loop: Callable[..., Any] = descend
    return loop
