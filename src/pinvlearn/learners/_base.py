"""The read-out that every learner shares: fit and predict are written here, once.

A learner is a feature map and this.  It says how to draw its map; everything after that (targets,
weights, alpha, solver, leave-one-out, probabilities, intervals) is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array, Matrix, as_array
from pinvlearn._core.device import (
    as_given,
    home,
    is_device,
    memory_named,
    moved_to,
    on_device,
    to_host,
)
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_coverage,
    check_in_memory,
    check_jobs,
    check_magnitude,
    check_same_home,
    check_weights,
    classes_to_score,
    generator,
    warn_of_scales,
)
from pinvlearn.engines.local import rows_in_memory, rows_of_block
from pinvlearn.engines.plan import Head, Plan, source_name
from pinvlearn.features import FeatureMap, placed
from pinvlearn.features.random_layer import Inputs
from pinvlearn.learners._following import Followed, followed
from pinvlearn.learners._intervals import IntervalPredictor
from pinvlearn.learners._ledger import (
    Latest,
    Ledger,
    Solved,
    has_leave_one_out,
    has_probabilities,
)
from pinvlearn.learners._pieces import LedgerHolder
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.learners._targets import (
    CLASS_SCORINGS,
    DECODINGS,
    Targets,
    check_scoring,
    class_attributes,
    class_schema,
    coded,
    decided,
    decoded_as,
    number_attributes,
    number_schema,
    one_column,
    probabilities,
    scoring_of,
    temperature_of,
)
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.intervals import rank_of
from pinvlearn.readout.problem import Problem, Rows
from pinvlearn.readout.scoring import Scoring
from pinvlearn.readout.solve import Readout, solve
from pinvlearn.summaries import Schema, Summary
from pinvlearn.summaries.block import Block

FEW_ENTRIES = 2**15
"""Features of rows that are predicted at once: sharing them out would take longer."""


class SolvedOrTested(Solved):
    """The same, or else what rows that came last tell about it."""

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        try:
            return super().__get__(model, owner)
        except AttributeError:
            ledger = model._held_ledger
            if ledger is None or not ledger.is_tested:
                raise
            return ledger.temperature(model._tested)


class Fitted(NamedTuple):
    """A map and the read-out on it, with what is left of the rows: their sums, or a copy of few."""

    map: FeatureMap
    readout: Readout
    notes: Iterable[str] = ()
    summary: Summary | None = None
    rows: Block | None = None


class ReadoutEstimator(Followed, LedgerHolder):
    """fit and raw outputs of every learner; a subclass draws the map."""

    _runs_on_devices = True
    """Whether rows of torch and CuPy are worked on where they live."""

    # Fitting to rows in memory.

    @followed
    def fit(self, X: Matrix, y: Any, sample_weight: Any = None) -> Any:
        """Draw the feature map and solve for the weights of its units.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Training rows.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Their classes, indicators of labels, or targets.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows, at least 0.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            forget_fit(self)
            check_in_memory(X)
            X, y = self._new_rows(X, y)
            weights = check_weights(sample_weight, X.shape[0], some=True, X=X)
            schema, y = self._read_targets(y, X.shape[1])
            targets = beside(coded(schema, y, weights, self._class_weight), X)
            check_magnitude(X, targets.T, targets.weights)
            if not self.__sklearn_tags__().input_tags.pairwise:
                warn_of_scales(X)
            score = scoring_of(self.loo_scoring, targets.schema, targets.totals)
            found = self._fit_readout(X, y, targets, score)
            notes = tuple(found.notes)
            schema = replace(targets.schema, n_columns=int(found.map.n_columns))
            solution = self._solution_of(found.readout, schema, notes)
            self._hold(
                Ledger(
                    found.map,
                    schema,
                    found.summary,
                    rows=found.rows,
                    solution=solution,
                    notes=notes,
                ),
                like=y,
            )
            if getattr(self, "keep_rows", False):
                own = None if weights is None else weights.copy()
                self.training_ = (X.copy(), y.copy(), own)
        return self

    def _fit_readout(self, X: Matrix, y: Any, targets: Targets, score: Scoring | None) -> Fitted:
        """Draw the map, solve on its features, and keep what rows can be added to."""
        alpha, solver = check_alpha(self.alpha), self._solver()
        map_stream, solver_stream = generator(self.random_state).spawn(2)
        drawn, notes = self._draw_map(X, y, map_stream)
        drawn = placed(drawn, X)
        n_jobs = check_jobs(self.n_jobs)

        def block_of(function: Callable[[Matrix], Matrix], n_columns: int) -> Block:
            schema = replace(targets.schema, n_columns=int(n_columns))
            return Block(function, X, targets.T, targets.weights, schema)

        def problem_of(function: Callable[[Matrix], Matrix], n_columns: int) -> Problem:
            rows = rows_of_block(block_of(function, n_columns), n_jobs)
            return Problem(rows, self._intercept, score, solver_stream)

        drawn, solver, more = self._sized(drawn, problem_of, solver, alpha)
        problem = problem_of(drawn, drawn.n_columns)
        readout = self._read_out(problem, solver, alpha)
        summary, rows = None, None
        if self._why_nothing_is_kept() is None:
            summary = problem.take_folded()
            if summary is None and problem.is_wide:
                rows = block_of(drawn, drawn.n_columns).copied()
        return Fitted(drawn, readout, [*notes, *more], summary, rows)

    def _read_out(self, problem: Problem, solver: Any, alpha: Alpha) -> Readout:
        """The read-out on the features of the training rows."""
        return solve(problem, solver, alpha)

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

    @property
    def _why_no_ridge(self) -> str | None:
        """Why leaving rows out is not that of a ridge on the units; None if it is."""
        return None

    @property
    def _why_blocks_leave_none_out(self) -> str | None:
        """Why `fit_blocks` leaves no rows out, and what to do; None if it does."""
        return None

    @property
    def _widening(self) -> float:
        """By how much rows left out say too little of how far others are off."""
        return 1.0

    @memory_named()
    def _outputs(self, X: Matrix, method: str = "predict") -> Array:
        """map(X)·coef + intercept, in blocks, for a method of this name; shape (n, t)."""
        return self._outputs_of(self._later_rows(X), method)

    def _outputs_of(self, X: Matrix, method: str = "predict") -> Array:
        """The same of rows that are ready for the map."""
        drawn, coef, intercept = self._readers(X, method)
        folded = getattr(drawn, "folded", None)
        if folded is not None:
            drawn, coef = folded(coef)  # a k × t product instead of one for every row
        entries = X.shape[0] * drawn.n_columns

        def rows() -> Rows:
            nothing, n_jobs = np.empty((X.shape[0], 0), like=home(X)), check_jobs(self.n_jobs)
            return rows_in_memory(drawn, X, nothing, None, drawn.n_columns, n_jobs)

        if entries <= FEW_ENTRIES:
            work = entries * coef.shape[1] if isinstance(drawn, Inputs) else np.inf
            with one_blas_thread(work):
                found = as_array(drawn(X) @ coef) + intercept
        else:
            found = np.vstack(list(rows().each(lambda H, Y, w: as_array(H @ coef) + intercept)))
        if not (np.isfinite(found.sum()) or np.isfinite(found).all()):
            rows().raise_not_finite()  # the largest of NaN would be a class
        links = getattr(self, "links_", None)
        if links is None:
            return found
        with one_blas_thread():
            return found + as_array(X @ on_device(links).T)

    def _readers(self, X: Matrix, method: str) -> tuple[FeatureMap, Array, Any]:
        """Map, coefficients and intercept for rows, which must live where those of the fit did."""
        coef, intercept = on_device(self._solution()["coef_"]), on_device(self.intercept_)
        check_same_home(self, X, coef, method)
        return self.map_, np.atleast_2d(coef).T, intercept

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._runs_on_devices
        return tags


class ReadoutClassifier(ClassifierMixin, ReadoutEstimator):
    """Classes coded as ±1 targets, one column per class (one in all for two classes)."""

    temperature_ = SolvedOrTested("Divisor of the outputs whose softmax gives the probabilities.")
    corrected_accuracy_ = Solved("Share of rows decided rightly, where others chose the ridge.")
    decoding_ = Solved(
        'How scores of classes were made: "argmax", "logistic", "features" or "inputs".'
    )
    links_ = Solved("Weights of the inputs beside those of the units, if they have any.")

    decoding = "argmax"
    """How outputs become scores of classes, where no parameter says."""

    _decodings: tuple[str, ...] = DECODINGS

    @property
    def _tries_features(self) -> bool:
        """Whether decoding="auto" tries scores that are fitted to the features."""
        return False

    @property
    def _mixes_inputs(self) -> bool:
        """Whether decoding="auto" averages scores with such as are fitted to the inputs."""
        return False

    def _chose_alpha(self, readout: Readout) -> bool:
        """Whether the ridge is one of several that rows left out have judged."""
        return len(readout.alphas) > 1

    def _read_targets(self, y: Any, n_features: int) -> tuple[Schema, Any]:
        check_scoring(self.loo_scoring, CLASS_SCORINGS)
        check_choice("decoding", self.decoding, self._decodings)
        return class_schema(y, n_features, self._row_names, self._class_weight)

    def _attributes_of(self, readout: Readout, schema: Schema) -> dict[str, Any]:
        return class_attributes(readout, schema, self._widening)

    def _solution_of(
        self, readout: Readout, schema: Schema, notes: tuple[str, ...]
    ) -> dict[str, Any]:
        readout = decoded_as(
            self.decoding,
            readout,
            schema,
            self.loo_scoring,
            intercept=self._intercept,
            chosen=self._chose_alpha(readout),
            features=self._tries_features,
            inputs=self._mixes_inputs,
        )
        found = super()._solution_of(readout, schema, notes)
        shares = {"corrected_accuracy_"}
        if self.loo_scoring in ("accuracy", "balanced_accuracy"):
            shares.add("corrected_score_")
        for name in shares & set(found):  # gains are those of another ridge
            found[name] = min(max(found[name], 0.0), 1.0)
        return found

    def _hold(self, ledger: Ledger, like: Any = None) -> None:
        super()._hold(ledger)
        schema, classes = ledger.schema, ledger.schema.classes
        if schema.task == "labels":
            classes = np.arange(schema.n_targets)
        elif like is not None:
            classes = classes.astype(like.dtype)
        numeric = classes.dtype.kind in "biuf"
        self.classes_ = (
            as_given(moved_to(classes, like)) if numeric and is_device(like) else classes
        )

    def score(self, X: Matrix, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose class, or all of whose labels, are predicted.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,), or indicators of shape (n_samples, n_labels)
            Their classes, as `fit` takes them, or labels.
        sample_weight : array of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        float
            Between 0 and 1, larger is better.
        """
        share: float = super().score(X, classes_to_score(y), sample_weight)
        return share

    def decision_function(self, X: Matrix) -> Array:
        """Outputs before the decision.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            1-D for two classes, else one column for each class or label.
        """
        outputs = self._outputs(X, "decision_function")
        return as_given(one_column(outputs, self._ledger.schema))

    def predict(self, X: Matrix) -> Any:
        """Classes, or labels, of rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_labels)
            The class with the largest output; for multi-label targets the indicators of every label
            whose output is above 0.
        """
        outputs, classes = self._outputs(X), to_host(on_device(self.classes_))
        return as_given(decided(outputs, self._ledger.schema, classes))

    def _tested(self, test: Latest) -> float:
        """The temperature of rows that came last, as the model before them predicts them."""
        try:
            readout = self._solved_from(test.before)
        except ValueError as error:
            raise ValueError(
                "probabilities are scaled by the block that came last, as the model before it "
                "predicts it, which cannot be solved for. They are there after another block. Of "
                f"the rows before: {error}"
            ) from error
        outputs = np.vstack([p.H @ readout.coef + readout.intercept for p in test.rows.pieces()])
        return temperature_of(test.rows.schema, test.rows.Y, outputs, test.rows.weights)

    @available_if(has_probabilities)
    def predict_proba(self, X: Matrix) -> Array:
        """Softmax of the outputs at one temperature, fitted to the leave-one-out outputs.

        After `partial_fit` it is fitted to the rows that came last, as they were predicted before
        they were added.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The largest entry of a row is that of `predict`.  For multi-label targets, the
            probability of each label by itself.
        """
        scaled = self._outputs(X, "predict_proba") / self.temperature_
        return as_given(probabilities(scaled, self._ledger.schema))

    @available_if(has_leave_one_out)
    def predict_set(self, X: Matrix, coverage: float = 0.9) -> Any:
        """Sets of classes that hold about the given share of new rows' classes.

        A class is in the set of a row if its probability is no smaller than that which all but a
        share 1 - coverage of the training rows gave their own class when they were left out
        (jackknife): about `coverage` of new rows of the same kind, without a theorem.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            The share, between 0 and 1.

        Returns
        -------
        array of bool of shape (n_samples, n_classes)
            Whether a class is in the set of a row; a set may be empty, or hold several classes.
        """
        check_coverage(coverage)
        check_is_fitted(self)
        if self._ledger.schema.task != "classes":
            raise ValueError("predict_set is for classes; labels have predict_proba.")
        chances = self._solution()["loo_chances"]
        n = len(chances)
        least = chances[max(n - rank_of(coverage, n), 0)]
        return as_given(on_device(self.predict_proba(X)) >= float(least))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ReadoutRegressor(RegressorMixin, IntervalPredictor, ReadoutEstimator):
    """Real targets, one or several."""

    def _read_targets(self, y: Any, n_features: int) -> tuple[Schema, Any]:
        check_scoring(self.loo_scoring, ("mse",))
        return number_schema(y, n_features, self._row_names)

    def _attributes_of(self, readout: Readout, schema: Schema) -> dict[str, Any]:
        return number_attributes(readout, schema, self._widening)

    def predict(self, X: Matrix) -> Array:
        """Predict targets.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_targets)
            Of the shape that y had.
        """
        return as_given(one_column(self._outputs(X), self._ledger.schema))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def beside(targets: Targets, X: Matrix) -> Targets:
    """Targets and weights where the rows live."""
    if not is_device(X):
        return targets
    weights = None if targets.weights is None else moved_to(targets.weights, X)
    return replace(targets, T=moved_to(targets.T, X), weights=weights)


def plan_for_engine(
    estimator: Any, head: Head, source: str | None, each: Any, device: str | None = None
) -> tuple[Plan, str]:
    """The plan of an engine's fit and the name of its blocks, from the first that has rows.

    Learners that need more than these have ``each(function)`` of all blocks.
    """
    try:
        _ = estimator.fit_blocks
    except AttributeError as reason:
        raise TypeError(
            f"{type(estimator).__name__} cannot be fitted block by block: "
            f"{reason.__cause__ or reason}"
        ) from reason
    estimator._check_device(device)
    plan = replace(copy(estimator)._plan_from_blocks(head, each), device=device)
    return plan, source_name(head) if source is None else source


def fitted_to(estimator: Any, plan: Plan, summary: Summary, rows: Rows, each: Any) -> Any:
    """A clone fitted to what an engine has summed up, refined on its rows if need be."""
    model = clone(estimator)
    model._begin(plan, summary)
    model._solution(rows, None if plan.device is None else summary)
    model._after_blocks(plan, each)
    return model
