"""Fits at the same time in one process: each has the bits it has alone, and BLAS its threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from pinvlearn import (
    ELMRegressor,
    FastPCA,
    KernelELMRegressor,
    PinvRegressor,
    RBFNetworkClassifier,
    svd,
)
from pinvlearn._core import threads
from threads import blas_limited_to, blas_limits

RNG = np.random.default_rng(0)
X = RNG.standard_normal((900, 6))
Y = np.sin(X).sum(axis=1)
WIDE = RNG.standard_normal((600, 400))


@pytest.fixture(autouse=True)
def _two_blas_threads(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 2)
    with blas_limited_to(2):
        yield
        assert blas_limits() == {2}


def by_blocks():
    return ELMRegressor(250, random_state=0).fit_blocks(
        [(X[i : i + 100], Y[i : i + 100]) for i in range(0, 900, 100)]
    )


FITS = {
    "rbf": lambda: RBFNetworkClassifier(250, random_state=0).fit(X, Y > 0).coef_,
    "elm": lambda: ELMRegressor(250, random_state=0).fit(X, Y).coef_,
    "blocks": lambda: by_blocks().coef_,
    "pieces": lambda: FastPCA(5).partial_fit(WIDE[:300]).partial_fit(WIDE[300:]).components_,
    "kernel": lambda: KernelELMRegressor(rank=80, random_state=0).fit(X, Y).predict(X),
    "linear": lambda: PinvRegressor().fit(WIDE, WIDE[:, :3] + 1.0).coef_,
    "svd": lambda: svd(WIDE, 20, rng=0).U,
}


@pytest.mark.sweep  # `test_all_kinds_at_once` is the short form
@pytest.mark.parametrize("name", FITS)
def test_32_at_once_have_the_bits_of_one_alone(name):
    alone = FITS[name]()
    with ThreadPoolExecutor(32) as pool:
        together = list(pool.map(lambda _: FITS[name](), range(32)))
    for found in together:
        np.testing.assert_array_equal(found, alone)


@pytest.mark.sweep
def test_all_kinds_at_once():
    names = 5 * list(FITS)
    alone = {name: FITS[name]() for name in FITS}
    with ThreadPoolExecutor(len(names)) as pool:
        together = list(pool.map(lambda name: FITS[name](), names))
    for name, found in zip(names, together, strict=True):
        np.testing.assert_array_equal(found, alone[name])


@pytest.mark.parametrize("name", sorted(set(FITS) - {"svd"}))
def test_the_bits_do_not_depend_on_blas_threads(name):
    two = FITS[name]()
    with blas_limited_to(1):
        np.testing.assert_array_equal(FITS[name](), two)


@pytest.mark.sweep
def test_a_fit_that_fails_among_others_leaves_no_limit():
    def fit(i):
        if i % 2:
            with pytest.raises(ValueError, match="rows|samples"):
                ELMRegressor(250, random_state=0).fit(X, Y[:-1])
        else:
            FITS["elm"]()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(fit, range(16)))
    assert blas_limits() == {2}
