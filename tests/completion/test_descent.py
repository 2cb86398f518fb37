"""The descent over known entries: the original's own case, its oracle, and its limits."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import pinvlearn
from matrices import with_spectrum
from oracles import descend_plainly
from pinvlearn import PartialSVD, as_triplets, partial_svd
from pinvlearn.completion import descent as partial

EPS = np.finfo(float).eps
# LingPipe's test of SvdMatrix, the one with assertions.
A = np.array([[5.0, 9, 2], [3, -4, 5], [2, 5, 1], [-8, 3, 3]])
SINGULAR_VALUES = [11.908961487457, 9.629186152301, 6.120082543119]
OPTIONS = {"rank": 3, "init": 0.1, "learning_rate": 0.001, "annealing": 100_000, "alpha": 0.0}


def known(seed=0, shape=(30, 20), share=0.5, rank=3):
    """A low-rank matrix and a part of its entries."""
    rng = np.random.default_rng(seed)
    full = with_spectrum(*shape, np.linspace(20.0, 8.0, rank), seed=seed)
    mask = rng.random(shape) < share
    return full, np.where(mask, full, np.nan)


def orthonormality(f):
    return max(
        np.abs(f.U.T @ f.U - np.eye(f.rank)).max(), np.abs(f.Vt @ f.Vt.T - np.eye(f.rank)).max()
    )


# The original's cases


def test_the_case_of_the_original():
    f = partial_svd(
        *as_triplets(A), A.shape, **OPTIONS, min_improvement=0.0, max_epochs=1_000_000, rng=0
    )
    np.testing.assert_allclose(f.to_array(), A, atol=1e-3)
    np.testing.assert_allclose(f.s, SINGULAR_VALUES, rtol=1e-4)
    assert orthonormality(f) < 1e-10
    assert f.report.passes == 3_000_000  # min_improvement 0: every epoch is run


def test_a_complete_matrix_at_full_rank():
    B = np.random.default_rng(1).uniform(-2.0, 2.0, (5, 10))
    f = partial_svd(
        *as_triplets(B), B.shape, rank=5, init=0.1, learning_rate=0.02, annealing=4000, alpha=0.0,
        min_improvement=0.0, max_epochs=200_000, rng=0,
    )  # fmt: skip
    np.testing.assert_allclose(f.to_array(), B, atol=1e-3)
    np.testing.assert_allclose(f.s, np.linalg.svd(B, compute_uv=False), rtol=1e-3)


@pytest.mark.sweep
def test_a_large_partial_matrix_is_recovered():
    full, X = known(shape=(1000, 500), share=0.2, rank=16)
    full, X = full * 20, X * 20
    f = partial_svd(
        *as_triplets(X), X.shape, rank=16, init=0.3, learning_rate=0.05, alpha=0.0, max_epochs=150,
        rng=0,
    )  # fmt: skip
    unknown = np.isnan(X)
    error = np.sqrt(np.mean((f.to_array() - full)[unknown] ** 2)) / full.std()
    assert error < 0.35  # greedy factors explain nine tenths of what they never saw
    assert orthonormality(f) < 1e-13
    assert np.all(np.diff(f.s) <= 0.0)


# The compiled loop and its oracle


@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("min_improvement", [0.0, 1e-3])
def test_compiled_loop_equals_the_plain_one(alpha, min_improvement):
    _, X = known()
    triplets = as_triplets(X)
    descent = partial.Descent(0.01, 5.0, alpha, min_improvement, 2, 30)
    results = [
        partial.factor_at_a_time(
            *triplets, X.shape, 4, 0.5, descent, np.random.default_rng(3), loop=loop
        )
        for loop in (None, descend_plainly)
    ]
    compiled, plain = results
    assert compiled.report.passes == plain.report.passes
    # 30 epochs, each a contraction: rounding does not grow beyond updates × eps
    tolerance = 1e4 * EPS * np.abs(plain.s).max()
    np.testing.assert_allclose(compiled.to_array(), plain.to_array(), atol=tolerance)
    assert compiled.report.error == pytest.approx(plain.report.error, rel=1e-9)


def test_the_finish_changes_no_product():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((50, 6)), rng.standard_normal((40, 6))
    f = partial.orthonormal(X, Y, np.arange(50), np.arange(40))
    np.testing.assert_allclose(f.to_array(), X @ Y.T, atol=1e-13 * np.abs(X @ Y.T).max())
    assert orthonormality(f) < 1e-14 * 50


@given(seed=st.integers(0, 2**32 - 1))
@pytest.mark.sweep
def test_same_seed_same_bits_in_any_order_of_entries(seed):
    _, X = known(seed=7, shape=(12, 9))
    rows, cols, values = as_triplets(X)
    order = np.random.default_rng(seed).permutation(len(rows))
    one = partial_svd(rows, cols, values, X.shape, rank=2, max_epochs=20, rng=5)
    two = partial_svd(
        rows[order], cols[order], values[order], X.shape, rank=2, max_epochs=20, rng=5
    )
    for name in ("U", "s", "Vt"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


# Stopping


def test_callback_sees_every_epoch_and_can_end_the_descent():
    _, X = known()
    seen = []

    def callback(rank, epoch, rmse):
        seen.append((rank, epoch, rmse))
        return rank == 2 and epoch == 4

    f = partial_svd(
        *as_triplets(X), X.shape, rank=5, max_epochs=6, min_improvement=0.0, rng=0,
        callback=callback,
    )  # fmt: skip
    assert [entry[:2] for entry in seen] == [(1, e) for e in range(1, 7)] + [
        (2, e) for e in range(1, 5)
    ]
    assert f.rank == 2
    assert "callback" in f.report.notes[0]
    assert all(np.isfinite(entry[2]) for entry in seen)


def test_a_callback_changes_nothing():
    _, X = known()
    options = {"rank": 2, "max_epochs": 50, "min_improvement": 3e-2, "rng": 0}
    one = partial_svd(*as_triplets(X), X.shape, **options)
    two = partial_svd(*as_triplets(X), X.shape, **options, callback=lambda *_: None)
    np.testing.assert_array_equal(one.to_array(), two.to_array())
    assert one.report.passes == two.report.passes < 100


def test_min_epochs_are_run():
    _, X = known()
    f = partial_svd(
        *as_triplets(X), X.shape, rank=1, min_improvement=1.0, min_epochs=7, max_epochs=50, rng=0
    )
    assert f.report.passes == 7


@pytest.mark.parametrize("scale", [1.0, 1e20])
def test_divergence_is_raised_not_returned(scale):
    _, X = known()
    with pytest.raises(ValueError, match=r"diverged in epoch \d+ of factor 1.*Lower the learning"):
        partial_svd(*as_triplets(X * scale), X.shape, rank=2, learning_rate=30.0, rng=0)


# The shape of the result


def test_rows_and_columns_without_entries_are_zero():
    _, X = known()
    X[[0, 11]] = np.nan
    X[:, 5] = np.nan
    f = partial_svd(*as_triplets(X), X.shape, rank=3, max_epochs=20, rng=0)
    assert f.shape == X.shape
    assert not f.U[[0, 11]].any()
    assert not f.Vt[:, 5].any()
    assert f.value(0, 3) == 0.0


def test_exact_is_where_the_descent_ends_on_complete_data():
    B = with_spectrum(8, 6, [9.0, 6.0, 1.0], seed=2)
    triplets, alpha = as_triplets(B), 0.2
    exact = partial_svd(*triplets, B.shape, rank=3, alpha=alpha, solver="exact")
    s = np.linalg.svd(B, compute_uv=False)[:3]
    np.testing.assert_allclose(exact.s, np.maximum(s - alpha * np.sqrt(48), 0.0), atol=1e-12)
    descended = partial_svd(
        *triplets, B.shape, rank=3, alpha=alpha, learning_rate=0.005, annealing=2000, init=0.5,
        min_improvement=0.0, max_epochs=60_000, rng=0,
    )  # fmt: skip
    np.testing.assert_allclose(descended.to_array(), exact.to_array(), atol=0.02)


def test_exact_needs_everything():
    _, X = known()
    with pytest.raises(ValueError, match=r"of 600 entries are known"):
        partial_svd(*as_triplets(X), X.shape, rank=1, solver="exact")


# Triplets


def test_triplets_of_every_form():
    dense = np.array([[1.0, np.nan, 0.0], [np.nan, 2.0, 3.0]])
    explicit = scipy.sparse.csr_array(
        (np.array([1.0, 0.0, 2.0, 3.0]), np.array([0, 2, 1, 2]), np.array([0, 2, 4])), shape=(2, 3)
    )
    masked = np.ma.masked_invalid(dense)
    expected = ([0, 0, 1, 1], [0, 2, 1, 2], [1.0, 0.0, 2.0, 3.0])
    for X in (dense, dense.tolist(), explicit, explicit.tocoo(), explicit.tocsc(), masked):
        for found, wanted in zip(as_triplets(X), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_triplets_of_a_frame_whose_types_have_gaps_of_their_own():
    pandas = pytest.importorskip("pandas")
    rows, cols, values = as_triplets(pandas.DataFrame({"a": [1, None], "b": [3, 4]}, dtype="Int64"))
    assert (rows.tolist(), cols.tolist(), values.tolist()) == ([0, 0, 1], [0, 1, 1], [1, 3, 4])


def test_triplets_of_a_masked_array_ignore_what_is_masked():
    X = np.ma.MaskedArray([[1.0, np.inf]], mask=[[False, True]])
    assert as_triplets(X)[2].tolist() == [1.0]
    with pytest.raises(ValueError, match="NaN or infinite"):
        as_triplets(np.ma.MaskedArray([[1.0, np.nan]], mask=[[False, False]]))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "1 dimension"),
        (np.full((2, 2), np.nan), "no known entries"),
        (np.array([[np.inf, 1.0]]), "NaN or infinite"),
        (scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2)), "row 0, column 1"),
    ],
)
def test_triplets_refuse(X, message):
    with pytest.raises(ValueError, match=message):
        as_triplets(X)


# Every constraint

GOOD = {"rows": [0, 1, 1], "cols": [0, 0, 1], "values": [1.0, 2.0, 3.0], "shape": (2, 2), "rank": 1}


def test_the_smallest_case_works():
    assert partial_svd(**GOOD, rng=0).shape == (2, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 0}, "rank=0"),
        ({"rank": 3}, "1 … 2"),
        ({"rank": None}, "rank=None"),
        ({"rank": 1.5}, "rank=1.5"),
        ({"min_improvement": -1e-9}, "min_improvement"),
        ({"min_improvement": np.inf}, "min_improvement"),
        ({"min_epochs": 0}, "min_epochs=0"),
        ({"min_epochs": 9, "max_epochs": 8}, "min_epochs ≤ max_epochs"),
        ({"max_epochs": None}, "max_epochs"),
        ({"init": 0.0}, "init=0.0"),
        ({"init": np.nan}, "init=nan"),
        ({"init": "small"}, "init='small'"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"learning_rate": np.inf}, "learning_rate=inf"),
        ({"annealing": 0.0}, "annealing=0.0"),
        ({"annealing": np.nan}, "annealing=nan"),
        ({"alpha": -0.1}, "alpha=-0.1"),
        ({"alpha": np.inf}, "alpha=inf"),
        ({"values": [1.0, 2.0]}, "3, 3 and 2 entries"),
        ({"cols": [0, 0]}, "3, 2 and 3 entries"),
        ({"cols": [0, 0, -1]}, "holds -1"),
        ({"rows": [0, 1, 2]}, r"in 0 … 1"),
        ({"rows": [0.5, 1.0, 1.0]}, "1-D array of integers"),
        ({"rows": [0, 1, 1], "cols": [0, 1, 1]}, r"row 1, column 1 with values 2 and 3"),
        ({"values": [1.0, np.nan, 3.0]}, "first at position 1"),
        ({"values": [1.0, 2.0, -np.inf]}, "NaN or infinite"),
        ({"values": [[1.0, 2.0, 3.0]]}, "2 dimensions"),
        ({"values": ["a", "b", "c"]}, "numbers"),
        ({"rows": [], "cols": [], "values": []}, "no known entries"),
        ({"shape": (2,)}, "shape"),
        ({"shape": (2, 0)}, "shape"),
        ({"solver": "java"}, "solver='java'"),
        ({"rng": "seed"}, "rng='seed'"),
    ],
)
def test_constraints(change, message):
    with pytest.raises(ValueError, match=message):
        partial_svd(**(GOOD | change))


def test_masked_places_are_refused():
    hidden = np.ma.array([0, 1], mask=[False, True])
    for rows, cols in ((hidden, [0, 1]), ([0, 1], hidden)):
        with pytest.raises(ValueError, match="masked entries"):
            partial_svd(rows, cols, [1.0, 2.0], (2, 2), rank=1)
    pairs = np.ma.array([[0, 0], [1, 1]], mask=[[False, False], [True, False]])
    model = PartialSVD(1, solver="als", alpha=0.1)
    with pytest.raises(ValueError, match="masked entries"):
        model.fit(pairs, [1.0, 2.0])
    model.fit(pairs.data, [1.0, 2.0])
    for users in (pairs, hidden):
        with pytest.raises(ValueError, match="masked entries"):
            model.predict(users, None if users is pairs else [0, 1])


def test_it_is_public():
    assert pinvlearn.partial_svd is partial_svd


def test_a_matrix_whose_factors_cannot_fit_is_refused_before_memory_is_taken():
    with pytest.raises(MemoryError, match=r"1000000000000 rows .*pandas\.factorize"):
        partial_svd([0, 10**12 - 1], [0, 1], [1.0, 2.0], (10**12, 2), rank=1)
