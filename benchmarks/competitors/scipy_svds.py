"""SciPy's iterative solvers for the largest triplets."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse.linalg import svds

SOLVERS = {"arpack": (0,), "propack": (0,), "lobpcg": (0, 1e-4)}
"""Tolerances for each solver (0 is machine precision); lobpcg is given an easier one as well."""


def decompositions(k: int) -> dict[str, Callable[[np.ndarray], tuple]]:
    """One entry for each solver and tolerance."""
    return {
        f"scipy svds({solver}, tol={tol:g})": lambda A, solver=solver, tol=tol: largest_first(
            A, k, solver, tol
        )
        for solver, tolerances in SOLVERS.items()
        for tol in tolerances
    }


def largest_first(
    A: np.ndarray, k: int, solver: str, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest triplets in falling order."""
    with warnings.catch_warnings():
        # lobpcg warns when it stops short of its tolerance; the error column shows by how much.
        warnings.simplefilter("ignore", UserWarning)
        U, s, Vt = svds(A, k, tol=tol, solver=solver, rng=np.random.default_rng(0))
    order = np.argsort(-s)
    return U[:, order], s[order], Vt[order]
