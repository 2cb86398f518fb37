"""Extreme learning machines: a random hidden layer and one solve."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Matrix
from pinvlearn.features import FeatureMap
from pinvlearn.learners._base import (
    ReadoutClassifier,
    ReadoutRegressor,
)
from pinvlearn.learners._docs import documented
from pinvlearn.learners._maps import draw_random, with_links
from pinvlearn.learners._sizing import RANK, SelfSizing, size_of


class _ELM(SelfSizing):
    _size_name = "n_hidden"
    _parameter_docs = {
        "n_hidden": """
    n_hidden : int or "loo", default=1000
        Number of hidden units.  "loo" judges the first 1, 2, … of `max_hidden` units by exact
        leave-one-out, all from one decomposition for each of `alpha` (where that is "auto", three
        ridges about the best for all units), and fits the best number.""",
        "max_hidden": """
    max_hidden : int, default=1000
        Bound on the number of units for ``n_hidden="loo"``.""",
        "rank": RANK,
        "activation": """
    activation : str or callable, default="sigmoid"
        "sigmoid", "tanh", "relu", "sine", "hardlimit" or "identity".  A callable maps an
        array to one of the same shape and may overwrite its argument.""",
        "weights": """
    weights : {"gaussian", "uniform", "orthogonal"}, default="gaussian"
        Distribution of the hidden weights, of unit variance; "orthogonal" makes Gaussian ones
        orthogonal to each other, as many at a time as there are features.""",
        "scale": """
    scale : float, default=1.0
        Factor on the hidden weights, which are divided by √n_features as well.""",
    }

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        layer = draw_random(
            X.shape[1],
            n_hidden=size_of("n_hidden", self.n_hidden, self.max_hidden),
            activation=self.activation,
            weights=self.weights,
            scale=self.scale,
            rng=rng,
        )
        return with_links(layer, X, self.direct_links), []

    @property
    def n_hidden_(self) -> int:
        """Number of hidden units."""
        layer = getattr(self.map_, "hidden", self.map_)
        return int(layer.n_columns)


@documented
class ELMClassifier(ReadoutClassifier, _ELM):
    """Extreme learning machine for classification: random hidden layer, weights by one solve.

    Minimises Σ_i w_i ‖activation(x_i W + c) B + b - y_i‖² + alpha·‖B‖² over the output weights B
    and the free intercept b; W and c are drawn once and stay.

    Cost: mp² + mdp flops and memory for one p × p array and tiles of rows, for m rows, d features
    and p hidden units; see `RBFNetworkClassifier`.

    Parameters
    ----------
    {tail}

    {attributes}
    n_hidden_ : int
        Number of hidden units.

    References
    ----------
    [JL19] N. Jankowski, R. Linowiecki (2019). A fast neural network learning algorithm with
    approximate singular value decomposition. Int. J. Appl. Math. Comput. Sci. 29(3).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import ELMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ELMClassifier(n_hidden=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        n_hidden: Any = 1000,
        *,
        max_hidden: int = 1000,
        activation: Any = "sigmoid",
        weights: str = "gaussian",
        scale: float = 1.0,
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        direct_links: bool = False,
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        decoding: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.max_hidden = max_hidden
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.direct_links = direct_links
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.decoding = decoding
        self.n_jobs = n_jobs
        self.random_state = random_state


@documented
class ELMRegressor(ReadoutRegressor, _ELM):
    """Extreme learning machine for regression: random hidden layer, weights by one solve.

    Minimises Σ_i w_i ‖activation(x_i W + c) B + b - y_i‖² + alpha·‖B‖² over B and b; see
    `ELMClassifier` for the cost.

    Parameters
    ----------
    {tail}

    {attributes}
    n_hidden_ : int
        Number of hidden units.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import ELMRegressor
    >>> X = np.linspace(-3.0, 3.0, 200)[:, None]
    >>> model = ELMRegressor(n_hidden=50, scale=3.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    def __init__(
        self,
        n_hidden: Any = 1000,
        *,
        max_hidden: int = 1000,
        activation: Any = "sigmoid",
        weights: str = "gaussian",
        scale: float = 1.0,
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        direct_links: bool = False,
        loo_scoring: Any = "mse",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.max_hidden = max_hidden
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.direct_links = direct_links
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
