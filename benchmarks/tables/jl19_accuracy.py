"""How accurate are networks learned by the fast SVDs of [JL19], and who wins by paired t-tests?

Tables 7 and 8: RBF networks with Gaussian kernels learned by the tolerance stop (FastSVD), the
gradient stop (GradFastSVD) and the exact SVD, without regularisation, in stratified
cross-validation; ranks, mean ranks and wins as the paper defines them. Every method of a fold uses
the same centres (the smaller network the first of them), so all comparisons are paired. Added:
``auto``, the library's default, which chooses solver and ridge by itself.

CONCLUSION_ACCURACY
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.data import Dataset
from benchmarks.kernels import GAMMA
from benchmarks.published import jl19
from benchmarks.ranks import Standing, differ, ranks, standings
from benchmarks.result import Record, Result, Table, measured
from benchmarks.splits import Fold
from benchmarks.tables._comparison import (
    comparison_table,
    conditions_table,
    cross_validation,
    fold_of,
    measured_datasets,
    values,
    within_spread,
)

NAMES = {
    "jl19-7": "Table 7 of [JL19]: accuracies, ranks and wins with 1000 and 2000 kernels",
    "jl19-8": "Table 8 of [JL19]: accuracies, ranks and wins with 100 and 200 kernels",
}
SIZES = {"jl19-7": {"1k": 1000, "2k": 2000}, "jl19-8": {"100": 100, "200": 200}}
PUBLISHED = {"jl19-7": jl19.TABLE_7, "jl19-8": jl19.TABLE_8}
METHODS: dict[str, dict[str, Any]] = {
    "FastSVD": {"solver": "fast-svd", "alpha": 0.0, "loo_scoring": None},
    "GradFastSVD": {"solver": "grad-svd", "alpha": 0.0, "loo_scoring": None},
    "SVD": {"solver": "svd", "alpha": 0.0, "loo_scoring": None},
    "auto": {},
}

Scores = Mapping[str, Sequence[float]]
"""Configuration → accuracies, fold by fold, of one data set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only the common options; the paper has 10 folds and 10 repetitions."""


def run(args: argparse.Namespace) -> Result:
    """Fit and test every configuration on every fold."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = fold_of(args, piece)
        centres = fold.centres(max(SIZES[args.name].values()))
        for size, n_kernels in SIZES[args.name].items():
            for method, options in METHODS.items():
                model = network(centres[:n_kernels], options, seed=args.seed)
                yield {"config": f"{method}-{size}", **_fit_and_test(model, fold)}

    records = collect(args, cross_validation(args), measure)
    datasets = measured_datasets(records)
    scores = {dataset: _scores(records, dataset) for dataset in datasets}
    published = PUBLISHED[args.name]
    side_by_side = [
        comparison_table(config, printed, {item: scores[item][config] for item in datasets})
        for config, printed in published.items()
    ]
    tables = [
        _paper_layout(f"Table {args.name[-1]} as in the paper", list(published), scores),
        _auto_table(list(SIZES[args.name]), scores),
        *side_by_side,
        conditions_table(datasets, args.folds),
    ]
    return Result(settings_of(args), tables, [within_spread(side_by_side)], records=records)


def network(
    centres: np.ndarray, options: Mapping[str, Any], *, seed: int
) -> pinvlearn.RBFNetworkClassifier:
    """The network of the paper on given centres."""
    return pinvlearn.RBFNetworkClassifier(
        n_kernels=len(centres), centers=centres, gamma=GAMMA, random_state=seed, **options
    )


def _fit_and_test(model: pinvlearn.RBFNetworkClassifier, fold: Fold) -> Record:
    model.fit(fold.X_train, fold.y_train)
    score = 100 * float(np.mean(model.predict(fold.X_test) == fold.y_test))
    return {"accuracy": score, "rank": int(model.rank_), "alpha": float(model.alpha_)}


def _scores(records: Sequence[Record], dataset: Dataset) -> Scores:
    configs = dict.fromkeys(record["config"] for record in records)
    return {
        config: values(records, "accuracy", dataset=dataset.name, config=config)
        for config in configs
    }


def _paper_layout(caption: str, configs: Sequence[str], scores: Mapping[Dataset, Scores]) -> Table:
    """Accuracy±std(rank) of the paper's configurations, then the three rows that sum up."""
    found = {
        dataset: ranks({config: own[config] for config in configs})
        for dataset, own in scores.items()
    }
    rows: list[list[Any]] = [
        [dataset.name, *(measured(own[c], rank=found[dataset][c]) for c in configs)]
        for dataset, own in scores.items()
    ]
    standing = standings(list(found.values()))
    rows += [
        ["Mean accuracy", *(_mean_cell(rows, k + 1) for k in range(len(configs)))],
        ["Mean rank", *(_rank_cell(standing[config]) for config in configs)],
        ["Wins[unique]", *(f"{standing[c].wins}[{standing[c].unique}]" for c in configs)],
    ]
    notes = [
        "Bold: winner, or not different from the winner by the paired t-test at 5 %. After the "
        "mean accuracy stands the mean of the deviations, after the mean rank its standard error, "
        "as in the paper."
    ]
    return Table(caption, ["data set", *configs], rows, notes)


def _mean_cell(rows: Sequence[Sequence[Any]], column: int) -> dict[str, Any]:
    cells = [row[column] for row in rows]
    mean, deviation = (float(np.mean([cell[key] for cell in cells])) for key in ("mean", "std"))
    return {"mean": mean, "std": deviation, "rank": None}


def _rank_cell(standing: Standing) -> dict[str, Any]:
    return {"mean": standing.mean_rank, "std": standing.rank_error, "rank": None}


def _auto_table(sizes: Sequence[str], scores: Mapping[Dataset, Scores]) -> Table:
    """The default estimator beside the exact SVD of the same size."""
    rows = []
    for dataset, own in scores.items():
        row: list[Any] = [dataset.name]
        for size in sizes:
            auto, exact = own[f"auto-{size}"], own[f"SVD-{size}"]
            gain = float(np.mean(auto) - np.mean(exact))
            row += [measured(auto), gain, _verdict(gain, differ(auto, exact))]
        rows.append(row)
    columns = ["data set"]
    for size in sizes:
        columns += [f"auto-{size}", f"− SVD-{size}", "paired t-test"]
    return Table("Our default beside the exact SVD", columns, rows)


def _verdict(gain: float, different: bool) -> str:
    if not different:
        return "equal"
    return "better" if gain > 0 else "worse"
