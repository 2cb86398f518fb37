"""The R factor of ill-conditioned rows at the speed of matrix products: whitened Cholesky-QR.

The Gram matrix G of rows Z loses what lies below √eps of their largest singular value, but it knows
how they are stretched.  With LLᵀ = G + δ, and δ as large as rounding in G, the rows W = Z L⁻ᵀ have
singular values s/√(s² + δ): at most one, and so few small ones that their own Gram matrix tells
them all.  A second Cholesky factor MMᵀ = WᵀW then gives Z = QR with R = (LM)ᵀ.

Rounding of WᵀW moves s² by eps·(s² + δ), that of the rows W by what a change of eps·‖Z‖ in Z does:
no more than Householder's QR allows itself.  Fukaya, Kannan, Nakatsukasa, Yamamoto and Yanagisawa
(2020), "Shifted Cholesky QR", whose third pass restores an orthonormal Q, which is not needed here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.blas import blas, call
from pinvlearn._core.cholesky import factor_lower
from pinvlearn._core.factoring import solve_lower
from pinvlearn.readout.problem import EPS, Problem, RFactor
from pinvlearn.summaries.moments import Moments

SHIFTS = (8.0, 128.0, 2048.0)
"""δ in units of the rounding eps·trace(G), tried in turn: a Cholesky factor exists where it is more
than the error of G and of the factorisation, mostly with the first."""

WHITE = 2.0
"""Largest norm of WᵀW, which is one but for errors of G beside δ, with which W counts as white."""

STEPS = 10
"""Products by which that norm is estimated."""


class Whitened(NamedTuple):
    """An R factor, and the absolute error of its squared singular values."""

    triangle: RFactor
    noise: float


def whitened_triangle(problem: Problem) -> Whitened | None:
    """The R factor of all rows from two passes over them, or None where they are not whitened.

    Cost 3mp² + 4p³/3 flops, all matrix products and triangular solves: the features are made twice
    and never kept.  None where rows are not at hand, dense and more than the columns, where a
    Cholesky factor does not exist, or the rows W are not white.
    """
    if not problem.can_whiten:
        return None
    moments = problem.moments
    center = problem.center(moments)
    shifts = [shift * EPS * moments.magnitude for shift in SHIFTS]
    found = _factored(moments, shifts)
    if found is None:
        return None
    L, shift = found
    p = len(L)

    def whiten(H: Array) -> None:
        H -= center.H_mean
        # Rows are columns to Fortran.  By substitution: a product with L⁻¹ would lose κ(L).
        call("dtrsm", "L", "L", "N", "N", p, len(H), 1.0, L, p, H, H.strides[0] // H.itemsize)

    white = problem.rows_at_hand.summary(whiten).moments(problem.intercept, overwrite=True)
    if not _norm(white) <= WHITE:
        return None
    rounding = EPS * white.magnitude
    again = _factored(white, [0.0, *(factor * rounding for factor in SHIFTS)])
    if again is None:
        return None
    M, second = again
    R = blas("trmm", M)(1.0, M, np.tril(L).T, lower=1, trans_a=1)
    return Whitened(RFactor(R, solve_lower(M, white.C), center), (rounding + second) * shift)


def _factored(moments: Moments, shifts: list[float]) -> tuple[Array, float] | None:
    """The Cholesky factor of G + δ, in the lower triangle, for the first δ with which it exists."""
    for shift in shifts:
        L = moments.shifted(shift)
        if factor_lower(L) == 0:
            return L, shift
    return None


def _norm(moments: Moments) -> float:
    """About the largest eigenvalue of G, by powers of it."""
    L, x = np.tril(moments.shifted(0.0)), np.random.default_rng(0).standard_normal(len(moments.G))
    norm = float(np.linalg.norm(x))
    for _ in range(STEPS):
        if norm == 0.0:  # rows of constant features
            break
        x /= norm
        x = L @ x + L.T @ x - moments.diagonal * x
        norm = float(np.linalg.norm(x))
    return norm
