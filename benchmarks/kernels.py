"""Gaussian kernels as in [JL19]."""

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

GAMMA = 1 / 72
"""The paper does not state its width; sigma = 6 on standardised columns fits its results best."""


def kernel_matrix(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The matrix of kernels g_j(x_i) alone, for the estimators, which add the constant."""
    return rbf_kernel(X, centres, gamma=GAMMA)


def with_constant(G: np.ndarray) -> np.ndarray:
    """The matrix [1 G] of Eq. (7)."""
    return np.column_stack([np.ones(len(G)), G])


def design_matrix(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The matrix of Eq. (7) from the data."""
    return with_constant(kernel_matrix(X, centres))
