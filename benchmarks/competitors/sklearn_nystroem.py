"""scikit-learn's Nystroem features with RidgeClassifier."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline, make_pipeline


def classifier(
    X: np.ndarray, y: np.ndarray, *, gamma: float, alpha: float, rank: int, seed: int
) -> Pipeline:
    """Uniform centres, whitened by the SVD of their kernel matrix, then a ridge by Cholesky."""
    features = Nystroem(gamma=gamma, n_components=rank, random_state=seed)
    return make_pipeline(features, RidgeClassifier(alpha, solver="cholesky")).fit(X, y)
