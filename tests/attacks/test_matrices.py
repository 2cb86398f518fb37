"""Nasty matrices against 60 digits: every method is as near as its condition allows, or says so.

An attempt is one call.  It holds if its error is within a small multiple of eps · size · condition
of the value in 60 digits, or if it is refused where the precision of the matrix holds no answer.  A
method that works on squares (`gram`, `cholesky`) may also say in its report how far off it is.
"""

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("mpmath")

import mpmath

from attacks.nasty import (
    DIGITS,
    EPS,
    MATRICES,
    PROMISED,
    RESOLVED,
    SLACK,
    Attempt,
    Target,
    decomposed,
    decomposition,
    distance,
    exactly,
    never,
    norm,
    not_orthonormal,
    smallest,
    solutions,
    tried,
)
from pinvlearn import (
    Energy,
    FastPCA,
    FastTruncatedSVD,
    FlatGradient,
    Rank,
    Tolerance,
    lowrank_psd,
    lstsq,
    pinv,
    range_basis,
    svd,
)

WHOLE = ("auto", "exact", "gram")
GROWN = ("block-krylov", "randomized", "chebyshev", "frpca", "arpack")
SQUARED = ("gram", "cholesky")
GROWING = ("adaptive", "adaptive-flat", "randomized")
RIDGES = (0.0, 1e-14, 1e-8)
STOPS = {"Tolerance": Tolerance(0.1), "FlatGradient": FlatGradient(0.01), "Energy": Energy(0.9)}

SETTLED = 1e-3
"""Of the smallest value wanted: how far from it an iterative method may end, as documented."""


def attempts(name: str) -> Iterator[Attempt]:
    target = Target(name)
    k = min(target.A.shape)
    for rank in sorted({k, (k + 1) // 2}):
        for solver in (*WHOLE, *GROWN, "fastpi"):
            yield f"svd {solver} {rank}", lambda s=solver, r=rank: wrong_svd(target, s, r), never
            yield (
                f"pinv {solver} {rank}",
                lambda s=solver, r=rank: wrong_low_pinv(target, s, r),
                lambda: inverse_overflows(target),
            )
        for solver in ("rpcholesky", "nystroem", "randomized"):
            yield f"psd {solver} {rank}", lambda s=solver, r=rank: wrong_psd(target, s, r), never
        yield f"basis {rank}", lambda r=rank: wrong_basis(target, Rank(r), r), never
    for stop in STOPS:
        yield f"svd {stop}", lambda s=STOPS[stop]: wrong_adaptive(target, s), never
        yield f"basis {stop}", lambda s=STOPS[stop]: wrong_basis(target, s), never
    for solver in WHOLE:
        yield (
            f"pinv {solver}",
            lambda s=solver: wrong_pinv(target, s),
            lambda: inverse_overflows(target),
        )
    for solver in ("auto", "exact", "qr", "gram", "cholesky", *GROWING):
        for ridge in (r for r in RIDGES if r == 0.0 or 0.0 < ridge_of(target, r) < np.inf):
            yield (
                f"lstsq {solver} {ridge}",
                lambda s=solver, a=ridge: wrong_lstsq(target, s, a),
                lambda a=ridge: solution_overflows(target, a),
            )
    if len(target.A) < 2:
        return
    for kind in (FastPCA, FastTruncatedSVD):
        for solver in (*WHOLE, "block-krylov", "randomized", "arpack"):
            yield (
                f"{kind.__name__} {solver}",
                lambda s=solver, k=kind: wrong_axes(target, k, s),
                lambda: variance_overflows(target),
            )


def ridge_of(target: Target, ridge: float) -> float:
    """A ridge in units of the largest singular value squared; 0 or infinite if there is none."""
    with mpmath.workdps(DIGITS):
        return float(ridge * decomposition(target.name)[1][0] ** 2)


# Where there is no answer in the precision of the matrix.


def least_that_counts(target: Target, rank: int | None = None):
    """The smallest of so many singular values that rounding does not hide; 1 if there is none."""
    s = decomposition(target.name)[1][:rank]
    return min((value for value in s if value > target.eps * s[0] / 100), default=mpmath.mpf(1))


def inverse_overflows(target: Target) -> bool:
    """Whether one over some singular value that counts is beyond its largest number."""
    with mpmath.workdps(DIGITS):
        return bool(1 / least_that_counts(target) > target.largest)


def solution_overflows(target: Target, ridge: float) -> bool:
    y, alpha = exactly(target.y), ridge_of(target, ridge)
    with mpmath.workdps(DIGITS):
        found = solutions(decomposition(target.name), y, EPS, max(target.A.shape), alpha=alpha)
        return any(max(abs(x)) > target.largest for x, _ in found)


def variance_overflows(target: Target) -> bool:
    with mpmath.workdps(DIGITS):
        return bool(norm(target.A) ** 2 > target.largest / 100)


def wrong_svd(target: Target, solver: str, rank: int) -> str:
    A, (_, s, _) = target.A, decomposition(target.name)
    f = svd(A, rank, solver=solver, rng=0)
    if f.s.shape != (rank,) or f.U.dtype != (A.dtype if A.dtype.kind == "f" else np.float64):
        return f"{f.s.shape} values of {f.U.dtype}"
    if (off := not_orthonormal(f.U.T, f.Vt)) > target.rounding:
        return f"vectors are {off:.0e} from orthonormal"
    with mpmath.workdps(DIGITS):
        least = smallest(target)
        allowed = target.rounding * s[0] + least
        below = max(s[:rank] - exactly(f.s))
        above = max(exactly(f.s) - s[:rank])
        if above > allowed:
            return f"a value is {float(above / s[0]):.0e} too large"
        if solver == "fastpi" and rank < len(s):
            return ""  # an approximation without a bound, whose values cannot be too large
        if solver in GROWN:
            allowed += SETTLED * s[rank - 1] + RESOLVED * s[0]
        if below > allowed:
            return f"a value is {float(below / s[0]):.0e} too small"
        rest = norm((exactly(f.U) * exactly(f.s)) @ exactly(f.Vt) - exactly(A))
        excess = rest - norm(s[rank:])
        allowed = allowed * len(s) + least * A.size
        return "" if excess <= allowed else f"the product is off by {float(excess / s[0]):.0e}"


def wrong_adaptive(target: Target, stop) -> str:
    A = target.A
    f = svd(A, stop=stop, rng=0)
    if (off := not_orthonormal(f.U.T, f.Vt)) > target.rounding:
        return f"vectors are {off:.0e} from orthonormal"
    with mpmath.workdps(DIGITS):
        rest = norm((exactly(f.U) * exactly(f.s)) @ exactly(f.Vt) - exactly(A))
        bound = f.report.error * mpmath.sqrt(min(A.shape))
        allowed = bound + target.rounding * norm(A) + smallest(target) * A.size
        return "" if rest <= allowed else f"{float(rest):.0e} is beyond the bound"


def wrong_low_pinv(target: Target, solver: str, rank: int) -> str:
    """The product A·A⁺·A leaves of A what is beyond the rank, and little more."""
    A, (_, s, _) = exactly(target.A), decomposition(target.name)
    f = pinv(target.A, rank, solver=solver, rng=0)
    with mpmath.workdps(DIGITS):
        rest = norm(A @ exactly(f.to_array()) @ A - A)
        if solver == "fastpi" and rank < len(s):
            allowed = norm(A)  # an approximation without a bound
        else:
            condition = s[0] / least_that_counts(target, rank)
            allowed = norm(s[rank:]) + target.rounding * condition * s[0]
            if solver in GROWN:
                allowed += SETTLED * s[0]
        return "" if rest <= allowed else f"A is left by {float(rest / s[0]):.0e}"


def wrong_basis(target: Target, stop, rank: int | None = None) -> str:
    """Orthonormal columns, and an error no smaller than what is left."""
    A, (_, s, _) = target.A, decomposition(target.name)
    found = range_basis(A, stop, rng=0)
    if (off := not_orthonormal(found.Q.T)) > target.rounding:
        return f"columns are {off:.0e} from orthonormal"
    with mpmath.workdps(DIGITS):
        Q = exactly(found.Q)
        rest = norm(exactly(A) - Q @ (Q.T @ exactly(A)))
        least = target.rounding * s[0] + smallest(target) * A.size
        if rank is not None and rest > len(s) * (norm(s[rank:]) * 100 + least):
            return f"{float(rest / s[0]):.0e} is left"
        bound = found.errors[-1] * mpmath.sqrt(min(A.shape))
        return "" if rest <= bound + least * len(s) else f"{float(rest):.0e} is beyond the bound"


def wrong_psd(target: Target, solver: str, rank: int) -> str:
    """AAᵀ, which is positive semidefinite, scaled to a range in which it has entries."""
    A = target.A.astype(float)
    A = A / (np.abs(A).max() or 1.0)
    K = A @ A.T
    found = lowrank_psd(K, min(rank, len(K)), solver=solver, rng=0)
    with mpmath.workdps(DIGITS):
        F = exactly(found.F)
        trace, left = exactly(K).trace(), exactly(K) - F @ F.T
        if norm(left) > trace * (1 + target.rounding):
            return "the rest is larger than the matrix"
        if min(np.diag(left)) < -target.rounding * trace:
            return "the rest is not positive semidefinite"
        return ""


def wrong_pinv(target: Target, solver: str) -> str:
    A, factors = target.A, decomposition(target.name)
    one = exactly(np.eye(len(A)))
    found = exactly(pinv(A, solver=solver).to_array())
    coarse = RESOLVED if solver == "gram" else 0.0
    expected = solutions(factors, one, target.eps, max(A.shape), cut_to=coarse)
    return distance(found, [(x, target.rounding * k * norm(x)) for x, k in expected])


def wrong_lstsq(target: Target, solver: str, ridge: float) -> str:
    A, (U, s, Vt) = exactly(target.A), decomposition(target.name)
    y, size = exactly(target.y), max(A.shape)
    with mpmath.workdps(DIGITS):
        alpha = ridge_of(target, ridge)
        solution = lstsq(target.A, target.y, alpha=alpha, solver=solver, rng=0)
        found = exactly(solution.coef)
        residual = norm(A @ found - y)
        if solver in GROWING:
            allowed = norm(y) * (1 + target.rounding)
            return "" if residual <= allowed else "the residual is longer than y"
        cut_to = RESOLVED * 10 if solver in SQUARED else 0.0
        expected = solutions((U, s, Vt), y, EPS, size, alpha=alpha, cut_to=cut_to)
        if solver in SQUARED:  # predictions: of many solutions a shifted factor may give another
            error = solution.report.error or 0.0
            near = [
                (A @ x, (target.rounding * k**2 + PROMISED + SLACK * error) * norm(y))
                for x, k in expected
            ]
            return distance(A @ found, near)
        if solver == "auto":
            near = [(A @ x, (target.rounding * k + PROMISED) * norm(y)) for x, k in expected]
            return distance(A @ found, near)
        near = [
            (x, target.rounding * (k * norm(x) + k**2 * norm(A @ x - y) / (s[0] or 1)))
            for x, k in expected
        ]
        return distance(found, near)


def wrong_axes(target: Target, kind, solver: str) -> str:
    A, name = target.A, "svd_solver" if kind is FastPCA else "algorithm"
    few = solver in ("block-krylov", "randomized", "arpack")
    k = max(1, min(A.shape) // 2) if few else min(A.shape)
    if solver == "arpack" and k == min(A.shape):
        return ""
    model = kind(k, random_state=0, **{name: solver}).fit(A)
    with mpmath.workdps(DIGITS):
        H = exactly(A)
        centred = H - H.sum(axis=0) / len(H) if kind is FastPCA else H
        s = decomposed(centred)[1][:k]
        if model.singular_values_.shape != s.shape:
            return f"{len(model.singular_values_)} components of {len(s)}"
        if (off := not_orthonormal(model.components_)) > target.rounding:
            return f"components are {off:.0e} from orthonormal"
        if not np.isfinite(model.explained_variance_).all():
            return "variances are not finite"
        off = max(abs(exactly(model.singular_values_) ** 2 - s**2))
        allowed = target.rounding * norm(H) * s[0] + smallest(target) * norm(H)
        allowed += SETTLED * s[0] ** 2 if few else 0
        return "" if off <= allowed else f"a variance is off by {float(off / s[0] ** 2):.0e}"


@pytest.mark.parametrize("name", ["Läuchli, 1e-9", "float32, denormal"])
def test_some(name: str) -> None:
    tried(attempts(name))


@pytest.mark.attacks
@pytest.mark.parametrize("name", MATRICES)
def test_every_one(name: str, tally) -> None:
    ended = tried(attempts(name))
    tally(sum(ended.values()), **ended)


def test_the_oracle_is_right() -> None:
    """Of a matrix whose values are known, and of one whose solution is."""
    _, s, _ = decomposition("Hadamard")
    assert max(abs(s - mpmath.sqrt(8))) < 1e-15
    factors = decomposition("identity")
    ((x, condition),) = solutions(factors, exactly(np.arange(8.0)), EPS, 8)
    assert max(abs(x - np.arange(8.0))) < 1e-50
    assert abs(condition - 1) < 1e-50


def test_there_are_enough() -> None:
    assert len(MATRICES) >= 27
