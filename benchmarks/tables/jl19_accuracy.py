"""How accurate are networks learned by the fast SVDs of [JL19], and who wins by paired t-tests?

Tables 7 and 8: RBF networks with Gaussian kernels learned by the tolerance stop (FastSVD), the
gradient stop (GradFastSVD) and the exact SVD, without regularisation, in stratified
cross-validation; ranks, mean ranks and wins as the paper defines them. Every method of a fold uses
the same centres (the smaller network the first of them), so all comparisons are paired. The paper
does not say which singular values its exact SVD takes for zero; ``--rcond`` is set to what fits
its results. Added: ``auto``, the library's default, which chooses solver and ridge by itself.

Conclusion: with 100 and 200 kernels and ten folds 70 of 84 cells lie within the paper's deviation;
with 1000 and 2000, of which only the first two of ten folds were run, 55 of 84, and two folds make
weak t-tests. The order is the paper's: the exact SVD and the tolerance stop lead, the gradient stop
loses most on letter. On shuttle, nursery and musk2 our networks are better than the printed ones.
The cut-off 3e-7 of the exact SVD was chosen among seven by comparing with the paper on segment and
both cardiotocography sets, so the SVD columns there agree by construction; cut at rounding level
the nearly square matrices fall far below the paper. Our default is worse than the exact SVD by the
t-test in 2 of 56 cells (chess with 1000 kernels by 0.3 points, abalone with 100 by 0.5) and better
in 6.
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

Scores = Mapping[str, Sequence[float]]
"""Configuration → accuracies, fold by fold, of one data set."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The cut-off of the exact SVD; the paper has 10 folds and 10 repetitions."""
    parser.add_argument(
        "--rcond", type=float, default=3e-7, help="relative cut-off of the exact SVD's values"
    )


def run(args: argparse.Namespace) -> Result:
    """Fit and test every configuration on every fold."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = fold_of(args, piece)
        centres = fold.centres(max(SIZES[args.name].values()))
        for size, n_kernels in SIZES[args.name].items():
            for method, options in methods(args.rcond).items():
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
    findings = [within_spread(side_by_side), _cut_off_note(args.rcond)]
    return Result(settings_of(args), tables, findings, records=records)


def _cut_off_note(rcond: float) -> str:
    return (
        f"The exact SVD cuts at {rcond:g} of the largest value. The paper states no cut-off; the "
        "default was chosen to fit its accuracies on segment and both cardiotocography sets, so "
        "the SVD columns of these three are no independent check."
    )


def methods(rcond: float) -> dict[str, dict[str, Any]]:
    """Options of the estimator for each method; none for the default."""
    solvers = {
        "FastSVD": "adaptive",
        "GradFastSVD": "adaptive-flat",
        "SVD": pinvlearn.readout.solvers.ExactSVD(rcond=rcond),
    }
    papers = {
        name: {"solver": solver, "alpha": 0.0, "loo_scoring": None}
        for name, solver in solvers.items()
    }
    return {**papers, "auto": {}}


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
