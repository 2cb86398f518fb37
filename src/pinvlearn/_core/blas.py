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

import scipy.linalg.blas
import scipy.linalg.cython_blas
import scipy.linalg.cython_lapack
import scipy.linalg.lapack

from pinvlearn._core.arrays import Array, slices
from pinvlearn._core.device import is_device

PANEL, DEVICE_PANEL = 512, 2048
"""Columns of a symmetric product that are made at a time where no routine leaves a triangle out:
half the work is then left out, at nearly the full rate [measured]."""


def blas(name: str, *arrays: Array) -> Callable[..., Any]:
    """The BLAS routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.blas.get_blas_funcs(name, arrays)
    return routine


def lapack(name: str, *arrays: Array) -> Callable[..., Any]:
    """The LAPACK routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.lapack.get_lapack_funcs(name, arrays)
    return routine


def device_panels(p: int) -> list[slice]:
    """Columns of a symmetric product that a device adds up at a time, about equally many.

    Narrower panels would leave out more of what is above the diagonal, but have too few tiles for
    all processors of a card, and a last one of a few columns takes as long as a wide one.
    """
    count = max(round(p / DEVICE_PANEL), 1)
    return slices(0, p, -(-p // (16 * count)) * 16)


def add_gram(Z: Array, G: Array) -> None:
    """G += ZᵀZ in the lower triangle of G alone: one syrk, and no array in between.

    Both hold float64 in contiguous rows, which need not lie next to each other.  On a device G is
    added to by matrix products of panels, up to the end of the diagonal's panel.
    """
    m, p = Z.shape
    if m == 0 or p == 0:
        return
    if is_device(G):
        for rows in device_panels(p):
            G[rows, : rows.stop].add_product(Z[:, rows].T, Z[:, : rows.stop])
        return
    # Fortran sees the transposes, so the lower triangle of G is the upper one to it.
    lda, ldc = Z.strides[0] // 8, G.strides[0] // 8
    call("dsyrk", "U", "N", p, m, 1.0, Z, lda, 1.0, G, ldc)


def call(name: str, *arguments: Any) -> None:
    """A routine of BLAS or LAPACK as Fortran declares it, on the calling thread, without the GIL.

    Arrays are passed by where they begin, integers and numbers by reference.
    """
    routine, integer = _routine(name, len(arguments))
    routine(*(_reference(argument, integer) for argument in arguments))


def _reference(argument: Any, integer: Any) -> Any:
    if isinstance(argument, str):
        return argument.encode()
    if isinstance(argument, int):
        return ctypes.byref(integer(argument))
    if isinstance(argument, float):
        return ctypes.byref(ctypes.c_double(argument))
    return argument.ctypes.data


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
