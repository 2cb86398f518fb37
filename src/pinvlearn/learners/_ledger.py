"""The account that a learner keeps of its rows: their sums, and the solution that follows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from pinvlearn._core.device import as_given, device_name, home, home_within
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import check_block
from pinvlearn.engines.plan import Plan
from pinvlearn.summaries import Gram, Schema, Summary
from pinvlearn.summaries.block import Block
from pinvlearn.summaries.schema import weights_text

MOST_TESTED = 2**14
"""Rows of the latest block that are kept to be predicted: one number is fitted to them."""


class Ledger:
    """What a model has learned from, and what follows from it.

    A ledger is never written to: adding, forgetting and merging give another one.  Three things
    are worked out when they are first asked for, by one thread while others wait, and kept: the
    summary, where a fit left something cheaper, the solution, which is solved for after rows have
    come or gone, and the temperature, from the rows that came last.  None changes what anybody
    sees.

    Parameters
    ----------
    map : callable
        The drawn feature map.
    schema : Schema
        Of the rows; a fit leaves out the map's fingerprint, which only summaries compare.
    summary : Gram, Triangle or None
        Sums over the rows.
    rows : Block or None
        The rows themselves, where they are no more than the units: fewer numbers than their sums.
    solution : dict or None
        The attributes that follow; None where they have yet to be solved for.
    notes : tuple of str
        What a careful user would want to know of the map.
    test : Latest or None
        Rows that came last, and the sums before they came.
    """

    def __init__(
        self,
        map: Any,
        schema: Schema,
        summary: Summary | None = None,
        *,
        rows: Block | None = None,
        solution: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
        test: Latest | None = None,
    ) -> None:
        self.map, self.schema, self.notes = map, schema, notes
        self._summary, self._rows, self._solution = summary, rows, solution
        self._test = test
        self._temperature: float | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            state = dict(vars(self))
        del state["_lock"]  # a lock belongs to one process
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._test = self._temperature = None  # files of earlier versions have none
        vars(self).update(state)
        self._lock = threading.RLock()

    @property
    def is_open(self) -> bool:
        """Whether rows can be added and taken away."""
        return self._summary is not None or self._rows is not None

    @property
    def summary(self) -> Summary:
        """Sums over the rows, by which they can be told from others."""
        with self._lock, one_blas_thread():
            if self._rows is not None:
                self._summary, self._rows = Gram.of_block(self._rows), None
            if self._summary is None:
                raise ValueError("no sums of the rows were kept; see `is_open`.")
            if not self._summary.schema.fingerprint:
                schema = self._summary.schema.of_map(self.map)
                self._summary = replace(self._summary, schema=schema)
            return self._summary

    def solution(self, solve: Callable[[Summary], dict[str, Any]]) -> dict[str, Any]:
        """The attributes that follow from the rows; where they are not there yet, by `solve`."""
        if self._solution is None:
            with self._lock, one_blas_thread():
                if self._solution is None:
                    self._solution = solve(self.summary)
        return self._solution

    @property
    def is_tested(self) -> bool:
        """Whether rows were added that were predicted before, or can be."""
        return self._test is not None or self._temperature is not None

    def temperature(self, fitted: Callable[[Latest], float]) -> float:
        """What `fitted` gives for the rows that came last; what it took is then let go."""
        with self._lock, one_blas_thread():
            if self._test is not None:
                self._temperature, self._test = fitted(self._test), None
            assert self._temperature is not None
            return self._temperature

    def has(self, name: str) -> bool:
        """Whether an attribute has been solved for; nothing is solved."""
        return self._solution is not None and name in self._solution

    def plan(self, class_weight: dict[Any, float] | None, learner: str) -> Plan:
        """How more rows are summarised for this ledger."""
        summary = self.summary
        check_class_weight(summary.schema, class_weight)
        return Plan(self.map, summary.schema, type(summary), check_block, class_weight, learner)

    def add(
        self, new: Summary, *, decay: float = 1.0, classes: Any = None, test: Block | None = None
    ) -> Ledger:
        """With more rows, those so far weighted by `decay`, and classes that none may have.

        `test` are the rows, where they are to be predicted without themselves.
        """
        check_one_home(self.summary, new)
        before = self.summary if decay == 1.0 else self.summary * decay
        added = self._with(with_classes(before.merged(new), classes))
        if test is not None:
            added._test = Latest.of(self.summary, test, added.schema)
        return added

    def forget(self, old: Summary) -> Ledger:
        """Without some of the rows."""
        check_one_home(self.summary, old)
        return self._with(self.summary - old)

    def prepared_by(self, fingerprint: str) -> Ledger:
        """The same rows, known to have been made by something, such as a scaler."""
        summary = replace(self.summary, schema=replace(self.summary.schema, prepared=fingerprint))
        other = self._with(summary)
        other._solution, other._test = self._solution, self._test
        other._temperature = self._temperature
        return other

    def closed(self) -> Ledger:
        """The solution without the rows it follows from: none can be added or taken away."""
        return Ledger(self.map, self.schema, solution=self._solution, notes=self.notes)

    def _with(self, summary: Summary) -> Ledger:
        return Ledger(self.map, summary.schema, summary, notes=self.notes)


@dataclass(frozen=True, eq=False)
class Latest:
    """Rows that were added last, and the sums before: test, then train.

    Attributes
    ----------
    before : Gram or Triangle
    rows : Block
        Coded for the classes of both.
    """

    before: Summary
    rows: Block

    @classmethod
    def of(cls, before: Summary, block: Block, schema: Schema) -> Latest | None:
        """Of at most `MOST_TESTED` rows, which are copied; None where there is nothing to test.

        Rows without weight, or of classes that were not there before, tell nothing; no row does
        where there was one class, which is then all that is ever said.
        """
        T = block.T @ np.eye(schema.n_targets)[block.schema.columns_in(schema)]
        before = with_classes(before, schema.classes)
        every = np.ones(len(T), dtype=bool, like=home(T))
        tells = every if block.weights is None else block.weights > 0.0
        if schema.task == "classes":
            totals = before.target_totals
            tells = tells & (T @ totals > 0.0) & bool(np.count_nonzero(totals > 0.0) > 1)
        rows = np.flatnonzero(tells)[:: -(-len(T) // MOST_TESTED) or 1]
        if not before.total > 0.0 or not len(rows):
            return None
        return cls(before, replace(block, T=T, schema=schema).part(rows).copied())


def check_class_weight(schema: Schema, class_weight: Any) -> None:
    """Refuse weights of classes that are not those in the sums."""
    now = weights_text(class_weight)
    if schema.class_weight != now:
        raise ValueError(
            f"class_weight is {now or 'none'}, and the rows learned so far were summed with "
            f"{schema.class_weight or 'none'}. Set it back with set_params, or fit anew."
        )


def check_task(learner: Any, summary: Any) -> None:
    """Refuse what is no summary, and sums of other targets than a learner has."""
    if not hasattr(summary, "schema"):
        raise TypeError(f"summary is a {type(summary).__name__}; give a Gram or a Triangle.")
    task = summary.schema.task
    if is_classifier(learner) == (task == "targets"):
        raise ValueError(
            f"the summary's targets are {'numbers' if task == 'targets' else task}, which "
            f"{type(learner).__name__} does not learn."
        )


def mark_prepared(learner: Any, fingerprint: str) -> None:
    """Say what made the inputs, so that sums of inputs made otherwise are not added to these."""
    learner._hold(learner._ledger.prepared_by(fingerprint))


def close_ledger(learner: Any) -> None:
    """Keep the solution alone, if there is one: p² numbers fewer."""
    ledger = learner.__dict__.get("_ledger")
    if ledger is not None and ledger.has("report_"):
        learner._ledger = ledger.closed()


def with_classes(summary: Summary, classes: Any) -> Summary:
    """The summary, with classes that no row may have."""
    return summary if classes is None else summary.with_classes(classes)


class Solved:
    """An attribute of a learner that follows from its ledger, solved for when it is first read.

    Reading it changes nothing in the learner: `vars` are the same before and after.  A solution
    may have it by another name.
    """

    def __init__(self, doc: str, solved_as: str | None = None) -> None:
        self.__doc__ = doc
        self._solved_as = solved_as

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name
        self._solved_as = self._solved_as or name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        solution = model._solution()
        if self._solved_as not in solution:
            raise AttributeError(f"{type(model).__name__!r} object has no attribute {self._name!r}")
        return as_given(solution[self._solved_as])


def can_learn_in_pieces(estimator: Any) -> bool:
    """Whether a learner learns from summaries; the error says why not."""
    reason = estimator._why_not_updatable()
    if reason is not None:
        raise AttributeError(reason)
    return True


def can_go_on(estimator: Any) -> bool:
    """Whether rows can be added to it and taken away."""
    can_learn_in_pieces(estimator)
    ledger = estimator._held_ledger
    if ledger is not None and not ledger.is_open:
        reason = estimator._why_nothing_is_kept() or "it was not meant to be updated"
        raise AttributeError(
            "This model was fitted by fit, which kept no sums of its rows, so none can be added or "
            f"taken away: {reason.rstrip('.')}. Start with partial_fit or fit_blocks, for any "
            "number of rows."
        )
    return True


def has_leave_one_out(estimator: Any) -> bool:
    """Whether there are leave-one-out predictions, or will be after a fit."""
    ledger = estimator._held_ledger
    if ledger is not None and ledger.has("loo_predictions_"):
        return True
    if "loo_scoring" not in estimator.get_params(deep=False):
        raise AttributeError(
            f"This needs leave-one-out predictions, which {type(estimator).__name__} never makes. "
            "Use ELMClassifier, or put scikit-learn's CalibratedClassifierCV around it."
        )
    if estimator.loo_scoring is None:
        raise AttributeError(
            "This needs leave-one-out predictions, which a fit with loo_scoring=None does not "
            'make. Fit with loo_scoring="mse" (or "accuracy" for a classifier).'
        )
    if ledger is not None and estimator._why_blocks_leave_none_out is not None:
        raise AttributeError(
            "This needs leave-one-out predictions, which fit_blocks does not make here: "
            f"{estimator._why_blocks_leave_none_out}"
        )
    if ledger is not None:
        raise AttributeError(
            "This needs leave-one-out predictions, and those need rows. A model that learned from "
            "sums alone (partial_fit, forget, merge, fit_summary) has none; use fit, or fit_blocks "
            "on blocks that can be read again: a list, or a source such as ParquetBlocks."
        )
    return True


def has_probabilities(estimator: Any) -> bool:
    """Whether outputs can be scaled to probabilities, or can be after a fit."""
    ledger = estimator._held_ledger
    if ledger is not None and ledger.is_tested:
        return True
    try:
        return has_leave_one_out(estimator)
    except AttributeError as reason:
        if ledger is None or getattr(estimator, "loo_scoring", None) is None:
            raise
        if estimator._why_not_updatable() is not None:
            raise
        raise AttributeError(
            f"{reason} After partial_fit probabilities are there from the second block on: their "
            "scale is fitted to the block that came last, as it was predicted before it was added, "
            "if two classes were known by then and it has rows of these."
        ) from None


def check_one_home(mine: Summary, other: Summary) -> None:
    """Refuse to add up what lives in two places; a model would change its home on the way."""
    here, there = (device_name(home_within(summary)) for summary in (mine, other))
    if here != there:
        raise ValueError(
            f"the sums of this model live on {here}, the others on {there}. Give rows, or a model "
            "of rows, that live where those of this model do."
        )
