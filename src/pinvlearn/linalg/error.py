"""How wrong an approximation is, measured with a few products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    as_array,
    magnitude,
    matrix_home,
    power_of_two_scale,
    scaled,
    squared_norm,
)
from pinvlearn._core.device import home, moved_to
from pinvlearn._core.factoring import qr
from pinvlearn.linalg.rangefinder import RangeBasis
from pinvlearn.linalg.svd import SVD


class _Residual:
    """scale·(A - approx) as a pair of products.

    The scale brings the larger of the two near one, so that no square overflows or vanishes.
    """

    def __init__(self, A: Matrix, approx: SVD | RangeBasis | Array) -> None:
        sizes = [magnitude(A)]
        if not isinstance(approx, RangeBasis):
            sizes.append(magnitude(approx.s if isinstance(approx, SVD) else approx))
        self.scale = power_of_two_scale(A, max(sizes))  # of the larger: zeros have no size
        if isinstance(approx, SVD):
            approx = replace(approx, s=self._scaled(approx.s))
        elif not isinstance(approx, RangeBasis):
            approx = self._scaled(approx)
        self.A, self.approx = scaled(A, self.scale), approx

    def _scaled(self, approx: Matrix) -> Matrix:
        """In double precision, as single may not hold the scale of A."""
        if self.scale != 1.0 and hasattr(approx, "astype"):
            approx = approx.astype(np.float64, copy=False)
        return scaled(approx, self.scale)

    def __matmul__(self, X: Array) -> Array:
        if isinstance(self.approx, RangeBasis):
            Y = as_array(self.A @ X)
            return Y - self.approx.Q @ (self.approx.Q.T @ Y)
        return as_array(self.A @ X) - self.approx @ X

    def transposed_product(self, Y: Array) -> Array:
        if isinstance(self.approx, RangeBasis):
            return as_array(self.A.T @ (Y - self.approx.Q @ (self.approx.Q.T @ Y)))
        if isinstance(self.approx, SVD):
            return as_array(self.A.T @ Y) - self.approx.Vt.T @ (
                self.approx.s[:, None] * (self.approx.U.T @ Y)
            )
        return as_array(self.A.T @ Y) - self.approx.T @ Y


def spectral_error(
    A: Matrix, approx: SVD | RangeBasis | Array, *, rng: np.random.Generator, steps: int = 30
) -> float:
    """‖A - approx‖₂ by block power iteration with eight vectors; from below, usually to 1 %."""
    residual = _Residual(A, approx)
    X: Array = moved_to(rng.standard_normal((A.shape[1], min(8, *A.shape))), matrix_home(A))
    estimate = 0.0
    for _ in range(steps):
        X, _ = qr(X) if home(X) is not None else np.linalg.qr(X)
        Y = residual @ X
        previous, estimate = estimate, float(np.linalg.norm(Y, 2))
        if abs(estimate - previous) <= 1e-4 * estimate:
            break
        X = residual.transposed_product(Y)
    return estimate / residual.scale


def frobenius_error(A: Matrix, approx: SVD | RangeBasis | Array, *, block: int = 256) -> float:
    """‖A - approx‖_F exactly, by products with blocks of unit vectors; memory m·block."""
    residual, n = _Residual(A, approx), A.shape[1]
    total = 0.0
    for start in range(0, n, block):
        E = np.zeros((n, min(block, n - start)))
        E[np.arange(start, start + E.shape[1]), np.arange(E.shape[1])] = 1.0
        total += squared_norm(as_array(residual @ moved_to(E, matrix_home(A))))
    return float(np.sqrt(total)) / residual.scale
