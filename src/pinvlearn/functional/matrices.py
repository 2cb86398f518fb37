"""svd, pinv, lstsq, range_basis: check input, call linalg, return frozen results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    as_array,
    is_operator,
    is_sparse,
    power_of_two_scale,
    scaled,
    to_dense,
)
from pinvlearn._core.device import (
    as_given,
    device_name,
    fields_of,
    home,
    memory_named,
    moved_to,
    on_device,
)
from pinvlearn._core.sparse import check_sparse
from pinvlearn._core.threads import lapack_threads, one_blas_thread
from pinvlearn._validation import (
    check_choice,
    check_count,
    check_matrix,
    check_memory,
    check_nonnegative,
    check_number,
    check_on_host,
    check_rank,
    check_rcond,
    check_rng,
    check_solver,
    check_stop,
)
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.linalg import error as _error
from pinvlearn.linalg import rangefinder as _rangefinder
from pinvlearn.linalg import reorder as _reorder
from pinvlearn.linalg.driver import DECOMPOSITIONS, NEEDS_ENTRIES, NEEDS_RANK, decompose, memory
from pinvlearn.linalg.rangefinder import RangeBasis
from pinvlearn.linalg.reorder import Reordering
from pinvlearn.linalg.report import Report
from pinvlearn.linalg.stop import Stop, on_scaled_matrix
from pinvlearn.linalg.svd import SVD, PseudoInverse, default_rcond
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solve import Readout, solve
from pinvlearn.readout.solvers import SOLVERS


@memory_named()
def svd(
    A: Matrix,
    rank: int | float | None = None,
    *,
    stop: Stop | None = None,
    solver: str = "auto",
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: Any = None,
) -> SVD:
    """Singular value decomposition A ≈ U diag(s) Vt, whole or of a given rank or accuracy.

    Parameters
    ----------
    A : array, sparse array or LinearOperator of shape (m, n)
        float32 stays float32; everything else is computed in float64.
    rank : int or float, optional
        Number of components; a float above 0 to 1 is a share of min(m, n), rounded up.  All if
        neither it nor `stop` is given.
    stop : Tolerance, FlatGradient, Energy, Rank or callable, optional
        Let the rank grow until this rule is satisfied (``solver="adaptive"``).
    solver : str, default="auto"
        - ``"exact"``: LAPACK.
        - ``"gram"``: eigendecomposition of the smaller Gram matrix, small values refined.
        - ``"block-krylov"``: the fast one for a given rank.
        - ``"chebyshev"``: the fast one for a given rank where A is sparse.
        - ``"randomized"``: Halko's, with normalised power iterations; RandPI of [JS20] with
          ``n_oversamples=rank, n_power=0``.
        - ``"frpca"``: power iterations normalised by LU, 11 passes.
        - ``"arpack"``: SciPy's ``svds``.
        - ``"fastpi"``: [JS20] Algorithm 1, by hub-and-spoke reordering.
        - ``"adaptive"``: grows until `stop` is satisfied, [JL19] Algorithms 2, 4 and 5.
        - ``"auto"``: chooses, for a rank of a dense A by counted work and by how flat the spectrum
          seems; ``report`` says what and why.
    n_oversamples : int, optional
        Extra samples of ``"randomized"``, ``"chebyshev"`` and ``"frpca"``.
    n_power : int, optional
        Power iterations of ``"randomized"``, Krylov steps of ``"block-krylov"``, filter rounds of
        ``"chebyshev"``, passes of ``"frpca"`` and within ``"fastpi"``.
    rng : None, int or numpy.random.Generator
        Random stream.

    Returns
    -------
    SVD
        The factors, and a report of how they were found.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.random.default_rng(0).standard_normal((200, 30))
    >>> f = pl.svd(A, rank=5, rng=0)
    >>> bool(np.allclose(f.s, np.linalg.svd(A, compute_uv=False)[:5]))
    True
    """
    A = check_matrix(A)
    check_choice("solver", solver, ("auto", *DECOMPOSITIONS))
    k = check_rank(rank, A.shape)
    options = {
        "n_oversamples": check_count("n_oversamples", n_oversamples),
        "n_power": check_count("n_power", n_power),
    }
    if stop is not None:
        stop = check_stop(stop)
        if k is not None:
            raise ValueError("Give a rank or a stop rule, not both; Rank(k) is a stop rule.")
        if solver not in ("auto", "adaptive"):
            raise ValueError(f'solver={solver!r} takes a rank; a stop rule needs "adaptive".')
    elif solver == "adaptive":
        raise ValueError('solver="adaptive" needs a stop rule, e.g. stop=Tolerance(0.1).')
    if solver in NEEDS_RANK and k is None:
        raise ValueError(f"solver={solver!r} needs a rank.")
    if solver in NEEDS_ENTRIES and is_operator(A):
        raise TypeError(f"solver={solver!r} needs the entries of A; a LinearOperator has none.")
    if stop is None:
        check_memory(memory(A, k, solver), A.shape, k, A)
    found = decompose(A, k, stop=stop, solver=solver, rng=check_rng(rng), **options)
    return fields_of(as_given, found)


@memory_named()
def pinv(
    A: Matrix,
    rank: int | float | None = None,
    *,
    rcond: float | None = None,
    alpha: float = 0.0,
    stop: Stop | None = None,
    solver: str = "auto",
    rng: Any = None,
) -> PseudoInverse:
    """Moore-Penrose pseudo-inverse as an operator, exact, low-rank or regularised.

    V diag(g(s)) Uᵀ with g(s) = 1/s above the cut-off, or s/(s² + alpha); never formed as a matrix
    unless ``to_array()`` is called.

    Parameters
    ----------
    A : array, sparse array or LinearOperator of shape (m, n)
        float32 stays float32; everything else is computed in float64.
    rank : int or float, optional
        Number of singular values to keep; a float above 0 to 1 is a share of min(m, n), rounded up.
        All if neither it nor `stop` is given.
    rcond : float, optional
        Singular values at or below rcond·s[0] count as zero; eps·max(m, n) by default.
    alpha : float, default=0.0
        Ridge; 1/C of the extreme learning machine's papers.
    stop : Tolerance, FlatGradient, Energy, Rank or callable, optional
        Let the rank grow until this rule is satisfied.
    solver : str, default="auto"
        How the decomposition is found, as in `svd`.
    rng : None, int or numpy.random.Generator
        Random stream.

    Returns
    -------
    PseudoInverse
        An operator of shape (n, m).

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> np.round(pl.pinv(A) @ A, 12) + 0.0
    array([[1., 0.],
           [0., 1.]])
    """
    factors = svd(A, rank, stop=stop, solver=solver, rng=rng)
    return factors.pinv(check_nonnegative("alpha", alpha), rcond=check_rcond(rcond))


MOST_RIDGE = 2.0**300
"""Beside a ridge of this size a matrix with entries near one is nothing: solutions are HᵀY over the
ridge to all digits, so those of larger ridges follow from this one's."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A least-squares solution.

    Attributes
    ----------
    coef : array of shape (n,) or (n, t)
        The minimiser, of the shape that Y asks for.
    rank : int
        Directions of A that took part.
    residual_norms : array of shape () or (t,)
        ‖A·coef - Y‖ for each column of Y.
    condition : float
        Ratio of the largest to the smallest singular value that took part (an upper bound from
        the factor where no spectrum was computed).
    report : Report
        What was done, why and how exactly.
    """

    coef: Array
    rank: int
    residual_norms: Array
    condition: float
    report: Report


@memory_named()
def lstsq(
    A: Matrix,
    Y: Array,
    *,
    alpha: float = 0.0,
    rcond: float | None = None,
    solver: str = "auto",
    rng: Any = None,
) -> Solution:
    """Minimise ‖A·X - Y‖² + alpha·‖X‖²; of many minimisers the one of least norm.

    Parameters
    ----------
    A : array or sparse array of shape (m, n)
        A LinearOperator is turned into an array first.
    Y : array of shape (m,) or (m, t)
        Right-hand sides.
    alpha : float, default=0.0
        Ridge.
    rcond : float, optional
        Cut-off for the singular values where alpha is 0 (``"exact"``, ``"qr"`` and ``"auto"``);
        eps·max(m, n) by default, for the eps of A's own type.
    solver : str or object, default="auto"
        ``"exact"``, ``"qr"``, ``"cholesky"``, ``"gram"``, ``"adaptive"``, ``"adaptive-flat"``,
        ``"randomized"`` or ``"auto"``, as for the learners; see `pinvlearn.readout.solvers`.
    rng : None, int or numpy.random.Generator
        Random stream of the randomised solvers.

    Returns
    -------
    Solution
        The minimiser, its residuals, and a report of how it was found.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> np.round(pl.lstsq(A, np.array([1.0, 3.0, 5.0])).coef, 12)
    array([1., 2.])
    """
    A = to_dense(check_matrix(A)) if is_operator(A) else check_matrix(A)
    Y = on_device(Y)
    if home(A) is not None and home(Y) is None:
        Y = moved_to(np.asarray(Y), A)
    elif home(Y) is not None and device_name(Y) != device_name(A):
        raise ValueError(
            f"Y is an array of {device_name(Y)}, and A of {device_name(A)}. Move both to one "
            "device and library."
        )
    one = np.ndim(Y) == 1
    if one and is_sparse(Y):
        check_sparse(Y, "Y")
        Y = to_dense(Y)
    if one and not np.ma.isMaskedArray(Y):
        Y = np.asarray(Y, like=home(Y))
    targets = check_matrix(Y[:, None] if one else Y, "Y")
    if targets.shape[0] != A.shape[0]:
        raise ValueError(
            f"A has {A.shape[0]} rows and Y has {targets.shape[0]}; they must be equal."
        )
    alpha = check_nonnegative("alpha", alpha)
    how = check_solver(solver, SOLVERS)
    if rcond is not None:
        if not hasattr(how, "rcond"):
            raise ValueError(f'solver={solver!r} takes no rcond; use "exact", "qr" or "auto".')
        how = replace(how, rcond=check_rcond(rcond))
    scale, unit = power_of_two_scale(A), power_of_two_scale(targets)
    H, T = A.astype(np.float64) * scale, to_dense(targets).astype(np.float64) * unit
    ridge = alpha * scale * scale
    rows = rows_in_memory(lambda X: X, H, T, None, A.shape[1])
    problem = Problem(rows, intercept=False, score=None, rng=check_rng(rng))
    with lapack_threads(min(A.shape)):
        readout = solve(problem, how, min(ridge, MOST_RIDGE))
        least = default_rcond(A.shape, A.dtype)
        if ridge == 0.0 and getattr(how, "rcond", least) is None and readout.condition * least > 1:
            readout = _without_rounding(solve(problem, replace(how, rcond=least), 0.0), A.dtype)
    shrink = min(1.0, MOST_RIDGE / ridge) if ridge > 0.0 else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = readout.coef.astype(A.dtype, copy=False) * shrink
        residual = np.linalg.norm(as_array(H @ rounded) - T, axis=0) / unit
        if ridge > MOST_RIDGE:  # one factor after the other: their product may not be a number
            coef = readout.coef * (MOST_RIDGE / scale) / unit / alpha
        else:
            coef = readout.coef * (scale / unit)
        coef = coef.astype(A.dtype, copy=False)
    if not np.isfinite(coef).all():
        raise ValueError(
            f"the solution has entries beyond {np.finfo(coef.dtype).max:.2g}, the largest number "
            f"of {coef.dtype}. Multiply A by a large number first, or divide Y by one."
        )
    if one:
        coef, residual = coef[:, 0], residual[0]
    rank = min(readout.rank, *A.shape)
    found = Solution(coef, rank, residual, readout.condition, readout.report)
    return fields_of(as_given, found)


def _without_rounding(readout: Readout, dtype: Any) -> Readout:
    """With a note that directions were cut off which double precision could tell apart."""
    note = f"singular values that are rounding of {np.dtype(dtype)} entries were cut off"
    return replace(readout, report=readout.report.with_notes(note))


@memory_named()
def range_basis(A: Matrix, stop: Stop, *, block: int | None = None, rng: Any = None) -> RangeBasis:
    """Orthonormal columns Q with QQᵀA ≈ A, as many as the stop rule asks for.

    [JL19] Algorithm 2 with ``Tolerance(eps, r)``, Algorithm 4 with ``FlatGradient(eps, tau, r)``;
    blocked, and ending at the same column as the paper's one-vector-at-a-time algorithm for the
    same random vectors, which are ``rng.standard_normal(n)`` one after the other whatever the
    block size.

    Parameters
    ----------
    A : array, sparse array or LinearOperator of shape (m, n)
        The matrix whose columns are to be spanned.
    stop : Tolerance, FlatGradient, Rank, Energy or callable
        A callable gets the errors after 0 … j columns and answers True to stop at j.
    block : int, optional
        Samples per block; by default it grows with the basis.
    rng : None, int or numpy.random.Generator
        Random stream.

    Returns
    -------
    RangeBasis
        ``Q`` and ``errors``, the sequence of Eq. (18).

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.random.default_rng(0).standard_normal((100, 8)) @ np.ones((8, 50))
    >>> pl.range_basis(A, pl.Tolerance(1e-6), rng=0).Q.shape
    (100, 1)
    """
    A, stop, generator = check_matrix(A), check_stop(stop), check_rng(rng)
    block = check_count("block", block, least=1)
    if getattr(stop, "sees", "errors") == "energy" and is_operator(A):
        raise TypeError("Energy needs the entries of A; a LinearOperator has none.")
    scale = power_of_two_scale(A)
    A, stop = scaled(A, scale), on_scaled_matrix(stop, scale)
    with one_blas_thread():
        stop = _rangefinder.absolute(stop, A, generator)
        basis = _rangefinder.range_basis(A, stop, block=block, rng=generator)
    B = None if basis.B is None else scaled(basis.B, 1.0 / scale)
    return fields_of(as_given, replace(basis, errors=basis.errors / scale, B=B))


def hub_spoke(A: Matrix, hub_ratio: float = 0.01) -> Reordering:
    """Reorder a sparse matrix so that its non-zeros gather in the lower right corner.

    Rows and columns of high degree (hubs) go to the end, and the rest (spokes) falls apart into
    small rectangular blocks along the diagonal; see `pinvlearn.linalg.reorder`, [JS20] Algorithm 2.

    Parameters
    ----------
    A : sparse array or array of shape (m, n)
        Only where it is zero matters.
    hub_ratio : float, default=0.01
        Share of the rows and of the columns that a round takes out as hubs, in (0, 1).

    Returns
    -------
    Reordering
        The order of rows and columns, and where hubs and blocks begin.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    >>> order = pl.hub_spoke(A, 0.25)
    >>> order.apply(A)
    array([[1, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 0],
           [1, 1, 1, 1]])
    >>> order.m1, order.n1, order.blocks.tolist()
    (2, 2, [[1, 1]])
    """
    check_on_host("hub_spoke", A)
    A = check_matrix(A)
    if is_operator(A):
        raise TypeError("hub_spoke needs the entries of A; a LinearOperator has none.")
    if not 0.0 < check_number("hub_ratio", hub_ratio) < 1.0:
        raise ValueError(f"hub_ratio={hub_ratio!r} must lie in (0, 1).")
    return _reorder.hub_spoke(A, hub_ratio)


@memory_named()
def spectral_error(A: Matrix, approx: SVD | RangeBasis | Array, *, rng: Any = None) -> float:
    """‖A - approx‖₂ by block power iteration: from below, usually to 1 %.

    Parameters
    ----------
    A : array, sparse array or LinearOperator of shape (m, n)
        The matrix itself.
    approx : SVD, RangeBasis or array of shape (m, n)
        What stands for it; a basis stands for Q·Qᵀ·A.
    rng : None, int or numpy.random.Generator
        Start of the iteration.

    Returns
    -------
    float
        The largest singular value of the difference.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.diag([4.0, 2.0, 1.0])
    >>> round(pl.spectral_error(A, pl.svd(A, rank=1), rng=0), 6)
    2.0
    """
    A = check_matrix(A)
    with one_blas_thread():
        return _error.spectral_error(A, _same_shape(A, approx), rng=check_rng(rng))


@memory_named()
def frobenius_error(A: Matrix, approx: SVD | RangeBasis | Array) -> float:
    """‖A - approx‖_F, exactly, from products with blocks of unit vectors.

    Parameters
    ----------
    A : array, sparse array or LinearOperator of shape (m, n)
        The matrix itself.
    approx : SVD, RangeBasis or array of shape (m, n)
        What stands for it; a basis stands for Q·Qᵀ·A.

    Returns
    -------
    float
        Root of the sum of squares of the difference.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.diag([4.0, 2.0, 1.0])
    >>> round(pl.frobenius_error(A, pl.svd(A, rank=1)) ** 2, 6)
    5.0
    """
    A = check_matrix(A)
    with one_blas_thread():
        return _error.frobenius_error(A, _same_shape(A, approx))


def _same_shape(A: Matrix, approx: Any) -> Any:
    """The approximation, if it can be one of A."""
    if isinstance(approx, RangeBasis | SVD):
        approx = fields_of(on_device, approx)
    if isinstance(approx, RangeBasis):
        shape: tuple[int, ...] = (approx.Q.shape[0], A.shape[1])
    else:
        approx = approx if isinstance(approx, SVD) else check_matrix(approx, "approx")
        shape = approx.shape
    if shape != A.shape:
        raise ValueError(f"A has shape {A.shape} and its approximation {shape}; they must agree.")
    return approx
