"""How fast is ``FastPCA`` beside scikit-learn's PCA and IncrementalPCA at equal or better error?

Shapes of rows: tall, square and wide with singular values 1/√i and column means as large as
the deviations or, far from the origin, 10,000 times as large; in float32; sparse; and a kernel
matrix of real data, whose spectrum falls fast. Errors are
excesses over the optimum, ‖X̄ − X̄VᵀV‖ / ‖X̄ − X̄_k‖ − 1 in the Frobenius norm for centred rows X̄, and
the worst relative error of a variance. A peer counts as equal when both are at most ``--slack``
above ours. The best peer is the fastest of those. ``fit`` is one contest, and
``fit_transform``, which costs us one more product, another. ``partial_fit`` has IncrementalPCA's
batches and is raced against it alone.

Conclusion: no peer within 1e-6 of our error is faster on any shape. The best takes 1.08 to 15 times
our time for ``fit`` on one thread and 1.01 to 7.9 times for ``fit_transform``, with nothing set 1.1
to 19 times; the nearest is ``covariance_eigh`` on tall rows, where all there is to save is a pass
over the rows, and ``arpack`` on square float32 rows. Where errors of 1e-3 are allowed it is level
with ours on tall rows, 3 % faster on such far from the origin. float32 rows are multiplied in
single precision in short blocks that are added up in double: they are level with scikit-learn's,
all of whose arithmetic is single, and more exact; of those far from the origin no peer gives the
same digits. Wide rows far away, sparse rows and the kernel matrix are not in this run. (Runs before
this counted what BLAS's workers of the turn before still spun as CPU time of peers.)
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from benchmarks.collect import collect, settings_of
from benchmarks.competitors import sklearn_pca
from benchmarks.kernels import kernel_matrix
from benchmarks.result import Record, Result, Table
from benchmarks.splits import make_fold
from benchmarks.timing import COLUMNS, race
from pinvlearn import FastPCA

NAMES = {"speed-pca": "FastPCA against scikit-learn's PCA and IncrementalPCA at equal error"}
OURS, PIECES, INCREMENTAL = "pinvlearn FastPCA", "pinvlearn partial_fit", "sklearn IncrementalPCA"
SHAPES = {
    "tall": (50_000, 300, 20),
    "square": (2000, 2000, 40),
    "wide": (500, 20_000, 20),
    "tall, float32": (50_000, 300, 20),
    "tall, far": (50_000, 300, 20),
    "tall, float32, far": (50_000, 300, 20),
    "square, float32": (2000, 2000, 40),
    "square, far": (2000, 2000, 40),
    "wide, far": (500, 20_000, 20),
    "sparse": (20_000, 2500, 20),
    "kernel": (None, 1000, 100),
}
"""Rows, columns and components; a kernel matrix has the rows of its data."""
CALLS = ("fit", "fit_transform")
DENSITY = 0.01
FAR = 1e4
TARGET = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shapes and how much smaller; ``--datasets`` names the kernel's data."""
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--shrink", type=int, default=1, help="divide rows and columns by this")
    parser.add_argument(
        "--slack",
        type=float,
        nargs="+",
        default=[1e-6, 1e-3],
        help="how far above our excess a peer's may lie to count as equal",
    )
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Race everyone on each shape, for each call."""

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        X = rows(args, piece["shape"])
        k = max(2, SHAPES[piece["shape"]][2] // args.shrink)
        deviations = dense(X).astype(np.float64)
        deviations -= deviations.mean(axis=0)
        singular = scipy.linalg.svdvals(deviations)
        racers = {
            name: partial(function, X)
            for name, function in contestants(k, X, call=piece["call"]).items()
        }
        for name, timing in race(racers, repeats=args.repeats, both=True).items():
            found = {"method": name, "rows": X.shape[0], "columns": X.shape[1], "k": k}
            yield {**found, **errors(deviations, timing.value, singular), **timing.record()}

    pieces = [{"shape": shape, "call": call} for shape in args.shapes for call in CALLS]
    records = collect(args, pieces, measure)
    groups = [[r for r in records if piece.items() <= r.items()] for piece in pieces]
    tables = [_table(group) for group in groups]
    return Result(settings_of(args), tables, _findings(groups, args), records=records)


def rows(args: argparse.Namespace, shape: str) -> Any:
    """The data of one shape, smaller by `shrink`."""
    m, n, _ = SHAPES[shape]
    rng = np.random.default_rng(args.seed)
    n //= args.shrink
    if m is None:
        name = (args.datasets or ["satimage"])[0]
        fold = make_fold(name, folds=args.folds, repeat=0, fold=0, seed=args.seed)
        return kernel_matrix(fold.X_train, fold.centres(n))
    m //= args.shrink
    if shape == "sparse":  # columns as rare and as common as words
        X = scipy.sparse.random_array((m, n), density=DENSITY, rng=rng, format="csr")
        return scipy.sparse.csr_array(X.multiply(1 / np.sqrt(1 + np.arange(n))))
    X = with_means(m, n, rng, FAR if "far" in shape else 1.0)
    return X.astype(np.float32) if "float32" in shape else X


def with_means(m: int, n: int, rng: np.random.Generator, far: float) -> np.ndarray:
    """Rows with singular values near 1/√i and means `far` times the size of the deviations."""
    small = min(m, n)
    values = 1 / np.sqrt(1 + np.arange(small))
    turn = np.linalg.qr(rng.standard_normal((small, small)))[0]
    if m >= n:
        X = (rng.standard_normal((m, n)) * (values / np.sqrt(m))) @ turn
    else:
        X = (turn * (values / np.sqrt(n))) @ rng.standard_normal((m, n))
    return X + rng.standard_normal(n) * (far * X.std())


def dense(X: Any) -> np.ndarray:
    """X as an array, for measuring errors only."""
    return X.toarray() if scipy.sparse.issparse(X) else X


def contestants(k: int, X: Any, *, call: str) -> dict[str, Callable[[Any], np.ndarray]]:
    """Ours and every peer, as functions of the rows that give a fitted model."""
    sparse = scipy.sparse.issparse(X)

    def called(make: Callable[[], Any], X: Any) -> Any:
        model = make()
        getattr(model, call)(X)
        return model

    def in_pieces(X: Any) -> Any:
        model = FastPCA(k)
        size = 5 * X.shape[1]  # IncrementalPCA's default
        for start in range(0, len(X), size):
            model.partial_fit(X[start : start + size])
        model.components_  # noqa: B018 (solves)
        return model

    everyone = {OURS: partial(called, lambda: FastPCA(k, random_state=0))}
    peers = sklearn_pca.estimators(k, X.shape, sparse=sparse)
    if call == "fit" and INCREMENTAL in peers:
        everyone[PIECES] = in_pieces
    return everyone | {name: partial(called, make) for name, make in peers.items()}


def errors(deviations: np.ndarray, model: Any, singular: np.ndarray) -> Record:
    """Excess over the optimal error, and the worst variance."""
    V, k = model.components_, len(model.components_)
    residual = deviations - (deviations @ V.T) @ V
    variance = singular[:k] ** 2 / (len(deviations) - 1)
    return {
        "excess": float(np.linalg.norm(residual) / np.linalg.norm(singular[k:]) - 1),
        "variance_error": float(np.max(np.abs(model.explained_variance_ - variance) / variance)),
    }


def _own(group: list[Record], name: str = OURS) -> Record:
    return next(record for record in group if record["method"] == name)


def _table(group: list[Record]) -> Table:
    own = _own(group)
    body = [
        [
            record["method"],
            *(record[key] for key in COLUMNS.values()),
            *(record[key] / own[key] for key in COLUMNS.values()),
            record["excess"],
            record["variance_error"],
        ]
        for record in group
    ]
    columns = [
        "method",
        *(f"seconds, {column}" for column in COLUMNS),
        *(f"time / ours, {column}" for column in COLUMNS),
        "excess",
        "worst variance",
    ]
    title = f"{own['call']}, {own['shape']}: {own['rows']} × {own['columns']}, k = {own['k']}"
    return Table(title, columns, body)


def _findings(groups: list[list[Record]], args: argparse.Namespace) -> list[str]:
    lines = []
    for column, timer in COLUMNS.items():
        for call in CALLS:
            mine = [group for group in groups if _own(group)["call"] == call]
            for slack in args.slack:
                lines.append(f"{call}, {column}: {_beside_peers(mine, timer, slack)}")
        incremental = [group for group in groups if any(r["method"] == PIECES for r in group)]
        pairs = [(_own(group, INCREMENTAL), _own(group, PIECES)) for group in incremental]
        shown = ", ".join(
            f"{own['shape']} {peer[timer] / own[timer]:.1f} (excess {peer['excess']:.1e}, ours "
            f"{own['excess']:.1e})"
            for peer, own in pairs
        )
        if shown:
            lines.append(
                f"partial_fit, {column}: time of IncrementalPCA over ours in its own batches: "
                f"{shown}."
            )
    return lines


def _beside_peers(groups: list[list[Record]], timer: str, slack: float) -> str:
    best = {_own(group)["shape"]: _best_peer(group, timer, slack) for group in groups}
    gains = {
        shape: peer[timer] / _own(group)[timer]
        for (shape, peer), group in zip(best.items(), groups, strict=True)
        if peer is not None
    }
    shown = ", ".join(
        f"{shape} none" if peer is None else f"{shape} {gains[shape]:.2f} ({peer['method']})"
        for shape, peer in best.items()
    )
    least = f"smallest {min(gains.values()):.2f} (target {TARGET:g}); " if gains else ""
    return f"time of the best peer over ours, excess within {slack:g}: {least}{shown}."


def _best_peer(group: list[Record], timer: str, slack: float) -> Record | None:
    """The fastest of those that are as exact; in float32 there may be none."""
    own = _own(group)
    equal = [
        record
        for record in group
        if record["method"] not in (OURS, PIECES)
        and all(record[key] <= own[key] + slack for key in ("excess", "variance_error"))
    ]
    return min(equal, key=lambda record: record[timer], default=None)
