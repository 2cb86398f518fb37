"""Spark: the bits of a serial fit, whatever the partitioning, from columns and from files."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn.spark
from blocks import BLOCK, ESTIMATOR, NAMES, STARTS, W, X, Y, assert_same_bits, blocks, within
from pinvlearn import (
    FeatureMachineClassifier,
    ParquetBlocks,
    PinvClassifier,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from pinvlearn.summaries import Tree

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

ROW = np.arange(len(X)) - STARTS[BLOCK]
COLUMNS = {"features": NAMES, "label": "y", "block": "block", "order": "row"}
TIMEOUT = 240
"""Seconds after which a fit that takes ten counts as hanging."""


@pytest.fixture(autouse=True)
def _within():
    with within(TIMEOUT):
        yield


def table(**changed):
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    columns |= {"y": Y, "w": W, "block": BLOCK, "row": ROW}
    columns |= {"square": X[:, 1] ** 2, "size": np.abs(X[:, 0])}
    return pa.table(columns | changed)


@pytest.fixture(scope="module")
def frame(spark):
    """The rows in no order, in five partitions."""
    shuffled = table().take(np.random.default_rng(1).permutation(len(X)))
    return spark.createDataFrame(shuffled).repartition(5).cache()


def serial(estimator=ESTIMATOR, given=None):
    return clone(estimator).fit_blocks(given or blocks())


@pytest.mark.parametrize("partitions", [1, 3, 20])
def test_the_partitioning_does_not_matter(frame, partitions):
    model = pinvlearn.spark.fit(ESTIMATOR, frame.repartition(partitions), **COLUMNS)
    assert_same_bits(model, serial())
    assert list(model.feature_names_in_) == NAMES


def test_small_batches_and_many_blocks_in_a_task(frame, spark, monkeypatch):
    monkeypatch.setattr("pinvlearn.engines.spark.TASKS_PER_CORE", 1)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "70")
    try:
        assert_same_bits(pinvlearn.spark.fit(ESTIMATOR, frame, **COLUMNS), serial())
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


def test_numbers_far_from_zero_and_with_gaps(frame):
    """Days since some epoch: the work is still spread, and the tree is the one over the numbers."""
    from pyspark.sql import functions

    days = 20_000 + 3 * np.arange(len(blocks()))
    moved = frame.withColumn("block", functions.expr("20000 + 3 * block"))
    tree, plan = Tree(), ESTIMATOR.plan(*blocks()[0])
    for day, block in zip(days, blocks(), strict=True):
        if len(block[1]):
            tree.add(plan.summary(*block, block_id=("days", int(day))))
    model = pinvlearn.spark.fit(ESTIMATOR, moved, **COLUMNS, source="days")
    assert_same_bits(model, clone(ESTIMATOR).fit_summary(tree.result(), plan))


def test_one_worker():
    """In a process of its own: there is one Spark session in a process."""
    script = """
import numpy as np, sys
sys.path.insert(0, sys.argv[1])
from test_spark import COLUMNS, ESTIMATOR, table, serial, assert_same_bits
from pyspark.sql import SparkSession
import pinvlearn.spark
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
model = pinvlearn.spark.fit(ESTIMATOR, session.createDataFrame(table()), **COLUMNS)
assert_same_bits(model, serial())
"""
    command = [sys.executable, "-c", script, os.path.dirname(__file__)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr


def test_feature_machines_learn_their_features_from_blocks(frame):
    model = FeatureMachineClassifier(kernel="rbf", max_rounds=1, max_work=1e10, random_state=0)
    found, alone = pinvlearn.spark.fit(model, frame, **COLUMNS), serial(model)
    assert_same_bits(found, alone)
    np.testing.assert_array_equal(found.metric_, alone.metric_)


def test_a_regression_on_the_inputs_reads_rows_before_the_map(frame):
    model = RBFNetworkClassifier(12, decoding="inputs", random_state=0)
    found, alone = pinvlearn.spark.fit(model, frame, **COLUMNS), serial(model)
    assert_same_bits(found, alone)
    assert found.links_.shape == (7, 4)


def test_a_column_of_arrays(frame):
    from pyspark.sql import functions

    arrays = frame.select(functions.array(*NAMES).alias("x"), "y", "block", "row")
    model = pinvlearn.spark.fit(ESTIMATOR, arrays, **COLUMNS | {"features": "x"})
    assert_same_bits(model, serial())


@pytest.mark.parametrize(
    ("estimator", "label", "y"),
    [
        (PinvClassifier(alpha=0.0), "y", Y),
        (RBFNetworkRegressor(12, alpha=1e-3, random_state=0), "square", X[:, 1] ** 2),
        (
            RBFNetworkRegressor(12, alpha=1e-3, random_state=0),
            ["square", "size"],
            np.column_stack([X[:, 1] ** 2, np.abs(X[:, 0])]),
        ),
    ],
)
def test_weights_targets_and_other_learners(frame, estimator, label, y):
    columns = COLUMNS | {"label": label, "weight": "w"}
    expected = serial(estimator, blocks(X, y, W))
    assert_same_bits(pinvlearn.spark.fit(estimator, frame, **columns), expected)


def test_row_groups_of_files(spark, tmp_path):
    for name, rows in (("1", slice(0, 800)), ("2", slice(800, None))):
        part = table().slice(rows.start, (rows.stop or len(X)) - rows.start)
        pq.write_table(part, tmp_path / f"{name}.parquet", row_group_size=150)
    source = ParquetBlocks(tmp_path, target="y", features=NAMES, sample_weight="w")
    assert_same_bits(pinvlearn.spark.fit(ESTIMATOR, source), serial(given=source))
    with pytest.raises(ValueError, match="leave out block, weight"):
        pinvlearn.spark.fit(ESTIMATOR, source, block="block", weight="w")


def test_few_digits_are_refined_or_kept(spark, tmp_path):
    """Where a Gram summary has too few: the blocks are read again, or "qr" keeps the R factor."""
    bad = X @ np.diag(np.logspace(0, -7, 4)) @ (np.eye(4) - 0.5)  # a reflection: like scales
    damaged = table(**{name: bad[:, j] for j, name in enumerate(NAMES)})
    pq.write_table(damaged, tmp_path / "rows.parquet", row_group_size=150)
    source = ParquetBlocks(tmp_path, target="y", features=NAMES)
    for solver in ("auto", "qr"):
        estimator = PinvClassifier(alpha=1e-13, loo_scoring=None, solver=solver)
        model = pinvlearn.spark.fit(estimator, spark.createDataFrame(damaged), **COLUMNS)
        assert any("refined" in note for note in model.report_.notes) == (solver == "auto")
        assert_same_bits(model, serial(estimator, blocks(bad, Y)))
        assert_same_bits(pinvlearn.spark.fit(estimator, source), serial(estimator, source))


def test_a_bad_entry_is_named(spark):
    damaged = X[:, 2].copy()
    damaged[STARTS[5] + 7] = np.inf
    with pytest.raises(ValueError, match=r"^block .*5\): X contains infinity.*row 7, column 2 .*c"):
        pinvlearn.spark.fit(ESTIMATOR, spark.createDataFrame(table(c=damaged)), **COLUMNS)


def test_names_with_dots_and_backticks(spark):
    """Which Spark would take for parts of structures, and for quotes."""
    names = {"a": "a.b", "b": "b`c", "y": "y.z", "block": "the.block", "row": "the row"}
    dotted = table().rename_columns([names.get(name, name) for name in table().column_names])
    columns = {"features": ["a.b", "b`c", "c", "d"], "label": "y.z"}
    model = pinvlearn.spark.fit(
        ESTIMATOR, spark.createDataFrame(dotted), **columns, block="the.block", order="the row"
    )
    assert_same_bits(model, serial())
    assert list(model.feature_names_in_) == columns["features"]


def test_rows_without_a_place(spark):
    holes = table().set_column(7, "row", pa.array([None, *ROW[1:].tolist()], pa.int64()))
    with pytest.raises(ValueError, match="block 0 of .* 1 rows have no value in 'row'"):
        pinvlearn.spark.fit(ESTIMATOR, spark.createDataFrame(holes), **COLUMNS)


def test_rows_given_twice(frame):
    with pytest.raises(ValueError, match=r"^block \d+ of 'twice' has two rows with .*'row'"):
        pinvlearn.spark.fit(ESTIMATOR, frame.union(frame), **COLUMNS, source="twice")


def test_the_same_blocks_cannot_be_merged_twice(frame):
    model = pinvlearn.spark.fit(ESTIMATOR, frame, **COLUMNS)
    with pytest.raises(ValueError, match=model.summary_.blocks[0][0]):
        model.merge(model.summary_)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"features": ["a", "q"]}, "no column 'q'; it has a, b"),
        ({"features": ["a", "b", "a"]}, "'a' is named 2 times by features, label"),
        ({"features": ["a", "y"]}, "'y' is named 2 times by features, label"),
        ({"order": None}, "needs order as well"),
        ({"block": "y"}, "column 'y' must number the blocks.*string"),
        ({"block": "a"}, "column 'a' must number the blocks.*double"),
    ],
)
def test_wrong_columns(frame, changed, message):
    with pytest.raises(ValueError, match=message):
        pinvlearn.spark.fit(ESTIMATOR, frame, **COLUMNS | changed)


def test_other_bad_calls(frame):
    with pytest.raises(TypeError, match="Pipeline cannot be fitted block by block"):
        pinvlearn.spark.fit(make_pipeline(StandardScaler(), ESTIMATOR), frame, **COLUMNS)
    with pytest.raises(TypeError, match=r"pinvlearn\.spark\.fit\(estimator, X, features"):
        clone(ESTIMATOR).fit(frame, Y)
    with pytest.raises(ValueError, match="no block with rows"):
        pinvlearn.spark.fit(ESTIMATOR, [(X[:0], Y[:0])])


def test_everything_listens_on_this_machine_only(spark):
    psutil = pytest.importorskip("psutil")
    own = psutil.Process()
    listening = [
        connection.laddr.ip
        for process in [own, *own.children(recursive=True)]
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening
    assert {address.removeprefix("::ffff:") for address in listening} <= {"127.0.0.1", "::1"}
