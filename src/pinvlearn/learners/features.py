"""Feature maps as scikit-learn transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from pinvlearn._core.arrays import Array, Matrix, evaluate
from pinvlearn._core.device import as_given, home_within
from pinvlearn._core.products import SHARED_WORK, TILES
from pinvlearn._core.threads import in_parts, one_blas_thread
from pinvlearn._validation import check_magnitude, check_rows, check_same_home, generator
from pinvlearn.features import placed
from pinvlearn.learners._maps import draw_radial, draw_random
from pinvlearn.learners._state import unchanged_on_failure

LEAST_COLUMNS = 32
"""Columns of the inputs whose products take as long as what a map makes of their sums."""


class MapTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """fit draws the map, transform applies it."""

    _runs_on_devices = True

    def _draw(self, X: Matrix, rng: np.random.Generator) -> Any:
        raise NotImplementedError

    def fit(self, X: Matrix, y: Any = None) -> Any:
        """Draw the map for data like X.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Training rows.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
            Unchanged if the fit fails.
        """
        with unchanged_on_failure(self):
            X = check_rows(self, X, reset=True)
            check_magnitude(X)
            self.map_ = placed(self._draw(X, generator(self.random_state)), X)
        return self

    def transform(self, X: Matrix) -> Array:
        """Features of rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_units)
            In the precision of X.
        """
        X = check_rows(self, X, reset=False)
        check_same_home(self, X, home_within(self.map_), "transform")
        return as_given(_features(self.map_, X))

    @property
    def _n_features_out(self) -> int:
        return int(self.map_.n_columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._runs_on_devices
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _features(drawn: Any, X: Matrix) -> Array:
    """Features of rows, with one BLAS thread; many are made by all threads, in tiles of rows."""
    n, d = X.shape
    shared = n * drawn.n_columns * max(d, LEAST_COLUMNS) >= SHARED_WORK
    if not (shared and isinstance(X, np.ndarray)):
        with one_blas_thread():
            features: Array = drawn(X)
        return features
    features = np.empty((n, drawn.n_columns), dtype=X.dtype)
    in_parts(lambda i, j: evaluate(drawn, X[i:j], features[i:j]), n, TILES)
    return features


class RandomFeatures(MapTransformer):
    """A hidden layer with random weights as a transformer: X ↦ activation(X W + b).

    Parameters
    ----------
    n_hidden : int, default=1000
        Number of hidden units.
    activation : {"sigmoid", "tanh", "relu", "sine", "hardlimit", "identity"} or callable, \
            default="sigmoid"
        What each unit makes of its sum; a callable gets an array and gives one of its shape.
    weights : {"gaussian", "uniform", "orthogonal"}, default="gaussian"
        Distribution of the weights, of unit variance; "orthogonal" makes Gaussian ones orthogonal
        to each other, as many at a time as there are features.
    scale : float, default=1.0
        Factor on the weights, which are divided by √n_features as well.
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn at random.

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
        Width of the kernel, as in `RBFNetworkClassifier`.
    centers : {"random", "kmeans", "leverage", "rpcholesky"} or array of shape \
            (n_kernels, n_features), default="random"
        See `RBFNetworkClassifier`.
    kernel : {"rbf", "laplacian", "exponential"}, default="rbf"
        exp(-gamma·‖x - c‖₂²), exp(-gamma·‖x - c‖₁) or exp(-gamma·‖x - c‖₂).
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn at random.

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
        kernel: str = "rbf",
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
