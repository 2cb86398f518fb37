"""Autoencoders by one solve: the layers of a deep extreme learning machine [TDH16]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, Matrix, to_dense
from pinvlearn._validation import check_alpha, check_choice, check_jobs, check_size
from pinvlearn.engines.local import BlockRows, rows_in_memory
from pinvlearn.features.random_layer import RandomLayer
from pinvlearn.learners._maps import draw_random
from pinvlearn.learners.features import MapTransformer
from pinvlearn.linalg.lasso import fista
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.readout.decompositions import Cholesky, GramSVD
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solve import solve

PENALTIES = ("l2", "l1")

SPARSITY = 1e-3
"""The ℓ1 penalty of ``alpha="auto"``, as a part of the least one at which all weights are zero."""

TOLERANCE = 1e-4
"""Duality gap, as a part of the input's variance, at which FISTA ends before `max_iter`."""


@dataclass(frozen=True, eq=False)
class Encoder:
    """A fitted autoencoder: its layer, the weights β behind it, and how they were found."""

    layer: RandomLayer
    coef: Array
    alpha: float
    error: float
    n_iter: int
    report: Report


def fit_encoder(
    X: Matrix,
    *,
    n_hidden: int,
    penalty: str,
    alpha: Any,
    activation: Any,
    scale: float = 1.0,
    max_iter: int = 50,
    n_jobs: int | None,
    rng: np.random.Generator,
) -> Encoder:
    """The layer x ↦ activation(β x, scaled) whose β rebuilds x from random orthogonal units."""
    check_choice("penalty", penalty, PENALTIES)
    check_size("max_iter", max_iter)
    ridge = check_alpha(alpha)
    if penalty == "l1" and np.ndim(alpha) > 0:
        raise ValueError('A path of alpha belongs to penalty="l2"; give "l1" one number.')
    layer_stream, solver_stream = rng.spawn(2)
    hidden = draw_random(
        X.shape[1],
        n_hidden=n_hidden,
        activation=activation,
        weights="orthogonal",
        scale=scale,
        rng=layer_stream,
    )
    rows = rows_in_memory(hidden, X, to_dense(X), None, hidden.n_columns, check_jobs(n_jobs))
    problem = Problem(rows, True, None, solver_stream)
    if penalty == "l2":
        readout = solve(problem, Cholesky() if isinstance(ridge, float) else GramSVD(), ridge)
        coef, offset, used, report = readout.coef, readout.intercept, readout.alpha, readout.report
        steps = 1
    else:
        coef, offset, used, report, steps = _sparse(problem, ridge, max_iter)
    least, most, error = _ranges(rows, coef, offset)
    return Encoder(_scaled(coef, least, most, activation), coef, used, error, steps, report)


def _sparse(problem: Problem, alpha: Any, max_iter: int) -> tuple[Array, Array, float, Report, int]:
    """Weights with an ℓ1 penalty, their intercept, the penalty used, a report, the steps."""
    watch = Stopwatch()
    with watch("gram"):
        moments = problem.moments
    if alpha is None:
        alpha = SPARSITY * 2.0 * float(np.abs(moments.C).max())
    with watch("fista"):
        lower = np.tril(moments.shifted(0.0))
        G = lower + np.tril(lower, -1).T
        found = fista(G, moments.C, moments.squares, alpha, max_iter=max_iter, tol=TOLERANCE)
    zero = float(np.mean(found.coef == 0.0))
    reason = f"ℓ1 penalty, {found.iterations} steps, {100 * zero:.0f} % of the weights are zero"
    notes: tuple[str, ...] = ()
    if found.iterations == max_iter and found.gap > TOLERANCE:
        notes = (f"stopped after max_iter={max_iter} steps, as [TDH16] do; more come closer",)
    report = Report("fista", reason, 1, found.gap, dict(watch), notes)
    offset = problem.center(moments).offset(found.coef)
    return found.coef, offset, float(alpha), report, found.iterations


def _ranges(rows: BlockRows, coef: Array, offset: Array) -> tuple[Array, Array, float]:
    """Least and largest value of every unit β x, and the part of X's variance not rebuilt."""
    mean = rows.Y.mean(axis=0)

    def of_block(H: Array, X: Array, weights: Array | None) -> tuple[Array, Array, float, float]:
        units, rest, whole = X @ coef.T, X - H @ coef - offset, X - mean
        sums = float(np.vdot(rest, rest)), float(np.vdot(whole, whole))
        return units.min(axis=0), units.max(axis=0), *sums

    lows, highs, rests, wholes = zip(*rows.each(of_block), strict=True)
    error = sum(rests) / sum(wholes) if sum(wholes) > 0.0 else 0.0
    return np.min(lows, axis=0), np.max(highs, axis=0), error


def _scaled(coef: Array, least: Array, most: Array, activation: Any) -> RandomLayer:
    """activation(X W + b) with W = βᵀ and b such that the sums of training rows fill [-1, 1]."""
    width = most - least
    # A unit without any range, as one whose weights are all zero, is left at zero.
    alive = width > 1e-12 * np.maximum(np.abs(most), np.abs(least))
    factor = np.where(alive, 2.0 / np.where(alive, width, 1.0), 0.0)
    return RandomLayer(coef.T * factor, np.where(alive, -1.0 - least * factor, 0.0), activation)


class ELMAutoEncoder(MapTransformer):
    """Features that rebuild their input: one hidden layer, found by one solve.

    A hidden layer A = activation(X W + c) with random orthogonal weights is drawn, and its output
    weights β are solved for, so that they rebuild the input:

        minimise  ‖A β + b - X‖² + alpha·‖β‖²      (or alpha·‖β‖₁)

    The features are activation(X βᵀ), each of the sums X βᵀ scaled to fill [-1, 1] on the training
    rows.  Where there are fewer units than inputs they compress, where there are more they spread.

    Cost: n·p² + 2n·p·d flops for n rows, d inputs and p units, and 2p²d for each step of FISTA;
    memory p² + p·d and blocks of rows (and X itself made dense, if it is sparse).

    Parameters
    ----------
    n_hidden : int, default=200
        Number of features.
    penalty : {"l2", "l1"}, default="l2"
        "l2" is one solve; "l1" makes β sparse, by FISTA on the Gram matrix, as [TDH16] do.
    alpha : "auto", float or array, default="auto"
        Penalty.  "auto" chooses the ridge from a path of 31 values by generalised
        cross-validation, as an array is; for "l1" it is a thousandth of the least penalty at
        which all weights are zero.
    activation : str or callable, default="sigmoid"
        "sigmoid", "tanh", "relu", "sine", "hardlimit" or "identity", of the hidden layer and of the
        features.
    scale : float, default=1.0
        Factor on the random weights.
    max_iter : int, default=50
        Most steps of FISTA; 50 in [TDH16].
    n_jobs : int, default=None
        Threads over blocks of rows; None takes as many as BLAS is allowed, -1 all cores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn at random.

    Attributes
    ----------
    map_ : RandomLayer
        The layer: βᵀ, scaled, as ``W``, and ``b``.
    coef_ : array of shape (n_hidden, n_features)
        β.
    alpha_ : float
        The penalty used.
    reconstruction_error_ : float
        ‖A β + b - X‖² as a part of ‖X - mean‖².
    n_iter_ : int
        Steps of FISTA; 1 for "l2".
    report_ : Report
        How β was found; the error of "fista" is its duality gap as a part of ‖X - mean‖².
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Deviations: [TDH16] scale the sums X βᵀ to [0, 1] in their experiments and apply no activation;
    ``activation="identity"`` is that, up to a shift and a factor.  The intercept b is free, and not
    a column of X.

    References
    ----------
    [TDH16] J. Tang, C. Deng, G.-B. Huang (2016). Extreme learning machine for multilayer
    perceptron. IEEE Trans. Neural Netw. Learn. Syst. 27(4).
    L. Kasun, H. Zhou, G.-B. Huang, C.-M. Vong (2013). Representational learning with ELMs for big
    data. IEEE Intell. Syst. 28(6), for the ridge.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pinvlearn import ELMAutoEncoder
    >>> X = load_digits().data / 16.0
    >>> encoder = ELMAutoEncoder(n_hidden=20, random_state=0).fit(X)
    >>> encoder.transform(X).shape, bool(encoder.reconstruction_error_ < 0.8)
    ((1797, 20), True)
    """

    _runs_on_devices = False

    def __init__(
        self,
        n_hidden: int = 200,
        *,
        penalty: str = "l2",
        alpha: Any = "auto",
        activation: Any = "sigmoid",
        scale: float = 1.0,
        max_iter: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.penalty = penalty
        self.alpha = alpha
        self.activation = activation
        self.scale = scale
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draw(self, X: Matrix, rng: np.random.Generator) -> RandomLayer:
        found = fit_encoder(
            X.astype(np.float64, copy=False),
            n_hidden=self.n_hidden,
            penalty=self.penalty,
            alpha=self.alpha,
            activation=self.activation,
            scale=self.scale,
            max_iter=self.max_iter,
            n_jobs=self.n_jobs,
            rng=rng,
        )
        self.coef_, self.alpha_ = found.coef, found.alpha
        self.reconstruction_error_, self.report_ = found.error, found.report
        self.n_iter_ = found.n_iter
        return found.layer
