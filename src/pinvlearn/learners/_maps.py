"""Drawing feature maps from data: what needs the training rows or scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from pinvlearn._core.arrays import Matrix, is_sparse
from pinvlearn._core.device import to_host
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_matrix,
    check_positive,
    check_row_by_row,
    check_size,
    following,
)
from pinvlearn.features.activations import ACTIVATIONS
from pinvlearn.features.kernels import Kernel, KernelMatrix, KernelWithLine
from pinvlearn.features.radial import RADIAL, RadialBasis
from pinvlearn.features.random_layer import (
    WEIGHTS,
    Beside,
    BesideLine,
    Line,
    RandomLayer,
    draw_layer,
)
from pinvlearn.linalg.kernel import Pivots
from pinvlearn.linalg.leverage import ridge_leverage


def draw_radial(
    X: Matrix, *, n_kernels: int, gamma: Any, centers: Any, kernel: str, rng: np.random.Generator
) -> tuple[RadialBasis, list[str]]:
    """Radial basis functions for the training rows, and what a user should know of them."""
    check_choice("kernel", kernel, RADIAL)
    check_size("n_kernels", n_kernels)
    notes: list[str] = []
    width = kernel_width(X, gamma)
    if not isinstance(centers, str):
        return RadialBasis(given_centers(centers, X), width, kernel), notes
    check_choice("centers", centers, CENTERS)
    count = min(n_kernels, X.shape[0])
    if count < n_kernels:
        notes.append(f"n_kernels={n_kernels} exceeds the {count} rows: every row is a centre")
    found = CENTERS[centers](X, count, Kernel(kernel, width), rng)
    if found.shape[0] < count:
        notes.append(
            f"kernels at {found.shape[0]} of the rows span those at all, so there are no more"
        )
    return RadialBasis(found, width, kernel), notes


def given_centers(centers: Any, X: Matrix) -> Matrix:
    """Centres that a user gives, in the space of the rows and where they live."""
    given = check_matrix(following(centers, X), "centers").astype(np.float64)
    if given.shape[1] != X.shape[1]:
        raise ValueError(f"centers has {given.shape[1]} columns; X has {X.shape[1]} features.")
    return given


def _random_rows(X: Matrix, count: int, kernel: Kernel, rng: np.random.Generator) -> Matrix:
    return X[rng.permutation(X.shape[0])[:count]]


def cluster_means(X: Matrix, count: int, rng: np.random.Generator) -> Matrix:
    """Centres by k-means, or all rows."""
    if count == X.shape[0]:
        return X[rng.permutation(count)]
    means = MiniBatchKMeans(count, n_init=1, random_state=int(rng.integers(2**31 - 1)))
    return means.fit(to_host(X)).cluster_centers_


def _by_leverage(X: Matrix, count: int, kernel: Kernel, rng: np.random.Generator) -> Matrix:
    scores = ridge_leverage(KernelMatrix(kernel, X), count, rng)
    # A row may be copied so often that its score is rounding; it can still be drawn at the end.
    odds = np.maximum(scores, np.finfo(np.float64).eps)
    return X[rng.choice(X.shape[0], size=count, replace=False, p=odds / odds.sum())]


def _by_pivots(X: Matrix, count: int, kernel: Kernel, rng: np.random.Generator) -> Matrix:
    pivots = Pivots(KernelMatrix(kernel, X), rng, uniform=False)
    pivots.grow(count)
    return X[np.array(pivots.pivots, dtype=np.intp)]


CENTERS: dict[str, Callable[[Matrix, int, Kernel, np.random.Generator], Matrix]] = {
    "random": _random_rows,
    "kmeans": lambda X, count, kernel, rng: cluster_means(X, count, rng),
    "leverage": _by_leverage,
    "rpcholesky": _by_pivots,
}
"""Ways to choose centres by name; each gives them in the order in which it found them."""


def kernel_width(X: Matrix, gamma: Any) -> float:
    """Kernel width as scikit-learn's SVC defines "scale" and "auto"."""
    if isinstance(gamma, str):
        check_choice("gamma", gamma, ("scale", "auto"), "a number above 0")
        if gamma == "auto":
            return 1.0 / X.shape[1]
        variance = (X.multiply(X)).mean() - X.mean() ** 2 if is_sparse(X) else X.var()
        return 1.0 / (X.shape[1] * float(variance)) if variance > 0.0 else 1.0
    return check_positive("gamma", gamma)


def _check_activation(function: Any, n_hidden: int) -> None:
    """Refuse a function that does not give a number for each, or looks at other rows for it."""
    sums = np.random.default_rng(0).standard_normal((8, n_hidden))
    try:
        with np.errstate(all="ignore"):
            alone, beside = (np.asarray(function(Z.copy())) for Z in (sums[:1], sums))
    except Exception:  # it may be for arrays of another library; with rows it speaks for itself
        return
    if beside.shape != sums.shape or beside.dtype.kind not in "fiub":
        raise ValueError(
            f"activation={function!r} gave {beside.dtype} of shape {beside.shape} for numbers of "
            f"shape {sums.shape}; it must give a real number for each."
        )
    check_row_by_row(alone, beside, "activation")


def draw_random(
    n_features: int,
    *,
    n_hidden: int,
    activation: Any,
    weights: str,
    scale: float,
    rng: np.random.Generator,
) -> RandomLayer:
    """A random layer from checked parameters."""
    check_size("n_hidden", n_hidden)
    if callable(activation):
        _check_activation(activation, n_hidden)
    else:
        check_choice("activation", activation, ACTIVATIONS)
    check_choice("weights", weights, WEIGHTS)
    return draw_layer(
        n_features,
        n_hidden,
        activation=activation,
        weights=weights,
        scale=check_positive("scale", scale),
        rng=rng,
    )


def with_links(hidden: Any, X: Matrix, direct_links: Any) -> Any:
    """The map itself, or with the inputs beside it."""
    if isinstance(direct_links, str):
        raise ValueError(f"direct_links={direct_links!r}: give True or False.")
    return Beside(hidden, X.shape[1]) if direct_links else hidden


FEW_ROWS, FEW_ENTRIES = 500, 2**22
"""Rows, and entries of them, up to which machines get a line beside their bumps: more rows find it
by themselves, and from a thousand on it costs where inputs have long tails."""


def gets_line(X: Matrix, alpha: Any) -> bool:
    """Whether bumps about these rows get a line: they are few, and their ridge is to be chosen."""
    alpha = check_alpha(alpha)
    several = alpha is None or np.size(alpha) > 1
    return several and X.shape[0] <= FEW_ROWS and X.shape[0] * X.shape[1] <= FEW_ENTRIES


def beside_line(hidden: Any, X: Matrix) -> tuple[Any, list[str]]:
    """The map with a line that varies over rows X as much as all of its units, and a note."""
    line = Line.of(X, float(hidden(X).var(axis=0).sum()))
    return (hidden, []) if line is None else (BesideLine(hidden, line), [LINE])


def kernel_with_line(kernel: Kernel, X: Matrix) -> Kernel | KernelWithLine:
    """The same of a kernel: as much of the variance of its functions over rows X is the line's."""
    some = X[:: -(-X.shape[0] // FEW_ROWS)]
    line = Line.of(X, float(kernel.diagonal(some).mean() - kernel(some, some).mean()))
    return kernel if line is None else KernelWithLine(kernel, line)


LINE = "the inputs stand beside the bumps, in units of as much variance in all (direct_links)"
