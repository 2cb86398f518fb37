"""What do low-rank kernel machines save in time and memory, and what do they lose in accuracy?

Every method at a fixed alpha and gamma per set: the exact kernel ELM in float64 and in
float32 with float64 corrections, Algorithm 3 of [MW15], Nyström and randomly pivoted Cholesky; and
scikit-learn's KernelRidge, Nystroem + RidgeClassifier and SVC(C=10). Seconds are CPU time of fit on
one thread and wall time with nothing set; memory is the peak of the arrays that fit allocates, as
Python's tracemalloc sees them (not what LIBSVM allocates itself); the Frobenius error is that of
the kernel matrix, relative, on the block of 4000 random rows.

Conclusion: at the same rank our low-rank forms beat Nystroem + Ridge on every set, up to fivefold
on one thread and threefold with nothing set (level with it at the largest rank of optdigits), with
less than its memory: 1.1 to 2.1 times 8nk bytes (most from k = n/5 on, where k × k arrays count).
Within 0.5 points of the exact machine they are 6.4 times as fast as it on usps (k = 0.15n), 5.1
with nothing set, and 3.3 and 3.0 times on optdigits, where that takes k = 0.25n; no other pivots
that were tried (k-means) would need fewer. Against KernelRidge it is 6.9 and 5.2 times, and 6.4 and
4.7. Algorithm 3 is slower than the exact machine except at the smallest ranks; float32 saves time
on letter alone, since its corrections evaluate K again. Letter and mnist are of an earlier run on
one thread of another machine: letter has 97.4 % at rank 8000, half the rows, where the exact
machine is faster and better; SVC(C=10) is far faster than both, with 96.3 %. Mnist reaches 98.1 %
at rank 10000 with no n × n matrix; Nystroem + Ridge, tried up to rank 4000, 97.6 %.
"""

import argparse
import re
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

import pinvlearn
from benchmarks import threads
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import sklearn_kernel_ridge, sklearn_nystroem, sklearn_svc
from benchmarks.data import MissingDataError
from benchmarks.result import Record, Result, Table
from benchmarks.tables._mw15_sets import Split, read
from benchmarks.timing import COLUMNS
from pinvlearn.features.kernels import Kernel

NAMES = {"speed-kernel-elm": "kernel machines: seconds, memory and accuracy, exact and low-rank"}


EXACT, SINGLE, SAMPLED = "exact float64", "exact float32", "Algorithm 3"
NYSTROEM, PIVOTED = "nystroem", "rpcholesky"
RIDGE, PEER, SVC = "KernelRidge", "Nystroem + Ridge", "SVC(C=10)"
OURS = (NYSTROEM, PIVOTED)
ONE_THREAD = COLUMNS["one thread"]


@dataclass(frozen=True)
class Setting:
    """Conditions of one set.

    `divisor` scales its inputs; `sampled` are the ranks of Algorithm 3; `alone` are methods and
    ranks that run without their peer, which would take minutes.
    """

    divisor: float
    gamma: float
    alpha: float
    ranks: tuple[int, ...]
    sampled: tuple[int, ...]
    alone: tuple[tuple[str, int], ...] = ()
    exact: bool = True
    once: bool = False
    """Timed on one thread in the run that measures memory: for sets whose fits take long."""
    note: str = ""


BY_LEAVE_ONE_OUT = (
    "gamma among four to six multiples of 1 / median squared distance and alpha among nine powers "
    "of ten, by leave-one-out accuracy of rpcholesky"
)
SETTINGS = {
    "optdigits": Setting(
        divisor=16.0,
        gamma=0.027,
        alpha=0.001,
        ranks=(191, 382, 573, 765, 956),
        sampled=(191, 382, 573, 765),
        note=f"{BY_LEAVE_ONE_OUT} at rank 1000 on the training rows",
    ),
    "usps": Setting(
        divisor=1.0,
        gamma=0.0041,
        alpha=0.1,
        ranks=(365, 729, 1094, 1458),
        sampled=(365, 729, 1094, 1458),
        note=f"{BY_LEAVE_ONE_OUT} at rank 1500 on the training rows",
    ),
    "letter": Setting(
        divisor=1.0,
        gamma=0.02,
        alpha=0.03,
        ranks=(1600, 4000),
        sampled=(1600,),
        alone=((PIVOTED, 8000),),
        once=True,
        note=f"{BY_LEAVE_ONE_OUT} at rank 3000 on 8000 training rows, then between two widths "
        "near the best and six ridges at rank 5000 on all",
    ),
    "mnist": Setting(
        divisor=255.0,
        gamma=0.0092,
        alpha=0.1,
        ranks=(2000, 4000),
        sampled=(),
        alone=((PIVOTED, 8000), (NYSTROEM, 10000)),
        exact=False,
        once=True,
        note=f"{BY_LEAVE_ONE_OUT} at rank 2000 on 10000 training rows",
    ),
}
MARGIN, EXACT_TARGET, RIDGE_TARGET, MEMORY_TARGET = 0.5, 5.0, 3.0, 1.5
LETTER_TARGET, MNIST_TARGET = 97.3, 98.0
BLOCK = 4000
"""Rows of the block of the kernel matrix whose error is taken."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Only the common options; folds mean nothing here."""
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Every method on every set."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        setting = SETTINGS[piece["dataset"]]
        split = split_of(piece["dataset"])
        seeds = range(args.seed, args.seed + (1 if setting.once else args.repeats))
        with warnings.catch_warnings():
            # Pixels at the border hardly vary: the scales of the columns differ.
            warnings.filterwarnings("ignore", message=".*scale", category=UserWarning)
            fit = partial(METHODS[piece["method"]], split, setting, piece["rank"])
            yield measured_fits(piece["method"], fit, split, setting, seeds)

    names = list(SETTINGS) if args.datasets is None else args.datasets
    for name in names:
        if name not in SETTINGS:
            raise MissingDataError(f"{name!r} is not among {', '.join(SETTINGS)}.")
    split_of = lru_cache(1)(lambda name: load(name, SETTINGS[name]))
    _warm_up()
    pieces = [{"dataset": name, **one} for name in names for one in contestants(SETTINGS[name])]
    records = collect(args, pieces, measure)
    groups = {name: [r for r in records if r["dataset"] == name] for name in SETTINGS}
    groups = {name: sorted(own, key=_place) for name, own in groups.items() if own}
    picture = args.out / f"{args.name}.png"
    draw(groups, ONE_THREAD, picture)
    tables = [_table(name, own) for name, own in groups.items()]
    tables.append(_settings_table(groups))
    findings = [
        f"{column}: {line}"
        for column, timer in COLUMNS.items()
        for line in _findings(_with(groups, timer), timer)
    ]
    findings.append(_memory(groups))
    return Result(settings_of(args), tables, findings, [picture.name], records)


def load(name: str, setting: Setting) -> Split:
    """The published split, scaled."""
    X, y, is_test = read(name)
    if is_test is None:
        raise MissingDataError(f"{name}.npz needs the array is_test.")
    X /= setting.divisor
    return Split(X[~is_test], y[~is_test], X[is_test], y[is_test])


# Methods


def _ours(split: Split, setting: Setting, rank: int | None, seed: int, **options: Any) -> Any:
    if rank is not None:
        options["rank"] = rank
    model = pinvlearn.KernelELMClassifier(
        gamma=setting.gamma,
        alpha=setting.alpha,
        loo_scoring=None,
        random_state=seed,
        **options,
    )
    return model.fit(split.X_train, split.y_train)


def _peer(split: Split, setting: Setting, rank: int, seed: int) -> Any:
    return sklearn_nystroem.classifier(
        split.X_train,
        split.y_train,
        gamma=setting.gamma,
        alpha=setting.alpha,
        rank=rank,
        seed=seed,
    )


def _kernel_ridge(split: Split, setting: Setting, rank: None, seed: int) -> Any:
    return sklearn_kernel_ridge.classifier(
        split.X_train, split.y_train, gamma=setting.gamma, alpha=setting.alpha
    )


def _svc(split: Split, setting: Setting, rank: None, seed: int) -> Any:
    return sklearn_svc.classifier(split.X_train, split.y_train)


METHODS: dict[str, Callable[..., Any]] = {
    NYSTROEM: partial(_ours, solver="nystroem"),
    PIVOTED: partial(_ours, solver="rpcholesky"),
    PEER: _peer,
    SAMPLED: partial(_ours, solver="randomized"),
    EXACT: partial(_ours, solver="exact"),
    SINGLE: partial(_ours, solver="exact", single_precision=True),
    RIDGE: _kernel_ridge,
    SVC: _svc,
}
"""Method → function of the rows, the setting, the rank and a seed, to something that predicts."""


def contestants(setting: Setting) -> Iterator[dict[str, Any]]:
    """Methods and ranks of one set, the quick ones first."""
    for rank in setting.ranks:
        for method in (*OURS, PEER):
            yield {"method": method, "rank": rank}
    for rank in setting.sampled:
        yield {"method": SAMPLED, "rank": rank}
    if setting.exact:
        for method in (EXACT, SINGLE, RIDGE, SVC):
            yield {"method": method, "rank": None}
    for method, rank in setting.alone:
        yield {"method": method, "rank": rank}


def measured_fits(
    method: str,
    fit: Callable[[int], Any],
    split: Split,
    setting: Setting,
    seeds: Sequence[int],
) -> Record:
    """Peak memory of a first fit, then time and accuracy of one with each seed.

    A set whose fits take long is fitted once for both. The rows themselves are allocated before
    and do not count. With nothing set each seed is fitted once more, for the time alone.
    """
    with threads.limit(1):
        tracemalloc.start()
        wall, cpu, model = _timed(fit, seeds[0])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    error = frobenius_error(method, model, split, setting)
    walls, cpus, defaults, scores = [], [], [], []
    for seed in seeds:
        if not setting.once:
            model = None  # freed before the next is made
            with threads.limit(1):
                wall, cpu, model = _timed(fit, seed)
        walls.append(wall)
        cpus.append(cpu)
        scores.append(split.accuracy(getattr(model, "predict", model)(split.X_test)))
        model = None
        with threads.limit(threads.processors()):
            defaults.append(_timed(fit, seed)[0])
    return {
        "seconds": float(np.median(walls)),
        "seconds_low": min(walls),
        "seconds_high": max(walls),
        "cpu_seconds": float(np.median(cpus)),
        "default_seconds": min(defaults),
        "peak_bytes": peak,
        "accuracy": float(np.mean(scores)),
        "accuracies": scores,
        "error": error,
        "rows": len(split.y_train),
    }


def _timed(fit: Callable[[int], Any], seed: int) -> tuple[float, float, Any]:
    started, started_cpu = time.perf_counter(), time.process_time()
    model = fit(seed)
    return time.perf_counter() - started, time.process_time() - started_cpu, model


def frobenius_error(method: str, model: Any, split: Split, setting: Setting) -> float | None:
    """‖K - K̃‖ / ‖K‖ in the Frobenius norm, on the block of some rows; None where K is exact."""
    if method not in (*OURS, PEER, SAMPLED):
        return None
    chosen = np.random.default_rng(0).permutation(len(split.y_train))[:BLOCK]
    rows = split.X_train[chosen]
    K = Kernel("rbf", setting.gamma)(rows, rows)
    if method == SAMPLED:
        # Its features are not kept; the report has the error of all of K.
        found = re.search(r"Frobenius error ([-+.e\d]+);", " ".join(model.report_.notes))
        scale = np.linalg.norm(K) * len(split.y_train) / len(rows)
        return None if found is None else float(found[1]) / float(scale)
    features = model.map_(rows) if method in OURS else model[0].transform(rows)
    return float(np.linalg.norm(K - features @ features.T) / np.linalg.norm(K))


def _warm_up() -> None:
    """Load every library routine once, on rows that cost nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 4)), rng.integers(0, 3, 200)
    small = Setting(1.0, 0.1, 0.1, (20,), (20,))
    for one in contestants(small):
        METHODS[one["method"]](Split(X, y, X, y), small, one["rank"], 0)


# Tables, findings and the picture


def _place(record: Record) -> tuple[int, int]:
    return list(METHODS).index(record["method"]), record["rank"] or 0


def _share(record: Record) -> float | None:
    """Peak memory over that of n × k float64 numbers."""
    if record["rank"] is None:
        return None
    return record["peak_bytes"] / (8 * record["rows"] * record["rank"])


def _table(name: str, own: Sequence[Record]) -> Table:
    rows = [
        [
            record["method"],
            record["rank"],
            *(record.get(timer) for timer in COLUMNS.values()),
            record["peak_bytes"] / 1e6,
            _share(record) if record["method"] in (*OURS, PEER) else None,
            record["accuracy"],
            record["error"],
        ]
        for record in own
    ]
    columns = [
        "method",
        "rank k",
        *(f"seconds, {column}" for column in COLUMNS),
        "peak memory, MB",
        "peak / 8nk bytes",
        "accuracy, %",
        "Frobenius error",
    ]
    return Table(f"{name}, {own[0]['rows']} training rows", columns, rows)


def _settings_table(groups: Mapping[str, Sequence[Record]]) -> Table:
    rows = [
        [name, s.divisor, s.gamma, s.alpha, "1" if s.once else "one per seed", s.note]
        for name, s in SETTINGS.items()
        if name in groups
    ]
    columns = ["data set", "inputs divided by", "gamma", "alpha", "runs timed", "chosen"]
    return Table("Settings", columns, rows)


def _with(groups: Mapping[str, Sequence[Record]], timer: str) -> dict[str, Sequence[Record]]:
    """The sets of which all records have a time: those of earlier runs had one thread."""
    return {name: own for name, own in groups.items() if all(timer in record for record in own)}


def _findings(groups: Mapping[str, Sequence[Record]], timer: str) -> list[str]:
    lines = []
    for name in ("optdigits", "usps"):
        if name in groups:
            lines.append(_speed_up(name, groups[name], timer))
    lines.append(_beside_peer(groups, timer))
    if "letter" in groups:
        lines.append(_best(groups, "letter", LETTER_TARGET, timer, SVC))
    if "mnist" in groups:
        lines.append(_best(groups, "mnist", MNIST_TARGET, timer, PEER))
    return lines


def _one(own: Sequence[Record], method: str) -> Record:
    return next(record for record in own if record["method"] == method)


def _low_rank(own: Sequence[Record]) -> list[Record]:
    return [record for record in own if record["method"] in OURS]


def _words(record: Record) -> str:
    rank = "" if record["rank"] is None else f" at rank {record['rank']}"
    return f"{record['method']}{rank}"


def _speed_up(name: str, own: Sequence[Record], timer: str) -> str:
    exact, ridge = _one(own, EXACT), _one(own, RIDGE)
    near = [r for r in _low_rank(own) if r["accuracy"] >= exact["accuracy"] - MARGIN]
    if not near:
        return f"{name}: no low-rank form comes within {MARGIN} points of the exact machine."
    best = min(near, key=lambda record: record[timer])
    return (
        f"{name}: {_words(best)}, {best['accuracy']:.2f} % beside {exact['accuracy']:.2f} % exact, "
        f"is {exact[timer] / best[timer]:.1f} times as fast as the exact machine (target "
        f"{EXACT_TARGET:g}) and {ridge[timer] / best[timer]:.1f} times as fast as KernelRidge "
        f"(target {RIDGE_TARGET:g})."
    )


def _beside_peer(groups: Mapping[str, Sequence[Record]], timer: str) -> str:
    ratios = {}
    for name, own in groups.items():
        peers = {r["rank"]: r for r in own if r["method"] == PEER}
        for record in _low_rank(own):
            if record["rank"] in peers:
                ratios[f"{name} {_words(record)}"] = peers[record["rank"]][timer] / record[timer]
    slower = [f"{key} {ratio:.2f}" for key, ratio in ratios.items() if ratio < 1.0]
    text = (
        f"Nystroem + Ridge takes {min(ratios.values()):.2f} to {max(ratios.values()):.2f} of the "
        f"time of the low-rank forms at the same rank, median {np.median([*ratios.values()]):.2f}"
    )
    return f"{text}; faster than ours in: {', '.join(slower)}." if slower else f"{text}: ours win."


def _memory(groups: Mapping[str, Sequence[Record]]) -> str:
    shares = {
        f"{name} {_words(record)}": _share(record)
        for name, own in groups.items()
        for record in _low_rank(own)
    }
    worst = max(shares, key=lambda key: shares[key])
    kept = sum(share <= MEMORY_TARGET for share in shares.values())
    return (
        f"Peak memory of the low-rank forms is {min(shares.values()):.2f} to {shares[worst]:.2f} "
        f"times 8nk bytes (most: {worst}); {kept} of {len(shares)} are within the target "
        f"{MEMORY_TARGET:g}."
    )


def _best(
    groups: Mapping[str, Sequence[Record]], name: str, target: float, timer: str, rival: str
) -> str:
    own = groups[name]
    best = max(_low_rank(own), key=lambda record: record["accuracy"])
    other = max((r for r in own if r["method"] == rival), key=lambda record: record["accuracy"])
    return (
        f"{name}: {_words(best)} has {best['accuracy']:.2f} % (target {target:g}) after "
        f"{best[timer]:.1f} s of fit; {_words(other)} {other['accuracy']:.2f} % after "
        f"{other[timer]:.1f} s."
    )


STYLES = {
    NYSTROEM: "C0o-",
    PIVOTED: "C1s-",
    PEER: "C2^-",
    SAMPLED: "C3v-",
    EXACT: "kX",
    SINGLE: "kP",
    RIDGE: "C4D",
    SVC: "C5*",
}


def draw(groups: Mapping[str, Sequence[Record]], timer: str, path: Path) -> None:
    """Accuracy over seconds of every method; one panel for each set, one point for each rank."""
    columns = min(2, len(groups))
    lines = -(-len(groups) // columns)
    canvas = matplotlib.figure.Figure(figsize=(4.6 * columns, 3.4 * lines), layout="constrained")
    panels = canvas.subplots(lines, columns, squeeze=False).ravel()
    for panel, (name, own) in zip(panels, groups.items(), strict=False):
        for method, style in STYLES.items():
            points = sorted((r[timer], r["accuracy"]) for r in own if r["method"] == method)
            if points:
                panel.semilogx(*zip(*points, strict=True), style, label=method, alpha=0.8)
        panel.set(title=name, xlabel="seconds to fit", ylabel="test accuracy, %")
        panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter(NullFormatter())
    for panel in panels[len(groups) :]:
        panel.set_visible(False)
    fullest = max(panels, key=lambda panel: len(panel.get_legend_handles_labels()[1]))
    handles, labels = fullest.get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    canvas.savefig(path, dpi=110)
