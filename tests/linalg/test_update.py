"""Appending rows and columns gives the decomposition of the longer matrix."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from matrices import MATRICES, fast, kernel, rank_deficient, slow
from pinvlearn import svd

EPS = np.finfo(float).eps
AXES = {"append_rows": 0, "append_columns": 1}


def piece(shape, name, count, seed=0):
    """New rows (or columns) for a matrix of the given shape."""
    size = (count, shape[1]) if name == "append_rows" else (shape[0], count)
    return np.random.default_rng(seed).standard_normal(size)


def check(updated, whole, scale=1.0):
    """Orthonormal to rounding, and the values and entries of the whole."""
    k = updated.rank
    bound = 20 * sum(whole.shape) * EPS
    np.testing.assert_allclose(updated.U.T @ updated.U, np.eye(k), atol=bound)
    np.testing.assert_allclose(updated.Vt @ updated.Vt.T, np.eye(k), atol=bound)
    assert np.all(np.diff(updated.s) <= 0.0)
    assert np.all(updated.Vt[np.arange(k), np.abs(updated.Vt).argmax(axis=1)] > 0.0)
    s = np.linalg.svd(whole / scale, compute_uv=False)
    expected = np.append(s, np.zeros(max(k - len(s), 0)))[:k]
    np.testing.assert_allclose(updated.s / scale, expected, atol=bound * s[0])
    assert updated.shape == whole.shape
    difference = (updated.U * (updated.s / scale)) @ updated.Vt - whole / scale
    assert np.linalg.norm(difference, 2) <= bound * max(s[0], 1.0)


@pytest.mark.parametrize("count", [1, 5, 70])
@pytest.mark.parametrize("name", AXES)
@pytest.mark.parametrize("matrix", [m for m in MATRICES if m not in ("huge", "tiny", "single")])
def test_appending(matrix, name, count):
    A = MATRICES[matrix]()
    B = piece(A.shape, name, count)
    check(getattr(svd(A), name)(B), np.concatenate([A, B], axis=AXES[name]))


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("name", AXES)
def test_appending_at_every_scale(name, scale):
    A = slow()
    B = piece(A.shape, name, 5)
    whole = np.concatenate([A, B], axis=AXES[name]) * scale
    check(getattr(svd(A * scale), name)(B * scale), whole, scale)


@pytest.mark.parametrize("name", AXES)
def test_what_is_already_there_adds_no_direction(name):
    A = rank_deficient()
    f = svd(A, 12)
    B = A[:4] if name == "append_rows" else A[:, :4]
    updated = getattr(f, name)(B)
    assert updated.rank == 12
    check(updated, np.concatenate([A, B], axis=AXES[name]))


@pytest.mark.parametrize("name", AXES)
def test_zeros_add_nothing(name):
    A = fast()
    B = np.zeros_like(piece(A.shape, name, 3))
    updated = getattr(svd(A), name)(B)
    check(updated, np.concatenate([A, B], axis=AXES[name]))
    np.testing.assert_allclose(updated.s[: min(A.shape)], svd(A).s, atol=100 * EPS)


@pytest.mark.parametrize("name", AXES)
def test_a_sparse_piece(name):
    A = fast()
    B = piece(A.shape, name, 5)
    B[np.abs(B) < 1.0] = 0.0
    dense = getattr(svd(A), name)(B)
    updated = getattr(svd(A), name)(scipy.sparse.csr_array(B))
    np.testing.assert_array_equal(updated.to_array(), dense.to_array())


@pytest.mark.parametrize("name", AXES)
def test_single_precision_stays_single(name):
    A = slow().astype(np.float32)
    updated = getattr(svd(A), name)(piece(A.shape, name, 4).astype(np.float32))
    assert updated.U.dtype == updated.s.dtype == updated.Vt.dtype == np.float32


@given(order=st.permutations(range(6)))
def test_many_small_updates_keep_the_factors_orthonormal(order):
    """Rows in any order, piece by piece: the same values, and no drift."""
    A = kernel()
    pieces = np.array_split(A, 6)
    f = svd(pieces[order[0]])
    for i in order[1:]:
        f = f.append_rows(pieces[i])
    check(f, np.concatenate([pieces[i] for i in order]))


def test_a_truncated_decomposition_is_updated_as_it_is():
    A, B = slow(), piece((60, 40), "append_rows", 3)
    f = svd(A).truncate(5)
    check(f.append_rows(B), np.concatenate([f.to_array(), B]))


@pytest.mark.parametrize("name", AXES)
def test_the_report_says_what_happened(name):
    updated = getattr(svd(slow()), name)(piece((60, 40), name, 3))
    assert updated.report.method == "append"
    assert ("rows" if name == "append_rows" else "columns") in updated.report.reason


@pytest.mark.parametrize("name", AXES)
def test_what_does_not_fit_is_refused(name):
    f = svd(slow())
    with pytest.raises(ValueError, match=rf"{name} got an array of shape \(7, 7\)"):
        getattr(f, name)(np.ones((7, 7)))
    bad = piece((60, 40), name, 2)
    bad[0, 1] = np.nan
    with pytest.raises(ValueError, match=f"{name} got NaN"):
        getattr(f, name)(bad)


@pytest.mark.parametrize("name", AXES)
def test_what_a_cast_would_change_is_refused(name):
    f = svd(slow())
    B = piece(f.shape, name, 2)
    update = getattr(f, name)
    for kind in (complex, str, "datetime64[s]"):
        with pytest.raises(TypeError, match="real ones"):
            update(B.astype(kind))
    with pytest.raises(ValueError, match="masked"):
        update(np.ma.masked_greater(B, 0.0))
    with pytest.raises(ValueError, match="infinite"):
        getattr(svd(slow().astype(np.float32)), name)(B * 1e39)
