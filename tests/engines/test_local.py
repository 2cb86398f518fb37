"""The local engine: blocks in order, one tree, the same bits for any number of jobs."""

import operator
import re
import threading
import tracemalloc
from math import log2

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from threadpoolctl import threadpool_info

from blocks import ESTIMATOR, WRONG, blocks
from pinvlearn import FeatureMachineRegressor, PinvRegressor
from pinvlearn._core.arrays import BLOCK_ENTRIES, LEAST_ROWS, MIN_BLOCK_ROWS, WIDE
from pinvlearn._core.threads import in_threads
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.solvers import Cholesky
from pinvlearn.summaries import block, moments
from pinvlearn.summaries.tree import merged as tree

ROWS = 4 * MIN_BLOCK_ROWS + 17
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((ROWS, 5)), RNG.standard_normal((ROWS, 2))
W = RNG.uniform(0.5, 1.5, ROWS)


def rows(n_jobs=None, X=X, weights=W, columns=5):
    return rows_in_memory(np.tanh if X is not None else None, X, Y, weights, columns, n_jobs)


def balanced(leaves):
    """The tree that `tree` promises: complete ones of falling size, joined from the right."""
    if len(leaves) == 1:
        return leaves[0]
    size = 1 << (len(leaves) - 1).bit_length() - 1
    return (balanced(leaves[:size]), balanced(leaves[size:]))


@given(count=st.integers(1, 40))
def test_the_tree_is_fixed_by_the_number_of_leaves(count):
    found = tree(iter(range(count)), lambda a, b: (a, b))
    assert found == balanced(list(range(count)))


@given(count=st.integers(1, 300))
def test_the_tree_holds_few_partial_results(count):
    alive, most = 0, 0

    def leaves():
        nonlocal alive, most
        for i in range(count):
            alive += 1
            most = max(most, alive)
            yield i

    def merge(a, b):
        nonlocal alive
        alive -= 1
        return a + b

    assert tree(leaves(), merge) == count * (count - 1) // 2
    assert most <= log2(count) + 2


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, 7])
def test_blocks_come_in_row_order_and_hold_every_row_once(n_jobs):
    parts = list(rows(n_jobs).each(lambda H, Y, w: (H, Y, w)))
    assert len(parts) == 4
    np.testing.assert_array_equal(np.vstack([H for H, _, _ in parts]), np.tanh(X))
    np.testing.assert_array_equal(np.vstack([Y for _, Y, _ in parts]), Y)
    np.testing.assert_array_equal(np.concatenate([w for _, _, w in parts]), W)


@pytest.mark.parametrize("columns", [5, WIDE + 1, 3 * WIDE, 100 * WIDE])
def test_blocks_of_wide_maps_keep_within_memory(columns):
    sizes = list(rows(columns=columns).each(lambda H, Y, w: len(Y)))
    assert sum(sizes) == ROWS
    assert max(sizes) <= (MIN_BLOCK_ROWS if columns > WIDE else 2 * MIN_BLOCK_ROWS)
    assert max(sizes) * columns <= max(BLOCK_ENTRIES, LEAST_ROWS * columns)


@pytest.mark.parametrize("columns", [5, WIDE])
def test_narrow_blocks_are_equal_shares_for_threads(columns):
    """A power of two of them, none much shorter than another and all long enough for their sums."""
    for count in (1, MIN_BLOCK_ROWS, 2 * MIN_BLOCK_ROWS - 1, 3 * MIN_BLOCK_ROWS, ROWS):
        some = rows_in_memory(lambda X: X, X[:count], Y[:count], None, columns)
        sizes = list(some.each(lambda H, Y, w: len(Y)))
        assert sum(sizes) == count
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) & (len(sizes) - 1) == 0
        assert min(sizes) >= min(count, MIN_BLOCK_ROWS)
        assert max(sizes) < 2 * MIN_BLOCK_ROWS


@pytest.mark.parametrize(
    ("count", "columns", "pieces"),
    [(2048, 800, 2), (2047, 800, 1), (2048, 400, 1), (2600, 1300, 2), (2599, 1300, 1)],
)
def test_one_piece_that_takes_long_is_halved(count, columns, pieces):
    """For a second thread, if either half has more rows than columns."""
    some = rows_in_memory(lambda X: X, X[:count], Y[:count], None, columns)
    sizes = list(some.each(lambda H, Y, w: len(Y)))
    assert len(sizes) == pieces
    assert max(sizes) - min(sizes) <= 1


def test_wide_sparse_rows_get_blocks_of_their_width():
    """Their p × p products are few additions for much room: a block has p rows at least."""
    S = scipy.sparse.csr_array(X)
    blocks = rows_in_memory(lambda X: X, S, Y, None, 2 * MIN_BLOCK_ROWS)
    assert len(list(blocks.each(lambda H, Y, w: None))) == 2


@pytest.mark.parametrize("weights", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_wide_summary_is_the_folded_one_in_its_lower_triangle(monkeypatch, n_jobs, weights):
    folded = rows(1, weights=weights).summary().products
    monkeypatch.setattr(block, "WIDE", 4)
    monkeypatch.setattr(moments, "PANEL", 2)
    added = rows(n_jobs, weights=weights).summary().products
    limit = ROWS * np.finfo(float).eps * folded.TT[0, 0]
    np.testing.assert_allclose(np.tril(added.HH), np.tril(folded.HH), atol=limit)
    np.testing.assert_allclose(added.HT, folded.HT, atol=limit)
    np.testing.assert_allclose(added.TT, folded.TT, atol=limit)
    again = rows(2, weights=weights).summary().products
    np.testing.assert_array_equal(np.tril(added.HH), np.tril(again.HH))
    np.testing.assert_array_equal(added.HT, again.HT)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.sweep
def test_a_wide_fit_holds_one_square_array(n_jobs):
    """The Gram matrix and its Cholesky factor share one p × p array; the rest is tiles."""
    n, p = 4300, 2100
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((n, 3)), rng.standard_normal((n, 1))
    weights = rng.standard_normal((3, p))
    wide = rows_in_memory(lambda X: np.tanh(X @ weights), X, Y, None, p, n_jobs)
    tracemalloc.start()
    try:
        factor, _ = Cholesky().factor(Problem(wide, True, None, rng), 1.0)
        factor.coef(1.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    tiles = MIN_BLOCK_ROWS * p + 3 * n_jobs * moments.PANEL * p
    assert peak <= 8 * (p**2 + tiles) + 2**20


def test_sparse_rows_are_cut_as_well():
    S = scipy.sparse.csr_array(np.where(X > 1.0, X, 0.0))
    parts = list(rows_in_memory(lambda X: X, S, Y, None, 5).each(lambda H, Y, w: (H, w)))
    assert all(w is None for _, w in parts)
    np.testing.assert_array_equal(np.vstack([H.toarray() for H, _ in parts]), S.toarray())


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_the_bits_do_not_depend_on_the_number_of_jobs(n_jobs):
    one, many = (rows(jobs).summary().products for jobs in (1, n_jobs))
    for part in ("HH", "HT", "TT"):
        np.testing.assert_array_equal(getattr(one, part), getattr(many, part))


def test_blocks_are_worked_on_by_several_threads_with_one_blas_thread_each():
    meeting = threading.Barrier(2, timeout=20)
    seen = []

    def work(item):
        meeting.wait()  # passes only if two threads are here at once
        seen.extend(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")
        return item

    assert list(in_threads(work, [slice(i) for i in range(4)], 2)) == [slice(i) for i in range(4)]
    assert set(seen) == {1}


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_an_error_in_a_block_reaches_the_caller(n_jobs):
    def work(H, Y, w):
        raise ArithmeticError("block")

    with pytest.raises(ArithmeticError, match="block"):
        rows(n_jobs).fold(work, operator.add)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_blas_has_its_threads_back_afterwards(n_jobs):
    def threads():
        return [lib["num_threads"] for lib in threadpool_info()]

    before = threads()
    rows(n_jobs).summary()
    assert threads() == before
    with pytest.raises(KeyboardInterrupt):
        rows(n_jobs).fold(interrupt, operator.add)
    assert threads() == before


def interrupt(H, Y, w):
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("name", WRONG)
def test_a_bad_block_is_named_whatever_is_wrong_with_it(name, place):
    if place == 0 and name in ("columns", "weights", "weights of another length", "classes"):
        return  # which the first block decides, or does not look at
    all_blocks = blocks()[:4]
    all_blocks[place], message = WRONG[name]
    with pytest.raises((TypeError, ValueError), match=message) as raised:
        clone(ESTIMATOR).fit_blocks(all_blocks, source="rows")
    assert re.match(rf"block (\('rows', )?{place}\)?(:| and) ", str(raised.value))


@pytest.mark.parametrize(
    "learner",
    [PinvRegressor(), PinvRegressor(alpha=1e-9, loo_scoring=None), FeatureMachineRegressor()],
    ids=["leaves rows out", "refines", "reads the head first"],
)
def test_blocks_that_are_gone_when_they_are_read_again_are_refused(learner):
    class Once:
        def __init__(self, blocks):
            self.blocks = iter(blocks)

        def __iter__(self):
            return self.blocks

    X = np.random.default_rng(0).standard_normal((40, 3)) * [1.0, 1.0, 1e-6] + [1e6, 0.0, 0.0]
    blocks = [(X[:20], X[:20, 1]), (X[20:], X[20:, 1])]
    with pytest.raises(ValueError, match=r"when they were read again.*iter\(blocks\)"):
        learner.fit_blocks(Once(blocks))


def test_what_is_no_blocks_is_named():
    with pytest.raises(TypeError, match="blocks is a function"):
        PinvRegressor().fit_blocks(lambda: [])


def test_only_a_few_blocks_are_in_memory_at_once():
    """The consumer is slow, the workers must wait for it."""
    started = []
    results = in_threads(lambda item: started.append(item), [slice(i) for i in range(50)], 2)
    next(results)
    assert len(started) <= 2 + 2
    results.close()
