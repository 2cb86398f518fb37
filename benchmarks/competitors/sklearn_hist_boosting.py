"""scikit-learn's gradient boosting on histograms."""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier


def classifier(
    X: np.ndarray, y: np.ndarray, *, iterations: int, seed: int
) -> HistGradientBoostingClassifier:
    """One tree for each class and iteration; the defaults, without early stopping."""
    model = HistGradientBoostingClassifier(
        max_iter=iterations, early_stopping=False, random_state=seed
    )
    return model.fit(X, y)
