"""Nasty matrices through every learner: read-outs against 60 digits, all else finite, or refused.

A read-out is judged by its outputs for the rows it was fitted to, given its features.  What is
refused must be out of the range that is documented, or beyond the digits of a kernel matrix.
"""

import inspect
import itertools
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

pytest.importorskip("mpmath")

import mpmath

import pinvlearn
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
    distance,
    exactly,
    norm,
    solutions,
    tried,
)

RIDGES = (0.0, 1e-14, 1e-8)
SQUARED = ("gram", "cholesky")
GROWING = ("adaptive", "adaptive-flat", "randomized")
SOLVERS = ("auto", "exact", "qr", "gram", "cholesky", *GROWING)

READOUTS = {
    "PinvRegressor": (pinvlearn.PinvRegressor, {}, SOLVERS),
    "PinvClassifier": (pinvlearn.PinvClassifier, {}, ("auto",)),
    "ELMRegressor": (pinvlearn.ELMRegressor, {"n_hidden": 10}, SOLVERS),
    "ELMClassifier": (pinvlearn.ELMClassifier, {"n_hidden": 10}, ("auto",)),
    "RBFNetworkRegressor": (pinvlearn.RBFNetworkRegressor, {"n_kernels": 6}, SOLVERS),
    "RBFNetworkClassifier": (pinvlearn.RBFNetworkClassifier, {"n_kernels": 6}, ("auto",)),
    "DeepELMRegressor": (pinvlearn.DeepELMRegressor, {"layers": (4,), "n_hidden": 8}, ("auto",)),
    "DeepELMClassifier": (pinvlearn.DeepELMClassifier, {"layers": (4,), "n_hidden": 8}, ("auto",)),
    "ExtremeSVMClassifier": (pinvlearn.ExtremeSVMClassifier, {"n_hidden": 8}, ("auto",)),
}
"""Learners whose outputs are a ridge read-out of their features; the last has no intercept."""

KERNELS = ("rbf", "linear", "poly", "laplacian", "cosine")

OTHERS = {
    "FeatureMachineRegressor": lambda A, y: (
        pinvlearn.FeatureMachineRegressor(random_state=0, max_rounds=1).fit(A, y).predict(A)
    ),
    "FeatureMachineClassifier": lambda A, y: (
        pinvlearn.FeatureMachineClassifier(random_state=0, max_rounds=1)
        .fit(A, classes(y))
        .decision_function(A)
    ),
    "FastPIClassifier": lambda A, y: (
        pinvlearn.FastPIClassifier(random_state=0)
        .fit(A, np.column_stack([classes(y), ~classes(y)]).astype(int))
        .decision_function(A)
    ),
    "ELMAutoEncoder": lambda A, y: pinvlearn.ELMAutoEncoder(5, random_state=0).fit(A).transform(A),
    "RandomFeatures": lambda A, y: pinvlearn.RandomFeatures(5, random_state=0).fit(A).transform(A),
    "RBFFeatures": lambda A, y: pinvlearn.RBFFeatures(5, random_state=0).fit(A).transform(A),
    "TabularInputs": lambda A, y: pinvlearn.TabularInputs().fit(A).transform(A),
    "SVDImputer": lambda A, y: pinvlearn.SVDImputer(random_state=0).fit_transform(gaps(A)),
    "PartialSVD": lambda A, y: (
        pinvlearn.PartialSVD(1, random_state=0, n_samples=5)
        .fit(np.argwhere(known(A)), A[known(A)].astype(float))
        .predict(np.argwhere(~known(A)))
    ),
    "ReceptiveFields": lambda A, y: (
        pinvlearn.ReceptiveFields(2, size=2, pool=1, image_shape=(2, A.shape[1] // 2))
        .fit(A[:, : A.shape[1] // 2 * 2])
        .transform(A[:, : A.shape[1] // 2 * 2])
        if A.shape[1] > 3
        else np.zeros(1)
    ),
}
"""What has no read-out to compare, or chooses among many: its outputs are finite."""


def classes(y: np.ndarray) -> np.ndarray:
    """Two classes, each of at least one row."""
    return y >= np.sort(y)[len(y) // 2]


def known(A: np.ndarray) -> np.ndarray:
    """All entries but one in each row."""
    return np.arange(A.shape[1]) != np.arange(len(A))[:, None] % max(A.shape[1], 2)


def gaps(A: np.ndarray) -> np.ndarray:
    with_gaps = A.astype(A.dtype if A.dtype.kind == "f" else float)
    with_gaps[-1, 0] = np.nan
    return with_gaps


def attempts(name: str) -> Iterator[Attempt]:
    target = Target(name)
    for learner, (_, _, solvers) in READOUTS.items():
        for solver in solvers:
            for ridge in (r for r in RIDGES if r or learner != "ExtremeSVMClassifier"):
                yield (
                    f"{learner} {solver} {ridge}",
                    lambda n=learner, s=solver, a=ridge: wrong_readout(target, n, s, a),
                    lambda: target.out_of_range,
                )
    for kernel in KERNELS:
        for ridge in (0.0, 1e-12, 1e-4):
            yield (
                f"KernelELM {kernel} {ridge}",
                lambda k=kernel, a=ridge: wrong_kernel(target, k, a),
                lambda k=kernel, a=ridge: beyond_its_digits(target, k, a),
            )
        for solver in ("nystroem", "rpcholesky", "randomized"):
            yield (
                f"KernelELM {kernel} {solver}",
                lambda k=kernel, s=solver: wrong_low_rank(target, k, s),
                lambda: target.out_of_range,
            )
        for ridge in (1e-8, 1e-2):
            yield (
                f"KernelELMClassifier {kernel} {ridge}",
                lambda k=kernel, a=ridge: wrong_kernel_classes(target, k, a),
                lambda k=kernel, a=ridge: beyond_its_digits(target, k, a),
            )
    for learner, use in OTHERS.items():
        yield (
            learner,
            lambda u=use: not_finite(u(target.A, target.y)),
            lambda: target.out_of_range_as_it_is or not target.A.any(),  # nothing to learn from
        )


def not_finite(outputs: np.ndarray) -> str:
    return "" if np.isfinite(np.asarray(outputs, dtype=float)).all() else "not finite"


def wrong_readout(target: Target, learner: str, solver: str, ridge: float) -> str:
    A, y = target.A, target.y
    kind, options, _ = READOUTS[learner]
    if "random_state" in inspect.signature(kind).parameters:
        options = options | {"random_state": 0}
    model = kind(alpha=ridge, solver=solver, **options)
    if learner.endswith("Classifier"):
        found = model.fit(A, classes(y)).decision_function(A)
        y = np.where(classes(y), 1.0, -1.0)
    else:
        found = model.fit(A, y).predict(A)
    found = exactly(found)
    features = A if learner.startswith("Pinv") else model.map_(A.astype(float))
    centred = learner != "ExtremeSVMClassifier"
    H, Z, factors = in_digits(features.tobytes(), features.dtype.str, features.shape, centred)
    with mpmath.workdps(DIGITS):
        offset = exactly(y).sum() / len(y) if centred else mpmath.mpf(0)
        if solver in GROWING:
            allowed = norm(exactly(y) - offset) * (1 + target.rounding)
            return "" if norm(found - exactly(y)) <= allowed else "the residual is longer than y"
        cut_to = RESOLVED * 10 if solver in SQUARED else 0.0
        size, goal = max(Z.shape), exactly(y) - offset
        expected = solutions(factors, goal, EPS, size, alpha=ridge, cut_to=cut_to)
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


@cache
def in_digits(content: bytes, dtype: str, shape: tuple[int, int], centred: bool):
    """Features in 60 digits, the same about their means, and the decomposition of those."""
    H = exactly(np.frombuffer(content, dtype).reshape(shape))
    with mpmath.workdps(DIGITS):
        Z = H - H.sum(axis=0) / len(H) if centred else H
        return H, Z, decomposed(Z)


def kernel_machine(kernel: str, alpha: float, solver: str = "exact"):
    return pinvlearn.KernelELMRegressor(kernel, alpha=alpha, solver=solver, random_state=0)


def wrong_kernel(target: Target, kernel: str, alpha: float) -> str:
    """Against the solution for the kernel values as they are in floats."""
    A, y = target.A, target.y
    model = kernel_machine(kernel, alpha).fit(A, y)
    found = model.predict(A)
    if alpha == 0.0:  # among many that fit as well
        spread = np.linalg.norm(y - y.mean())
        residual = np.linalg.norm(found - y)
        return "" if residual <= (1 + 1e-6) * spread else f"the residual is {residual:.1e}"
    K = exactly(model.map_(A.astype(float)))
    n = len(K)
    with mpmath.workdps(DIGITS):
        system = mpmath.ones(n + 1)
        for i in range(n):
            for j in range(n):
                system[i, j] = K[i, j] + (alpha if i == j else 0)
        system[n, n] = 0
        solution = mpmath.lu_solve(system, mpmath.matrix([*exactly(y), 0]))
        c = np.array(solution.tolist(), dtype=object)[:, 0]
        expected = K @ c[:n] + c[n]
        allowed = (PROMISED + SLACK * (model.report_.error or 0.0)) * norm(y)
        return distance(exactly(found), [(expected, allowed)])


def wrong_kernel_classes(target: Target, kernel: str, alpha: float) -> str:
    """Classes are solved as targets of 1 and -1 are, and their probabilities are finite."""
    A, y = target.A, classes(target.y)
    kind = pinvlearn.KernelELMClassifier
    model = kind(kernel, alpha=alpha, solver="exact", random_state=0).fit(A, y)
    as_numbers = kernel_machine(kernel, alpha).fit(A, np.where(y, 1.0, -1.0)).predict(A)
    apart = float(np.abs(model.decision_function(A) - as_numbers).max())
    return f"{apart:.1e} from the regressor" * (apart > 1e-6) or not_finite(model.predict_proba(A))


def beyond_its_digits(target: Target, kernel: str, alpha: float) -> bool:
    """Whether rounding of the kernel values moves the solution by 1e-6 and more."""
    if target.out_of_range:
        return True
    A = target.A.astype(float)
    large = 1e6 * max(1.0, float(np.abs(A).max())) ** 8  # beyond doubt, to have the kernel values
    K = kernel_machine(kernel, min(large, 1e300)).fit(A, target.y).map_(A)
    least = alpha + abs(np.linalg.eigvalsh(K)[0])
    return bool(EPS * len(K) * np.abs(K).max() > 1e-6 * least)


def wrong_low_rank(target: Target, kernel: str, solver: str) -> str:
    """Of lower rank, and no worse than the mean of the targets."""
    A, y = target.A, target.y
    found = kernel_machine(kernel, 1e-4, solver).fit(A, y).predict(A)
    residual, spread = np.linalg.norm(found - y), np.linalg.norm(y - y.mean())
    return "" if residual <= (1 + 1e-6) * spread else f"the residual is {residual:.1e}"


def test_one() -> None:
    tried(itertools.islice(attempts("nearly dependent, 1e-12"), 0, None, 3))


@pytest.mark.attacks
@pytest.mark.parametrize("name", [name for name in MATRICES if len(MATRICES[name]()) > 1])
def test_every_one(name: str, tally) -> None:
    ended = tried(attempts(name))
    tally(sum(ended.values()), **ended)


def test_every_learner_is_here() -> None:
    learners = {
        name
        for name in pinvlearn.__all__
        if hasattr(getattr(pinvlearn, name), "fit") and name[0].isupper()
    }
    here = {*READOUTS, *OTHERS, "KernelELMRegressor", "KernelELMClassifier"}
    assert learners - here == {"FastPCA", "FastTruncatedSVD"}  # in test_matrices.py
