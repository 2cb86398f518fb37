"""scikit-learn's gradient boosting on histograms."""

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def classifier(
    X: np.ndarray, y: np.ndarray, *, iterations: int, seed: int
) -> HistGradientBoostingClassifier:
    """One tree for each class and iteration; the defaults, without early stopping."""
    return make("classification", seed, max_iter=iterations).fit(X, y)


def make(task: str, seed: int, **options: Any) -> Any:
    """Not yet fitted; all rows are used, none held back to stop early."""
    kinds = {
        "classification": HistGradientBoostingClassifier,
        "regression": HistGradientBoostingRegressor,
    }
    return kinds[task](early_stopping=False, random_state=seed, **options)
