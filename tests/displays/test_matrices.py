"""Pictures of sparse matrices show where the entries are, and how many."""

import numpy as np
import pytest
import scipy.sparse
from matplotlib import pyplot as plt

from pinvlearn import DegreeDisplay, ReorderingDisplay, hub_spoke


@pytest.fixture(autouse=True)
def _no_windows():
    plt.switch_backend("agg")
    yield
    plt.close("all")


def star():
    """Three rows and columns in pairs, and a fourth row and column that touch them all."""
    A = np.eye(4)
    A[3], A[:, 3] = 1.0, 1.0
    return scipy.sparse.csr_array(A)


def test_reordered_matrix_and_its_borders() -> None:
    A = star()[[3, 0, 1, 2]]
    order = hub_spoke(A, 0.25)
    display = ReorderingDisplay.from_matrix(A, hub_ratio=0.25, name="star")
    expected = np.log1p((order.apply(A).toarray() != 0).astype(float))
    np.testing.assert_array_equal(display.image_.get_array(), expected)
    borders = [display.lines_[0].get_ydata()[0], display.lines_[1].get_xdata()[0]]
    assert borders == [order.m1, order.n1]
    assert display.ax_.get_title() == "star"


def test_matrix_as_it_came_has_no_borders() -> None:
    display = ReorderingDisplay(star()).plot()
    np.testing.assert_array_equal(display.image_.get_array() > 0, star().toarray() > 0)
    assert display.lines_ == []


def test_large_matrices_are_counted_in_cells() -> None:
    A = scipy.sparse.random_array((1500, 700), density=0.01, rng=0)
    display = ReorderingDisplay.from_matrix(A)
    cells = np.expm1(display.image_.get_array())
    assert cells.shape == (300, 300)
    assert round(cells.sum()) == A.nnz


def test_order_of_another_matrix() -> None:
    with pytest.raises(ValueError, match=r"shape \(4, 4\), but the order is of .* \(5, 5\)"):
        ReorderingDisplay(star(), hub_spoke(np.eye(5), 0.2))


def test_degrees_are_counted() -> None:
    A = scipy.sparse.csr_array(np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]))
    display = DegreeDisplay.from_matrix(A)
    assert display.rows_.get_xydata().tolist() == [[1, 2], [2, 1]]
    assert display.columns_.get_xydata().tolist() == [[1, 1], [3, 1]]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["rows (1 empty)", "columns (2 empty)"]
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == "log"


def test_operators_have_no_entries_to_draw() -> None:
    operator = scipy.sparse.linalg.aslinearoperator(np.eye(3))
    with pytest.raises(TypeError, match="needs the entries"):
        DegreeDisplay(operator)


def test_entries_of_one_place_are_one_and_lists_are_matrices() -> None:
    twice = scipy.sparse.csr_array(([1.0, 1.0, 2.0], [1, 1, 0], [0, 2, 3]), shape=(2, 2))
    for A in (twice, twice.toarray().tolist()):
        display = DegreeDisplay(A)
        assert display.row_degrees.tolist() == display.column_degrees.tolist() == [1, 1]
        counts = ReorderingDisplay(A).plot().image_.get_array()
        np.testing.assert_allclose(counts, np.log1p([[0.0, 1.0], [1.0, 0.0]]))
