"""Reports in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.files import written_whole
from pinvlearn._validation import generator
from pinvlearn.report import sections
from pinvlearn.report.charts import bars
from pinvlearn.report.columns import column_stories, idlike
from pinvlearn.report.facts import gather, learner_of
from pinvlearn.report.filled import filled_columns
from pinvlearn.report.markup import bullets, number, paragraph, table
from pinvlearn.report.page import Section, page
from pinvlearn.report.targets import as_predicted, gather_several, is_several, several_sections


def write_report(
    model: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    rng: Any = 0,
) -> None:
    """Write what a model is worth on given rows to one HTML file that needs nothing else.

    The page has scores beside those of no model, calibration and confusion of a classifier,
    intervals over the truth of a regressor, the columns that the model relies on, the path of
    alpha, what was done to each column, how long the fit took, and what to try next.  It has no
    script, makes no request, and escapes everything that comes from the data.  Several targets, or
    labels, have scores in all and one by one.

    Rows that the model learned from are recognised, by their left-out predictions, and are judged
    by these.  Any other rows are judged as they are predicted.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of pinvlearn, or a scikit-learn ``Pipeline`` that ends in
        one.
    X : array, data frame or sparse array of shape (n_samples, n_features)
        Rows, as the model takes them.
    y : array of shape (n_samples,), or array or sparse array of shape (n_samples, n_targets)
        Their targets; indicators for any number of labels.
    path : path-like
        Where to write; an existing file is replaced only once the new one is complete.
    title : str, optional
        What the page is of, a file's name perhaps; by default the shape of X.
    rng : int, Generator or None, default=0
        Of the rows that are drawn and of the shuffling; by default the same page for the same
        input.

    Raises
    ------
    TypeError
        If the model is neither a classifier nor a regressor.
    ValueError
        If y has not as many rows as X, or holds a class that the model has not learned.

    Notes
    -----
    Cost: a few predictions for X, and five for each column on at most 500 rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import RBFNetworkClassifier, write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = RBFNetworkClassifier(50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(model, X, y, Path(folder) / "iris.html", title="iris")
    ...     "Confusion" in (Path(folder) / "iris.html").read_text(encoding="utf-8")
    True
    """
    X = as_table(X)
    stream = generator(rng)
    learner = learner_of(model)
    made: list[Section | None]
    one_by_one: list[Section] = []
    y = as_predicted(model, X, y)
    if is_several(y):
        check_is_fitted(model)
        several = gather_several(model, X, y, stream)
        relied_on = (several.importances, several.main, several.left_out)
        in_all, *one_by_one = several_sections(several)
        made = [in_all]
    else:
        facts = gather(model, X, y, stream)
        made = [
            sections.scores_section(facts),
            sections.next_section(facts, idlike(X)),
            sections.calibration_section(facts),
            sections.confusion_section(facts),
            sections.intervals_section(facts, stream),
        ]
        relied_on = (facts.importances, facts.main, facts.left_out)
    made += [
        sections.importances_section(*relied_on[:2], left_out=relied_on[2]),
        *one_by_one,
        sections.path_section(learner),
        sections.sizes_section(learner),
        sections.time_section(learner),
        sections.columns_section(column_stories(model, X), X.shape[0]),
    ]
    shape = f"{X.shape[0]:,} rows × {X.shape[1]:,} columns"
    subtitle = shape if title is None else f"{title}, {shape}"
    write_page(path, type(learner).__name__, subtitle, [part for part in made if part is not None])


def as_table(X: Any) -> Any:
    """Rows of which single columns can be shuffled: pandas, arrays and sparse ones as they are."""
    if hasattr(X, "column_names"):  # Arrow's, of which an index of pandas is a column
        return X.to_pandas(ignore_metadata=True)
    if hasattr(X, "to_pandas"):  # polars
        return X.to_pandas()
    return X if hasattr(X, "shape") else np.asarray(X)


def write_race(
    path: str | os.PathLike[str],
    title: str,
    rows: Sequence[Mapping[str, str]],
    drawn: Mapping[str, Mapping[str, float]],
) -> None:
    """Write a comparison: a table, and bars for some of its columns.

    Parameters
    ----------
    path : path-like
        Where to write.
    title : str
        What was compared, and on what.
    rows : sequence of mappings
        One for each contestant, column → text.
    drawn : mapping of mappings
        Heading → contestant → number, each drawn as bars.
    """
    side_by_side = table(list(rows[0]), [list(row.values()) for row in rows], class_="words")
    parts = [Section("Side by side", [side_by_side], wide=True)]
    for heading, values in drawn.items():
        lengths = np.array(list(values.values()), dtype=np.float64)
        parts.append(Section(heading, [bars(list(values), lengths, [number(v) for v in lengths])]))
    write_page(path, "Comparison", title, parts)


def write_imputation(
    path: str | os.PathLike[str], title: str, before: Any, after: Any, notes: Iterable[str]
) -> None:
    """Write what was filled into the gaps of a table, column by column.

    Parameters
    ----------
    path : path-like
        Where to write.
    title : str
        Which table.
    before, after : data frame
        The table with its gaps, and filled.
    notes : iterable of str
        How it was done, and what was not.
    """
    rows = filled_columns(before, after)
    gaps, filled = (sum(row.gaps for row in rows), sum(row.filled for row in rows))
    cells = before.shape[0] * before.shape[1]
    said = f"Of {cells:,} cells {gaps:,} were empty, and {filled:,} of these are filled now."
    head = ["column", "gaps", "filled", "known values", "filled in"]
    lines = [
        [row.name, f"{row.gaps:,}", f"{row.filled:,}", row.known, row.new]
        for row in rows
        if row.gaps
    ]
    whole = [row.name for row in rows if not row.gaps]
    parts = [
        Section("Filled", [paragraph(said), bullets(notes)]),
        Section("Columns without gaps", [paragraph(", ".join(whole) or "none")]),
        Section("Columns with gaps", [table(head, lines, class_="words")], wide=True),
    ]
    write_page(path, "Filled gaps", title, parts)


def write_page(
    path: str | os.PathLike[str], title: str, subtitle: str, parts: list[Section]
) -> None:
    """Write a page of sections, whole or not at all."""
    text = page(title, subtitle, parts)
    with written_whole(path) as draft:
        draft.write_text(text, encoding="utf-8")
