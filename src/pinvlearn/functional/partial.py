"""partial_svd, as_triplets: check the known entries of a matrix, call linalg."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, IntArray, is_sparse
from pinvlearn._core.device import library_of
from pinvlearn._core.sparse import check_sparse
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_choice,
    check_count,
    check_factor_memory,
    check_nonnegative,
    check_positive,
    check_rank,
    check_real,
    check_rng,
    check_triplets,
)
from pinvlearn.completion import descent as _descent
from pinvlearn.linalg.svd import SVD


def partial_svd(
    rows: Any,
    cols: Any,
    values: Any,
    shape: tuple[int, int],
    *,
    rank: int | float,
    init: float | None = None,
    learning_rate: float = 0.01,
    annealing: float | None = None,
    alpha: float = 0.02,
    min_improvement: float = 1e-6,
    min_epochs: int = 1,
    max_epochs: int = 200,
    solver: str = "descent",
    rng: Any = None,
    callback: _descent.Callback | None = None,
) -> SVD:
    """Singular value decomposition of a matrix of which only some entries are known.

    Minimises Σ_known (a_ij - x_i·y_j)² + alpha·Σ_known (‖x_i‖² + ‖y_j‖²), one factor after the
    other, by stochastic gradient descent [LingPipe], then turns X Yᵀ into an SVD.

    Parameters
    ----------
    rows, cols, values : arrays of shape (n,)
        The known entries, in any order; `as_triplets` makes them from a matrix.
    shape : (int, int)
        Of the whole matrix.
    rank : int or float
        Number of factors, at most min(shape); a float above 0 to 1 is a share of that.
    init : float, optional
        Deviation of the Gaussian start; 1/√rank.
    learning_rate : float, default=0.01
        Step of the descent, in the first epoch.
    annealing : float, optional
        Epochs after which the rate is halved: rate / (1 + epoch/annealing); max_epochs/10.
    alpha : float, default=0.02
        Penalty per known entry.
    min_improvement : float, default=1e-6
        A factor ends when the regularised error changes by less than this, relatively:
        abs(x - y) / (abs(x) + abs(y)).  With 0 every epoch is run.
    min_epochs, max_epochs : int, default=1 and 200
        For each factor.
    solver : {"descent", "exact"}, default="descent"
        "exact" answers a complete matrix with one SVD, s shrunk by alpha·√(m·n): where the descent
        would end.
    rng : None, int or numpy.random.Generator
        Start of the factors: for each, m values and then n.
    callback : callable, optional
        ``callback(rank, epoch, rmse)`` after every epoch; a truthy answer ends the descent and
        keeps what was learned.

    Returns
    -------
    SVD
        Rows and columns without entries are zero.  `report` has the epochs (passes) and the RMSE
        of the known entries (error).

    Notes
    -----
    Cost rank·epochs·n updates, memory n + (m + n)·rank.  The loop is compiled on its first call
    (about a second, kept on disk).  A descent that diverges raises within the epoch.

    Deviations from the original: the stop looks at the regularised error, as its documentation
    says (its code took the plain RMSE), each entry's part being taken just before its update; the
    result is orthonormal and sorted, which the original only claims; its update is multiplied out
    (equal but for rounding); rank above min(shape) is an error instead of being cut.

    References
    ----------
    [LingPipe] B. Carpenter, com.aliasi.matrix.SvdMatrix, LingPipe 4.0.0, after S. Funk (2007).

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> A = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0, 2.0])
    >>> A[0, 3] = np.nan
    >>> f = pl.partial_svd(*pl.as_triplets(A), A.shape, rank=1, alpha=0.0, max_epochs=2000, rng=0)
    >>> round(f.value(0, 3), 2)
    2.0
    """
    rows, cols, values, shape = check_triplets(rows, cols, values, shape)
    k = check_rank(rank, shape)
    if k is None:
        raise ValueError(f"rank=None: give an integer in 1 … {min(shape)}.")
    alpha = check_nonnegative("alpha", alpha)
    low, high = check_count("min_epochs", min_epochs, 1), check_count("max_epochs", max_epochs, 1)
    if low is None or high is None or low > high:
        raise ValueError(f"{min_epochs=} and {max_epochs=}: need 1 ≤ min_epochs ≤ max_epochs.")
    if init is not None and not (
        isinstance(init, int | float | np.number) and 0 < abs(init) < np.inf
    ):
        raise ValueError(f"init={init!r} must be a finite number other than 0.")
    descent = _descent.Descent(
        check_positive("learning_rate", learning_rate),
        max_epochs / 10 if annealing is None else check_positive("annealing", annealing),
        alpha,
        check_nonnegative("min_improvement", min_improvement),
        low,
        high,
    )
    if check_choice("solver", solver, ("descent", "exact")) == "exact":
        if len(values) < shape[0] * shape[1]:
            raise ValueError(
                f'{len(values)} of {shape[0] * shape[1]} entries are known; solver="exact" needs '
                'all of them, use "descent".'
            )
        return _descent.of_complete(rows, cols, values, shape, k, alpha, check_rng(rng))
    advice = "number those that have some by pandas.factorize"
    check_factor_memory(8 * sum(shape) * k, shape, advice)
    scale = 1.0 / np.sqrt(k) if init is None else float(init)
    with one_blas_thread():  # for the small factors at its end
        return _descent.factor_at_a_time(
            rows, cols, values, shape, k, scale, descent, check_rng(rng), callback
        )


def as_triplets(X: Any) -> tuple[IntArray, IntArray, Array]:
    """Rows, columns and values of the known entries of a matrix.

    Parameters
    ----------
    X : sparse array, masked array or array of shape (m, n)
        Known are the explicit entries of a sparse array (zeros included), what a masked array does
        not mask, and what is not NaN in any other array or frame.

    Returns
    -------
    rows, cols : integer arrays of shape (n,)
        Where the known entries stand.
    values : array of shape (n,)
        What they are.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> rows, cols, values = pl.as_triplets(np.array([[1.0, np.nan], [0.0, 2.0]]))
    >>> rows.tolist(), cols.tolist(), values.tolist()
    ([0, 1, 1], [0, 0, 1], [1.0, 0.0, 2.0])
    """
    check_sparse(X)
    if is_sparse(X):
        entries = X.tocoo()
        rows, cols, values = entries.row, entries.col, entries.data
        shape = X.shape
    else:
        if library_of(X) == "pandas":  # whose types have gaps of their own
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        masked = np.ma.isMaskedArray(X)
        array = np.asarray(X.data if masked else X)
        check_real(array, "X")
        array = np.asarray(array, dtype=np.float64)
        if array.ndim != 2:
            raise ValueError(f"X has {array.ndim} dimension(s); a matrix with 2 is needed.")
        rows, cols = np.nonzero(~np.ma.getmaskarray(X) if masked else ~np.isnan(array))
        values, shape = array[rows, cols], array.shape
    return check_triplets(rows, cols, values, shape)[:3]
