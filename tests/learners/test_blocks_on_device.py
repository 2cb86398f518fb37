"""Rows of the host, work on a device: the model is that of the host, and lives there."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from pinvlearn import (
    DeepELMRegressor,
    ELMClassifier,
    ELMRegressor,
    ExtremeSVMClassifier,
    PinvRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
    load,
    save,
)
from pinvlearn._core.device import memory, on_device
from pinvlearn._validation import blocks as checks
from pinvlearn.learners import _pieces
from pinvlearn.summaries import products

rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5))
NUMBERS = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
THREE = np.digitize(NUMBERS, [-0.5, 0.5])
NAMES = np.array(["low", "mid", "high"])[THREE]
WEIGHTS = rng.random(400)

LEARNERS = {
    "path": (ELMRegressor(30, random_state=0), NUMBERS),
    "one ridge": (ELMRegressor(30, alpha=1e-2, random_state=0), NUMBERS),
    "no ridge": (ELMRegressor(30, alpha=0.0, random_state=0), NUMBERS),
    "generalised": (ELMRegressor(30, loo_scoring=None, random_state=0), NUMBERS),
    "two targets": (ELMRegressor(30, random_state=0), np.column_stack([NUMBERS, X[:, 0]])),
    "classes": (ELMClassifier(30, random_state=0), THREE),
    "names": (RBFNetworkClassifier(30, class_weight={"low": 2.0}, random_state=0), NAMES),
    "rbf": (RBFNetworkRegressor(30, random_state=0), NUMBERS),
    "linear": (PinvRegressor(), NUMBERS),
    "extreme svm": (ExtremeSVMClassifier(30, random_state=0), THREE > 0),
}


def blocks(y, X=X, size=90, weights=None):
    """Rows cut into blocks."""
    parts = (X, y) if weights is None else (X, y, weights)
    return [tuple(part[i : i + size] for part in parts) for i in range(0, len(y), size)]


@pytest.fixture(
    params=[
        "array_api_strict",
        pytest.param("cpu", marks=pytest.mark.gpu),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ]
)
def device(request, monkeypatch):
    """A name of a device; array-api-strict's stands for one where torch is not there."""
    pytest.importorskip("array_api_compat")
    if request.param != "array_api_strict":
        torch = pytest.importorskip("torch")
        if request.param == "cuda" and not torch.cuda.is_available():
            pytest.skip("torch sees no CUDA device")
        return request.param
    strict = pytest.importorskip("array_api_strict")
    like = on_device(strict.zeros(0, dtype=strict.float64))
    for module in (checks, _pieces):
        monkeypatch.setattr(module, "device_like", lambda name: like)
    return "strict"


@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_is_that_of_the_host(device, name):
    learner, y = LEARNERS[name]
    here = clone(learner).fit_blocks(blocks(y, weights=WEIGHTS))
    there = clone(learner).fit_blocks(blocks(y, weights=WEIGHTS), device=device)
    assert there.report_.method == here.report_.method
    for attribute in ("coef_", "loo_predictions_", "loo_scores_", "gcv_scores_"):
        if hasattr(here, attribute):
            mine, theirs = getattr(here, attribute), getattr(there, attribute)
            assert isinstance(theirs, np.ndarray)
            np.testing.assert_allclose(theirs, mine, rtol=1e-6, atol=1e-7 * np.abs(mine).max())
    for method in ("predict", "predict_proba", "predict_interval"):
        if hasattr(here, method):
            mine, theirs = getattr(here, method)(X[:9]), getattr(there, method)(X[:9])
            if y.dtype.kind == "U" and method == "predict":
                assert (mine == theirs).all()
            else:
                np.testing.assert_allclose(theirs, mine, rtol=1e-6, atol=1e-7)


def test_the_model_goes_on_on_the_host(device, tmp_path):
    pytest.importorskip("skops")
    there = ELMRegressor(30, alpha=1e-2, random_state=0)
    there.fit_blocks(blocks(NUMBERS[:300], X[:300]), device=device)
    save(there, tmp_path / "model.skops")
    there = load(tmp_path / "model.skops").partial_fit(X[300:], NUMBERS[300:])
    here = ELMRegressor(30, alpha=1e-2, random_state=0).fit(X, NUMBERS)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)


def test_a_generator_is_read_once(device):
    model = ELMRegressor(30, alpha=1e-2, random_state=0)
    there = clone(model).fit_blocks(iter(blocks(NUMBERS)), device=device)
    here = clone(model).fit_blocks(iter(blocks(NUMBERS)))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6)


def test_a_fit_is_resumed(device, tmp_path):
    def broken():
        yield from blocks(NUMBERS)[:3]
        raise OSError("the disk is gone")

    model, file = ELMRegressor(30, alpha=1e-2, random_state=0), tmp_path / "sums.npz"
    with pytest.raises(OSError, match="disk"):
        model.fit_blocks(broken(), device=device, checkpoint=file)
    assert not hasattr(model, "n_features_in_")
    model.fit_blocks(blocks(NUMBERS), device=device, checkpoint=file)
    here = ELMRegressor(30, alpha=1e-2, random_state=0).fit_blocks(blocks(NUMBERS))
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-6)


def test_columns_of_a_frame_keep_their_names(device):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.astype(np.float32), columns=list("abcde"))
    model = ELMRegressor(30, alpha=1e-2, random_state=0)
    parts = [(frame[:200], NUMBERS[:200]), (frame[200:], NUMBERS[200:])]
    assert list(model.fit_blocks(parts, device=device).feature_names_in_) == list("abcde")
    bad = frame.copy()
    bad.loc[250, "d"] = np.nan
    parts[1] = (bad[200:], NUMBERS[200:])
    with pytest.raises(ValueError, match=r"\('d'\)"):
        clone(model).fit_blocks(parts, device=device)


def test_sparse_rows_and_learners_of_the_host_are_refused(device):
    model = ELMRegressor(10, random_state=0)
    sparse = [(csr_array(X), NUMBERS)]
    with pytest.raises(TypeError, match="sparse rows are worked on on the host"):
        model.fit_blocks(sparse, device=device)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(TypeError, match="DeepELMRegressor works on NumPy"):
        DeepELMRegressor().fit_blocks(blocks(NUMBERS), device=device)


@pytest.mark.parametrize(
    ("free", "text"),
    [
        (10**4, "blocks of 90 rows need about .* Give smaller blocks"),
        (2 * 10**4, "products of 30 columns, and a factor of them, need .* Use fewer units"),
    ],
)
def test_what_does_not_fit_is_refused_before_work_starts(device, monkeypatch, free, text):
    model = ELMRegressor(30, random_state=0).fit(X, NUMBERS)
    before = dict(vars(model))
    monkeypatch.setattr(memory, "free_memory", lambda x: free)
    with pytest.raises(MemoryError, match=text):
        model.fit_blocks(blocks(NUMBERS), device=device)
    assert vars(model) == before


def test_running_out_of_memory_changes_nothing(device, monkeypatch):
    class OutOfMemoryError(RuntimeError):
        """As torch and CuPy call theirs."""

    def full(*_):
        raise OutOfMemoryError("tried to allocate 2 GiB")

    model = ELMRegressor(30, random_state=0).fit(X, NUMBERS)
    before = dict(vars(model))
    monkeypatch.setattr(products, "add_gram", full)
    with pytest.raises(MemoryError, match="no room left on the device .*2 GiB.*fewer units"):
        model.fit_blocks(blocks(NUMBERS), device=device)
    assert vars(model) == before


def test_a_slow_card_is_said_in_the_report(device, monkeypatch):
    monkeypatch.setattr(_pieces, "slow_double", lambda x: ("slow",) if x is not None else ())
    there = ELMRegressor(30, random_state=0).fit_blocks(blocks(NUMBERS), device=device)
    assert "slow" in there.report_.notes
    assert "slow" not in ELMRegressor(30, random_state=0).fit(X, NUMBERS).report_.notes
