"""Any table made ready for kernels, with nothing to set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn._core.threads import in_threads
from pinvlearn._validation import check_choice, check_in_memory, check_size, unmasked
from pinvlearn.features.columns import COPIES, NOTHING, Column, TableSummary, prepare
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.learners._tables import (
    NUMBER,
    RawColumn,
    check_names,
    columns_of,
    is_frame,
    kind_of,
    raw_columns,
)
from pinvlearn.summaries.tree import Merging, Node


def _goes_on(inputs: Any) -> bool:
    if hasattr(inputs, "columns_") and not hasattr(inputs, "summaries_"):
        raise AttributeError(
            "These inputs were fitted by fit or fit_blocks, which keep nothing that rows could be "
            "added to. Start with partial_fit on the first rows too, or on a clone."
        )
    return True


class TabularInputs(TransformerMixin, BaseEstimator):
    r"""Make a table of any kind ready for kernels and other learners that measure distances.

    Each numeric column comes twice: *scaled*, 3 asinh(z/3) of z = (x - median)/(quartile distance),
    which keeps its shape and is a logarithm of what lies far out; and as its *rank*, the share of
    training rows below it, which is in (0, 1) and the same for any rising function of the column.
    Both are then given mean 0 and variance 1.  A column of two values is put at -1 and 1.  Beyond
    the training rows values end where the last twentieth of these would reach once more, so that a
    slip of the pen does not leave a row without neighbours.
    Categories, texts and truth values become indicators, those of rare levels one together.  Dates
    become days since 1970, month, day, weekday and hour, periods of pandas those of their start;
    texts are dates where all of a column are, as ISO 8601 writes them (2024-12-31).
    A missing number is the median, beside an indicator of its own; a missing category is a level.
    A column with one value is left out.

    Nothing depends on the targets.

    Parameters
    ----------
    categorical_features : "from_dtype" or array of str, int or bool, default="from_dtype"
        Columns whose values are levels.  "from_dtype": those whose type says so (categories,
        texts that are no dates, truth values).  In an array of texts, which NumPy makes of numbers
        beside a text, columns that read as numbers are such.  Names, positions or a mask add
        columns of numbers to these.
    copies : {"both", "scaled", "rank"}, default="both"
        Which copies of a numeric column there are.
    max_levels : int or "auto", default="auto"
        Levels of a column that get an indicator of their own, the most frequent first.  "auto": as
        many of each column as the indicators of all columns take 512 MiB with, from 50 to 1000.
        Levels with fewer than three rows, or than 1 % of the rows where that is less, are rare as
        well.

    Attributes
    ----------
    columns_ : Preparation
        What becomes of each column.
    dropped_ : dict
        Columns left out, and why.
    pooled_ : dict
        Columns of which rare levels stand together, and those levels.
    notes_ : tuple of str
        The same in words.
    rank_error_ : float
        Share of the rows by which the rank of a value that is held may be off: 0 up to 4096
        different values in a column, above that 1/4096 for a table in memory, and at most
        (⌈log₂ b⌉ + 1)/4096 for b blocks.  Between them it is interpolated: beside a value that
        many rows share, up to half their number more.
    kinds_ : list of str
        What each column holds: "number", "level", "date" or "duration"; "number" where it has no
        value at all.
    sources_ : array of int
        For each column made, the position of the column it comes from.
    summaries_ : list
        After `partial_fit`: what was learned of the rows so far, in pieces that merge.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Cost: one sort of each column to learn it, one binary search for each number to transform it.

    From blocks (`partial_fit`, `fit_blocks`) each column is learned as a sketch of at most 4096
    values, merged along a fixed tree over the blocks: the same bits for any number of workers.
    Where blocks begin and end matters only in columns with more different values, and there by no
    more than `rank_error_`.  What a column holds is told by the first block that has a value in it.

    An unseen level is taken as a rare one, or as none where no level was rare; 0 and 1 are the
    levels of a column of truth values.  Texts in a column of dates are read as ISO 8601.  A gap in
    a column that had none is filled and not indicated.  Infinity is refused.  A column that was
    left out may hold anything later.

    Deviations from RealMLP's scaling [HMW24]: what lies far out is a logarithm where it was bounded
    there, the rank is there as well, and both copies are standardised.

    References
    ----------
    [HMW24] D. Holzmüller, L. Grinsztajn, I. Steinwart (2024). Better by default: strong pre-tuned
    MLPs and boosted trees on tabular data. NeurIPS 37.

    Examples
    --------
    >>> import pandas as pd
    >>> from pinvlearn import TabularInputs
    >>> table = pd.DataFrame({"age": [21, 35, None, 60], "city": ["Oslo", "Rome", "Rome", "Bonn"]})
    >>> inputs = TabularInputs().fit(table)
    >>> list(inputs.get_feature_names_out())
    ['age', 'age__rank', 'age__missing', 'city__Bonn', 'city__Oslo', 'city__Rome']
    >>> inputs.transform(table).shape
    (4, 6)
    """

    def __init__(
        self,
        *,
        categorical_features: Any = "from_dtype",
        copies: str = "both",
        max_levels: int | str = "auto",
    ) -> None:
        self.categorical_features = categorical_features
        self.copies = copies
        self.max_levels = max_levels

    def fit(self, X: Any, y: Any = None) -> TabularInputs:
        """Learn what to make of each column.

        Parameters
        ----------
        X : data frame, or array of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
            Unchanged if the fit fails.
        """
        with unchanged_on_failure(self):
            forget_fit(self)
            self._take(self._first_summary(X))
        return self

    @available_if(_goes_on)
    def partial_fit(self, X: Any, y: Any = None) -> TabularInputs:
        """Learn from more rows; what is learned is of all rows that earlier calls were given.

        Parameters
        ----------
        X : data frame, or array of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        with unchanged_on_failure(self):
            parts = list(getattr(self, "summaries_", ()))
            if not parts:
                forget_fit(self)
            total = self._next_summary(X, _seen(parts)) if parts else self._first_summary(X)
            size = 1
            while parts and parts[-1][0] == size:
                total = parts.pop()[1].merged(total)
                size *= 2
            self.summaries_ = [*parts, (size, total)]
            for _, earlier in reversed(parts):
                total = earlier.merged(total)
            self._take(total)
        return self

    def fit_blocks(self, blocks: Iterable[Any], *, n_jobs: int | None = None) -> TabularInputs:
        """Learn from blocks of rows, tables or tuples that begin with one, in their order.

        Parameters
        ----------
        blocks : iterable
            Only a few are held at a time; those without rows are passed over.
        n_jobs : int, optional
            Threads over blocks; the result does not depend on it.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        with unchanged_on_failure(self):
            forget_fit(self)
            tables = (table for table in map(_table, blocks) if _has_rows(table))
            first = next(tables, None)
            if first is None:
                raise ValueError("there is no block with rows to learn from; give at least one.")
            head = self._first_summary(first)
            sums = Merging(TableSummary.merged)
            sums.add(Node("", 0, 0), head)

            def summary_of(table: Any) -> TableSummary:
                return self._next_summary(table, head.kinds)

            rest = in_threads(summary_of, tables, n_jobs)
            for number, summary in enumerate(rest, start=1):
                sums.add(Node("", 0, number), summary)
            self._take(sums.result())
        return self

    def transform(self, X: Any) -> Array:
        """The table made ready.

        Parameters
        ----------
        X : data frame, or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_names)
            float64, a column for each name of `get_feature_names_out`.
        """
        check_is_fitted(self)
        return self.prepared(X, self)

    def prepared(self, X: Any, owner: Any) -> Array:
        """The same, columns being checked for whoever was fitted with these inputs.

        Parameters
        ----------
        X : data frame, or array of shape (n_samples, n_features)
            Rows.
        owner : estimator
            Whose columns these are: errors name it.

        Returns
        -------
        array of shape (n_samples, n_names)
            As `transform` gives it.
        """
        used = {column.source for column in self.columns_.columns}  # others may hold anything
        kinds = [kind if at in used else None for at, kind in enumerate(self.kinds_)]
        return self.columns_(*self._columns(X, owner, kinds))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns made: a scaled copy has its column's own name.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns; by default those of `fit`.

        Returns
        -------
        array of str
            One for each column that `transform` gives.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.columns_.names, dtype=object)

    @property
    def sources_(self) -> IntArray:
        """For each column made, the position of the column it comes from."""
        return np.array(self.columns_.sources, dtype=np.intp)

    def without_ranks(self) -> TabularInputs:
        """These inputs as they would be with `copies="scaled"`, learned from the same rows.

        Returns
        -------
        TabularInputs
            Fitted, as by `fit`: `partial_fit` has nothing to add to.
        """
        check_is_fitted(self)
        fewer = copy(self)
        fewer.copies, fewer.columns_ = "scaled", self.columns_.without_ranks()
        if hasattr(fewer, "summaries_"):
            del fewer.summaries_
        return fewer

    def _take(self, summary: TableSummary) -> None:
        check_choice("copies", self.copies, COPIES)
        self.columns_ = prepare(summary, copies=self.copies, max_levels=self._most_levels())
        if not self.columns_.columns:
            raise ValueError(
                f"no column is left to learn from (n_samples = {summary.n_rows}): "
                + "; ".join(self.columns_.notes)
                + ". Give at least one column whose values differ."
            )
        self.kinds_ = [NUMBER if kind == NOTHING else kind for kind in summary.kinds]
        self.dropped_, self.pooled_ = self.columns_.dropped, self.columns_.pooled
        self.notes_ = self.columns_.notes
        self.rank_error_ = summary.rank_error

    def _most_levels(self) -> int | None:
        if isinstance(self.max_levels, str):
            check_choice("max_levels", self.max_levels, ("auto",), "an integer of at least 1")
            return None
        return check_size("max_levels", self.max_levels)

    def _first_summary(self, X: Any) -> TableSummary:
        raw = self._raw(X, self, reset=True)
        chosen = self._chosen(raw)
        kinds = [kind_of(column, bool(listed)) for column, listed in zip(raw, chosen, strict=True)]
        return TableSummary.of(columns_of(raw, kinds), len(raw[0]), kinds=kinds)

    def _next_summary(self, X: Any, kinds: Sequence[str]) -> TableSummary:
        """Of more rows; columns of which nothing has been seen are of the kind they are here."""
        raw = self._raw(X, self, reset=False)
        found = [
            kind_of(column, False) if kind == NOTHING else kind
            for column, kind in zip(raw, kinds, strict=True)
        ]
        return TableSummary.of(columns_of(raw, found), len(raw[0]), kinds=found)

    def _columns(self, X: Any, owner: Any, kinds: Sequence[str | None]) -> tuple[list[Column], int]:
        raw = self._raw(X, owner, reset=False)
        return columns_of(raw, kinds), len(raw[0])

    def _raw(self, X: Any, owner: Any, reset: bool) -> list[RawColumn]:
        check_in_memory(X)
        if scipy.sparse.issparse(X):
            raise TypeError(
                f"Sparse data was passed: {type(X).__name__} of shape {X.shape}. A column's rank "
                "and scale would make every entry dense; use X.toarray() if it fits, or a learner "
                "for sparse data such as KernelELMClassifier or PinvClassifier."
            )
        frame = is_frame(X)
        if frame:
            check_names(X)
            validate_data(owner, X, skip_check_array=True, reset=reset)
        else:
            X = unmasked(X)
            X = validate_data(owner, X, dtype=None, ensure_all_finite=False, reset=reset)
        columns = raw_columns(X)
        if not columns or len(columns[0]) == 0:
            raise ValueError(
                f"Found array with {len(columns[0]) if columns else 0} sample(s) and "
                f"{len(columns)} feature(s) while a minimum of 1 is required."
            )
        # those of the fit, where frames and arrays take each other's place
        names = _check_feature_names_in(owner)
        return [replace(column, name=name) for column, name in zip(columns, names, strict=True)]

    def _chosen(self, raw: list[RawColumn]) -> Any:
        """A mask of the columns that the caller says hold categories."""
        given = self.categorical_features
        mask = np.zeros(len(raw), dtype=bool)
        if isinstance(given, str):
            check_choice(
                "categorical_features", given, ("from_dtype",), "names, positions or a mask"
            )
            return mask
        listed = np.asarray(given)
        if listed.ndim != 1:
            raise ValueError(
                f'categorical_features={given!r}: give "from_dtype", or a list of names, of '
                "positions or of truth values, [] for none."
            )
        names = [column.name for column in raw]
        if listed.dtype.kind == "b":
            if listed.shape != mask.shape:
                raise ValueError(
                    f"categorical_features is a mask of {len(listed)} entries; the table has "
                    f"{len(raw)} columns."
                )
            return listed
        known: list[Any] = names if listed.dtype.kind in "UO" else list(range(len(raw)))
        for entry in listed.tolist():
            if entry not in known:
                raise ValueError(
                    f"categorical_features names {entry!r}, which is no column of the table; "
                    f"there are {', '.join(map(str, known[:12]))}{', …' * (len(known) > 12)}."
                )
            mask[known.index(entry)] = True
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _seen(parts: Sequence[tuple[int, TableSummary]]) -> list[str]:
    """The kind of each column, from the rows of all parts."""
    columns = zip(*(part.kinds for _, part in parts), strict=True)
    return [next((kind for kind in own if kind != NOTHING), NOTHING) for own in columns]


def _table(block: Any) -> Any:
    """The rows of a block that may have targets beside them."""
    return block[0] if isinstance(block, tuple | list) else block


def _has_rows(table: Any) -> bool:
    return (table.shape[0] if hasattr(table, "shape") else len(table)) > 0
