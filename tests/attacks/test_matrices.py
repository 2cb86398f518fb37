"""Nasty matrices against 60 digits: every method is as near as its condition allows, or says so.

An attempt is one call.  It holds if its error is within a small multiple of eps · size · condition
of the value in 60 digits, or if it is refused with a ValueError.  A method that works on squares
(`gram`, `cholesky`) may also say in its report how far off it is.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import pytest

pytest.importorskip("mpmath")

import mpmath

from attacks.nasty import (
    DIGITS,
    EPS,
    MATRICES,
    decomposed,
    decomposition,
    exactly,
    norm,
    solutions,
)
from pinvlearn import ELMRegressor, FastPCA, PinvRegressor, Tolerance, lstsq, pinv, svd

WHOLE = ("auto", "exact", "gram")
GROWN = ("block-krylov", "randomized", "chebyshev", "frpca", "arpack")
SQUARED = ("gram", "cholesky")
RIDGES = (0.0, 1e-14, 1e-8)

SLACK = 10
"""How many times eps · size · condition an error may be."""

SETTLED = 1e-3
"""Of the smallest value wanted: how far from it an iterative method may end, as documented."""

RESOLVED = 1e-7
"""Of the largest singular value: what products with AᵀA do not resolve, as documented."""

PROMISED = 1e-8
"""Relative error of predictions that `auto` promises."""


REFUSED = "refused"


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


Attempt = tuple[str, Callable[[], str]]
"""What is tried, and a call that answers with what is wrong, or nothing."""


def attempts(name: str) -> Iterator[Attempt]:
    target = Target(name)
    k = min(target.A.shape)
    for rank in sorted({k, (k + 1) // 2}):
        for solver in (*WHOLE, *GROWN, "fastpi"):
            yield f"svd {solver} {rank}", lambda s=solver, r=rank: wrong_svd(target, s, r)
    yield "svd adaptive", lambda: wrong_adaptive(target)
    for solver in WHOLE:
        yield f"pinv {solver}", lambda s=solver: wrong_pinv(target, s)
    for solver in ("auto", "exact", "qr", "gram", "cholesky", "adaptive"):
        for ridge in (r for r in RIDGES if r == 0.0 or 0.0 < ridge_of(target, r) < np.inf):
            yield (
                f"lstsq {solver} {ridge}",
                lambda s=solver, a=ridge: wrong_lstsq(target, s, a),
            )
    if len(target.A) < 2:
        return
    for solver in WHOLE:
        yield f"FastPCA {solver}", lambda s=solver: wrong_pca(target, s)
    for solver in ("auto", "exact", "qr", "gram", "cholesky"):
        for ridge in RIDGES:
            for kind in ("pinv", "elm"):
                yield (
                    f"{kind} read-out {solver} {ridge}",
                    lambda k=kind, s=solver, a=ridge: wrong_readout(target, k, s, a),
                )


def ridge_of(target: Target, ridge: float) -> float:
    """A ridge in units of the largest singular value squared; 0 or infinite if there is none."""
    with mpmath.workdps(DIGITS):
        return float(ridge * decomposition(target.name)[1][0] ** 2)


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


def wrong_adaptive(target: Target) -> str:
    A = target.A
    f = svd(A, stop=Tolerance(0.1), rng=0)
    if (off := not_orthonormal(f.U.T, f.Vt)) > target.rounding:
        return f"vectors are {off:.0e} from orthonormal"
    with mpmath.workdps(DIGITS):
        rest = norm((exactly(f.U) * exactly(f.s)) @ exactly(f.Vt) - exactly(A))
        bound = f.report.error * mpmath.sqrt(min(A.shape))
        allowed = bound + target.rounding * norm(A) + smallest(target) * A.size
        return "" if rest <= allowed else f"{float(rest):.0e} is beyond the bound"


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
        if solver == "adaptive":
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


def wrong_readout(target: Target, kind: str, solver: str, ridge: float) -> str:
    A, y = target.A, target.y
    if kind == "pinv":
        model = PinvRegressor(alpha=ridge, solver=solver)
    else:
        model = ELMRegressor(10, alpha=ridge, solver=solver, random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The feature scales differ", UserWarning)
        found = exactly(model.fit(A, y).predict(A))
    floats = A if A.dtype.kind == "f" else A.astype(float)
    H, Z, factors = features(target.name, model.map_(floats).tobytes(), model.map_, kind)
    with mpmath.workdps(DIGITS):
        offset = exactly(y).sum() / len(y)
        centred = exactly(y) - offset
        cut_to = RESOLVED * 10 if solver in SQUARED else 0.0
        expected = solutions(factors, centred, EPS, max(Z.shape), alpha=ridge, cut_to=cut_to)
        # Centring rounds relative to the features themselves, which may be far from their mean.
        s, scale = factors[1], norm(H)
        worse = max(scale / s[0], 1) if s[0] else 1
        near = []
        for x, k in expected:
            rounding = target.rounding * worse * (k**2 if solver in SQUARED else k)
            error = SLACK * (model.report_.error or 0.0) if solver in SQUARED else 0.0
            allowed = (rounding + PROMISED + error) * norm(y) + target.rounding * scale * norm(x)
            near.append((Z @ x + offset, allowed))
        return distance(found, near)


_FEATURES: dict[tuple[str, bytes], tuple] = {}


def features(name: str, key: bytes, map_, kind: str):
    """Features in 60 digits, the same about their means, and the decomposition of those."""
    if (name, key) not in _FEATURES:
        A = MATRICES[name]()
        H = exactly(A if kind == "pinv" else map_(A if A.dtype.kind == "f" else A.astype(float)))
        with mpmath.workdps(DIGITS):
            Z = H - H.sum(axis=0) / len(H)
            _FEATURES[name, key] = H, Z, decomposed(Z)
    return _FEATURES[name, key]


def wrong_pca(target: Target, solver: str) -> str:
    A = target.A
    model = FastPCA(svd_solver=solver).fit(A)
    with mpmath.workdps(DIGITS):
        H = exactly(A)
        _, s, _ = decomposed(H - H.sum(axis=0) / len(H))
        if model.singular_values_.shape != s.shape:
            return f"{len(model.singular_values_)} components of {len(s)}"
        if (off := not_orthonormal(model.components_)) > target.rounding:
            return f"components are {off:.0e} from orthonormal"
        off = max(abs(exactly(model.singular_values_) ** 2 - s**2))
        allowed = target.rounding * norm(H) * s[0] + smallest(target) * norm(H)
        return "" if off <= allowed else f"a variance is off by {float(off / s[0] ** 2):.0e}"


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


def outcome(attempt: Callable[[], str]) -> str:
    """What is wrong, or "refused" after an error of the documented kind."""
    try:
        return attempt()
    except ValueError as error:
        return REFUSED if len(str(error)) > 20 else f"a message that says nothing: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check(name: str) -> dict[str, int]:
    """How many attempts were answered and refused."""
    found = {what: outcome(attempt) for what, attempt in attempts(name)}
    failed = [f"{what}: {wrong}" for what, wrong in found.items() if wrong not in ("", REFUSED)]
    assert not failed, "\n".join(failed)
    refused = list(found.values()).count(REFUSED)
    return {"answered": len(found) - refused, "refused": refused}


@pytest.mark.parametrize("name", ["Läuchli, 1e-9", "duplicated columns", "float32, denormal"])
def test_some(name: str) -> None:
    check(name)


@pytest.mark.attacks
@pytest.mark.parametrize("name", MATRICES)
def test_every_one(name: str, tally) -> None:
    ended = check(name)
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
