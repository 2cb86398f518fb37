"""scikit-learn's multilayer perceptron, trained by Adam."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.utils._testing import ignore_warnings


@ignore_warnings(category=ConvergenceWarning)  # the number of epochs is given, and stated
def classifier(X: np.ndarray, y: np.ndarray, *, epochs: int, seed: int) -> MLPClassifier:
    """Two hidden layers of 512 and 256 rectified units, in the precision of X."""
    return MLPClassifier((512, 256), max_iter=epochs, random_state=seed).fit(X, y)
