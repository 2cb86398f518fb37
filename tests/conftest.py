"""Shared fixtures and the settings of hypothesis."""

import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import sklearn
from hypothesis import settings

from backends import BACKENDS, Backend

# Few examples, always the same ones: a failure here must fail for everybody.
settings.register_profile("pinvlearn", max_examples=25, deadline=None, derandomize=True)
settings.load_profile("pinvlearn")


CASES = 5
"""Of a longer table than this, so many cases, spread evenly, are tested on every change."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave the rest of long tables to `make test-all`.

    Products by `pairs.sweep` say themselves which rows are tested; scikit-learn's checks are no
    table.
    """
    tables = {}
    for item in items:
        if hasattr(item, "callspec") and "check" not in item.callspec.params:
            tables.setdefault(item.nodeid.split("[")[0], []).append(item)
    for cases in tables.values():
        if any(case.get_closest_marker("sweep") for case in cases):
            continue
        step = max(1.0, len(cases) / CASES)
        kept = {int(number * step) for number in range(CASES)}
        for place, case in enumerate(cases):
            if place not in kept:
                case.add_marker("sweep")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(params=BACKENDS)
def backend(request, monkeypatch):
    """A library of arrays, under scikit-learn's dispatch; those of a GPU are `make test-gpu`'s."""
    found = Backend.of(request.param)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield found


@pytest.fixture(scope="module")  # its threads draw random numbers, which hypothesis notices
def dask_client():
    """A Dask cluster of two workers in this process, to which everything is sent as bytes."""
    with _dask_cluster(processes=False, protocol="tcp://") as client:
        yield client


@pytest.fixture(scope="session")
def dask_processes():
    """A Dask cluster of two worker processes on this machine."""
    with _dask_cluster() as client:
        yield client


@contextmanager
def _dask_cluster(**options):
    import dask
    from distributed import Client, LocalCluster

    patient = {
        # A local cluster drops a worker for good that is away, perhaps for the second time, so
        # long after it was lost; tests kill workers more often than that.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
        # An error, instead of waiting for ever, where no worker is left.
        "distributed.scheduler.no-workers-timeout": "60 s",
    }
    options |= {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with (
        dask.config.set(patient),
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def spark():
    """A Spark cluster of two executors on this machine."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java 17: there is no java on the PATH, and JAVA_HOME is not set")
    from benchmarks.clusters import spark_session

    session = spark_session(2, **{"spark.sql.shuffle.partitions": "4"})
    yield session
    session.stop()
