"""Multi-label learning with the low-rank pseudo-inverse of a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array, IntArray, Matrix, is_sparse, max_abs, power_of_two_scale
from pinvlearn._core.sparse import check_sparse
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_classes,
    check_finite,
    check_magnitude,
    check_memory,
    check_rank,
    check_rows,
    check_rows_and_targets,
    check_size,
    check_weights,
    classes_to_score,
    generator,
)
from pinvlearn.learners._following import Followed, followed
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.linalg.driver import FIXED_RANK, decompose, memory
from pinvlearn.linalg.ranking import relevant, top_columns
from pinvlearn.linalg.svd import cutoff_gain, ridge_gain
from pinvlearn.readout.cells import (
    ALPHAS,
    CHUNK_ENTRIES,
    RATIOS,
    Decomposed,
    Judge,
    cross_validated_cells,
    from_gram,
    from_svd,
    judge_accuracy,
    judge_precision,
    judge_squared_error,
    leave_one_out_cells,
)
from pinvlearn.readout.choose import best_cell

GRAM_SIDE = 6000
"""Smaller side up to which "auto" ranks take the whole spectrum from the Gram matrix: about a
minute on one core.  Above it they reach to `WIDE_RATIO` of that side."""

WIDE_RATIO = 0.1

NOT_THE_PAPERS = (
    "auto leaves out fastpi, the algorithm of [JS20], as slower or less exact than this one"
)

FACTOR_ENTRIES = 2**27
"""Most entries of all factors together (1 GiB) that "auto" ranks may ask for."""

SINGLE = (1e-15, 1e15)
"""Magnitudes between which `top_k` computes in float32: products of two stay in its range."""


class FastPIClassifier(Followed, ClassifierMixin, BaseEstimator):
    """Multi-label linear regression Z = A⁺Y with a low-rank pseudo-inverse [JS20].

    Minimises ‖A_r Z - Y‖² + alpha·‖Z‖² for the best approximation A_r of rank r of the inputs A
    and 0/1 targets Y; a label's score is the entry of x·Z.  Application 1 of [JS20] with
    alpha = 0.  A and Y stay sparse.

    Rank and ridge are chosen together from one decomposition, by leave-one-out over all of their
    combinations.

    Parameters
    ----------
    rank : "auto", int, float or array, default="auto"
        Number of singular values; a float above 0 to 1 is a share of min(m, n), rounded up (α of
        the paper, which favours 0.3).  An array is a set to choose from; "auto" is eight shares
        from 0.01 to 1, as far as 1 GiB of factors reaches, and at most 0.1 where the smaller side
        is above 6000.
    alpha : "auto", float or array, default="auto"
        Ridge; 0 is the paper's pseudo-inverse.  An array is a path to choose from; "auto" is 0
        and eleven values from 1e-6 to 0.1 times the largest eigenvalue of AᵀA.
    solver : str, default="auto"
        How X is decomposed.

        - "auto": not by the paper's algorithm, since wherever we measured another was faster, more
          exact, or both.  For "auto" ranks it is one eigendecomposition of the smaller Gram matrix,
          which serves them all, while that side is at most 6000; else what `svd` would take for the
          largest rank: for sparse X "chebyshev" below a third of that side and "gram" above.
          `report_` says which and why.
        - "fastpi": [JS20] Algorithm 1, by hub-and-spoke reordering.  With ``rank=0.3`` and
          ``alpha=0.0`` that is the paper's learner as published.
        - any other of `svd` that takes a rank: "exact", "gram", "block-krylov", "randomized",
          "chebyshev", "frpca", "arpack".
    loo_scoring : {"precision", "mse"} or None, default="precision"
        What leave-one-out judges by: the precision at `k` (for 1-D y the accuracy), or the
        squared error.  None takes generalised cross-validation: no row is visited, but squared
        error is not precision.
    k : int, default=3
        Labels per row that matter: leave-one-out judges by as many, and `top_k` gives as many.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the randomised decompositions, and of the rows that judge where not all do.

    Attributes
    ----------
    weights_ : tuple of arrays
        Z as a product: (Z,) of shape (n, L) where that has fewer entries, else (V, W) of shapes
        (n, r) and (r, L).  Never more than the smaller of n·L and (n + L)·r entries.
    classes_ : array
        The classes of 1-D y, or the numbers of the labels.
    rank_, alpha_ : int and float
        What was used.
    ranks_, alphas_ : arrays
        What it was chosen from.
    loo_scores_ : array of shape (ranks, alphas)
        Score of each combination, larger being better; `gcv_scores_` where `loo_scoring` is None.
    report_ : Report
        How the decomposition was made, how the choice, and how long it took.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    See Also
    --------
    PinvClassifier : One solve with an intercept and probabilities, for dense targets.

    Notes
    -----
    Cost: one decomposition, nnz(Y)·r for UᵀY, then 2·rows·r·L flops in float32 for each alpha of
    the path; where all rows would take more than a few seconds, a random part of at least 500
    judges.  Memory: (m + n + L)·r for the factors, or the smaller Gram matrix and L·r where that
    serves all ranks, and chunks of 16 MiB.

    Leave-one-out is exact for the ridge on the right singular vectors V_r, which are held fixed; at
    full rank that is the whole model.

    Deviations: there is no intercept, as in the paper, since centring would make A dense.  A
    column of ones in X serves as one.  For two classes y is coded as ±1, which gives the same
    decision as two 0/1 columns.

    References
    ----------
    [JS20] J. Jung, L. Sael (2020). Fast and accurate pseudoinverse with sparse matrix reordering
    and incremental approach. Machine Learning 109.

    Examples
    --------
    >>> import scipy.sparse
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from pinvlearn import FastPIClassifier
    >>> X, Y = make_multilabel_classification(
    ...     300, 40, n_classes=6, sparse=True, return_indicator="sparse", random_state=0
    ... )
    >>> model = FastPIClassifier(random_state=0).fit(X[:200], Y[:200])
    >>> model.top_k(X[200:], k=2).shape
    (100, 2)
    >>> bool(model.score(X[200:], Y[200:]) > 0.7)
    True
    """

    def __init__(
        self,
        rank: Any = "auto",
        alpha: Any = "auto",
        *,
        solver: str = "auto",
        loo_scoring: str | None = "precision",
        k: int = 3,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.alpha = alpha
        self.solver = solver
        self.loo_scoring = loo_scoring
        self.k = k
        self.random_state = random_state

    @followed
    def fit(self, X: Matrix, y: Any) -> FastPIClassifier:
        """Decompose X once, choose rank and ridge, and apply the pseudo-inverse to the targets.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Training rows.
        y : array or sparse array of shape (n_samples, n_labels), or array of shape (n_samples,)
            0/1 indicators of labels, or one class for each row.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(X, y)
        return self

    def _fit(self, X: Matrix, y: Any) -> None:
        forget_fit(self)
        check_choice("solver", self.solver, ("auto", *FIXED_RANK))
        if self.loo_scoring is not None:
            check_choice("loo_scoring", self.loo_scoring, ("precision", "mse"))
        check_size("k", self.k)
        alpha = check_alpha(self.alpha)
        X, y = check_rows_and_targets(self, X, y)
        check_magnitude(X, largest=1e200)  # whose squares are not formed, but 1/s is
        Y = self._encoded(y)
        rng, scale = generator(self.random_state), power_of_two_scale(X)
        X = X if scale == 1.0 else X * X.dtype.type(scale)  # keeps squares from overflowing
        ranks, whole = self._ranks(X.shape, Y.shape[1])
        if whole:
            factors = from_gram(X, Y, int(ranks[-1]))
        else:
            rank = int(ranks[-1])
            check_memory(memory(X, rank, self.solver), X.shape, rank)
            found = decompose(
                X, rank, solver=self.solver, rng=rng, n_oversamples=None, n_power=None
            )
            factors = from_svd(found, Y)
        ranks = np.unique(ranks.clip(max=len(factors.s)))
        largest = float(factors.s[0]) ** 2
        if alpha is None:
            alphas = ALPHAS * (largest or 1.0)
        else:
            alphas = np.sort(np.atleast_1d(alpha)) * scale * scale
        self.rank_, chosen, notes = self._choose(factors, Y, ranks, alphas, rng)
        self.weights_ = self._weights(factors, chosen, scale)
        self.alpha_, self.ranks_, self.alphas_ = (
            chosen / scale / scale,
            ranks,
            alphas / scale / scale,
        )
        self.report_ = factors.report.with_notes(*notes)
        if self.solver == "auto":
            reason = f"{self.report_.reason}; {NOT_THE_PAPERS}"
            self.report_ = replace(self.report_, reason=reason)

    def _encoded(self, y: Any) -> Matrix:
        """Targets as a CSR array: 0/1 labels, one 0/1 column per class, or ±1 for two classes."""
        self._sparse_labels = is_sparse(y)
        task, y = ("labels", y) if is_sparse(y) else check_classes(y)
        self._multilabel = task == "labels"
        if self._multilabel:
            Y = scipy.sparse.csr_array(y, dtype=np.float64, copy=True)  # parts are changed
            Y.sum_duplicates()
            Y.eliminate_zeros()
            if Y.nnz and (Y.data != 1.0).any():
                odd = Y.data[Y.data != 1.0][0]
                raise ValueError(
                    f"Unknown label type: y holds {odd:g}, but indicators of labels must be 0 or "
                    "1. Give (y > 0), or a 1-D y for one class per row."
                )
            self.classes_ = np.arange(Y.shape[1])
            return Y
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_[0]}); a classifier needs at least 2."
            )
        if len(self.classes_) == 2:
            return scipy.sparse.csr_array(np.where(codes == 1, 1.0, -1.0)[:, None])
        return scipy.sparse.csr_array(
            (np.ones(len(codes)), codes, np.arange(len(codes) + 1)),
            shape=(len(codes), len(self.classes_)),
        )

    def _ranks(self, shape: tuple[int, int], n_labels: int) -> tuple[IntArray, bool]:
        """The ranks to choose from, rising, and whether a Gram matrix is to serve them all."""
        side = min(shape)
        if isinstance(self.rank, str):
            check_choice("rank", self.rank, ("auto",), "an integer, a share or an array")
            whole = self.solver == "auto" and side <= GRAM_SIDE
            entries = n_labels if whole else sum(shape) + n_labels  # for each direction
            most = min(side, max(1, FACTOR_ENTRIES // entries))
            if side > GRAM_SIDE:
                most = min(most, int(np.ceil(WIDE_RATIO * side)))
            return np.unique(np.ceil(RATIOS * side).astype(np.intp).clip(max=most)), whole
        ranks = np.atleast_1d(np.asarray(self.rank))
        if ranks.ndim != 1 or not len(ranks) or ranks.dtype.kind not in "fiu":
            raise ValueError(
                f'rank={self.rank!r}: give "auto", an integer, a share as a float above 0 to 1, or '
                "a 1-D array of either."
            )
        return np.unique([check_rank(rank, shape) for rank in ranks.tolist()]), False

    def _choose(
        self,
        factors: Decomposed,
        Y: Matrix,
        ranks: IntArray,
        alphas: Array,
        rng: np.random.Generator,
    ) -> tuple[int, float, list[str]]:
        """Rank, ridge and notes; the scores of all combinations become attributes."""
        if len(ranks) * len(alphas) == 1:
            return int(ranks[0]), float(alphas[0]), []
        if self.loo_scoring is None:
            scores = self.gcv_scores_ = cross_validated_cells(factors, Y, ranks, alphas)
            how = "generalised cross-validation"
        else:
            scores, count = leave_one_out_cells(factors, Y, ranks, alphas, self._judge(), rng)
            self.loo_scores_ = scores
            how = f"leave-one-out on {count} of {Y.shape[0]} rows"
        i, j = best_cell(scores, alphas)
        note = f"rank and alpha are the best of {scores.size} combinations by {how}"
        return int(ranks[i]), float(alphas[j]), [note]

    def _judge(self) -> Judge:
        if self.loo_scoring == "mse":
            return judge_squared_error
        if self._is_binary:
            return judge_accuracy
        return judge_precision(min(self.k, len(self.classes_)) if self._multilabel else 1)

    def _weights(self, factors: Decomposed, alpha: float, scale: float) -> tuple[Array, ...]:
        """Z of the unscaled inputs, as the smaller of the product and its factors."""
        s = factors.s[: self.rank_]
        gains = cutoff_gain(s, factors.rcond) if alpha == 0.0 else ridge_gain(s, alpha)
        W = (gains * s.dtype.type(scale))[:, None] * factors.C[: self.rank_]
        n, (rank, n_labels) = self.n_features_in_, W.shape
        if n * n_labels <= (n + n_labels) * rank:
            return (factors.right(W),)
        return factors.right(np.eye(rank, dtype=W.dtype)), W

    @property
    def _is_binary(self) -> bool:
        return not self._multilabel and len(self.classes_) == 2

    @property
    def coef_(self) -> Array:
        """Zᵀ of shape (n_labels, n_features); a product of that size where `weights_` has two."""
        check_is_fitted(self)
        first, *rest = self.weights_
        coef: Array = (first @ rest[0] if rest else first).T
        return coef

    def decision_function(self, X: Matrix) -> Array:
        """Scores X·Z of every label or class.

        The whole array has n_samples·n_labels entries; `top_k` needs it a chunk at a time.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_labels) or (n_samples,)
            One column for each label or class; 1-D for two classes.
        """
        X = check_rows(self, X, reset=False, bounded=False)
        scores = np.vstack(list(self._chunks(X, self.weights_)))
        return scores[:, 0] if self._is_binary else scores

    def top_k(
        self, X: Matrix, k: int | None = None, *, return_scores: bool = False
    ) -> IntArray | tuple[IntArray, Array]:
        """The k best labels of every row, best first; of equal scores the lower label.

        Computed in float32, a chunk of rows at a time.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        k : int, optional
            `k` of the constructor by default, or all labels if there are fewer.
        return_scores : bool, default=False
            Give the scores as well.

        Returns
        -------
        labels : integer array of shape (n_samples, k)
            Positions in `classes_`.
        scores : array of shape (n_samples, k)
            Where asked for.
        """
        X, n_labels = check_rows(self, X, reset=False, bounded=False), len(self.classes_)
        k = min(self.k, n_labels) if k is None else check_size("k", k)
        if k > n_labels:
            raise ValueError(f"k={k}: there are only {n_labels} labels.")
        labels, scores = self._best(X, k)
        return (labels, scores) if return_scores else labels

    def _best(self, X: Matrix, k: int) -> tuple[IntArray, Array]:
        sizes = [max_abs(X), *(max_abs(factor) for factor in self.weights_)]
        weights: tuple[Array, ...] = self.weights_
        if all(size == 0.0 or SINGLE[0] < size < SINGLE[1] for size in sizes):
            X = X.astype(np.float32, copy=False)
            weights = tuple(factor.astype(np.float32, copy=False) for factor in weights)
        labels, values = [], []
        for scores in self._chunks(X, weights):
            if self._is_binary:
                scores = np.hstack([-scores, scores])
            labels.append(top_columns(scores, k))
            values.append(np.take_along_axis(scores, labels[-1], axis=1))
        return np.vstack(labels), np.vstack(values)

    def predict(self, X: Matrix) -> Any:
        """Labels of the rows, or their classes where y was 1-D.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array or sparse array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Indicators of the labels with a score of at least 0.5, sparse if those of `fit` were; or
            the best class of each row.
        """
        X = check_rows(self, X, reset=False, bounded=False)
        chunks = self._chunks(X, self.weights_)
        if self._multilabel and self._sparse_labels:
            marked = [scipy.sparse.csr_array(scores >= 0.5, dtype=np.intp) for scores in chunks]
            return scipy.sparse.vstack(marked, format="csr")
        if self._multilabel:
            return np.vstack([(scores >= 0.5).astype(np.intp) for scores in chunks])
        if self._is_binary:
            best = np.concatenate([(scores[:, 0] > 0.0).astype(np.intp) for scores in chunks])
        else:
            best = np.concatenate([scores.argmax(axis=1) for scores in chunks])
        return self.classes_[best]

    def score(self, X: Matrix, y: Any, sample_weight: Any = None) -> float:
        """Precision at 1 for indicators, accuracy for 1-D y.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        y : array or sparse array of shape (n_samples, n_labels), or array of shape (n_samples,)
            Indicators of their labels, or their classes.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
            Between 0 and 1, larger is better.
        """
        check_is_fitted(self)
        if not self._multilabel:
            accuracy: float = super().score(X, classes_to_score(y), sample_weight)
            return accuracy
        top, _ = self._best(check_rows(self, X, reset=False, bounded=False), 1)
        check_sparse(y, "y")
        y = scipy.sparse.csr_array(y) if is_sparse(y) else np.asarray(y)
        check_finite(y, name="y")
        if y.ndim != 2 or y.shape != (len(top), len(self.classes_)):
            raise ValueError(
                f"y has shape {y.shape}; indicators of shape {(len(top), len(self.classes_))} are "
                "needed, as in fit."
            )
        weights = check_weights(sample_weight, len(top), some=True)
        return float(np.average(relevant(y, top)[:, 0], weights=weights))

    def _chunks(self, X: Matrix, weights: tuple[Array, ...]) -> Iterator[Array]:
        """Scores of some rows at a time."""
        step = max(1, CHUNK_ENTRIES // max(factor.shape[1] for factor in weights))
        for start in range(0, X.shape[0], step):
            scores = np.asarray(X[start : start + step] @ weights[0])
            for factor in weights[1:]:
                scores = scores @ factor
            yield scores

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags
