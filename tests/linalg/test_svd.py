"""The frozen result: cutting, multiplying, entries, other factors."""

import dataclasses
import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import pinvlearn
from matrices import MATRICES, M, N, fast, slow
from pinvlearn import SVD, PseudoInverse, Report, Tolerance, svd

EPS = np.finfo(float).eps
A = slow()
F = svd(A)


@pytest.mark.parametrize("name", MATRICES)
def test_the_transpose_is_that_of_the_transposed_matrix(name):
    f = svd(MATRICES[name]())
    arrays = [f.U.copy(), f.Vt.copy()]
    t = f.T
    assert t.shape == f.shape[::-1]
    limit = 10 * N * np.finfo(f.s.dtype).eps * f.s.max()
    np.testing.assert_allclose(t.to_array(), f.to_array().T, atol=limit, rtol=0.0)
    largest = np.take_along_axis(t.Vt, np.abs(t.Vt).argmax(axis=1)[:, None], axis=1)
    assert (largest > 0.0).all()
    for before, now in zip(arrays, (f.U, f.Vt), strict=True):
        np.testing.assert_array_equal(before, now)


@given(k=st.integers(0, N))
def test_truncate_keeps_the_first_components(k):
    cut = F.truncate(k)
    assert cut.rank == k
    assert cut.shape == (M, N)
    np.testing.assert_array_equal(cut.s, F.s[:k])
    np.testing.assert_allclose(cut.to_array(), (F.U[:, :k] * F.s[:k]) @ F.Vt[:k], atol=N * EPS)


def test_a_cut_leaves_no_error_that_was_told_of_more():
    B = fast()
    f = svd(B, stop=Tolerance(1e-2), rng=0)
    assert np.linalg.norm(B - f.to_array(), 2) <= f.report.error <= 1e-2
    cut = f.truncate(3)
    assert cut.report.error is None
    assert "cut to 3 of" in cut.report.notes[-1]
    assert cut.append_rows(np.ones((1, N))).report.error is None
    assert f.truncate(f.rank).report == f.report


@pytest.mark.parametrize("k", [-1, N + 1, 2.5, True, "2", None])
def test_truncate_refuses_what_it_has_not(k):
    with pytest.raises(ValueError, match=rf"k={k!r}.*0 … {N}"):
        F.truncate(k)


@given(i=st.integers(0, M - 1), j=st.integers(0, N - 1))
def test_value_is_an_entry(i, j):
    assert isinstance(F.value(i, j), float)
    assert F.value(i, j) == pytest.approx(A[i, j], abs=10 * N * EPS)


@pytest.mark.parametrize(
    "X",
    [np.arange(N, dtype=float), np.eye(N)[:, :3], scipy.sparse.eye_array(N, 4).tocsr()],
    ids=["vector", "matrix", "sparse"],
)
def test_it_multiplies(X):
    expected = A @ (X.toarray() if scipy.sparse.issparse(X) else X)
    product = F @ X
    assert isinstance(product, np.ndarray)
    assert product.shape == expected.shape
    np.testing.assert_allclose(product, expected, atol=100 * N * EPS)


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_it_multiplies_sparse_matrices_of_every_format(form, kind):
    X = getattr(scipy.sparse, f"{form}_{kind}")(np.diag(np.arange(N, dtype=float)))
    np.testing.assert_allclose(F @ X, A * np.arange(N), atol=100 * N**2 * EPS)


@pytest.mark.parametrize("operator", [F, F.pinv()])
def test_it_refuses_to_multiply_what_does_not_fit(operator):
    with pytest.raises(ValueError, match=r"shape \(7, 2\)"):
        operator @ np.ones((7, 2))
    rows = operator.shape[1]
    with pytest.raises(ValueError, match="one or two dimensions"):
        operator @ np.ones((rows, rows, 2))
    with pytest.raises(ValueError, match="masked"):
        operator @ np.ma.masked_less(np.arange(float(rows)), 3.0)


def test_sparse_matrices_multiply_it():
    for operator, dense in ((F, A), (F.pinv(), np.linalg.pinv(A))):
        B = scipy.sparse.eye_array(3, len(dense)).tocsr()
        np.testing.assert_allclose(B @ operator, dense[:3], atol=1e4 * N * EPS)


@pytest.mark.parametrize("alpha", [None, "1", -1.0, np.nan, np.inf, True])
def test_a_ridge_is_a_number(alpha):
    with pytest.raises(ValueError, match=r"alpha=.*finite number of at least 0"):
        F.pinv(alpha)


@pytest.mark.parametrize("rcond", ["1", -1.0, np.nan, 1.0, True])
def test_a_cut_off_is_a_share(rcond):
    with pytest.raises(ValueError, match="rcond="):
        F.pinv(rcond=rcond)


@pytest.mark.parametrize("gain", [lambda s: 2.0, lambda s: s[:-1], lambda s: np.diag(s)])
def test_a_gain_gives_one_number_for_each_value(gain):
    with pytest.raises(ValueError, match="one number for each"):
        F.pinv(gain=gain)


@pytest.mark.parametrize("cls", [SVD, PseudoInverse, Report])
def test_results_are_frozen(cls):
    result = {SVD: F, PseudoInverse: F.pinv(), Report: F.report}[cls]
    assert isinstance(result, cls)
    for field in dataclasses.fields(cls):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field.name, None)


def test_a_result_survives_pickling():
    again = pickle.loads(pickle.dumps(F))
    np.testing.assert_array_equal(again.to_array(), F.to_array())
    assert again.report == F.report


@pytest.mark.parametrize("matrix", MATRICES)
def test_equal_matrices_have_equal_factors_whatever_the_method(matrix):
    """The sign rule, on the vectors of values that stand apart from their neighbours."""
    B = MATRICES[matrix]()
    k = min(3, *B.shape)
    exact, other = svd(B).truncate(k), svd(B, k, solver="block-krylov", rng=0)
    scaled = exact.s / exact.s[0] if exact.s[0] else exact.s
    gaps = np.abs(
        np.diff(
            np.append(scaled, svd(B).s[k] / exact.s[0] if k < min(B.shape) and exact.s[0] else 0.0)
        )
    )
    apart = (gaps > 0.1) & (np.append(np.inf, gaps[:-1]) > 0.1)
    # Vectors converge with the square root of the values' accuracy (krylov.SETTLED).
    np.testing.assert_allclose(other.Vt[apart], exact.Vt[apart], atol=0.1)


@pytest.mark.parametrize("k", [1, 5, N + 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_from_factors(k, dtype, rng):
    X, Y = rng.standard_normal((M, k)).astype(dtype), rng.standard_normal((N, k)).astype(dtype)
    f = SVD.from_factors(X, Y)
    eps = np.finfo(dtype).eps
    rank = min(k, N)
    assert f.rank == rank
    assert f.U.dtype == f.s.dtype == f.Vt.dtype == dtype
    assert f.report.method == "factors"
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(rank), atol=10 * M * eps)
    np.testing.assert_allclose(f.Vt @ f.Vt.T, np.eye(rank), atol=10 * M * eps)
    np.testing.assert_allclose(f.to_array(), X @ Y.T, atol=10 * (M + N) * eps * f.s[0])
    np.testing.assert_allclose(
        f.s, np.linalg.svd(X @ Y.T, compute_uv=False)[:rank], atol=10 * (M + N) * eps * f.s[0]
    )


def test_from_factors_of_dependent_columns():
    X = np.ones((M, 3))
    f = SVD.from_factors(X, np.ones((N, 3)))
    np.testing.assert_allclose(f.s, [3.0 * np.sqrt(M * N), 0.0, 0.0], atol=10 * M * N * EPS)
    np.testing.assert_allclose(f.U.T @ f.U, np.eye(3), atol=10 * M * EPS)


@pytest.mark.parametrize(("X", "Y"), [((M, 3), (N, 4)), ((M,), (N, 1))])
def test_from_factors_refuses_what_does_not_fit(X, Y):
    with pytest.raises(ValueError, match="one column per factor"):
        SVD.from_factors(np.ones(X), np.ones(Y))


class TestPseudoInverse:
    def test_shape_rank_and_transpose(self):
        P = F.pinv()
        assert (P.shape, P.rank) == ((N, M), N)
        assert P.T.shape == (M, N)
        np.testing.assert_allclose(P.T.to_array(), P.to_array().T, atol=N * EPS * 40)
        np.testing.assert_array_equal(P.T.T.to_array(), P.to_array())

    def test_any_gain(self):
        projector = F.pinv(gain=lambda s: (np.arange(len(s)) < 4).astype(float))
        assert projector.rank == 4
        np.testing.assert_allclose(projector.to_array(), F.Vt[:4].T @ F.U[:, :4].T, atol=N * EPS)

    @pytest.mark.parametrize("rcond", [0.0, 0.03, 0.3])
    def test_cut_off(self, rcond):
        P = F.pinv(rcond=rcond)
        assert P.rank == np.count_nonzero(F.s > rcond * F.s[0])
        expected = np.linalg.pinv(A, rcond=rcond)
        np.testing.assert_allclose(P.to_array(), expected, atol=100 * N * EPS * 40**2)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": -1.0}, "alpha=-1.0"),
            ({"alpha": np.nan}, "alpha=nan"),
            ({"rcond": 1.0}, r"rcond=1.0.*\[0, 1\)"),
            ({"rcond": -0.1}, "rcond=-0.1"),
        ],
    )
    def test_bad_arguments(self, options, message):
        with pytest.raises(ValueError, match=message):
            F.pinv(**options)

    def test_single_precision_stays_single(self):
        f = svd(fast().astype(np.float32))
        for P in (f.pinv(), f.pinv(0.1), f.pinv(gain=lambda s: s)):
            assert P.gains.dtype == np.float32
            assert P.to_array().dtype == np.float32


def test_factors_unpack_as_numpys_do():
    U, s, Vt = F
    assert U is F.U
    assert s is F.s
    assert Vt is F.Vt


@pytest.mark.parametrize("operator", [F, F.pinv()], ids=["svd", "pinv"])
def test_numpy_gets_the_product(operator):
    expected = operator.to_array()
    np.testing.assert_array_equal(np.asarray(operator), expected)
    assert np.array(operator, dtype=np.float32).dtype == np.float32
    left = np.ones((2, expected.shape[0]))
    np.testing.assert_allclose(left @ operator, left @ expected)
    with pytest.raises(ValueError, match="without a copy"):
        np.array(operator, copy=False)


def test_everything_public_is_found():
    for name in pinvlearn.__all__:
        assert getattr(pinvlearn, name) is not None


@pytest.mark.parametrize("alpha", [1e-50, 1e-300])
def test_a_ridge_below_single_precision_leaves_out_what_is_zero(alpha):
    f = svd(np.diag([2.0, 0.0]).astype(np.float32))
    np.testing.assert_array_equal(f.pinv(alpha).to_array(), np.diag([0.5, 0.0]))
