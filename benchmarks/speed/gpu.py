"""What does a fit on a GPU cost, beside scikit-learn's or torch's own on the same card?

All in float64, synchronised, and warmed up where a run takes seconds. Parts: `gemm` the rate of a
matrix product; `rbf` networks with the ridge chosen by exact leave-one-out over 31 ridges, beside
scikit-learn's Nystroem + RidgeCV on torch with as many centres, the same width and ridges; `svm`
the sums of an extreme SVM, counted as 2np² flops, from rows of the card and of the host; `large`
five million rows and 10,000 centres; `pca` and `svd` beside scikit-learn's; `kernel` machines
beside torch's own Cholesky; `mnist` through receptive fields, with images moved by a pixel in all
four directions; `host` the same on two processor cores, where that takes minutes. Needs torch with
CUDA and SCIPY_ARRAY_API=1, and mnist.npz under PINVLEARN_DATA; what is missing is said.

Conclusion: sums of an extreme SVM run at the rate of a matrix product, from the host at two thirds
of it; PCA and SVD are ahead of scikit-learn's, and MNIST is read at 99.4 to 99.5 % (as centres are
drawn) after a fit of 0.7 seconds. RBF networks are 14 to 21 times as fast as Nystroem + RidgeCV but
for the smallest size, 8.6 times: of its 34 milliseconds the card works 20, 11 of them on the
eigendecomposition, and waits for some 600 calls of the host in the rest, which check rows before
and bound errors after. On a host that is warm it took 30. Kernel machines take two to four times
the time of torch's own Cholesky, since they measure their error and, of low rank, choose their
pivots. Two cores take 100 to 500 times as long.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import array_api_compat
import numpy as np
import sklearn
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.files import load_arrays
from benchmarks.result import Record, Result, Table

NAMES = {"gpu": "fits on a GPU, beside scikit-learn's on the same card"}
SIZES = ((100_000, 1000), (200_000, 2000), (200_000, 4000), (500_000, 8000))
CARD, FEATURES, SVM_FEATURES = "cuda", 18, 54
WARM, SHORT = 5.0, 0.1
"""A first run of more seconds is not repeated; one of fewer is, five times as often: it ends
before the host's clock has risen."""
MOVES = ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))
FIELDS: tuple[dict[str, Any], ...] = (
    {"n_filters": 32, "size": 9, "pool": 8, "pool_stride": 4, "contrast": 0.1, "random_state": 0},
    {"n_filters": 16, "size": 5, "pool": 8, "pool_stride": 4, "contrast": 0.1, "random_state": 0},
)
COMPONENTS, WIDTH, ALPHA = 600, 0.3, 1e-6
"""Of the fields together; a ridge for 60,000 rows.  Chosen, with `FIELDS`, on the last 10,000
training images."""

Timed = tuple[float, float | None, Any]
Piece = Mapping[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which parts, and how often."""
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.set_defaults(repeats=2)


def run(args: argparse.Namespace) -> Result:
    """Measure every piece on the card; what fails is told in its place."""
    import torch

    if not torch.cuda.is_available():
        return Result(settings_of(args), [], ["torch sees no CUDA device: nothing was measured"])

    def measure(piece: Piece) -> Iterator[Record]:
        torch.cuda.empty_cache()
        try:
            with sklearn.config_context(array_api_dispatch=True):
                yield from PARTS[piece["kind"]][0](torch, piece, args.repeats)
        except Exception as failure:  # which is a figure too
            why = f"{type(failure).__name__}: {' '.join(str(failure).split())[:120]}"
            yield {"method": "failed", "seconds": None, "peak": None, "rate": None, "error": why}

    pieces = [
        {"kind": kind, "rows": rows, "units": units}
        for kind in args.parts
        for rows, units in PARTS[kind][1]
    ]
    records = collect(args, pieces, measure)
    columns = ["what", "rows", "units", "method", "seconds", "peak, GB", "rate, Tflop/s", "error"]
    keys = ("kind", "rows", "units", "method", "seconds", "peak", "rate", "error")
    rows = [[record[key] for key in keys] for record in records]
    note = (
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float64. Errors: of rbf, "
        "large the mean square of rows left out, of kernel that of other rows, of svd and "
        "pca the Frobenius norm of what is left, of mnist the share of test images misread."
    )
    table = Table("On a GPU", columns, rows, [note])
    return Result(settings_of(args), [table], findings(records), records=records)


def findings(records: Sequence[Record]) -> list[str]:
    """Ratios to the method that comes next, and shares of the rate of a matrix product."""
    done = [record for record in records if record["seconds"] is not None]
    found = [
        f"{record['kind']}, {record['rows']:,} rows: {record['method']} {record['error']}."
        for record in records
        if record["seconds"] is None
    ]
    rate = next((record["rate"] for record in done if record["kind"] == "gemm"), None)
    if rate is not None:
        found += [
            f"extreme SVM, {record['method']}: {record['rate'] / rate:.2f} of the rate of gemm."
            for record in done
            if record["kind"] == "svm"
        ]
    for ours, theirs in zip(done, done[1:], strict=False):
        if any(ours[key] != theirs[key] for key in ("kind", "rows", "units")):
            continue
        if ours["kind"] in ("rbf", "svd", "pca", "kernel") and theirs["method"] in THEIRS:
            found.append(
                f"{ours['method']}, {ours['rows']:,} rows, {ours['units']:,} units: "
                f"{theirs['seconds'] / ours['seconds']:.1f} times as fast as "
                f"{theirs['method']}, in {ours['peak'] / theirs['peak']:.2f} of its memory."
            )
    for record in done:
        if record["kind"] == "large":
            found.append(f"5 million rows, 10,000 centres, {record['method']}: {_seconds(record)}.")
        if record["kind"] == "mnist":
            found.append(
                f"MNIST, {record['units']:,} kernels: {100 * (1 - record['error']):.2f} % of the "
                f"test images, {_seconds(record)} from images to network."
            )
    return found


def _seconds(record: Record) -> str:
    return f"{record['seconds']:.1f} s"


def _timed(torch: Any, function: Callable[[], Any], repeats: int) -> Timed:
    """The shortest of some runs after a first one, its peak of memory, and the result."""
    first = _once(torch, function)
    if first[0] > WARM:
        return first
    repeats *= 5 if first[0] < SHORT else 1
    del first
    return min((_once(torch, function) for _ in range(repeats)), key=lambda timed: timed[0])


def _once(torch: Any, function: Callable[[], Any]) -> Timed:
    torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start = time.perf_counter()
    result = function()
    torch.cuda.synchronize()
    return time.perf_counter() - start, torch.cuda.max_memory_allocated() / 1e9, result


def _record(method: str, timed: Timed, flops: float = 0.0, error: Any = None) -> Record:
    seconds, peak, _ = timed
    rate = flops / seconds / 1e12 if flops else None
    return {"method": method, "seconds": seconds, "peak": peak, "rate": rate, "error": error}


def _rows(torch: Any, n: int, d: int, seed: int = 0, device: str | None = None) -> tuple[Any, Any]:
    device = device or CARD
    stream = torch.Generator(device=device).manual_seed(seed)
    made = {"dtype": torch.float64, "device": device, "generator": stream}
    X = torch.randn(n, d, **made)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * torch.randn(n, **made)


def _left_out(model: Any) -> float:
    return -float(np.max(model.loo_scores_))


def _gemm(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    n = piece["units"]
    A = torch.randn(n, n, dtype=torch.float64, device=CARD)
    yield _record("torch", _timed(torch, lambda: A @ A, repeats), 2.0 * n**3)


def _rbf(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    n, p = piece["rows"], piece["units"]
    X, y = _rows(torch, n, FEATURES)
    gamma = 1.0 / FEATURES

    def ours() -> Any:
        return pinvlearn.RBFNetworkRegressor(p, gamma=gamma, random_state=0).fit(X, y)

    timed = _timed(torch, ours, repeats)
    alphas = timed[2].alphas_
    yield _record("RBFNetworkRegressor", timed, error=_left_out(timed[2]))
    del timed

    def theirs() -> Any:
        features = Nystroem(gamma=gamma, n_components=p, random_state=0)
        return make_pipeline(features, RidgeCV(alphas=alphas)).fit(X, y)

    timed = _timed(torch, theirs, 1)
    yield _record(NYSTROEM, timed, error=-float(timed[2][-1].best_score_))


def _svm(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    n, p = piece["rows"], piece["units"]
    X, y = _rows(torch, n, SVM_FEATURES)
    y = (y > 0.0).to(torch.int64)
    flops = 2.0 * n * p**2

    def model() -> Any:
        return pinvlearn.ExtremeSVMClassifier(p, random_state=0)

    yield _record("fit", _timed(torch, lambda: model().fit(X, y), repeats), flops)
    added = _timed(torch, lambda: model().partial_fit(X, y).coef_, repeats)
    yield _record("partial_fit", added, flops)
    X, y = X.cpu().numpy(), y.cpu().numpy()
    cuts = [slice(i, i + BLOCK) for i in range(0, n, BLOCK)]
    blocks = [(X[rows], y[rows]) for rows in cuts]
    sent = _timed(torch, lambda: model().fit_blocks(blocks, device=CARD, quiet=True), repeats)
    yield _record("fit_blocks, from the host", sent, flops)


def _large(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    X, y = _rows(torch, piece["rows"], FEATURES)
    options = {"gamma": 1.0 / FEATURES, "random_state": 0}
    ways: dict[str, dict[str, Any]] = {
        "one alpha": {"alpha": 1e-3, "loo_scoring": None},
        "generalised cross-validation": {"loo_scoring": None},
        "leave-one-out": {},
    }
    for name, more in ways.items():
        model = pinvlearn.RBFNetworkRegressor(piece["units"], **options, **more)
        timed = _once(torch, lambda model=model: model.fit(X, y))
        yield _record(name, timed, error=None if more else _left_out(model))


def _pca(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    A, k = _falling(torch, piece["rows"]), piece["units"]
    ways = {
        "FastPCA": pinvlearn.FastPCA(k, random_state=0),
        "PCA, covariance_eigh": PCA(k, svd_solver="covariance_eigh"),
    }
    for name, model in ways.items():
        timed = _timed(torch, lambda model=model: model.fit(A), repeats)
        held = float((timed[2].singular_values_.double() ** 2).sum())
        total = float(((A - A.mean(dim=0)) ** 2).sum())
        yield _record(name, timed, error=max(total - held, 0.0) ** 0.5)


def _svd(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    A, k = _falling(torch, piece["rows"]), piece["units"]
    ours = _timed(torch, lambda: pinvlearn.svd(A, k, rng=0), repeats)
    yield _record("svd", ours, error=pinvlearn.frobenius_error(A, ours[2]))
    theirs = _timed(torch, lambda: randomized_svd(A, k, random_state=0), repeats)
    error = pinvlearn.frobenius_error(A, pinvlearn.SVD(*theirs[2]))
    yield _record("randomized_svd", theirs, error=error)


def _falling(torch: Any, n: int) -> Any:
    """Columns of falling size."""
    stream = torch.Generator(device=CARD).manual_seed(0)
    scales = torch.logspace(0, -3, 1024, dtype=torch.float64, device=CARD)
    made = {"dtype": torch.float64, "device": CARD, "generator": stream}
    return torch.randn(n, 1024, **made) * scales


def _kernel(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    n, k = piece["rows"], piece["units"]
    (X, y), (new, target) = _rows(torch, n, FEATURES), _rows(torch, 10_000, FEATURES, seed=1)
    gamma, alpha, exact = 1.0 / FEATURES, 0.1, n == k
    how = {"solver": "exact"} if exact else {"solver": "rpcholesky", "rank": k}
    options = {"gamma": gamma, "alpha": alpha, "random_state": 0, **how}

    def error(outputs: Any) -> float:
        return float(((outputs - target) ** 2).mean())

    for name, more in {"with leave-one-out": {}, "": {"loo_scoring": None}}.items():
        model = pinvlearn.KernelELMRegressor(**options, **more)
        timed = _timed(torch, lambda model=model: model.fit(X, y), repeats)
        words = f"KernelELMRegressor {name}".strip()
        yield _record(words, timed, error=error(timed[2].predict(new)))

    def kernel(left: Any, right: Any) -> Any:
        squares = (left**2).sum(1)[:, None] + (right**2).sum(1) - 2.0 * left @ right.T
        return torch.exp(-gamma * squares.clamp_(min=0.0))

    def theirs() -> Any:
        if exact:
            K = kernel(X, X)
            K.diagonal().add_(alpha)
            return torch.cholesky_solve(y[:, None], torch.linalg.cholesky(K))
        C = kernel(X, X[:k])
        A = (C.T @ C).add_(kernel(X[:k], X[:k]), alpha=alpha)
        A.diagonal().add_(1e-10 * n)
        return torch.cholesky_solve(C.T @ y[:, None], torch.linalg.cholesky(A))

    timed = _timed(torch, theirs, repeats)
    centers = X if exact else X[:k]
    yield _record(CHOLESKY, timed, error=error((kernel(new, centers) @ timed[2])[:, 0]))


def _mnist(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    arrays = load_arrays("mnist")
    images, y, test = (
        arrays["X"].reshape(-1, 28, 28),
        arrays["y"].astype(np.int64),
        arrays["is_test"],
    )
    xp = np
    if piece["kind"] == "mnist":
        images, y, test = (torch.asarray(part, device=CARD) for part in (images, y, test))
        xp = array_api_compat.array_namespace(images)
    train, classes, copies = images[~test], y[~test], piece["rows"] // int((~test).sum())
    parts: list[Any] = []

    def features(images: Any) -> Any:
        *fields, scaler, pca = parts
        H = xp.concat([part.transform(images) for part in fields], axis=1)
        return pca.transform(scaler.transform(H))

    def fit() -> Any:
        parts[:] = [pinvlearn.ReceptiveFields(**options).fit(train) for options in FIELDS]
        H = xp.concat([part.transform(train) for part in parts], axis=1)
        scaler = StandardScaler().fit(H)
        pca = pinvlearn.FastPCA(COMPONENTS, random_state=0).fit(scaler.transform(H))
        del H
        parts.extend([scaler, pca])
        moved = [xp.roll(train, by, axis=(1, 2)) for by in MOVES[:copies]]
        Z = xp.concat([features(images) for images in moved])
        drawn = xp.asarray(np.random.default_rng(0).permutation(len(train))[: piece["units"]])
        gamma = WIDTH / (2.0 * float(xp.sum(xp.var(xp.astype(Z, xp.float64), axis=0))))
        return pinvlearn.RBFNetworkClassifier(
            piece["units"], centers=Z[drawn], gamma=gamma, alpha=copies * ALPHA,
            solver="cholesky", loo_scoring=None, n_jobs=2, random_state=0,
        ).fit(Z, xp.concat(copies * [classes]))  # fmt: skip

    timed = _timed(torch, fit, 1) if xp is not np else _on_two_cores(torch, fit)
    wrong = float((timed[2].predict(features(images[test])) != y[test]).sum()) / int(test.sum())
    yield _record("fields, RBFNetworkClassifier", timed, error=wrong)


def _host(torch: Any, piece: Piece, repeats: int) -> Iterator[Record]:
    """The same work on two cores, by NumPy."""
    n, k, what = piece["rows"], piece["units"], piece["kind"].removeprefix("host ")
    options = {"n_jobs": 2, "random_state": 0}
    if what in ("pca", "svd"):
        A = _falling(torch, n).cpu().numpy()
    else:
        width = SVM_FEATURES if what == "svm" else FEATURES
        X, y = (part.numpy() for part in _rows(torch, n, width, device="cpu"))
    gamma = 1.0 / FEATURES
    calls: dict[str, Callable[[], Any]] = {
        "rbf": lambda: pinvlearn.RBFNetworkRegressor(k, gamma=gamma, **options).fit(X, y),
        "svm": lambda: pinvlearn.ExtremeSVMClassifier(k, **options).fit(X, y > 0.0),
        "pca": lambda: pinvlearn.FastPCA(k, random_state=0).fit(A),
        "svd": lambda: pinvlearn.svd(A, k, rng=0),
        "kernel": lambda: pinvlearn.KernelELMRegressor(
            gamma=gamma, alpha=0.1, loo_scoring=None, random_state=0,
            **({"solver": "exact"} if n == k else {"solver": "rpcholesky", "rank": k}),
        ).fit(X, y),
        "large": lambda: pinvlearn.RBFNetworkRegressor(
            k, gamma=gamma, alpha=1e-3, loo_scoring=None, **options
        ).fit(X, y),
    }  # fmt: skip
    timed = _on_two_cores(torch, calls[what])
    error = _left_out(timed[2]) if what == "rbf" else None
    yield _record("two cores" + SMALLER.get((what, n, k), ""), timed, error=error)


def _on_two_cores(torch: Any, function: Callable[[], Any]) -> Timed:
    with threadpool_limits(2):
        seconds, _, fitted = _once(torch, function)
    return seconds, None, fitted


NYSTROEM, CHOLESKY = "Nystroem + RidgeCV", "torch's own Cholesky"
THEIRS = (NYSTROEM, CHOLESKY, "randomized_svd", "PCA, covariance_eigh")
BLOCK = 100_000
SMALLER = {
    ("rbf", 200_000, 4000): ", in place of 500,000 rows and 8,000 units",
    ("large", 400_000, 10_000): ", one alpha, in place of 5 million rows",
}
"""Marks of what would take longer than ten minutes on two cores as it is on the card."""
PARTS: dict[str, tuple[Callable[..., Iterator[Record]], Sequence[tuple[int, int]]]] = {
    "gemm": (_gemm, [(8192, 8192)]),
    "rbf": (_rbf, SIZES),
    "svm": (_svm, [(4_000_000, 2048)]),
    "pca": (_pca, [(1_000_000, 256)]),
    "svd": (_svd, [(1_000_000, 64)]),
    "kernel": (_kernel, [(20_000, 20_000), (1_000_000, 1024)]),
    "mnist": (_mnist, [(60_000, 8000), (300_000, 8000), (300_000, 20_000)]),
    "large": (_large, [(5_000_000, 10_000)]),
    "host rbf": (_host, SIZES[:3]),
    "host svm": (_host, [(4_000_000, 2048)]),
    "host pca": (_host, [(1_000_000, 256)]),
    "host svd": (_host, [(1_000_000, 64)]),
    "host kernel": (_host, [(20_000, 20_000), (1_000_000, 1024)]),
    "host mnist": (_mnist, [(60_000, 8000)]),
    "host large": (_host, [(400_000, 10_000)]),
}
"""What is measured, and at which rows and units."""
