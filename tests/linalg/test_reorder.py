"""Hub-and-spoke reordering: what holds for every matrix, and the defined corner cases."""

import os
from pathlib import Path

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import aslinearoperator

from matrices import FORMS, sparse
from pinvlearn import hub_spoke


def check(A, order):
    """The blocks hold all of A11, the orders are permutations, and the parts make A again."""
    A = scipy.sparse.csr_array(A)
    m, n = A.shape
    np.testing.assert_array_equal(np.sort(order.rows), np.arange(m))
    np.testing.assert_array_equal(np.sort(order.columns), np.arange(n))
    assert (order.m1 + order.m2, order.n1 + order.n2) == (m, n)
    A11, A12, A21, A22 = order.split(A)
    whole = scipy.sparse.block_array([[A11, A12], [A21, A22]]).toarray()
    again = np.empty((m, n))
    again[np.ix_(order.rows, order.columns)] = whole
    np.testing.assert_array_equal(again, A.toarray())
    left = A11.toarray()
    i = j = 0
    for height, width in order.blocks:
        assert height > 0
        assert width > 0
        block = left[i : i + height, j : j + width]
        assert block.any(axis=0).all()
        assert block.any(axis=1).all()
        left[i : i + height, j : j + width] = 0.0
        i, j = i + height, j + width
    assert not left.any()


@given(
    m=st.integers(1, 30),
    n=st.integers(1, 30),
    density=st.floats(0.0, 1.0),
    ratio=st.floats(0.01, 0.9),
    seed=st.integers(0, 100),
)
def test_the_parts_make_the_matrix_again(m, n, density, ratio, seed):
    rng = np.random.default_rng(seed)
    A = scipy.sparse.random_array((m, n), density=density, rng=rng, format="csr")
    order = hub_spoke(A, ratio)
    check(A, order)
    assert order.m2 == order.iterations * np.ceil(ratio * m)
    assert order.n2 == order.iterations * np.ceil(ratio * n)
    again = hub_spoke(A, ratio)
    np.testing.assert_array_equal(again.rows, order.rows)
    np.testing.assert_array_equal(again.columns, order.columns)


@given(
    m=st.integers(1, 40),
    n=st.integers(1, 30),
    density=st.floats(0.0, 0.4),
    ratio=st.floats(0.01, 0.5),
    seed=st.integers(0, 100),
)
def test_the_order_is_that_of_the_simple_version(m, n, density, ratio, seed):
    A = scipy.sparse.random_array((m, n), density=density, rng=seed, format="csr")
    order = hub_spoke(A, ratio)
    rows, columns, sizes = simple(A, ratio)
    np.testing.assert_array_equal(order.rows, rows)
    np.testing.assert_array_equal(order.columns, columns)
    np.testing.assert_array_equal(order.blocks, sizes.reshape(-1, 2))


def simple(A, ratio):
    """Algorithm 2 on a matrix that shrinks; SciPy finds the components."""
    m, n = A.shape
    row_hubs, column_hubs = int(np.ceil(ratio * m)), int(np.ceil(ratio * n))
    rows, columns = np.arange(m), np.arange(n)
    hubs, blocks, alone = ([], []), [], ([], [])

    def add(rows, columns, labels):
        """The rows and columns of each label, as a block if there are both."""
        for label in np.unique(labels):
            i, j = rows[labels[: len(rows)] == label], columns[labels[len(rows) :] == label]
            if len(i) and len(j):
                blocks.append((i, j))
            else:
                alone[0].extend(i)
                alone[1].extend(j)

    while A.nnz and len(rows) >= row_hubs and len(columns) >= column_hubs:
        i = np.argsort(-A.count_nonzero(axis=1), kind="stable")
        j = np.argsort(-A.count_nonzero(axis=0), kind="stable")
        hubs[0][:0], hubs[1][:0] = rows[i[:row_hubs]][::-1], columns[j[:column_hubs]][::-1]
        i, j = np.sort(i[row_hubs:]), np.sort(j[column_hubs:])
        rows, columns, A = rows[i], columns[j], A[i][:, j]
        labels = np.zeros(0, int)
        if len(rows) + len(columns):
            both = scipy.sparse.block_array([[None, A], [A.T, None]])
            labels = connected_components(both, directed=False)[1]
        giant = np.bincount(labels, minlength=1).argmax()
        off, row_in = labels != giant, labels[: len(rows)] == giant
        column_in = labels[len(rows) :] == giant
        add(rows[~row_in], columns[~column_in], labels[off])
        rows, columns, A = rows[row_in], columns[column_in], A[row_in][:, column_in]
    whole = np.zeros(len(rows) + len(columns), int)
    whole[len(rows) :] = not A.nnz
    add(rows, columns, whole)
    return (
        np.concatenate([*(i for i, _ in blocks), alone[0], hubs[0]]),
        np.concatenate([*(j for _, j in blocks), alone[1], hubs[1]]),
        np.array([(len(i), len(j)) for i, j in blocks], dtype=int),
    )


def test_the_figure_of_the_paper():
    """Spokes around one hub row and one hub column, as in its Fig. 2."""
    A = np.zeros((9, 7))
    A[8] = 1.0
    A[:, 6] = 1.0
    A[0:3, 0] = A[3, 1] = A[4:6, 2] = 1.0
    order = hub_spoke(A, 0.1)
    check(A, order)
    assert order.rows[-1] == 8
    assert order.columns[-1] == 6
    # the largest spoke, 3 × 1, is the giant component of the second and last round
    assert order.iterations == 2
    np.testing.assert_array_equal(order.blocks, [[1, 1], [2, 1]])


def test_a_matrix_of_zeros_has_no_hubs():
    order = hub_spoke(np.zeros((4, 3)))
    check(np.zeros((4, 3)), order)
    assert (order.m1, order.n1, order.m2, order.n2, order.iterations) == (4, 3, 0, 0, 0)
    assert order.blocks.shape == (0, 2)


def test_isolated_rows_and_columns_make_no_block():
    A = np.zeros((6, 5))
    A[0, :2] = A[1, 0] = 1.0
    order = hub_spoke(A, 0.1)
    check(A, order)
    assert (order.m1, order.n1) == (5, 4)
    assert len(order.blocks) == 0


def test_a_full_matrix_never_shatters_and_ends_as_one_block():
    A = np.ones((10, 10))
    order = hub_spoke(A, 0.3)
    check(A, order)
    assert order.iterations == 3
    np.testing.assert_array_equal(order.blocks, [[1, 1]])
    # ties go to the lower index, so the first rows leave first and are last
    np.testing.assert_array_equal(order.rows, np.arange(10)[::-1])


def test_hubs_may_be_everything():
    order = hub_spoke(np.ones((3, 2)), 0.9)
    assert (order.m1, order.n1, order.m2, order.n2) == (0, 0, 3, 2)
    check(np.ones((3, 2)), order)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "operator"])
def test_forms(form):
    A = sparse()
    order = hub_spoke(FORMS[form](A.toarray()))
    np.testing.assert_array_equal(order.rows, hub_spoke(A).rows)


FRAMES = {"frame": pandas.DataFrame, "list": lambda A: A.tolist()}
LAYOUTS = ("csc", "coo", "bsr", "dia", "lil", "dok")


@pytest.mark.parametrize("form", [*FRAMES, *LAYOUTS])
def test_every_form_is_put_in_order(form):
    A = sparse()
    order = hub_spoke(A)
    given = FRAMES[form](A.toarray()) if form in FRAMES else A.asformat(form)
    expected = A.toarray()[order.rows][:, order.columns]
    found = order.apply(given)
    found = found.toarray() if scipy.sparse.issparse(found) else found
    np.testing.assert_array_equal(found, expected)
    assert [part.shape for part in order.split(given)] == [part.shape for part in order.split(A)]


def test_a_matrix_of_another_shape_is_not_put_in_order():
    order = hub_spoke(np.eye(3))
    with pytest.raises(ValueError, match=r"shape \(4, 4\), but the order .* \(3, 3\)"):
        order.apply(np.eye(4))


def test_stored_zeros_are_no_edges():
    A = sparse()
    stored = scipy.sparse.csr_array(A + 0.0)
    stored.data[::2] = 0.0
    plain = stored.copy()
    plain.eliminate_zeros()
    nnz = stored.nnz
    np.testing.assert_array_equal(hub_spoke(stored).rows, hub_spoke(plain).rows)
    assert stored.nnz == nnz


@pytest.mark.parametrize(
    ("A", "ratio", "error", "message"),
    [
        (np.eye(3), 0.0, ValueError, r"hub_ratio=0.0.*\(0, 1\)"),
        (np.eye(3), 1.0, ValueError, "hub_ratio=1.0"),
        (np.eye(3), "few", ValueError, "hub_ratio='few'"),
        (aslinearoperator(np.eye(3)), 0.1, TypeError, "LinearOperator"),
    ],
)
def test_bad_arguments(A, ratio, error, message):
    with pytest.raises(error, match=message):
        hub_spoke(A, ratio)


@pytest.mark.skipif("PINVLEARN_DATA" not in os.environ, reason="PINVLEARN_DATA is not set")
def test_bibtex_gives_the_published_numbers():
    """[JS20] Table 3: m2 = 5180 and n2 = 1330."""
    stored = np.load(Path(os.environ["PINVLEARN_DATA"]) / "bibtex.npz")
    parts = tuple(stored[f"X_{name}"] for name in ("data", "indices", "indptr"))
    A = scipy.sparse.csr_array(parts, shape=tuple(stored["X_shape"]))
    order = hub_spoke(A)
    assert (order.m2, order.n2) == (5180, 1330)
