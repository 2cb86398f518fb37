"""Scores of a machine, averaged with those of a logistic regression on its inputs.

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

from pinvlearn._core.arrays import to_dense
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
    unit = class_temperature(T, F, w) / class_temperature(T, found.crossed, w)
    G = unit * found.crossed  # in the units of the machine's outputs
    between = F[:, None] + WEIGHTS[:, None] * (G - F)[:, None]
    by_loss = Scoring(log_loss="classes")
    scores = judged(by_loss, [part_of(by_loss, T, between, w)]).scores
    chances = np.exp(effective_rows(w) * (scores - scores.max()))
    share = float(WEIGHTS @ chances / chances.sum())
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
