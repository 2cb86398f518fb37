"""Scores of classes fitted to the features themselves, by logistic regression.

Least squares asks rows that lie far on their own side to come back, which moves the planes between
classes.  Where features are few, logistic regression on them is worth up to two points of accuracy;
where they are many, as those of a hidden layer, it is worth nothing and costs much, so `affordable`
says where it is tried.

The prior is normal, of the same precision λ for all features: they are taken as they are, as a
ridge takes them.  λ is found by walking along decades while five folds of the rows, each predicted
by the others, are predicted better.  The logits of the λ that were tried are averaged with weights
exp(-loss of all rows), the likelihood of rows that were predicted by others (Geisser and Eddy
1979), times a prior: a λ of 0.1, at which logits have a spread of about three, to within a decade.
With few rows the folds hardly tell neighbours apart, and rows that are told apart by luck alone
would have any λ; with many rows one takes it all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, slices
from pinvlearn._core.factoring import eigh
from pinvlearn.readout.likelihood import CLOSE, EXACT, FEW, Likelihood, both, centred, each_fold
from pinvlearn.readout.scoring import FOLDS, dealt

MOST_WORK, MOST_ENTRIES = 2**22, 2**24
"""Rows times directions times classes, of which some hundred products are made, and entries of the
features, up to which this is tried: a second or two."""

CHOOSING = 1000
"""Rows by which is guessed where all of them begin to look for λ: they want more of it than all do,
by a decade on spambase, and a test row then costs a tenth more."""

RIDGES = tuple((10.0 ** np.arange(-3.0, 5.0)).tolist())
FIRST = 1.0
"""λ, where the squared length of a row is 1 in the mean, and where the walk begins."""

LIKELY = 0.1
"""λ as it is thought to be before any row is seen, to within a decade."""

PANEL = 2**12
"""Columns of few rows that are centred at a time, so that there is no second array of all."""

SHARE = 1e-3
"""Averaged are those whose weight is at least this part of the largest."""


class Direct(NamedTuple):
    """Coefficients (p, t) and intercepts (t,), and what each fold is predicted by the others.

    Outputs are logits: half the difference of two classes, which have one column.
    """

    coef: Array
    intercept: Array
    crossed: Array


def affordable(n: int, p: int, k: int) -> bool:
    """Whether a fit to n rows of p features and k classes is little work."""
    return n * p <= MOST_ENTRIES and n * min(n, p) * k <= MOST_WORK


def fit_direct(H: Array, Y: Array, weights: Array) -> Direct | None:
    """The fit to features (n, p) for ±1 targets of rows with positive weights.

    None where all rows are alike, or too large to be squared, or tell nothing of other folds.
    """
    rows = _Rows.of(H, weights)
    if rows is None:
        return None
    folds = _Folds.of(rows, both(Y), weights, slice(None))
    first, starts, every = FIRST, None, -(-len(Y) // CHOOSING)
    if every > 1:
        some = np.sort(np.lexsort(Y.T)[::every])
        guessed = _Folds.of(rows, both(Y), weights, some).walked(FIRST)
        first = _best(guessed)
        starts = guessed[first].Ws
    tried = folds.walked(first, starts)
    best = _best(tried)
    if best == RIDGES[-1]:  # folds are predicted best by what is the same for all rows
        return None
    losses = {ridge: trial.loss + _prior(ridge) for ridge, trial in tried.items()}
    least = min(losses.values())
    shares = {ridge: np.exp(least - loss) for ridge, loss in losses.items()}
    shares = {ridge: share for ridge, share in shares.items() if share >= SHARE}
    W, crossed = np.zeros_like(folds.every.toward), np.zeros_like(folds.every.T)
    for ridge, share in shares.items():
        trial = folds.at(ridge, EXACT, tried[ridge].Ws)
        W += share * folds.whole(ridge, trial.Ws)
        crossed += share * trial.crossed
    W, crossed = (_outputs(centred(part).T / sum(shares.values())) for part in (W, crossed))
    coef = rows.back(W[:-1])
    return Direct(coef, W[-1] - rows.mean @ coef, crossed)


def _prior(ridge: float) -> float:
    """Minus the logarithm of how likely a λ is thought to be."""
    return 0.5 * float(np.log10(ridge / LIKELY)) ** 2


def _outputs(logits: Array) -> Array:
    """Half the difference of two classes, else one for each."""
    if logits.shape[1] > 2:
        return logits
    half: Array = (logits[:, 1:] - logits[:, :1]) / 2.0
    return half


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows Z about their mean, in units of their length; of many features along their own axes.

    `X` is Z/unit or its coordinates, which are orthogonal.  Coefficients of these times `axes` are
    those of the features; of fewer rows than features they are so times `span` and Zᵀ.
    """

    X: Array
    H: Array
    mean: Array
    unit: float
    axes: Array | None = None
    span: Array | None = None

    @classmethod
    def of(cls, H: Array, weights: Array) -> _Rows | None:
        (n, p), shares = H.shape, weights / weights.sum()
        with np.errstate(over="ignore", invalid="ignore"):
            mean = shares @ H
            if n >= p:
                Z = H - mean
                unit = float(np.sqrt(shares @ np.einsum("ij,ij->i", Z, Z)))
                if not (np.isfinite(unit) and unit > 0.0):
                    return None
                if p <= FEW:
                    return cls(Z / unit, H, mean, unit)
                V = eigh(Z.T @ Z)[1]
                return cls(Z @ (V / unit), H, mean, unit, V)
            K = np.zeros((n, n))
            for columns in slices(0, p, PANEL):
                Z = H[:, columns] - mean[columns]
                K += Z @ Z.T
            unit = float(np.sqrt(shares @ np.diagonal(K)))
        if not (np.isfinite(unit) and unit > 0.0):
            return None
        values, U = eigh(K)
        kept = values > n * np.finfo(np.float64).eps * values.max()
        U, roots = U[:, kept], np.sqrt(values[kept])
        return cls(U * (roots / unit), H, mean, unit, span=U / roots)

    @property
    def orthogonal(self) -> bool:
        """Whether features are those of rows along their axes."""
        return self.axes is not None or self.span is not None

    def back(self, slopes: Array) -> Array:
        """Coefficients of the features."""
        slopes = slopes / self.unit
        if self.span is None:
            return slopes if self.axes is None else self.axes @ slopes
        by_rows, coef = self.span @ slopes, np.empty((len(self.mean), slopes.shape[1]))
        for columns in slices(0, len(coef), PANEL):
            coef[columns] = (self.H[:, columns] - self.mean[columns]).T @ by_rows
        return coef


class _Trial(NamedTuple):
    """Parameters of each fold's others, logits (k, n) by them, and the loss of all rows."""

    Ws: list[Array]
    crossed: Array
    loss: float


def _best(tried: dict[float, _Trial]) -> float:
    """The ridge by which folds are predicted best."""
    return min(tried, key=lambda ridge: tried[ridge].loss)


@dataclass(frozen=True, eq=False)
class _Folds:
    """The likelihood of all rows, and of those outside of each fold."""

    every: Likelihood
    others: list[Likelihood]
    folds: IntArray

    @classmethod
    def of(cls, rows: _Rows, Y: Array, weights: Array, some: Any) -> _Folds:
        """Of some of the rows, and ±1 targets with a column for each class."""
        X, Y, weights = rows.X[some], Y[some], weights[some]
        folds, axes = dealt(Y, classes=True), rows.orthogonal

        def of_rows(which: Any) -> Likelihood:
            return Likelihood.of(X[which], Y[which], weights[which], FIRST, axes=axes)

        others = [of_rows(folds != fold) for fold in range(FOLDS)]
        return cls(of_rows(folds >= 0), others, folds)

    def at(self, ridge: float, tol: float, starts: list[Array] | None) -> _Trial:
        """Every fold predicted by the others."""
        crossed, Ws = np.empty(self.every.T.shape), [self.every.toward] * FOLDS

        def solve(fold: int) -> None:
            start, own = None if starts is None else starts[fold], self.folds == fold
            Ws[fold] = replace(self.others[fold], ridge=ridge).solved(tol, start)
            crossed[:, own] = Ws[fold] @ self.every.H[:, own]

        each_fold(solve, self.every.H.size * len(self.every.T))
        return _Trial(Ws, crossed, self.every.of_logits(crossed.copy())[0])

    def whole(self, ridge: float, starts: list[Array]) -> Array:
        """The parameters by all rows."""
        return replace(self.every, ridge=ridge).solved(EXACT, np.mean(starts, axis=0))

    def walked(self, first: float, starts: list[Array] | None = None) -> dict[float, _Trial]:
        """Trials by ridge, from the first until both neighbours of the best are worse."""
        tried: dict[float, _Trial] = {}
        at = RIDGES.index(first)
        while True:
            for number in (at, at - 1, at + 1):
                if 0 <= number < len(RIDGES) and RIDGES[number] not in tried:
                    tried[RIDGES[number]] = self.at(RIDGES[number], CLOSE, starts)
                    starts = tried[RIDGES[at]].Ws
            best = RIDGES.index(_best(tried))
            if best == at:
                return tried
            at = best
