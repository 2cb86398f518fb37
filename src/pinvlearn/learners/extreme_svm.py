"""The extreme SVM of [He11]: random features, a penalised offset, and rows that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Matrix
from pinvlearn.features import FeatureMap
from pinvlearn.features.random_layer import Inputs, Offset
from pinvlearn.learners._base import ReadoutClassifier
from pinvlearn.learners._docs import documented
from pinvlearn.learners._maps import draw_random


@documented
class ExtremeSVMClassifier(ReadoutClassifier):
    """Extreme support vector machine: a proximal SVM on random features.

    Minimises Σ_i w_i ‖Φ(x_i)W - r - y_i‖² + alpha·(‖W‖² + ‖r‖²) over the weights W and the offset
    r, with ±1 targets: (W, r) = (alpha + E'E)⁻¹ E'Y for E = [Φ(X), -1], [He11] Eq. (7), where
    alpha is 1/v.  A row belongs to the class with the largest output, Eq. (8).

    E'E and E'Y are sums over rows, so rows can be added (`partial_fit`), taken away (`forget`),
    and learned from in pieces elsewhere (`merge`), and the solution is that of one fit.  The last
    of `coef_` is the offset r; `intercept_` is 0.

    Cost: mp² + mdp flops for m rows, d features and p hidden units; p² + 2048·p memory; p³/3
    flops to solve again.

    Parameters
    ----------
    n_hidden : int or None, default=1000
        Number of hidden units; None for the linear form, Eq. (1).
    {tail}

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_units + 1)
        Weights of the units `map_` gives, the last being the offset r.
    intercept_ : array of shape (n_targets,)
        Zeros.
    alpha_ : float
        The ridge used.
    alphas_, gcv_scores_ : arrays of shape (n_alphas,)
        The ridges it was chosen from, and what generalised cross-validation says of each;
        `best_score_` is that of `alpha_`.
    classes_ : array of shape (n_classes,)
        The classes in order, or the numbers of the labels.
    rank_ : int
        Directions that took part.
    map_ : callable
        The drawn feature map.
    report_ : Report
        What was done, why, how exactly, and how long it took.
    summary_ : Gram or Triangle
        Sums over the rows, to add to and take from.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    [He11] Q. He, C. Du, Q. Wang, F. Zhuang, Z. Shi (2011). A parallel incremental extreme SVM
    classifier. Neurocomputing 74.

    Deviations: several classes by one column of targets each; hidden weights are divided by
    √n_features; the system is never inverted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import ExtremeSVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtremeSVMClassifier(n_hidden=50, alpha=1e-3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> again = model.forget(X[:10], y[:10]).partial_fit(X[:10], y[:10])
    >>> bool(again.score(X, y) > 0.95)
    True
    """

    _parameter_docs = {
        "activation": """
    activation : str or callable, default="sigmoid"
        "sigmoid", "tanh", "relu", "sine", "hardlimit" or "identity".  A callable maps an
        array to one of the same shape and may overwrite its argument.""",
        "weights": """
    weights : {"gaussian", "uniform"}, default="gaussian"
        Distribution of the hidden weights, of unit variance.""",
        "scale": """
    scale : float, default=1.0
        Factor on the hidden weights, which are divided by √n_features as well.""",
        "alpha": """
    alpha : float, array or "auto", default=1.0
        Ridge, 1/v of the paper.  An array is a path, "auto" one of 31 values, from which
        generalised cross-validation chooses.""",
        "solver": """
    solver : str or solver, default="auto"
        "cholesky" or "gram" of the sums, "qr" or "exact" of an R factor, which keeps more digits,
        cannot forget, and is kept by `partial_fit` and `fit_blocks`, not by `fit`; "auto" or any
        other, as in `ELMClassifier`.""",
    }

    loo_scoring = None  # a summary has no rows to leave out

    def __init__(
        self,
        n_hidden: int | None = 1000,
        *,
        activation: Any = "sigmoid",
        weights: str = "gaussian",
        scale: float = 1.0,
        alpha: Any = 1.0,
        solver: Any = "auto",
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.alpha = alpha
        self.solver = solver
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        if self.n_hidden is None:
            return Offset(Inputs(X.shape[1])), []
        layer = draw_random(
            X.shape[1],
            n_hidden=self.n_hidden,
            activation=self.activation,
            weights=self.weights,
            scale=self.scale,
            rng=rng,
        )
        return Offset(layer), []

    @property
    def _intercept(self) -> bool:
        return False  # the offset is the map's last column, and is penalised
