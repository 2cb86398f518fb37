"""scikit-learn's support vector machine with a Gaussian kernel."""

from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR


def classifier(X: np.ndarray, y: np.ndarray, *, C: float = 10.0) -> SVC:
    """One machine for each pair of classes; gamma="scale"."""
    return SVC(C=C).fit(X, y)


def make(task: str, *, C: float, gamma: float) -> Any:
    """Not yet fitted; the targets of a regression are standardised."""
    if task == "classification":
        return SVC(C=C, gamma=gamma)
    return TransformedTargetRegressor(SVR(C=C, gamma=gamma), transformer=StandardScaler())
