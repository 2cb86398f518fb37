"""scikit-learn's support vector machine with a Gaussian kernel."""

import numpy as np
from sklearn.svm import SVC


def classifier(X: np.ndarray, y: np.ndarray, *, C: float = 10.0) -> SVC:
    """One machine for each pair of classes; gamma="scale"."""
    return SVC(C=C).fit(X, y)
