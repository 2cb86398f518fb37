"""The basis of [JL19] grown one vector at a time: Algorithms 2, 3 and 4 as they are printed.

Written for speed within that limit: Q has its memory from the start, the window of r samples is
one array, and every step is a matrix-vector product.
"""

from collections.abc import Callable

import numpy as np

EPS, TAU, WINDOW = 0.1, 0.02, 10
"""Values of all experiments in the paper."""
BOUND = EPS / (10 * np.sqrt(2 / np.pi))

GoOn = Callable[[float], bool]
"""Takes the largest norm in the window after each column; False ends the basis."""


def tolerance() -> GoOn:
    """Line 8 of Algorithm 2."""
    return lambda largest: largest > BOUND


def flat_gradient() -> GoOn:
    """Algorithm 3."""
    gradients = np.zeros(WINDOW)
    count, last = 0, 0.0

    def go_on(largest: float) -> bool:
        nonlocal count, last
        if largest <= BOUND:
            return False
        gradients[count % WINDOW] = max(0.0, last - largest)
        count, last = count + 1, largest
        return count <= WINDOW or bool(gradients.mean() > TAU)

    return go_on


def basis(A: np.ndarray, go_on: GoOn, rng: np.random.Generator) -> np.ndarray:
    """Algorithm 4 (with `flat_gradient`) and Algorithm 2 (with `tolerance`).

    Algorithm 2 also asks before its first column; no matrix here is small enough to matter.
    """
    m, n = A.shape
    Q = np.empty((m, min(m, n)), order="F")
    window = np.column_stack([A @ rng.standard_normal(n) for _ in range(WINDOW)])
    for j in range(Q.shape[1]):
        sample = window[:, j % WINDOW]
        sample = sample - Q[:, :j] @ (Q[:, :j].T @ sample)
        q = sample / np.linalg.norm(sample)
        Q[:, j] = q
        fresh = A @ rng.standard_normal(n)
        window[:, j % WINDOW] = fresh - Q[:, :j] @ (Q[:, :j].T @ fresh)
        window -= np.outer(q, q @ window)
        if not go_on(np.linalg.norm(window, axis=0).max()):
            return Q[:, : j + 1]
    return Q
