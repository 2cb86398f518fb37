"""Engines on this machine, and what they cost: Dask and Spark with a number of worker processes."""

import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from sklearn.base import clone

Fit = Callable[[Any, Any], Any]
"""(estimator, block source) → fitted estimator."""


@dataclass(frozen=True)
class Cost:
    """Wall seconds, CPU seconds of all processes, and the result."""

    seconds: float
    cpu_seconds: float
    value: Any


def missing(engine: str) -> str | None:
    """Why an engine cannot run here; None if it can."""
    module = {"dask": "distributed", "spark": "pyspark"}.get(engine)
    if module is not None and find_spec(module) is None:
        return f"{module} is not installed"
    if engine == "spark" and not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        return "Java is not installed"
    return None


@contextmanager
def running(engine: str, workers: int) -> Iterator[Fit]:
    """A fit function on one engine, for as long as its workers run; each has one thread."""
    if engine == "spark":
        with _spark(workers) as fit:
            yield fit
    elif engine == "dask":
        with _dask(workers) as fit:
            yield fit
    else:
        yield (
            lambda estimator, blocks: (
                clone(estimator).set_params(n_jobs=workers).fit_blocks(blocks, quiet=True)
            )
        )


@contextmanager
def _dask(workers: int) -> Iterator[Fit]:
    from distributed import Client, LocalCluster

    import pinvlearn.dask

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, **options) as cluster,
        Client(cluster),
    ):
        yield pinvlearn.dask.fit


@contextmanager
def _spark(workers: int) -> Iterator[Fit]:
    import pinvlearn.spark

    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    session = spark_session(workers)
    try:
        yield pinvlearn.spark.fit
    finally:
        session.stop()


def spark_session(workers: int, **more: str) -> Any:
    """Spark with so many executors, which listen on this machine alone; `more` are its options."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    options = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.log.level": "OFF",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1024]")
    return builder.config(map=options | more).getOrCreate()


def cost(function: Callable[[], Any]) -> Cost:
    """What one call costs in this process and all that it has started."""
    started, cpu = time.perf_counter(), processor_seconds()
    value = function()
    return Cost(time.perf_counter() - started, processor_seconds() - cpu, value)


def processor_seconds() -> float:
    """CPU seconds of this process and of all below it, the living and those that have ended."""
    import psutil

    me = psutil.Process()
    total = time.process_time() + sum(me.cpu_times()[2:4])  # psutil counts in hundredths
    for process in me.children(recursive=True):
        try:
            total += sum(process.cpu_times()[:4])  # user, system, and both of ended children
        except psutil.NoSuchProcess:
            continue
    return total
