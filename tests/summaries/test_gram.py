"""Gram and Triangle: sums of rows, however these are cut, weighted, forgotten or decayed."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pinvlearn.features.random_layer import Inputs
from pinvlearn.summaries import Gram, Triangle, fold
from sums import (
    CLASSES,
    EPS,
    KINDS,
    MAP,
    RNG,
    TARGETS,
    WEIGHTS,
    N,
    X,
    blocks,
    close,
    oracle,
    second_moments,
    summary_of,
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("y", [CLASSES, TARGETS], ids=["classes", "targets"])
def test_a_summary_holds_the_products(kind, y, weights):
    summary = summary_of(kind, MAP, X, y, weights)
    close(second_moments(summary), oracle(y, weights))
    assert summary.n_rows == N
    assert summary.mass == pytest.approx(
        np.sum((np.ones(N) if weights is None else weights)[:, None] * MAP(X) ** 2)
    )


@pytest.mark.parametrize("kind", KINDS)
@given(cuts=st.lists(st.integers(0, N), max_size=6).map(sorted), weighted=st.booleans())
def test_any_cut_gives_the_same_sum(kind, cuts, weighted):
    """Empty blocks, single rows and blocks that lack classes included."""
    weights = WEIGHTS if weighted else None
    total = fold(blocks(kind, CLASSES, cuts, weights))
    close(second_moments(total), oracle(CLASSES, weights))
    assert list(total.schema.classes) == ["ant", "bee", "cat", "dog"]
    assert total.blocks == (("here", 0, len(cuts) + 1),)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repeated_rows_and_zero_weights_are_none(kind):
    counts = RNG.integers(0, 4, N)
    repeated = np.repeat(np.arange(N), counts)
    one = summary_of(kind, MAP, X, CLASSES, counts)
    two = summary_of(kind, MAP, X[repeated], CLASSES[repeated])
    close(second_moments(one), second_moments(two))
    assert one.n_weighted == np.count_nonzero(counts)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_rows_are_taken_some_at_a_time(weights, monkeypatch):
    whole = summary_of(Gram, MAP, X, TARGETS, weights)
    monkeypatch.setattr("pinvlearn.summaries.products.ROOM_ROWS", (1, 7))
    pieces = summary_of(Gram, MAP, X, TARGETS, weights)
    close(second_moments(pieces), second_moments(whole))
    close(second_moments(pieces), oracle(TARGETS, weights))


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_change_no_bit(kind):
    some, none = summary_of(kind, MAP, X, CLASSES), summary_of(kind, MAP, X[:0], CLASSES[:0])
    for both in (some + none, none + some):
        assert both.n_rows == N
        for name, mine in both.arrays().items():
            np.testing.assert_array_equal(mine, some.arrays()[name])


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows(kind):
    S = scipy.sparse.random_array((N, 4), density=0.3, rng=np.random.default_rng(2)).tocsr()
    one, two = summary_of(kind, MAP, S, TARGETS), summary_of(kind, MAP, S.toarray(), TARGETS)
    close(second_moments(one), second_moments(two))


@pytest.mark.parametrize("kind", KINDS)
def test_labels(kind):
    labels = (TARGETS > 0).astype(int)
    summary = summary_of(kind, MAP, X, labels)
    assert summary.schema.task == "labels"
    close(second_moments(summary), oracle(labels.astype(float)))


class TestForgetting:
    def test_what_is_left_is_the_sum_of_the_rest(self):
        one, two = blocks(Gram, CLASSES, [60], WEIGHTS)
        left = (one + two) - two
        close(second_moments(left), oracle(CLASSES, WEIGHTS, slice(60)))
        assert left.blocks == one.blocks
        assert left.n_rows == 60

    def test_everything(self):
        one = summary_of(Gram, MAP, X, CLASSES, WEIGHTS)
        nothing = one - one
        assert not second_moments(nothing).any()
        assert nothing.n_rows == nothing.mass == 0.0

    def test_what_was_never_added(self):
        one, two = blocks(Gram, CLASSES, [60])
        with pytest.raises(ValueError, match="never added"):
            one - two
        with pytest.raises(ValueError, match="cannot be forgotten"):
            one - summary_of(Gram, MAP, X, CLASSES)
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:20], TARGETS[:20]) - summary_of(
                Gram, MAP, X[50:60], TARGETS[50:60]
            )
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:10], TARGETS[:10]) - summary_of(
                Gram, MAP, X[:5], 1.1 * TARGETS[:5]
            )
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:10], TARGETS[:10]) - summary_of(
                Gram, MAP, X[:5], TARGETS[:5], np.full(5, 1.1)
            )

    def test_a_triangle_says_what_to_do_instead(self):
        one = summary_of(Triangle, MAP, X, CLASSES)
        with pytest.raises(ValueError, match='solver="cholesky"'):
            one - one

    def test_lost_digits_warn_and_then_refuse(self):
        linear = Inputs(4)
        small = summary_of(Gram, linear, X, TARGETS)
        for scale, outcome in [(1.0, None), (1e3, "warn"), (1e5, "refuse")]:
            large = summary_of(Gram, linear, scale * X, TARGETS)
            both = small + large
            if outcome == "refuse":
                with pytest.raises(ValueError, match="Fit again"):
                    both - large
            elif outcome == "warn":
                with pytest.warns(UserWarning, match="of 16 digits"):
                    left = both - large
                # The rounding of the sum is what is lost, and no more.
                atol = 4 * EPS * scale**2 * small.mass
                np.testing.assert_allclose(left.products.HH, small.products.HH, rtol=0, atol=atol)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    both - large

    def test_parts_of_a_range(self):
        parts = blocks(Gram, CLASSES, range(10, N, 10))
        left = fold(parts) - parts[4]
        assert left.blocks == (("here", 0, 4), ("here", 5, 9))
        assert (left + parts[4]).blocks == (("here", 0, 9),)

    @pytest.mark.parametrize("first", [slice(60), slice(60, None)], ids=["older", "newer"])
    def test_decayed_rows_by_their_present_weight(self, first):
        old, new = blocks(Gram, CLASSES, [60])
        present = np.where(np.arange(N) < 60, 0.25, 1.0)
        gone = summary_of(Gram, MAP, X[first], CLASSES[first], present[first])
        left, rest = old * 0.25 + new - gone, np.delete(np.arange(N), first)
        close(second_moments(left), oracle(CLASSES, present, rest))
        assert left.n_rows == pytest.approx(present[rest].sum())
        assert left.n_weighted == pytest.approx(len(rest))  # which weigh alike

    def test_all_decayed_rows(self):
        one = summary_of(Gram, MAP, X, CLASSES)
        nothing = one * 0.3 - summary_of(Gram, MAP, X, CLASSES, np.full(N, 0.3))
        assert not second_moments(nothing).any()
        assert nothing.n_rows == nothing.n_weighted == nothing.mass == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_decay(kind):
    summary = summary_of(kind, MAP, X, CLASSES) * 0.25
    close(second_moments(summary), 0.25 * oracle(CLASSES))
    assert (summary.n_rows, summary.n_weighted) == (0.25 * N, N)


@pytest.mark.parametrize("kind", KINDS)
def test_decayed_rows_are_as_many_as_tell_as_much(kind):
    """By Kish's count, whatever the order, and before and after a file."""
    parts, decay = blocks(kind, CLASSES, [40, 60]), 0.25
    total = (parts[0] * decay + parts[1]) * decay + parts[2]
    weights = np.repeat([decay**2, decay, 1.0], [40, 20, N - 60])
    assert total.n_weighted == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    assert type(total).from_arrays(total.arrays(), total.schema, total.counted()).decayed
    assert sum(parts[1:], parts[0]).n_weighted == N
