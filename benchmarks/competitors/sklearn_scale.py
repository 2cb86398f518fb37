"""What a user of scikit-learn would take for many rows: three classifiers with their defaults."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

Learn = Callable[[np.ndarray, np.ndarray], Any]


def learners(n_components: int, seed: int) -> dict[str, Learn]:
    """Name → function that fits to standardised rows; `n_components` random features."""
    return {
        "RBFSampler + SGDClassifier": lambda X, y: make_pipeline(
            RBFSampler(gamma="scale", n_components=n_components, random_state=seed),
            SGDClassifier(random_state=seed),
        ).fit(X, y),
        "LinearSVC": lambda X, y: LinearSVC(dual=False, random_state=seed).fit(X, y),
        "HistGradientBoosting": lambda X, y: HistGradientBoostingClassifier(random_state=seed).fit(
            X, y
        ),
    }
