"""Fit on Spark; the result is an ordinary fitted estimator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pinvlearn.engines.plan import Head, source_name
from pinvlearn.engines.sources import column_values
from pinvlearn.engines.spark import FrameBlocks, SourceBlocks, each, fold, quoted, rows
from pinvlearn.learners._base import fitted_to, plan_for_engine


def fit(
    estimator: Any,
    data: Any,
    *,
    features: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    block: str | None = None,
    order: str | Sequence[str] | None = None,
    weight: str | None = None,
    source: str | None = None,
) -> Any:
    """Fit an estimator to a Spark data frame, or to files that Spark's workers read.

    Which rows make a block, and their order within it, is read from columns: the same blocks give
    the same bits as `fit_blocks`, for any number of executors and any partitioning, and if some
    executors are lost on the way.  Workers summarise blocks with `mapInArrow` and merge them
    along a fixed tree over the blocks' numbers; what comes back is solved here.
    Workers read the blocks again to leave out each row, unless `loo_scoring` is None, and to refine
    a solution for which the summary has too few digits.

    Cost: that of `fit_blocks`, one shuffle of the named columns (none for a block source), and
    about 2·cores times p² numbers sent to the driver, for p columns of the map.

    Parameters
    ----------
    estimator : learner
        It is not changed.  Its map is drawn from the block with the smallest number.
    data : pyspark.sql.DataFrame or block source
        A source such as `ParquetBlocks`, whose blocks are row groups of files, needs none of the
        columns below; workers must be able to read its files.
    features : list of str, or str
        Columns of numbers, or one column of arrays.
    label : str or list of str
        The column to learn, or several for many targets.
    block : str
        The column with the number of the block, an integer of at least 0.  10,000 to 100,000 rows
        are a good size.
    order : str or list of str
        Columns by which the rows of a block are sorted; no two of its rows may be equal in them.
    weight : str, optional
        The column with the weights of the rows.
    source : str, optional
        Name under which the blocks are counted, so that no merge counts them twice.  Left out, it
        is a digest of the first rows.

    Returns
    -------
    estimator
        A fitted clone, which needs no Spark.

    Examples
    --------
    ::

        model = pinvlearn.spark.fit(
            ELMClassifier(1000, alpha=1.0, random_state=0),
            frame,
            features=["height", "width"],
            label="kind",
            block="block",
            order="row",
        )
    """
    named = {"features": features, "label": label, "block": block, "order": order}
    if isinstance(data, Sequence):
        given = [name for name, value in (named | {"weight": weight}).items() if value is not None]
        if given:
            raise ValueError(f"A block source knows its columns; leave out {', '.join(given)}.")
        return _fit_source(estimator, data, source)
    missing = [name for name, value in named.items() if value is None]
    if missing:
        raise ValueError(f"A data frame needs {', '.join(missing)} as well: names of columns.")
    return _fit_frame(estimator, data, features, label, block, _listed(order), weight, source)


def _fit_source(estimator: Any, blocks: Sequence[Any], source: str | None) -> Any:
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            "pinvlearn.spark needs pyspark: pip install 'pinvlearn[spark]'", name="pyspark"
        ) from missing
    session = SparkSession.builder.getOrCreate()
    return _fitted(estimator, Head.of(blocks), SourceBlocks(blocks, session, ""), source)


def _fit_frame(
    estimator: Any,
    frame: Any,
    features: Any,
    label: Any,
    block: Any,
    order: list[str],
    weight: str | None,
    source: str | None,
) -> Any:
    learned = [*_listed(features), *_listed(label), *_listed(weight)]
    columns = [block, *order, *learned]
    absent = [name for name in dict.fromkeys(columns) if name not in frame.columns]
    if absent:
        raise ValueError(
            f"The data frame has no column {', '.join(map(repr, absent))}; it has "
            f"{', '.join(frame.columns)}."
        )
    again = next(((name, count) for name, count in Counter(learned).items() if count > 1), None)
    if again is not None:
        raise ValueError(
            f"{again[0]!r} is named {again[1]} times by features, label and weight. Give each "
            "column once."
        )
    frame = frame.select(*map(quoted, dict.fromkeys(columns)))
    numbers = _numbers(frame, block)
    split = partial(_split, features=features, label=label, weight=weight)
    first = frame.where(f"{quoted(block)} = {numbers[0]}").orderBy(*map(quoted, order)).toArrow()
    X, y, *_ = split(first, f"block {numbers[0]}")
    blocks = FrameBlocks(frame, split, "", block, order, numbers)
    return _fitted(estimator, Head(X, y, int(numbers[0])), blocks, source)


def _fitted(
    estimator: Any, head: Head, blocks: FrameBlocks | SourceBlocks, source: str | None
) -> Any:
    name = source_name(head) if source is None else source
    blocks = replace(blocks, source=name)
    passes = partial(each, blocks)
    plan, _ = plan_for_engine(estimator, head, name, passes)
    summary = fold(plan, blocks)
    counted = sum(past - first for _, first, past in summary.blocks)
    if counted != len(blocks.numbers):
        raise RuntimeError(
            f"{len(blocks.numbers)} blocks were found and {counted} came back: the data changes "
            "from one evaluation to the next. Write it to files first."
        )
    return fitted_to(estimator, plan, summary, rows(plan, summary.schema, blocks), passes)


def _numbers(frame: Any, block: str) -> Any:
    """The numbers of the blocks, ascending."""
    found = frame.select(quoted(block)).distinct().toArrow().column(block)
    numbers = np.sort(found.drop_null().to_numpy())
    if found.null_count or not len(numbers) or numbers.dtype.kind not in "iu" or numbers[0] < 0:
        raise ValueError(
            f"The column {block!r} must number the blocks by integers of at least 0, with a value "
            f"in every row; it holds {found.type} with {found.null_count} nulls"
            + (f", {numbers[0]} being the smallest." if len(numbers) else ".")
        )
    return numbers


def _listed(names: str | Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else list(names or [])


def _split(table: Any, name: str, *, features: Any, label: Any, weight: str | None) -> Any:
    """(X, y[, weights]) of the table of one block."""
    X = _matrix(table[features], name) if isinstance(features, str) else table.select(features)
    targets = [column_values(table, column, name) for column in _listed(label)]
    y = targets[0] if isinstance(label, str) else np.column_stack(targets)
    return (X, y) if weight is None else (X, y, column_values(table, weight, name))


def _matrix(column: Any, name: str) -> Any:
    """A column of arrays as one array."""
    import pyarrow.compute as pc

    lengths = pc.unique(pc.list_value_length(column)).to_pylist()
    if len(lengths) != 1 or lengths[0] is None:
        raise ValueError(f"{name}: the arrays have lengths {lengths}; one length is needed.")
    return pc.list_flatten(column).to_numpy().reshape(-1, lengths[0])
