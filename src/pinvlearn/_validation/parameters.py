"""Parameters: numbers, names, seeds, ridges, solvers and stop rules."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from pinvlearn._core.arrays import Array
from pinvlearn._core.checks import count_or_share, is_number, number, whole_number
from pinvlearn._core.machine import processors
from pinvlearn.linalg.stop import Stop


def check_count(name: str, value: Any, least: int = 0) -> int | None:
    """None or an integer of at least `least`."""
    if value is None:
        return None
    return whole_number(name, value, least)


def check_jobs(n_jobs: Any) -> int | None:
    """Threads as scikit-learn's `n_jobs` gives them.

    None is for the caller's default, -1 for all processors, -2 for all but one, and so on.
    """
    if isinstance(n_jobs, int | np.integer) and n_jobs < 0:
        return max(processors() + 1 + int(n_jobs), 1)
    try:
        return check_count("n_jobs", n_jobs, least=1)
    except ValueError as error:
        raise ValueError(f"{error} Or give None, -1 for all cores, -2 for all but one.") from None


def check_size(name: str, value: Any) -> int:
    """An integer of at least 1."""
    return whole_number(name, value, least=1)


def check_sizes(name: str, values: Any) -> list[int]:
    """A sequence of at least one integer, each of at least 1."""
    if isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
        raise ValueError(
            f"{name}={values!r} must be a sequence of at least one integer, such as (200, 100)."
        )
    return [check_size(f"each of {name}", value) for value in values]


def check_rank(rank: int | float | None, shape: tuple[int, int]) -> int | None:
    """The wanted rank, a number or a share, as an integer in 1 … min(shape), or None for all."""
    if rank is None:
        return None
    return count_or_share("rank", rank, min(shape), f"for a matrix of shape {shape} ")


def check_number(name: str, value: Any) -> float:
    """A finite number."""
    return number(name, value)


def check_nonnegative(name: str, value: Any) -> float:
    """A finite number of at least 0."""
    return number(name, value, least=0.0)


def check_positive(name: str, value: Any) -> float:
    """A finite number above 0."""
    return number(name, value, above=0.0)


def check_share(name: str, value: Any) -> float:
    """A number in [0, 1)."""
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise ValueError(f"{name}={value!r} must be a number in [0, 1).")
    return float(value)


def check_coverage(coverage: Any) -> None:
    """A share of new rows, neither none nor all of them."""
    if not is_number(coverage) or not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage={coverage!r} must lie strictly between 0 and 1.")


def check_decay(decay: Any) -> float:
    """A factor on the weights of earlier rows."""
    if not is_number(decay) or not 0.0 < decay <= 1.0:
        raise ValueError(f"decay={decay!r} must lie in (0, 1].")
    return float(decay)


def check_rcond(rcond: Any) -> float | None:
    """None or a number in [0, 1)."""
    if rcond is not None and not (isinstance(rcond, numbers.Real) and 0.0 <= float(rcond) < 1.0):
        raise ValueError(f"rcond={rcond!r} must be a number in [0, 1), or None.")
    return None if rcond is None else float(rcond)


def check_choice(name: str, value: Any, allowed: Any, besides: str = "") -> str:
    """One of a few names; `besides` says what else the parameter takes."""
    if not isinstance(value, str) or value not in allowed:
        names = ", ".join(repr(choice) for choice in allowed)
        more = f", or give {besides}" if besides else ""
        raise ValueError(f"{name}={value!r} is not known; choose one of {names}{more}.")
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


def check_alpha(alpha: Any, name: str = "alpha") -> float | Array | None:
    """None for "auto", a number, or an array of numbers to choose from."""
    if isinstance(alpha, str) and alpha == "auto":
        return None
    if np.ndim(alpha) == 0 and not is_number(alpha):
        raise ValueError(f'{name}={alpha!r}: give "auto", a number of at least 0, or a 1-D array.')
    if np.ndim(alpha) == 0:
        return check_nonnegative(name, alpha)
    path = np.asarray(alpha)
    if (
        path.ndim != 1
        or not len(path)
        or path.dtype.kind not in "iuf"  # not text that looks like numbers, and no truth values
        or not np.isfinite(path).all()
        or (path < 0).any()
    ):
        raise ValueError(
            f"{name}={alpha!r}: a path must be a 1-D array of finite numbers of at least 0."
        )
    return path.astype(np.float64)


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


def check_stop(stop: Any) -> Stop:
    """A stop rule: any callable."""
    if not callable(stop):
        raise TypeError(
            f"stop={stop!r} is no stop rule; give Rank(k), Tolerance(eps), FlatGradient(eps, tau), "
            "Energy(fraction), or a function of the error sequence that answers True to stop."
        )
    rule: Stop = stop
    return rule
