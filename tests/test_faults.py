"""Workers killed while they work: the same bits as if none had been, or an error, never a hang."""

from pathlib import Path

import dask
import psutil
import pytest
from sklearn.base import clone

import pinvlearn.dask
import pinvlearn.spark
from blocks import ESTIMATOR, DeadlyBlocks, SlowBlocks, assert_same_bits, blocks, killer, within

pytestmark = [
    pytest.mark.faults,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

FITS, KILLS = 6, 2
"""For each engine: 12 fits and 24 kills in all."""

TIMEOUT = 240


def serial():
    return clone(ESTIMATOR).fit_blocks(blocks())


def delayed(blocks):
    read = dask.delayed(blocks.__getitem__, pure=False)
    return [read(number) for number in range(len(blocks))]


@pytest.mark.parametrize("attempt", range(FITS))
def test_dask(dask_processes, tmp_path, attempt):
    """The nanny starts a new worker; what the old one held is computed again."""
    slow = SlowBlocks(tmp_path, 0.3)
    with killer(tmp_path, KILLS) as killed, within(TIMEOUT):
        model = pinvlearn.dask.fit(ESTIMATOR, delayed(slow))
    assert len(killed) == KILLS
    assert_same_bits(model, serial())


def test_dask_gives_up(dask_processes, tmp_path):
    from distributed.scheduler import KilledWorker

    with within(TIMEOUT), pytest.raises(KilledWorker, match="4 different workers"):
        pinvlearn.dask.fit(ESTIMATOR, delayed(DeadlyBlocks(tmp_path, 0.0)))
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, delayed(SlowBlocks(tmp_path, 0.0))), serial())


def test_dask_without_workers(tmp_path):
    from distributed import Client, LocalCluster
    from distributed.scheduler import NoWorkerError

    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "1 s"}),
        LocalCluster(n_workers=0, **options) as cluster,
        Client(cluster),
        within(TIMEOUT),
        pytest.raises(NoWorkerError),
    ):
        pinvlearn.dask.fit(ESTIMATOR, delayed(SlowBlocks(tmp_path, 0.0)))


@pytest.fixture(scope="module")
def workers_know_the_blocks(spark):
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("blocks.py")))


def executor_of(pid):
    """The Java process of an executor, from one of its Python workers."""
    try:
        return next(p.pid for p in psutil.Process(pid).parents() if p.name() == "java")
    except (psutil.NoSuchProcess, StopIteration):
        return None


@pytest.mark.usefixtures("workers_know_the_blocks")
@pytest.mark.parametrize("attempt", range(FITS))
def test_spark(tmp_path, attempt):
    """The cluster starts a new executor; the tasks of the old one are tried again."""
    victim = (executor_of, lambda worker: worker)[attempt % 2]  # or only the Python worker
    with killer(tmp_path, KILLS, victim) as killed, within(TIMEOUT):
        model = pinvlearn.spark.fit(ESTIMATOR, SlowBlocks(tmp_path, 0.3))
    assert len(killed) == KILLS
    assert_same_bits(model, serial())


@pytest.mark.usefixtures("workers_know_the_blocks")
def test_spark_gives_up(tmp_path):
    with within(TIMEOUT), pytest.raises(Exception, match="Python worker exited unexpectedly"):
        pinvlearn.spark.fit(ESTIMATOR, DeadlyBlocks(tmp_path, 0.0))
    model = pinvlearn.spark.fit(ESTIMATOR, SlowBlocks(tmp_path, 0.0))
    assert_same_bits(model, serial())
