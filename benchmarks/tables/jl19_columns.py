"""How many columns does the basis of a Gaussian kernel matrix need, under both stops of [JL19]?

Tables 3 and 4: columns of Q as a fraction of the columns of A = [1 G] (Eq. 7), for the tolerance
stop (FastSVD, Algorithm 2) and the gradient stop (GradFastSVD, Algorithm 4), on the training parts
of a cross-validation. The paper does not state its kernel width, so the comparison holds for
gamma = 1/72 on standardised columns, which fits best.

Conclusion: with the tolerance stop the fractions at 100 and 200 kernels agree (23 of 28 cells lie
within the paper's deviation). At 1000 and 2000 they follow the paper's but lie above it by 0.03 on
most sets and by 0.1 on satimage, more than its very small deviation; a slightly larger width would
lower all of them. With the gradient stop and the stated window r = 10 ours end earlier, by up to a
third. The window r = 20, shown beside, comes closer; it was chosen after the fact, as the best of
10, 15, 20 and 30 (and four smaller tau at r = 10) on seven sets of Table 3, so its agreement there
is a fit and no confirmation. On musk2 (the paper counts two more columns) and nursery (coding not
stated) the data differ.
"""

import argparse
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.kernels import design_matrix
from benchmarks.published import jl19
from benchmarks.result import Record, Result, Table
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
    "jl19-3": "Table 3 of [JL19]: column fractions of both stops at 1000 and 2000 kernels",
    "jl19-4": "Table 4 of [JL19]: column fractions of both stops at 100 and 200 kernels",
}
KERNELS = {"jl19-3": (1000, 2000), "jl19-4": (100, 200)}
PUBLISHED = {"jl19-3": jl19.TABLE_3, "jl19-4": jl19.TABLE_4}
WIDE_WINDOW = 20
"""Chosen after the fact to fit the paper's gradient stops; the paper states 10."""
STOPS = {
    "FastSVD": {"": pinvlearn.Tolerance()},
    "GradFastSVD": {
        "": pinvlearn.FlatGradient(),
        f", r = {WIDE_WINDOW} (fitted)": pinvlearn.FlatGradient(r=WIDE_WINDOW),
    },
}
"""Configuration of the paper → variant → stop; the empty variant has the paper's constants."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only the common options."""


def run(args: argparse.Namespace) -> Result:
    """Count the columns on every fold and set them beside the paper's."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        fold = fold_of(args, piece)
        for n_kernels in KERNELS[args.name]:
            A = design_matrix(fold.X_train, fold.centres(n_kernels))
            for label, variants in STOPS.items():
                for variant, stop in variants.items():
                    basis = pinvlearn.range_basis(A, stop, rng=np.random.default_rng(args.seed))
                    yield {
                        "config": f"{label}-{n_kernels}",
                        "variant": variant,
                        "columns": basis.rank,
                        "fraction": basis.rank / A.shape[1],
                    }

    records = collect(args, cross_validation(args), measure)
    datasets = measured_datasets(records)
    tables: dict[str, list[Table]] = {}
    for config, printed in PUBLISHED[args.name].items():
        for variant in STOPS[config.split("-")[0]]:
            where = {"config": config, "variant": variant}
            found = {
                item: values(records, "fraction", dataset=item.name, **where) for item in datasets
            }
            table = comparison_table(config + variant, printed, found)
            tables.setdefault(config.split("-")[0] + variant, []).append(table)
    findings = [f"{name}: {within_spread(own)}" for name, own in tables.items()]
    conditions = conditions_table(datasets, args.folds)
    return Result(
        settings_of(args), [*chain(*tables.values()), conditions], findings, records=records
    )
