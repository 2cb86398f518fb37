"""Completion and recommendation: a regressor over users and items, or rows and columns."""

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
    check_factor_memory,
    check_indices,
    check_jobs,
    check_lengths,
    check_number,
    check_pairs,
    check_rank,
    check_shape,
    check_size,
    check_triplets,
    check_values,
    generator,
)
from pinvlearn.completion.als import Entries, entries_of, merged, row_runner, rows_of_entries
from pinvlearn.completion.completed import Completed
from pinvlearn.completion.gibbs import sweeps_kept
from pinvlearn.completion.implicit import Trial, extra_confidence, ranking_score, solved_rows
from pinvlearn.learners._completing import (
    BURN_IN,
    CLICK_ITERATIONS,
    ITERATIONS,
    SOLVERS,
    Fitted,
    Problem,
    fit_clicks,
)
from pinvlearn.learners._following import Followed, followed
from pinvlearn.learners._ids import (
    as_ids,
    counted,
    joined,
    known_places,
    learned,
    places_of,
    refuse_sparse,
    triplets,
    with_counts,
)
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.linalg.ranking import top_columns
from pinvlearn.linalg.report import Report, Stopwatch

FEEDBACK = ("explicit", "implicit")
MOST_FLOPS, MOST_SAMPLE_BYTES = 2e12, 2**29
"""Up to where "auto" takes the draws: a few minutes on one core, and half a GiB."""

SCORE_CELLS = 2**22
"""Scores held at a time by `recommend` and `similar`: 32 MiB."""

INDICES = "give ids that are integers as fit(users, items, ratings), not as pairs"
"""What to do where there are as many rows as the largest id says."""


class PartialSVD(Followed, RegressorMixin, BaseEstimator):
    """The SVD of a partially known matrix: ratings of users for items, and the like.

    a_ij ≈ mean + b_i + c_j + u_i·v_j, fitted to the known entries alone: readings of sensors at
    times, doses and responses as well.  Users (rows) and items (columns) go by ids of any type, or
    by their indices.  With ``feedback="implicit"`` entries are clicks, plays or purchases, and what
    is not among them counts as well.

    Parameters
    ----------
    rank : int or float, default=10
        Number of factors; a float above 0 to 1 is a share of the smaller side.
    solver : {"auto", "gibbs", "als", "descent"}, default="auto"
        - "gibbs": draws from the posterior [SM08]; best accuracy, calibrated predictive standard
          deviation, nothing to tune.
        - "als": alternating least squares with the weighted penalty; fastest.
        - "descent": the original's descent, factor after factor [LingPipe], on what biases leave.
        - "auto": "gibbs" unless a penalty is given or the data are very large; `report_` says
          which and why.
    feedback : {"explicit", "implicit"}, default="explicit"
        - "explicit": entries are values, and nothing is known of other cells.
        - "implicit": entries are counts of clicks, 1 each where none are given.  All cells are
          fitted, 1 where there is a count and 0 elsewhere, the former with weight
          1 + confidence·log₂(1 + count) [HKV08]; by "als", without biases.
    confidence : "auto" or float, default="auto"
        What a click weighs beyond a cell without one; "auto" chooses, together with `alpha`, by
        the ranking of a tenth of the entries held out.  Of implicit feedback only.
    biases : bool, default=True
        Give every row and column an offset.
    alpha : "auto", float or array, default="auto"
        Penalty per known entry of "als" (which counts 25 more for every row and column) and
        "descent", as in `partial_svd`; "auto" chooses on a tenth of the entries held out, an array
        is a path to choose from.  "gibbs" finds its own.  Of implicit feedback, the ridge of every
        row and column.
    shape : (int, int), optional
        Rows and columns of entries given by indices; by default the largest say.
    max_iter : int, optional
        Iterations of "als" (30; 15 of implicit feedback), sweeps of "gibbs" (120, of which a sixth
        are burn-in), epochs of each factor of "descent" (100; up to 1000 where rows have few
        entries).
    n_samples : int, default=100
        Draws of "gibbs" that are kept at most.
    validation_fraction : float, optional
        Share of the entries that a first fit leaves out, to tell the error in `held_out_rmse_`,
        or the ranking in `held_out_ndcg_`; it takes as long again.
    clip : bool, default=True
        Keep predictions within the range of the values that were seen.
    n_jobs : int, default=None
        Threads; None takes as many as BLAS is allowed, -1 all cores.  The result does not depend
        on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of what is drawn at random.
    verbose : bool, default=False
        Print how far a fit is, about every second.

    Attributes
    ----------
    users_, items_ : arrays of shapes (m,), (n,), or None
        The ids of rows and columns; None where they go by their indices.
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
    confidence_ : float or None
        Weight of a click that was used; None for explicit feedback.
    trials_ : list of (alpha, confidence, score)
        What implicit feedback was tried with, and the mean NDCG at 10 of entries held out.
    training_rmse_ : array
        After each iteration or sweep ("descent": at the end); of implicit feedback, the root of the
        weighted squared error for each cell.
    held_out_rmse_ : float
        Error on the entries that were left out, where `validation_fraction` says so.
    held_out_ndcg_ : float
        The same of implicit feedback: how high the left-out items stand in each user's list of ten.
    shape_ : (int, int)
    report_ : Report

    Notes
    -----
    ``fit(users, items, ratings)`` takes ids; repeated ratings of an item by a user are averaged,
    and counts of clicks are added up.
    ``fit(pairs, values)``, the form of scikit-learn's model selection, takes an array of shape
    (n, 2): ids, or indices if they are integers.  Its checks for feature tables do not apply.

    Rows or columns never seen are predicted from what is known of the other side.  Memory
    O(entries + (m + n)·k) for "als" and "descent", and 4·n_samples·(m + n)·(k + 1) bytes for the
    draws (float32) of "gibbs".  The first fit in a fresh installation compiles for a few seconds.

    Deviations: "descent" is [LingPipe]'s descent on the residuals of penalised biases, where the
    original has none.  "gibbs" adds biases and draws the noise to [SM08].  Implicit feedback is
    solved by conjugate gradients, in single precision; [HKV08] solves exactly.

    References
    ----------
    [HKV08] Y. Hu, Y. Koren, C. Volinsky (2008). Collaborative filtering for implicit feedback
    datasets. ICDM.
    [LingPipe] B. Carpenter, com.aliasi.matrix.SvdMatrix, LingPipe 4.0.0.
    [SM08] R. Salakhutdinov, A. Mnih (2008). Bayesian probabilistic matrix factorization using
    Markov chain Monte Carlo. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import PartialSVD
    >>> rng = np.random.default_rng(0)
    >>> users = rng.choice(["Ann", "Bob", "Cleo", "Dan", "Eve"], 60)
    >>> items = rng.choice(["0451", "0737", "0815", "1984"], 60)
    >>> ratings = 3.0 + (users < "C") * (items > "08") - (items == "0451")
    >>> model = PartialSVD(1, random_state=0).fit(users, items, ratings)
    >>> model.predict(["Ann", "Eve"], ["1984", "0451"]).round().tolist()
    [4.0, 2.0]
    >>> items, scores = model.recommend("Ann", n=2, exclude_known=False)
    >>> sorted(items.tolist())
    ['0815', '1984']
    """

    def __init__(
        self,
        rank: int = 10,
        *,
        solver: str = "auto",
        feedback: str = "explicit",
        confidence: Any = "auto",
        biases: bool = True,
        alpha: Any = "auto",
        shape: tuple[int, int] | None = None,
        max_iter: int | None = None,
        n_samples: int = 100,
        validation_fraction: float | None = None,
        clip: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.solver = solver
        self.feedback = feedback
        self.confidence = confidence
        self.biases = biases
        self.alpha = alpha
        self.shape = shape
        self.max_iter = max_iter
        self.n_samples = n_samples
        self.validation_fraction = validation_fraction
        self.clip = clip
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @followed
    def fit(self, users: Any, items: Any = None, ratings: Any = None) -> PartialSVD:
        """Learn from known entries.

        Parameters
        ----------
        users : array of shape (n,), or of shape (n, 2)
            Ids of any type; or pairs of a row and a column each, no pair twice.
        items : array of shape (n,)
            Ids; or, after pairs, the value of each.
        ratings : array of shape (n,), optional
            The value of each user and item.  Counts of implicit feedback may be left out.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(users, items, ratings)
        return self

    def _fit(self, users: Any, items: Any, ratings: Any) -> None:
        forget_fit(self)
        rows, cols, values, shape, repeated = self._entries(users, items, ratings)
        rank = check_rank(self.rank, shape)
        if rank is None:
            raise ValueError(f"rank=None: give an integer in 1 … {min(shape)}.")
        solver, reason, alpha = self._choose(len(values), shape, rank)
        clicks = self.feedback == "implicit"
        confidence = self._checked_confidence()
        trials: list[Trial] = []
        given = check_count("max_iter", self.max_iter, least=1)
        rng, svd_rng, fold_rng, held_rng = generator(self.random_state).spawn(4)
        jobs = check_jobs(self.n_jobs)
        samples = check_count("n_samples", self.n_samples, least=1) or 1
        most = (CLICK_ITERATIONS if clicks else ITERATIONS[solver]) if given is None else given
        draws = sweeps_kept(most, most // BURN_IN, samples) if solver == "gibbs" else ()
        check_factor_memory((8 + 4 * len(draws)) * sum(shape) * (rank + 1), shape, INDICES)

        def solved(part: Any, rng: np.random.Generator) -> Fitted:
            problem = Problem(
                rows[part],
                cols[part],
                (values[part] - mean) / scale,
                (shape[0] + 1, shape[1] + 1),  # the last of each is one that is never seen
                rank,
                bool(self.biases),
                alpha,
                most,
                given is None,
                samples,
                rng,
                row_runner(jobs),
            )
            if not clicks:
                return SOLVERS[solver](problem, mean, scale)
            found, trials[:] = fit_clicks(problem, confidence, jobs)
            return found

        mean, scale = (0.0, 1.0) if clicks else (float(values.mean()), float(values.std()))
        scale = scale if scale > 1e-12 * abs(mean) else 1.0  # of equal values
        lowest, highest = (0.0, 1.0) if clicks else (float(values.min()), float(values.max()))
        self.value_range_ = (lowest, highest)
        watch = Stopwatch()
        # The products left to BLAS are small; one thread for them keeps the bits and the cores.
        with one_blas_thread():
            if self.validation_fraction is not None:
                with watch("validation"):
                    held = self._held_out(len(values), held_rng)
                    first = solved(~held, held_rng).completed
                    if clicks:
                        parts = ((rows[part], cols[part], values[part]) for part in (~held, held))
                        known, left = (entries_of(*part, shape[0]) for part in parts)
                        U, V = first.rows[0, :-1], first.cols[0, :-1]
                        self.held_out_ndcg_ = ranking_score(U, V, known, left)
                    else:
                        gap = self._clipped(first.predict(rows[held], cols[held])[0]) - values[held]
                        self.held_out_rmse_ = float(np.sqrt(np.mean(gap**2)))
            with watch("fit"):
                fitted = solved(slice(None), rng)
            with watch("svd"):
                factors = fitted.completed.svd(rank, svd_rng)
        self.completed_, self.mean_, self.shape_ = fitted.completed, mean, shape
        self.U_, self.singular_values_, self.components_ = factors.U, factors.s, factors.Vt
        self.row_biases_, self.column_biases_ = fitted.completed.mean_biases()
        self.alpha_, self.training_rmse_ = fitted.alpha, fitted.rmse * scale
        self.confidence_ = fitted.confidence
        if trials:
            self.trials_ = [tuple(trial) for trial in trials]
        if fitted.path is not None:
            self.alphas_, self.validation_rmse_ = fitted.path
        self._remember(entries_of(rows, cols, values, shape[0]))
        self.fold_seed_ = int(fold_rng.integers(2**31))
        self.n_features_in_ = 2
        notes = _notes(fitted.completed.n_sets, most)
        if repeated:
            what, kept = ("clicks", "sum") if clicks else ("ratings", "mean")
            notes = (*notes, f"{repeated} {what} repeat a user and an item; their {kept} is used")
        self.report_ = Report(
            solver,
            reason,
            passes=fitted.passes,
            error=float(self.training_rmse_[-1]),
            seconds=dict(watch),
            notes=notes,
        )

    def _entries(
        self, users: Any, items: Any, ratings: Any
    ) -> tuple[IntArray, IntArray, Array, tuple[int, int], int]:
        """Places, values and shape of all entries, sorted; and how many ids repeat others'."""
        refuse_sparse(users, items)
        self.users_ = self.items_ = None
        clicks = check_choice("feedback", self.feedback, FEEDBACK) == "implicit"
        if clicks and ratings is None:
            users, items, ratings = with_counts(users, items)
        elif items is None:
            raise ValueError("give users, items and ratings, or pairs and the value of each.")
        if ratings is None and np.asarray(users).dtype.kind in "iufb":
            rows, cols = check_pairs(users)
            values, count = check_values(items), len(rows)
            if clicks:
                check_lengths(rows, cols, values)
                top = int(cols.max(initial=0)) + 1
                rows, cols, values = merged(*counted(rows, cols, values), top, summed=True)
            largest = (int(rows.max()) + 1, int(cols.max()) + 1) if len(rows) else (1, 1)
            shape = largest if self.shape is None else check_shape(self.shape)
            return *check_triplets(rows, cols, values, shape), count - len(values)
        users, items, values = triplets(users, items, ratings)
        values = check_values(values)
        if self.shape is not None:
            raise ValueError(
                f"shape={self.shape!r} is for entries given by indices; ids tell it themselves."
            )
        check_lengths(users, items, values)
        if clicks:
            users, items, values = counted(users, items, values)
        self.users_, rows = learned(users)
        self.items_, cols = learned(items)
        shape = (max(1, len(self.users_)), max(1, len(self.items_)))
        count = len(values)
        rows, cols, values = merged(rows, cols, values, shape[1], summed=clicks)
        return *check_triplets(rows, cols, values, shape), count - len(values)

    def _held_out(self, count: int, rng: np.random.Generator) -> Any:
        """Which entries the first fit leaves out: at least one, and at least one stays."""
        share = check_number("validation_fraction", self.validation_fraction)
        if not 0.0 < share < 1.0:
            raise ValueError(f"validation_fraction={share!r} must lie strictly between 0 and 1.")
        if count < 2:
            raise ValueError("validation_fraction needs at least two entries.")
        held = np.zeros(count, dtype=bool)
        held[rng.permutation(count)[: min(max(1, round(share * count)), count - 1)]] = True
        return held

    def _remember(self, known: Entries) -> None:
        """Keep the entries, in single precision where that loses nothing."""
        short = known.values.astype(np.float32)
        same = bool(np.array_equal(short, known.values))
        self.known_starts_, self.known_columns_ = known.starts, known.indices
        self.known_values_ = short if same else known.values

    def _clipped(self, values: Array) -> Array:
        return np.clip(values, *self.value_range_) if self.clip else values

    def _choose(
        self, n_entries: int, shape: tuple[int, int], rank: int
    ) -> tuple[str, str, float | Array | None]:
        """Method, reason and checked alpha."""
        solver = check_choice("solver", self.solver, ("auto", *SOLVERS))
        alpha = check_alpha(self.alpha)
        if self.feedback == "implicit":
            if solver not in ("auto", "als"):
                raise ValueError(
                    f'solver={self.solver!r}: feedback="implicit" is fitted by "als"; leave solver '
                    'at "auto".'
                )
            return "als", "feedback is implicit, and every cell counts", alpha
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

    def _checked_confidence(self) -> float | None:
        """None for "auto", or a positive number."""
        if isinstance(self.confidence, str):
            check_choice("confidence", self.confidence, ("auto",), "a number above 0")
            return None
        given = check_number("confidence", self.confidence)
        if self.feedback != "implicit":
            raise ValueError(f'confidence={given!r} belongs to feedback="implicit".')
        if given <= 0.0:
            raise ValueError(f'confidence={given!r} must be a number above 0, or "auto".')
        return given

    def predict(self, users: Any, items: Any = None, return_std: bool = False) -> Any:
        """Values of users and items, among them such as were never seen.

        Parameters
        ----------
        users : array of shape (n,), or of shape (n, 2)
            Ids; or pairs of a row and a column each, as in `fit`.
        items : array of shape (n,), optional
            Ids, one for each user.
        return_std : bool, default=False
            Give the predictive standard deviations as well, of "gibbs" only.

        Returns
        -------
        values : array of shape (n,)
            Predicted entries; of implicit feedback, how much the item is preferred (0 to 1).
        deviations : array of shape (n,)
            Where asked for: that of a new value, from the spread of the draws and the noise.
        """
        check_is_fitted(self)
        rows, cols = self._places(users, items)
        if return_std and self.confidence_ is not None:
            raise ValueError(
                'return_std=True: preferences of feedback="implicit" have no deviations.'
            )
        if return_std and self.completed_.n_sets == 1:
            raise ValueError(
                f'return_std=True needs several posterior draws; this model was fitted with "'
                f'{self.report_.method}". Fit with solver="gibbs" and n_samples of at least 2.'
            )
        mean, variance = self.completed_.predict(rows, cols)
        mean = self._clipped(mean)
        return (mean, np.sqrt(variance)) if return_std else mean

    def _places(self, users: Any, items: Any) -> tuple[IntArray, IntArray]:
        """Rows and columns of ids or pairs; beyond the shape for those never seen."""
        refuse_sparse(users, items)
        if self.users_ is None:
            if items is None:
                return check_pairs(users)
            users, items = np.atleast_1d(users), np.atleast_1d(items)
            _check_paired(users, items)
            return check_indices("users", users, None), check_indices("items", items, None)
        users, items, _ = triplets(users, items, None) if items is None else (users, items, None)
        users, items = as_ids("users", users), as_ids("items", items)
        _check_paired(users, items)
        rows = places_of("users", self.users_, users)
        cols = places_of("items", self.items_, items)
        m, n = self.shape_
        return np.where(rows < 0, m, rows), np.where(cols < 0, n, cols)

    def recommend(
        self, users: Any = None, n: int = 10, exclude_known: bool = True
    ) -> tuple[Any, Array]:
        """The items with the highest values for one, some or all users.

        Parameters
        ----------
        users : id, array of ids, or None
            For whom, by index where the model goes by indices; None for all, in the order of
            `users_`.
        n : int, default=10
            How many items for each.
        exclude_known : bool, default=True
            Leave out the items that a user had in training.

        Returns
        -------
        items : array of shape (n_users, n), or (n,) for a single user
            Ids, best first; None (-1 for indices) where a user has fewer items left.
        scores : array of the same shape
            Predicted values, not clipped; NaN where there is no item.
        """
        check_is_fitted(self)
        wanted = np.arange(self.shape_[0]) if users is None else self._rows_of(users)
        n = check_size("n", n)
        places, scores = np.full((len(wanted), n), -1), np.full((len(wanted), n), np.nan)
        block = max(1, SCORE_CELLS // self.shape_[1])
        for at in range(0, len(wanted), block):
            some = wanted[at : at + block]
            values = self.completed_.scores(some)
            if exclude_known:
                for place, row in enumerate(some):
                    if row < self.shape_[0]:
                        low, high = self.known_starts_[row : row + 2]
                        values[place, self.known_columns_[low:high]] = -np.inf
            _best(values, places[at : at + block], scores[at : at + block])
        return self._named(places, scores, users)

    def similar(self, items: Any, n: int = 10) -> tuple[Any, Array]:
        """The items nearest to one or some items: people who liked this also liked.

        Parameters
        ----------
        items : id, or array of ids
            Of the model, by index where it goes by indices.
        n : int, default=10
            How many others for each.

        Returns
        -------
        items : array of shape (n_items, n), or (n,) for a single item
            Most similar first, without the item itself; None (-1 for indices) where there are no
            more.
        similarities : array of the same shape
            Cosine of the items' factors, singular values included.
        """
        check_is_fitted(self)
        if self.items_ is None:
            wanted = check_indices("items", np.atleast_1d(items), self.shape_[1])
        else:
            wanted = known_places("items", self.items_, items)
        n = check_size("n", n)
        V = self.components_.T * self.singular_values_
        length = np.linalg.norm(V, axis=1, keepdims=True)
        V = np.divide(V, length, out=np.zeros_like(V), where=length > 0.0)
        places, scores = np.full((len(wanted), n), -1), np.full((len(wanted), n), np.nan)
        block = max(1, SCORE_CELLS // self.shape_[1])
        for at in range(0, len(wanted), block):
            some = wanted[at : at + block]
            values = V[some] @ V.T
            values[np.arange(len(some)), some] = -np.inf
            _best(values, places[at : at + block], scores[at : at + block])
        return self._named(places, scores, items)

    def _rows_of(self, users: Any) -> IntArray:
        if self.users_ is None:
            return check_indices("users", np.atleast_1d(users), None)
        return known_places("users", self.users_, users)

    def _named(self, places: IntArray, scores: Array, asked: Any) -> tuple[Any, Array]:
        """Ids for the places of items, and one dimension where one thing was asked for."""
        items: Any = places
        if self.items_ is not None:
            items = self.items_[np.maximum(places, 0)]
            if (places < 0).any():
                items = np.where(places < 0, None, items.astype(object))
        single = asked is not None and np.ndim(asked) == 0
        return (items[0], scores[0]) if single else (items, scores)

    def fold_in(self, users: Any, items: Any = None, ratings: Any = None) -> PartialSVD:
        """A model with further ratings, each user's factors in closed form given the items'.

        Parameters
        ----------
        users : array of shape (n,), or of shape (n, 2)
            Ids, of users that the model knows or new ones; or pairs as in `fit`.
        items : array of shape (n,)
            Ids of items that the model knows; or, after pairs, the value of each.
        ratings : array of shape (n,), optional
            The value of each user and item, of ids that repeat their mean; it replaces an older
            one, and counts are added to it.

        Returns
        -------
        PartialSVD
            A copy that also knows the new ratings; this one is unchanged.
        """
        check_is_fitted(self)
        refuse_sparse(users, items)
        m, n = self.shape_
        ids, clicks = self.users_, self.confidence_ is not None
        if clicks and ratings is None:
            users, items, ratings = with_counts(users, items)
        if ids is None:
            rows, cols = check_pairs(users) if ratings is None else self._places(users, items)
            values = items if ratings is None else ratings
            count = max(m, int(rows.max()) + 1 if len(rows) else 0)
        else:
            users, items, values = triplets(users, items, ratings)
            check_lengths(users, items, values)
            cols = known_places("items", self.items_, items)
            rows = places_of("users", ids, users)
            new, codes = learned(users[rows < 0])
            rows = rows.copy()
            rows[rows < 0] = m + codes
            ids, count = joined(ids, new), m + len(new)
        size = self.completed_.rows.nbytes // self.completed_.rows.shape[1]  # of a row
        check_factor_memory(count * size, (count, n), INDICES)
        values = check_values(values)
        check_lengths(rows, cols, values)
        if clicks:
            rows, cols, values = merged(*counted(rows, cols, values), n, summed=True)
        elif ids is not None:
            rows, cols, values = merged(rows, cols, values, n)
        rows, cols, values, _ = check_triplets(rows, cols, values, (count, n))
        known = self._with_entries(rows, cols, values, count)
        changed = np.union1d(rows, np.arange(m, count))
        some = rows_of_entries(known, changed)
        with one_blas_thread():
            completed = self._with_rows(some, changed)
        model = copy.copy(self)
        model.users_ = ids
        model.completed_, model.shape_ = completed, completed.shape
        model.row_biases_ = completed.mean_biases()[0]
        # u = (interactions of the row)·V / s, as for every row of the decomposition
        safe = np.where(self.singular_values_ > 0.0, self.singular_values_, np.inf)
        model.U_ = np.vstack([self.U_, np.zeros((count - m, self.U_.shape[1]))])
        model.U_[changed] = completed.interactions(changed, self.components_.T) / safe
        if not clicks:
            low, high = self.value_range_
            model.value_range_ = (min(low, float(values.min())), max(high, float(values.max())))
        model._remember(known)
        return model

    def _with_rows(self, entries: Entries, places: IntArray) -> Completed:
        """The completed matrix with rows solved for, given the columns."""
        if self.confidence_ is not None:
            extra = extra_confidence(entries.values, self.confidence_)
            others = self.completed_.cols[0, :-1].astype(np.float64)
            solved = solved_rows(entries._replace(values=extra), others, self.alpha_ or 0.0)
            return self.completed_.placed(solved[None], places)
        scaled = (entries.values - self.completed_.mean) / self.completed_.scale
        rng = np.random.default_rng([self.fold_seed_, self.shape_[0]])
        return self.completed_.with_rows(
            entries._replace(values=scaled), rng, row_runner(1), places
        )

    def _with_entries(self, rows: IntArray, cols: IntArray, values: Array, count: int) -> Entries:
        """All entries with some new ones, which replace others or add to them."""
        m, n = self.shape_
        old_rows = np.repeat(np.arange(m), np.diff(self.known_starts_))
        old = old_rows * n + self.known_columns_.astype(np.int64)
        stays = ~np.isin(old, rows * n + cols)
        if self.confidence_ is not None:
            earlier = np.zeros(len(values))
            at = np.searchsorted(old, rows * n + cols)
            same = old[np.minimum(at, len(old) - 1)] == rows * n + cols
            earlier[same] = self.known_values_[at[same]]
            values = values + earlier
        return entries_of(
            np.concatenate([old_rows[stays], rows]),
            np.concatenate([self.known_columns_[stays].astype(np.int64), cols]),
            np.concatenate([self.known_values_[stays].astype(np.float64), values]),
            count,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


def _check_paired(users: Any, items: Any) -> None:
    """As many users as items."""
    if len(users) != len(items):
        raise ValueError(
            f"users and items have {len(users)} and {len(items)} entries; give one item for each "
            "user. All items of a user are told by recommend."
        )


def _best(values: Array, ids: IntArray, scores: Array) -> None:
    """Write the largest finite entries of each row, in falling order, ties by index."""
    n = min(ids.shape[1], values.shape[1])
    top = top_columns(values, n)
    found = np.take_along_axis(values, top, axis=1)
    there = np.isfinite(found)
    ids[:, :n] = np.where(there, top, -1)
    scores[:, :n] = np.where(there, found, np.nan)


def _notes(n_sets: int, sweeps: int) -> tuple[str, ...]:
    if n_sets == 1:
        return ()
    return (f"{n_sets} draws kept in float32, after {sweeps // BURN_IN} sweeps of burn-in",)
