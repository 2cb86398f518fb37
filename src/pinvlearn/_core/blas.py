"""BLAS and LAPACK by name, and without the GIL, which their wrappers hold.

NumPy's ``Z.T @ Z`` releases the GIL but makes a new array and fills both its triangles; SciPy's
``dsyrk`` adds in place but holds the GIL.  The routines themselves are in the tables of functions
that SciPy exports for Cython, and ctypes calls them without the GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg.blas
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
import scipy.linalg.lapack

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.device import is_device

PANEL, DEVICE_PANEL, DEVICE_DIAGONAL = 512, 2048, 256
"""Columns of a symmetric product that are made at a time where no routine leaves a triangle out:
half the work is then left out, at nearly the full rate [measured]."""

SYRK_PANEL = 384
"""Columns of a symmetric product that one syrk makes: beyond twice as many, matrix products left of
it are a tenth faster than a syrk of all [measured, OpenBLAS 0.3.30 with AVX-512]."""

GROUPS = 8
"""Parts of the rows whose products a device makes at once where the product itself is small: one
of 256 × 1,024 entries has 16 tiles, and a card 100 processors and more."""


def blas(name: str, *arrays: Array) -> Callable[..., Any]:
    """The BLAS routine for the arrays' precision."""
    return _wrapper(scipy.linalg.blas.get_blas_funcs, name, np.result_type(*arrays))


def lapack(name: str, *arrays: Array) -> Callable[..., Any]:
    """The LAPACK routine for the arrays' precision."""
    return _wrapper(scipy.linalg.lapack.get_lapack_funcs, name, np.result_type(*arrays))


@cache
def _wrapper(look_up: Callable[..., Any], name: str, dtype: Any) -> Callable[..., Any]:
    """SciPy's wrapper of a routine: looking it up takes longer than a small problem."""
    routine: Callable[..., Any] = look_up(name, (np.empty((1, 1), dtype, order="F"),))
    return routine


def device_panels(p: int, width: int = DEVICE_PANEL) -> list[slice]:
    """Columns of a symmetric product that a device adds up at a time, about equally many.

    A last panel of a few columns would take as long as a wide one.
    """
    count = max(round(p / width), 1)
    return slices(0, p, -(-p // (16 * count)) * 16)


def add_rows(A: Array, B: Array, G: Array) -> None:
    """G += AᵀB on a device, for many rows and few columns: by `GROUPS` of rows at once.

    A product has a tile for every processor of a card only if it is large; the products of groups
    together are, and adding them up costs a pass over so many arrays of the size of G.
    """
    height = len(A) // GROUPS
    whole = GROUPS * height
    if height:
        of_A, of_B = (X[:whole].reshape(GROUPS, height, X.shape[1]) for X in (A, B))
        G += (of_A.swapaxes(1, 2) @ of_B).sum(axis=0)
    if whole < len(A):
        G += A[whole:].T @ B[whole:]


def add_gram(Z: Array, G: Array) -> None:
    """G += ZᵀZ in the lower triangle of G alone: by syrk, and no array in between.

    Both hold float64 in contiguous rows, which need not lie next to each other.  On a device G is
    added to by matrix products of panels: wide ones left of the diagonal's, narrow ones there, up
    to their end.
    """
    m, p = Z.shape
    if m == 0 or p == 0:
        return
    if is_device(G):
        for rows in device_panels(p):
            if rows.start:
                G[rows, : rows.start].add_product(Z[:, rows].T, Z[:, : rows.start])
            _add_square(Z[:, rows], G[rows, rows])
        return
    width = SYRK_PANEL if p > 2 * SYRK_PANEL else p
    for rows in slices(0, p, width):
        add_panel(Z, G, rows)


def add_panel(Z: Array, G: Array, rows: slice) -> None:
    """G += ZᵀZ in some rows of the lower triangle of G; see `add_gram`."""
    # Fortran sees the transposes, so the lower triangle of G is the upper one to it.
    m, lda, ldc = len(Z), Z.strides[0] // 8, G.strides[0] // 8
    first, count = rows.start, rows.stop - rows.start
    own = Z[:, first:]
    call("dsyrk", "U", "N", count, m, 1.0, own, lda, 1.0, G[first:, first:], ldc)
    if first:
        call("dgemm", "N", "T", first, count, m, 1.0, Z, lda, own, lda, 1.0, G[first:], ldc)


def _add_square(Z: Any, G: Any) -> None:
    """The same for a panel on the diagonal."""
    for rows in device_panels(Z.shape[1], DEVICE_DIAGONAL):
        add_rows(Z[:, rows], Z[:, : rows.stop], G[rows, : rows.stop])


def call(name: str, *arguments: Any) -> None:
    """A routine of BLAS or LAPACK as Fortran declares it, on the calling thread, without the GIL.

    Arrays are passed by where they begin, integers and numbers by reference, numbers in the
    precision that the name begins with.
    """
    routine, integer = _routine(name, len(arguments))
    number = ctypes.c_float if name[0] == "s" else ctypes.c_double
    routine(*(_reference(argument, integer, number) for argument in arguments))


def _reference(argument: Any, integer: Any, number: Any) -> Any:
    if isinstance(argument, str):
        return argument.encode()
    if isinstance(argument, int):
        return ctypes.byref(integer(argument))
    if isinstance(argument, float):
        return ctypes.byref(number(argument))
    return argument.ctypes.data


def letter(A: Array) -> str:
    """What the names of routines for an array's precision begin with."""
    return "s" if A.dtype == np.float32 else "d"


@cache
def _routine(name: str, n_arguments: int) -> tuple[Callable[..., None], Any]:
    """The routine, and the integers it takes: a SciPy built for ILP64 says so in its signature."""
    table = dict(scipy.linalg.cython_lapack.__pyx_capi__)
    table |= scipy.linalg.cython_blas.__pyx_capi__
    signature_of = ctypes.pythonapi.PyCapsule_GetName
    signature_of.argtypes, signature_of.restype = [ctypes.py_object], ctypes.c_char_p
    address_of = ctypes.pythonapi.PyCapsule_GetPointer
    address_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address_of.restype = ctypes.c_void_p
    signature = signature_of(table[name])
    routine = ctypes.CFUNCTYPE(None, *n_arguments * [ctypes.c_void_p])
    integer = ctypes.c_int64 if b"int64" in signature else ctypes.c_int
    return routine(address_of(table[name], signature)), integer
