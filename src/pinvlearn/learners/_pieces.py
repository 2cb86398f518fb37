"""Rows that come and go: what a learner does with the ledger that it holds.

Adding, forgetting and merging replace the ledger by another; the solution follows from it when it
is next asked for.  Every way to learn in pieces is a plan, which turns blocks into summaries, and
somebody who folds them.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Matrix
from pinvlearn._core.device import home, memory_named, slow_double, to_host
from pinvlearn._core.transfer import device_like
from pinvlearn._validation import (
    check_alpha,
    check_block,
    check_decay,
    check_in_memory,
    check_jobs,
    check_rows,
    check_rows_and_targets,
    check_solver,
    generator,
)
from pinvlearn.engines.local import Reader, fold
from pinvlearn.engines.plan import Head, Plan, naming, source_name
from pinvlearn.features import FeatureMap, placed
from pinvlearn.learners._ledger import (
    Ledger,
    Solved,
    can_go_on,
    can_learn_in_pieces,
    check_class_weight,
    check_task,
    with_classes,
)
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.learners._targets import score_attributes, scoring_of
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.contract import SUMS, summary_kind
from pinvlearn.readout.problem import Problem, Rows
from pinvlearn.readout.scoring import Scoring
from pinvlearn.readout.solve import Readout, solve
from pinvlearn.readout.solvers import SOLVERS
from pinvlearn.summaries import Schema, Summary, at_home, fingerprint
from pinvlearn.summaries.gram import check_other_rows

TESTED = (
    "the temperature of probabilities is fitted to the block that came last, as it was predicted "
    "before it was added"
)


class LedgerHolder(BaseEstimator):
    """A learner with a ledger of its rows: they can be added, forgotten and merged."""

    coef_ = Solved("Weights of the units.")
    intercept_ = Solved("Unpenalised offset of the outputs.")
    alpha_ = Solved("The ridge used.")
    alphas_ = Solved("The ridges it was chosen from.")
    rank_ = Solved("Directions that took part.")
    report_ = Solved("What was done, why, how exactly, and how long it took.")
    gcv_scores_ = Solved("Generalised cross-validation score of each of `alphas_`.")
    loo_scores_ = Solved("Leave-one-out score of each of `alphas_`.")
    best_score_ = Solved("The score of `alpha_`, the best of the path.")
    corrected_score_ = Solved("Left-out score, each row judged by the ridge that others chose.")
    loo_predictions_ = Solved("Output for each training row of the read-out fitted to all others.")
    loo_error_ = Solved("How far rounding may have moved each of `loo_predictions_`.")

    # What a learner says of itself.

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        """The feature map for the training rows, and notes for the report."""
        raise NotImplementedError

    def _read_targets(self, y: Any, n_features: int) -> tuple[Schema, Any]:
        """The schema of the targets, before any class is known, and y as an array."""
        raise NotImplementedError

    def _new_rows(self, X: Any, y: Any) -> tuple[Matrix, Any]:
        """The rows of a new fit as the map takes them, and their targets."""
        return check_rows_and_targets(self, X, y, dtype=np.float64)

    def _later_rows(self, X: Any) -> Matrix:
        """Rows for a fitted model as the map takes them."""
        return check_rows(self, X, reset=False, dtype=np.float64)

    def _attributes_of(self, readout: Readout, schema: Schema) -> dict[str, Any]:
        """What follows from a solution, coefficients first."""
        raise NotImplementedError

    @property
    def _row_names(self) -> Any:
        """Names of the columns of rows as the map takes them; None if they have none."""
        return getattr(self, "feature_names_in_", None)

    @property
    def _map_memory(self) -> str | None:
        """What the map keeps of the rows it was drawn from; None if it keeps nothing."""
        return None

    @property
    def _intercept(self) -> bool:
        """Whether there is a free intercept."""
        return True

    def _solver(self) -> Any:
        return check_solver(self.solver, SOLVERS)

    def _alpha_of_sums(self) -> Alpha:
        """The ridges that a solution from sums is chosen from."""
        return check_alpha(self.alpha)

    def _why_not_updatable(self) -> str | None:
        """Why this learner cannot learn from summaries; None if it can."""
        return None

    def _why_nothing_is_kept(self) -> str | None:
        """Why `fit` leaves nothing that rows can be added to; None if it does."""
        if self._why_not_updatable() is not None:
            return self._why_not_updatable()
        if self._map_memory is not None:
            return f"{self._map_memory}, and with such a map the sums' p² numbers are not kept"
        solver, alpha = self._solver(), check_alpha(self.alpha)
        try:
            kind = summary_kind(solver, alpha)
        except ValueError as error:
            return str(error)
        if kind.offers != SUMS:
            return (
                'alpha=0 and the solvers "qr" and "exact" need an R factor, and fit keeps sums only'
            )
        return None

    # Learning in pieces: the ledger is replaced, and solved for when it is next needed.

    @available_if(can_go_on)
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
        which needs no rows; what needs rows, such as intervals, is gone.  Probabilities are scaled
        by the rows of the last call, as the model predicted them before they were added: for that
        classifiers keep up to 16,384 of them, and the sums before (unless `loo_scoring` is None).

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
            Weights of the rows, at least 0.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        decay = check_decay(decay)
        with unchanged_on_failure(self):
            ledger = self._held_ledger
            if ledger is None:
                plan = self._plan_from_head(X, y)
                new = with_classes(plan.summary(X, y, sample_weight), classes)
                self._begin(plan, new)
            else:
                more = self._plan_for_more()
                block = more.block(X, y, sample_weight)
                test = block if self._wants_tests(block.schema) else None
                new = more.summary_of(block)
                self._hold(ledger.add(new, decay=decay, classes=classes, test=test))
        return self

    @available_if(can_go_on)
    def forget(self, X: Matrix, y: Any, sample_weight: Any = None) -> Any:
        """Take rows away again, as if they had never been added.

        Exact to rounding for a map that keeps nothing of the rows (random layers, given centres)
        and a given alpha.  Rows that were decayed are given with their present weight.  A summary
        knows no rows: others than those added, or the same ones twice, are noticed only where no
        rows could give what is left.  Blocks with ids are known: take them away with
        ``fit_summary(summary_ - plan().summary(X, y, block_id=...))``, which raises the second
        time.  A class stays known when its last row is forgotten.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows as they were added.
        y : array of shape (n_samples,) or (n_samples, n_targets)
            Their targets.
        sample_weight : array of shape (n_samples,), optional
            Their weights.

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
        old = self._plan_for_more().summary(X, y, sample_weight)
        self._hold(self._ledger.forget(old))
        return self

    @available_if(can_go_on)
    def merge(self, other: Any) -> Any:
        """Add all rows that another model or summary has learned from.

        Parameters
        ----------
        other : fitted learner, Gram or Triangle
            With the same map and `class_weight`; blocks that both have counted raise.  Rows that
            were added without ids (`fit`, `partial_fit`) are known by their sums only: a model
            merged with itself or a copy is refused, one that shares some of the rows is not
            noticed.  Give rows ids to be safe: ``plan().summary(X, y, block_id=...)``.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        check_is_fitted(self)
        self._plan_for_more()  # refuses weights that rows of both would change
        new = _summary_of(other)
        check_other_rows(self.summary_, new)
        self._hold(self._ledger.add(new))
        return self

    @available_if(can_learn_in_pieces)
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
            return copy(self)._plan_from_head(X, y)
        _summary_of(self)
        return self._plan_for_more()

    @available_if(can_learn_in_pieces)
    def fit_summary(self, summary: Summary, plan: Plan | None = None) -> Any:
        """Fit to the rows of a summary, which may have been made anywhere.

        Parameters
        ----------
        summary : Gram or Triangle
            Made by a plan's ``summary``, or merged of such.
        plan : Plan, optional
            The plan it was made with.  May be left out where this model has the same map already,
            or can draw it from its seed.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        with unchanged_on_failure(self):
            check_task(self, summary)
            if plan is None:
                plan = self._plan_of_summary(summary.schema)
            elif plan.fingerprint != summary.schema.fingerprint:
                raise ValueError("the summary was made with another map than that of the plan.")
            check_class_weight(summary.schema, self._class_weight)
            self._begin(plan, summary)
            self._solution()
        return self

    @available_if(can_learn_in_pieces)
    def fit_blocks(
        self,
        blocks: Iterable[Any],
        *,
        classes: Any = None,
        source: str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        interval: float = 60.0,
        quiet: bool = False,
        device: str | None = None,
    ) -> Any:
        """Fit to rows that come in blocks and need not fit into memory.

        Threads work on blocks side by side, with one BLAS thread each; sums are merged along a
        fixed tree over the blocks' positions.  The result's bits depend on the blocks, not on the
        number of threads or on interruptions.  Memory: p² for each level of the tree and each
        thread, the blocks at work, and what is left of rows left out, some numbers for each.

        Parameters
        ----------
        blocks : iterable of (X, y) or (X, y, sample_weight)
            A sequence is read by the threads, at the positions that are needed; anything else is
            read in order.  What can be read again is: twice more to leave out each row, unless
            `loo_scoring` is None, and where the solution needs refinement.  Probabilities and
            intervals are then those of `fit`.
        classes : array, optional
            All classes, also those that no block may hold.
        source : str, optional
            Name under which the blocks are counted, so that no merge counts them twice.  Left
            out, it is a digest of the first rows.
        checkpoint : path-like, optional
            File to resume from if it is there, and to write to every `interval` seconds, whole or
            not at all.  Needs an integer `random_state`, so that the map can be drawn again.  A
            fit that resumes reads the blocks counted before once more, to compare their digests
            with those in the file, but makes no features and no sums of them; if rows, targets,
            weights, the cut into blocks or a parameter other than `n_jobs` have changed, it raises
            and says what has.
        interval : float, default=60.0
            Seconds.
        quiet : bool, default=False
            Show no progress; without a terminal there is none anyway.
        device : str, optional
            Device on which to work on rows of the host, by torch's name: "cuda".  Each block is
            sent there while the last one is multiplied, so that rows need not fit on it; blocks
            of some hundred thousand rows keep it busy.  The model comes back to the host.

        Returns
        -------
        self
            Unchanged if it fails or is interrupted while it sums up.  Where only the solution
            fails, for want of digits, the summary is kept: ``set_params`` another alpha and go on.
        """
        n_jobs = check_jobs(self.n_jobs)
        self._check_device(device)
        with unchanged_on_failure(self):
            if checkpoint is not None and not isinstance(self.random_state, int | np.integer):
                raise ValueError(
                    f"random_state={self.random_state!r}: a checkpoint needs an integer, so that "
                    "the same map is drawn when the fit is resumed."
                )
            reader = Reader(blocks)
            head = reader.head()
            plan = replace(self._plan_from_head(head.X, head.y, head.where), device=device)
            total = fold(
                plan,
                reader,
                source_name(head) if source is None else source,
                n_jobs=n_jobs,
                checkpoint=checkpoint,
                made_with=self._deciding_parameters(),
                interval=interval,
                quiet=quiet,
            )
            total = with_classes(total, classes)
            self._begin(plan, total)
        there = None if device is None else total
        self._solution(reader.rows(plan, total.schema, n_jobs), there)
        return self

    def _check_device(self, device: str | None) -> None:
        """Refuse a device that is not there, or that this learner does not work on."""
        if device is None:
            return
        if not getattr(self, "_runs_on_devices", False):
            raise TypeError(
                f"{type(self).__name__} works on NumPy and SciPy arrays alone; leave "
                f"device={device!r} out."
            )
        device_like(device)

    def _deciding_parameters(self) -> dict[str, Any]:
        """Parameters that a fit depends on."""
        return {n: value for n, value in self.get_params(deep=False).items() if n != "n_jobs"}

    # Plans: from the head of the data, of this model's rows, and of a summary from elsewhere.

    def _plan_from_head(self, X: Matrix, y: Any, where: str = "") -> Plan:
        """Check the head of the data, draw the map from it, and set nothing but its columns."""
        kind = summary_kind(self._solver(), check_alpha(self.alpha))
        class_weight = self._weights_of_classes("which blocks do not know")
        forget_fit(self)
        check_in_memory(X)
        with naming(where):
            X, y = self._new_rows(X, y)
            drawn, notes = self._map_for(X, y)
            drawn = placed(drawn, X)
            schema, y = self._read_targets(y, X.shape[1])
        schema = schema.of_map(drawn)
        learner = type(self).__name__
        return Plan(drawn, schema, kind, check_block, class_weight, learner, tuple(notes))

    def _plan_from_blocks(self, head: Head, each: Any) -> Plan:
        """The plan of a fit to blocks; most maps are drawn from the head of the data alone."""
        return self._plan_from_head(head.X, head.y, head.where)

    def _after_blocks(self, plan: Plan, each: Any) -> None:
        """What is left to learn from blocks once the solution is known: nothing, mostly."""

    def _plan_for_more(self) -> Plan:
        """The plan of this fitted model, to add rows, forget some or merge."""
        weights = self._weights_of_classes(
            "so that rows cannot be added to or taken from such a fit"
        )
        return self._ledger.plan(weights, type(self).__name__)

    def _plan_of_summary(self, schema: Schema) -> Plan:
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
        kind = summary_kind(self._solver(), check_alpha(self.alpha))
        learner = type(self).__name__
        return Plan(drawn, schema, kind, check_block, None, learner, tuple(notes))

    def _map_for(self, X: Matrix, y: Any) -> tuple[FeatureMap, list[str]]:
        """The map that `fit` would draw from these rows."""
        return self._draw_map(X, y, generator(self.random_state).spawn(2)[0])

    @property
    def _class_weight(self) -> Any:
        return getattr(self, "class_weight", None)

    def _weights_of_classes(self, trouble: str) -> dict[Any, float] | None:
        """Weights that hold for any rows."""
        weights = self._class_weight
        if weights is not None and not isinstance(weights, dict):
            raise ValueError(
                f"class_weight={weights!r} needs the totals of all rows, {trouble}. Give a dict of "
                "weights instead."
            )
        return weights

    # The ledger, and what is read from it.

    @property
    def _held_ledger(self) -> Ledger | None:
        return vars(self).get("_ledger")

    def _hold(self, ledger: Ledger, like: Any = None) -> None:
        """Go over to another ledger: what followed from the last one is gone with it.

        So are rows that were kept, which are not those of the new one.  Classes are named as in
        `like`, where targets are given.
        """
        self.__dict__.pop("training_", None)
        self._ledger: Ledger = ledger
        self.map_ = ledger.map

    def _begin(self, plan: Plan, summary: Summary) -> None:
        """Become a model of this summary, not solved yet."""
        forget_fit(self)
        self.n_features_in_ = plan.n_features
        if plan.feature_names is not None:
            self.feature_names_in_ = np.array(plan.feature_names, dtype=object)
        for name, value in plan.learned.items():
            setattr(self, name, value)
        kept = summary if plan.device is None else at_home(summary)
        self._hold(Ledger(plan.map, summary.schema, kept, notes=plan.notes))

    @property
    def summary_(self) -> Summary:
        """Sums over the rows, to add to and take from."""
        ledger = self._held_ledger
        if ledger is None or not ledger.is_open:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'summary_'")
        return ledger.summary

    def _solution(self, rows: Rows | None = None, total: Summary | None = None) -> dict[str, Any]:
        """The attributes that follow from the ledger; solved for now, if they have yet to be.

        `total` is the summary of the ledger where it was made, if that is a device: all is solved
        there, and comes back to where the ledger is.
        """
        ledger = self._held_ledger
        if ledger is None:
            return {}

        def solved(summary: Summary) -> dict[str, Any]:
            notes = ledger.notes
            if ledger.is_tested:
                notes = (*notes, TESTED)
            readout = self._solved_from(summary if total is None else total, rows)
            found = self._solution_of(readout, summary.schema, notes)
            return found if total is None else {name: to_host(x) for name, x in found.items()}

        with memory_named():
            return ledger.solution(solved)

    def _solved_from(self, summary: Summary, rows: Rows | None = None) -> Readout:
        """The read-out that follows from sums, and from their rows where these can be read."""
        score = None if rows is None else self._score_of_blocks(summary)
        problem = Problem(rows, self._intercept, score, summary=summary)
        return solve(problem, self._solver(), self._alpha_of_sums())

    def _wants_tests(self, schema: Schema) -> bool:
        """Whether rows that come are to be predicted before they are added."""
        return schema.task != "targets" and self.loo_scoring is not None

    def _score_of_blocks(self, summary: Summary) -> Scoring | None:
        """What rows left out are judged by, where blocks can be read again."""
        return scoring_of(self.loo_scoring, summary.schema, summary.target_totals)

    def _solution_of(
        self, readout: Readout, schema: Schema, notes: tuple[str, ...]
    ) -> dict[str, Any]:
        found = self._attributes_of(readout, schema)
        alpha = readout.alpha if readout.by_target is None else readout.by_target
        found |= {"alpha_": alpha, "alphas_": readout.alphas, "rank_": readout.rank}
        slow = slow_double(home(readout.coef))
        found["report_"] = replace(readout.report, notes=(*notes, *readout.report.notes, *slow))
        return found | score_attributes(readout, schema)


def _summary_of(other: Any) -> Summary:
    """The summary of a model, or the one given."""
    if hasattr(other, "offers"):
        return other
    if not hasattr(other, "fit"):
        raise TypeError(
            f"a {type(other).__name__} cannot be merged; give a fitted learner, a Gram or a "
            "Triangle."
        )
    check_is_fitted(other)
    summary: Summary | None = getattr(other, "summary_", None)
    if summary is None:
        raise ValueError(
            f"this {type(other).__name__} has no summary of its rows: fit kept none. Fit it by "
            "partial_fit or fit_blocks."
        )
    return summary
