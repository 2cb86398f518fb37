"""scikit-learn's PCA with each of its solvers, and IncrementalPCA."""

from collections.abc import Callable
from typing import Any

from sklearn.decomposition import PCA, IncrementalPCA

ITERATIONS = ("auto", 2, 10)
MOST_FEATURES = 6000
"""Features beyond which `covariance_eigh` is left out: its eigenvectors take minutes."""


def estimators(k: int, shape: tuple[int, int], *, sparse: bool) -> dict[str, Callable[[], Any]]:
    """One entry for each solver that takes such rows; IncrementalPCA's batches are its default."""
    found: dict[str, Callable[[], Any]] = {
        "sklearn PCA(arpack)": lambda: PCA(k, svd_solver="arpack", random_state=0)
    }
    if shape[1] <= MOST_FEATURES:
        found["sklearn PCA(covariance_eigh)"] = lambda: PCA(k, svd_solver="covariance_eigh")
    if sparse:  # the rest refuses, or makes batches dense
        return found
    for count in ITERATIONS:
        found[f"sklearn PCA(randomized, {count})"] = lambda count=count: PCA(
            k, svd_solver="randomized", iterated_power=count, random_state=0
        )
    found["sklearn PCA(full)"] = lambda: PCA(k, svd_solver="full")
    if shape[1] <= MOST_FEATURES:
        found["sklearn IncrementalPCA"] = lambda: IncrementalPCA(k)
    return found
