"""BLAS and LAPACK by name, and a symmetric product in place that no wrapper of them offers.

NumPy's ``Z.T @ Z`` releases the GIL but makes a new array and fills both its triangles; SciPy's
``dsyrk`` adds in place but holds the GIL.  The routine itself is in the table of functions that
SciPy exports for Cython, and ctypes calls it without the GIL.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import scipy.linalg.blas
import scipy.linalg.cython_blas
import scipy.linalg.lapack

from pinvlearn._core.arrays import Array


def blas(name: str, *arrays: Array) -> Callable[..., Any]:
    """The BLAS routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.blas.get_blas_funcs(name, arrays)
    return routine


def lapack(name: str, *arrays: Array) -> Callable[..., Any]:
    """The LAPACK routine for the arrays' precision."""
    routine: Callable[..., Any] = scipy.linalg.lapack.get_lapack_funcs(name, arrays)
    return routine


def add_gram(Z: Array, G: Array) -> None:
    """G += ZᵀZ in the lower triangle of G alone: one syrk, and no array in between.

    Both hold float64 in contiguous rows, which need not lie next to each other.
    """
    syrk, integer = _dsyrk()
    m, p = Z.shape
    if m == 0 or p == 0:
        return
    # Fortran sees the transposes, so the lower triangle of G is the upper one to it.
    n, k, lda, ldc = (integer(i) for i in (p, m, Z.strides[0] // 8, G.strides[0] // 8))
    one, by = ctypes.c_double(1.0), ctypes.byref
    pointers = (by(one), Z.ctypes.data, by(lda), by(one), G.ctypes.data, by(ldc))
    syrk(b"U", b"N", by(n), by(k), *pointers)


@cache
def _dsyrk() -> tuple[Callable[..., None], Any]:
    """The routine, and the integers it takes: a SciPy built for ILP64 says so in its signature."""
    capsule = scipy.linalg.cython_blas.__pyx_capi__["dsyrk"]
    signature_of = ctypes.pythonapi.PyCapsule_GetName
    signature_of.argtypes, signature_of.restype = [ctypes.py_object], ctypes.c_char_p
    address_of = ctypes.pythonapi.PyCapsule_GetPointer
    address_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address_of.restype = ctypes.c_void_p
    signature = signature_of(capsule)
    character, pointer = ctypes.c_char_p, ctypes.c_void_p
    routine = ctypes.CFUNCTYPE(None, character, character, *8 * [pointer])
    integer = ctypes.c_int64 if b"int64" in signature else ctypes.c_int
    return routine(address_of(capsule, signature)), integer
