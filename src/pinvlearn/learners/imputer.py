"""Missing values of a table, filled from a low-rank model of its columns."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_choice,
    check_count,
    check_names,
    check_rows,
    generator,
)
from pinvlearn.completion.impute import (
    MOST_COLUMNS,
    Loadings,
    Mask,
    Path,
    filled,
    ppca_path,
    soft_path,
)
from pinvlearn.learners._following import Followed, followed
from pinvlearn.learners._mixed import (
    Column,
    as_matrix,
    describe,
    is_mixed,
    is_nan,
    is_table,
    missing_rows,
    with_cells,
    with_columns,
)
from pinvlearn.learners._state import unchanged_on_failure
from pinvlearn.learners.elm import ELMClassifier
from pinvlearn.linalg.report import Report, Stopwatch

HELD_OUT = 0.1
"""Share of the known cells that are left out at a time to choose the shrinkage."""

ENOUGH, MOST_FOLDS = 2000, 5
"""Tables in which such a share is fewer cells than this are left out of in several turns: an RMSE
of m cells is known to 1/√(2m), 1.6 % of it here."""

MOST_WORK = 1e9
"""Flops of an iteration of "ppca" up to which "auto" takes it: about a minute in all."""

SOLVERS: dict[str, Callable[[Array, Mask, list[Mask], int, int], Path]] = {
    "ppca": ppca_path,
    "soft": soft_path,
}
UNITS = 200
"""Hidden units of the classifier that fills a column of categories."""


class SVDImputer(Followed, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill the missing values of a table from a low-rank model of its columns.

    Columns are scaled by their known cells.  A row z is then filled with mean + B·a, where a
    minimises ‖(z - mean - B·a)_known‖² + alpha·‖a‖²: the same for rows seen in `fit` and new ones.

    Frames (of pandas or polars) may hold categories, strings and truth values too: they enter the
    model as indicators of their levels and are filled by a classifier on the rest of the row.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Most directions the model may have; "auto" leaves it to the shrinkage.
    solver : {"auto", "ppca", "soft"}, default="auto"
        - "ppca": probabilistic PCA by EM [TB99]: Gaussian rows whose covariance is shrunk towards
          that of unrelated columns; as many directions as columns unless `n_components` says.
        - "soft": soft-thresholded SVD, minimising ½‖known part of (Z - M)‖² + λ‖M‖_* [MHT10].
        - "auto": "ppca", and "soft" where that would take long.

        How much to shrink is chosen on known cells that are held out.
    missing_values : number, str, None or NaN, default=NaN
        What stands for a missing value, besides NaN and the empty cells of frames.
    max_iter : int, default=100
        Most iterations of each fit.
    add_indicator : bool, default=False
        Append 0/1 columns that say which cells were missing, for columns with gaps in `fit`.
    keep_empty_features : bool, default=False
        Keep columns without any known cell instead of dropping them; those of arrays are filled
        with 0.
    random_state : int, RandomState, Generator or None, default=None
        Which cells are held out, and the units of the classifiers.
    verbose : bool, default=False
        Print how far a fit is, about every second.

    Attributes
    ----------
    components_ : array of shape (k, n_inputs)
        Orthonormal directions of the scaled inputs: columns of numbers, and levels of categories.
    singular_values_ : array of shape (k,)
        Lengths of the loadings B along them.
    alpha_ : float
        Shrinkage λ ("soft") or variance of the noise ("ppca").
    n_components_, n_iter_ : int
    mean_, scale_ : arrays of shape (n_inputs,)
    kept_features_ : integer array
    columns_ : list or None
        What each column of a mixed frame holds: `name`, `kind` and `levels`.
    solver_ : str
    held_out_rmse_ : float
        Error on the held-out cells, in units of `scale_`.
    indicator_ : MissingIndicator or None
    report_ : Report
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    An iteration of "soft" takes 4np² flops, of "ppca" n·(p² + g³ + gp) with g gaps in a row; memory
    a few copies of the table.  The first fit in a fresh installation compiles for a few seconds.
    Values are assumed missing at random given the known ones.

    A frame in which some column is not of numbers, or has missing integers, is returned as a frame
    with the same types: integers and decimals are rounded and stay within the range that was seen;
    strings with more than 100 levels, or hardly any of them twice, and dates are left as they are,
    and so are their gaps.  A column of objects that are all numbers is one of numbers.

    Deviations: [MHT10]'s step is over-relaxed; [TB99]'s covariance is shrunk by an inverse Wishart
    prior, and each prior starts from the solution of a stronger one.

    References
    ----------
    [MHT10] R. Mazumder, T. Hastie, R. Tibshirani (2010). Spectral regularization algorithms for
    learning large incomplete matrices. J. Mach. Learn. Res. 11.
    [TB99] M. Tipping, C. Bishop (1999). Probabilistic principal component analysis. J. R. Stat.
    Soc. B 61(3).

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import SVDImputer
    >>> X = np.outer(np.arange(1.0, 41.0), [1.0, 2.0, -1.0])
    >>> X[7, 1] = np.nan
    >>> float(SVDImputer(random_state=0).fit_transform(X)[7, 1].round(1))
    16.0
    """

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        solver: str = "auto",
        missing_values: Any = np.nan,
        max_iter: int = 100,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.missing_values = missing_values
        self.max_iter = max_iter
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state
        self.verbose = verbose

    @followed
    def fit(self, X: Any, y: Any = None) -> SVDImputer:
        """Learn the model from a table with gaps.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NaN, an empty cell or `missing_values` where a value is missing.
        y : None
            Ignored.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        self.columns_: list[Column] | None = None
        self.mean_: Array
        self.scale_: Array
        if is_mixed(X):
            check_names(self, X, reset=True)
            if len(X) == 0:
                raise ValueError(
                    f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is "
                    "required by SVDImputer."
                )
            self.n_features_in_ = X.shape[1]
            self.columns_ = describe(X, self.missing_values)
        inputs = self._inputs(X, reset=True)
        check_choice("solver", self.solver, ("auto", *SOLVERS))
        max_iter = check_count("max_iter", self.max_iter, least=1) or 1
        most, rng = self._most(inputs.shape[1]), generator(self.random_state)
        known = ~np.isnan(inputs)
        self._fit_indicator(X, known)
        self.kept_features_ = self._kept(known)
        Z = self._scaled(inputs, known)
        known = known[:, self._used]
        watch = Stopwatch()
        with watch("fit"), one_blas_thread():  # p × p problems: more threads only wait
            self.solver_, reason = self._chosen(known)
            folds = _folds(known, rng)
            path = SOLVERS[self.solver_](Z, known, folds, min(most, Z.shape[1]), max_iter)
        model = path.model
        self.held_out_rmse_ = float(path.scores.min()) if len(path.scores) else 0.0
        self.mean_ = self.mean_ + self.scale_ * model.mean
        lengths = np.linalg.norm(model.B, axis=0)
        self.singular_values_, self.alpha_ = lengths, float(model.ridge)
        self.components_ = (model.B / np.where(lengths > 0.0, lengths, 1.0)).T
        self.n_components_, self.n_iter_ = model.B.shape[1], max(1, model.iterations)
        with watch("categories"):
            self.classifiers_ = self._classifiers(inputs, rng)
        self.report_ = Report(
            self.solver_,
            reason,
            passes=model.iterations,
            error=self.held_out_rmse_,
            seconds=dict(watch),
            notes=self._notes(),
        )

    def _inputs(self, X: Any, *, reset: bool) -> Array:
        """The table as a matrix of numbers and indicators, NaN where a value is missing."""
        if self.columns_ is not None:
            return as_matrix(X, self.columns_, self.missing_values)
        marked = not is_nan(self.missing_values)
        if marked and isinstance(X, np.ndarray) and X.dtype.kind in "OU":
            X = X.astype(object)  # a mark that is no number must go before the rest becomes such
            X[self.missing_values == X] = np.nan
        X = check_rows(self, X, reset=reset)
        return np.where(self.missing_values == X, X.dtype.type(np.nan), X) if marked else X

    def _fit_indicator(self, X: Any, known: Mask) -> None:
        self.indicator_: Any = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False)
            self.indicator_.fit(self._marks(X, known))

    def _marks(self, X: Any, known: Mask) -> Array:
        """NaN where a column of the table is missing, 0 elsewhere."""
        if self.columns_ is None:
            return np.where(known, 0.0, np.nan)
        marks = np.zeros((len(X), len(self.columns_)))
        for at, rows in enumerate(missing_rows(X, self.columns_, self.missing_values)):
            marks[rows, at] = np.nan
        return marks

    def _kept(self, known: Mask) -> Any:
        if self.columns_ is None:
            return np.flatnonzero(known.any(axis=0))
        return np.array([at for at, own in enumerate(self.columns_) if own.kind != "empty"], int)

    @property
    def _used(self) -> Any:
        """The inputs that the model has."""
        return self.kept_features_ if self.columns_ is None else slice(None)

    def _scaled(self, inputs: Array, known: Mask) -> Array:
        """Set mean and scale of the known cells, and return those cells in their units."""
        inputs, known = inputs[:, self._used].astype(np.float64), known[:, self._used]
        self.mean_ = inputs.mean(axis=0, where=known) if inputs.size else np.zeros(0)
        # in powers of two, for squares of numbers below 1e-162 are 0
        _, power = np.frexp(np.abs(inputs).max(axis=0, where=known, initial=0.0))
        bare = np.ldexp(inputs, -power)
        spread = np.ldexp(bare.std(axis=0, where=known), power) if inputs.size else np.zeros(0)
        tiny = 10.0 * np.finfo(np.float64).eps * np.abs(self.mean_)
        self.scale_ = np.where(spread > tiny, spread, 1.0)
        return np.where(known, (inputs - self.mean_) / self.scale_, 0.0)

    def _most(self, n_inputs: int) -> int:
        if isinstance(self.n_components, str):
            check_choice("n_components", self.n_components, ("auto",), "an integer of at least 1")
            return n_inputs
        return check_count("n_components", self.n_components, least=1) or n_inputs

    def _chosen(self, known: Mask) -> tuple[str, str]:
        """Solver and reason."""
        if self.solver != "auto":
            return self.solver, "as asked"
        n, p = known.shape
        gaps = p - float(known.mean()) * p if known.size else 0.0
        work = n * (p**2 + gaps**3 / 3.0 + gaps * p) + p**3
        if p <= MOST_COLUMNS and work <= MOST_WORK:
            return "ppca", f"affordable, {work:.0e} flops an iteration"
        return "soft", f"ppca would take {work:.0e} flops an iteration"

    def _notes(self) -> tuple[str, ...]:
        notes = []
        empty = self.n_features_in_ - len(self.kept_features_)
        if empty and not self.keep_empty_features:
            notes.append(f"{empty} columns without any value are dropped")
        left = [str(own.name) for own in self.columns_ or () if own.kind in ("text", "other")]
        if left:
            notes.append(f"left as they are, neither numbers nor categories: {', '.join(left)}")
        return tuple(notes)

    def _classifiers(self, inputs: Array, rng: np.random.Generator) -> list[Any]:
        """For every column of categories that has gaps, what tells its levels from the rest."""
        models: list[Any] = []
        for column in self.columns_ or ():
            gaps = np.isnan(inputs[:, column.start]) if column.stop > column.start else np.zeros(0)
            alone = (
                column.stop - column.start == inputs.shape[1]
            )  # and the commonest level likeliest
            if alone or column.kind != "category" or len(column.levels) < 2 or not gaps.any():
                models.append(None)
                continue
            there = ~gaps.astype(bool)
            rest, _ = self._without(inputs[there], column)
            levels = inputs[there, column.start : column.stop].argmax(axis=1)
            model = ELMClassifier(UNITS, random_state=int(rng.integers(2**31)))
            models.append(model.fit(rest, levels))
        return models

    def _without(self, inputs: Array, column: Column) -> tuple[Array, Array]:
        """The other inputs, and its own as expected from them; in units of the scale."""
        hidden = inputs.copy()
        hidden[:, column.inputs] = np.nan
        expected = (self._expected(hidden) - self.mean_) / self.scale_
        return np.delete(expected, np.r_[column.inputs], axis=1), expected[:, column.inputs]

    def _expected(self, inputs: Array) -> Array:
        """The inputs that the model has, with their gaps filled."""
        known = ~np.isnan(inputs)
        Z = np.where(known, (inputs - self.mean_) / self.scale_, 0.0)
        nothing = np.zeros(len(self.mean_))
        model = Loadings(nothing, self.components_.T * self.singular_values_, self.alpha_, 0)
        answer: Array = np.where(known, inputs, self.mean_ + self.scale_ * filled(Z, known, model))
        return answer

    def transform(self, X: Any) -> Any:
        """The table with its gaps filled; known values are left as they are.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        array of shape (n_samples, n_kept_features + n_indicators), or frame
            A frame if the one in `fit` was mixed: see the notes.
        """
        check_is_fitted(self)
        if self.columns_ is not None:
            if not is_table(X):
                raise TypeError(
                    f"X is a {type(X).__name__}; this imputer was fitted to a frame of several "
                    "types. Give a frame of pandas or polars with the same columns."
                )
            check_names(self, X, reset=False)
            if X.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {X.shape[1]} columns; the table in fit had {self.n_features_in_}."
                )
            return self._filled_frame(X)
        X = self._inputs(X, reset=False)
        inner = self._expected(X[:, self.kept_features_].astype(np.float64))
        answer = inner.astype(X.dtype)
        if self.keep_empty_features:
            answer = np.where(np.isnan(X), X.dtype.type(0), X)
            answer[:, self.kept_features_] = inner
        if self.indicator_ is not None:
            marks = self.indicator_.transform(self._marks(X, ~np.isnan(X)))
            answer = np.hstack([answer, marks.astype(X.dtype)])
        return answer

    def _filled_frame(self, X: Any) -> Any:
        columns = self.columns_ or []
        inputs = self._inputs(X, reset=False)
        expected = self._expected(inputs)
        cells: dict[Any, tuple[list[int], list[Any]]] = {}
        for at, rows in enumerate(missing_rows(X, columns, self.missing_values)):
            column = columns[at]
            if not rows or column.stop == column.start:
                continue
            if column.kind == "category":
                values = self._likely(inputs[rows], column, self.classifiers_[at])
            else:
                values = _as_cells(expected[rows, column.start], column)
            cells[column.name] = rows, values
        answer = with_cells(X, cells)
        if not self.keep_empty_features:
            answer = answer[[columns[at].name for at in self.kept_features_]]
        if self.indicator_ is not None:
            marks = self.indicator_.transform(self._marks(X, ~np.isnan(inputs)))
            names = self._indicator_names(getattr(self, "feature_names_in_", None))
            answer = with_columns(answer, names, marks.astype(float))
        return answer

    def _likely(self, inputs: Array, column: Column, classifier: Any) -> list[Any]:
        """The likeliest levels of a column that is missing."""
        rest, own = self._without(inputs, column)
        own = own * self.scale_[column.inputs] + self.mean_[column.inputs]
        codes = own.argmax(axis=1) if classifier is None else classifier.predict(rest)
        return [column.levels[code] for code in codes]

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns; by default those of `fit`.

        Returns
        -------
        array of str
            One name for each column, indicators last.
        """
        names = super().get_feature_names_out(input_features)
        kept = names if self.keep_empty_features else names[self.kept_features_]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self._indicator_names(names)])

    def _indicator_names(self, names: Any) -> Any:
        return self.indicator_.get_feature_names_out(names)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _as_cells(values: Array, column: Column) -> list[Any]:
    """Numbers as a column has them; integers and decimals within the range that was seen."""
    if not column.levels:
        return [float(value) for value in values]
    low, high, *digits = column.levels
    if digits:
        return [Decimal(f"{min(max(value, low), high):.{digits[0]}f}") for value in values]
    return [min(max(round(float(value)), low), high) for value in values]


def _folds(known: Mask, rng: np.random.Generator) -> list[Mask]:
    """Cells to hold out, in as many turns as it takes to have enough of them."""
    draws = rng.random(known.shape)
    turns = -(-ENOUGH // max(1, int(HELD_OUT * known.sum())))
    return [
        known & (draws >= HELD_OUT * turn) & (draws < HELD_OUT * (turn + 1))
        for turn in range(min(turns, MOST_FOLDS))
    ]
