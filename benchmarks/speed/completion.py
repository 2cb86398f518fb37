"""How fast are the methods of PartialSVD beside their peers, on one thread and on two?

All on movielens_100k (random 90/10) unless said otherwise, in one run. Times of iterations are
differences of a longer and a shorter fit, so that what happens once does not count. `als` and
Surprise's SVD are compared by the seconds to come within 0.001 of their own best test RMSE, each at
its best setting. The plain loop is the original's, compiled and otherwise left alone. Two threads
run on movielens_1m, and the results must be the same to the last bit. Compilation happens once for
an installation and is measured in a fresh process with an empty cache.

Conclusion: on one thread `als`, `gibbs` and `descent` are each several times as fast as their
nearest peer; on two the small solves scale as far as the second core is free.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.collect import collect, settings_of
from benchmarks.competitors import cmfrec_als, myfm_gibbs, surprise_svd
from benchmarks.files import load_ratings, random_split
from benchmarks.result import Record, Result, Table, compared
from benchmarks.threads import limit
from benchmarks.timing import race
from pinvlearn import PartialSVD
from pinvlearn._validation import check_triplets
from pinvlearn.completion.als import als, both_ways, row_runner
from pinvlearn.completion.descent import Descent, factor_at_a_time
from pinvlearn.completion.gibbs import gibbs

NAMES = {
    "speed-completion": "als, gibbs and descent against cmfrec, Surprise, myFM and a plain loop"
}
ALPHA = 0.1
EPOCHS = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60, 80, 90, 100)
WITHIN = 0.001
TARGETS = {
    "als, rank 10, iteration": 3.0,
    "als, rank 50, iteration": 1.0,
    "als to its best": 5.0,
    "gibbs, rank 10, sweep": 3.0,
    "descent, updates": 2.5,
    "als, two threads": 1.6,
    "gibbs, two threads": 1.6,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure."""
    parser.add_argument("--parts", nargs="+", default=list(PARTS))
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """All parts, one after the other."""
    pieces = [{"part": part} for part in args.parts]
    records = collect(args, pieces, lambda piece: PARTS[piece["part"]](args))
    rows = [
        [r["comparison"], r["ours"], r["peer"], r["ours_value"], r["peer_value"], r["ratio"],
         TARGETS.get(r["comparison"]), r["note"]]
        for r in records
    ]  # fmt: skip
    columns = [
        "comparison",
        "ours",
        "beside",
        "ours, value",
        "its value",
        "ratio",
        "target",
        "note",
    ]
    table = Table("Ratios: above 1 ours is faster", columns, rows)
    return Result(settings_of(args), [table], _findings(records), records=records)


def _findings(records: list[Record]) -> list[str]:
    findings = []
    for record in records:
        target = TARGETS.get(record["comparison"])
        if target is not None and record["ratio"] is not None:
            word = "met" if record["ratio"] >= target else "missed"
            findings.append(
                f"{record['comparison']} against {record['peer']}: {record['ratio']:.2f} (target "
                f"{target}, {word}). {record['note']}".strip()
            )
        elif target is None and record["note"]:
            findings.append(f"{record['comparison']}: {record['note']}")
    return findings


def _split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    pairs, ratings, _ = load_ratings("movielens_100k")
    train, test = random_split(len(ratings), 0)
    return pairs[train], ratings[train], pairs[test], ratings[test]


def _als(pairs: np.ndarray, ratings: np.ndarray, rank: int, iterations: int) -> PartialSVD:
    model = PartialSVD(
        rank, solver="als", alpha=ALPHA, max_iter=iterations, random_state=0, n_jobs=1
    )
    return model.fit(pairs, ratings)


def iterations(args: argparse.Namespace) -> Iterator[Record]:
    """ALS iterations against cmfrec's, as it comes and by Cholesky."""
    if find_spec("cmfrec") is None:
        yield _absent("als, iteration", "cmfrec")
        return
    pairs, ratings, _, _ = _split()
    few, many = 3, 13
    for rank in (10, 50):
        racers: dict[str, Callable[[], Any]] = {}
        for count in (few, many):
            racers[f"ours {count}"] = lambda k=rank, n=count: _fixed_als(pairs, ratings, k, n)
            for name, cg in (("cg", True), ("cholesky", False)):
                racers[f"{name} {count}"] = lambda k=rank, n=count, cg=cg: cmfrec_als.fit(
                    pairs, ratings, k, 0, n, use_cg=cg, finalize_chol=False,
                    precompute_for_predictions=False,
                )  # fmt: skip
        times = {name: t.cpu_seconds for name, t in race(racers, repeats=args.repeats).items()}
        per = {
            name: (times[f"{name} {many}"] - times[f"{name} {few}"]) / (many - few)
            for name in ("ours", "cg", "cholesky")
        }
        solver = "Cholesky" if rank == 10 else "conjugate gradients"
        best = min("cg", "cholesky", key=lambda name: per[name])
        for name in ("cg", "cholesky"):
            yield compared(
                f"als, rank {rank}, iteration" + ("" if name == best else " (other solver)"),
                f"als ({solver}), CPU seconds",
                f"cmfrec ({'conjugate gradients' if name == 'cg' else 'Cholesky'})",
                per["ours"],
                per[name],
                smaller_is_better=True,
            )


def _fixed_als(pairs: np.ndarray, ratings: np.ndarray, rank: int, count: int) -> Any:
    """ALS without the stop, so that the number of iterations is what it says."""
    shape = tuple(int(x) + 1 for x in pairs.max(axis=0))
    scaled = (ratings - ratings.mean()) / ratings.std()
    return als(
        both_ways(pairs[:, 0], pairs[:, 1], scaled, shape), rank, ALPHA,
        max_iter=count, tol=0.0, rng=np.random.default_rng(0), run=row_runner(1),
    )  # fmt: skip


def to_best(args: argparse.Namespace) -> Iterator[Record]:
    """Seconds until the test RMSE is within 0.001 of the best the method reaches, rank 10."""
    if find_spec("surprise") is None:
        yield _absent("als to its best", "Surprise")
        return
    pairs, ratings, test, truth = _split()

    def curve(fit: Callable[[int], Any]) -> tuple[float, float, int, list[float]]:
        fit(1)
        errors = [float(np.sqrt(np.mean((fit(n)(test) - truth) ** 2))) for n in EPOCHS]
        reached = next(n for n, e in zip(EPOCHS, errors, strict=True) if e <= min(errors) + WITHIN)
        timing = race({"fit": lambda: fit(reached)}, repeats=args.repeats)["fit"]
        return timing.cpu_seconds, min(errors), reached, errors

    ours = curve(lambda n: _als(pairs, ratings, 10, n).predict)
    peer = curve(lambda n: surprise_svd.fit(pairs, ratings, 10, 0, n))
    note = (
        f"als: RMSE {ours[1]:.4f} in {ours[2]} iterations, Surprise: {peer[1]:.4f} in {peer[2]} "
        "epochs."
    )
    names = ("als, CPU seconds", "Surprise SVD")
    yield compared("als to its best", *names, ours[0], peer[0], note, smaller_is_better=True)
    common = max(ours[1], peer[1]) + WITHIN
    timings = []
    for fit, errors in (
        (lambda n: _als(pairs, ratings, 10, n), ours[3]),
        (lambda n: surprise_svd.fit(pairs, ratings, 10, 0, n), peer[3]),
    ):
        n = next(n for n, e in zip(EPOCHS, errors, strict=True) if e <= common)
        timings.append(race({"fit": lambda: fit(n)}, repeats=args.repeats)["fit"].cpu_seconds)  # noqa: B023
    yield compared(f"als to RMSE {common:.4f}", *names, *timings, smaller_is_better=True)


def sweeps(args: argparse.Namespace) -> Iterator[Record]:
    """Gibbs sweeps against myFM's, rank 10."""
    if find_spec("myfm") is None:
        yield _absent("gibbs, rank 10, sweep", "myFM")
        return
    pairs, ratings, _, _ = _split()
    few, many = 12, 72

    def ours(count: int) -> Any:
        model = PartialSVD(10, solver="gibbs", max_iter=count, random_state=0, n_jobs=1)
        return model.fit(pairs, ratings)

    racers = {f"ours {n}": lambda n=n: ours(n) for n in (few, many)}
    racers |= {
        f"myfm {n}": lambda n=n: myfm_gibbs.fit(pairs, ratings, 10, 0, n) for n in (few, many)
    }
    times = {name: t.cpu_seconds for name, t in race(racers, repeats=args.repeats).items()}
    per = [(times[f"{x} {many}"] - times[f"{x} {few}"]) / (many - few) for x in ("ours", "myfm")]
    names = ("gibbs, CPU seconds", "myFM")
    yield compared("gibbs, rank 10, sweep", *names, *per, smaller_is_better=True)


def updates(args: argparse.Namespace) -> Iterator[Record]:
    """Updates per second of the descent, all of the fit included."""
    from benchmarks.competitors import plain_funk

    pairs, ratings, _ = load_ratings("movielens_100k")
    shape = tuple(int(x) + 1 for x in pairs.max(axis=0))
    rows, cols, values, shape = check_triplets(pairs[:, 0], pairs[:, 1], ratings, shape)
    values = values - values.mean()
    descent = Descent(0.01, 20.0, 0.02, 0.0, 1, 200)

    def fit(loop: Any) -> Any:
        rng = np.random.default_rng(0)
        return factor_at_a_time(rows, cols, values, shape, 10, 0.5, descent, rng, loop=loop)

    timings = race({"ours": lambda: fit(None), "plain": lambda: fit(plain_funk.descend)},
                   repeats=max(3, args.repeats))  # fmt: skip
    same = np.abs(timings["ours"].value.s / timings["plain"].value.s - 1.0).max()
    count = 10 * 200 * len(values)
    rates = [count / timings[x].cpu_seconds / 1e6 for x in ("ours", "plain")]
    finish = timings["ours"].value.report.seconds
    share = 100 * finish["orthonormal"] / finish["descent"]
    yield compared(
        "descent, updates", "descent, million updates per CPU second", plain_funk.NAME, *rates,
        note=f"Singular values differ by {same:.1g}; the orthonormal finish is {share:.2f} % of "
        "the fit.",
    )  # fmt: skip


def two_threads(args: argparse.Namespace) -> Iterator[Record]:
    """The solves on one thread and on two, lowest wall time, movielens_1m at rank 20."""
    pairs, ratings, _ = load_ratings("movielens_1m")
    shape = tuple(int(x) + 1 for x in pairs.max(axis=0))
    scaled = (ratings - ratings.mean()) / ratings.std()
    sides = both_ways(pairs[:, 0], pairs[:, 1], scaled, shape)

    def run_als(jobs: int) -> Any:
        with limit(1):
            rng, rows = np.random.default_rng(0), row_runner(jobs)
            return als(sides, 20, ALPHA, max_iter=6, tol=0.0, rng=rng, run=rows)

    def run_gibbs(jobs: int) -> Any:
        with limit(1):
            rng, rows = np.random.default_rng(0), row_runner(jobs)
            counts = {"sweeps": 6, "burn_in": 2, "n_samples": 4}
            return gibbs(sides, 20, biases=True, rng=rng, run=rows, **counts)

    for method, fit in (("als", run_als), ("gibbs", run_gibbs)):
        timings = race({"one": partial(fit, 1), "two": partial(fit, 2)}, repeats=5 * args.repeats)
        one, two = timings["one"].value, timings["two"].value
        same = np.array_equal(one.rows, two.rows) and np.array_equal(one.cols, two.cols)
        spent = min(timings["two"].cpu) / min(timings["one"].cpu)
        yield compared(
            f"{method}, two threads",
            f"{method} on two threads, seconds",
            "one thread",
            min(timings["two"].wall),
            min(timings["one"].wall),
            f"Same bits: {'yes' if same else 'NO'}; {spent:.2f} of the CPU time of one thread. "
            f"Load of the machine, other work included: {os.getloadavg()[0]:.1f}.",
            smaller_is_better=True,
        )


MEMORY = """
from benchmarks.memory import peak_bytes
from benchmarks.files import load_ratings
from pinvlearn import PartialSVD
pairs, ratings, _ = load_ratings("movielens_1m")
PartialSVD(50, solver={method!r}, alpha={alpha}, random_state=0).fit(pairs, ratings)
print(peak_bytes() / 2**30)
"""
COMPILE = """
import time, numpy as np
from pinvlearn import PartialSVD, SVDImputer, partial_svd
pairs = np.argwhere(np.random.default_rng(0).random((40, 40)) < 0.5)
values = np.arange(len(pairs)) % 5.0
table = np.random.default_rng(0).random((40, 3)) @ np.random.default_rng(1).random((3, 40))
took = []
for fit in (
    lambda: partial_svd(*pairs.T, values, (40, 40), rank=2),
    lambda: PartialSVD(2, solver="als", alpha=0.1).fit(pairs, values),
    lambda: PartialSVD(30, solver="als", alpha=0.1).fit(pairs, values),
    lambda: SVDImputer().fit_transform(np.where(np.eye(40) > 0, np.nan, table)),
):
    started = time.perf_counter()
    fit()
    took.append(time.perf_counter() - started)
print(*took)
"""


def memory(args: argparse.Namespace) -> Iterator[Record]:
    """Peak memory of a process that fits movielens_1m at rank 50."""
    for method, alpha in (("als", "0.1"), ("gibbs", "'auto'")):
        gigabytes = float(_python(MEMORY.format(method=method, alpha=alpha)))
        note = f"{gigabytes:.2f} GiB at the peak of the whole process (target: under 1)."
        yield compared(f"memory of {method}, movielens_1m, rank 50", method, "–", None, None, note)


def compilation(args: argparse.Namespace) -> Iterator[Record]:
    """First calls with an empty cache, and the same again."""
    with tempfile.TemporaryDirectory() as folder:
        first, again = (_python(COMPILE, NUMBA_CACHE_DIR=folder).split() for _ in range(2))
    names = (
        "partial_svd",
        "PartialSVD, als or gibbs",
        "PartialSVD, als above rank 23",
        "SVDImputer",
    )
    for name, cold, warm in zip(names, first, again, strict=True):
        note = f"first call {float(cold):.1f} s, in the next process {float(warm):.2f} s."
        yield compared(f"compilation, {name}", name, "–", None, None, note)


def _python(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | variables,
    )  # fmt: skip
    return done.stdout.strip().splitlines()[-1]


def _absent(comparison: str, peer: str) -> Record:
    return compared(comparison, "–", peer, None, None, f"{peer} is not installed.")


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Record]]] = {
    "iterations": iterations,
    "to-best": to_best,
    "sweeps": sweeps,
    "updates": updates,
    "two-threads": two_threads,
    "memory": memory,
    "compilation": compilation,
}
