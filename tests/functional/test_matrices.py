"""The four conditions of Moore and Penrose, to eps times the condition after the cut-off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrices import FORMS, MATRICES, M, N, fast, slow, sparse, with_spectrum
from pinvlearn import Rank, pinv

EPS = np.finfo(float).eps


def unscaled(A):
    """The matrix near one, and by what it was divided."""
    A = np.asarray(A)
    scale = float(np.abs(A).max()) or 1.0
    return np.asarray(A, dtype=float) / scale, scale


def kept(A, rcond=None):
    """Singular values above the cut-off."""
    s = np.linalg.svd(A, compute_uv=False)
    return s[s > (EPS * max(A.shape) if rcond is None else rcond) * s[0]]


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_four_conditions(matrix):
    original = MATRICES[matrix]()
    A, scale = unscaled(original)
    eps = np.finfo(np.float32).eps if original.dtype == np.float32 else EPS
    operator = pinv(original)
    P = operator.to_array().astype(float) * scale
    s = kept(A, eps * max(A.shape))
    assert operator.shape == P.shape == A.shape[::-1]
    assert operator.rank == len(s)
    if not len(s):
        np.testing.assert_array_equal(P, 0.0)
        return
    condition = s[0] / s[-1]
    bound = 10 * sum(A.shape) * eps * condition
    assert np.linalg.norm(A @ P @ A - A, 2) <= bound * s[0]
    assert np.linalg.norm(P @ A @ P - P, 2) <= bound / s[-1]
    assert np.linalg.norm(A @ P - (A @ P).T, 2) <= bound
    assert np.linalg.norm(P @ A - (P @ A).T, 2) <= bound


@pytest.mark.parametrize(
    "matrix", ["rank_deficient", "duplicate_columns", "rank_one", "wide", "constant_columns"]
)
def test_the_conditions_hold_to_rounding_where_the_cut_off_is_clear(matrix):
    """Not only to eps × cond(A), which is infinite here."""
    A, scale = unscaled(MATRICES[matrix]())
    P = pinv(MATRICES[matrix]()).to_array() * scale
    np.testing.assert_allclose(P, np.linalg.pinv(A, rcond=1e-10), atol=1e-9 * np.abs(P).max())


@given(
    m=st.integers(1, 12),
    n=st.integers(1, 12),
    rank=st.integers(1, 12),
    decades=st.floats(0.0, 6.0),
    seed=st.integers(0, 1000),
)
def test_the_four_conditions_on_any_shape_and_rank(m, n, rank, decades, seed):
    k = min(m, n, rank)
    A = with_spectrum(m, n, np.logspace(0.0, -decades, k) if k > 1 else [1.0], seed)
    operator = pinv(A)
    P = operator.to_array()
    bound = 100 * (m + n) * EPS * 10.0**decades
    assert operator.rank == k
    assert np.linalg.norm(A @ P @ A - A, 2) <= bound
    assert np.linalg.norm(P @ A @ P - P, 2) <= bound * 10.0**decades
    assert np.linalg.norm(A @ P - (A @ P).T, 2) <= bound
    assert np.linalg.norm(P @ A - (P @ A).T, 2) <= bound


@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("matrix", MATRICES)
def test_ridge(matrix, alpha):
    original = MATRICES[matrix]()
    A, scale = unscaled(original)
    eps = np.finfo(np.float32).eps if original.dtype == np.float32 else EPS
    norm = np.linalg.norm(A, 2) or 1.0
    ridge = alpha * norm**2
    expected = np.linalg.solve(A.T @ A + ridge * np.eye(A.shape[1]), A.T)
    P = pinv(original, alpha=ridge * scale**2).to_array().astype(float) * scale
    # Solving with the Gram matrix costs the reference eps·(1 + 1/alpha).
    bound = 10 * sum(A.shape) * eps * (1.0 + 1.0 / alpha) / norm
    np.testing.assert_allclose(P, expected, rtol=0, atol=bound)


@pytest.mark.parametrize(
    "options",
    [{"rank": 4}, {"rank": 0.1}, {"stop": Rank(4)}, {"rank": 4, "solver": "randomized"}],
)
def test_low_rank(options):
    A = fast()
    U, s, Vt = np.linalg.svd(A)
    P = pinv(A, **options, rng=0)
    assert P.rank == 4
    if "stop" not in options:
        np.testing.assert_allclose(P.to_array(), (Vt[:4].T / s[:4]) @ U[:, :4].T, atol=1e-4)


@pytest.mark.parametrize("rcond", [0.45, 0.095, 0.03])
def test_cut_off(rcond):
    P = pinv(slow(), rcond=rcond)
    assert P.rank == len(kept(slow(), rcond))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_matrix(form):
    A = sparse().toarray()
    P = pinv(FORMS[form](A), rcond=1e-8)
    expected = np.linalg.pinv(A, rcond=1e-8)
    np.testing.assert_allclose(P.to_array(), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("Y", [np.arange(float(M)), np.eye(M)[:, :5]], ids=["vector", "matrix"])
def test_it_is_applied_without_being_formed(Y, monkeypatch):
    P = pinv(slow())
    expected = np.linalg.lstsq(slow(), Y, rcond=None)[0]
    monkeypatch.setattr(type(P), "to_array", None)
    np.testing.assert_allclose(P @ Y, expected, atol=100 * M * EPS * N * np.linalg.norm(Y))
    assert (P.T @ np.ones(N)).shape == (M,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha=-1.0"),
        ({"alpha": "auto"}, "alpha='auto'"),
        ({"alpha": True}, "alpha=True"),
        ({"rcond": 2.0}, "rcond=2.0"),
        ({"rank": 99}, "rank=99"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        pinv(slow(), **options)
