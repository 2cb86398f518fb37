"""What decompositions of a dense matrix cost, before any of them is paid for.

Costs are counted in flops at the rate of a large matrix product, so that they are ratios of rates
and not seconds of one machine.  The constants were measured with OpenBLAS on one thread, for sides
of 200 to 2,500, and fit within a fifth; another BLAS changes them less than the choice between
methods does, which differ severalfold.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from pinvlearn._core.arrays import Array, power_of_two_scale, scaled
from pinvlearn._core.threads import one_blas_thread

SYMMETRIC = 1.1
"""Time of AᵀA, over mn² flops."""

PANEL = 20.0
"""A product with w columns takes 1 + this/w times what its flops would in a large one."""

HALF_STEPS = 2.0
"""A block Krylov space of width w settles in 2 + this·k/w steps for k components where the spectrum
falls, in twice as many where it is flat [measured on ten spectra; krylov.SETTLED]."""

SAMPLE = 64
"""Rows from which it is guessed how flat a spectrum is."""


def eigen_flops(n: int, k: int) -> tuple[float, float]:
    """The last k eigenvectors of a symmetric n × n array: by divide and conquer, and by bisection.

    Half of the reduction to tridiagonal form are matrix-vector products.  Divide and conquer finds
    all vectors of that form, and turns k of them back; LAPACK's driver for some of them spends time
    in scalar code on each, which on small arrays is most of it.
    """
    every = (3.6 * n + 2.4 * k + 2500.0) * n**2
    return every, 3.0 * n**3 + 1000.0 * n**2 + (8.0 * n + 16000.0) * n * k


def exact_flops(m: int, n: int) -> float:
    """LAPACK's SVD by divide and conquer of an m × n array, m ≥ n."""
    return 10.0 * m * n**2 + 12.0 * n**3 + 2500.0 * n**2


def gram_flops(m: int, n: int, k: int) -> float:
    """k components from the eigenvectors of AᵀA."""
    return SYMMETRIC * m * n**2 + min(eigen_flops(n, k)) + _panels(2.0 * m * n, k) + _rotation(m, k)


def krylov_flops(m: int, n: int, k: int, *, formed: bool, flatness: float = 0.0) -> float:
    """k components from a block Krylov space, of AᵀA `formed` first or applied as two products."""
    w = krylov_width(n, k)
    steps = min(ceil((2.0 + HALF_STEPS * k / w) * (1.0 + flatness)), n // w)
    columns = steps * w
    if formed:
        products = SYMMETRIC * m * n**2 + _panels(2.0 * n**2, w) * steps + _panels(2.0 * m * n, k)
    else:
        products = _panels(4.0 * m * n, w) * steps + 2.0 * m * columns * k
    bases = 4.0 * n * columns**2 + 12.0 * n * columns * w
    looks = sum(min(eigen_flops(i * w, k)) for i in range(ceil(k / w), steps + 1))
    return products + bases + looks + _rotation(m, k)


def krylov_width(n: int, rank: int) -> int:
    """Columns of a block: enough for products to run well and for few blocks to hold the rank.

    Processors multiply four or eight numbers at a time: a product with 24 columns takes no longer
    than one with 20, and leaves fewer steps to do [measured].
    """
    return min(n, max(24, 2 * rank // 5))


def _panels(flops: float, w: int) -> float:
    """So many flops for each of w columns."""
    return flops * w * (1.0 + PANEL / w)


def _rotation(m: int, k: int) -> float:
    """Orthonormal left vectors from k images, twice by Cholesky-QR, and the SVD of the factor."""
    return 6.0 * m * k**2 + exact_flops(k, k)


@one_blas_thread()
def flatness(A: Array) -> float:
    """About r/n for the effective rank r = tr(G)² / tr(G²) of the smaller Gram matrix G, of side n.

    It is 1 where all singular values are equal, and near 0 where a few hold nearly all of the norm.
    Both traces are sums over pairs of rows of A, of which a sample of rows shows some: cheap, and
    good enough for what only decides which of several right methods is run.
    """
    m, n = A.shape
    rows = A[:: -(-m // SAMPLE)]
    rows = scaled(rows, power_of_two_scale(rows))  # squares of their products are formed
    products = rows.astype(np.float64, copy=False) @ rows.T.astype(np.float64, copy=False)
    squares = np.diagonal(products)
    count = len(squares)
    total = float(squares.mean()) * m
    itself = float((squares**2).mean()) * m
    pairs = (float((products**2).sum()) - float((squares**2).sum())) / max(count * (count - 1), 1)
    together = itself + pairs * m * (m - 1)
    return min(1.0, total**2 / together / min(m, n)) if together > 0.0 else 0.0
