"""How fast is ``svd(A, rank=k)`` beside its peers at equal or better error?

Dense matrices with a fast, a slow and a kernel spectrum. Peers with a setting for accuracy run at
several. Errors are excesses over the optimum: ‖A − USVᵀ‖ / ‖A − A_k‖ − 1 in the spectral and the
Frobenius norm. A peer counts as equal when neither is more than ``--slack`` above ours: by 1e-6 in
earnest, by 1e-3 for most uses. The best peer is the fastest of those.

Conclusion: against peers within 1e-6 of our error, which is 1e-10 to 1e-4 above the optimum in the
Frobenius norm, the best takes 1.05 to 2.8 times our time on one thread, 1.7 in the median, and 1.5
to 3.6 times with nothing set on two cores, 2.8 in the median. The target of 1.7 is missed on half
of the cells on one thread: two power iterations of randomized_svd are as fast at rank 20 on the
kernel spectrum and, where errors of 1e-3 are allowed, on the fast one, and 7 % faster there at rank
100, where our error is 6e-11 and theirs 8e-4; lobpcg and propack take 1.3 to 1.7 times our time.
(Runs before this counted what BLAS's workers of the turn before still spun as CPU time of peers,
and had 2.2 to 4.3.)
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.competitors import (
    fbpca_pca,
    lapack_svd,
    nothing,
    scipy_svds,
    sklearn_randomized,
)
from benchmarks.kernels import design_matrix
from benchmarks.result import Record, Result, Table
from benchmarks.splits import make_fold
from benchmarks.timing import COLUMNS, race

NAMES = {"speed-svd": "svd(A, rank=k) against scikit-learn, SciPy and fbpca at equal error"}
PEERS = (sklearn_randomized, scipy_svds, fbpca_pca, lapack_svd, nothing)
OURS = "pinvlearn svd"
TARGET = 1.7


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Shape of the matrices and ranks; ``--datasets`` names the kernel matrices."""
    parser.add_argument("--rows", type=int, default=5000, help="of the generated matrices")
    parser.add_argument("--columns", type=int, default=1000, help="also the number of kernels")
    parser.add_argument("--ranks", type=int, nargs="+", default=[20, 100])
    parser.add_argument(
        "--slack",
        type=float,
        nargs="+",
        default=[1e-6, 1e-3],
        help="how far above our excess a peer's may lie to count as equal",
    )
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Race everyone on each spectrum and rank."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        A = matrix(args, piece["spectrum"])
        k = piece["k"]
        singular = scipy.linalg.svdvals(A)
        racers = {name: partial(function, A) for name, function in contestants(k).items()}
        for name, timing in race(racers, repeats=args.repeats, both=True).items():
            yield {"method": name, **errors(A, timing.value, singular), **timing.record()}

    spectra = ["fast", "slow", *(f"kernel {name}" for name in args.datasets or ["satimage"])]
    pieces = [{"spectrum": spectrum, "k": k} for spectrum in spectra for k in args.ranks]
    records = collect(args, pieces, measure)
    groups = [[r for r in records if piece.items() <= r.items()] for piece in pieces]
    tables = [_table(group) for group in groups]
    findings = _findings(groups, args)
    return Result(settings_of(args), tables, findings, records=records)


def matrix(args: argparse.Namespace, spectrum: str) -> np.ndarray:
    """Orthonormal factors around a given spectrum, or a kernel matrix of real data."""
    kind, _, name = spectrum.partition(" ")
    if kind == "kernel":
        fold = make_fold(name, folds=args.folds, repeat=0, fold=0, seed=args.seed)
        return design_matrix(fold.X_train, fold.centres(args.columns))
    rng = np.random.default_rng(args.seed)
    index = np.arange(args.columns)
    values = np.exp(-index / 15) if kind == "fast" else 1 / np.sqrt(index + 1)
    left = np.linalg.qr(rng.standard_normal((args.rows, args.columns)))[0]
    right = np.linalg.qr(rng.standard_normal((args.columns, args.columns)))[0]
    return left * np.maximum(values, 1e-12) @ right


def contestants(k: int) -> dict[str, Callable[[np.ndarray], tuple]]:
    """Ours and every peer, as functions of the matrix that give (U, s, Vt)."""

    def ours(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        found = pinvlearn.svd(A, k, rng=np.random.default_rng(0))
        return found.U, found.s, found.Vt

    everyone = {OURS: ours}
    for peer in PEERS:
        everyone |= peer.decompositions(k)
    return everyone


def errors(A: np.ndarray, factors: tuple, singular: np.ndarray) -> Record:
    """Excess over the optimal error in both norms, and the worst singular value."""
    U, s, Vt = factors
    k = len(s)
    residual = A - (U * s) @ Vt
    # The largest eigenvalue of a Gram matrix is good to eps, unlike the small ones.
    shorter = residual if len(residual) < residual.shape[1] else residual.T
    spectral = np.sqrt(scipy.linalg.eigvalsh(shorter @ shorter.T)[-1])
    optimal = np.linalg.norm(singular[k:])
    return {
        "spectral_excess": float(spectral / singular[k] - 1),
        "frobenius_excess": float(np.linalg.norm(residual) / optimal - 1),
        "value_error": float(np.max(np.abs(s - singular[:k]) / singular[:k])),
    }


def _own(group: list[Record]) -> Record:
    return next(record for record in group if record["method"] == OURS)


def _table(group: list[Record]) -> Table:
    own = _own(group)
    rows = [
        [
            record["method"],
            *(record[key] for key in COLUMNS.values()),
            *(record[key] / own[key] for key in COLUMNS.values()),
            record["spectral_excess"],
            record["frobenius_excess"],
            record["value_error"],
        ]
        for record in group
    ]
    columns = [
        "method",
        *(f"seconds, {column}" for column in COLUMNS),
        *(f"time / ours, {column}" for column in COLUMNS),
        "spectral excess",
        "Frobenius excess",
        "worst value",
    ]
    return Table(f"{own['spectrum']} spectrum, k = {own['k']}", columns, rows)


def as_accurate(record: Record, own: Record, slack: float) -> bool:
    """Whether neither excess is more than `slack` above ours."""
    return all(record[key] <= own[key] + slack for key in ("spectral_excess", "frobenius_excess"))


def _findings(groups: list[list[Record]], args: argparse.Namespace) -> list[str]:
    return [_finding(groups, column, slack) for column in COLUMNS for slack in args.slack]


def _finding(groups: list[list[Record]], column: str, slack: float) -> str:
    key = COLUMNS[column]
    best = [_best_peer(group, key, slack) for group in groups]
    gains = [peer[key] / _own(group)[key] for peer, group in zip(best, groups, strict=True)]
    shown = ", ".join(
        f"{peer['spectrum']} k = {peer['k']} {gain:.2f} ({peer['method']})"
        for peer, gain in zip(best, gains, strict=True)
    )
    return (
        f"Time of the best peer over ours, {column}, errors within {slack:g}: smallest "
        f"{min(gains):.2f} (target {TARGET}), median {np.median(gains):.2f}; {shown}."
    )


def _best_peer(group: list[Record], timer: str, slack: float) -> Record:
    own = _own(group)
    equal = [r for r in group if r is not own and as_accurate(r, own, slack)]
    return min(equal, key=lambda record: record[timer])
