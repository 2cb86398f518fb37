"""Which head should stand behind fixed features?

Random ReLU projections of MNIST ("mnist relu 4096"), random filters of its patches pooled over a
grid ("mnist fields 4096"), five dense tables and, where aeon is installed, MiniRocket, MultiRocket
and Hydra (which needs torch) features of series that aeon ships.  All heads have the
same standardised features, made before the clock starts: `PinvClassifier` and LogisticRegression as
they come, scikit-learn's RidgeClassifierCV and himalaya's RidgeCV with the ten ridges that aeon
gives its heads, and aeon's PrevalidatedRidgeClassifier.  Every cell has a process to itself with
limits of time and memory; "time" or "memory" is then its result.  Log-loss is of those that have
probabilities.

Conclusion: on dense tables ours is ahead of every other ridge by up to ten points of accuracy, and
level with LogisticRegression: where features are few its scores are fitted to them by logistic
regression, with a ridge that all rows choose, elsewhere its outputs are decoded by one on rows left
out. That takes up to a second where RidgeClassifierCV takes a few hundredths. On series, tens of
rows of thousands of columns, heads are level within a point but on Hydra's features of arrow_head,
where LogisticRegression is three points ahead, and has the smaller log-loss by a fifth. Nobody else
has but PrevalidatedRidge, where all rows are told apart (gunpoint, basic_motions) or nearly
(osuleaf): it does not smooth, and bets all on that; its log-loss is up to five times ours where a
row is not. That cannot be had without the bet: with the smoothing divided by 30 ours would be no
larger than its own on three more of these eighteen features, with next to none on two more, and on
five other splits of these and three more series the mean log-loss would rise from 0.27 to 0.34 and
0.41. PrevalidatedRidge's is 0.42 there, and ours no larger on 23 of 27 features as it is
(ARCHITECTURE.md has the curve).
On all of MNIST (one draw, one thread of another machine, every core of which was at work) ours is
ahead of PrevalidatedRidge in accuracy and log-loss at 4,096 and 8,192 units and filters, in 0.8 to
0.9 and 0.7 of its CPU time and a thirteenth of its memory: ridges are searched in single precision,
and half of the time is sums in double, which PrevalidatedRidge has in single precision too. On a
quieter machine it was 0.7 and 0.63, and RidgeClassifierCV took 1,179 CPU seconds on 4,096 filters,
with as many ridges as ours. 16,384 units had ten threads: PrevalidatedRidge needs more than 20 GiB
beside them, ours 3.6. With 8,192 filters ours has 0.74 % errors and a log-loss of .0226,
PrevalidatedRidge .97 and .0293; its published rows, whose filters are not known, have 1.16 % and
.0355.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.preprocessing import StandardScaler

import pinvlearn as pl
from benchmarks.cells import in_own_process
from benchmarks.collect import collect, settings_of
from benchmarks.files import load_arrays, random_split
from benchmarks.memory import peak_bytes
from benchmarks.result import Record, Result, Table

NAMES = {"heads": "heads behind fixed features: accuracy, log-loss, seconds, memory, failures"}
TABLES = ("satimage", "optdigits", "usps", "spambase", "waveform")
SERIES = {
    "italy_power_demand": "load_italy_power_demand",
    "gunpoint": "load_gunpoint",
    "arrow_head": "load_arrow_head",
    "acsf1": "load_acsf1",
    "osuleaf": "load_osuleaf",
    "basic_motions": "load_basic_motions",
}
ROCKETS = {"minirocket": "MiniRocket", "multirocket": "MultiRocket", "hydra": "HydraTransformer"}
RIDGES = np.logspace(-3, 3, 10)
FIELDS, CELLS = (5, 7, 9), 4
"""Sides of the patches that filters see, and cells of the grid on each side of an image."""
LEAST_PROBABILITY = 1e-7
MOST_RATIO = 1.2


class HimalayaHead:
    """himalaya's RidgeCV on ±1 targets, the largest output decides."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "HimalayaHead":
        """Fit, with five folds."""
        ridge = import_module("himalaya.ridge")
        self.classes_, codes = np.unique(y, return_inverse=True)
        targets = 2.0 * np.eye(len(self.classes_))[codes] - 1.0
        self.model = ridge.RidgeCV(alphas=RIDGES, fit_intercept=True, cv=5).fit(X, targets)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The class with the largest output."""
        return self.classes_[np.argmax(self.model.predict(X), axis=1)]


def prevalidated() -> Any:
    """aeon's head."""
    return import_module("aeon.classification.sklearn").PrevalidatedRidgeClassifier()


HEADS: dict[str, tuple[str, Callable[[], Any]]] = {
    "PinvClassifier": ("pinvlearn", pl.PinvClassifier),
    "RidgeClassifierCV": ("sklearn", lambda: RidgeClassifierCV(alphas=RIDGES)),
    "PrevalidatedRidge": ("aeon", prevalidated),
    "himalaya RidgeCV": ("himalaya", HimalayaHead),
    "LogisticRegression": ("sklearn", lambda: LogisticRegression(max_iter=1000)),
}
OURS = "PinvClassifier"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Three draws; rows of MNIST, and limits of a cell."""
    parser.set_defaults(repeats=3)
    parser.add_argument("--rows", type=int, default=60_000, help="training images of MNIST")
    parser.add_argument("--learners", nargs="+", default=list(HEADS), help="only these heads")
    parser.add_argument("--cell-limit", type=float, default=1800.0, help="seconds of a cell")
    parser.add_argument("--memory", type=float, default=20.0, help="GiB of a cell beyond features")
    parser.add_argument(
        "--stop-after", type=float, default=np.inf, help="seconds after which no cell is begun"
    )


def feature_names() -> list[str]:
    """What is made by default, smallest first; other widths have to be named."""
    names = list(TABLES)
    if find_spec("aeon"):
        rockets = [name for name in ROCKETS if name != "hydra" or find_spec("torch")]
        names = [f"{rocket} {series}" for series in SERIES for rocket in rockets] + names
    return [*names, "mnist relu 4096"]


def run(args: argparse.Namespace) -> Result:
    """Every head on every draw of all features."""
    unknown = sorted(set(args.learners) - set(HEADS))
    if unknown:
        raise SystemExit(f"no head is called {unknown[0]!r}; there are {', '.join(HEADS)}.")
    features = args.datasets or feature_names()
    heads = [name for name in args.learners if find_spec(HEADS[name][0])]
    began = time.monotonic()

    def pieces() -> Iterator[dict[str, Any]]:
        for draw in range(args.repeats):
            for name in features:
                for head in heads:
                    if time.monotonic() - began < args.stop_after:
                        yield {"features": name, "draw": draw, "head": head}

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        parts = made(piece["features"], args.seed + piece["draw"], args.rows)
        yield in_own_process(
            lambda: judged(HEADS[piece["head"]][1](), *parts), args.cell_limit, args.memory
        )

    records = collect(args, pieces(), measure)
    captions = {
        "accuracy": "Accuracy, percent",
        "log_loss": "Log-loss",
        "cpu_seconds": "CPU seconds to fit",
        "seconds": "Wall seconds to fit",
        "megabytes": "Megabytes beyond the features, to fit and to test",
    }
    tables = [table(records, key, caption) for key, caption in captions.items()]
    return Result(
        settings_of(args),
        tables,
        [*findings(records), *left_out(records, args)],
        records=records,
    )


Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@lru_cache(1)
def made(name: str, seed: int, rows: int) -> Parts:
    """Standardised features and classes, to learn from and to be judged by."""
    kind, _, rest = name.partition(" ")
    if kind in ROCKETS:
        train, y, test, t = series_features(kind, rest, seed)
    elif kind == "mnist":
        of, width = rest.split()
        train, y, test, t = mnist_features(of, int(width), seed, rows)
    else:
        arrays = load_arrays(name)
        learn, judge = random_split(len(arrays["y"]), seed, 0.3)
        X, classes = arrays["X"].astype(float), arrays["y"].astype(np.intp)
        train, y, test, t = X[learn], classes[learn], X[judge], classes[judge]
    scaler = StandardScaler().fit(train)
    return scaler.transform(train), y, scaler.transform(test), t


def series_features(kind: str, series: str, seed: int) -> Parts:
    """Features of aeon's own split, drawn anew for every seed."""
    load = getattr(import_module("aeon.datasets"), SERIES[series])
    (X, y), (new, t) = load(split="train"), load(split="test")
    convolutions = import_module("aeon.transformations.collection.convolution_based")
    rocket = getattr(convolutions, ROCKETS[kind])(random_state=seed)
    train, test = np.asarray(rocket.fit_transform(X)), np.asarray(rocket.transform(new))
    classes = np.unique(y)
    return train, np.searchsorted(classes, y), test, np.searchsorted(classes, t)


def mnist_features(kind: str, width: int, seed: int, rows: int) -> Parts:
    """So many features of all training and test images."""
    arrays = load_arrays("mnist")
    y = arrays["y"].astype(np.intp)
    train = np.flatnonzero(~arrays["is_test"])[:rows]
    test = np.flatnonzero(arrays["is_test"])
    made = [MNIST[kind](arrays["X"][part], width, seed) for part in (train, test)]
    return made[0], y[train], made[1], y[test]


def projections(X: np.ndarray, width: int, seed: int) -> np.ndarray:
    """max(0, XW + b) of the images, W and b Gaussian."""
    rng = np.random.default_rng(seed)
    W, b = rng.standard_normal((X.shape[1], width)) / X.shape[1] ** 0.5, rng.standard_normal(width)
    return np.maximum(X / 128.0 @ W + 0.1 * b, 0.0)


def fields(X: np.ndarray, width: int, seed: int) -> np.ndarray:
    """max(0, patch·filter), summed up over the cells of a grid on the image.

    Filters are Gaussian, without mean and of unit norm, and applied to every patch inside the
    image.  Made in single precision.  Sizes and grid were chosen by training images that were held
    out.

    Dempster, Webb and Schmidt (2024, arXiv 2401.15610, results of its repository) have random
    projections of MNIST, all 60,000 rows, with errors of 4.04, 3.02, 2.06, 1.50, 1.33, 1.16 and
    0.95 % and log-losses of .136, .094, .0636, .0499, .0403, .0355 and .0315 by PrevalidatedRidge
    at 256, 512, …, 16,384 features.  These here gave it 3.79, 2.37, 1.84 and 1.53 %, and .114,
    .075, .054 and .042, at 256 to 2,048: about theirs.  Dense projections have 10 % at 256.
    """
    side, rng = round(X.shape[1] ** 0.5), np.random.default_rng(seed)
    images = X.reshape(-1, side, side)
    parts = []
    for size, share in zip(
        FIELDS, np.array_split(np.arange(-(-width // CELLS**2)), len(FIELDS)), strict=True
    ):
        W = rng.standard_normal((size**2, len(share)))
        W -= W.mean(axis=0)
        W = (W / np.linalg.norm(W, axis=0)).astype(np.float32)
        cells = np.array_split(np.arange(side - size + 1), CELLS)
        pool = np.array([np.isin(np.arange(side - size + 1), cell) for cell in cells], np.float32)
        parts.append(np.vstack([pooled(batch, W, pool) for batch in batches(images)]))
    return np.hstack(parts)[:, :width].astype(np.float64)


def batches(images: np.ndarray, size: int = 250) -> Iterator[np.ndarray]:
    """Some images at a time, with numbers from 0 to 1."""
    return (images[i : i + size].astype(np.float32) / 255.0 for i in range(0, len(images), size))


def pooled(images: np.ndarray, W: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """The responses of some images to filters of one size, of shape (images, features)."""
    size = round(len(W) ** 0.5)
    patches = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    responses = np.maximum(patches.reshape(*patches.shape[:3], -1) @ W, 0.0)
    rows = np.einsum("gi,nijf->ngjf", pool, responses, optimize=True)
    return np.einsum("hj,ngjf->nghf", pool, rows, optimize=True).reshape(len(images), -1)


MNIST: dict[str, Callable[[np.ndarray, int, int], np.ndarray]] = {
    "relu": projections,
    "fields": fields,
}


def judged(model: Any, X: np.ndarray, y: np.ndarray, new: np.ndarray, t: np.ndarray) -> Record:
    """Fit and test one head."""
    before = peak_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wall, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        right = model.predict(new) == t
        loss = None
        if hasattr(model, "predict_proba"):
            chances = model.predict_proba(new)[
                np.arange(len(t)), np.searchsorted(model.classes_, t)
            ]
            loss = float(-np.log(np.maximum(chances, LEAST_PROBABILITY)).mean())
    return {
        "shape": list(X.shape),
        "accuracy": 100.0 * float(right.mean()),
        "log_loss": loss,
        "seconds": wall,
        "cpu_seconds": cpu,
        "megabytes": (peak_bytes() - before) / 1e6,
    }


def table(records: Sequence[Record], key: str, caption: str) -> Table:
    """Means of the draws; the limit that was reached where there are none."""
    heads = [name for name in HEADS if any(r["head"] == name for r in records)]
    digits = {"accuracy": 2, "log_loss": 4, "megabytes": 0}.get(key, 2)
    rows = []
    for name in dict.fromkeys(r["features"] for r in records):
        shape = next((r["shape"] for r in records if r["features"] == name and "shape" in r), "")
        row = [name, " × ".join(map(str, shape))]
        for head in heads:
            own = [r for r in records if (r["features"], r["head"]) == (name, head)]
            failed = [r.get("limit", "failed") for r in own if "failed" in r]
            known = [r[key] for r in own if r.get(key) is not None]
            row.append(failed[0] if failed else f"{np.mean(known):.{digits}f}" if known else None)
        rows.append(row)
    return Table(f"{caption}, mean of the draws", ["features", "training rows", *heads], rows)


def findings(records: Sequence[Record]) -> list[str]:
    """Ours beside each peer, on the cells that both have finished."""
    good = {(r["features"], r["draw"], r["head"]): r for r in records if "failed" not in r}
    said = []
    for peer in [name for name in HEADS if name != OURS]:
        both = [
            (own, good[name, draw, peer])
            for (name, draw, head), own in good.items()
            if head == OURS and (name, draw, peer) in good
        ]
        if not both:
            continue
        gain = [own["accuracy"] - other["accuracy"] for own, other in both]
        ratio = [other["cpu_seconds"] / max(own["cpu_seconds"], 1e-3) for own, other in both]
        text = (
            f"Beside {peer}, {len(both)} cells: accuracy {np.mean(gain):+.2f} points in the mean "
            f"({min(gain):+.2f} to {max(gain):+.2f}); its CPU time is {np.median(ratio):.1f} times "
            f"ours in the median ({min(ratio):.2f} to {max(ratio):.1f})"
        )
        said.append(f"{text}{beside(good, peer)}.")
    return said + beside_the_best(good)


Good = Mapping[tuple[str, int, str], Record]


def differences(good: Good, name: str, head: str, peer: str, key: str) -> np.ndarray:
    """Ours less the peer's, on the draws of some features that both have finished."""
    draws = sorted({draw for features, draw, _ in good if features == name})
    both = [(good.get((name, d, head)), good.get((name, d, peer))) for d in draws]
    known = [(a[key], b[key]) for a, b in both if a and b and a[key] is not None and b[key]]
    return np.array([a - b for a, b in known])


def standard_error(values: np.ndarray) -> float:
    """Of their mean; 0 for one."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def beside(good: Good, peer: str) -> str:
    """Log-losses beside a peer's, means of the draws, if it has any."""
    ratios, no_larger = {}, 0
    for name in dict.fromkeys(features for features, *_ in good):
        gap = differences(good, name, OURS, peer, "log_loss")
        if len(gap):
            theirs = [good[key]["log_loss"] for key in good if key[0] == name and key[2] == peer]
            ratios[name] = 1.0 + gap.mean() / np.mean(theirs)
            no_larger += bool(gap.mean() <= standard_error(gap))
    if not ratios:
        return ""
    worst = max(ratios, key=lambda name: ratios[name])
    above = ", ".join(name for name, ratio in ratios.items() if ratio > MOST_RATIO)
    return (
        f"; our log-loss is no larger, by more than a standard error, on {no_larger} of "
        f"{len(ratios)} features, and {ratios[worst]:.2f} times its own at worst ({worst}); above "
        f"{MOST_RATIO} times: {above or 'none'}"
    )


def beside_the_best(good: Good) -> list[str]:
    """Where some head is more accurate by more than a standard error."""
    lower = []
    for name in dict.fromkeys(features for features, *_ in good):
        for peer in [head for head in HEADS if head != OURS]:
            gap = differences(good, name, OURS, peer, "accuracy")
            if len(gap) and gap.mean() < -max(standard_error(gap), 1e-9):
                lower.append(f"{peer} on {name} ({-gap.mean():.2f} points)")
    return [f"More accurate than ours by more than a standard error: {', '.join(lower) or 'none'}."]


def left_out(records: Sequence[Record], args: argparse.Namespace) -> list[str]:
    """What failed, and what was not run."""
    said = [
        f"{r['head']} on {r['features']}, draw {r['draw']}: {r['failed']}."
        for r in records
        if "failed" in r
    ]
    if any(r["features"].startswith("mnist") for r in records) and args.rows < 60_000:
        said.append(f"MNIST: the first {args.rows:,} of its 60,000 training images.")
    wanted = [*feature_names(), "mnist relu 8192", "mnist relu 16384"]
    draws = {name: {r["draw"] for r in records if r["features"] == name} for name in wanted}
    few = [f"{name} ({len(own)})" for name, own in draws.items() if len(own) < args.repeats]
    if few:
        said.append(f"Of {args.repeats} draws fewer were run: {', '.join(few)}.")
    if not any(r["features"].startswith("hydra") for r in records):
        said.append("Hydra, which needs torch, was not run.")
    missing = [name for name in HEADS if not any(r["head"] == name for r in records)]
    return said + [f"{name} was not run." for name in missing]
