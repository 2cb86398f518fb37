"""Choosing how many units, or how many directions: leave-one-out for every prefix at once.

The units of a network stand in an order, and a smaller network is a prefix of it.  For one ridge
let [Z; √alpha·I] = QR.  Columns are orthonormalised one after the other, so the first j columns of
Q serve the first j units, and with q_c the part of column c that belongs to the rows,

    fit of the first j units = Σ_{c ≤ j} q_c (q_cᵀ Y),     leverages = Σ_{c ≤ j} q_c²:

running sums, from which every prefix's residual / (1 - leverage) follows.  The same sums over
q_c = Z v_c / √(s_c² + alpha) serve every truncation of one SVD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix, slices, to_dense
from pinvlearn._core.factoring import triangle_of
from pinvlearn.readout.choose import (
    Alpha,
    as_path,
    best_cell,
    best_of,
    freedom_of,
    generalised_cross_validation,
    left_out,
)
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.decompositions import GramSVD
from pinvlearn.readout.factors import CholeskyFactor, Spectral, solved_rows
from pinvlearn.readout.problem import EPS, Center, Problem
from pinvlearn.readout.scoring import Part, Verdict, joined_parts, judged, part_of, thinning

NOTHING = 1000.0 * EPS
"""Without ridge, a column whose remainder is below this part of ‖Z‖ adds nothing: the ridge stands
in for zero that is its square, and 1000 times what rounding leaves there."""

NEARBY = (0.01, 1.0, 100.0)
"""The ridges at which sizes are judged where none is given, relative to the one that generalised
cross-validation finds best for all units."""

CHUNK = 2**18
"""Left-out predictions that are held at a time, for one block of rows."""

Bases = Callable[[Array], Iterator[Array]]
"""Centred rows Z, not scaled by their weights, to their rows of Q for one ridge after the other."""


@dataclass(frozen=True, eq=False)
class SizePath:
    """Leave-one-out scores of every size, at one or several ridges.

    Attributes
    ----------
    sizes : array of shape (n_sizes,)
    alphas : array of shape (n_alphas,)
    scores : array of shape (n_alphas, n_sizes)
        Larger is better.
    squares : array of shape (n_alphas, n_sizes) or None
        Minus squared errors, by which equal scores are told apart.
    """

    sizes: IntArray
    alphas: Array
    scores: Array
    squares: Array | None = None

    @property
    def best(self) -> tuple[int, float]:
        """Size and alpha of the best score, as `best_cell` breaks ties."""
        squares = None if self.squares is None else self.squares.T
        size, ridge = best_cell(self.scores.T, self.alphas, squares)
        return int(self.sizes[size]), float(self.alphas[ridge])


def prefix_path(problem: Problem, alpha: Alpha, fixed: int = 0) -> SizePath:
    """Exact leave-one-out of the first fixed + 1, fixed + 2, … columns, for each alpha.

    Sizes do not count the `fixed` columns in front.  Exact given the columns' order and the map.

    Cost: mp² flops for the Gram matrix, then p³/3 + mp² for each alpha and mpt for the sums over t
    targets; memory one p × p array and tiles of rows.  Where the Gram matrix has too few digits
    for an alpha, all rows are stacked and R comes from their Householder QR: 2mp² flops once, and
    2p³ for each alpha.
    """
    alphas = _alphas(problem, alpha)
    assert problem.score is not None
    triangles = _Triangles(problem)
    sizes = np.arange(1, problem.shape[1] - fixed + 1)
    verdicts = []
    for ridge in alphas:
        R, C = triangles(float(ridge))
        (every,) = _running_verdicts(problem, triangles.center, _solving(R), [C])
        if ridge == 0.0:  # as many columns as rows: nothing is left to judge by
            most = max(problem.shape[0] - 1 - problem.intercept, 1)
            every = every.without(np.arange(len(every.scores)) >= most)
        verdicts.append(every)
    return _path(sizes, alphas, verdicts, fixed)


def _path(sizes: IntArray, alphas: Array, verdicts: list[Verdict], fixed: int = 0) -> SizePath:
    scores = np.stack([verdict.scores[fixed:] for verdict in verdicts])
    squares = np.stack([verdict.squares[fixed:] for verdict in verdicts])
    return SizePath(sizes, alphas, scores, squares)


def truncation_path(problem: Problem, factor: Spectral, alpha: Alpha) -> SizePath:
    """Leave-one-out of the first 1, 2, … directions of one decomposition, for each alpha.

    Exact given the directions, which the left-out row has helped to find.  mk(p + t) flops for
    each alpha.
    """
    V, s, C = factor.kept()
    if not len(s):  # nothing but means: one direction that adds nothing
        V, s, C = np.zeros((len(V), 1)), np.zeros(1), np.zeros((1, C.shape[1]))
    alphas = _nearby(problem, factor) if alpha is None else as_path(alpha, factor)
    most = max(min(len(s), problem.shape[0] - 1 - problem.intercept), 1)
    V, s, C = V[:, :most], s[:most], C[:most]
    gains = [1.0 / np.sqrt(np.maximum(s**2 + ridge, 1e-300)) for ridge in alphas]

    def bases(Z: Array) -> Iterator[Array]:
        directions = Z @ V
        return (directions * gain for gain in gains)

    targets = [C * gain[:, None] for gain in gains]
    verdicts = _running_verdicts(problem, factor.center, bases, targets)
    return _path(np.arange(1, len(s) + 1), alphas, verdicts)


def _alphas(problem: Problem, alpha: Alpha) -> Array:
    """The ridges to judge sizes at."""
    if alpha is not None:
        return np.atleast_1d(np.asarray(alpha, dtype=np.float64))
    return _nearby(problem, GramSVD().factor(problem, None)[0])


def _nearby(problem: Problem, factor: Spectral) -> Array:
    path = as_path(None, factor)
    likely = path[best_of(generalised_cross_validation(problem, factor, path), path)]
    return np.array(NEARBY) * likely


class _Triangles:
    """R and QᵀY of [Z; √alpha·I] = QR for one alpha after the other."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @property
    def center(self) -> Center:
        """The means that Z was centred about."""
        return self.problem.center(self.problem.moments)

    def __call__(self, alpha: float) -> tuple[Array, Array]:
        factor = CholeskyFactor(self.problem.moments, self.center)
        if alpha > 0.0 and factor.exists(alpha) and factor.error(alpha) <= TOLERANCE:
            R = factor.upper(alpha)
            return R, solved_rows(factor.rhs.T, R).T
        R, C = self._of_rows
        if alpha == 0.0:
            alpha = (NOTHING * max(float(np.linalg.norm(R)), 1e-300)) ** 2
        p, t = R.shape[1], C.shape[1]
        stacked = np.zeros((len(R) + p, p + t), order="F")
        stacked[: len(R), :p], stacked[: len(R), p:] = R, C
        stacked[len(R) + np.arange(p), np.arange(p)] = np.sqrt(alpha)
        upper = triangle_of(stacked)
        return upper[:p, :p], upper[:p, p:]

    @cached_property
    def _of_rows(self) -> tuple[Array, Array]:
        """R of Z and QᵀY, from one QR of [Z, Y]."""
        rows = self.problem.dense()
        p = rows.Z.shape[1]
        upper = triangle_of(np.hstack([rows.Z, rows.Y]))[:p]
        return upper[:, :p], upper[:, p:]


def _solving(R: Array) -> Bases:
    return lambda Z: iter([solved_rows(Z, R)])


def _running_verdicts(
    problem: Problem, center: Center, bases: Bases, targets: list[Array]
) -> list[Verdict]:
    """Leave-one-out of every number of columns of Q, for each Q and its QᵀY."""
    score = problem.score
    assert score is not None
    candidates = sum(len(C) for C in targets)
    every = thinning(problem.shape[0], candidates, targets[0].shape[1])

    def of_block(H: Matrix, Y: Array, weights: Array | None) -> list[Part]:
        w = np.ones(len(Y)) if weights is None else weights
        own = w / center.total if center.intercept else np.zeros(len(Y))
        found = bases(to_dense(H) - center.H_mean)
        return [
            joined_parts(
                [
                    part_of(score, Y, predictions, w, every)
                    for predictions in _left_out_by_size(Q, C, Y, center.Y_mean, w, own)
                ]
            )
            for Q, C in zip(found, targets, strict=True)
        ]

    blocks = list(problem.rows_at_hand.each(of_block))
    return [judged(score, parts) for parts in zip(*blocks, strict=True)]


def _left_out_by_size(
    Q: Array, C: Array, Y: Array, mean: Array, w: Array, leverage: Array
) -> Iterator[Array]:
    """Left-out predictions for every number of columns, a few at a time."""
    error = Y - mean
    for columns in slices(0, len(C), max(CHUNK // error.size, 1)):
        part = Q[:, columns]
        errors = error[:, None, :] - np.cumsum(part[:, :, None] * C[columns], axis=1)
        leverages = leverage[:, None] + np.cumsum(part**2 * w[:, None], axis=1)
        error, leverage = errors[:, -1].copy(), leverages[:, -1].copy()
        yield left_out(Y[:, None, :], errors, freedom_of(leverages))
