"""Precision and discounted gain of rankings, against definitions written out in loops."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import ndcg_score

from oracles import best_labels
from pinvlearn import ndcg_at_k, precision_at_k
from pinvlearn.linalg.ranking import relevant, top_columns

SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)
CONTAINERS = [np.asarray, scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array]


@st.composite
def rankings(draw):
    """Indicators, scores with many ties, and a k."""
    shape = draw(SHAPES)
    Y = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 1)))
    scores = draw(hnp.arrays(np.float64, shape, elements=st.integers(-3, 3).map(float)))
    return Y, scores, draw(st.integers(1, shape[1]))


@given(rankings(), st.sampled_from(CONTAINERS))
def test_precision_is_its_definition(case, container):
    Y, scores, k = case
    expected = np.mean([Y[i, top].sum() / k for i, top in enumerate(best_labels(scores, k))])
    assert precision_at_k(container(Y), scores, k) == pytest.approx(expected, abs=1e-15)


@given(rankings(), st.sampled_from(CONTAINERS))
def test_gain_is_its_definition(case, container):
    Y, scores, k = case
    rows = []
    for i, top in enumerate(best_labels(scores, k)):
        gain = sum(Y[i, label] / np.log2(2 + place) for place, label in enumerate(top))
        best = sum(1 / np.log2(2 + place) for place in range(min(k, Y[i].sum())))
        rows.append(gain / best if best else 0.0)
    assert ndcg_at_k(container(Y), scores, k) == pytest.approx(np.mean(rows), abs=1e-14)


def test_gain_agrees_with_scikit_learn_without_ties(rng):
    Y = (rng.random((40, 12)) < 0.3).astype(int)
    Y[:, 0] = 1  # scikit-learn counts a row without labels as 0 too, but warns in some versions
    scores = rng.permuted(np.tile(np.arange(12.0), (40, 1)), axis=1)
    assert ndcg_at_k(Y, scores, 5) == pytest.approx(ndcg_score(Y, scores, k=5), abs=1e-14)


@given(rankings())
def test_labels_by_number_give_the_same_as_scores(case):
    Y, scores, k = case
    top = top_columns(scores, k)
    assert precision_at_k(Y, top, k) == precision_at_k(Y, scores, k)
    assert ndcg_at_k(Y, top, k) == ndcg_at_k(Y, scores, k)


@given(rankings())
def test_order_is_all_that_counts(case):
    Y, scores, k = case
    assert precision_at_k(Y, 2.0 * scores + 1.0, k) == precision_at_k(Y, scores, k)
    assert precision_at_k(Y, scores.astype(np.float32), k) == precision_at_k(Y, scores, k)


def test_perfect_and_useless_rankings(rng):
    Y = np.zeros((5, 8), dtype=int)
    Y[:, :3] = 1
    assert precision_at_k(Y, Y.astype(float), 3) == 1.0
    assert ndcg_at_k(Y, Y.astype(float), 8) == pytest.approx(1.0, abs=1e-15)
    assert precision_at_k(Y, -Y.astype(float), 5) == 0.0
    assert precision_at_k(np.zeros((5, 8)), rng.random((5, 8)), 2) == 0.0
    assert ndcg_at_k(np.zeros((5, 8)), rng.random((5, 8)), 2) == 0.0


def test_stored_zeros_are_not_labels():
    Y = scipy.sparse.csr_array(([0.0, 1.0], [0, 1], [0, 2]), shape=(1, 3))
    assert ndcg_at_k(Y, np.array([[0.0, 1.0, 0.0]]), 2) == 1.0
    assert relevant(Y, np.array([[0, 1]])).tolist() == [[0.0, 1.0]]


def test_many_rows_are_ranked_in_chunks(rng, monkeypatch):
    Y, scores = rng.random((50, 7)) < 0.4, rng.random((50, 7))
    whole = precision_at_k(Y, scores, 3)
    monkeypatch.setattr("pinvlearn.metrics.CHUNK_ENTRIES", 20)
    assert precision_at_k(Y, scores, 3) == whole


@pytest.mark.parametrize(
    ("Y", "scores", "k", "message"),
    [
        (np.ones((2, 3)), np.ones((2, 2)), 1, "one column per label"),
        (np.ones((2, 3)), np.ones((3, 3)), 1, "indicators of shape"),
        (np.ones(3), np.ones((3, 1)), 1, "indicators of shape"),
        (np.ones((2, 3)), np.ones((2, 3)), 4, "at most that many"),
        (np.ones((2, 3)), np.zeros((2, 1), dtype=int), 2, "at most that many"),
        (np.ones((2, 3)), np.full((2, 1), 3), 1, "labels 0 … 2"),
        (np.ones((2, 3)), np.full((2, 2), 1), 2, "names one twice"),
        (np.ones((2, 3)), np.full((2, 3), np.nan), 1, "NaN"),
        (np.ones((2, 3)), np.ones((2, 3)), 0, "at least 1"),
    ],
)
def test_bad_input(Y, scores, k, message):
    with pytest.raises(ValueError, match=message):
        precision_at_k(Y, scores, k)


def test_indicators_are_not_taken_for_numbers_of_labels():
    """What `predict` gives for labels would else name the labels 0 and 1."""
    Y = np.array([[0, 1, 1], [1, 0, 0]])
    for k in (1, 2):
        with pytest.raises(ValueError, match="some row names one twice"):
            precision_at_k(Y, Y, k=k)


@pytest.mark.parametrize("metric", [precision_at_k, ndcg_at_k])
def test_what_is_no_number_is_refused(metric):
    Y, scores = np.eye(4), np.random.default_rng(0).random((4, 4))
    hidden = np.arange(16).reshape(4, 4) % 5 == 0
    with pytest.raises(ValueError, match="Y contains NaN"):
        metric(np.ma.array(Y, mask=hidden), scores, k=2)
    with pytest.raises(ValueError, match="scores contains NaN"):
        metric(Y, np.ma.array(scores, mask=hidden), k=2)
    for kind in (complex, str, "datetime64[s]"):
        with pytest.raises(TypeError, match="real numbers"):
            metric(Y, scores.astype(kind), k=2)
        with pytest.raises(TypeError, match="real numbers"):
            metric(Y.astype(kind), scores, k=2)
    with pytest.raises(TypeError, match="no numbers"):
        metric(Y, np.full((4, 4), "x", dtype=object), k=2)


@pytest.mark.parametrize("metric", [precision_at_k, ndcg_at_k])
def test_objects_are_the_numbers_they_hold(metric):
    Y, scores = np.eye(4), np.random.default_rng(0).random((4, 4))
    best = np.argsort(-scores, axis=1)
    expected = metric(Y, scores, k=2)
    for found in (scores.astype(object), best, best.astype(object)):
        assert metric(Y.astype(object), found, k=2) == expected
