"""What does a fit on a GPU cost, beside scikit-learn's on the same card?

RBF networks with the ridge chosen by exact leave-one-out over 31 ridges, beside scikit-learn's
Nystroem + RidgeCV on torch with as many centres, the same width and the same ridges; the sums of an
extreme SVM beside the rate of a matrix product, counted as 2np² flops; a truncated SVD beside
scikit-learn's randomized_svd. All in float64, warmed up and synchronised. Needs torch with CUDA
and SCIPY_ARRAY_API=1; without them it says so and measures nothing.

Conclusion: the table has the figures; where the rows are few, host work between the kernels is what
takes the time.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import pinvlearn
from benchmarks.collect import collect, settings_of
from benchmarks.result import Record, Result, Table

NAMES = {"gpu": "fits on a GPU, beside scikit-learn's on the same card"}
SIZES = ((100_000, 1000), (200_000, 2000), (200_000, 4000), (500_000, 8000))
FEATURES, SVM_ROWS, SVM_FEATURES, SVM_NODES = 18, 4_000_000, 54, 2048


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Sizes come from the module; repeats may be few."""
    parser.set_defaults(repeats=2)


def run(args: argparse.Namespace) -> Result:
    """Measure every piece on the card."""
    import sklearn
    import torch

    if not torch.cuda.is_available():
        return Result(settings_of(args), [], ["torch sees no CUDA device: nothing was measured"])

    def measure(piece: Mapping[str, Any]) -> Iterator[Record]:
        with sklearn.config_context(array_api_dispatch=True):
            yield from KINDS[piece["kind"]](torch, piece, args.repeats)

    pieces = [{"kind": "gemm", "rows": 8192, "units": 8192}]
    pieces += [{"kind": "svm", "rows": SVM_ROWS, "units": SVM_NODES}]
    pieces += [{"kind": "svd", "rows": 1_000_000, "units": 64}]
    pieces += [{"kind": "rbf", "rows": rows, "units": units} for rows, units in SIZES]
    records = collect(args, pieces, measure)
    columns = ["what", "rows", "units", "method", "seconds", "peak, GB", "rate, Tflop/s", "error"]
    keys = ("kind", "rows", "units", "method", "seconds", "peak", "rate", "error")
    rows = [[record[key] for key in keys] for record in records]
    note = f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float64."
    table = Table("On a GPU", columns, rows, [note])
    return Result(settings_of(args), [table], findings(records), records=records)


def findings(records: Sequence[Record]) -> list[str]:
    """Ratios to scikit-learn's pair, and shares of the rate of a matrix product."""
    rate = next(record["rate"] for record in records if record["kind"] == "gemm")
    found = [
        f"extreme SVM, {record['method']}: {record['rate'] / rate:.2f} of the rate of gemm."
        for record in records
        if record["kind"] == "svm"
    ]
    pairs = [record for record in records if record["kind"] in ("rbf", "svd")]
    for ours, theirs in zip(pairs[::2], pairs[1::2], strict=True):
        if theirs["seconds"] is not None:
            found.append(
                f"{ours['method']}, {ours['rows']:,} rows, {ours['units']:,} units: "
                f"{theirs['seconds'] / ours['seconds']:.1f} times as fast as "
                f"{theirs['method']}, in {ours['peak'] / theirs['peak']:.2f} of its memory."
            )
    return found


def _timed(torch: Any, function: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """The shortest of some runs after a first one, its peak of memory, and the result."""
    function()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    seconds = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = function()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds), torch.cuda.max_memory_allocated() / 1e9, result


def _record(method: str, timed: tuple[float, float, Any], flops: float, error: Any) -> Record:
    seconds, peak, _ = timed
    rate = flops / seconds / 1e12 if flops else None
    return {"method": method, "seconds": seconds, "peak": peak, "rate": rate, "error": error}


def _rows(torch: Any, n: int, d: int) -> tuple[Any, Any]:
    stream = torch.Generator(device="cuda").manual_seed(0)
    made = {"dtype": torch.float64, "device": "cuda", "generator": stream}
    X = torch.randn(n, d, **made)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * torch.randn(n, **made)


def _gemm(torch: Any, piece: Mapping[str, Any], repeats: int) -> Iterator[Record]:
    n = piece["units"]
    A = torch.randn(n, n, dtype=torch.float64, device="cuda")
    yield _record("torch", _timed(torch, lambda: A @ A, repeats), 2.0 * n**3, None)


def _svm(torch: Any, piece: Mapping[str, Any], repeats: int) -> Iterator[Record]:
    X, y = _rows(torch, piece["rows"], SVM_FEATURES)
    y = (y > 0.0).to(torch.int64)
    flops = 2.0 * piece["rows"] * piece["units"] ** 2

    def model() -> Any:
        return pinvlearn.ExtremeSVMClassifier(piece["units"], random_state=0)

    yield _record("fit", _timed(torch, lambda: model().fit(X, y), repeats), flops, None)
    added = _timed(torch, lambda: model().partial_fit(X, y).coef_, repeats)
    yield _record("partial_fit", added, flops, None)


def _svd(torch: Any, piece: Mapping[str, Any], repeats: int) -> Iterator[Record]:
    from sklearn.utils.extmath import randomized_svd

    stream = torch.Generator(device="cuda").manual_seed(0)
    made = {"dtype": torch.float64, "device": "cuda", "generator": stream}
    scales = torch.logspace(0, -3, 1024, dtype=torch.float64, device="cuda")
    A, k = torch.randn(piece["rows"], 1024, **made) * scales, piece["units"]
    ours = _timed(torch, lambda: pinvlearn.svd(A, k, rng=0), repeats)
    yield _record("svd", ours, 0.0, pinvlearn.frobenius_error(A, ours[2]))
    theirs = _timed(torch, lambda: randomized_svd(A, k, random_state=0), repeats)
    found = pinvlearn.SVD(*theirs[2])
    yield _record("randomized_svd", theirs, 0.0, pinvlearn.frobenius_error(A, found))


def _rbf(torch: Any, piece: Mapping[str, Any], repeats: int) -> Iterator[Record]:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline

    n, p = piece["rows"], piece["units"]
    X, y = _rows(torch, n, FEATURES)
    gamma = 1.0 / FEATURES

    def ours() -> Any:
        return pinvlearn.RBFNetworkRegressor(p, gamma=gamma, random_state=0).fit(X, y)

    timed = _timed(torch, ours, repeats)
    alphas = timed[2].alphas_
    yield _record("RBFNetworkRegressor", timed, 0.0, -float(np.max(timed[2].loo_scores_)))
    del timed

    def theirs() -> Any:
        pair = make_pipeline(
            Nystroem(gamma=gamma, n_components=p, random_state=0), RidgeCV(alphas=alphas)
        )
        return pair.fit(X, y)

    try:
        timed = _timed(torch, theirs, 1)
    except Exception as failure:  # out of memory, most likely, which is a figure too
        why = f"{type(failure).__name__}: {str(failure)[:80]}"
        yield {
            "method": "Nystroem + RidgeCV",
            "seconds": None,
            "peak": None,
            "rate": None,
            "error": why,
        }
        return
    score = -float(timed[2][-1].best_score_)
    yield _record("Nystroem + RidgeCV", timed, 0.0, score)


KINDS = {"gemm": _gemm, "svm": _svm, "svd": _svd, "rbf": _rbf}
