"""The read-out that every learner shares: fit and predict are written here, once.

A learner is a feature map and this.  It says how to draw its map; everything after that (targets,
weights, alpha, solver, leave-one-out, probabilities, intervals) is the same for all.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import scipy.optimize
import scipy.special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, column_or_1d, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from pinvlearn._core.arrays import Array, Matrix, is_sparse, to_dense
from pinvlearn._core.sparse import check_sparse
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_finite,
    check_in_memory,
    check_jobs,
    check_solver,
    generator,
)
from pinvlearn.engines.local import LocalRows
from pinvlearn.features.kernels import Whitened
from pinvlearn.learners._kept import kept_of
from pinvlearn.learners._state import rows_of_new_fit, unchanged_on_failure
from pinvlearn.learners._updates import Updating
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.problem import Problem, Score
from pinvlearn.readout.solve import Readout, solve
from pinvlearn.readout.solvers import SOLVERS
from pinvlearn.summaries import Schema

ROUNDING = 1e-7
"""A column whose deviation is below this part of its entries counts as constant: the deviation is
taken from sums of squares, without a copy of X, and has no more digits."""

SCALE_RATIO = 1000.0
"""Ratio of feature scales above which a fit warns: distances and sums see only the largest."""

PARAMETERS = {
    "alpha": """
    alpha : "auto", float or array, default="auto"
        Ridge (1/C and 1/v of the papers).  A number is obeyed, 0 being the papers'
        pseudo-inverse; an array is a path from which leave-one-out chooses; "auto" is a path of
        31 values, chosen from by exact leave-one-out (by generalised cross-validation where
        `loo_scoring` is None).""",
    "solver": """
    solver : str or object, default="auto"
        "exact" (the SVD), "adaptive" and "adaptive-flat" ([JL19] Algorithm 5 with the tolerance
        and the gradient stop), "cholesky", "gram", "qr", "randomized" ([MW15] Eq. (19)), "auto", or
        an object of `pinvlearn.readout.solvers`.  `report_` says what "auto" chose and why.""",
    "direct_links": """
    direct_links : bool, default=False
        Put the inputs beside the hidden units, so that the linear part is learned as such.""",
    "class_weight": """
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes.""",
    "loo_scoring": """
    loo_scoring : {"mse"} or None, default="mse"
        What leave-one-out judges alpha by.  None does without leave-one-out: the fastest fit, but
        no `predict_interval`.""",
    "n_jobs": """
    n_jobs : int, default=None
        Threads over blocks of rows; None takes as many as BLAS is allowed, -1 all cores.  The
        result does not depend on it.""",
    "random_state": """
    random_state : int, RandomState, Generator or None, default=None
        Seed of the feature map and of the randomised solvers.""",
}
"""Parameters that several learners share, as their docstrings describe them."""

CLASSIFIER_SCORING = """
    loo_scoring : {"accuracy", "mse"} or None, default="accuracy"
        What leave-one-out judges alpha by.  None does without leave-one-out: the fastest fit, but
        no `predict_proba`."""

ATTRIBUTES = """
    Attributes
    ----------
    coef_ : array of shape (n_targets, n_units) or (n_units,)
        Weights of the units `map_` gives.
    intercept_ : float or array of shape (n_targets,)
        Unpenalised.
    alpha_ : float
        The ridge used.
    alphas_ : array
        The ridges it was chosen from.
    loo_scores_ : array
        Leave-one-out score of each of `alphas_` (larger is better); `gcv_scores_` where
        `loo_scoring` is None and there was a path.
    loo_predictions_ : array of shape (n_samples,) or (n_samples, n_targets)
        Output for each training row of the read-out fitted to all others, given the map.
    rank_ : int
        Directions that took part.
    sizes_, size_alphas_, size_scores_ : arrays of shape (n_sizes,), (n_alphas,) and \
            (n_alphas, n_sizes)
        Where a size or a rank was chosen by leave-one-out: those judged, at which ridges, and
        their scores (larger is better); `SizePathDisplay` draws them.
    map_ : callable
        The drawn feature map.
    report_ : Report
        What was done, why, how exactly, and how long it took.
    summary_ : Gram or Triangle
        Sums over the rows, to add to and take from: where they came in pieces (`partial_fit`,
        `fit_blocks`, `fit_summary`), and after `fit` where the map keeps nothing of the rows and
        there is a ridge.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn."""


def documented(cls: type) -> type:
    """Fill shared parameters, in the order of the signature, and attributes into a docstring.

    Everything is dedented first: Python 3.13 and later do so when they compile a docstring, earlier
    ones do not, and a section indented otherwise than its neighbours is lost to whoever reads it.
    """
    texts = PARAMETERS | getattr(cls, "_parameter_docs", {})
    if issubclass(cls, ClassifierMixin):
        texts |= {"loo_scoring": CLASSIFIER_SCORING}
    names = [name for name in inspect.signature(cls).parameters if name in texts]
    shared = "\n".join(inspect.cleandoc(texts[name]) for name in names)
    cls.__doc__ = (
        inspect.cleandoc(cls.__doc__ or "")
        .replace("{tail}", shared)
        .replace("{attributes}", inspect.cleandoc(ATTRIBUTES))
    )
    return cls


class FeatureMap(Protocol):
    """A drawn function X → H."""

    @property
    def n_columns(self) -> int:
        """Number of features it gives."""

    def __call__(self, X: Matrix) -> Matrix:
        """Features of the rows of X."""


def _has_leave_one_out(estimator: Any) -> bool:
    fitted = vars(estimator)
    if "loo_predictions_" in fitted:
        return True
    if "loo_scoring" not in estimator.get_params(deep=False):
        raise AttributeError(
            f"This needs leave-one-out predictions, which {type(estimator).__name__} never makes. "
            "Use ELMClassifier, or put scikit-learn's CalibratedClassifierCV around it."
        )
    if "summary_" in fitted and estimator.loo_scoring is not None:
        raise AttributeError(
            "This needs leave-one-out predictions, and those need rows. A model that learned from "
            "summaries (partial_fit, forget, merge, fit_blocks, fit_summary) keeps none; use fit."
        )
    if estimator.loo_scoring is None or "report_" in fitted:
        raise AttributeError(
            "This needs leave-one-out predictions, which a fit with loo_scoring=None does not "
            'make. Fit with loo_scoring="mse" (or "accuracy" for a classifier).'
        )
    return True


class ReadoutEstimator(Updating, BaseEstimator):
    """fit and raw outputs of every learner; a subclass draws the map."""

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        """The feature map for the training rows, and notes for the report."""
        raise NotImplementedError

    def _encoded(self, y: Any, weights: Array | None) -> tuple[Array, Array | None, Score]:
        """Targets of shape (n, t), weights, and the score that leave-one-out uses."""
        raise NotImplementedError

    def _take_schema(self, schema: Schema) -> None:
        """Set what a summary says of the targets."""
        raise NotImplementedError

    @property
    def _shape(self) -> tuple[int, ...]:
        """The shape of one row's targets, as they were given."""
        raise NotImplementedError

    def _decoded(self, readout: Readout) -> None:
        """Set what follows from the solution."""
        raise NotImplementedError

    def fit(self, X: Matrix, y: Any, sample_weight: Any = None) -> Any:
        """Draw the feature map and solve for the weights of its units.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Matrix, y: Any, sample_weight: Any) -> None:
        check_in_memory(X)
        X, y = rows_of_new_fit(self, X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        if not self.__sklearn_tags__().input_tags.pairwise:
            _warn_of_scales(X)
        Y, weights, score = self._encoded(y, sample_weight)
        judge = score if self.loo_scoring is not None else None
        self.map_, readout, notes = self._solved(X, y, Y, weights, judge)
        self._map_notes = tuple(notes)
        self._take(readout, notes)

    def _take(self, readout: Readout, notes: Iterable[str]) -> None:
        """Set the attributes of a solution."""
        self.alpha_, self.alphas_, self.rank_ = readout.alpha, readout.alphas, readout.rank
        self.report_ = replace(readout.report, notes=(*notes, *readout.report.notes))
        if readout.leave_one_out is not None:
            self.loo_scores_ = readout.scores
        elif readout.scores is not None:
            self.gcv_scores_ = readout.scores
        self._decoded(readout)

    def _solved(
        self, X: Matrix, y: Any, Y: Array, weights: Array | None, score: Score | None
    ) -> tuple[FeatureMap, Readout, list[str]]:
        """The drawn map, the solution on its features, and notes for the report."""
        alpha, solver = check_alpha(self.alpha), self._solver()
        map_stream, solver_stream = generator(self.random_state).spawn(2)
        drawn, notes = self._draw_map(X, y, map_stream)
        n_jobs = check_jobs(self.n_jobs)

        def problem(function: Callable[[Matrix], Matrix], n_columns: int) -> Problem:
            rows = LocalRows(function, X, Y, weights, n_columns, n_jobs)
            return Problem(rows, self._intercept, score, solver_stream)

        drawn, solver, more = self._sized(drawn, problem, solver, alpha)
        final = problem(drawn, drawn.n_columns)
        readout = solve(final, solver, alpha)
        keep = self._why_nothing_is_kept() is None
        self._kept = kept_of(final, X, Y, weights) if keep else None
        return drawn, readout, [*notes, *more]

    def _sized(
        self,
        drawn: FeatureMap,
        problem: Callable[[Callable[[Matrix], Matrix], int], Problem],
        solver: Any,
        alpha: Alpha,
    ) -> tuple[FeatureMap, Any, list[str]]:
        """The map and the solver to fit with, and notes; learners that size themselves override it.

        `problem(function, n_columns)` makes the training rows' problem for a map.
        """
        return drawn, solver, []

    def _solver(self) -> Any:
        return check_solver(self.solver, SOLVERS)

    def _outputs(self, X: Matrix) -> Array:
        """map(X)·coef + intercept, in blocks; shape (n, t)."""
        check_is_fitted(self)
        check_sparse(X)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, reset=False
        )
        check_finite(X, getattr(self, "feature_names_in_", None))
        drawn, coef, intercept = self.map_, np.atleast_2d(self.coef_).T, self.intercept_
        if isinstance(drawn, Whitened):
            drawn, coef = drawn.folded(coef)  # a k × t product instead of one for every row
        nothing = np.empty((X.shape[0], 0))
        rows = LocalRows(drawn, X, nothing, None, drawn.n_columns, check_jobs(self.n_jobs))
        return np.vstack(list(rows.each(lambda H, Y, w: np.asarray(H @ coef) + intercept)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _warn_of_scales(X: Matrix) -> None:
    """Warn where the features' scales are so different that the smaller ones cannot matter."""
    if is_sparse(X):
        return
    squares = np.einsum("ij,ij->j", X, X) / len(X)
    spread = np.sqrt(np.maximum(squares - X.mean(axis=0) ** 2, 0.0))
    spread = spread[spread > ROUNDING * np.maximum(X.max(axis=0), -X.min(axis=0))]
    if len(spread) > 1 and spread.max() > SCALE_RATIO * spread.min():
        warnings.warn(
            f"The feature scales differ by a factor of {spread.max() / spread.min():.3g}, so the "
            "largest features drown the others. Put a StandardScaler in front: "
            "make_pipeline(StandardScaler(), ...).",
            UserWarning,
            stacklevel=4,
        )


def squared_error_score(targets: Array, predictions: Array) -> Array:
    """Minus the mean squared error over the targets."""
    score: Array = -np.square(targets - predictions).mean(axis=-1)
    return score


def accuracy_score(targets: Array, predictions: Array) -> Array:
    """1 where all signs agree."""
    right = np.equal(targets > 0.0, predictions > 0.0).all(axis=-1)
    return np.asarray(right, dtype=np.float64)


def top_class_score(targets: Array, predictions: Array) -> Array:
    """1 where the largest output is the right class's."""
    right = targets.argmax(axis=-1) == predictions.argmax(axis=-1)
    return right.astype(np.float64)


class ReadoutClassifier(ClassifierMixin, ReadoutEstimator):
    """Classes coded as ±1 targets, one column per class (one in all for two classes)."""

    def _encoded(self, y: Any, weights: Array | None) -> tuple[Array, Array | None, Score]:
        if self.loo_scoring is not None:
            check_choice("loo_scoring", self.loo_scoring, ("accuracy", "mse"))
        y = to_dense(y)
        check_classification_targets(y)
        self._multilabel = type_of_target(y) == "multilabel-indicator"
        if self._multilabel:
            if self.class_weight is not None:
                raise ValueError("class_weight is not defined for multi-label targets; use None.")
            self.classes_ = np.arange(y.shape[1])
            return np.where(y > 0, 1.0, -1.0), weights, self._score(accuracy_score)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has one class only ({self.classes_[0]!r}); a classifier needs at least 2."
            )
        if self.class_weight is not None:
            by_class = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
            weights = by_class[codes] if weights is None else weights * by_class[codes]
        if len(self.classes_) == 2:
            return np.where(codes == 1, 1.0, -1.0)[:, None], weights, self._score(accuracy_score)
        Y = np.full((len(codes), len(self.classes_)), -1.0)
        Y[np.arange(len(codes)), codes] = 1.0
        return Y, weights, self._score(top_class_score)

    def _take_schema(self, schema: Schema) -> None:
        self._multilabel = schema.task == "labels"
        self.classes_ = np.arange(schema.n_targets) if self._multilabel else schema.classes

    @property
    def _shape(self) -> tuple[int, ...]:
        return (len(self.classes_),) if self._multilabel else ()

    def _score(self, accuracy: Score) -> Score:
        return squared_error_score if self.loo_scoring == "mse" else accuracy

    def _decoded(self, readout: Readout) -> None:
        self.coef_, self.intercept_ = readout.coef.T, readout.intercept
        if readout.leave_one_out is not None:
            outputs = readout.leave_one_out
            self.temperature_ = _fit_temperature(outputs, readout.targets > 0.0, self._multilabel)
            self.loo_predictions_ = outputs[:, 0] if self._is_binary else outputs

    @property
    def _is_binary(self) -> bool:
        return not self._multilabel and len(self.classes_) == 2

    def decision_function(self, X: Matrix) -> Array:
        """Outputs before the decision: (n,) for two classes, else one column per class or label."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._is_binary else outputs

    def predict(self, X: Matrix) -> Any:
        """The class with the largest output; for multi-label targets every label above 0."""
        outputs = self._outputs(X)
        if self._multilabel:
            return (outputs > 0.0).astype(np.intp)
        best = (outputs[:, 0] > 0.0).astype(np.intp) if self._is_binary else outputs.argmax(axis=1)
        return self.classes_[best]

    @available_if(_has_leave_one_out)
    def predict_proba(self, X: Matrix) -> Array:
        """Softmax of the outputs at one temperature, fitted to the leave-one-out outputs.

        Its largest entry is that of `predict`.  For multi-label targets, the probability of each
        label by itself.
        """
        return _probabilities(self._outputs(X) / self.temperature_, self._multilabel)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _probabilities(scaled: Array, multilabel: bool) -> Array:
    if multilabel:
        one_by_one: Array = scipy.special.expit(2.0 * scaled)
        return one_by_one
    if scaled.shape[1] == 1:
        scaled = np.hstack([-scaled, scaled])
    together: Array = scipy.special.softmax(scaled, axis=1)
    return together


def _fit_temperature(outputs: Array, positive: Any, multilabel: bool) -> float:
    """The temperature that minimises the log-loss of left-out rows; one-dimensional and smooth."""
    one_hot = outputs.shape[1] > 1 and not multilabel

    def log_loss(log_temperature: float) -> float:
        scaled = outputs / np.exp(log_temperature)
        if one_hot:
            scaled = scaled - scipy.special.logsumexp(scaled, axis=1, keepdims=True)
            return -float(scaled[positive].mean())
        signed = np.where(positive, scaled, -scaled)
        return float(np.logaddexp(0.0, -2.0 * signed).mean())

    best = scipy.optimize.minimize_scalar(log_loss, bounds=(-7.0, 7.0), method="bounded")
    return float(np.exp(best.x))


class ReadoutRegressor(RegressorMixin, ReadoutEstimator):
    """Real targets, one or several."""

    def _encoded(self, y: Any, weights: Array | None) -> tuple[Array, Array | None, Score]:
        if self.loo_scoring is not None:
            check_choice("loo_scoring", self.loo_scoring, ("mse",))
        y = np.asarray(y, dtype=np.float64)
        check_finite(y.reshape(len(y), -1), None, "y")
        self._one_target = y.ndim == 1
        return y.reshape(len(y), -1), weights, squared_error_score

    def _take_schema(self, schema: Schema) -> None:
        self._one_target = schema.one_target

    @property
    def _shape(self) -> tuple[int, ...]:
        return () if self._one_target else (len(self.coef_),)

    def _decoded(self, readout: Readout) -> None:
        coef, intercept, left_out = readout.coef.T, readout.intercept, readout.leave_one_out
        self.coef_ = coef[0] if self._one_target else coef
        self.intercept_ = float(intercept[0]) if self._one_target else intercept
        if left_out is not None:
            self.loo_predictions_ = left_out[:, 0] if self._one_target else left_out
            self._loo_errors = np.sort(np.abs(readout.targets - left_out), axis=0)

    def predict(self, X: Matrix) -> Array:
        """Predicted targets, of the shape that y had."""
        outputs = self._outputs(X)
        return outputs[:, 0] if self._one_target else outputs

    @available_if(_has_leave_one_out)
    def predict_interval(self, X: Matrix, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends of intervals that hold about the given share of new targets.

        The half-width is the ⌈coverage·(n + 1)⌉-th smallest leave-one-out error of the output
        (jackknife), the same for all rows.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage={coverage!r} must lie strictly between 0 and 1.")
        n = len(self._loo_errors)
        width = self._loo_errors[min(int(np.ceil(coverage * (n + 1))), n) - 1]
        middle = self._outputs(X)
        lower, upper = middle - width, middle + width
        return (lower[:, 0], upper[:, 0]) if self._one_target else (lower, upper)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
