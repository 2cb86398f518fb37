"""The only room that checks user input."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from sklearn.utils import check_random_state

from pinvlearn._arrays import Array, Matrix, is_operator, is_sparse
from pinvlearn.linalg.stop import Stop


def check_matrix(A: Any, name: str = "A") -> Matrix:
    """A as a float32 or float64 array, CSR array or real `LinearOperator`, finite and not empty."""
    if is_operator(A):
        if np.issubdtype(A.dtype, np.complexfloating):
            raise TypeError(f"{name} is a complex operator; only real matrices are supported.")
        return A
    if is_sparse(A):
        A = scipy.sparse.csr_array(A)
        entries = A.data
    else:
        if scipy.sparse.issparse(A) or hasattr(A, "toarray"):
            raise TypeError(f"{name} of type {type(A).__name__} is not a supported matrix.")
        A = entries = np.asarray(A)
    if A.ndim != 2:
        raise ValueError(
            f"{name} has {A.ndim} dimension{'s' if A.ndim != 1 else ''}; a matrix with 2 is needed."
            + (" Use .reshape(-1, 1) for one column." if A.ndim == 1 else "")
        )
    if 0 in A.shape:
        raise ValueError(f"{name} is empty (shape {A.shape}); at least one row and column needed.")
    if entries.dtype.kind == "c":
        raise TypeError(f"{name} is complex; only real matrices are supported.")
    if entries.dtype.kind not in "fiub":
        try:
            A = entries = entries.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"{name} has dtype {entries.dtype}; numbers are needed.") from failure
    if entries.dtype not in (np.float32, np.float64):
        A = A.astype(np.float64)
        entries = A.data if is_sparse(A) else A
    check_finite(A, None, name)
    return A


def check_finite(X: Matrix, feature_names: Any = None, name: str = "X") -> None:
    """Raise at the first NaN or infinity, naming its row and column."""
    entries = X.data if is_sparse(X) else X
    if np.isfinite(entries).all():
        return
    if is_sparse(X):
        X = X.tocoo()
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row, column, value = X.row[at], X.col[at], X.data[at]
    else:
        row, column = np.argwhere(~np.isfinite(X))[0]
        value = X[row, column]
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    where = "" if feature_names is None else f" ({feature_names[column]!r})"
    raise ValueError(
        f"{name} contains {what}, first in row {row}, column {column}{where}. "
        "Remove or impute such values first."
    )


def check_rank(rank: int | None, rank_ratio: float | None, shape: tuple[int, int]) -> int | None:
    """The wanted rank as an integer in 1 … min(shape), or None for all."""
    most = min(shape)
    if rank is not None and rank_ratio is not None:
        raise ValueError("Give rank or rank_ratio, not both.")
    if rank_ratio is not None:
        if not 0.0 < rank_ratio <= 1.0:
            raise ValueError(f"rank_ratio={rank_ratio!r} must lie in (0, 1].")
        return max(1, int(np.ceil(rank_ratio * most)))
    if rank is None:
        return None
    if not isinstance(rank, numbers.Integral) or not 1 <= rank <= most:
        raise ValueError(
            f"rank={rank!r}: for a matrix of shape {shape} it must be an integer in 1 … {most}."
        )
    return int(rank)


def check_stop(stop: Any) -> Stop:
    """A stop rule: any callable."""
    if not callable(stop):
        raise TypeError(
            f"stop={stop!r} is no stop rule; give Rank(k), Tolerance(eps), FlatGradient(eps, tau), "
            "Energy(fraction), or a function of the error sequence that answers True to stop."
        )
    rule: Stop = stop
    return rule


def check_count(name: str, value: Any, least: int = 0) -> int | None:
    """None or an integer of at least `least`."""
    if value is None:
        return None
    if not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}.")
    return int(value)


def check_nonnegative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not number or not np.isfinite(float(value)) or value < 0:
        raise ValueError(f"{name}={value!r} must be a finite number of at least 0.")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    if check_nonnegative(name, value) == 0.0:
        raise ValueError(f"{name}={value!r} must be above 0.")
    return float(value)


def check_choice(name: str, value: Any, allowed: Any) -> str:
    """One of a few names."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name}={value!r} is not known; choose one of {names}.")
    return value


def check_rng(rng: Any) -> np.random.Generator:
    """A generator from None, a seed, or a generator."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as failure:
        raise ValueError(
            f"rng={rng!r}: give None, a non-negative integer seed or a numpy.random.Generator."
        ) from failure


def generator(random_state: Any) -> np.random.Generator:
    """A generator from scikit-learn's `random_state`: the same stream for the same seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1, size=4))


def check_alpha(alpha: Any) -> float | Array | None:
    """None for "auto", a number, or an array of numbers to choose from."""
    if isinstance(alpha, str):
        if alpha == "auto":
            return None
        raise ValueError(f'alpha={alpha!r}: give "auto", a number of at least 0, or an array.')
    if np.ndim(alpha) == 0:
        return check_nonnegative("alpha", alpha)
    path = np.asarray(alpha, dtype=np.float64)
    if path.ndim != 1 or not len(path) or not np.isfinite(path).all() or (path < 0).any():
        raise ValueError("An alpha path must be a 1-D array of finite numbers of at least 0.")
    return path


def check_solver(solver: Any, solvers: Any) -> Any:
    """A solver object from a name or an object."""
    if isinstance(solver, str):
        return solvers[check_choice("solver", solver, solvers)]()
    if not callable(getattr(solver, "factor", None)):
        raise TypeError(
            f"solver={solver!r} is neither a name ({', '.join(solvers)}) nor an object with a "
            "factor(problem, alpha) method."
        )
    return solver
