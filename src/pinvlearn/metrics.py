"""How good a ranking of labels is: precision and discounted gain of the best k."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse

from pinvlearn._core.arrays import Array, IntArray, Matrix, is_sparse
from pinvlearn._core.sparse import check_sparse
from pinvlearn._validation import check_finite, check_real, check_size, unmasked
from pinvlearn.linalg.ranking import relevant, top_columns

CHUNK_ENTRIES = 2**22
"""Scores ranked at a time."""


def precision_at_k(Y: Matrix, scores: Any, k: int = 1) -> float:
    """Mean share of the k best-scored labels that are right: P@k.

    P@k = (1/k) Σ y_l over the k labels l of the largest scores, averaged over the rows ([JS20],
    Section 4.3).  A row with fewer than k labels cannot reach 1; a row with none has 0.

    Parameters
    ----------
    Y : array or sparse array of shape (n, L)
        Indicators: the labels of a row are its entries other than 0.
    scores : array of shape (n, L) or integer array of shape (n, ≥ k)
        Scores of floats, the larger the better and of equal ones the lower label first; or
        integers that name the labels of each row, best first, as `FastPIClassifier.top_k` gives
        them.
    k : int, default=1
        Places that count.

    Returns
    -------
    float
        Between 0 and 1, larger is better.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> Y = np.array([[1, 0, 1], [0, 1, 0]])
    >>> pl.precision_at_k(Y, np.array([[0.9, 0.1, 0.8], [0.7, 0.2, 0.1]]), k=2)
    0.75
    >>> pl.precision_at_k(Y, np.array([[0], [0]]))
    0.5
    """
    return float(_relevance(Y, scores, k)[0].mean())


def ndcg_at_k(Y: Matrix, scores: Any, k: int = 1) -> float:
    """Mean discounted gain of the k best-scored labels over the best attainable: nDCG@k.

    The gain Σ y_l / log₂(1 + place) over the first k places, divided by what the row's own labels
    would reach in these places and averaged over the rows.  A row without labels has 0.  No
    propensities: every label counts the same.

    Parameters
    ----------
    Y : array or sparse array of shape (n, L)
        Indicators: the labels of a row are its entries other than 0.
    scores : array of shape (n, L) or integer array of shape (n, ≥ k)
        Scores, or the labels of each row, as in `precision_at_k`.
    k : int, default=1
        Places that count.

    Returns
    -------
    float
        Between 0 and 1, larger is better.

    Examples
    --------
    >>> import numpy as np, pinvlearn as pl
    >>> Y = np.array([[0, 1, 0]])
    >>> round(pl.ndcg_at_k(Y, np.array([[0.9, 0.8, 0.1]]), k=2), 4)
    0.6309
    """
    hits, counts = _relevance(Y, scores, k)
    discount = 1.0 / np.log2(np.arange(2, k + 2))
    attainable = np.append(0.0, np.cumsum(discount))[np.minimum(counts, k)]
    gain = hits @ discount
    return float(np.divide(gain, attainable, out=np.zeros_like(gain), where=counts > 0).mean())


def _relevance(Y: Matrix, scores: Any, k: int) -> tuple[Array, IntArray]:
    """Whether each of the k best is right, (n, k), and how many labels each row has."""
    k = check_size("k", k)
    Y, scores = _numbers(Y, "Y"), _numbers(scores, "scores")
    check_finite(Y, name="Y")
    if is_sparse(Y):
        Y = scipy.sparse.csr_array(Y, copy=True)
        Y.sum_duplicates()
        Y.eliminate_zeros()
        counts = np.diff(Y.indptr)
    else:
        counts = np.count_nonzero(Y, axis=1) if Y.ndim == 2 else np.zeros(0, dtype=np.intp)
    scores = scores.toarray() if is_sparse(scores) else scores
    if Y.ndim != 2 or scores.ndim != 2 or not len(scores) or Y.shape[0] != len(scores):
        raise ValueError(
            f"Y has shape {Y.shape} and scores {scores.shape}; give indicators of shape "
            "(n, labels), and scores of the same shape or label numbers of shape (n, at least k)."
        )
    if not k <= min(Y.shape[1], scores.shape[1]):
        raise ValueError(
            f"k={k}, but Y has {Y.shape[1]} labels and scores has {scores.shape[1]} columns; "
            "ask for at most that many."
        )
    if scores.dtype.kind in "iu":
        return relevant(Y, _named(scores, Y.shape[1])[:, :k]), counts
    if scores.shape != Y.shape:
        raise ValueError(
            f"Y has shape {Y.shape} and scores {scores.shape}; scores need one column per label. "
            "Numbers of labels must be integers."
        )
    check_finite(scores, name="scores")
    step = max(1, CHUNK_ENTRIES // scores.shape[1])
    chunks = [slice(at, at + step) for at in range(0, len(scores), step)]
    return np.vstack([relevant(Y[at], top_columns(scores[at], k)) for at in chunks]), counts


def _numbers(values: Any, name: str) -> Any:
    """A sparse matrix, or an array of real numbers, none of them behind a mask."""
    check_sparse(values, name)
    array = values if is_sparse(values) else np.asarray(unmasked(values))
    check_real(array, name)
    if array.dtype.kind == "O":
        whole = all(isinstance(cell, Integral) for cell in array.ravel())
        try:
            array = array.astype(np.int64 if whole else np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"{name} holds objects that are no numbers.") from failure
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} is of type {array.dtype}; real numbers are needed.")
    return array


def _named(top: IntArray, n_labels: int) -> IntArray:
    """Label numbers, each in 0 … n_labels - 1 and none twice in a row."""
    if top.min() < 0 or top.max() >= n_labels:
        raise ValueError(
            f"scores are integers, so they name labels, from {top.min()} to {top.max()}; Y has "
            f"labels 0 … {n_labels - 1}. Give scores as floats."
        )
    if top.shape[1] > 1 and not np.diff(np.sort(top, axis=1), axis=1).all():
        raise ValueError(
            "scores are integers, so they name labels, and some row names one twice. Give each "
            "label once, or scores as floats."
        )
    return top
