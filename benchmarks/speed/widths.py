"""What does choosing one of seven widths cost, beside a fit for each of them?

`gamma="auto"` of an RBF network and of a kernel ELM, otherwise at their defaults, on standardised
tables of at most 8,000 rows; and seven fits with the same seed, one for each width, of which the
best by its left-out score is what a search by hand would take.  CPU seconds on one thread, the
least of `--repeats`, both in turns.

Conclusion: from half to three quarters of seven fits, and on every set the width that seven fits
choose.
"""

import argparse
import time
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import clone

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.result import Record, Result, Table
from benchmarks.tables._learners import standardised
from benchmarks.tables.out_of_the_box import load, split

NAMES = {"speed-widths": "one of seven widths by gamma='auto' beside seven fits"}
SETS = ("statlog_segment", "spambase", "california_housing", "letter")
FAMILIES = ("RBFNetwork", "KernelELM")
MOST_ROWS = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which sets; one run of each is enough to tell."""
    parser.set_defaults(repeats=1, datasets=list(SETS))


def run(args: argparse.Namespace) -> Result:
    """Time both ways on every set."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        yield cell(args, piece["family"], piece["dataset"])

    pieces = [{"family": f, "dataset": d} for f in FAMILIES for d in args.datasets]
    records = collect(args, pieces, measure)
    columns = ["learner", "data set", "rows", "seven widths, s", "seven fits, s", "ratio", "same"]
    rows = [
        [
            r["family"],
            r["dataset"],
            r["rows"],
            r["together"],
            r["apart"],
            f"{r['together'] / r['apart']:.2f}",
            "yes" if r["same"] else "no",
        ]
        for r in records
    ]
    ratios = sorted(r["together"] / r["apart"] for r in records)
    same = sum(r["same"] for r in records)
    said = (
        f"Seven widths cost {ratios[0]:.2f} to {ratios[-1]:.2f} of seven fits, and the one that "
        f"is chosen is theirs in {same} of {len(records)} cases."
    )
    return Result(settings_of(args), [Table("CPU seconds", columns, rows)], [said], records=records)


def cell(args: argparse.Namespace, family: str, dataset: str) -> Record:
    """Seconds of both ways, and whether they choose the same width."""
    X, y, task = load(dataset)
    train, _ = split(len(y), args.seed)
    train = train[:MOST_ROWS]
    rows, targets = standardised("passthrough")[:-1].fit_transform(X.iloc[train]), y[train]
    kind = "Classifier" if task == "classification" else "Regressor"
    model = getattr(pinvlearn, family + kind)(
        gamma="auto", random_state=args.seed, n_jobs=args.threads
    )
    clone(model).fit(rows[:100], targets[:100])  # what is compiled or imported once
    times: dict[str, list[float]] = {"together": [], "apart": []}
    for _ in range(args.repeats):
        started = time.process_time()
        chosen = clone(model).fit(rows, targets)
        times["together"].append(time.process_time() - started)
        started = time.process_time()
        gammas = [gamma for _, gamma, _ in chosen.choices_]
        each = [clone(model).set_params(gamma=g).fit(rows, targets) for g in gammas]
        times["apart"].append(time.process_time() - started)
    best = max(range(len(each)), key=lambda i: each[i].best_score_)
    taken = max(range(len(each)), key=lambda i: chosen.choices_[i][2])
    return {"rows": len(train), "same": best == taken, **{k: min(v) for k, v in times.items()}}
