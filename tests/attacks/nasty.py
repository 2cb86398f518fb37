"""Matrices that break linear algebra, and their decompositions in 60 digits."""

import warnings
from collections.abc import Callable, Iterable
from functools import cache, cached_property

import numpy as np
import pytest
import scipy.linalg

from matrices import with_spectrum

mpmath = pytest.importorskip("mpmath")

M, N = 12, 8
DIGITS = 60
EPS = float(np.finfo(np.float64).eps)

SLACK = 10
"""How many times eps · size · condition an error may be."""

PROMISED = 1e-8
"""Relative error of predictions that `auto` promises."""

RESOLVED = 1e-7
"""Of the largest singular value: what products with AᵀA do not resolve, as documented."""

LARGEST, LARGEST_SINGLE = 1e50, 1e15
"""Entries above it, or all below one over it, are refused by learners, as documented; in float32
by transformers."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(m: int = M, n: int = N, seed: int = 0) -> np.ndarray:
    return rng(seed).standard_normal((m, n))


def kahan(n: int = N, angle: float = 1.2) -> np.ndarray:
    """A triangle whose pivots hide how near to singular it is."""
    c, s = np.cos(angle), np.sin(angle)
    return s ** np.arange(n)[:, None] * (np.eye(n) - c * np.triu(np.ones((n, n)), 1))


def lauchli(small: float) -> np.ndarray:
    """Columns whose Gram matrix rounds to ones."""
    return np.vstack([np.ones(N), small * np.eye(N)])


def with_columns(columns: dict[int, object], seed: int = 0) -> np.ndarray:
    A = normal(seed=seed)
    for j, column in columns.items():
        A[:, j] = column
    return A


def nearly_dependent(distance: float) -> np.ndarray:
    A = normal(seed=3)
    A[:, 4] = A[:, :4].sum(axis=1) + distance * A[:, 4]
    return A


def golub_kahan() -> np.ndarray:
    """A bidiagonal matrix with entries from 1 to 1e-12 in no order."""
    entries = 10.0 ** np.array([0.0, -12.0, -3.0, -9.0, -1.0, -6.0, -11.0, -2.0])
    return np.diag(entries) + np.diag(entries[:-1], 1)


MATRICES: dict[str, Callable[[], np.ndarray]] = {
    "graded spectrum": lambda: with_spectrum(M, N, np.logspace(0.0, -16.0, N), seed=1),
    "graded columns": lambda: normal() * np.logspace(0.0, -14.0, N),
    "graded rows": lambda: normal() * np.logspace(0.0, -14.0, M)[:, None],
    "graded both ways": lambda: (
        normal() * np.logspace(0.0, -9.0, N) * np.logspace(-9.0, 0.0, M)[:, None]
    ),
    "Hilbert": lambda: scipy.linalg.hilbert(N),
    "Hilbert, tall": lambda: scipy.linalg.hilbert(M)[:, :N],
    "Hilbert, wide": lambda: scipy.linalg.hilbert(M)[:N],
    "inverse Hilbert": lambda: scipy.linalg.invhilbert(N),
    "Kahan": kahan,
    "Läuchli, 1e-7": lambda: lauchli(1e-7),
    "Läuchli, 1e-9": lambda: lauchli(1e-9),
    "Vandermonde": lambda: np.vander(np.linspace(0.0, 1.0, M), N),
    "Pascal": lambda: scipy.linalg.pascal(N).astype(float),
    "Golub-Kahan": golub_kahan,
    "ones above the diagonal": lambda: np.eye(N) + np.triu(np.ones((N, N)), 1),
    "a Jordan block": lambda: 1e-3 * np.eye(N) + np.diag(np.ones(N - 1), 1),
    "rank deficient": lambda: with_spectrum(M, N, [3.0, 2.0, 1.0, 0.5], seed=2),
    "rank one": lambda: np.outer(np.arange(1.0, M + 1), np.arange(1.0, N + 1)),
    "repeated values": lambda: with_spectrum(M, N, np.repeat([2.0, 1e-3], N // 2), seed=4),
    "flat": lambda: with_spectrum(M, N, np.ones(N), seed=5),
    "identity": lambda: np.eye(N),
    "Hadamard": lambda: scipy.linalg.hadamard(N).astype(float),
    "a permutation": lambda: np.eye(N)[rng().permutation(N)],
    "a permutation with signs, tall": lambda: np.vstack([-np.eye(N)[::-1], np.zeros((4, N))]),
    "times 1e150": lambda: normal() * 1e150,
    "times 1e-150": lambda: normal() * 1e-150,
    "times 1e300": lambda: normal() * 1e300,
    "times 1e-300": lambda: normal() * 1e-300,
    "columns from 1e-100 to 1e100": lambda: normal() * np.logspace(-100.0, 100.0, N),
    "denormal columns": lambda: with_columns({2: 5e-324, 5: 1e-310 * np.arange(M)}),
    "all denormal": lambda: normal() * 1e-310,
    "duplicated columns": lambda: np.hstack([normal(n=N // 2)] * 2),
    "duplicated rows": lambda: np.vstack([normal(m=M // 2)] * 2),
    "constant columns": lambda: with_columns({1: 3.0, 6: -1e6}),
    "zero columns": lambda: with_columns({0: 0.0, 7: -0.0}),
    "a zero matrix": lambda: np.zeros((M, N)),
    "nearly dependent, 1e-6": lambda: nearly_dependent(1e-6),
    "nearly dependent, 1e-12": lambda: nearly_dependent(1e-12),
    "a large mean": lambda: normal() + 1e8,
    "one row": lambda: normal(m=1),
    "one column": lambda: normal(n=1),
    "one entry": lambda: np.array([[-3.0]]),
    "wide": lambda: normal(N, M),
    "float32": lambda: normal().astype(np.float32),
    "float32, graded": lambda: (normal() * np.logspace(0.0, -5.0, N)).astype(np.float32),
    "float32, Hilbert": lambda: scipy.linalg.hilbert(N).astype(np.float32),
    "float32, times 1e30": lambda: (normal() * 1e30).astype(np.float32),
    "float32, denormal": lambda: (normal() * 1e-41).astype(np.float32),
    "integers to 2**53": lambda: rng().integers(-(2**53), 2**53, (M, N)),
}
"""Every matrix by name."""


def exactly(A: np.ndarray) -> np.ndarray:
    """The same numbers in 60 digits."""
    A = np.asarray(A)
    if A.dtype == object:
        return A
    with mpmath.workdps(DIGITS):
        number = int if A.dtype.kind in "iu" else float
        return np.array([mpmath.mpf(number(a)) for a in A.ravel()], dtype=object).reshape(A.shape)


def norm(A: np.ndarray):
    """Root of the sum of squares, whatever the scale."""
    with mpmath.workdps(DIGITS):
        return mpmath.sqrt(sum((a * a for a in exactly(A).ravel()), mpmath.mpf(0)))


def decomposed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, Vt of numbers in 60 digits."""
    with mpmath.workdps(DIGITS):
        wide = A.shape[0] < A.shape[1]
        B = mpmath.matrix((A.T if wide else A).tolist())
        U, s, Vt = (np.array(part.tolist(), dtype=object) for part in mpmath.svd_r(B))
        s = s.ravel()
        return (Vt.T, s, U.T) if wide else (U, s, Vt)


@cache
def decomposition(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, s, Vt of one of the matrices."""
    return decomposed(exactly(MATRICES[name]()))


def solutions(factors, y, eps: float, size: int, alpha: float = 0.0, cut_to: float = 0.0):
    """(coefficients, condition) for every rank that rounding may decide on.

    Singular values within a factor of 100 of the cut-off eps·size·s₁ may count or not; with
    `cut_to`, all those below it times s₁.  A ridge cuts nothing off.
    """
    U, s, Vt = factors
    with mpmath.workdps(DIGITS):
        cut = eps * size * s[0]
        most = sum(1 for value in s if value > cut / 100)
        least = min(most, sum(1 for value in s if value > max(cut * 100, cut_to * s[0])))
        ridge = mpmath.mpf(alpha)
        if ridge:
            gains = s / (s**2 + ridge)
            condition = mpmath.sqrt((s[0] ** 2 + ridge) / (s[-1] ** 2 + ridge))
            found = [((Vt.T * gains) @ (U.T @ y), condition)]
        else:
            found = []
            least = least if most else 0
        for r in range(least, most + 1) if not ridge or cut_to else ():
            gains = s[:r] / (s[:r] ** 2 + ridge)
            x = (Vt[:r].T * gains) @ (U[:, :r].T @ y) if r else 0 * Vt.T @ (U.T @ y)
            found.append((x, s[0] / s[r - 1] if r else mpmath.mpf(1)))
        return found


class Target:
    """A matrix and a right-hand side to go with it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def A(self) -> np.ndarray:
        A = MATRICES[self.name]()
        A.setflags(write=False)
        return A

    @property
    def eps(self) -> float:
        return float(np.finfo(self.A.dtype).eps) if self.A.dtype.kind == "f" else EPS

    @property
    def rounding(self) -> float:
        """What this size may lose to rounding, relative to the norm of the matrix."""
        return SLACK * self.eps * sum(self.A.shape)

    @cached_property
    def y(self) -> np.ndarray:
        """A sum of the columns with noise, of entries near one."""
        rng = np.random.default_rng(9)
        A = np.asarray(self.A, dtype=float)
        y = (A / (np.abs(A).max() or 1.0)) @ rng.standard_normal(A.shape[1])
        return y / (np.abs(y).max() or 1.0) + 0.1 * rng.standard_normal(len(y))

    @property
    def largest(self) -> float:
        """The largest number of its precision."""
        return float(np.finfo(self.A.dtype if self.A.dtype.kind == "f" else np.float64).max)

    @property
    def out_of_range(self) -> bool:
        """Whether learners refuse it, which take it as float64."""
        return self._is_beyond(LARGEST)

    @property
    def out_of_range_as_it_is(self) -> bool:
        """Whether transformers may refuse it, which keep its precision."""
        return self._is_beyond(LARGEST_SINGLE if self.A.dtype == np.float32 else LARGEST)

    def _is_beyond(self, largest: float) -> bool:
        size = float(np.abs(self.A.astype(float)).max())
        return not (size == 0.0 or 1.0 / largest <= size <= largest)


def not_orthonormal(*bases: np.ndarray) -> float:
    """The largest entry by which rows fail to be orthonormal; NaN fails every comparison."""
    off = [np.abs(Q.astype(float) @ Q.T - np.eye(len(Q))).max(initial=0.0) for Q in bases]
    return max(np.inf if np.isnan(o) else float(o) for o in off)


def smallest(target: Target) -> float:
    """The spacing of the smallest numbers of its type, which rounding cannot go below."""
    kind = target.A.dtype if target.A.dtype.kind == "f" else np.float64
    return SLACK * float(np.finfo(kind).smallest_subnormal)


def distance(found: np.ndarray, near: list) -> str:
    """Nothing if what was found is as near as allowed to one of the answers."""
    if not all(mpmath.isfinite(value) for value in found.ravel()):
        return "not finite"
    with mpmath.workdps(DIGITS):
        off = [(norm(found - x), allowed) for x, allowed in near]
        if any(o <= allowed for o, allowed in off):
            return ""
        return "; ".join(f"off by {float(o):.0e}, not {float(allowed):.0e}" for o, allowed in off)


Attempt = tuple[str, Callable[[], str], Callable[[], bool]]
"""What is tried; a call that answers with what is wrong, or nothing; whether it may be refused."""

REFUSED = "refused"


def never() -> bool:
    return False


def outcome(call: Callable[[], str], may_refuse: Callable[[], bool]) -> str:
    """What is wrong; nothing; or "refused", after an error where there is no answer to give."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The feature scales differ", UserWarning)
        try:
            return call()
        except ValueError as error:
            if len(str(error)) < 20:
                return f"a message that says nothing: {error}"
            return REFUSED if may_refuse() else f"refused without need: {error}"
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def tried(attempts: Iterable[Attempt]) -> dict[str, int]:
    """How many attempts were answered and refused, if none failed."""
    found = {what: outcome(call, may_refuse) for what, call, may_refuse in attempts}
    failed = [f"{what}: {wrong}" for what, wrong in found.items() if wrong not in ("", REFUSED)]
    assert not failed, "\n".join(failed)
    refused = list(found.values()).count(REFUSED)
    return {"answered": len(found) - refused, "refused": refused}
