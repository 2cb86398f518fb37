"""Kernels by name, and maps made of the kernel columns of chosen rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, Matrix, as_array, to_dense
from pinvlearn._core.device import as_given, home, on_device
from pinvlearn.features.radial import RADIAL, row_squares
from pinvlearn.features.random_layer import Line

KernelFunction = Callable[[Matrix, Matrix], Array]


def _products(X: Matrix, Z: Matrix) -> Array:
    return as_array(to_dense(X @ Z.T))


def _linear(X: Matrix, Z: Matrix, kernel: Kernel) -> Array:
    return _products(X, Z)


def _radial(X: Matrix, Z: Matrix, kernel: Kernel) -> Array:
    return RADIAL[str(kernel.function)](X, Z, kernel.gamma)


def _polynomial(X: Matrix, Z: Matrix, kernel: Kernel) -> Array:
    base = kernel.gamma * _products(X, Z) + kernel.coef0
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is reported
        return np.power(base, kernel.degree, out=base)


def _sigmoid(X: Matrix, Z: Matrix, kernel: Kernel) -> Array:
    inner = kernel.gamma * _products(X, Z) + kernel.coef0
    return np.tanh(inner, out=inner)


def _cosine(X: Matrix, Z: Matrix, kernel: Kernel) -> Array:
    def lengths(rows: Matrix) -> Array:
        norms = np.sqrt(row_squares(rows))
        return np.where(norms > 0.0, norms, 1.0)

    cosines = _products(X, Z)
    cosines /= lengths(X)[:, None]
    cosines /= lengths(Z)
    return cosines


KERNELS: dict[str, Callable[[Matrix, Matrix, Kernel], Array]] = {
    "linear": _linear,
    **dict.fromkeys(RADIAL, _radial),
    "poly": _polynomial,
    "sigmoid": _sigmoid,
    "cosine": _cosine,
}
"""Kernels by name: the radial ones, and those of inner products."""


@dataclass(frozen=True)
class Kernel:
    """k(x, z) with its parameters: a name of `KERNELS`, or a function of two sets of rows."""

    function: str | KernelFunction
    gamma: float = 1.0
    degree: float = 3.0
    coef0: float = 1.0

    def __call__(self, X: Matrix, Z: Matrix) -> Array:
        if isinstance(self.function, str):
            values = KERNELS[self.function](X, Z, self)
        else:
            # copies, since rows are asked for again and a function may write to them
            found = on_device(self.function(as_given(X.copy()), as_given(Z.copy())))
            if np.iscomplexobj(found):
                raise ValueError("The kernel function gave complex values; real ones are needed.")
            values = np.asarray(found, dtype=np.float64, like=home(found))
            if values.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"The kernel function gave an array of shape {values.shape} for "
                    f"{X.shape[0]} and {Z.shape[0]} rows; one value for each pair is needed."
                )
        if isinstance(self.function, str) and self.function in RADIAL:
            return values  # between 0 and 1
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(values.sum())
        if not finite:
            raise ValueError(
                f"The kernel {self.function!r} gives NaN or infinity. Scale the inputs, or use "
                "other parameters (a fractional degree needs non-negative products)."
            )
        return values

    def diagonal(self, X: Matrix) -> Array:
        """k(x, x) for every row, from tiles on the diagonal."""
        if isinstance(self.function, str) and self.function in RADIAL:
            return np.ones(X.shape[0], like=home(X))
        tile = 64 if home(X) is None else 1024  # where a call costs what many rows do
        tiles = (X[start : start + tile] for start in range(0, X.shape[0], tile))
        return np.concatenate([np.diagonal(self(rows, rows)) for rows in tiles])


@dataclass(frozen=True, eq=False)
class KernelWithLine:
    """k(x, z) + ⟨line(x), line(z)⟩: the functions of the kernel's space plus linear ones."""

    kernel: Kernel
    line: Line

    @property
    def function(self) -> str | KernelFunction:
        """That of the kernel."""
        return self.kernel.function

    def __call__(self, X: Matrix, Z: Matrix) -> Array:
        values = self.kernel(X, Z)
        values += self.line(X) @ self.line(Z).T
        return values

    def diagonal(self, X: Matrix) -> Array:
        """Its value for every row and itself."""
        return self.kernel.diagonal(X) + row_squares(self.line(X))


@dataclass(frozen=True, eq=False)
class KernelMatrix:
    """The kernel matrix of given rows, evaluated block by block when asked."""

    kernel: Kernel | KernelWithLine
    X: Matrix

    @property
    def shape(self) -> tuple[int, int]:
        """n × n."""
        return self.X.shape[0], self.X.shape[0]

    def diagonal(self) -> Array:
        """k(x, x) of every row."""
        return self.kernel.diagonal(self.X)

    def __call__(self, rows: IntArray, columns: IntArray) -> Array:
        return self.kernel(self.X[rows], self.X[columns])


@dataclass(frozen=True, eq=False)
class KernelColumns:
    """X ↦ [k(x, c₁), …, k(x, c_n)] for given rows c; [MW15] Eq. (15)."""

    kernel: Kernel | KernelWithLine
    centers: Matrix

    @property
    def n_columns(self) -> int:
        """Number of centres."""
        return int(self.centers.shape[0])

    def __call__(self, X: Matrix) -> Array:
        return self.kernel(X, self.centers)


@dataclass(frozen=True, eq=False)
class GivenColumns:
    """X ↦ some columns of X, where X holds kernel values already (a precomputed kernel)."""

    columns: IntArray

    @property
    def n_columns(self) -> int:
        """Number of columns taken."""
        return len(self.columns)

    def __call__(self, X: Matrix) -> Matrix:
        return X[:, self.columns]


@dataclass(frozen=True, eq=False)
class Whitened:
    """X ↦ base(X)·W: with W = L⁻ᵀ for LLᵀ = k(P, P), the Nyström features of pivots P.

    Their inner products are the low-rank kernel k(x, P) k(P, P)⁻¹ k(P, z).
    """

    base: Any
    W: Array

    @property
    def n_columns(self) -> int:
        """Number of features."""
        return int(self.W.shape[1])

    def __call__(self, X: Matrix) -> Array:
        features: Array = to_dense(self.base(X)) @ self.W
        return features

    def folded(self, coef: Array) -> tuple[Any, Array]:
        """The base map, and coefficients that give on it what `coef` gives on this one."""
        return self.base, self.W @ coef
