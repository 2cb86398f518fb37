"""Which decomposition to run: one table of methods and an `auto` that explains itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import (
    Matrix,
    is_dense,
    is_operator,
    is_sparse,
    magnitude,
    matrix_home,
    power_of_two_scale,
    scaled,
)
from pinvlearn._core.device import is_device
from pinvlearn._core.factoring import svd
from pinvlearn._core.products import gram_entries, times
from pinvlearn._core.threads import one_blas_thread
from pinvlearn.linalg.chebyshev import chebyshev
from pinvlearn.linalg.costs import exact_flops, flatness, gram_flops, krylov_flops
from pinvlearn.linalg.dense import exact, gram_svd
from pinvlearn.linalg.fastpi import LOW_RANK, fastpi
from pinvlearn.linalg.frpca import frpca
from pinvlearn.linalg.krylov import block_krylov, gram_pays, randomized
from pinvlearn.linalg.lanczos import lanczos
from pinvlearn.linalg.orthonormal import complete
from pinvlearn.linalg.rangefinder import absolute, range_basis
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import Stop, on_scaled_matrix
from pinvlearn.linalg.svd import GRAM_RESOLUTION, SVD, sign_fixed

SMALL = 64
"""Smaller sides up to this many entries go to LAPACK: nothing else is worth its overhead."""

DEVICE_GRAM_SIDE, GRAM_TALL = 2048, 4
"""On a device smaller sides up to so many entries, of matrices so many times as long, go to the
Gram matrix at any rank.  Products of thin blocks wait for memory there: a step of block Krylov
takes as long as a sixth of all of AᵀA of 1,024 columns [measured]."""

DENSE_ENTRIES = 2**28
"""Largest number of entries (2 GiB in float64) that `auto` makes dense for an exact SVD."""


KRYLOV_COLUMNS = 4
"""Columns of a block Krylov space for each component wanted, where the spectrum falls slowly."""


def adaptive(A: Matrix, stop: Stop, *, rng: np.random.Generator) -> SVD:
    """SVD from a basis that grew until `stop` was satisfied: [JL19] Algorithm 5, lines 7 and 8.

    Cost 2mnk for the basis, 2mnk for B = QᵀA, 4nk² + O(k³) for its SVD.
    """
    watch = Stopwatch()
    with watch("basis"):
        basis = range_basis(A, stop, rng=rng)
    with watch("svd"):
        B = times(A.T, basis.Q).T if basis.B is None else basis.B
        U, s, Vt = svd(B)
    report = Report(
        "adaptive",
        f"{_name(stop)} satisfied by {basis.rank} columns",
        passes=2,
        error=float(basis.errors[-1]),
        seconds=watch,
    )
    return sign_fixed(basis.Q @ U, s, Vt, report)


DECOMPOSITIONS: dict[str, Callable[..., SVD]] = {
    "exact": lambda A, rank, **_: exact(A, rank),
    "gram": lambda A, rank, **_: gram_svd(A, rank),
    "block-krylov": lambda A, rank, *, n_power, rng, **_: block_krylov(
        A, rank, n_power=n_power, rng=rng
    ),
    "randomized": lambda A, rank, *, n_oversamples, n_power, rng, **_: randomized(
        A, rank, n_oversamples=n_oversamples, n_power=n_power, rng=rng
    ),
    "adaptive": lambda A, rank, *, stop, rng, **_: adaptive(A, stop, rng=rng),
    "chebyshev": lambda A, rank, *, stop, **options: chebyshev(A, rank, **options),
    "fastpi": lambda A, rank, *, stop, **options: fastpi(A, rank, **options),
    "frpca": lambda A, rank, *, stop, **options: frpca(A, rank, **options),
    "arpack": lambda A, rank, *, rng, **_: lanczos(A, rank, rng=rng),
}
"""Every solver by name; each takes (A, rank, *, stop, n_oversamples, n_power, rng)."""

FIXED_RANK: tuple[str, ...] = tuple(name for name in DECOMPOSITIONS if name != "adaptive")
"""Solvers for a rank that is given, or for all components."""

ON_HOST = ("chebyshev", "fastpi", "frpca", "arpack")
"""Methods of compiled code, or for sparse matrices, which no other library has."""

NEEDS_RANK = ("block-krylov", "randomized", "chebyshev", "frpca", "arpack")

LARGE = ("exact", "gram")
"""Solvers whose time goes into decompositions of a large matrix by LAPACK."""

NEEDS_ENTRIES = ("gram", "fastpi")
"""Methods that an operator, which has products only, cannot be given to."""


def choose(A: Matrix, rank: int | None, stop: Stop | None) -> tuple[str, str]:
    """The solver `auto` would run for A, and why."""
    m, n = A.shape
    small, large = sorted((m, n))
    if stop is not None:
        return "adaptive", "a stop rule was given"
    if is_operator(A) and rank is not None:
        return "block-krylov", "only products with A are cheap"
    if is_sparse(A) and (small > SMALL or m * n > DENSE_ENTRIES):
        return _choose_sparse(rank, small)
    if rank is None:
        return "exact", "all components were asked for"
    if small <= SMALL:
        return "exact", f"the smaller side has only {small} entries"
    if is_device(A):
        return _choose_on_device(rank, small, large)
    return _choose_dense(A, rank, small, large)


def _choose_dense(A: Matrix, rank: int, small: int, large: int) -> tuple[str, str]:
    """The cheapest by counted flops; where the spectrum seems flat, block Krylov takes longer."""
    flat = flatness(A)
    formed = gram_pays(A if A.shape[0] == large else A.T, rank)
    pace = 0.5 if A.dtype == np.float32 else 1.0  # AᵀA is float64 whatever A is
    costs = {
        "gram": gram_flops(large, small, rank),
        "block-krylov": pace * krylov_flops(large, small, rank, formed=formed, flatness=flat),
        "exact": pace * exact_flops(large, small),
    }
    name = min(costs, key=lambda method: costs[method])
    others = ", ".join(f"{cost / costs[name]:.1f} by {method}" for method, cost in costs.items())
    guess = f"for a spectrum whose effective rank seems to be {flat * small:.0f} of {small}"
    return name, f"counted work, {others}, {guess}"


def _choose_on_device(rank: int, small: int, large: int) -> tuple[str, str]:
    if small <= DEVICE_GRAM_SIDE and large >= GRAM_TALL * small:
        return "gram", f"the smaller side has only {small} entries and the matrix is long"
    if 4 * rank < small:
        return "block-krylov", f"rank {rank} is under a quarter of {small}"
    if large >= 2 * small:
        return "gram", f"rank {rank} is a large part of {small} and the matrix is long"
    return "exact", f"rank {rank} is a large part of {small}"


def _choose_sparse(rank: int | None, small: int) -> tuple[str, str]:
    if rank is None:
        return "gram", "all components of a sparse matrix were asked for"
    if 3 * rank < small:
        return "chebyshev", f"rank {rank} is under a third of {small} and the matrix is sparse"
    return "gram", f"rank {rank} is a large part of {small} and the matrix is sparse"


def memory(A: Matrix, rank: int | None, solver: str) -> int:
    """Bytes that a solver holds at its peak, A not counted: at most a quarter too few."""
    m, n = A.shape
    small, large = sorted((m, n))
    k = small if rank is None else rank
    solver = choose(A, rank, None)[0] if solver == "auto" else solver
    factors = (large + small) * k
    copies = 2 * A.nnz if is_sparse(A) else 0
    if solver == "exact":
        work = (3 if is_sparse(A) else 2) * m * n + 3 * small**2
    elif solver == "gram":
        work = 3 * small**2 + gram_entries(small)
    elif solver == "fastpi":
        copies *= 3
        work = (1 if k < LOW_RANK * small else 4) * small**2 + 3 * small * k
    elif solver == "block-krylov":
        space = min(small, KRYLOV_COLUMNS * k)
        images = gram_entries(small) if gram_pays(A if m >= n else A.T, k) else large * space
        work = images + 2 * large * k + 3 * small * space
    else:
        formed = 2 * small**2 if small <= 8192 and not is_operator(A) else 0
        blocks = {"randomized": 3, "arpack": 2, "frpca": 1}.get(solver, 0)
        work = blocks * large * (k + 10) + 6 * small * k + formed
        if solver == "arpack" and is_dense(A) and A.dtype == np.float32:
            work += m * n  # in double precision
    return 8 * (factors + work + copies)


def decompose(
    A: Matrix,
    rank: int | None = None,
    *,
    solver: str = "auto",
    stop: Stop | None = None,
    rng: np.random.Generator,
    **options: Any,
) -> SVD:
    """Run a solver on A scaled by a power of two, and scale the result back.

    `auto` replaces a leading part by one of the whole matrix where the wanted singular values reach
    below what a product with AᵀA resolves.
    """
    size = magnitude(A)
    scale = power_of_two_scale(A, size)
    near_one = scaled(A, scale)
    if stop is not None:
        stop = absolute(on_scaled_matrix(stop, scale), near_one, rng)
    name, reason = choose(A, rank, stop) if solver == "auto" else (solver, "chosen by the caller")
    check_runs_there(A, name)
    if not is_operator(A) and size == 0.0:
        return zero_svd(A, 0 if stop is not None else rank)
    # A leading part has the digits of AᵀA or, below them, is left to LAPACK.
    leading = solver == "auto" and name == "gram" and rank is not None and is_dense(A)
    # Panels, orthonormal bases and small projected problems: one thread, but for the products.
    with nullcontext() if name in LARGE else one_blas_thread():
        if leading:
            result = gram_svd(near_one, rank, mend=False)
        else:
            result = DECOMPOSITIONS[name](near_one, rank, stop=stop, rng=rng, **options)
    iterated = solver == "auto" and name in ("chebyshev", "block-krylov")
    if (iterated or leading) and _unresolved(result, A):
        # The Gram route computes small values from A itself, and leaves a sparse matrix sparse.
        better = "gram" if is_sparse(A) else "exact"
        result = DECOMPOSITIONS[better](near_one, rank)
        reason = f"the values wanted reach below 1e-6 of the largest, beyond {name}"
    report = replace(result.report, reason=f"{reason}; {result.report.reason}")
    if scale == 1.0:
        return replace(result, report=report)
    most = float(np.finfo(A.dtype).max)
    if result.rank and float(result.s[0]) / scale > most:  # an inverse of infinity would be 0
        raise ValueError(
            f"A has singular values beyond {most:.2g}, the largest number of {A.dtype}. Divide A "
            "by a large number first."
        )
    error = None if report.error is None else report.error / scale
    return SVD(result.U, result.s / A.dtype.type(scale), result.Vt, replace(report, error=error))


def check_runs_there(A: Matrix, solver: str) -> None:
    """Refuse a method of the host for a matrix that lives elsewhere."""
    if matrix_home(A) is not None and solver in ON_HOST:
        raise TypeError(
            f"solver={solver!r} works on NumPy and SciPy matrices alone. Use another, such as "
            '"block-krylov", or move the matrix to NumPy.'
        )


def _name(stop: Stop) -> str:
    """A rule as its author would write it; a function by its name."""
    return getattr(stop, "__qualname__", None) or str(stop)


def _unresolved(result: SVD, A: Matrix) -> bool:
    whole = is_sparse(A) or A.shape[0] * A.shape[1] <= DENSE_ENTRIES
    affordable = whole and not is_operator(A)
    return affordable and bool(result.s[-1] <= 10 * GRAM_RESOLUTION * result.s[0])


def zero_svd(A: Matrix, rank: int | None) -> SVD:
    """The decomposition of a zero matrix of A's shape: any orthonormal vectors."""
    m, n = A.shape
    k = min(m, n) if rank is None else rank
    where = matrix_home(A)
    U = complete(np.empty((m, 0), dtype=A.dtype, like=where), k)
    V = complete(np.empty((n, 0), dtype=A.dtype, like=where), k)
    report = Report("exact", "the matrix is zero", passes=1, error=0.0)
    return sign_fixed(U, np.zeros(k, dtype=A.dtype, like=where), V.T, report)
