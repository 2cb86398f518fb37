"""What does the hub-and-spoke pseudo-inverse of [JS20] cost and give beside its competitors?

Table 3's statistics and Figs. 4 to 6 of the paper: reconstruction error, P@3 of Z = A⁺Y and seconds
over the rank ratio α, for fastpi, RandPI, KrylovPI and frPCA as the paper defines them, for the
eigendecomposition of the Gram matrix, scikit-learn's randomized_svd, and `auto`. Of the paper's
four matrices only bibtex is to be had; the others are stand-ins of the same kind. Sets with labels
are split 90/10, and the training part is decomposed; the splits are the repetitions of the time. A
method goes on to the next α as long as that should stay under ``--most-seconds``, judged from the
last one, and under ``--most-gib``; what was not run is marked so. Then what a learner
gets: rank and ridge chosen from one decomposition against one fit for each, and how well.

Conclusion: `auto` takes at most 1.19 times the time of the fastest peer of at most 1e-3 excess
error, 0.64 in the median, and m2 and n2 of bibtex are the paper's. fastpi, its factors kept sparse,
is faster than the Gram route up to α = 0.3 on every set but delicious, which has 500 columns, at
0.1 to 3 % excess error; from α = 0.6 on the two are about level, and the Gram route is exact.
Iterations on products are faster than both up to α = 0.3. P@3 hardly depends on the method, as in
the paper, but for RandPI at small ranks. Rank and ridge chosen by leave-one-out gain 0.7 to 4.1
points of P@3 over the paper's rank 0.3, at 1/7 to 1/31 of the cost of one fit per cell. The Gram
route of retail_baskets, 16,470 columns, takes 448 s at the rank for which `auto` takes 0.7 s.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
from sklearn.utils.extmath import randomized_svd

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.files import random_split
from benchmarks.result import Record, Result
from benchmarks.sparse_sets import SETS, load_sparse
from benchmarks.tables import _js20_pages as pages
from pinvlearn.linalg.driver import DECOMPOSITIONS

NAMES = {"js20": "[JS20] Table 3, Figs. 4 to 6: sparse pseudo-inverses over the rank ratio"}
STATISTICS, RACE, LEARNING, PATH = "statistics", "race", "learning", "path"

Factors = tuple[np.ndarray, np.ndarray, np.ndarray]


def _ours(method: str) -> Callable[[Any, int], Factors]:
    def run(A: Any, rank: int) -> Factors:
        found = pinvlearn.svd(A, rank, solver=method, rng=0)
        return found.U, found.s, found.Vt

    return run


def _randpi(A: Any, rank: int) -> Factors:
    found = pinvlearn.svd(A, rank, solver="randomized", n_oversamples=rank, n_power=0, rng=0)
    return found.U, found.s, found.Vt


RACERS: dict[str, Callable[[Any, int], Factors]] = {
    "auto": _ours("auto"),
    "fastpi": _ours("fastpi"),
    "RandPI": _randpi,
    "KrylovPI": _ours("arpack"),
    "frPCA": _ours("frpca"),
    "gram": _ours("gram"),
    "chebyshev": _ours("chebyshev"),
    "randomized_svd": lambda A, rank: randomized_svd(A, rank, random_state=0),
}
GROWTH = {"auto": 0.7, "gram": 0.5, "fastpi": 0.8}
"""How the time grows with the rank ratio, as a power of it; 1.3 for the others."""

NEEDS = {"fastpi": "fastpi", "KrylovPI": "arpack", "frPCA": "frpca", "chebyshev": "chebyshev"}

LEARNERS: dict[str, dict[str, Any]] = {
    "rank 0.3, no ridge (the paper)": {"rank": 0.3, "alpha": 0.0},
    "leave-one-out": {},
    "generalised cross-validation": {"loo_scoring": None},
    "leave-one-out, column of ones": {},
}
ONES = "leave-one-out, column of ones"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Rank ratios, and how much a cell may take."""
    parser.add_argument("--alphas", type=float, nargs="+", default=[0.01, 0.05, 0.1, 0.3, 0.6, 1.0])
    parser.add_argument("--most-seconds", type=float, default=15.0, help="of one decomposition")
    parser.add_argument("--most-gib", type=float, default=5.0, help="of one decomposition")
    parser.add_argument(
        "--repeat-below", type=float, default=1.0, help="seconds up to which splits are repeated"
    )
    parser.set_defaults(repeats=3, datasets=list(SETS))


def run(args: argparse.Namespace) -> Result:
    """Statistics, then the race, then the learners."""
    methods = [name for name in RACERS if NEEDS.get(name, "gram") in DECOMPOSITIONS]
    pieces: list[dict[str, Any]] = []
    for dataset in args.datasets:
        pieces.append({"kind": STATISTICS, "dataset": dataset})
        pieces += [{"kind": RACE, "dataset": dataset, "method": method} for method in methods]
        if load_sparse(dataset)[1] is not None:
            pieces += [{"kind": LEARNING, "dataset": dataset}, {"kind": PATH, "dataset": dataset}]
    warm_up(methods)
    records = collect(args, pieces, lambda piece: measure(args, piece))
    figures = pages.draw(records, args)
    return Result(
        settings_of(args), pages.tables(records), pages.findings(records), figures, records
    )


def warm_up(methods: list[str]) -> None:
    """Compile and load everything before the clock runs; small products are not compiled."""
    A = scipy.sparse.random_array((6000, 500), density=0.05, rng=0, format="csr")
    for method in methods:
        for rank in (10, 60):
            RACERS[method](A, rank)


def measure(args: argparse.Namespace, piece: Mapping[str, Any]) -> Iterator[Record]:
    """All records of one piece."""
    X, Y = load_sparse(piece["dataset"])
    if piece["kind"] == STATISTICS:
        yield from statistics(args, X, Y)
    elif piece["kind"] == RACE:
        yield from race(args, X, Y, piece["method"])
    elif piece["kind"] == LEARNING:
        yield from learning(args, X, Y)
    else:
        yield from path(args, X, Y)


def statistics(args: argparse.Namespace, X: Any, Y: Any) -> Iterator[Record]:
    """A row of Table 3, and the error that no method can undercut on the first training part."""
    started = time.process_time()
    order = pinvlearn.hub_spoke(X)
    seconds = time.process_time() - started
    (m, n), optimal = X.shape, {}
    if n <= 6000:
        A = X if Y is None else X[random_split(m, args.seed)[0]]
        squares = scipy.linalg.eigvalsh((A.T @ A).toarray())[::-1].clip(min=0.0)
        optimal = {a: float(np.sqrt(squares[rank_of(A, a) :].sum())) for a in args.alphas}
    yield {
        "m": m,
        "n": n,
        "labels": None if Y is None else Y.shape[1],
        "nonzeros": int(X.nnz),
        "sparsity": 1 - X.nnz / (m * n),
        "label_sparsity": None if Y is None else 1 - Y.nnz / np.prod(Y.shape),
        "m2": order.m2,
        "n2": order.n2,
        "blocks": len(order.blocks),
        "rounds": order.iterations,
        "cpu_seconds": seconds,
        "optimal": optimal,
    }


def rank_of(A: Any, alpha: float) -> int:
    """The paper's r = ⌈αn⌉."""
    return max(1, int(np.ceil(alpha * min(A.shape))))


def race(args: argparse.Namespace, X: Any, Y: Any, method: str) -> Iterator[Record]:
    """One method over all rank ratios, as far as time and memory reach."""
    last: tuple[float, float] | None = None
    growth = GROWTH.get(method, 1.3)
    for alpha in sorted(args.alphas):
        # Two copies of the factors, and the wider sample of RandPI, are in memory at the worst.
        gib = 3 * 8 * sum(X.shape) * rank_of(X, alpha) / 2**30
        expected = 0.0 if last is None else last[1] * (alpha / last[0]) ** growth
        if gib > args.most_gib or expected > args.most_seconds:
            why = f"{gib:.1f} GiB" if gib > args.most_gib else f"about {expected:.0f} s expected"
            yield {"alpha": alpha, "split": 0, "not_run": why}
            continue
        for split in range(args.repeats):
            try:
                record = _one_run(X, Y, RACERS[method], alpha, args.seed + split)
            except (ValueError, MemoryError) as error:  # ARPACK cannot give all vectors, say
                yield {"alpha": alpha, "split": 0, "not_run": f"it raised {error}"}
                break
            yield {"alpha": alpha, "split": split, **record}
            if split == 0:
                last = (alpha, record["cpu_seconds"])
            if record["cpu_seconds"] > args.repeat_below:
                break


def _one_run(
    X: Any, Y: Any, racer: Callable[[Any, int], Factors], alpha: float, seed: int
) -> Record:
    train, test = random_split(X.shape[0], seed)
    A = X if Y is None else X[train]
    wall, cpu = time.perf_counter(), time.process_time()
    U, s, Vt = racer(A, rank_of(A, alpha))
    record: Record = {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
    }
    record["error"] = reconstruction_error(A, U, s, Vt)
    if Y is not None:
        keep = s > 1e-7 * s[0]
        W = np.asarray(Y[train].T @ U[:, keep]).T / s[keep, None]
        scores = (X[test] @ Vt[keep].T) @ W
        k_values = [k for k in (1, 3, 5) if k <= Y.shape[1]]
        record |= {f"p{k}": pinvlearn.precision_at_k(Y[test], scores, k) for k in k_values}
    return record


def reconstruction_error(A: Any, U: np.ndarray, s: np.ndarray, Vt: np.ndarray) -> float:
    """‖A - USVᵀ‖_F for orthonormal U and V, from products: ‖A‖² - 2Σ s u·Av + Σ s²."""
    inner = np.einsum("ij,ij->j", U, A @ Vt.T)
    squared = float(np.vdot(A.data, A.data)) - 2 * float(s @ inner) + float(s @ s)
    return float(np.sqrt(max(squared, 0.0)))


def learning(args: argparse.Namespace, X: Any, Y: Any) -> Iterator[Record]:
    """What a learner chooses, and how well it ranks the labels of the test part."""
    for split in range(args.repeats):
        train, test = random_split(X.shape[0], args.seed + split)
        for name, options in LEARNERS.items():
            A = _with_ones(X) if name == ONES else X
            model = pinvlearn.FastPIClassifier(**options, random_state=0)
            cpu = time.process_time()
            model.fit(A[train], Y[train])
            seconds = time.process_time() - cpu
            top = model.top_k(A[test], min(5, Y.shape[1]))
            yield {
                "learner": name,
                "split": split,
                "rank": model.rank_,
                "ridge": model.alpha_,
                "cpu_seconds": seconds,
                **{f"p{k}": pinvlearn.precision_at_k(Y[test], top, k) for k in (1, 3, 5)},
            }


def _with_ones(X: Any) -> Any:
    return scipy.sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")


def path(args: argparse.Namespace, X: Any, Y: Any) -> Iterator[Record]:
    """CPU seconds of one choice among all cells, and of one fit for each rank."""

    def fit(**options: Any) -> tuple[float, Any]:
        started = time.process_time()
        model = pinvlearn.FastPIClassifier(random_state=0, **options).fit(X, Y)
        return time.process_time() - started, model

    seconds, model = fit()
    yield {"what": "path", "cells": model.loo_scores_.size, "cpu_seconds": seconds}
    seconds, _ = fit(loo_scoring=None)
    yield {"what": "path by cross-validation", "cells": model.loo_scores_.size} | {
        "cpu_seconds": seconds
    }
    side = min(X.shape)
    for rank in model.ranks_:
        seconds, _ = fit(rank=min(1.0, rank / side), alpha=float(model.alphas_[-1]))
        yield {"what": "one fit", "rank": int(rank), "cpu_seconds": seconds}
