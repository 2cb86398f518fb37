"""What a result depends on besides the code: processor, versions, threads, command line."""

import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info

from benchmarks.threads import processors

PACKAGES = (
    "pinvlearn",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "threadpoolctl",
    "fbpca",
    "scikit-surprise",
    "cornac",
    "cmfrec",
    "myfm",
    "lightgbm",
    "catboost",
    "xrfm",
    "torch",
    "implicit",
)


def describe(threads: int) -> dict[str, object]:
    """The environment as plain values, without host names or paths."""
    return {
        "cpu": cpu_model(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "blas": [
            {key: pool.get(key) for key in ("internal_api", "version", "architecture")}
            for pool in threadpool_info()
            if pool.get("user_api") == "blas"
        ],
        "threads": threads,
        "processors": processors(),
    }


def cpu_model() -> str:
    """The processor's name as the operating system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    models = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or "unknown")


def command_line(argv: Sequence[str]) -> str:
    """The command without its output folder, so that no path enters a result."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if not (skip or word == "--out" or word.startswith("--out=")):
            kept.append(word)
        skip = word == "--out"
    return " ".join([Path(sys.executable).name, "-m", "benchmarks", *kept])


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
