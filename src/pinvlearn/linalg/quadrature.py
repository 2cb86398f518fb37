"""Functions of a large symmetric matrix from products alone: Gauss quadrature by Lanczos' steps.

References
----------
[GM10] G.H. Golub, G. Meurant (2010). Matrices, Moments and Quadrature with Applications. Princeton.

[UCS17] S. Ubaru, J. Chen, Y. Saad (2017). Fast estimation of tr(f(A)) via stochastic Lanczos
quadrature. SIAM Journal on Matrix Analysis and Applications 38(4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from pinvlearn._core.arrays import Array
from pinvlearn.linalg.orthonormal import column_norms

STEPS = 40
"""Lanczos steps: sums over a spectrum as smooth as those of ridges are then good to percents."""


@dataclass(frozen=True, eq=False)
class Quadrature:
    """bᵀf(G)b ≈ Σ weights·f(nodes) for each column b, of a positive semidefinite G.

    Attributes
    ----------
    nodes, weights : array of shape (steps, columns)
        Where f is evaluated, and what its values count; the largest node of all is close to the
        largest eigenvalue.
    """

    nodes: Array
    weights: Array

    def sums(self, values: Array) -> Array:
        """Σ weights·values for each column, given f(nodes)."""
        total: Array = np.sum(self.weights * values, axis=0)
        return total


def quadrature(times: Callable[[Array], Array], B: Array, steps: int = STEPS) -> Quadrature:
    """Nodes and weights from Lanczos' steps, for all columns of B side by side.

    Vectors are not made orthogonal again: copies of eigenvalues that this lets in share the weight
    of the one they copy [GM10].  One product with G of as many columns a step.
    """
    norms = column_norms(B)
    steps, columns = min(steps, len(B)), B.shape[1]
    diagonal, beside = np.zeros((2, steps, columns))
    last, Q = np.zeros_like(B), B / np.where(norms > 0.0, norms, 1.0)
    length: Array = np.zeros(columns)
    for step in range(steps):
        W = times(Q)
        diagonal[step] = np.einsum("ij,ij->j", Q, W)
        W -= diagonal[step] * Q + length * last
        length = column_norms(W)
        # a space that is exhausted goes on with nothing: nodes of weight zero
        length = np.where(length > 1e-10 * diagonal[0], length, 0.0)
        beside[step] = length
        last, Q = Q, W / np.where(length > 0.0, length, np.inf)
    nodes, weights = np.empty((2, steps, columns))
    for j in range(columns):
        nodes[:, j], vectors = scipy.linalg.eigh_tridiagonal(diagonal[:, j], beside[:-1, j])
        weights[:, j] = np.square(norms[j] * vectors[0])
    return Quadrature(nodes.clip(min=0.0), weights)
