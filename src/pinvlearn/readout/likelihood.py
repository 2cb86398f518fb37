"""Multinomial logistic regression: the smoothed likelihood of classes and its maximum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.threads import share_out
from pinvlearn.readout.losses import effective_rows, smoothing_of
from pinvlearn.readout.scoring import FOLDS

MOST_STEPS, MOST_PRODUCTS, MOST_HALVINGS = 50, 200, 60
"""Newton's steps, products for each of them, and halvings of a step: where the rows of a small
class are surer than their targets it is millions of times too long."""

EXACT, CLOSE = 1e-9, 1e-4
"""Decrements, for each row, of the last of Newton's steps: what is left is about their square.  So
the first is about the relative error of what is found; the second is to begin with."""

FLAT = 1e-200
"""Curvature, beside the gradient, below which there is none that floats hold."""

ROUGH = 8
"""Rows for each parameter with which Newton's steps begin, if there are more than twice as many: by
so many the curvature of each class is known well enough to precondition, too."""

FEW = 64
"""Features up to which the curvature of each class costs less than the products that it saves."""

LONG = 1e-2
"""Decrement, for each row, of a step after which the curvature is another."""

LAST = 1e-2
"""What conjugate gradients may leave at the end, beside the square of the tolerance."""


SHARED = 2**20
"""Rows times features times classes from which threads share folds out: of fewer, products are so
short that they take turns with Python's lock [measured]."""


def both(outputs: Array) -> Array:
    """Outputs, or ±1 targets, of all classes: two of them have one column, the second's."""
    return np.concatenate([-outputs, outputs], axis=1) if outputs.shape[1] == 1 else outputs


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of classes given features with a row of ones, and a normal prior.

    Targets are smoothed as for the temperature (`losses`).  Parameters W are (k, p + 1), the
    offsets being last and free.  Classes come first, so that sums over them are sums of whole
    arrays.

    Attributes
    ----------
    H : array of shape (p + 1, n)
    T : array of shape (k, n)
        Probabilities of the classes that rows are thought to have.
    weights : array of shape (n,)
        They sum to the effective number of rows.
    ridge : float
        Precision of the prior.
    around : bool
        The prior is about the multiple of one output for each class (p = k) that suits best,
        instead of about zero.
    axes : bool
        Features are orthogonal: what is preconditioned is nearly diagonal.
    """

    H: Array
    T: Array
    weights: Array
    ridge: float
    around: bool = False
    axes: bool = False

    @classmethod
    def of(
        cls,
        F: Array,
        Y: Array,
        weights: Array,
        ridge: float,
        *,
        around: bool = False,
        axes: bool = False,
    ) -> Likelihood:
        """Of features (n, p) and ±1 targets with a column for each class."""
        n, k = effective_rows(weights), Y.shape[1]
        smoothing = smoothing_of(n, k)
        T = smoothing + (1.0 - k * smoothing) * (Y.T > 0.0)
        H = np.vstack([F.T, np.ones((1, len(F)))])
        return cls(H, T, weights * (n / weights.sum()), ridge, around, axes)

    def part(self, which: Array | slice) -> Likelihood:
        """The same of some of the rows."""
        H, T, w = (of_rows[..., which] for of_rows in (self.H, self.T, self.weights))
        return replace(self, H=H, T=T, weights=w)

    @cached_property
    def toward(self) -> Array:
        """What the prior is about: zero, or I less what changes all outputs alike."""
        k = len(self.T)
        if not self.around:
            return np.zeros((k, len(self.H)))
        return np.hstack([np.eye(k) - 1.0 / k, np.zeros((k, 1))])

    def scale(self, W: Array) -> float:
        """s, of the part of W that is s·I."""
        return float(np.vdot(W, self.toward)) / (len(W) - 1.0)

    def penalty(self, W: Array) -> Array:
        """The gradient of the prior: of the part of W that is not a scale or an offset."""
        D = self.ridge * (W - self.scale(W) * self.toward)
        D[:, -1] = 0.0
        return D

    def at(self, W: Array) -> tuple[float, Array]:
        """Minus the log-likelihood and the prior's, and the probabilities."""
        loss, P = self.of_logits(W @ self.H)
        return float(loss + 0.5 * np.vdot(W, self.penalty(W))), P

    def of_logits(self, P: Array) -> tuple[float, Array]:
        """Minus the log-likelihood of logits (k, n), which are used up, and the probabilities."""
        P -= P.max(axis=0)
        right = np.einsum("ij,ij->j", self.T, P)
        np.exp(P, out=P)
        total = P.sum(axis=0)
        P /= total
        return float(self.weights @ (np.log(total) - right)), P

    def solved(self, tol: float, start: Array | None = None) -> Array:
        """The maximum, by Newton's steps from conjugate gradients.

        They are preconditioned by the curvature of each class by itself (`_inverses`), which is
        renewed while steps are long.  O(n·k·p) for each of some products with the curvature.
        """
        every = self.H.shape[1] // (ROUGH * self.toward.size)
        if start is None and every > 1:
            start = self.part(slice(None, None, every)).solved(CLOSE, self.toward)
        W = self.toward if start is None else start
        Hw, n = (self.H * self.weights).T, float(self.weights.sum())
        loss, P = self.at(W)
        # Single precision only makes steps less exact; where they lead is measured in double.
        single = [of_rows.astype(np.float32) for of_rows in (self.H, Hw)]
        before, decrement = n, np.inf
        for _ in range(MOST_STEPS):
            rounded = P.astype(np.float32)

            def curved(V: Array, P: Array = rounded) -> Array:
                Q = V.astype(np.float32) @ single[0]
                Q *= P
                Q -= P * Q.sum(axis=0)
                return centred(Q @ single[1]) + self.penalty(V)

            downhill = centred((self.T - P) @ Hw) - self.penalty(W)
            if decrement > LONG * n:
                inverses = self._inverses(P)
            length = float(np.vdot(downhill, _nearer(downhill, inverses)))
            # No more exactly than the last step was foretold (Eisenstat and Walker 1996).
            share = min(max((length / before) ** 2, length / n), 1e-2)
            enough = max(share * length, LAST * tol**2 * n)
            with np.errstate(over="ignore", invalid="ignore"):  # beyond single precision it ends
                step = _conjugate(curved, inverses, downhill, enough)
            before, decrement = length, float(np.vdot(step, downhill))
            for size in np.logspace(0.0, -MOST_HALVINGS, MOST_HALVINGS + 1, base=2.0):
                there, P_there = self.at(W + size * step)
                if there <= loss - 1e-4 * size * decrement + 1e-13 * abs(loss):
                    break
            else:  # no part of the step leads down
                break
            W, P, loss = W + size * step, P_there, there
            if not decrement > tol * n:
                break
        return W

    def _inverses(self, P: Array) -> Array:
        """Of the curvature of each class by itself, from some rows; of their mean if p is large.

        Classes differ in which rows are near them: with the mean for all, letters took five times
        as many products.  Of orthogonal features the diagonals do, of shape (k, p + 1).
        """
        every = max(self.H.shape[1] // (ROUGH * self.toward.size), 1)
        H, w, P = (of_rows[..., ::every] for of_rows in (self.H, every * self.weights, P))
        curvature = w * P * (1.0 - P)
        ridge = np.append(np.full(len(H) - 1, self.ridge), 1e-9 * w.sum())
        if self.axes:
            return 1.0 / (curvature @ np.square(H).T + ridge)
        if len(H) > FEW or len(P) == 2:  # of two classes they are the same
            curvature = curvature.mean(axis=0, keepdims=True)
        own = np.stack([(H * c) @ H.T for c in curvature])
        inverses: Array = np.linalg.inv(own + np.diag(ridge))
        return inverses


def each_fold(function: Callable[[int], None], work: int) -> None:
    """function(fold) of every fold, whose products are of so many entries times classes."""
    share_out(function, [(fold,) for fold in range(FOLDS)], None if work >= SHARED else 1)


def centred(W: Array) -> Array:
    """Less what changes all classes alike, which is nothing but rounding where it may not be."""
    found: Array = W - W.mean(axis=0)
    return found


def _nearer(rest: Array, inverses: Array) -> Array:
    """The step to where a gradient would vanish if classes did not know of each other."""
    return centred(rest * inverses if inverses.ndim == 2 else (rest[:, None] @ inverses)[:, 0])


def _conjugate(
    curved: Callable[[Array], Array], inverses: Array, downhill: Array, enough: float
) -> Array:
    """A step to where the gradient nearly vanishes: its squared length is then `enough`."""
    step, rest = np.zeros_like(downhill), downhill
    nearer = _nearer(rest, inverses)
    direction, length = nearer, float(np.vdot(rest, nearer))
    for _ in range(MOST_PRODUCTS):
        if not length > enough:
            break
        product = curved(direction)
        curvature = float(np.vdot(direction, product))
        if not curvature > FLAT * length:  # the caller shortens the step
            step = step if step.any() else direction
            break
        along = length / curvature
        step = step + along * direction
        rest = rest - along * product
        nearer = _nearer(rest, inverses)
        before, length = length, float(np.vdot(rest, nearer))
        direction = nearer + (length / before) * direction
    return step
