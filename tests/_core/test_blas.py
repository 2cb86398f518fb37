"""The symmetric product in place, against NumPy's and SciPy's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.linalg.blas import dsyrk

from pinvlearn._core.arrays import well_laid
from pinvlearn._core.blas import add_gram, add_rows
from pinvlearn._core.device import on_device, to_host


@pytest.mark.parametrize(
    ("m", "p"), [(1, 1), (5, 3), (3, 40), (700, 130), (40, 900), (0, 4), (4, 0)]
)
@pytest.mark.parametrize("margin", [0, 3])
def test_the_lower_triangle_is_added_to_and_nothing_else(rng, m, p, margin):
    Z = rng.standard_normal((m, p + margin))[:, :p]
    whole = rng.standard_normal((p, p + margin))
    before, G = whole.copy(), whole[:, :p]
    add_gram(Z, G)
    np.testing.assert_allclose(
        np.tril(G - before[:, :p]), np.tril(Z.T @ Z), atol=1e-14 * max(m, 1) * max(p, 1)
    )
    assert np.array_equal(np.triu(G, 1), np.triu(before[:, :p], 1))
    assert np.array_equal(whole[:, p:], before[:, p:])


def test_it_has_the_bits_of_the_same_routine_with_the_gil(rng):
    Z, G = rng.standard_normal((300, 70)), rng.standard_normal((70, 70))
    expected = dsyrk(1.0, Z.T, beta=1.0, c=G.T.copy(order="F")).T
    add_gram(Z, G)
    assert np.array_equal(np.tril(G), np.tril(expected))


def test_threads_do_not_disturb_each_other(rng):
    Zs = rng.standard_normal((8, 400, 50))
    Gs = np.zeros((8, 50, 50))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add_gram, Zs, Gs))
    alone = np.zeros_like(Gs)
    for Z, G in zip(Zs, alone, strict=True):
        add_gram(Z, G)
    assert np.array_equal(Gs, alone)


@pytest.mark.parametrize("m", [0, 3, 16, 45])
def test_groups_of_rows_add_up_on_a_device(backend, rng, m):
    A, B, G = (rng.standard_normal(shape) for shape in ((m, 5), (m, 3), (5, 3)))
    there = [on_device(backend.put(x)) for x in (A, B, G)]
    add_rows(*there)
    np.testing.assert_allclose(to_host(there[2]), G + A.T @ B, atol=1e-14 * (m + 1))


def test_rows_or_columns_that_begin_at_multiples_are_well_laid(backend):
    whole = on_device(backend.put(np.zeros((64, 32))))
    assert well_laid(whole)
    assert well_laid(whole.T)
    if backend.xp.__name__ != "array_api_strict":
        assert well_laid(whole[:, :5])
        assert not well_laid(on_device(backend.put(np.zeros((64, 5)))))
        assert not well_laid(whole[:, ::2])
