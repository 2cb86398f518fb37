"""Dask: the bits of a serial fit, from any collection (lost workers are in test_faults.py)."""

import pickle
import pickletools
import re

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone, is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn.dask
from blocks import (
    ESTIMATOR,
    NAMES,
    SIZES,
    STARTS,
    WRONG,
    W,
    X,
    Y,
    assert_same_bits,
    blocks,
    within,
)
from pinvlearn import (
    ELMRegressor,
    FeatureMachineClassifier,
    KernelELMClassifier,
    NpyBlocks,
    ParquetBlocks,
    PinvClassifier,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)

pytestmark = [
    # What Dask said until 2025 of threads where a cluster is known, as it is to these tests.
    pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler:UserWarning"),
]

FRAME = pd.DataFrame(X, columns=NAMES).assign(y=Y, w=W)
TIMEOUT = 300
"""Seconds after which a test that takes one or two counts as hanging, on a busy machine too."""


@pytest.fixture(autouse=True)
def _within():
    with within(TIMEOUT):
        yield


@pytest.fixture(params=["threads", "cluster"])
def scheduler(request):
    """Threads of this process, or a cluster."""
    if request.param == "cluster":
        yield request.getfixturevalue("dask_client")
    else:
        with dask.config.set(scheduler="threads"):
            yield


def serial(estimator=ESTIMATOR, given=None, n_jobs=1):
    return clone(estimator).set_params(n_jobs=n_jobs).fit_blocks(given or blocks())


def arrays(*parts, columns=2):
    """Dask arrays cut as the blocks are, X in two pieces of columns as well."""
    cut = lambda part: (SIZES, columns) if part.ndim == 2 else (SIZES,)  # noqa: E731
    return [da.from_array(part, chunks=cut(part)) for part in parts]


def frame(names=(*NAMES, "y", "w")):
    parts = [FRAME.iloc[start:stop] for start, stop in zip(STARTS, STARTS[1:], strict=False)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=FRAME.iloc[:0])[
        list(names) if isinstance(names, tuple) else names
    ]


def test_array(scheduler):
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y)), serial())


@pytest.mark.sweep
def test_y_is_cut_like_X_where_it_is_not(scheduler):
    (rows,) = arrays(X)
    for y in (da.from_array(Y, chunks=333), Y):
        assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, rows, y), serial())


@pytest.mark.sweep
def test_chunks_of_unknown_size(scheduler):
    rows = frame(NAMES).values
    assert np.isnan(rows.shape[0])
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, rows, frame("y")), serial())


def test_frame(scheduler):
    by_name = pinvlearn.dask.fit(ESTIMATOR, frame([*NAMES, "y"]), "y")
    by_parts = pinvlearn.dask.fit(ESTIMATOR, frame(NAMES), frame("y"))
    for model in (by_name, by_parts):
        assert_same_bits(model, serial())
        assert list(model.feature_names_in_) == NAMES
    weighted = pinvlearn.dask.fit(ESTIMATOR, frame(), "y", "w")
    assert_same_bits(weighted, serial(given=blocks(X, Y, W)))


def test_delayed_blocks(scheduler):
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, list(map(dask.delayed, blocks()))), serial())


def test_files(scheduler, tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    source = NpyBlocks(tmp_path / "X.npy", tmp_path / "y.npy", rows=130)
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, source), serial(given=source))
    table = pa.Table.from_pandas(FRAME[[*NAMES, "y", "w"]])
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=210)
    source = ParquetBlocks(tmp_path / "rows.parquet", target="y", sample_weight="w")
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, source), serial(given=source))


@pytest.mark.parametrize(
    "estimator",
    [
        PinvClassifier(alpha=0.0),  # the R factor
        ELMRegressor(15, random_state=0),  # a path of alphas
        RBFNetworkRegressor(12, alpha=1e-3, random_state=0),  # centres from the first block
        RBFNetworkClassifier(12, decoding="inputs", random_state=0),  # rows before the map
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_weights_and_other_learners(dask_client, estimator):
    y = Y if is_classifier(estimator) else X[:, 1] ** 2
    expected = serial(estimator, blocks(X, y, W))
    assert_same_bits(pinvlearn.dask.fit(estimator, *arrays(X, y, W)), expected)


@pytest.mark.sweep
def test_feature_machines_learn_their_features_from_blocks(dask_client):
    model = FeatureMachineClassifier(kernel="rbf", max_rounds=1, max_work=1e10, random_state=0)
    found = pinvlearn.dask.fit(model, [dask.delayed(block) for block in blocks()])
    alone = serial(model)
    assert_same_bits(found, alone)
    np.testing.assert_array_equal(found.metric_, alone.metric_)


@pytest.mark.sweep
def test_few_digits_are_refined_or_kept(scheduler):
    """Where a Gram summary has too few: the blocks are read again, or "qr" keeps the R factor."""
    bad = X @ np.diag(np.logspace(0, -7, 4)) @ (np.eye(4) - 0.5)  # a reflection: like scales
    estimator = PinvClassifier(alpha=1e-13, loo_scoring=None)
    exact = clone(estimator).set_params(solver="exact").fit(bad, Y).decision_function(bad)
    for solver in ("auto", "qr"):
        estimator.set_params(solver=solver)
        model = pinvlearn.dask.fit(estimator, *arrays(bad, Y))
        assert any("refined" in note for note in model.report_.notes) == (solver == "auto")
        np.testing.assert_allclose(model.decision_function(bad), exact, rtol=0, atol=1e-7)
        assert_same_bits(model, serial(estimator, blocks(bad, Y)))
    summary = clone(estimator).set_params(solver="auto").partial_fit(bad, Y)
    with pytest.raises(ValueError, match='larger alpha; or start again with solver="qr"'):
        summary.predict(bad)


@pytest.mark.faults  # with what else needs worker processes, in `make test-faults`
def test_threads_and_workers_agree(dask_processes):
    from distributed import Client, LocalCluster

    expected = serial(n_jobs=2)
    assert_same_bits(serial(n_jobs=1), expected)
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y)), expected)
    options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=1, threads_per_worker=2, **options) as cluster,
        Client(cluster),
    ):
        assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y)), expected)


@pytest.mark.faults
def test_workers_that_do_not_limit_blas_themselves(dask_processes):
    """Whatever an environment allows BLAS, summaries are made with one thread."""
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    def allow_two():
        threadpool_limits(2, user_api="blas")

    dask_processes.run(allow_two)
    assert set().union(*dask_processes.run(threads).values()) == {2}
    assert_same_bits(pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y)), serial())
    assert set().union(*dask_processes.run(threads).values()) == {2}  # what it was


def test_the_model_needs_no_dask(dask_client):
    stored = pickle.dumps(pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y)))
    texts = {text for _, text, _ in pickletools.genops(stored) if isinstance(text, str)}
    assert "pinvlearn.learners.elm" in texts
    assert not [text for text in texts if "dask" in text]


@pytest.mark.sweep
def test_the_same_blocks_cannot_be_merged_twice(scheduler):
    fits = [pinvlearn.dask.fit(ESTIMATOR, *arrays(X, Y), source=name) for name in "aab"]
    with pytest.raises(ValueError, match="'a'"):
        fits[0].merge(fits[1])
    both = fits[0].merge(fits[2])
    assert both.summary_.n_rows == 2 * len(X)


def test_a_bad_entry_is_named(scheduler):
    damaged = X.copy()
    damaged[STARTS[5] + 7, 2] = np.inf
    with pytest.raises(ValueError, match=r"5\): X contains infinity.*row 7, column 2"):
        pinvlearn.dask.fit(ESTIMATOR, *arrays(damaged, Y), source="rows")
    damaged[STARTS[5] + 7, 2] = 0.0
    damaged[STARTS[1], 3] = np.nan
    named = [dask.delayed((pd.DataFrame(x, columns=NAMES), y)) for x, y in blocks(damaged, Y)]
    with pytest.raises(ValueError, match=r"1\): X contains NaN.*row 0, column 3 \('d'\)"):
        pinvlearn.dask.fit(ESTIMATOR, named)


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("name", WRONG)
def test_a_bad_block_is_named_whatever_is_wrong_with_it(name, place):
    if place == 0 and name in ("columns", "weights", "weights of another length", "classes"):
        return  # which the first block decides, or does not look at
    given = blocks()[:4]
    wrong, message = WRONG[name]
    given[place] = wrong
    with pytest.raises((TypeError, ValueError), match=message) as raised:
        pinvlearn.dask.fit(ESTIMATOR, list(map(dask.delayed, given)), source="rows")
    assert re.match(rf"block (\('rows', )?{place}\)?(:| and) ", str(raised.value))


@pytest.mark.parametrize(
    ("columns", "message"),
    [(["b", "a", "c", "d"], "same order"), (["a", "b", "c"], "missing"), ([*"abcq"], "unseen")],
)
def test_columns_that_are_permuted_or_missing(columns, message):
    wrong = FRAME.rename(columns={"d": "q"}) if "q" in columns else FRAME
    given = [(part[NAMES], part["y"]) for part in (FRAME[:200], FRAME[200:400])]
    given.append((wrong[400:][columns], FRAME["y"][400:]))
    with pytest.raises(ValueError, match=message):
        pinvlearn.dask.fit(ESTIMATOR, list(map(dask.delayed, given)))


def test_bad_calls():
    rows, y = arrays(X, Y)
    fit = pinvlearn.dask.fit
    with pytest.raises(TypeError, match=r"X is a ndarray.*estimator\.fit"):
        fit(ESTIMATOR, X, Y)
    with pytest.raises(ValueError, match="y is missing"):
        fit(ESTIMATOR, rows)
    with pytest.raises(ValueError, match=f"X has {len(X)} rows, y has {len(X) - 1}"):
        fit(ESTIMATOR, rows, y[:-1])
    with pytest.raises(ValueError, match=f"sample_weight is 2.0; give .* of the {len(X)} rows"):
        fit(ESTIMATOR, rows, y, 2.0)
    with pytest.raises(ValueError, match="numbers of blocks differ"):
        fit(ESTIMATOR, frame(NAMES), frame("y").repartition(npartitions=2))
    with pytest.raises(TypeError, match="y is a list"):
        fit(ESTIMATOR, frame(NAMES), list(Y))
    with pytest.raises(ValueError, match="X has no column 'q'; it has .*'a'"):
        fit(ESTIMATOR, frame(), "q")
    with pytest.raises(ValueError, match="X has no column 'y'; it has no names"):
        fit(ESTIMATOR, rows, "y")
    with pytest.raises(TypeError, match="both y and sample_weight"):
        fit(ESTIMATOR, frame(), frame("y"), "w")
    with pytest.raises(ValueError, match="bring their own y"):
        fit(ESTIMATOR, [dask.delayed(block) for block in blocks()], y)
    with pytest.raises(ValueError, match="no blocks"):
        fit(ESTIMATOR, [])
    with pytest.raises(ValueError, match="no block with rows"):
        fit(ESTIMATOR, [dask.delayed((X[:0], Y[:0]))])
    with pytest.raises(TypeError, match="Pipeline cannot be fitted block by block"):
        fit(make_pipeline(StandardScaler(), ESTIMATOR), rows, y)
    with pytest.raises(TypeError, match="KernelELMClassifier cannot .* no fixed features"):
        fit(KernelELMClassifier(solver="exact"), rows, y)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_the_methods_of_an_estimator_say_what_to_call_instead(method):
    model = clone(ESTIMATOR)
    with pytest.raises(TypeError, match=r"pinvlearn\.dask\.fit\(estimator, X, y\)"):
        getattr(model, method)(*arrays(X, Y))
    with pytest.raises(TypeError, match=r"pinvlearn\.dask\.fit\(estimator, X, y\)"):
        getattr(model, method)(frame(NAMES), frame("y"))
    assert not hasattr(model, "map_")
