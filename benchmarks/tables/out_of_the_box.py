"""How good is a learner that nobody has tuned, on the tables that people have?

All dense tables, 70 % of the rows at random (12,000 at most) to learn from and the rest (12,000 at
most) to be judged by, three times.  Everybody at the defaults; in `out-of-the-box-tuned` peers have
twelve cells and three folds (xRFM 25 configurations) and ours nothing; `out-of-the-box-inputs`
tells what each half of `TabularInputs` gives to learners that measure distances.  A score is
accuracy or R², in percent.  Every cell is measured in a process of its own: CPU seconds, and the
memory that it took beyond what it began with; compiled loops are loaded before.  `--jobs` are
measured side by side, `--stop-after` ends a run early with what there is, and `--resume` goes on.

The stored runs of `out-of-the-box` and `out-of-the-box-tuned` were made on two cores, two cells
side by side; xRFM ran on a GPU (H200) before: its CPU seconds are little more than waiting.

Conclusion: with nothing set the feature machine has the best mean, 0.9 points ahead of CatBoost and
1.3 or more ahead of all others, and is ahead of or within 0.3 points of the best peer on 22 of 24
tables: CatBoost is 0.4 ahead on magic04, a linear model 0.3 on waveform. Beside the plain machine
of the same code, learning features costs no table more than 0.01 in the mean of the splits. It pays
for that in time: one to thirty-eight seconds, where trees of scikit-learn and LightGBM take a few.
Tuned by twelve cells and three folds its peers stay one to two points behind it in the mean of the
tables they finish. That takes forests longer than it takes in all on 19 of 24 tables, boosting on
17 of 23, SVC on 17 of 24 and LightGBM on 16, just two thirds: boosted trees are quicker on
two classes or numbers and 12,000 rows, everybody where a few rows tell all (shuttle, skin_nonskin).
Ours and SVC have three splits of tables up to 5,040 rows, the others one or two, of larger ones
everybody one, and gaps are of common splits. The others ran beside other work at times, which may
have cost ours and them some tenths.
CatBoost was not tuned: twelve cells and three folds are 24 of its default fits, which take longer
than ours on every table that it has finished. Beside xRFM tuned by 25 configurations (23 tables) it
is 0.5 points ahead. To RBF networks and SVC either half of `TabularInputs` is worth about half of
what both are worth together; tables of categories alone gain nothing by it.
"""

import argparse
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.cells import side_by_side
from benchmarks.collect import Piece, collect_together, settings_of
from benchmarks.files import load_arrays
from benchmarks.memory import peak_bytes
from benchmarks.result import Record, Result, Table
from benchmarks.tables._comparison import values
from benchmarks.tables._learners import (
    DEFAULTS,
    FEATURE_MACHINE,
    ON_INPUTS,
    OURS,
    PLAIN,
    TREES,
    TUNED,
)
from pinvlearn import FeatureMachineClassifier
from pinvlearn.features.radial import RADIAL

NAMES = {
    "out-of-the-box": "every dense table, every learner at its defaults",
    "out-of-the-box-tuned": "the same beside peers that are lightly tuned",
    "out-of-the-box-inputs": "what each half of TabularInputs gives to kernels and SVC",
}
LEARNERS = {
    "out-of-the-box": DEFAULTS,
    "out-of-the-box-tuned": TUNED,
    "out-of-the-box-inputs": ON_INPUTS,
}
PACKAGES = {"LightGBM": "lightgbm", "CatBoost": "catboost", "xRFM": "xrfm"}
"""What a learner needs besides scikit-learn; where it is missing the learner is left out."""

REGRESSION = ("abalone", "california_housing", "casp_protein")
SETS = (
    "cardiotocography",
    "statlog_segment",
    "dna",
    "kr_vs_kp",
    "abalone",
    "spambase",
    "waveform",
    "optdigits",
    "svmguide1",
    "satimage",
    "musk2",
    "higgs_sample",
    "ann_thyroid",
    "usps",
    "nursery",
    "magic04",
    "california_housing",
    "letter",
    "electricity_stream",
    "casp_protein",
    "shuttle",
    "skin_nonskin",
    "kddcup99_10percent",
    "mnist",
)
"""Smallest first; `image_segmentation` has the rows of `statlog_segment`."""

MOST_ROWS, TRAIN_SHARE = 12_000, 0.7
CLOSE = 0.3
"""Points within which a learner counts as level with the best peer."""

LEAST_PROBABILITY = 1e-7
"""What a class counts for that a learner gives none: that of the smallest float32 step at 1."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three splits of every set; which learners, and how long."""
    parser.set_defaults(repeats=3, datasets=list(SETS))
    parser.add_argument("--learners", nargs="+", help="only these learners")
    parser.add_argument(
        "--stop-after", type=float, default=np.inf, help="seconds after which no cell is begun"
    )
    parser.add_argument(
        "--cell-limit", type=float, default=3600.0, help="seconds after which a cell is given up"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells at a time, those of large sets first"
    )


def run(args: argparse.Namespace) -> Result:
    """Measure every learner on every set, cheap learners first, then the next split.

    Where cells are measured side by side, large sets come first, so that no core waits at the end.
    """
    makers = LEARNERS[args.name]
    names = args.learners or list(makers)
    unknown = sorted(set(names) - set(makers))
    if unknown:
        raise SystemExit(f"no learner is called {unknown[0]!r}; there are {', '.join(makers)}.")
    missing = [name for name in names if find_spec(PACKAGES.get(name, "sklearn")) is None]

    known = [name for name in names if name not in missing]
    order = [(learner, dataset) for learner in known for dataset in args.datasets]
    if args.jobs > 1:
        order.sort(key=lambda cell: -SETS.index(cell[1]))

    def pieces() -> Iterator[dict[str, Any]]:
        started = time.monotonic()
        for repeat, (learner, dataset) in product(range(args.repeats), order):
            if time.monotonic() - started < args.stop_after:
                yield {"dataset": dataset, "repeat": repeat, "learner": learner}

    load_loops()

    def measured(todo: Iterable[Piece]) -> Iterator[tuple[Piece, list[Record]]]:
        cells = ((piece, partial(cell, args, piece)) for piece in todo)
        for piece, record in side_by_side(cells, args.jobs, args.cell_limit):
            yield piece, [record]

    records = collect_together(args, pieces(), measured)
    good = [record for record in records if "failed" not in record]
    tables = [table(good, key, caption, makers) for key, caption in TABLES.items()]
    absent = [name for name in missing if all(r["learner"] != name for r in records)]
    said = findings(good, args.name) + failures(records, absent)
    if args.name == "out-of-the-box-tuned":
        said = tuning_times(records) + said
    return Result(settings_of(args), tables, said, records=records)


def load_loops() -> None:
    """Have our compiled loops in memory before a cell starts, as those of peers are once imported.

    They take 0.3 s once a process, and every cell is one.
    """
    X = np.random.default_rng(0).standard_normal((60, 3))
    for kernel, y in product(RADIAL, (X[:, 0] > 0.0, X.argmax(axis=1))):
        FeatureMachineClassifier(kernel=kernel, random_state=0).fit(X, y)


def load(name: str) -> tuple[pd.DataFrame, np.ndarray, str]:
    """A frame whose categories are columns of that type, the targets, and the task."""
    arrays = load_arrays(name)
    X = arrays["X"].astype(float)
    categorical = arrays.get("categorical", np.zeros(X.shape[1], dtype=bool)).astype(bool)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for j in np.flatnonzero(categorical):
        frame[f"x{j}"] = frame[f"x{j}"].astype(int).astype("category")
    if name in REGRESSION:
        return frame, arrays["y"].astype(float), "regression"
    return frame, arrays["y"].astype(np.intp), "classification"


def split(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and to be judged by; the same for every learner."""
    order = np.random.default_rng(seed).permutation(count)
    cut = int(TRAIN_SHARE * count)
    return order[: min(cut, MOST_ROWS)], order[cut : cut + MOST_ROWS]


def cell(args: argparse.Namespace, piece: Mapping[str, Any]) -> Record:
    """Fit and judge one learner on one split of one set."""
    X, y, task = load(piece["dataset"])
    seed = args.seed + piece["repeat"]
    train, test = split(len(y), seed)
    model = LEARNERS[args.name][piece["learner"]](task, seed, args.threads)
    rows, held, before = X.iloc[train], X.iloc[test], peak_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit, _ = timed(lambda: model.fit(rows, y[train]))
        predict, found = timed(lambda: model.predict(held))
        loss = log_loss(model, held, y[test]) if task == "classification" else None
    if task == "classification":
        score = float(np.mean(found == y[test]))
    else:
        score = 1.0 - float(np.square(y[test] - found).mean() / y[test].var())
    return {
        "score": 100.0 * score,
        "log_loss": loss,
        "fit_seconds": fit,
        "predict_seconds": predict,
        "megabytes": (peak_bytes() - before) / 1e6,
        "rows": len(train),
    }


def timed(function: Any) -> tuple[float, Any]:
    """CPU seconds of a call, and what it gives."""
    started = time.process_time()
    value = function()
    return time.process_time() - started, value


def log_loss(model: Any, X: pd.DataFrame, y: np.ndarray) -> float | None:
    """Mean of -log p of the right class; None where a learner has no probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    shares, classes = model.predict_proba(X), np.asarray(model.classes_)
    place = np.searchsorted(classes, y).clip(max=len(classes) - 1)
    right = np.where(classes[place] == y, shares[np.arange(len(y)), place], 0.0)
    return float(-np.log(np.maximum(right, LEAST_PROBABILITY)).mean())


TABLES = {
    "score": "Accuracy, or R² (of " + ", ".join(REGRESSION) + "), in percent",
    "log_loss": "Log-loss",
    "fit_seconds": "CPU seconds to fit",
    "predict_seconds": "CPU seconds to predict",
    "megabytes": "Megabytes beyond those at the start",
}
DIGITS = {"score": 2, "log_loss": 3}


def table(records: Sequence[Record], key: str, caption: str, order: Mapping[str, Any]) -> Table:
    """Means over the splits, for every set and learner; the best score of a row in bold."""
    learners = [name for name in order if any(r["learner"] == name for r in records)]
    rows = []
    for dataset in sets_of(records):
        means = [mean(records, key, dataset, learner) for learner in learners]
        known = [value for value in means if value is not None]
        best = max(known, default=None) if key == "score" else min(known, default=None)
        rows.append([dataset, *(_cell(value, key, value == best) for value in means)])
    if key == "score":
        common = [
            dataset
            for dataset in sets_of(records)
            if all(mean(records, key, dataset, learner) is not None for learner in learners)
        ]
        if common:
            means = [
                float(np.mean([mean(records, key, d, name) for d in common])) for name in learners
            ]
            last = f"mean of {len(common)} sets measured for all"
            rows.append([last, *(_cell(v, key, v == max(means)) for v in means)])
    return Table(f"{caption}, mean of the splits", ["data set", *learners], rows)


def _cell(value: float | None, key: str, best: bool) -> str | None:
    if value is None:
        return None
    digits = DIGITS.get(key)
    text = f"{value:.3g}" if digits is None else f"{value:.{digits}f}"
    return f"**{text}**" if best else text


def sets_of(records: Sequence[Record]) -> list[str]:
    """The sets that were measured, smallest first."""
    return [name for name in SETS if any(record["dataset"] == name for record in records)]


def mean(records: Sequence[Record], key: str, dataset: str, learner: str) -> float | None:
    """Over the splits; None where there is no value."""
    found = [v for v in values(records, key, dataset=dataset, learner=learner) if v is not None]
    return float(np.mean(found)) if found else None


def findings(records: Sequence[Record], name: str) -> list[str]:
    """Ours beside each peer, set by set; or what each half of the inputs gave."""
    if name == "out-of-the-box-inputs":
        return _of_halves(records)
    present = dict.fromkeys(record["learner"] for record in records)
    if FEATURE_MACHINE not in present:
        return []
    said = [_beside(records, peer) for peer in present if peer not in (FEATURE_MACHINE, PLAIN)]
    said += _cost_of_features(records)
    peers = [peer for peer in present if peer not in OURS]
    gaps = {}
    for dataset in sets_of(records):
        known = {peer: _gap(records, dataset, peer) for peer in peers}
        found = {peer: gap for peer, gap in known.items() if gap is not None}
        if found:
            best = min(found, key=lambda peer: found[peer])
            gaps[dataset] = (found[best], best)
    if gaps:
        level = [dataset for dataset, (gap, _) in gaps.items() if gap >= -CLOSE]
        said.append(
            f"Ahead of or within {CLOSE} points of the best peer on {len(level)} of {len(gaps)} "
            "sets."
        )
        behind = sorted(
            (gap, dataset, best) for dataset, (gap, best) in gaps.items() if gap < -CLOSE
        )
        lost = [f"{dataset} ({best} {-gap:.2f} points ahead)" for gap, dataset, best in behind]
        if lost:
            trees = sum(best in TREES for _, _, best in behind)
            said.append(
                f"A peer wins on {', '.join(lost)}; on {trees} of these {len(lost)} it is trees."
            )
    return said


def _gap(records: Sequence[Record], dataset: str, peer: str) -> float | None:
    """How far ours is ahead, on the splits that both have; None without any."""
    both = _of_both([r for r in records if r["dataset"] == dataset], peer)
    own, other = (mean(both, "score", dataset, who) for who in (FEATURE_MACHINE, peer))
    return None if own is None or other is None else own - other


def _of_both(records: Sequence[Record], peer: str) -> list[Record]:
    """The records of splits that both ours and a peer have finished."""
    ours, theirs = (
        {(r["dataset"], r["repeat"]) for r in records if r["learner"] == who and "failed" not in r}
        for who in (FEATURE_MACHINE, peer)
    )
    return [r for r in records if (r["dataset"], r["repeat"]) in ours & theirs]


def _cost_of_features(records: Sequence[Record]) -> list[str]:
    """Where learning features gained and cost most, beside the plain machine."""
    records, gaps, beyond = _of_both(records, PLAIN), [], []
    for dataset in sets_of(records):
        pair = [
            np.array(
                [
                    r["score"]
                    for r in sorted(records, key=lambda r: r["repeat"])
                    if (r["dataset"], r["learner"]) == (dataset, who)
                ]
            )
            for who in (FEATURE_MACHINE, PLAIN)
        ]
        each = pair[0] - pair[1]
        gaps.append((float(each.mean()), dataset))
        error = float(each.std(ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
        if -each.mean() > max(CLOSE, error):
            beyond.append(dataset)
    if not gaps:
        return []
    (least, worst), (most, best) = min(gaps), max(gaps)
    return [
        f"Features learned in rounds are worth {np.mean([gap for gap, _ in gaps]):+.2f} points on "
        f"the mean of {len(gaps)} sets: at best {most:+.2f} ({best}), at worst {least:+.2f} "
        f"({worst}); they cost more than {CLOSE} points and one standard error of the splits on "
        f"{', '.join(beyond) or 'none'}."
    ]


def _beside(records: Sequence[Record], peer: str) -> str:
    """Ours and one other on the splits that both have, with their seconds."""
    records = _of_both(records, peer)
    gaps, times = [], []
    for dataset in sets_of(records):
        pair = [mean(records, "score", dataset, who) for who in (FEATURE_MACHINE, peer)]
        if None not in pair:
            gaps.append(pair[0] - pair[1])
            seconds = [
                mean(records, "fit_seconds", dataset, who) for who in (FEATURE_MACHINE, peer)
            ]
            times.append(seconds[0] / max(seconds[1], 1e-3))
    if not gaps:
        return f"{FEATURE_MACHINE} and {peer} have no set in common."
    return (
        f"{FEATURE_MACHINE} and {peer}: {np.mean(gaps):+.2f} points on the mean of {len(gaps)} "
        f"sets, ahead on {sum(gap > 0 for gap in gaps)}, in {np.median(times):.3g} times its CPU "
        "seconds "
        f"(median; at most its own on {sum(ratio <= 1 for ratio in times)})."
    )


def tuning_times(records: Sequence[Record]) -> list[str]:
    """On how many sets ours takes no longer than a peer with its tuning, by means of the splits.

    A peer that was given up took longer than ours, which was not.
    """
    finished = [record for record in records if "failed" not in record]
    said = []
    for peer in dict.fromkeys(r["learner"] for r in records if r["learner"] != FEATURE_MACHINE):
        given_up, times = 0, []
        for name in sets_of(finished):
            ours, theirs = (
                mean(finished, "fit_seconds", name, one) for one in (FEATURE_MACHINE, peer)
            )
            if ours is not None and theirs is not None:
                times.append((ours, theirs))
            elif ours is not None:
                given_up += any(
                    (r["dataset"], r["learner"], r.get("limit")) == (name, peer, "time")
                    for r in records
                )
        shorter = given_up + sum(own <= other for own, other in times)
        said.append(
            f"Untuned, {FEATURE_MACHINE} takes at most the time of {peer} with its tuning on "
            f"{shorter} of {given_up + len(times)} sets ({given_up} given up)."
        )
    return said


def _of_halves(records: Sequence[Record]) -> list[str]:
    """What each way to make columns ready adds to standardised ones."""
    said = []
    for learner in dict.fromkeys(record["learner"] for record in records):
        family, _, half = learner.rpartition(", ")
        pairs = [
            (
                mean(records, "score", d, learner),
                mean(records, "score", d, f"{family}, standardised"),
            )
            for d in sets_of(records)
        ]
        gaps = [one - two for one, two in pairs if one is not None and two is not None]
        if half != "standardised" and gaps:
            said.append(
                f"{family}, {half}: {np.mean(gaps):+.2f} points over standardised columns on the "
                f"mean of {len(gaps)} sets, ahead on {sum(gap > 0 for gap in gaps)}."
            )
    return said


def failures(records: Sequence[Record], missing: Sequence[str]) -> list[str]:
    """Cells that came to nothing, and learners whose package is not installed."""
    said = [f"{name} was left out: {PACKAGES[name]} is not installed." for name in missing]
    for record in records:
        if "failed" in record:
            where = f"{record['learner']} on {record['dataset']}, split {record['repeat']}"
            said.append(f"{where}, failed: {record['failed'].rstrip('.')[:120]}.")
    return said
