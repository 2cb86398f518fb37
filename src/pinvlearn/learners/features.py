"""Feature maps as scikit-learn transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvlearn._core.arrays import Array, Matrix
from pinvlearn._core.sparse import check_sparse
from pinvlearn._validation import check_finite, generator
from pinvlearn.learners._maps import draw_radial, draw_random
from pinvlearn.learners._state import unchanged_on_failure


class MapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """fit draws the map, transform applies it."""

    def _draw(self, X: Matrix, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def fit(self, X: Matrix, y: Any = None) -> Any:
        """Draw the map for data like X."""
        with unchanged_on_failure(self):
            X = self._checked(X, reset=True)
            self.map_ = self._draw(X, generator(self.random_state))
        return self

    def transform(self, X: Matrix) -> Array:
        """Features of the rows of X, in the precision of X."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        features: Array = self.map_(X)
        return features

    def _checked(self, X: Any, reset: bool) -> Matrix:
        check_sparse(X)
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
        check_finite(X, getattr(self, "feature_names_in_", None))
        return X

    @property
    def _n_features_out(self) -> int:
        return int(self.map_.n_columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RandomFeatures(MapTransformer):
    """A hidden layer with random weights as a transformer: X ↦ activation(X W + b).

    Parameters
    ----------
    n_hidden : int, default=1000
        Number of hidden units.
    activation : {"sigmoid", "tanh", "relu", "sine", "hardlimit", "identity"} or callable, \
            default="sigmoid"
    weights : {"gaussian", "uniform", "orthogonal"}, default="gaussian"
        Distribution of the weights, of unit variance; "orthogonal" makes Gaussian ones orthogonal
        to each other, as many at a time as there are features.
    scale : float, default=1.0
        Factor on the weights, which are divided by √n_features as well.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    map_ : RandomLayer
        Weights ``W`` and ``b``, frozen.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import RandomFeatures
    >>> RandomFeatures(n_hidden=5, random_state=0).fit_transform(np.eye(3)).shape
    (3, 5)
    """

    def __init__(
        self,
        n_hidden: int = 1000,
        *,
        activation: Any = "sigmoid",
        weights: str = "gaussian",
        scale: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.activation = activation
        self.weights = weights
        self.scale = scale
        self.random_state = random_state

    def _draw(self, X: Matrix, rng: np.random.Generator) -> Any:
        return draw_random(
            X.shape[1],
            n_hidden=self.n_hidden,
            activation=self.activation,
            weights=self.weights,
            scale=self.scale,
            rng=rng,
        )


class RBFFeatures(MapTransformer):
    """Radial basis functions around centres as a transformer.

    Parameters
    ----------
    n_kernels : int, default=1000
        Number of centres; with fewer rows every row is a centre.
    gamma : "scale", "auto" or float, default="scale"
        Width: exp(-gamma·‖x - c‖²), or exp(-gamma·‖x - c‖₁) for "laplace".
    centers : {"random", "kmeans", "leverage", "rpcholesky"} or array of shape \
            (n_kernels, n_features), default="random"
        See `RBFNetworkClassifier`.
    kernel : {"gaussian", "laplace"}, default="gaussian"
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    map_ : RadialBasis
        Centres and width, frozen.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import RBFFeatures
    >>> RBFFeatures(n_kernels=2, random_state=0).fit_transform(np.eye(3)).shape
    (3, 2)
    """

    def __init__(
        self,
        n_kernels: int = 1000,
        *,
        gamma: Any = "scale",
        centers: Any = "random",
        kernel: str = "gaussian",
        random_state: Any = None,
    ) -> None:
        self.n_kernels = n_kernels
        self.gamma = gamma
        self.centers = centers
        self.kernel = kernel
        self.random_state = random_state

    def _draw(self, X: Matrix, rng: np.random.Generator) -> Any:
        radial, _ = draw_radial(
            X,
            n_kernels=self.n_kernels,
            gamma=self.gamma,
            centers=self.centers,
            kernel=self.kernel,
            rng=rng,
        )
        return radial
