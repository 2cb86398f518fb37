"""Many threads at once: the bits of one alone, BLAS as before, and reads that only read."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pinvlearn import (
    ELMClassifier,
    ELMRegressor,
    FastPCA,
    FastTruncatedSVD,
    PinvRegressor,
    RBFNetworkRegressor,
)
from pinvlearn._core import threads
from threads import blas_limited_to, blas_limits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((240, 5))
Y = np.sin(X).sum(axis=1)
CENTERS = X[:15]
ELM = {"n_hidden": 20, "alpha": 0.01, "random_state": 0}
RBF = {"centers": CENTERS, "gamma": 0.2, "alpha": 0.01}
TOGETHER = 8


@pytest.fixture(autouse=True)
def _impatient():
    """Threads take turns a thousand times as often as usual: races show in rounds by the dozen."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture(autouse=True)
def _two_blas_threads(monkeypatch):
    """More than one, so that a limit set and not taken back would be seen."""
    monkeypatch.setattr(threads, "processors", lambda: 2)
    with blas_limited_to(2):
        yield
        assert blas_limits() == {2}


def blocks(size: int = 40):
    return [(X[i : i + size], Y[i : i + size]) for i in range(0, len(X), size)]


STREAMED: dict[str, Callable[[], np.ndarray]] = {
    "elm": lambda: ELMRegressor(**ELM).fit_blocks(blocks()).coef_,
    "elm by qr": lambda: ELMRegressor(**ELM, solver="qr").fit_blocks(blocks()).coef_,
    "rbf": lambda: RBFNetworkRegressor(**RBF).fit_blocks(blocks()).coef_,
    "linear": lambda: PinvRegressor(alpha=0.01).fit_blocks(blocks()).coef_,
    "classes": lambda: (
        ELMClassifier(**ELM).fit_blocks([(block, y > 0) for block, y in blocks()]).coef_
    ),
    "pieces": lambda: in_pieces(ELMRegressor(**ELM)).coef_,
    "axes": lambda: in_pieces(FastPCA(3)).components_,
}


def in_pieces(model):
    for block, y in blocks(80):
        model.partial_fit(block, y)
    return model


def at_once(n: int, call: Callable[[int], object]) -> list:
    """n calls that begin together, each in a thread of its own."""
    start = threading.Barrier(n, timeout=60)

    def run(i: int) -> object:
        start.wait()
        return call(i)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(run, range(n)))


def check_fits(rounds: int, together: int, tally) -> None:
    wrong = []
    for name, fit in STREAMED.items():
        alone = fit().tobytes()
        for _ in range(rounds):
            found = at_once(together, lambda _, fit=fit: fit().tobytes())
            wrong += [name for bits in found if bits != alone]
            wrong += [f"{name}: BLAS has {blas_limits()}"] * (blas_limits() != {2})
    n = rounds * len(STREAMED) * together
    tally(n, answered=n - len(wrong))
    assert not wrong


def test_streamed_fits(tally) -> None:
    check_fits(1, 8, tally)


@pytest.mark.attacks
def test_many_streamed_fits(tally) -> None:
    check_fits(4, 32, tally)


UNSOLVED: dict[str, Callable[[], object]] = {
    "elm": lambda: ELMRegressor(**ELM),
    "elm by qr": lambda: ELMRegressor(**ELM, solver="qr"),
    "linear, a path of alphas": lambda: PinvRegressor(alpha=[1e-3, 1.0], loo_scoring=None),
    "FastPCA": lambda: FastPCA(3),
    "FastTruncatedSVD": lambda: FastTruncatedSVD(3),
}
"""Models that solve at the first reading after `partial_fit`."""


def output(model) -> np.ndarray:
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def same_or_error(call: Callable[[], object], expected: bytes) -> str:
    """Nothing if the call gives these bits."""
    try:
        return "" if np.asarray(call()).tobytes() == expected else "other bits"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def check_first_readings(rounds: int, tally) -> None:
    """First predictions, and other readings among them, from threads that begin together."""
    wrong = []
    names = list(UNSOLVED)
    for number in range(rounds):
        name = names[number % len(names)]
        expected = output(in_pieces(UNSOLVED[name]())).tobytes()
        model = in_pieces(UNSOLVED[name]())
        others = [
            lambda model=model: model.summary_,
            lambda model=model: [hasattr(model, a) for a in ("coef_", "components_", "nothing_")],
            lambda model=model: repr(model) + str(model.report_),
        ]

        def read(i: int, model=model, expected=expected, others=others) -> str:
            if i % 2:
                return same_or_error(lambda: output(model), expected)
            try:
                others[i // 2 % len(others)]()
            except Exception as error:
                return f"{type(error).__name__}: {error}"
            return ""

        bad = [found for found in at_once(TOGETHER, read) if found]
        wrong += [f"round {number}, {name}: {bad}"] if bad else []
    tally(rounds, answered=rounds - len(wrong))
    assert not wrong


def test_first_readings(tally) -> None:
    check_first_readings(20, tally)


@pytest.mark.attacks
def test_many_first_readings(tally) -> None:
    check_first_readings(600, tally)


def _names_at(model) -> list[bool]:
    return [hasattr(model, name) for name in ("coef_", "components_", "loo_scores_", "nothing_")]


READINGS: dict[str, Callable[[object], object]] = {
    "summary_": lambda model: model.summary_,
    "what was solved": lambda model: getattr(model, "coef_", None),
    "report_": lambda model: model.report_,
    "output": output,
    "hasattr": _names_at,
    "repr": repr,
    "get_params": lambda model: model.get_params(),
    "attributes, one by one": lambda model: [n for _ in range(50) for n in vars(model) if n],
}
MODELS: dict[str, Callable[[], object]] = {
    "fit": lambda: ELMRegressor(**ELM).fit(X, Y),
    **{name: lambda make=make: in_pieces(make()) for name, make in UNSOLVED.items()},
}


def check_reads(rounds: int, tally) -> None:
    """Readings leave what a model holds as it was: the same names, and the same objects."""
    wrong = []
    for number in range(rounds):
        for name, make in MODELS.items():
            model = make()
            before = {n: value for n, value in vars(model).items() if value is not None}
            names = set(vars(model))
            at_once(TOGETHER, lambda i, model=model: list(READINGS.values())[i](model))
            changed = names ^ set(vars(model))
            changed |= {n for n in before if vars(model).get(n) is not before[n]}
            wrong += [f"round {number}, {name}: {changed}"] if changed else []
    n = rounds * len(MODELS) * len(READINGS)
    tally(n, answered=n - len(wrong))
    assert len(READINGS) == TOGETHER
    assert not wrong


def test_reads_change_nothing(tally) -> None:
    check_reads(3, tally)


@pytest.mark.attacks
def test_many_reads_change_nothing(tally) -> None:
    check_reads(60, tally)
