"""scikit-learn's ridge regression: one alpha, and its leave-one-out path."""

import numpy as np
from sklearn.linear_model import Ridge, RidgeCV


def learn(H: np.ndarray, Y: np.ndarray, alpha: float) -> Ridge:
    """Normal equations by Cholesky, intercept not penalised."""
    return Ridge(alpha=alpha, solver="cholesky").fit(H, Y)


def path(H: np.ndarray, Y: np.ndarray, alphas: np.ndarray) -> RidgeCV:
    """Exact leave-one-out over all alphas."""
    return RidgeCV(alphas=alphas).fit(H, Y)
