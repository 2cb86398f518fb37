"""How well are held-out ratings predicted by the three methods of PartialSVD, and by its peers?

movielens_100k with its five official folds and with random 90/10 splits, movielens_1m with a random
90/10 split; RMSE and MAE, clipped to 1 … 5 for everybody, and seconds to fit (one thread). `als`
and `descent` choose their penalties on a tenth of the training ratings, part of their time;
`gibbs` has none. Peers run with the best of a few settings tried on the first random split, which
favours them a little (their files in `competitors/` say which). A peer that is not installed is
left out and named.

Conclusion: the draws of `gibbs` are the most accurate on every split, with 90 % intervals that hold
what they say. `als`, which tunes itself, is level at rank 10 with stochastic gradient descent tuned
by hand and a little behind the best of it at 50; `descent`, the original's, on the residuals of
biases, lies behind both. New users are folded in for a hundredth of the time of a fit and are
predicted nearly as well.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.files import load_ratings, random_split
from benchmarks.result import Record, Result, Table, measured
from benchmarks.tables._comparison import values

NAMES = {"lingpipe-movielens": "held-out ratings: descent, als, gibbs and four peers, RMSE and MAE"}
OURS = ("descent", "als", "gibbs")
PEERS = {
    "surprise": "surprise_svd",
    "cornac": "cornac_mf",
    "cmfrec": "cmfrec_als",
    "myfm": "myfm_gibbs",
}
BIASES = "biases only"
NEW_USERS = "users who come later"
TARGETS = {
    ("movielens_100k", 10, "descent"): 0.910,
    ("movielens_100k", 10, "als"): 0.905,
    ("movielens_100k", 10, "gibbs"): 0.889,
    ("movielens_100k", 50, "gibbs"): 0.894,
    ("movielens_1m", 10, "als"): 0.853,
    ("movielens_1m", 10, "gibbs"): 0.840,
}

Predict = Callable[[np.ndarray], np.ndarray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Ranks, methods, and the number of random splits of the smaller set."""
    parser.add_argument("--ranks", type=int, nargs="+", default=[10, 50])
    parser.add_argument("--large-ranks", type=int, nargs="+", default=[10], help="movielens_1m")
    parser.add_argument("--methods", nargs="+", default=[BIASES, *OURS, *PEERS])
    parser.set_defaults(repeats=3, folds=5, datasets=["movielens_100k", "movielens_1m"])


def run(args: argparse.Namespace) -> Result:
    """Fit every method to every split."""
    installed = [m for m in args.methods if m not in PEERS or find_spec(m) is not None]
    pieces = list(_pieces(args, installed))
    warm_up(installed)
    records = collect(args, pieces, lambda piece: measure(args, piece))
    missing = [m for m in args.methods if m not in installed]
    notes = [f"Not installed, so not run: {', '.join(missing)}."] if missing else []
    splits = dict.fromkeys((r["dataset"], r["rank"], r["kind"]) for r in records)
    tables = [_table(records, *split, notes) for split in splits]
    return Result(settings_of(args), tables, _findings(records), records=records)


def warm_up(methods: list[str]) -> None:
    """Compile before the clock runs; speed-completion states what that takes."""
    pairs = np.argwhere(np.random.default_rng(0).random((40, 30)) < 0.5)
    for method in methods:
        fit(method, pairs, np.arange(len(pairs)) % 5 + 1.0, 2, 0)
    pinvlearn.PartialSVD(28, solver="als").fit(pairs, np.arange(len(pairs)) % 5 + 1.0)


def measure(args: argparse.Namespace, piece: Mapping[str, Any]) -> Iterator[Record]:
    """One fit: errors, seconds, and for gibbs how much the intervals cover."""
    if piece["kind"] == NEW_USERS:
        yield new_users(args, piece)
        return
    pairs, ratings, folds = load_ratings(piece["dataset"])
    if piece["kind"] == "fold":
        test = np.flatnonzero(folds == piece["split"])
        train = np.flatnonzero(folds != piece["split"])
    else:
        train, test = random_split(len(ratings), piece["split"])
    wall, cpu = time.perf_counter(), time.process_time()
    predict = fit(piece["method"], pairs[train], ratings[train], piece["rank"], args.seed)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    gap = predict(pairs[test]) - ratings[test]
    covered = None
    if piece["method"] == "gibbs":
        mean, std = predict.__self__.predict(pairs[test], return_std=True)
        covered = 100 * float(np.mean(np.abs(ratings[test] - mean) < 1.645 * std))
    yield {
        "rmse": float(np.sqrt(np.mean(gap**2))),
        "mae": float(np.mean(np.abs(gap))),
        "covered": covered,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
    }


def new_users(args: argparse.Namespace, piece: Mapping[str, Any]) -> Record:
    """A tenth of the users come later with four fifths of their ratings; the rest is predicted."""
    pairs, ratings, _ = load_ratings(piece["dataset"])
    rng = np.random.default_rng(piece["split"])
    order = rng.permutation(int(pairs[:, 0].max()) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    pairs = np.column_stack([place[pairs[:, 0]], pairs[:, 1]])  # the new users are the last
    old = pairs[:, 0] < 0.9 * len(order)
    test = ~old & (rng.random(len(old)) < 0.2)
    known = ~old & ~test
    method, _, how = piece["method"].partition(" ")
    wall, cpu = time.perf_counter(), time.process_time()
    if method == "item":
        sums = np.bincount(pairs[~test, 1], ratings[~test], minlength=pairs[:, 1].max() + 1)
        counts = np.bincount(pairs[~test, 1], minlength=len(sums))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), ratings[~test].mean())
        predictions = means[pairs[test, 1]]
    else:
        model = pinvlearn.PartialSVD(piece["rank"], solver=method, random_state=args.seed, n_jobs=1)
        if how == "folded in":
            model.fit(pairs[old], ratings[old])
            wall, cpu = time.perf_counter(), time.process_time()
            model = model.fold_in(pairs[known], ratings[known])
        else:
            model.fit(pairs[~test], ratings[~test])
        predictions = model.predict(pairs[test])
    gap = predictions - ratings[test]
    return {
        "rmse": float(np.sqrt(np.mean(gap**2))),
        "mae": float(np.mean(np.abs(gap))),
        "covered": None,
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }


def fit(method: str, pairs: np.ndarray, ratings: np.ndarray, rank: int, seed: int) -> Predict:
    """A function from pairs to predictions."""
    if method == BIASES:
        heavy = pinvlearn.PartialSVD(1, solver="als", alpha=1e6, random_state=seed)
        return heavy.fit(pairs, ratings).predict
    if method in OURS:
        model = pinvlearn.PartialSVD(rank, solver=method, random_state=seed, n_jobs=1)
        return model.fit(pairs, ratings).predict
    peer = import_module(f"benchmarks.competitors.{PEERS[method]}")
    return peer.fit(pairs, ratings, rank, seed)


def _pieces(args: argparse.Namespace, methods: list[str]) -> Iterator[dict[str, Any]]:
    ways = [f"{m} {how}" for m in ("als", "gibbs") for how in ("folded in", "refitted")]
    for dataset in args.datasets:
        for method in ("item means", *ways):
            key = {"dataset": dataset, "rank": args.ranks[0], "kind": NEW_USERS, "split": 0}
            yield key | {"method": method}
    for dataset in args.datasets:
        small = dataset == "movielens_100k"
        splits = [("random", k) for k in range(args.repeats if small else 1)]
        splits += [("fold", k + 1) for k in range(args.folds)] if small else []
        for rank in args.ranks if small else args.large_ranks:
            for kind, split in splits:
                for method in methods:
                    yield {
                        "dataset": dataset,
                        "rank": rank,
                        "kind": kind,
                        "split": split,
                        "method": method,
                    }


def _table(records: list[Record], dataset: str, rank: int, kind: str, notes: list[str]) -> Table:
    key = {"dataset": dataset, "rank": rank, "kind": kind}
    own = [r for r in records if key.items() <= r.items()]
    rows = []
    for method in dict.fromkeys(r["method"] for r in own):
        of = key | {"method": method}
        target = TARGETS.get((dataset, rank, method)) if kind == "random" else None
        covered = [c for c in values(records, "covered", **of) if c is not None]
        rows.append(
            [
                method,
                f"{np.mean(values(records, 'rmse', **of)):.4f}",
                " ".join(f"{x:.4f}" for x in values(records, "rmse", **of)),
                "–" if target is None else f"{target:.3f}",
                f"{np.mean(values(records, 'mae', **of)):.4f}",
                measured(covered) if covered else None,
                measured(values(records, "seconds", **of)),
            ]
        )
    name = {"fold": "official folds", "random": "random 90/10"}.get(kind, kind)
    columns = ["method", "RMSE", "of each split", "target", "MAE", "90 % covers", "seconds"]
    return Table(f"{dataset}, rank {rank}, {name}", columns, rows, notes)


def _findings(records: list[Record]) -> list[str]:
    findings = []
    for (dataset, rank, method), target in TARGETS.items():
        key = {"dataset": dataset, "rank": rank, "method": method, "kind": "random"}
        found = values(records, "rmse", **key)
        if found:
            word = "met" if found[0] <= target else "missed"
            findings.append(
                f"{dataset}, rank {rank}, {method}: {found[0]:.4f} on the first split (target "
                f"{target}, {word}), {np.mean(found):.4f} on average over {len(found)}."
            )
    covered = [r["covered"] for r in records if r["covered"] is not None]
    if covered:
        findings.append(
            f"90 % intervals of gibbs cover {min(covered):.1f} to {max(covered):.1f} % (target 88 "
            "to 92)."
        )
    return findings
