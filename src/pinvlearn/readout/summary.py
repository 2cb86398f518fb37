"""Solving a read-out from a summary of rows: no row is needed, and none is there.

A summary cannot be refined on rows that are gone, so what its digits cannot carry is refused
instead of returned.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.svd import default_rcond
from pinvlearn.readout.choose import Alpha, as_path, best_of, validation_scores
from pinvlearn.readout.factors import CholeskyFactor, Spectral, spectral_from_moments
from pinvlearn.readout.problem import Center, Problem, Rows
from pinvlearn.readout.solve import Readout, refined
from pinvlearn.readout.solvers import QR, TOLERANCE, Auto, Cholesky, ExactSVD, GramSVD, Solver
from pinvlearn.summaries import Gram, Triangle

LIMIT = 1e-2
"""Largest bound eps·κ on a solution's error that is returned without rows to refine it on.  The
bound is far from sharp: at this limit predictions were good to seven digits."""


def kind_for(solver: Solver, alpha: Alpha) -> type[Gram] | type[Triangle]:
    """Which summary a solver needs: `auto` keeps the R factor where there is no ridge."""
    if isinstance(solver, QR | ExactSVD):
        return Triangle
    if isinstance(solver, Cholesky | GramSVD):
        return Gram
    if isinstance(solver, Auto):
        without_ridge = isinstance(alpha, float) and alpha == 0.0
        return Triangle if without_ridge or solver.rcond is not None else Gram
    raise ValueError(
        f"{type(solver).__name__} needs all rows at once and cannot learn from summaries. Use "
        'solver="auto", "cholesky", "gram", "qr" or "exact".'
    )


def solve_summary(
    summary: Gram | Triangle,
    intercept: bool,
    solver: Solver,
    alpha: Alpha,
    rows: Rows | None = None,
) -> Readout:
    """The read-out from a summary; alpha is chosen by generalised cross-validation.

    The effective condition κ = (s₁² + alpha) / (s_p² + alpha) is estimated and reported.  Where
    eps·κ is above `LIMIT` the solution is refined on `rows` if they can be read again, and
    otherwise refused by `auto`, as is one by "cholesky" that does not exist.
    """
    total = float(summary.products.TT[0, 0]) if isinstance(summary, Gram) else summary.R[0, 0] ** 2
    if not total > 0.0:
        raise ValueError("there is nothing to solve: no row with a weight above 0 has been added.")
    classes = summary.schema.classes
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"all rows so far are of one class ({classes[0]!r}); a classifier needs at least 2. "
            "Add rows of another, or name it in classes=."
        )
    if not isinstance(solver, Auto) and kind_for(solver, alpha) is not type(summary):
        raise ValueError(
            f"{type(solver).__name__} does not solve from a {type(summary).__name__} summary. Use "
            'solver="auto", or start again with the solver that is wanted.'
        )
    watch = Stopwatch()
    factor: Spectral | CholeskyFactor
    with watch("factor"):
        if isinstance(summary, Triangle):
            factor = _from_triangle(summary, intercept, solver)
            method, reason = "qr", "the R factor that was kept"
        else:
            factor, method, reason = _from_gram(summary, intercept, solver, alpha)
    guarded = isinstance(summary, Gram) and isinstance(solver, Auto)
    alphas, scores = as_path(alpha, factor), None
    notes: tuple[str, ...] = ()
    if len(alphas) > 1:
        assert isinstance(factor, Spectral)
        if guarded and rows is None:
            safe = alphas[[factor.error(float(a)) <= LIMIT for a in alphas]]
            if len(safe) < len(alphas):
                notes += (f"{len(alphas) - len(safe)} alphas are beyond the summary's digits",)
            alphas = safe
        if not len(alphas):
            raise ValueError(_refusal("none of the alphas", np.inf))
        with watch("choice"):
            scores = validation_scores(factor, alphas, summary.n_rows)
    chosen = float(alphas[0 if scores is None else best_of(scores, alphas)])
    with watch("coef"):
        coef, error = factor.coef(chosen), factor.error(chosen)
        shifted = isinstance(factor, CholeskyFactor) and not factor.exists(chosen)
        if (error > TOLERANCE or shifted) and rows is not None:
            problem = Problem(rows, intercept, None, np.random.default_rng(0))
            coef, _, error, more = refined(problem, factor, chosen)
            notes += more
            shifted = False
    if shifted or (guarded and error > LIMIT):
        raise ValueError(_refusal(f"alpha={chosen:.3g}", error))
    condition = _condition(factor, chosen)
    reason = f"{reason}; effective condition {condition:.2g}"
    return Readout(
        coef=coef,
        intercept=factor.center.offset(coef),
        alpha=chosen,
        rank=factor.rank,
        condition=float(np.sqrt(condition)),
        alphas=alphas,
        scores=scores,
        targets=np.empty((0, coef.shape[1])),
        leave_one_out=None,
        error=error,
        first_error=error,
        bound=factor.error(chosen),
        report=Report(method, reason, error=error, seconds=dict(watch), notes=notes),
    )


def _from_gram(
    summary: Gram, intercept: bool, solver: Solver, alpha: Alpha
) -> tuple[Spectral | CholeskyFactor, str, str]:
    moments = summary.moments(intercept)
    center = Center(moments.H_mean, moments.Y_mean, moments.total, moments.squares, intercept)
    path = alpha is None or np.size(alpha) > 1
    if isinstance(solver, GramSVD) or path:
        rows = int(np.ceil(summary.n_rows))
        reason = "one factor for the whole path" if path else "eigendecomposition of the summary"
        return spectral_from_moments(moments, center, rows), "gram", reason
    return CholeskyFactor(moments, center), "cholesky", "normal equations of the summary"


def _from_triangle(summary: Triangle, intercept: bool, solver: Solver) -> Spectral:
    R, QY, first = summary.signed(intercept)
    p, root = R.shape[1], first[0]
    H_mean, Y_mean = first[1 : 1 + p] / root, first[1 + p :] / root
    if not intercept:
        H_mean, Y_mean = np.zeros_like(H_mean), np.zeros_like(Y_mean)
    center = Center(H_mean, Y_mean, float(root**2), np.sum(QY**2, axis=0), intercept)
    U, s, Vt = scipy.linalg.svd(R[:p], full_matrices=False, check_finite=False)
    rcond = getattr(solver, "rcond", None)
    if rcond is None:
        rcond = default_rcond((int(np.ceil(summary.n_rows)), p), float)
    return Spectral(Vt.T, s, s[:, None] * (U.T @ QY[:p]), center, rcond)


def _condition(factor: Spectral | CholeskyFactor, alpha: float) -> float:
    """κ of the matrix that was solved with."""
    if isinstance(factor, CholeskyFactor):
        factor.exists(alpha)
        return factor.condition**2
    kept: Array = factor.s if alpha > 0.0 else factor.kept()[1]
    return float((kept[0] ** 2 + alpha) / (kept[-1] ** 2 + alpha)) if len(kept) else 1.0


def _refusal(what: str, error: float) -> str:
    return (
        f"{what} is beyond the digits of this Gram summary (bound on the error: {error:.2g}, "
        f'allowed: {LIMIT:g}). Give a larger alpha; or start again with solver="qr", which keeps '
        "the R factor instead; or use fit_blocks on blocks that can be read twice."
    )
