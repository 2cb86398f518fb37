"""Completion and recommendation: a regressor over pairs (row, column)."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_count,
    check_indices,
    check_jobs,
    check_pairs,
    check_rank,
    check_shape,
    check_triplets,
    check_values,
    generator,
)
from pinvlearn.completion.als import entries_of, row_runner
from pinvlearn.learners._completing import BURN_IN, ITERATIONS, SOLVERS, Problem
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.linalg.report import Report, Stopwatch

MOST_FLOPS, MOST_SAMPLE_BYTES = 2e12, 2**29
"""Up to where "auto" takes the draws: a few minutes on one core, and half a GiB."""

SCORE_CELLS = 2**22
"""Scores held at a time by `recommend` and `similar`: 32 MiB."""


class PartialSVD(RegressorMixin, BaseEstimator):
    """The SVD of a partially known matrix as a regressor over pairs (row, column).

    a_ij ≈ mean + b_i + c_j + u_i·v_j, fitted to the known entries alone: ratings of users for
    items, readings of sensors at times, doses and responses.

    Parameters
    ----------
    rank : int, default=10
        Number of factors.
    solver : {"auto", "gibbs", "als", "descent"}, default="auto"
        - "gibbs": draws from the posterior [SM08]; best accuracy, calibrated predictive standard
          deviation, nothing to tune.
        - "als": alternating least squares with the weighted penalty; fastest.
        - "descent": the original's descent, factor after factor [LingPipe], on what biases leave.
        - "auto": "gibbs" unless a penalty is given or the data are very large; `report_` says
          which and why.
    biases : bool, default=True
        Give every row and column an offset.
    alpha : "auto", float or array, default="auto"
        Penalty per known entry of "als" (which counts 25 more for every row and column) and
        "descent", as in `partial_svd`; "auto" chooses on a tenth of the entries held out, an array
        is a path to choose from.  "gibbs" finds its own.
    shape : (int, int), optional
        Rows and columns; by default the largest indices say.
    max_iter : int, optional
        Iterations of "als" (30), sweeps of "gibbs" (120, of which a sixth are burn-in), epochs of
        each factor of "descent" (100; up to 1000 where rows have few entries).
    n_samples : int, default=100
        Draws of "gibbs" that are kept at most.
    clip : bool, default=True
        Keep predictions within the range of the values that were seen.
    n_jobs : int, default=None
        Threads; None takes as many as BLAS is allowed, -1 all cores.  The result does not depend
        on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn at random.

    Attributes
    ----------
    U_, singular_values_, components_ : arrays of shapes (m, k), (k,), (k, n)
        SVD of the interaction part u_i·v_j (of its posterior mean with "gibbs").
    row_biases_, column_biases_ : arrays of shapes (m,), (n,)
    mean_ : float
    completed_ : Completed
        Biases and factors as used for prediction.
    alpha_ : float or None
        Penalty used; None for "gibbs".
    alphas_, validation_rmse_ : arrays
        The penalties it was chosen from and their errors on held-out entries, where it was chosen.
    training_rmse_ : array
        After each iteration or sweep ("descent": at the end).
    shape_ : (int, int)
    report_ : Report

    Notes
    -----
    Pairs are indices, not features: scikit-learn's checks for feature tables do not apply, its
    model selection does.  Rows or columns never seen are predicted from what is known of the other
    side.  Memory O(entries + (m + n)·k) for "als" and "descent", and 4·n_samples·(m + n)·(k + 1)
    bytes for the draws (float32) of "gibbs".  The first fit in a fresh installation compiles for a
    few seconds.

    Deviations: "descent" is [LingPipe]'s descent on the residuals of penalised biases, where the
    original has none.  "gibbs" adds biases and draws the noise to [SM08].

    References
    ----------
    [LingPipe] B. Carpenter, com.aliasi.matrix.SvdMatrix, LingPipe 4.0.0.
    [SM08] R. Salakhutdinov, A. Mnih (2008). Bayesian probabilistic matrix factorization using
    Markov chain Monte Carlo. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import PartialSVD
    >>> rng = np.random.default_rng(0)
    >>> A = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    >>> pairs = np.argwhere(rng.random(A.shape) < 0.5)
    >>> model = PartialSVD(2, random_state=0).fit(pairs, A[tuple(pairs.T)])
    >>> hidden = np.argwhere(np.ones(A.shape))
    >>> bool(model.score(hidden, A.ravel()) > 0.9)
    True
    >>> ids, scores = model.recommend([0], n=3)
    >>> ids.shape
    (1, 3)
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        solver: str = "auto",
        biases: bool = True,
        alpha: Any = "auto",
        shape: tuple[int, int] | None = None,
        max_iter: int | None = None,
        n_samples: int = 100,
        clip: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.rank = rank
        self.solver = solver
        self.biases = biases
        self.alpha = alpha
        self.shape = shape
        self.max_iter = max_iter
        self.n_samples = n_samples
        self.clip = clip
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, pairs: Any, values: Any) -> PartialSVD:
        """Learn from known entries.

        Parameters
        ----------
        pairs : integer array of shape (n, 2)
            Row and column of each; no pair twice.
        values : array of shape (n,)
            The entry of each pair.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(pairs, values)
        return self

    def _fit(self, pairs: Any, values: Any) -> None:
        forget_fit(self)
        rows, cols = check_pairs(pairs)
        if self.shape is None:
            check_values(values)
            shape = (int(rows.max()) + 1, int(cols.max()) + 1) if len(rows) else (1, 1)
        else:
            shape = check_shape(self.shape)
        rows, cols, values, shape = check_triplets(rows, cols, values, shape)
        rank = check_rank(self.rank, None, shape)
        if rank is None:
            raise ValueError(f"rank=None: give an integer in 1 … {min(shape)}.")
        solver, reason, alpha = self._choose(len(values), shape, rank)
        given = check_count("max_iter", self.max_iter, least=1)
        mean, scale = float(values.mean()), float(values.std())
        scale = scale if scale > 1e-12 * max(1.0, abs(mean)) else 1.0
        watch = Stopwatch()
        run = row_runner(check_jobs(self.n_jobs))
        # The products left to BLAS are small; one thread for them keeps the bits and the cores.
        with one_blas_thread():
            rng, svd_rng, fold_rng = generator(self.random_state).spawn(3)
            problem = Problem(
                rows,
                cols,
                (values - mean) / scale,
                (shape[0] + 1, shape[1] + 1),  # the last of each is one that is never seen
                rank,
                bool(self.biases),
                alpha,
                ITERATIONS[solver] if given is None else given,
                given is None,
                check_count("n_samples", self.n_samples, least=1) or 1,
                rng,
                run,
            )
            with watch("fit"):
                fitted = SOLVERS[solver](problem, mean, scale)
            with watch("svd"):
                factors = fitted.completed.svd(rank, svd_rng)
        self.completed_, self.mean_, self.shape_ = fitted.completed, mean, shape
        self.U_, self.singular_values_, self.components_ = factors.U, factors.s, factors.Vt
        self.row_biases_, self.column_biases_ = fitted.completed.mean_biases()
        self.alpha_, self.training_rmse_ = fitted.alpha, fitted.rmse * scale
        if fitted.path is not None:
            self.alphas_, self.validation_rmse_ = fitted.path
        self.value_range_ = (float(values.min()), float(values.max()))
        known = entries_of(rows, cols, values, shape[0])
        self.known_starts_, self.known_columns_ = known.starts, known.indices
        self.fold_seed_ = int(fold_rng.integers(2**31))
        self.n_features_in_ = 2
        self.report_ = Report(
            solver,
            reason,
            passes=fitted.passes,
            error=float(self.training_rmse_[-1]),
            seconds=dict(watch),
            notes=_notes(fitted.completed.n_sets, ITERATIONS[solver] if given is None else given),
        )

    def _choose(
        self, n_entries: int, shape: tuple[int, int], rank: int
    ) -> tuple[str, str, float | Array | None]:
        """Method, reason and checked alpha."""
        solver = check_choice("solver", self.solver, ("auto", *SOLVERS))
        alpha = check_alpha(self.alpha)
        if solver == "gibbs" and alpha is not None:
            raise ValueError(
                f'alpha={self.alpha!r}: solver="gibbs" finds its own regularisation; leave alpha '
                'at "auto", or use "als" or "descent".'
            )
        if solver != "auto":
            return solver, "as asked", alpha
        if alpha is not None:
            return "als", "a penalty is given", alpha
        flops = 2.0 * n_entries * (rank + 1) ** 2 * (self.max_iter or ITERATIONS["gibbs"])
        kept = 4 * self.n_samples * sum(shape) * (rank + 1)
        if flops > MOST_FLOPS or kept > MOST_SAMPLE_BYTES:
            return "als", "the draws of gibbs would take long, or much memory", alpha
        return "gibbs", "best accuracy, and affordable at this size", alpha

    def predict(self, pairs: Any, return_std: bool = False) -> Any:
        """Values of pairs, among them pairs never seen.

        Parameters
        ----------
        pairs : integer array of shape (n, 2)
            Row and column of each; indices never seen are allowed.
        return_std : bool, default=False
            Give the predictive standard deviations as well, of "gibbs" only.

        Returns
        -------
        values : array of shape (n,)
            Predicted entries.
        deviations : array of shape (n,)
            Where asked for: that of a new value, from the spread of the draws and the noise.
        """
        check_is_fitted(self)
        rows, cols = check_pairs(pairs)
        if return_std and self.completed_.n_sets == 1:
            raise ValueError(
                f'return_std=True needs several posterior draws; this model was fitted with "'
                f'{self.report_.method}". Fit with solver="gibbs" and n_samples of at least 2.'
            )
        mean, variance = self.completed_.predict(rows, cols)
        if self.clip:
            mean = np.clip(mean, *self.value_range_)
        return (mean, np.sqrt(variance)) if return_std else mean

    def recommend(
        self, rows: Any, n: int = 10, exclude_known: bool = True
    ) -> tuple[IntArray, Array]:
        """The columns with the highest values for each of some rows.

        Parameters
        ----------
        rows : array of row indices
            For whom.
        n : int
            How many columns for each.
        exclude_known : bool
            Leave out the columns that the row had in training.

        Returns
        -------
        ids : integer array of shape (len(rows), n)
            Best first; -1 where a row has fewer columns left.
        scores : array of shape (len(rows), n)
            Predicted values, not clipped; NaN where the id is -1.
        """
        check_is_fitted(self)
        wanted = check_indices("rows", np.atleast_1d(rows), None)
        n = check_count("n", n, least=1) or 1
        ids, scores = np.full((len(wanted), n), -1), np.full((len(wanted), n), np.nan)
        block = max(1, SCORE_CELLS // self.shape_[1])
        for at in range(0, len(wanted), block):
            some = wanted[at : at + block]
            values = self.completed_.scores(some)
            if exclude_known:
                for place, row in enumerate(some):
                    if row < self.shape_[0]:
                        low, high = self.known_starts_[row : row + 2]
                        values[place, self.known_columns_[low:high]] = -np.inf
            _best(values, ids[at : at + block], scores[at : at + block])
        return ids, scores

    def similar(self, columns: Any, n: int = 10) -> tuple[IntArray, Array]:
        """The columns nearest to some columns: people who liked this also liked.

        Parameters
        ----------
        columns : array of column indices
            Of the model.
        n : int
            How many others for each.

        Returns
        -------
        ids : integer array of shape (len(columns), n)
            Most similar first, without the column itself; -1 where there are no more.
        similarities : array of shape (len(columns), n)
            Cosine of the columns' factors, singular values included.
        """
        check_is_fitted(self)
        wanted = check_indices("columns", np.atleast_1d(columns), self.shape_[1])
        n = check_count("n", n, least=1) or 1
        V = self.components_.T * self.singular_values_
        length = np.linalg.norm(V, axis=1, keepdims=True)
        V = np.divide(V, length, out=np.zeros_like(V), where=length > 0.0)
        ids, scores = np.full((len(wanted), n), -1), np.full((len(wanted), n), np.nan)
        block = max(1, SCORE_CELLS // self.shape_[1])
        for at in range(0, len(wanted), block):
            some = wanted[at : at + block]
            values = V[some] @ V.T
            values[np.arange(len(some)), some] = -np.inf
            _best(values, ids[at : at + block], scores[at : at + block])
        return ids, scores

    def fold_in(self, pairs: Any, values: Any) -> PartialSVD:
        """A model with further rows, each in closed form given the columns.

        Parameters
        ----------
        pairs : integer array of shape (n, 2)
            Rows from ``shape_[0]`` on, and columns of the model.
        values : array of shape (n,)
            The entry of each pair.

        Returns
        -------
        PartialSVD
            A copy that also knows the new rows; this one is unchanged.
        """
        check_is_fitted(self)
        rows, cols = check_pairs(pairs)
        m, n = self.shape_
        if (rows < m).any():
            raise ValueError(
                f"pairs holds row {rows[rows < m][0]}, which the model has; new rows start at {m}. "
                "Number them from there, or fit anew for rows whose entries changed."
            )
        count = int(rows.max()) + 1 - m if len(rows) else 1
        rows, cols, values, _ = check_triplets(rows - m, cols, values, (count, n))
        scaled = (values - self.completed_.mean) / self.completed_.scale
        with one_blas_thread():
            rng = np.random.default_rng([self.fold_seed_, m])
            entries, run = entries_of(rows, cols, scaled, count), row_runner(1)
            new = self.completed_.with_rows(entries, rng, run)
        model = copy.copy(self)
        model.completed_, model.shape_ = new, new.shape
        model.row_biases_ = new.mean_biases()[0]
        # u = (interactions of the row)·V / s, as for every row of the decomposition
        safe = np.where(self.singular_values_ > 0.0, self.singular_values_, np.inf)
        model.U_ = np.vstack([self.U_, new._times(self.components_.T)[m:] / safe])
        starts = np.cumsum(np.bincount(rows, minlength=count)) + self.known_starts_[-1]
        model.known_starts_ = np.concatenate([self.known_starts_, starts])
        model.known_columns_ = np.concatenate([self.known_columns_, cols.astype(np.uint32)])
        return model

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _best(values: Array, ids: IntArray, scores: Array) -> None:
    """Write the largest finite entries of each row, in falling order, ties by index."""
    n = min(ids.shape[1], values.shape[1])
    top = np.argpartition(-values, n - 1, axis=1)[:, :n]
    top.sort(axis=1)
    found = np.take_along_axis(values, top, axis=1)
    order = np.argsort(-found, axis=1, kind="stable")
    top, found = np.take_along_axis(top, order, axis=1), np.take_along_axis(found, order, axis=1)
    there = np.isfinite(found)
    ids[:, :n] = np.where(there, top, -1)
    scores[:, :n] = np.where(there, found, np.nan)


def _notes(n_sets: int, sweeps: int) -> tuple[str, ...]:
    if n_sets == 1:
        return ()
    return (f"{n_sets} draws kept in float32, after {sweeps // BURN_IN} sweeps of burn-in",)
