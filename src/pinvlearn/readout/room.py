"""Whether there is memory for the eigenvectors of a Gram matrix, before any row is read."""

from __future__ import annotations

from pinvlearn._core.device import device_name, free_memory
from pinvlearn._core.machine import ALWAYS_THERE, available_memory
from pinvlearn._core.products import SQUARES
from pinvlearn.readout.problem import Problem

ARRAYS = 5
"""Arrays of the size of the Gram matrix that its eigendecomposition takes: the matrix, LAPACK's
copy, which becomes the vectors, its work space of two, and the vectors in the order of products."""

DEVICE_ARRAYS = 7
"""The same on a device: the matrix, a copy, and five of its library's [measured]."""


def check_room(problem: Problem) -> None:
    """Raise before any row is read where an eigendecomposition cannot fit."""
    m, p = problem.shape
    side = min(m, p)
    where = problem.home
    arrays, least = (ARRAYS, 1) if where is None else (DEVICE_ARRAYS, SQUARES)
    squares = arrays * side**2
    if problem.is_wide:  # the centred rows take the place of one: ZZᵀ is not kept
        squares += m * p - side**2
    needed = 8 * squares
    if needed <= ALWAYS_THERE:
        return
    elsewhere = free_memory(where)
    available = available_memory() if elsewhere is None else elsewhere
    if available is not None and needed > available:
        there = "" if elsewhere is None else f" on {device_name(where)}"
        raise MemoryError(
            f"All ridges at once need the eigenvectors of a {side} × {side} matrix, about "
            f"{needed / 2**30:.1f} GiB, and {available / 2**30:.1f} GiB are free{there}. Give "
            'alpha as one number with solver="cholesky", which takes about '
            f"{8 * least * p**2 / 2**30:.1f} GiB, or fit to fewer columns."
        )
