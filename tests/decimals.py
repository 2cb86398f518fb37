"""Linear algebra in decimal arithmetic: what the exact results are compared with."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np

DIGITS = 90
"""Enough for a squared condition number of 1e40 and 50 digits beyond it."""

to_decimal = np.vectorize(Decimal, otypes=[object])


def solve(A, B):
    """A⁻¹B by Gaussian elimination with row pivots."""
    A, B = A.copy(), B.copy()
    for k in range(len(A)):
        pivot = k + max(range(len(A) - k), key=lambda i: abs(A[k + i, k]))
        A[[k, pivot]], B[[k, pivot]] = A[[pivot, k]], B[[pivot, k]]
        factors = A[k + 1 :, k] / A[k, k]
        A[k + 1 :, k:] -= np.outer(factors, A[k, k:])
        B[k + 1 :] -= np.outer(factors, B[k])
    X = np.empty_like(B)
    for k in reversed(range(len(A))):
        rest = A[k, k + 1 :] @ X[k + 1 :] if k + 1 < len(A) else Decimal(0)
        X[k] = (B[k] - rest) / A[k, k]
    return X


def kernel_values(X, kernel):
    """The matrix of a linear or polynomial kernel, whose rank no rounding hides."""
    with decimal.localcontext() as context:
        context.prec = DIGITS
        K = to_decimal(X) @ to_decimal(X).T
        if kernel.function == "linear":
            return K
        return (Decimal(kernel.gamma) * K + Decimal(kernel.coef0)) ** Decimal(kernel.degree)


def leave_one_out(H, Y, alpha, *, weights=None, intercept=True, kernel=False):
    """Prediction for each row of the read-out fitted to all the others: n refits.

    With `kernel`, H holds the rows' kernel values.  Without ridge, that of a ridge of 1e-55.
    """
    with decimal.localcontext() as context:
        context.prec = DIGITS
        H = H if H.dtype == object else to_decimal(np.asarray(H, dtype=float))
        Y = to_decimal(np.asarray(Y, dtype=float))
        K = H if kernel else H @ H.T
        w = to_decimal(np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=float))
        ridge = Decimal(float(alpha)) or max(np.diagonal(K)) * Decimal(10) ** -55
        return np.array([_without(i, K, Y, w, ridge, intercept) for i in range(len(Y))])


def _without(i, K, Y, w, ridge, intercept):
    others = [j for j in range(len(Y)) if j != i and w[j] > 0]
    size = len(others) + intercept
    A = np.full((size, size), Decimal(1), dtype=object)
    B = np.full((size, Y.shape[1]), Decimal(0), dtype=object)
    A[: len(others), : len(others)] = K[np.ix_(others, others)]
    B[: len(others)] = Y[others]
    for place, j in enumerate(others):
        A[place, place] += ridge / w[j]
    if intercept:
        A[-1, -1] = Decimal(0)
    solution = solve(A, B)
    prediction = K[i, others] @ solution[: len(others)]
    return (prediction + solution[-1] if intercept else prediction).astype(float)
