"""What all tables of [JL19] share: the pieces of work, and the printed value beside ours."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.data import Dataset, load, select
from benchmarks.published.jl19 import Printed
from benchmarks.result import Record, Table, measured
from benchmarks.splits import Fold, can_stratify, folds_to_run, make_fold


def cross_validation(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """One piece for each data set, repetition and fold."""
    for dataset in select(args.datasets):
        for repeat in range(args.repeats):
            for fold in folds_to_run(args):
                yield {"dataset": dataset.name, "repeat": repeat, "fold": fold}


def fold_of(args: argparse.Namespace, piece: Mapping[str, Any]) -> Fold:
    """The data of one piece."""
    return make_fold(
        piece["dataset"],
        folds=args.folds,
        repeat=piece["repeat"],
        fold=piece["fold"],
        seed=args.seed,
    )


def values(records: Sequence[Record], key: str, **where: Any) -> list[float]:
    """The values under a key of all records that have the given entries, in order."""
    return [r[key] for r in records if all(r.get(k) == v for k, v in where.items())]


def measured_datasets(records: Sequence[Record]) -> list[Dataset]:
    """The data sets that have records, in the order of the paper."""
    present = {record["dataset"] for record in records}
    return [dataset for dataset in select(None) if dataset.name in present]


def comparison_row(
    dataset: Dataset, printed: Mapping[str, Printed], ours: Sequence[float]
) -> list[Any]:
    """Set, paper's value, ours, difference, and whether it is within the paper's spread."""
    paper = printed[dataset.paper_rows[0]]
    cell = measured(ours)
    difference = cell["mean"] - paper.mean
    return [
        dataset.name,
        {"mean": paper.mean, "std": paper.std, "rank": None},
        cell,
        difference,
        abs(difference) <= paper.std,
    ]


def comparison_table(
    caption: str, printed: Mapping[str, Printed], ours: Mapping[Dataset, Sequence[float]]
) -> Table:
    """The printed column and ours side by side."""
    rows = [comparison_row(dataset, printed, found) for dataset, found in ours.items()]
    columns = ["data set", "paper", "ours", "difference", "within the paper's ±"]
    return Table(caption, columns, rows)


def within_spread(tables: Sequence[Table]) -> str:
    """How many cells of comparison tables lie within the paper's spread."""
    rows = [row for table in tables for row in table.rows]
    inside = sum(row[-1] for row in rows)
    gap = sum(abs(row[-2]) for row in rows) / len(rows)
    return (
        f"{inside} of {len(rows)} cells lie within the paper's standard deviation; "
        f"the mean absolute difference is {gap:.3g}."
    )


def conditions_table(datasets: Sequence[Dataset], folds: int) -> Table:
    """What a reader must know of each data set, also whether its folds could be stratified."""
    rows = []
    for dataset in datasets:
        X, y = load(dataset.name)
        kind = "stratified" if can_stratify(y, folds) else "plain: a class is too small"
        rows.append([dataset.name, len(X), X.shape[1], len(set(y)), kind, dataset.note])
    columns = ["data set", "rows", "columns", "classes", "folds", "note"]
    return Table("Conditions", columns, rows)
