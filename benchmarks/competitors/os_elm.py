"""The recursion of the online sequential ELM: the inverse itself is updated with every chunk.

N.-Y. Liang, G.-B. Huang, P. Saratchandran, N. Sundararajan (2006). A fast and accurate online
sequential learning algorithm for feedforward networks. IEEE Trans. Neural Networks 17(6).
"""

import numpy as np

NAME = "OS-ELM"


def start(n_columns: int, n_targets: int, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """P = (HᵀH + alpha)⁻¹ and the weights, before any row."""
    return np.eye(n_columns) / alpha, np.zeros((n_columns, n_targets))


def update(
    P: np.ndarray, weights: np.ndarray, H: np.ndarray, Y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Woodbury's formula for one chunk of rows, as published."""
    PH = P @ H.T
    P = P - PH @ np.linalg.solve(np.eye(len(H)) + H @ PH, PH.T)
    return P, weights + P @ H.T @ (Y - H @ weights)
