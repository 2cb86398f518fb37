"""Linear pseudo-inverse learning, and learning on any given feature map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from pinvlearn._core.arrays import Matrix
from pinvlearn._validation import check_features, check_row_by_row
from pinvlearn.features import FeatureMap
from pinvlearn.features.random_layer import Inputs
from pinvlearn.learners._base import (
    ReadoutClassifier,
    ReadoutRegressor,
)
from pinvlearn.learners._docs import PARAMETERS, documented
from pinvlearn.learners._sizing import RANK, SelfSizing
from pinvlearn.learners._targets import DECODINGS
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solve import Readout, solve_by_target

FEW = 8
"""Rows beside which the first must have the features that it has alone."""

DECODING = (
    PARAMETERS["decoding"].replace('"logistic"}', '"logistic", "features"}')
    + """
        "features" fits scores to the features themselves, by multinomial logistic regression with
        a ridge of its own chosen by five folds of the rows, which stand in for rows left out.
        "auto" takes this, with `solver="auto"` and no `rank`, where
        n_samples·min(n_samples, n_features)·n_classes is at most 4e6, unless rows left out are then
        predicted worse by more than two standard errors (one, of more than ten features for each
        row).  That takes a second or two, and is worth up to two points of accuracy where a plane
        tells classes apart."""
)


@dataclass(frozen=True, eq=False)
class GivenMap:
    """A user's function or fitted transformer as a feature map."""

    function: Any
    n_columns: int

    def __call__(self, X: Matrix) -> Matrix:
        transform = getattr(self.function, "transform", self.function)
        # a copy, since rows are read several times and some functions write to them
        return check_features(transform(X.copy()), X.shape[0], self.n_columns)


class _Pinv(SelfSizing):
    _parameter_docs = {"rank": RANK}

    @property
    def _map_memory(self) -> str | None:
        fitted = hasattr(self.features, "transform")
        return "its features were fitted to training rows" if fitted else None

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        if self.features is None:
            return Inputs(X.shape[1]), []
        function = self.features
        if hasattr(function, "transform"):
            function = clone(function).fit(X.copy(), y)
        elif not callable(function):
            raise TypeError(
                f"features={function!r}: give None for the inputs themselves, a scikit-learn "
                "transformer, or a function of X."
            )
        alone = GivenMap(function, 0)(X[:1])
        drawn = GivenMap(function, int(alone.shape[1]))
        check_row_by_row(alone, drawn(X[:FEW]))
        return drawn, []


@documented
class PinvClassifier(ReadoutClassifier, _Pinv):
    """Linear classification by one solve, on the inputs or on any given features.

    Minimises Σ_i w_i ‖φ(x_i) B + b - y_i‖² + alpha·‖B‖² with ±1 targets; [JL19] Eq. (5) and (6)
    where φ(x) = x and alpha = 0.

    Parameters
    ----------
    features : None, transformer or callable, default=None
        φ: the inputs themselves, a scikit-learn transformer (cloned and fitted), or a function of
        rows, each of which it must treat by itself.
    {tail}

    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import PinvClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(PinvClassifier(alpha=0).fit(X, y).score(X, y) > 0.8)
    True
    """

    _parameter_docs = {**_Pinv._parameter_docs, "decoding": DECODING}
    _decodings = (*DECODINGS, "features")

    @property
    def _tries_features(self) -> bool:
        """Where neither a solver nor a rank was asked for, which a fit of its own would ignore."""
        return isinstance(self.solver, str) and self.solver == "auto" and self.rank is None

    def __init__(
        self,
        features: Any = None,
        *,
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        decoding: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.decoding = decoding
        self.n_jobs = n_jobs
        self.random_state = random_state


@documented
class PinvRegressor(ReadoutRegressor, _Pinv):
    """Linear regression by one solve, on the inputs or on any given features.

    Minimises Σ_i w_i ‖φ(x_i) B + b - y_i‖² + alpha·‖B‖².

    Parameters
    ----------
    features : None, transformer or callable, default=None
        φ: the inputs themselves, a scikit-learn transformer (cloned and fitted), or a function of
        rows, each of which it must treat by itself.
    {tail}

    {attributes}
    training_ : tuple of arrays
        X, y and weights, where `keep_rows` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import PinvRegressor
    >>> X = np.arange(6.0)[:, None]
    >>> model = PinvRegressor(alpha=0).fit(X, 2.0 * X[:, 0] + 1.0)
    >>> np.round(model.coef_, 12), round(model.intercept_, 12)
    (array([2.]), 1.0)
    """

    def __init__(
        self,
        features: Any = None,
        *,
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        alpha_per_target: bool = False,
        loo_scoring: Any = "mse",
        keep_rows: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.features = features
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.alpha_per_target = alpha_per_target
        self.loo_scoring = loo_scoring
        self.keep_rows = keep_rows
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _read_out(self, problem: Problem, solver: Any, alpha: Alpha) -> Readout:
        if not self.alpha_per_target:
            return super()._read_out(problem, solver, alpha)
        if not isinstance(self.loo_scoring, str):
            raise ValueError(
                f"alpha_per_target=True judges each target by its left-out squared error: set "
                f'loo_scoring="mse" instead of {self.loo_scoring!r}.'
            )
        return solve_by_target(problem, solver, alpha)

    def _why_not_updatable(self) -> str | None:
        if self.alpha_per_target:
            return "alpha_per_target=True needs all rows at once; leave it False."
        return super()._why_not_updatable()

    @property
    def _why_no_ridge(self) -> str | None:
        return "every target has a ridge of its own." if self.alpha_per_target else None
