"""Steps of Algorithm 5 of [JL19] that several benchmarks time."""

import numpy as np
import scipy.linalg

from benchmarks.splits import Fold


def indicator(y: np.ndarray, n_classes: int) -> np.ndarray:
    """One 0/1 column for each class."""
    return np.eye(n_classes)[y]


def targets(fold: Fold) -> np.ndarray:
    """Indicator targets of the training part, with a column for classes only in the test part."""
    return indicator(fold.y_train, int(max(fold.y_train.max(), fold.y_test.max())) + 1)


def weights_from_basis(Q: np.ndarray, A: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Lines 8 and 9 of Algorithm 5: w = V S⁻¹ Ũᵀ QᵀY from the SVD of QᵀA."""
    U, s, Vt = scipy.linalg.svd(Q.T @ A, full_matrices=False, check_finite=False)
    return Vt.T @ ((U.T @ (Q.T @ Y)) / s[:, None])


def accuracy(A: np.ndarray, weights: np.ndarray, y: np.ndarray) -> float:
    """Percentage of rows whose largest output is that of their class."""
    return 100 * float(np.mean(np.argmax(A @ weights, axis=1) == y))
