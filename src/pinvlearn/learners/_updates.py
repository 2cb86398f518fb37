"""Adding, forgetting and merging rows: what every learner with a fixed map can do.

Each of these is an operation on the learner's summary; the solution follows from it when it is
next asked for.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Matrix
from pinvlearn._core.progress import Rate, progress
from pinvlearn._core.threads import in_threads
from pinvlearn._validation import (
    check_alpha,
    check_in_memory,
    check_jobs,
    generator,
)
from pinvlearn.learners._blocks import BlockRows, Reader, resumed, unpacked
from pinvlearn.learners._plans import Plan, block_source, checked_targets
from pinvlearn.learners._state import forget_fit, rows_of_new_fit, unchanged_on_failure
from pinvlearn.readout.summary import kind_for, solve_summary
from pinvlearn.summaries import Gram, Schema, Triangle, fingerprint

Summary = Gram | Triangle

SOLVED = ("coef_", "intercept_", "alpha_", "alphas_", "rank_", "report_", "gcv_scores_")
"""Attributes that follow from the summary and are made when they are asked for."""

LEFT_OUT = ("loo_scores_", "loo_predictions_", "temperature_", "_loo_errors")
"""Attributes that need rows."""


def _can_update(estimator: Any) -> bool:
    reason = estimator._why_not_updatable()
    if reason is not None:
        raise AttributeError(reason)
    return True


def _can_go_on(estimator: Any) -> bool:
    _can_update(estimator)
    fitted = vars(estimator)
    if "map_" in fitted and "summary_" not in fitted and fitted.get("_kept") is None:
        reason = estimator._why_nothing_is_kept() or "it was not meant to be updated"
        raise AttributeError(
            "This model was fitted by fit, which kept no sums of its rows, so none can be added or "
            f"taken away: {reason.rstrip('.')}. Start with partial_fit or fit_blocks, for any "
            "number of rows."
        )
    return True


class Updating:
    """partial_fit, forget, merge, fit_blocks, fit_summary and plan of a read-out learner."""

    @property
    def _map_memory(self) -> str | None:
        """What the map keeps of the rows it was drawn from; None if it keeps nothing."""
        return None

    @property
    def _intercept(self) -> bool:
        """Whether there is a free intercept."""
        return True

    def _why_not_updatable(self) -> str | None:
        """Why this learner cannot learn from summaries; None if it can."""
        return None

    def _why_nothing_is_kept(self) -> str | None:
        """Why `fit` leaves nothing that rows can be added to; None if it does."""
        if self._why_not_updatable() is not None:
            return self._why_not_updatable()
        if self._map_memory is not None:
            return f"{self._map_memory}, and with such a map the sums' p² numbers are not kept"
        try:
            kind = kind_for(self._solver(), check_alpha(self.alpha))
        except ValueError as error:
            return str(error)
        if kind is Triangle:
            return (
                'alpha=0 and the solvers "qr" and "exact" need an R factor, and fit keeps sums only'
            )
        return None

    def __getattr__(self, name: str) -> Any:
        if name == "summary_" and vars(self).get("_kept") is not None:
            schema = self._schema(self.map_, self.n_features_in_, self._shape)
            if schema.task == "classes":
                schema = schema.with_classes(self.classes_)
            self.summary_ = self._kept.summary(self.map_, schema)
            del self._kept
            return self.summary_
        # Only reached where the attribute is not there: solve if it follows from the summary.
        if name in SOLVED and "summary_" in vars(self) and "report_" not in vars(self):
            with unchanged_on_failure(self):
                self._solve()
            if name in vars(self):
                return vars(self)[name]
        # The usual error, or that of a method which says why it is not available.
        return object.__getattribute__(self, name)

    @available_if(_can_go_on)
    def partial_fit(
        self,
        X: Matrix,
        y: Any,
        classes: Any = None,
        decay: float = 1.0,
        sample_weight: Any = None,
    ) -> Any:
        """Add rows; the solution is that of one fit to all rows, however they were cut up.

        Goes on from `fit` where that keeps its sums: the map keeps nothing of the rows (random
        layers, given centres and widths, inputs as they are) and there is a ridge, with the solver
        "auto", "cholesky" or "gram".  From nothing, the map is drawn at the first call: a random
        layer from the seed alone, centres from the rows of that call.  The weights are solved for
        when they are next needed.  With ``alpha="auto"`` generalised cross-validation chooses,
        which needs no rows; what needs rows, such as probabilities, is gone.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            A bad block raises and changes nothing that was learned.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Classes may appear at any time; one that comes late counts as absent before.
        classes : array, optional
            Classes that y may lack.  Not needed, even at the first call.
        decay : float, default=1.0
            Factor in (0, 1] on the weights of all rows added before.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
            Unchanged if it fails.
        """
        if not 0.0 < decay <= 1.0:
            raise ValueError(f"decay={decay!r} must lie in (0, 1].")
        with unchanged_on_failure(self):
            if hasattr(self, "summary_"):
                new = self._plan().summary(X, y, sample_weight)
                before = self.summary_ if decay == 1.0 else self.summary_ * decay
                self._replace_summary(_with_classes(before.merged(new), classes))
            else:
                plan = self._planned(X, y)
                self._start(plan, _with_classes(plan.summary(X, y, sample_weight), classes))
        return self

    @available_if(_can_go_on)
    def forget(self, X: Matrix, y: Any, sample_weight: Any = None) -> Any:
        """Take rows away again, as if they had never been added.

        Exact to rounding for a map that keeps nothing of the rows (random layers, given centres)
        and a given alpha.  Rows that were decayed are given with their present weight.  A summary
        knows no rows: others than those added are noticed only where no rows could give what is
        left.  A class stays known when its last row is forgotten.

        Parameters
        ----------
        X, y, sample_weight
            Rows as they were added.

        Returns
        -------
        self
            Unchanged if it fails: where more would be taken away than was added, and where
            cancellation would leave too few digits.
        """
        check_is_fitted(self)
        if self._map_memory is not None:
            warnings.warn(
                f"The rows' part in the solution is taken away, but {self._map_memory}: the map "
                "still remembers rows. Use a random layer or given centres to forget all of them.",
                UserWarning,
                stacklevel=2,
            )
        with unchanged_on_failure(self):
            self._replace_summary(self.summary_ - self._plan().summary(X, y, sample_weight))
        return self

    @available_if(_can_go_on)
    def merge(self, other: Any) -> Any:
        """Add all rows that another model or summary has learned from.

        Parameters
        ----------
        other : fitted learner, Gram or Triangle
            With the same map; blocks that both have counted raise.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        check_is_fitted(self)
        if not isinstance(other, Summary):
            _check_has_summary(other)
            other = other.summary_
        with unchanged_on_failure(self):
            self._plan()  # refuses weights that rows of both would change
            self._replace_summary(self.summary_.merged(other))
        return self

    @available_if(_can_update)
    def plan(self, X: Matrix = None, y: Any = None) -> Plan:
        """What workers need to make summaries of blocks; this estimator is not changed.

        Parameters
        ----------
        X, y : optional
            The head of the data.  Centres are drawn from it; a random layer needs its columns
            only.  Left out: the plan of this model, to summarise more rows for `merge`.

        Returns
        -------
        plan : Plan
            Its ``summary(X, y, sample_weight, block_id)`` is a pure function.
        """
        if X is not None:
            return copy(self)._planned(X, y)
        check_is_fitted(self)
        _check_has_summary(self)
        return self._plan()

    @available_if(_can_update)
    def fit_summary(self, summary: Summary, plan: Plan | None = None) -> Any:
        """Fit to the rows of a summary, which may have been made anywhere.

        Parameters
        ----------
        summary : Gram or Triangle
        plan : Plan, optional
            The plan it was made with.  May be left out where this model has the same map already,
            or can draw it from its seed.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        with unchanged_on_failure(self):
            if plan is None:
                plan = self._plan_for(summary.schema)
            elif plan.fingerprint != summary.schema.fingerprint:
                raise ValueError("the summary was made with another map than that of the plan.")
            self._start(plan, summary)
            self._solve()
        return self

    @available_if(_can_update)
    def fit_blocks(
        self,
        blocks: Iterable[Any],
        *,
        classes: Any = None,
        source: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        interval: float = 60.0,
        quiet: bool = False,
    ) -> Any:
        """Fit to rows that come in blocks and need not fit into memory.

        Threads work on blocks side by side, with one BLAS thread each; sums are merged along a
        fixed tree over the blocks' positions.  The result's bits depend on the blocks, not on the
        number of threads or on interruptions.  Memory: p² for each level of the tree and each
        thread, and the blocks at work.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            A sequence is read by the threads, at the positions that are needed; anything else is
            read in order.  What can be read twice is, if the solution needs refinement.
        classes : array, optional
            All classes, also those that no block may hold.
        source : str, optional
            Name under which the blocks are counted, so that no merge counts them twice.  Left
            out, it is a digest of the first rows.
        checkpoint : path-like, optional
            File to resume from if it is there, and to write to every `interval` seconds, whole or
            not at all.  Needs an integer `random_state`, so that the map can be drawn again.
        interval : float, default=60.0
            Seconds.
        quiet : bool, default=False
            Show no progress; without a terminal there is none anyway.

        Returns
        -------
        self
            Unchanged if it fails or is interrupted while it reads.  Where only the solution fails,
            for want of digits, the summary is kept: ``set_params`` another alpha and go on.
        """
        with unchanged_on_failure(self):
            if checkpoint is not None and not isinstance(self.random_state, int | np.integer):
                raise ValueError(
                    f"random_state={self.random_state!r}: a checkpoint needs an integer, so that "
                    "the same map is drawn when the fit is resumed."
                )
            reader = Reader(blocks)
            head = reader.head()
            plan = self._planned(head[0], head[1])
            source = block_source(head[0], head[1]) if source is None else source
            sums = resumed(checkpoint, plan, source)

            def of_block(item: tuple[int, Callable[[], Any]]) -> Summary:
                number, read = item
                return plan.summary(*unpacked(read(), number), (source, number))

            todo = reader.blocks(lambda number: sums.counted((source, number)))
            written, rate = time.monotonic(), Rate()
            try:
                with progress(reader.total, quiet=quiet) as show:
                    for summary in in_threads(of_block, todo, check_jobs(self.n_jobs)):
                        sums.add(summary)
                        rate.add(summary.n_rows)
                        done = sums.n_blocks
                        show(done, rate.label(reader.total and reader.total - done))
                        if checkpoint is not None and time.monotonic() - written >= interval:
                            sums.save(checkpoint)
                            written = time.monotonic()
            finally:  # a bad block or an interruption costs nothing that was done
                if checkpoint is not None and len(sums):
                    sums.save(checkpoint)
            total = _with_classes(sums.result(), classes)
            self._start(plan, total)
        with unchanged_on_failure(self):
            again = BlockRows(plan, total.schema, reader.again, check_jobs(self.n_jobs))
            self._solve(again if reader.repeatable else None)
        return self

    # What the methods above share.

    def _planned(self, X: Matrix, y: Any) -> Plan:
        """Check the head of the data, draw the map from it, and set nothing but its columns."""
        check_in_memory(X)
        solver, alpha = self._solver(), check_alpha(self.alpha)
        kind = kind_for(solver, alpha)
        class_weight = getattr(self, "class_weight", None)
        if class_weight is not None and not isinstance(class_weight, dict):
            raise ValueError(
                f"class_weight={class_weight!r} needs the totals of all rows, which blocks do not "
                "know. Give a dict of weights instead."
            )
        X, y = rows_of_new_fit(self, X, y)
        drawn, notes = self._map_for(X, y)
        schema = self._schema(drawn, X.shape[1], y.shape[1:])
        if schema.task == "labels" and class_weight is not None:
            raise ValueError("class_weight is not defined for multi-label targets; use None.")
        checked_targets(y, schema)
        return Plan(drawn, schema, kind, class_weight, type(self).__name__, tuple(notes))

    def _schema(self, drawn: Any, n_features: int, shape: tuple[int, ...]) -> Schema:
        """The schema of summaries, before any class is known; `shape` is that of one row of y."""
        task, columns = "targets", shape[0] if shape else 1
        if is_classifier(self):
            task = "labels" if columns > 1 else "classes"
        names = getattr(self, "feature_names_in_", None)
        return Schema(
            task,
            fingerprint(drawn),
            n_features,
            int(drawn.n_columns),
            n_targets=0 if task == "classes" else columns,
            one_target=not shape or task == "classes",
            classes=np.empty(0) if task == "classes" else None,
            feature_names=None if names is None else tuple(names),
        )

    def _map_for(self, X: Matrix, y: Any) -> tuple[Any, list[str]]:
        """The map that `fit` would draw from these rows."""
        return self._draw_map(X, y, generator(self.random_state).spawn(2)[0])

    def _plan_for(self, schema: Schema) -> Plan:
        """The plan for a summary's map: that of this model, or drawn from the seed."""
        drawn, notes = getattr(self, "map_", None), list[str]()
        if drawn is None or fingerprint(drawn) != schema.fingerprint:
            if self._map_memory is not None:
                raise ValueError(
                    f"the summary's map is not known here ({self._map_memory}). Give plan=, the "
                    "plan that the summary was made with."
                )
            drawn, notes = self._map_for(np.zeros((1, schema.n_features)), None)
        if fingerprint(drawn) != schema.fingerprint:
            raise ValueError(
                "the summary was made with another map than this model draws. Use the same "
                "parameters and an integer random_state, or give plan=."
            )
        kind = kind_for(self._solver(), check_alpha(self.alpha))
        return Plan(drawn, schema, kind, learner=type(self).__name__, notes=tuple(notes))

    def _plan(self) -> Plan:
        """The plan of this fitted model."""
        weights = getattr(self, "class_weight", None)
        if weights is not None and not isinstance(weights, dict):
            raise ValueError(
                f"class_weight={weights!r} needs the totals of all rows; rows cannot be added to "
                "or taken from such a fit. Give a dict of weights instead."
            )
        summary = self.summary_
        return Plan(self.map_, summary.schema, type(summary), weights, type(self).__name__)

    def _start(self, plan: Plan, summary: Summary) -> None:
        """Become a model of this summary, not solved yet."""
        forget_fit(self)
        self.map_, self._map_notes = plan.map, plan.notes
        self.n_features_in_ = plan.n_features
        if plan.feature_names is not None:
            self.feature_names_in_ = np.array(plan.feature_names, dtype=object)
        self._replace_summary(summary)

    def _replace_summary(self, summary: Summary) -> None:
        """Take a new summary; what followed from the old one is gone."""
        for name in (*SOLVED, *LEFT_OUT, "_kept"):
            vars(self).pop(name, None)
        self.summary_ = summary
        self._take_schema(summary.schema)

    def _solve(self, rows: Any = None) -> None:
        """Solve for the weights from the summary."""
        readout = solve_summary(
            self.summary_, self._intercept, self._solver(), check_alpha(self.alpha), rows
        )
        self._take(readout, self._map_notes)


def _check_has_summary(other: Any) -> None:
    check_is_fitted(other)
    if not hasattr(other, "summary_"):
        raise ValueError(
            f"this {type(other).__name__} has no summary of its rows: fit kept none. Fit it by "
            "partial_fit or fit_blocks."
        )


def _with_classes(summary: Summary, classes: Any) -> Summary:
    return summary if classes is None else summary.with_classes(classes)
