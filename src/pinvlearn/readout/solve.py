"""Solving a read-out: factor, choose alpha, refine, and predict every row without itself.

What needs rows is left out where there are none: alpha is then chosen by generalised
cross-validation, nothing is refined, and what the digits of a summary cannot carry is refused
instead of returned.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, to_dense
from pinvlearn._core.device import home, is_device, moved_to, to_host
from pinvlearn._core.products import times
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.choose import Alpha, as_path, best_of, generalised_cross_validation, settled
from pinvlearn.readout.contract import LEVERAGE_TOLERANCE, LIMIT, TOLERANCE, Solver, needs_of
from pinvlearn.readout.decoding import Decoding, Gains, compared, judge
from pinvlearn.readout.direct import affordable, fit_direct
from pinvlearn.readout.extended import is_small, left_out_again, scale_of
from pinvlearn.readout.factors import CholeskyFactor, Factor, Refinable
from pinvlearn.readout.held_out import Accuracy, held_out, smallest_root
from pinvlearn.readout.leave_one_out import LeftOut, leave_one_out
from pinvlearn.readout.likelihood import EXACT
from pinvlearn.readout.problem import Problem, Rows
from pinvlearn.readout.scoring import Scoring, Verdict, judged, part_of
from pinvlearn.readout.single import SingleCholesky

MAX_REFINEMENTS = 4

SURELY, WIDE = 2.0, 10
"""Standard errors by which scores fitted to the features must be behind to be left out; one, where
there are more than so many features for each row: ridges are as good there, and know all rows."""

MEASURED = 10.0
"""The leverages' error is at most about so many times the coefficients' that was measured: both
come from one factor, but a row need not lie where the coefficients do."""


@dataclass(frozen=True, eq=False)
class Readout:
    """A solved problem.

    Attributes
    ----------
    coef : array of shape (p, t)
    intercept : array of shape (t,)
    alpha : float
        The ridge used, and `alphas` and `scores` of those it was chosen from; `verdict` is what
        leave-one-out found of them, or of more candidates, whose alphas are then `ridges`.
    by_target : array of shape (t,) or None
        The ridge of each target, where each has its own; `scores` are then (alphas, t).
    targets : array of shape (m, t) or None
        Those of the rows, where they were left out one at a time; `weights` are theirs.
    leave_one_out, leave_one_out_error : array of shape (m, t) or None
        What each row would have been predicted by a fit to all others, and how far rounding may
        have moved that.
    decoding : Decoding or None
        What the outputs of classes were put through; it is in `coef` and `intercept` already.
        `leave_one_out` are then decoded by other rows, and `undecoded` are what they were; `gains`
        are what it adds to scores.
    fitted : array of shape (m, t) or None
        Outputs of the rows, where scores of classes were fitted to the features instead, or mixed
        with such as were fitted to the inputs, whose weights are `links`, of shape (d, t).
    rows : Rows or None
        Those that were left out, to be read again.
    error, first_error, bound : float
        Relative errors of the coefficients, in the norm of the predictions: measured after and
        before refinement, and the bound on the latter from the factor's condition, which holds
        for the leverages behind `leave_one_out` too.
    smallest : float
        Root of the smallest eigenvalue of ZᵀZ + alpha in the directions that took part; 0 where it
        is not known.
    """

    coef: Array
    intercept: Array
    alpha: float
    rank: int
    condition: float
    alphas: Array
    scores: Array | None
    targets: Array | None
    leave_one_out: Array | None
    leave_one_out_error: Array | None
    error: float
    first_error: float
    bound: float
    report: Report
    smallest: float = 0.0
    verdict: Verdict | None = None
    weights: Array | None = None
    ridges: Array | None = None
    by_target: Array | None = None
    decoding: Decoding | None = None
    undecoded: Array | None = None
    gains: Gains = Gains(0.0, 0.0)
    fitted: Array | None = None
    links: Array | None = None
    rows: Rows | None = None


def solve(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    """Factor once, choose alpha from one factor, refine, and predict every row without itself.

    Without `problem.score` there is no leave-one-out, and a path is judged by generalised
    cross-validation, which needs no rows.  A solver may name another that is asked instead where
    its solution turns out less exact than it promises.
    """
    _check_solvable(problem, solver, alpha)
    instead = getattr(solver, "instead", None)
    readout = _solve_once(problem, solver, alpha, instead)
    other = None if instead is None else instead(problem, readout)
    if other is not None:
        better, reason = other
        again = _solve_once(problem, better, alpha)
        report = replace(again.report, reason=f"{reason} ({again.report.reason})")
        readout = replace(again, report=report)
    if getattr(solver, "leaves_out_exactly", False) and problem.centers is None:
        readout = _left_out_again(problem, solver, readout)
    return with_uncertainty(readout)


def solve_by_target(problem: Problem, solver: Solver, alpha: Alpha) -> Readout:
    """The same with a ridge of its own for each target, all from one factor.

    A path costs what it costs for one target, and for every ridge that some target has chosen a
    pass over the rows more.
    """
    assert problem.score is not None
    decomposing = getattr(solver, "decomposing", None)
    factor, report = (decomposing(problem) if decomposing else solver).factor(problem, alpha)
    watch, alphas = Stopwatch(report.seconds), as_path(alpha, factor)
    with watch("choice"):
        score = replace(problem.score, each_target=True)
        left_out = replace(leave_one_out(problem, factor, alphas, score), outputs=None)
        scores = left_out.verdict.scores.reshape(-1, len(alphas))
        best = np.array([best_of(own, alphas) for own in scores])
    Y = problem.rows_at_hand.Y
    coef = np.empty((factor.rhs.shape[0], len(best)), like=home(factor.rhs))
    predictions, moved = np.empty(Y.shape, like=home(Y)), np.empty(Y.shape, like=home(Y))
    errors, w, notes = [], Y[:, 0], dict[str, None]()
    for i in np.unique(best):
        ridge = float(alphas[i])
        found = refined(problem, factor, ridge)
        accuracy = Accuracy(found.error, min(factor.error(ridge), MEASURED * found.first_error))
        outputs, off, _, w = held_out(problem, factor, left_out, i, ridge, found.coef, accuracy)
        for own in map(int, np.flatnonzero(best == i)):
            coef[:, own], predictions[:, own] = found.coef[:, own], outputs[:, own]
            moved[:, own] = off[:, own]
        errors.append((found.error, found.first_error, factor.error(ridge)))
        notes |= dict.fromkeys(found.notes)
    error, first_error, bound = np.max(errors, axis=0)
    readout = Readout(
        coef=coef,
        intercept=factor.center.offset(coef),
        alpha=float(alphas[best].max()),
        by_target=alphas[best],
        rank=factor.rank,
        condition=factor.quality(float(alphas[best].min())).condition,
        alphas=alphas,
        scores=scores.T,
        verdict=left_out.verdict,
        weights=w,
        targets=Y,
        leave_one_out=predictions,
        leave_one_out_error=moved,
        error=float(error),
        first_error=float(first_error),
        bound=float(bound),
        report=replace(
            report,
            seconds=dict(watch),
            error=report.error if error == 0.0 else float(error),
            notes=(*report.notes, *notes),
        ),
    )
    return with_uncertainty(readout)


def decoded(readout: Readout, scoring: Scoring, *, intercept: bool, always: bool) -> Readout:
    """The same with outputs that are decoded, where rows left out are then predicted better.

    `always` does not ask whether they are; `intercept` is whether a free one was fitted.
    """
    outputs, errors, Y = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if outputs is None or errors is None or Y is None:
        return readout
    weights = np.ones(len(Y)) if readout.weights is None else to_host(readout.weights)
    found = judge(scoring, to_host(Y), to_host(outputs), weights, intercept=intercept)
    if found is None:
        note = "decoding=logistic was left out: left-out outputs do not point to their own classes"
        return replace(readout, report=readout.report.with_notes(note)) if always else readout
    if not (always or found.better):
        return readout
    decoding = found.decoding
    with np.errstate(invalid="ignore"):
        errors = errors @ np.abs(moved_to(decoding.matrix, home(errors)))
        errors += EXACT * np.abs(found.outputs).max()
    note = f"decoding=logistic changes the left-out score by {found.gains.score:+.3g}"
    return replace(
        readout,
        coef=readout.coef @ moved_to(decoding.matrix, home(readout.coef)),
        intercept=decoding(readout.intercept),
        leave_one_out=moved_to(found.outputs, home(outputs)),
        leave_one_out_error=np.where(np.isnan(errors), np.inf, errors),
        decoding=decoding,
        undecoded=outputs,
        gains=found.gains,
        report=readout.report.with_notes(note),
    )


def fitted_to_features(
    readout: Readout, rival: Readout, scoring: Scoring, *, always: bool
) -> Readout:
    """The same with scores of classes that are fitted to the features (`readout/direct.py`).

    It is `rival` where that would be much work, or where rows left out are predicted worse than by
    it, surely (`SURELY`): by four fifths of the others here, by all others at the best of many
    ridges there.  `always` does not ask.
    """
    outputs, Y, rows = rival.leave_one_out, readout.targets, readout.rows
    if outputs is None or Y is None or rows is None:
        return rival
    if not (always or affordable(len(Y), rows.n_columns, max(Y.shape[1], 2))):
        return rival
    like, Y, outputs = home(outputs), to_host(Y), to_host(outputs)
    weights = np.ones(len(Y)) if readout.weights is None else to_host(readout.weights)
    inside = np.flatnonzero(weights)
    H = to_host(to_dense(Problem(rows, intercept=True).stacked()[0]))
    found = fit_direct(H if len(inside) == len(H) else H[inside], Y[inside], weights[inside])
    if found is None:
        return rival
    gains, error = compared(scoring, Y[inside], outputs[inside], found.crossed, weights[inside])
    behind = SURELY if rows.n_columns <= WIDE * len(inside) else 1.0
    if not (always or gains.score > -behind * error):
        return rival
    fitted = H @ found.coef + found.intercept
    left_out = fitted.copy()
    left_out[inside] = found.crossed
    gains = Gains(rival.gains.score + gains.score, rival.gains.decided + gains.decided)
    note = f"decoding=features changes the left-out score by {gains.score:+.3g}"
    return replace(
        readout,
        coef=moved_to(found.coef, like),
        intercept=moved_to(found.intercept, like),
        leave_one_out=moved_to(left_out, like),
        leave_one_out_error=moved_to(np.full_like(left_out, EXACT * np.abs(left_out).max()), like),
        fitted=fitted,
        gains=gains,
        report=readout.report.with_notes(note),
    )


def with_uncertainty(readout: Readout) -> Readout:
    """With a note where left-out predictions are less exact than `TOLERANCE`."""
    errors = _uncertainty(readout)
    unknown = np.isinf(errors)
    alone, error = int(unknown.sum()), np.where(unknown, 0.0, errors).max(initial=0.0)
    notes = []
    if alone:
        notes.append(f"{alone} left-out predictions could not be made: see loo_error_")
    if error > TOLERANCE:
        notes.append(
            f"leave-one-out predictions may be wrong by {error:.1g} of the largest: see loo_error_"
        )
    return replace(readout, report=readout.report.with_notes(*notes)) if notes else readout


def _uncertainty(readout: Readout) -> Array:
    """The errors of left-out predictions, in units of the largest target."""
    predictions, errors, Y = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if predictions is None or errors is None or Y is None:
        return np.zeros(0)
    return errors / scale_of(Y, predictions)


def _left_out_again(problem: Problem, solver: Solver, readout: Readout) -> Readout:
    """With twice the precision where left-out predictions are uncertain.

    That may move the score of the alpha that was chosen, and so the choice.
    """
    if readout.verdict is None or not is_small(problem):
        return readout
    if not (_uncertainty(readout) > TOLERANCE).any():
        return readout
    alphas = readout.alphas
    found: dict[int, Readout] = {}

    def again(i: int) -> Verdict | None:
        alpha = float(alphas[i])
        once = readout if alpha == readout.alpha else _solve_once(problem, solver, alpha)
        predictions, errors, Y = once.leave_one_out, once.leave_one_out_error, once.targets
        if predictions is None or errors is None or Y is None:
            return None
        better = left_out_again(problem, alpha, Y, predictions, errors, TOLERANCE)
        if better is None:
            return None
        found[i] = replace(
            once, leave_one_out=better.predictions, leave_one_out_error=better.errors
        )
        return better.verdict

    best, verdict = settled(readout.verdict, alphas, again)
    if best is None:
        return readout
    return replace(found[best], alphas=alphas, scores=verdict.scores, verdict=verdict)


def _check_solvable(problem: Problem, solver: Solver, alpha: Alpha) -> None:
    """Whether a summary has rows, classes and what the solver needs."""
    summary = problem.summary
    if summary is None:
        return
    if not summary.total > 0.0:
        raise ValueError("there is nothing to solve: no row with a weight above 0 has been added.")
    classes = summary.schema.classes
    if classes is not None and len(classes) < 2:
        raise ValueError(
            f"all rows so far are of one class ({classes[0]}); a classifier needs at least 2. "
            "Add rows of another, or name it in classes=."
        )
    needs = needs_of(solver, alpha)
    if summary.offers not in needs:
        raise ValueError(
            f"{type(solver).__name__} does not solve from a {type(summary).__name__} summary: it "
            f"needs {' or '.join(map(repr, needs))}, and this offers {summary.offers!r}. Use "
            'solver="auto", or start again with the solver that is wanted.'
        )


def _solve_once(
    problem: Problem, solver: Solver, alpha: Alpha, instead: Callable[..., Any] | None = None
) -> Readout:
    """The solution by one solver; no row is left out for it if there is another `instead`."""
    factor, report = solver.factor(problem, alpha)
    watch = Stopwatch(report.seconds)
    limit = getattr(solver, "limit", np.inf)
    notes: tuple[str, ...] = ()
    alphas = as_path(alpha, factor)
    smallest = alphas.min()
    if problem.rows is None and len(alphas) > 1:
        alphas, notes = _within_digits(factor, alphas, limit)
    scores, left_out, best, found, own = _chosen(problem, factor, alphas, watch)
    if problem.sums_alone and len(alphas) > 1 and found.error > limit:
        # Rows that could be read again did not help: the best of what needs none.
        alphas, notes = _within_digits(factor, alphas, limit)
        scores, left_out, best, found, own = _chosen(problem, factor, alphas, watch)
    chosen = float(alphas[best])
    quality, offset = factor.quality(chosen), factor.center.offset(found.coef)
    unrefined = quality.shifted and problem.rows is None
    if problem.sums_alone and (unrefined or found.error > limit):
        bound = np.inf if unrefined else found.error  # the other is that of what was factored
        raise ValueError(_refusal(f"alpha={chosen:.3g}", bound))
    if problem.summary is not None:
        reason = f"{report.reason}; effective condition {quality.effective:.2g}"
        report = replace(report, reason=reason, passes=None)
    notes += found.notes
    if left_out is not None and left_out.single:
        notes += ("left-out outputs that chose alpha were in single precision",)
    if own is not factor:
        notes += ("leverages of the chosen alpha by a Cholesky factor of its own",)
    if left_out is not None and left_out.judged is not None:
        by = "" if left_out.some is None else f" by {left_out.some} rows"
        near = f"leave-one-out judged {left_out.judged} of {len(alphas)} alphas{by}, near a guess"
        notes += (near,)
    elif len(alphas) > 1 and factor.spectral is None:
        notes += (f"each of {len(alphas)} alphas was factored anew; gram, qr and exact need not",)
    if len(alphas) > 1 and chosen == smallest and chosen > 0.0:
        notes += (f"alpha={chosen:.3g}, the smallest of the path, was best; try smaller ones",)
    readout = Readout(
        coef=found.coef,
        intercept=offset,
        alpha=chosen,
        rank=factor.rank,
        condition=quality.condition,
        alphas=alphas,
        scores=scores,
        verdict=None if left_out is None else left_out.verdict,
        targets=None,
        leave_one_out=None,
        leave_one_out_error=None,
        error=found.error,
        first_error=found.first_error,
        bound=factor.error(chosen),
        report=replace(
            report,
            seconds=dict(watch),
            error=report.error if found.error == 0.0 else found.error,
            notes=report.notes + notes,
        ),
        smallest=smallest_root(factor, chosen),
    )
    if left_out is None or (instead is not None and instead(problem, readout) is not None):
        return readout
    leverage = min(readout.bound, MEASURED * found.first_error)
    with watch("leave-one-out"):
        if isinstance(own, SingleCholesky):
            leverage = own.lost(chosen)
        accuracy = Accuracy(found.error, leverage)
        kept = left_out if own is factor else replace(left_out, free=None)
        if found.notes:  # the coefficients are others than those that were judged
            kept = replace(kept, outputs=None)
        predictions, moved, Y, w = held_out(problem, own, kept, best, chosen, found.coef, accuracy)
    verdict = left_out.verdict
    if left_out.some is not None and problem.score is not None:
        whole = judged(problem.score, [part_of(problem.score, Y, predictions[:, None], w)])
        verdict = verdict.carried(best, whole)
    return replace(
        readout,
        scores=verdict.scores,
        verdict=verdict,
        targets=Y,
        weights=w,
        leave_one_out=predictions,
        leave_one_out_error=moved,
        rows=problem.rows,
        report=replace(readout.report, seconds=dict(watch)),
    )


def _within_digits(factor: Factor, alphas: Array, limit: float) -> tuple[Array, tuple[str, ...]]:
    """The alphas whose solutions need no rows to refine them on, and a note on the others."""
    safe = alphas[[factor.error(float(alpha)) <= limit for alpha in alphas]]
    if not len(safe):
        raise ValueError(_refusal("every alpha of the path", np.inf))
    beyond = len(alphas) - len(safe)
    return safe, (f"{beyond} alphas are beyond the summary's digits",) if beyond else ()


class Chosen(NamedTuple):
    """Scores of the alphas and what they come from, which alpha is best, its solution, and the
    factor from which that comes."""

    scores: Array | None
    left_out: LeftOut | None
    best: int
    found: Refined
    own: Factor


def _chosen(problem: Problem, factor: Factor, alphas: Array, watch: Stopwatch) -> Chosen:
    """Judge the alphas and solve for the best."""
    with watch("choice"):
        scores, left_out = _judged(problem, factor, alphas)
    squares = None if left_out is None else left_out.verdict.squares
    best = 0 if scores is None else best_of(scores, alphas, squares)
    chosen, own = float(alphas[best]), factor
    with watch("coef"):
        found = refined(problem, factor, chosen)
        if left_out is not None and found.first_error > LEVERAGE_TOLERANCE:
            own, first_error = _of_one(problem, factor, left_out, chosen, found)
            found = found._replace(first_error=first_error)
        return Chosen(scores, left_out, best, found, own)


def _of_one(
    problem: Problem, factor: Factor, left_out: LeftOut, alpha: float, found: Refined
) -> tuple[Factor, float]:
    """The factor of ZᵀZ + alpha by itself, where eigenvectors have lost digits that leverages need.

    They err by some ten times as much as a Cholesky factor of the same sums [measured], which is
    enough to tell alphas apart; the one that is chosen then costs mp² flops more.  How far its
    solution is from the refined one, in the norm of the predictions, is its first error.
    """
    spectral = factor.spectral
    if spectral is None or not spectral.noise or left_out.predictions is not None:
        return factor, found.first_error
    one = CholeskyFactor(problem.moments, factor.center)
    if found.error > TOLERANCE or not one.exists(alpha):
        return factor, found.first_error
    R, size = np.triu(one.upper(alpha)), abs(float(np.sum(found.coef * factor.rhs)))
    length = float(np.linalg.norm(R @ (one.coef(alpha) - found.coef)))
    return one, length / max(float(np.sqrt(size)), 1e-150)


def _judged(problem: Problem, factor: Factor, alphas: Array) -> tuple[Array | None, LeftOut | None]:
    """Scores of the alphas, by leave-one-out or, where a choice is to be made, without rows."""
    if problem.score is not None:
        left_out = leave_one_out(problem, factor, alphas, problem.score)
        return left_out.verdict.scores, left_out
    if len(alphas) == 1:
        return None, None
    return generalised_cross_validation(problem, factor, alphas), None


class Refined(NamedTuple):
    """Coefficients, their error before and after refinement, and notes."""

    coef: Array
    first_error: float
    error: float
    notes: tuple[str, ...]


def refined(
    problem: Problem,
    factor: Refinable,
    alpha: float,
    metric: Callable[[Array], Array] | None = None,
) -> Refined:
    """Coefficients for one alpha, refined on the rows until their error is below `TOLERANCE`.

    Each round solves for the gradient's remainder r = Zᵀ(Y - ZB) - alpha·B (alpha·M·B where the
    penalty is alpha·tr(BᵀMB) and `metric` multiplies by M); in the norm of the predictions the
    correction d has length √(dᵀr), so the error is measured where it matters.  Without rows the
    coefficients are as the factor gives them.
    """
    coef, error, quality = factor.coef(alpha), factor.error(alpha), factor.quality(alpha)
    if problem.rows is None or (error <= TOLERANCE and not quality.shifted):
        return Refined(coef, error, error, ())
    bound = getattr(factor, "moved", None)
    if bound is not None and is_device(coef) and problem.score is None:
        # A pass over the rows takes a third as long as their sums there.  Leverages, which have no
        # such bound, and the bits of the host are left as they are.
        moved = bound(coef, alpha)
        if moved <= TOLERANCE and not quality.shifted:
            return Refined(coef, moved, moved, ())
    center, size = factor.center, abs(float(np.sum(coef * factor.rhs)))
    changes: list[float] = []
    contraction = min(error, 1.0)
    while not changes or (len(changes) < MAX_REFINEMENTS and error > TOLERANCE):
        remainder = _gradient(problem.rows, coef, center.Y_mean, center.H_mean)
        remainder -= alpha * (coef if metric is None else metric(coef))
        step = factor.solve(remainder, alpha)
        length = float(np.sum(step * remainder))
        changes.append(float(np.sqrt(max(length, 0.0) / max(size, 1e-300))))
        if len(changes) > 1 and not changes[-1] < changes[-2]:  # no digit is left to win
            error = changes[-1]
            break
        coef = coef + step
        if len(changes) > 1:
            contraction = min(changes[-1] / max(changes[-2], 1e-300), 1.0)
        error = changes[-1] * contraction
    notes: tuple[str, ...] = (f"refined on the rows (rounds: {len(changes)})",)
    if quality.shifted:
        notes += ("the Gram matrix was singular to rounding and its factor was shifted",)
    missing = quality.missing
    return Refined(coef, max(changes[0], missing), max(error, missing), notes)


def _gradient(rows: Rows, coef: Array, middle: Array, mean: Array) -> Array:
    """Zᵀ(Y - ZB), folded over the pieces; Y's mean is taken away first, with no digit lost."""
    level = mean @ coef

    def of_piece(H: Matrix, Y: Array, weights: Array | None) -> Array:
        residual = (Y - middle) - (times(H, coef) - level)
        if weights is not None:
            residual *= weights[:, None]
        return times(H.T, residual) - np.outer(mean, residual.sum(axis=0))

    return rows.fold(of_piece, operator.iadd)


def _refusal(what: str, error: float) -> str:
    return (
        f"{what} is beyond the digits of this Gram summary (bound on the error: {error:.2g}, "
        f'allowed: {LIMIT:g}). Give a larger alpha; or start again with solver="qr", which keeps '
        "the R factor instead; or use fit_blocks on blocks that can be read twice."
    )
