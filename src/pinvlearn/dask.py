"""Fit on Dask, on one machine or a cluster; the result is an ordinary fitted estimator."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

try:
    import dask
    import dask.array
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "pinvlearn.dask needs Dask: pip install 'pinvlearn[dask]'", name="dask"
    ) from missing

from pinvlearn.engines.dask import each, fold, rows
from pinvlearn.engines.plan import Head
from pinvlearn.learners._base import fitted_to, plan_for_engine


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    source: str | None = None,
    device: str | None = None,
) -> Any:
    """Fit an estimator to rows that Dask holds in blocks.

    Workers make a summary of each block and merge them along a fixed tree over the blocks'
    numbers; what comes back is solved here.  The same blocks give the same bits as `fit_blocks`,
    for any number of workers, whatever order they finish in, and if some are lost on the way.
    Workers read the blocks again to leave out each row, unless `loo_scoring` is None, and to refine
    a solution for which the summary has too few digits.

    Cost: that of `fit_blocks`, and p² numbers sent for about every block, for p columns of the
    map.  Each worker needs memory for a block and a few times p² numbers.

    Parameters
    ----------
    estimator : learner
        It is not changed.  Its map is drawn from the first block, as `fit_blocks` does.
    X : dask array, dask data frame, list of delayed blocks or block source
        Row chunks of an array and partitions of a data frame are the blocks.  A delayed block is
        (X, y) or (X, y, sample_weight), and so is what a source such as `ParquetBlocks` gives;
        workers must be able to read its files.
    y : dask array, dask series or str, optional
        Where X is an array or a data frame; a string names a column of the data frame.
    sample_weight : as y, optional
        Weights of the rows.
    source : str, optional
        Name under which the blocks are counted, so that no merge counts them twice.  Left out, it
        is a digest of the first rows.
    device : str, optional
        Device on which each worker works on its blocks, and this process solves: "cuda".  Both
        need one; a worker for each card sees its own by this name if it was started so
        (``dask cuda worker``, or CUDA_VISIBLE_DEVICES).

    Returns
    -------
    estimator
        A fitted clone, which needs no Dask.

    Notes
    -----
    Work goes to the current `distributed.Client`, or to threads of this process if there is none.
    A script that starts workers must do so under ``if __name__ == "__main__":``.

    Examples
    --------
    >>> import dask.array as da
    >>> import pinvlearn.dask
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import ELMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> blocks = da.from_array(X, chunks=(50, 4)), da.from_array(y, chunks=50)
    >>> model = pinvlearn.dask.fit(ELMClassifier(50, alpha=1e-3, random_state=0), *blocks)
    >>> bool(model.score(X, y) > 0.95)
    True
    """
    blocks = _blocks(X, y, sample_weight)
    head = Head.of(dask.compute(block)[0] for block in blocks)
    passes = partial(each, blocks)
    plan, source = plan_for_engine(estimator, head, source, passes, device)
    summary = fold(plan, blocks, source)
    return fitted_to(estimator, plan, summary, rows(plan, summary.schema, blocks), passes)


def _blocks(X: Any, y: Any, sample_weight: Any) -> list[Any]:
    """Delayed blocks, or tuples of delayed parts."""
    if isinstance(X, Sequence):
        if y is not None or sample_weight is not None:
            raise ValueError("Blocks bring their own y and sample_weight; leave them out here.")
        read = dask.delayed(_read, pure=False)
        blocks = X if isinstance(X, list | tuple) else [read(X, i) for i in range(len(X))]
        if not blocks:
            raise ValueError("There are no blocks to learn from.")
        return list(blocks)
    if not dask.is_dask_collection(X) or not hasattr(X, "to_delayed"):
        raise TypeError(
            f"X is a {type(X).__name__}; give a dask array or data frame, a list of delayed blocks "
            "or a block source. For rows in memory use estimator.fit(X, y)."
        )
    if y is None:
        raise ValueError("y is missing: give the targets, as chunks or partitions like those of X.")
    if sample_weight is not None and isinstance(y, str) != isinstance(sample_weight, str):
        raise TypeError("Give names of columns for both y and sample_weight, or for neither.")
    if isinstance(y, str):
        known = list(getattr(X, "columns", ()))
        absent = [name for name in (y, sample_weight) if name is not None and name not in known]
        if absent:
            raise ValueError(f"X has no column {absent[0]!r}; it has {known or 'no names'}.")
        split = dask.delayed(_split, pure=False)
        return [split(part, y, sample_weight) for part in X.to_delayed()]
    lengths = X.chunks[0] if isinstance(X, dask.array.Array) else None
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    parts = {name: _parts(name, part, lengths) for name, part in given.items() if part is not None}
    counts = {name: len(part) for name, part in parts.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(
            f"The numbers of blocks differ: {counts}. Cut y and sample_weight as X is cut."
        )
    return list(zip(*parts.values(), strict=True))


def _parts(name: str, part: Any, rows: tuple[float, ...] | None) -> list[Any]:
    """The delayed blocks of rows of one collection, cut like X where that can be done."""
    if rows is not None and not np.isnan(sum(rows)):
        n = int(sum(rows))
        if np.ndim(part) == 0:
            raise ValueError(f"{name} is {part!r}; give an entry for each of the {n} rows of X.")
        if not dask.is_dask_collection(part):
            part = dask.array.from_array(np.asarray(part), chunks=-1)
        if isinstance(part, dask.array.Array) and not np.isnan(part.shape[0]):
            if part.shape[0] != n:
                raise ValueError(f"X has {n} rows, {name} has {part.shape[0]}.")
            part = part.rechunk({0: rows})
    if not hasattr(part, "to_delayed"):
        raise TypeError(
            f"{name} is a {type(part).__name__}; give a dask array or series, or the name of a "
            "column where X is a data frame."
        )
    if isinstance(part, dask.array.Array) and part.ndim == 2:
        part = part.rechunk({1: -1})
    return list(np.ravel(part.to_delayed()))


def _read(blocks: Any, number: int) -> Any:
    return blocks[number]


def _split(frame: Any, y: str, sample_weight: str | None) -> tuple[Any, ...]:
    """X, y and weights from one partition, so that it is read once."""
    named = [name for name in (y, sample_weight) if name is not None]
    return frame.drop(columns=named), *(frame[name] for name in named)
