"""Scores of a machine, averaged with those of a logistic regression on its features or its inputs.

With few rows a straight line is often what they can tell, and a network or a kernel machine has to
learn it from bumps.  Both err, and not alike: the mean of their logits is better than the better of
the two, by a tenth of the log-loss and two points of accuracy on twenty to two hundred rows.

With F the left-out outputs of the machine and G those of the regression, each in units of its own
temperature, the scores are (1 - w)·F + w·G.  All w are thought equally likely beforehand, and w is
its mean given the rows: weighted by exp(-loss of all rows at w), their likelihood where each was
predicted by others (Geisser and Eddy 1979).  A few rows leave it near a half, and many decide.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pinvlearn._core.arrays import Array, to_dense
from pinvlearn._core.device import home, moved_to, to_host
from pinvlearn.readout.decoding import Gains, compared
from pinvlearn.readout.direct import affordable, fit_direct
from pinvlearn.readout.likelihood import EXACT
from pinvlearn.readout.losses import class_temperature, effective_rows
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import Scoring, judged, part_of
from pinvlearn.readout.solve import Readout

MOST_ROWS = 500
"""With more rows than this the machine finds the straight line by itself."""

WEIGHTS = np.linspace(0.0, 1.0, 11)
"""Weights of the regression over which the mean is taken."""

LEAST = 0.05
"""Weights nearer to none than to the next are none."""


def fitted_to_features(
    readout: Readout, rival: Readout, scoring: Scoring, *, always: bool
) -> Readout:
    """The same with scores that are fitted to the features, averaged with those of `rival`.

    It is `rival` where that would be much work, where the features tell nothing of other rows, or
    where rows left out are predicted worse, by more than the standard error.  `always` does not
    ask, and takes the scores that are fitted to the features alone.
    """
    outputs, errors, Y, rows = (
        rival.leave_one_out,
        rival.leave_one_out_error,
        readout.targets,
        readout.rows,
    )
    if outputs is None or errors is None or Y is None or rows is None:
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
    T, F, w = Y[inside], outputs[inside], weights[inside]
    share, unit = (1.0, 1.0) if always else _share(T, F, found.crossed, w)
    rest, coef, offset = 1.0 - share, share * unit * found.coef, share * unit * found.intercept
    crossed = rest * F + share * unit * found.crossed
    gains, error = compared(scoring, T, F, crossed, w)
    if not (always or (share >= LEAST and gains.score > -error)):
        return rival
    if rest:
        coef, offset = coef + rest * to_host(rival.coef), offset + rest * to_host(rival.intercept)
    fitted = H @ coef + offset
    left_out = fitted.copy()
    left_out[inside] = crossed
    rounding = EXACT * float(np.abs(left_out).max())
    moved = rest * to_host(errors) + rounding if rest else np.full_like(left_out, rounding)
    gains = Gains(rival.gains.score + gains.score, rival.gains.decided + gains.decided)
    note = f"decoding=features changes the left-out score by {gains.score:+.3g}"
    if rest:
        note += f", with {100 * share:.0f} % of the scores"
    return replace(
        readout,
        coef=moved_to(coef, like),
        intercept=moved_to(offset, like),
        leave_one_out=moved_to(left_out, like),
        leave_one_out_error=moved_to(moved, like),
        fitted=fitted,
        gains=gains,
        report=readout.report.with_notes(note),
    )


def mixed_with_inputs(readout: Readout, scoring: Scoring, *, always: bool) -> Readout:
    """The same with scores to which a regression on the inputs contributes (`readout.links`).

    It is left as it is where there are many rows, or that would be much work, and where the inputs
    tell nothing of other rows.  `always` does not ask how many there are.
    """
    outputs, errors, Y = readout.leave_one_out, readout.leave_one_out_error, readout.targets
    if outputs is None or errors is None or Y is None or readout.rows is None:
        return readout
    rows, k = readout.rows.inputs(), max(Y.shape[1], 2)
    if not (always or (len(Y) <= MOST_ROWS and affordable(len(Y), rows.n_columns, k))):
        return readout
    like, Y, outputs = home(outputs), to_host(Y), to_host(outputs)
    weights = np.ones(len(Y)) if readout.weights is None else to_host(readout.weights)
    inside = np.flatnonzero(weights)
    X = to_host(to_dense(Problem(rows, intercept=True).stacked()[0]))
    found = fit_direct(X[inside], Y[inside], weights[inside])
    if found is None:
        return readout
    T, F, w = Y[inside], outputs[inside], weights[inside]
    share, unit = _share(T, F, found.crossed, w)
    G = unit * found.crossed
    rest, links = 1.0 - share, moved_to(share * unit * found.coef, like)
    coef = rest * readout.coef
    intercept = rest * readout.intercept + moved_to(share * unit * found.intercept, like)
    H = to_dense(Problem(readout.rows, intercept=True).stacked()[0])
    fitted = to_host(H @ coef + intercept) + X @ to_host(links)
    left_out = fitted.copy()
    left_out[inside] = F + share * (G - F)
    gains, _ = compared(scoring, T, F, left_out[inside], w)
    before = readout.gains
    note = f"a regression on the inputs has {100 * share:.0f} % of the scores"
    return replace(
        readout,
        coef=coef,
        intercept=intercept,
        links=links,
        leave_one_out=moved_to(left_out, like),
        leave_one_out_error=rest * errors + EXACT * float(np.abs(left_out).max()),
        decoding=None,
        undecoded=None,
        fitted=fitted,
        gains=Gains(before.score + gains.score, before.decided + gains.decided),
        report=readout.report.with_notes(note),
    )


def _share(T: Array, F: Array, crossed: Array, weights: Array) -> tuple[float, float]:
    """The weight of a regression's scores, and what brings them to the units of outputs F.

    T are the ±1 targets, F and `crossed` what rows were predicted by others.
    """
    unit = class_temperature(T, F, weights) / class_temperature(T, crossed, weights)
    between = F[:, None] + WEIGHTS[:, None] * (unit * crossed - F)[:, None]
    by_loss = Scoring(log_loss="classes")
    scores = judged(by_loss, [part_of(by_loss, T, between, weights)]).scores
    chances = np.exp(effective_rows(weights) * (scores - scores.max()))
    return float(WEIGHTS @ chances / chances.sum()), unit
