"""Missing values of a table, filled from a low-rank model of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils import Tags

from pinvlearn._core.arrays import Array
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import check_choice, check_count, check_rows, generator
from pinvlearn.completion.impute import (
    MOST_COLUMNS,
    Loadings,
    Mask,
    filled,
    held_out_error,
    ppca,
    soft_path,
)
from pinvlearn.learners._state import unchanged_on_failure
from pinvlearn.linalg.report import Report, Stopwatch

HELD_OUT = 0.1
"""Share of the known cells that the choice of shrinkage and solver is made on."""


class SVDImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill the missing values (NaN) of a table from a low-rank model of its columns.

    Columns are scaled by their known cells.  A row z is then filled with mean + B·a, where a
    minimises ‖(z - mean - B·a)_known‖² + alpha·‖a‖²: the same for rows seen in `fit` and new ones.

    Parameters
    ----------
    n_components : "auto" or int, default="auto"
        Most directions the model may have; "auto" leaves it to the shrinkage.
    solver : {"auto", "soft", "ppca"}, default="auto"
        - "soft": soft-thresholded SVD, minimising ½‖known part of (Z - M)‖² + λ‖M‖_*, with λ
          chosen on held-out known cells [MHT10].
        - "ppca": probabilistic PCA with automatic relevance of its directions, by EM [TB99].
        - "auto": whichever is better on the held-out cells ("soft" above 2000 columns).
    max_iter : int, default=100
        Most iterations of each fit.
    add_indicator : bool, default=False
        Append 0/1 columns that say which cells were missing, for columns with gaps in `fit`.
    keep_empty_features : bool, default=False
        Keep columns without any known cell, filled with 0, instead of dropping them.
    random_state : int, RandomState, Generator or None, default=None
        Which cells are held out.

    Attributes
    ----------
    components_ : array of shape (k, n_kept_features)
        Orthonormal directions of the scaled columns.
    singular_values_ : array of shape (k,)
        Lengths of the loadings B along them.
    alpha_ : float
        Shrinkage λ ("soft") or variance of the noise ("ppca").
    n_components_, n_iter_ : int
    mean_, scale_ : arrays of shape (n_kept_features,)
    kept_features_ : integer array
    solver_ : str
    held_out_rmse_ : dict of str to float
        Error of each solver that was tried on the held-out cells, in units of `scale_`.
    indicator_ : MissingIndicator or None
    report_ : Report
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    An iteration of "soft" takes 4np² flops, of "ppca" n·(p² + g³ + gp) with g gaps in a row; memory
    a few copies of the table.  The first fit in a fresh installation compiles for a few seconds.
    Values are assumed missing at random given the known ones; encode categories as numbers first.

    Deviations: [MHT10]'s step is over-relaxed; [TB99] has no relevance prior, that of Bishop (1999)
    is maximised in closed form here.

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
        max_iter: int = 100,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.max_iter = max_iter
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SVDImputer:
        """Learn the model from a table with gaps.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NaN where a value is missing.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        X = check_rows(self, X, reset=True)
        check_choice("solver", self.solver, ("auto", "soft", "ppca"))
        max_iter = check_count("max_iter", self.max_iter, least=1) or 1
        most = self._most()
        known = ~np.isnan(X)
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False)
            self.indicator_.fit(np.where(known, 0.0, np.nan))
        self.kept_features_ = np.flatnonzero(known.any(axis=0))
        X, known = X[:, self.kept_features_].astype(np.float64), known[:, self.kept_features_]
        self.mean_ = X.mean(axis=0, where=known) if X.size else np.zeros(0)
        spread = X.std(axis=0, where=known) if X.size else np.zeros(0)
        tiny = 10.0 * np.finfo(np.float64).eps * np.abs(self.mean_)
        self.scale_ = np.where(spread > tiny, spread, 1.0)
        Z = np.where(known, (X - self.mean_) / self.scale_, 0.0)
        watch = Stopwatch()
        with watch("fit"), one_blas_thread():  # p × p problems: more threads only wait
            held = known & (generator(self.random_state).random(known.shape) < HELD_OUT)
            model = self._model(Z, known, held, min(most, Z.shape[1]), max_iter)
        self.mean_ = self.mean_ + self.scale_ * model.mean
        lengths = np.linalg.norm(model.B, axis=0)
        self.singular_values_, self.alpha_ = lengths, float(model.ridge)
        self.components_ = (model.B / np.where(lengths > 0.0, lengths, 1.0)).T
        self.n_components_, self.n_iter_ = model.B.shape[1], max(1, model.iterations)
        tried = ", ".join(f"{name} {error:.4g}" for name, error in self.held_out_rmse_.items())
        empty = X.shape[1] < self.n_features_in_ and not self.keep_empty_features
        self.report_ = Report(
            self.solver_,
            "as asked" if self.solver != "auto" else f"best on held-out cells ({tried})",
            passes=model.iterations,
            error=self.held_out_rmse_[self.solver_],
            seconds=dict(watch),
            notes=(
                (f"{self.n_features_in_ - X.shape[1]} columns without any value are dropped",)
                if empty
                else ()
            ),
        )

    def _most(self) -> int:
        if isinstance(self.n_components, str):
            check_choice("n_components", self.n_components, ("auto",))
            return self.n_features_in_
        return check_count("n_components", self.n_components, least=1) or self.n_features_in_

    def _model(self, Z: Array, known: Mask, held: Mask, most: int, max_iter: int) -> Loadings:
        """Fit what was asked for, or whichever does better on the held-out cells."""
        models: dict[str, Loadings] = {}
        errors: dict[str, float] = {}
        if self.solver in ("auto", "soft"):
            models["soft"], _, scores = soft_path(Z, known, held, most, max_iter)
            errors["soft"] = float(scores.min()) if len(scores) else 0.0
        wide = Z.shape[1] > MOST_COLUMNS and self.solver == "auto"
        if self.solver in ("auto", "ppca") and not wide:
            part = ppca(Z, known & ~held, most, max_iter)
            errors["ppca"] = held_out_error(Z, known & ~held, held, part)
            if "soft" not in errors or errors["ppca"] <= errors["soft"]:
                models["ppca"] = ppca(Z, known, most, max_iter, part)
        self.held_out_rmse_ = errors
        self.solver_ = min(models, key=lambda name: errors[name])
        return models[self.solver_]

    def transform(self, X: Any) -> Array:
        """Fill the gaps of a table; known values are left as they are.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NaN where a value is missing.

        Returns
        -------
        array of shape (n_samples, n_kept_features + n_indicators)
            The table without gaps, then a column of flags for each feature that is marked.
        """
        X = check_rows(self, X, reset=False)
        inner = X[:, self.kept_features_].astype(np.float64)
        known = ~np.isnan(inner)
        Z = np.where(known, (inner - self.mean_) / self.scale_, 0.0)
        nothing = np.zeros(len(self.mean_))
        model = Loadings(nothing, self.components_.T * self.singular_values_, self.alpha_, 0)
        inner = np.where(known, inner, self.mean_ + self.scale_ * filled(Z, known, model))
        answer = inner.astype(X.dtype)
        if self.keep_empty_features:
            answer = np.where(np.isnan(X), X.dtype.type(0), X)
            answer[:, self.kept_features_] = inner
        if self.indicator_ is not None:
            marks = self.indicator_.transform(np.where(np.isnan(X), np.nan, 0.0))
            answer = np.hstack([answer, marks.astype(X.dtype)])
        return answer

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of the result.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the columns of X, where `fit` saw none.

        Returns
        -------
        array of str
            A name for each column that `transform` gives.
        """
        names = super().get_feature_names_out(input_features)
        kept = names if self.keep_empty_features else names[self.kept_features_]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
