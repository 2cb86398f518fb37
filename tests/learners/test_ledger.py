"""Adding, forgetting and merging rows gives the model of one fit to the rows that are left."""

import copy
import io
import pickle
import runpy
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError

import pinvlearn
from pinvlearn import (
    ELMClassifier,
    ELMRegressor,
    ExtremeSVMClassifier,
    KernelELMClassifier,
    PinvClassifier,
    PinvRegressor,
    RBFNetworkClassifier,
    RBFNetworkRegressor,
)
from pinvlearn._core.progress import Rate, progress
from pinvlearn.readout.factors import Spectral
from pinvlearn.readout.losses import class_temperature, label_temperature
from pinvlearn.summaries import Gram, Tree, Triangle, fold

RNG = np.random.default_rng(0)
N = 300
X = RNG.standard_normal((N, 5))
CLASSES = np.searchsorted([-1.2, -0.7, -0.2, 0.2, 0.7, 1.2], X[:, 0])
ORDER = np.argsort(CLASSES, kind="stable")  # classes 0 … 6 one after the other
TARGETS = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])
LABELS = (TARGETS > 0).astype(int)
WEIGHTS = RNG.uniform(0.0, 2.0, N)
CENTERS = RNG.standard_normal((30, 5))
FIXED = {"alpha": 0.01, "random_state": 0}

LEARNERS = {
    "esvm": ExtremeSVMClassifier(30, **FIXED),
    "esvm linear": ExtremeSVMClassifier(None, **FIXED),
    "elm": ELMClassifier(30, loo_scoring=None, direct_links=True, **FIXED),
    "elm regression": ELMRegressor(30, loo_scoring=None, **FIXED),
    "rbf": RBFNetworkClassifier(centers=CENTERS, gamma=0.2, loo_scoring=None, **FIXED),
    "rbf regression": RBFNetworkRegressor(centers=CENTERS, gamma=0.2, loo_scoring=None, **FIXED),
    "linear": PinvClassifier(loo_scoring=None, **FIXED),
    "linear regression": PinvRegressor(loo_scoring=None, **FIXED),
    "elm by qr": ELMClassifier(30, loo_scoring=None, solver="qr", **FIXED),
    "elm without ridge": ELMRegressor(30, alpha=0, loo_scoring=None, random_state=0),
    "a function": PinvClassifier(np.tanh, loo_scoring=None, **FIXED),
}


def targets(model):
    return TARGETS if "Regressor" in type(model).__name__ else CLASSES


def outputs(model, X=X):
    return (
        model.predict(X)
        if hasattr(model, "predict_interval") or not hasattr(model, "decision_function")
        else model.decision_function(X)
    )


def close(one, two, rtol=1e-10):
    a, b = outputs(one), outputs(two)
    np.testing.assert_allclose(a, b, rtol=0, atol=rtol * np.abs(b).max())


@pytest.fixture(params=LEARNERS, ids=lambda name: name.replace(" ", "-"))
def learner(request):
    return clone(LEARNERS[request.param])


def cut(y, *bounds, weights=None, order=slice(None)):
    rows = np.arange(N)[order]
    parts = np.split(rows, bounds)
    return [(X[i], y[i]) if weights is None else (X[i], y[i], weights[i]) for i in parts]


class TestExactness:
    @pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
    def test_one_fit(self, learner, weights):
        """Single-class blocks and classes that come late included."""
        y = targets(learner)
        whole = clone(learner).fit(X, y, sample_weight=weights)
        for block in cut(y, 50, 51, 140, 299, weights=weights, order=ORDER):
            learner.partial_fit(block[0], block[1], sample_weight=(*block, None)[2])
        close(learner, whole)
        in_blocks = clone(learner).fit_blocks(cut(y, 50, 51, 51, 299, weights=weights, order=ORDER))
        close(in_blocks, whole)

    @given(cuts=st.lists(st.integers(1, N), max_size=5).map(sorted))
    def test_any_cut(self, cuts):
        learner = LEARNERS["esvm"]
        whole = clone(learner).fit(X, CLASSES)
        close(clone(learner).fit_blocks(cut(CLASSES, *cuts, order=ORDER)), whole)

    def test_classes_grow_from_three_to_seven(self):
        model = ExtremeSVMClassifier(30, **FIXED)
        few = CLASSES < 3
        model.partial_fit(X[few], CLASSES[few])
        assert list(model.classes_) == [0, 1, 2]
        close(model, ExtremeSVMClassifier(30, **FIXED).fit(X[few], CLASSES[few]))
        model.partial_fit(X[~few], CLASSES[~few])
        assert list(model.classes_) == list(range(7))
        close(model, ExtremeSVMClassifier(30, **FIXED).fit(X, CLASSES))

    def test_two_classes_become_three(self):
        y = np.minimum(CLASSES, 2)
        two = y < 2
        model = PinvClassifier(alpha=0.1).partial_fit(X[two], y[two])
        assert model.decision_function(X).shape == (N,)
        model.partial_fit(X[~two], y[~two])
        close(model, PinvClassifier(alpha=0.1, loo_scoring=None).fit(X, y))

    def test_one_class_waits_for_a_second(self):
        model = ExtremeSVMClassifier(10, **FIXED).partial_fit(X[:20], np.zeros(20, dtype=int))
        with pytest.raises(ValueError, match="one class"):
            model.predict(X)
        model.partial_fit(X[20:40], np.ones(20, dtype=int))
        y = np.repeat([0, 1], 20)
        whole = ExtremeSVMClassifier(10, **FIXED).fit(X[:40], y)
        close(model, whole)
        told = ExtremeSVMClassifier(10, **FIXED)
        told.partial_fit(X[:20], np.zeros(20, dtype=int), classes=[0, 1])
        assert set(told.predict(X)) == {0}

    def test_labels(self):
        whole = ELMClassifier(30, loo_scoring=None, **FIXED).fit(X, LABELS)
        model = ELMClassifier(30, **FIXED)
        for block in cut(LABELS, 100, 200):
            model.partial_fit(*block)
        close(model, whole)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))

    def test_integer_weights_are_repeated_rows(self, learner):
        y, counts = targets(learner), RNG.integers(0, 4, N)
        rows = np.repeat(np.arange(N), counts)
        weighted = clone(learner).partial_fit(X, y, sample_weight=counts)
        close(weighted, learner.partial_fit(X[rows], y[rows]))

    def test_class_weights(self):
        weights = {0: 3.0, 6: 0.5}
        model = ELMClassifier(30, class_weight=weights, **FIXED)
        whole = clone(model).set_params(loo_scoring=None).fit(X, CLASSES)
        close(model.fit_blocks(cut(CLASSES, 90, 200, order=ORDER)), whole)
        with pytest.raises(ValueError, match="totals of all rows"):
            ELMClassifier(30, class_weight="balanced").partial_fit(X, CLASSES)

    def test_alpha_by_generalised_cross_validation(self):
        whole = ELMRegressor(30, loo_scoring=None, random_state=0).fit(X, TARGETS)
        model = clone(whole).fit_blocks(cut(TARGETS, 100, 200))
        assert model.alpha_ == pytest.approx(whole.alpha_, rel=1e-6)
        assert len(model.gcv_scores_) == len(model.alphas_)
        close(model, whole, 1e-8)

    def test_alpha_where_rows_are_fewer_than_units(self):
        """Noise in the p × p sums must not count as directions."""
        y = TARGETS[:60] + 0.1 * RNG.standard_normal((60, 2))
        whole = ELMRegressor(200, loo_scoring=None, random_state=0).fit(X[:60], y)
        model = ELMRegressor(200, random_state=0).fit_summary(
            ELMRegressor(200, random_state=0).partial_fit(X[:60], y).summary_
        )
        assert model.alpha_ == pytest.approx(whole.alpha_, rel=1e-6)
        close(model, whole, 1e-6)

    def test_sparse_rows_and_frames(self):
        S = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
        whole = ExtremeSVMClassifier(None, **FIXED).fit(S.toarray(), CLASSES)
        model = ExtremeSVMClassifier(None, **FIXED)
        for i in (slice(100), slice(100, N)):
            model.partial_fit(S[i], CLASSES[i])
        np.testing.assert_allclose(model.decision_function(S), outputs(whole, S.toarray()))
        np.testing.assert_allclose(
            ExtremeSVMClassifier(None, **FIXED).fit(S, CLASSES).coef_, whole.coef_, rtol=1e-9
        )

    @pytest.mark.parametrize("form", ["coo", "bsr", "dia", "dok", "lil"])
    def test_sparse_blocks_of_every_format(self, form):
        S, y = scipy.sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0)), TARGETS
        cuts = np.split(np.arange(N), [100, 200])
        model = PinvRegressor().fit_blocks([(S[i].asformat(form), y[i]) for i in cuts])
        np.testing.assert_allclose(model.coef_, PinvRegressor().fit(S, y).coef_, rtol=1e-6)

    @pytest.mark.parametrize("sparse", [(False, True, False), (True, False, True)], ids=str)
    @pytest.mark.parametrize("n", [20, 150], ids=["wide", "tall"])
    def test_some_blocks_are_sparse(self, n, sparse):
        H, y = np.tanh(X[:n] @ CENTERS.T), TARGETS[:n]
        cuts = np.split(np.arange(n), [n // 3, n // 2])
        blocks = [
            (scipy.sparse.csr_array(H[i]) if here else H[i], y[i])
            for i, here in zip(cuts, sparse, strict=True)
        ]
        whole = PinvRegressor().fit(H, y)
        model = PinvRegressor().fit_blocks(blocks)
        np.testing.assert_allclose(model.predict(H), whole.predict(H), atol=1e-6)
        np.testing.assert_allclose(model.loo_predictions_, whole.loo_predictions_, atol=1e-6)

    def test_strings(self):
        names = np.array(["zero", "one", "two", "three", "four", "five", "six"])[CLASSES]
        model = ExtremeSVMClassifier(30, **FIXED)
        for block in cut(names, 100, 200, order=ORDER):
            model.partial_fit(*block)
        whole = ExtremeSVMClassifier(30, **FIXED).fit(X, names)
        assert list(model.classes_) == sorted(set(names))
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))

    @pytest.mark.parametrize(
        ("odd", "message"),
        [
            (np.inf, "y contains infinity"),
            (2.5, "whole numbers"),
            (None, r"y\[3\] is None"),
            (np.nan, r"y\[3\] is nan"),
            (pd.NA, r"y\[3\] is <NA>"),
            ("a", "several or other types: number, text"),
        ],
        ids=str,
    )
    def test_later_classes_are_checked_as_the_first_are(self, odd, message):
        """Infinity and, among objects, 2.5 became classes of their own."""
        y = CLASSES.astype(object)
        y[3] = odd
        model = PinvClassifier(alpha=1.0).partial_fit(X, CLASSES)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y)
        with pytest.raises(ValueError, match=rf"block .*1\): .*{message}"):
            PinvClassifier(alpha=1.0).fit_blocks([(X, CLASSES), (X, y)])
        if isinstance(odd, float):
            with pytest.raises(ValueError, match="whole numbers"):
                model.partial_fit(X, y.astype(float))
        with pytest.raises(ValueError, match="(?i)nan|infinity|label type|types: number, text"):
            model.fit(X, y)
        np.testing.assert_array_equal(model.classes_, np.unique(CLASSES))

    @pytest.mark.sweep
    def test_two_thousand_tiny_updates_do_not_drift(self):
        """Rounding adds up like the root of their number; OS-ELM's recursion loses six digits."""
        data = RNG.standard_normal((6000, 5))
        y = np.sin(data[:, 0]) + data[:, 1]
        model = ELMRegressor(20, alpha=1.0, random_state=0)
        for i in range(0, 6000, 3):
            model.partial_fit(data[i : i + 3], y[i : i + 3])
        whole = ELMRegressor(20, alpha=1.0, loo_scoring=None, random_state=0).fit(data, y)
        a, b = model.predict(data), whole.predict(data)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(b).max())


LEFT_OUT = {
    "classes": (ELMClassifier(30, random_state=0), CLASSES),
    "two classes, balanced": (
        ELMClassifier(30, loo_scoring="balanced_accuracy", random_state=0),
        CLASSES > 3,
    ),
    "labels": (ELMClassifier(30, **FIXED), LABELS),
    "own score": (PinvRegressor(loo_scoring=lambda y, f, w: -np.abs(y - f).mean()), TARGETS),
    "normal equations": (PinvRegressor(alpha=1.0), TARGETS),
    "fewer rows than units": (ELMRegressor(400, random_state=0), TARGETS),
    "one alpha, fewer rows": (ELMRegressor(400, alpha=0.1, random_state=0), TARGETS[:, 0]),
    "no ridge": (ELMRegressor(30, alpha=0, random_state=0), TARGETS),
    "beyond the digits of sums": (
        ELMRegressor(30, alpha=1e-12, scale=0.01, random_state=0),
        TARGETS,
    ),
}


class TestRowsLeftOut:
    """Blocks that can be read again give what needs rows, as one fit does."""

    @pytest.mark.parametrize("weights", [None, np.floor(WEIGHTS)], ids=["plain", "weighted"])
    @pytest.mark.parametrize("case", LEFT_OUT.values(), ids=LEFT_OUT)
    def test_as_one_fit(self, case, weights):
        model, y = clone(case[0]), case[1]
        whole = clone(model).fit(X, y, sample_weight=weights)
        model.fit_blocks(cut(y, 50, 51, 51, 290, weights=weights))
        assert model.alpha_ == pytest.approx(whole.alpha_, rel=1e-9)
        within = np.maximum(model.loo_error_ + whole.loo_error_, 1e-12)
        assert (np.abs(model.loo_predictions_ - whole.loo_predictions_) <= within).all()
        assert model.loo_error_.max() < 1e-6
        np.testing.assert_allclose(model.loo_scores_, whole.loo_scores_, rtol=1e-5)
        if hasattr(model, "temperature_"):
            assert model.temperature_ == pytest.approx(whole.temperature_)
            np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)
        else:
            found, expected = model.predict_interval(X), whole.predict_interval(X)
            np.testing.assert_allclose(found, expected, atol=1e-8)

    def test_r_factors_of_blocks_take_the_place_of_sums(self):
        """Many rows for their columns, and leverages that a Gram matrix does not have."""
        rng = np.random.default_rng(0)
        rows = np.tanh(rng.standard_normal((600, 2)) @ rng.standard_normal((2, 60)) * 0.1)
        y = np.sin(30 * rows[:, 0]) + 0.1 * rng.standard_normal(600)
        model = PinvRegressor(alpha=1e-11)
        blocks = [(rows[i : i + 250], y[i : i + 250]) for i in range(0, 600, 250)]
        found, whole = clone(model).fit_blocks(blocks), clone(model).fit(rows, y)
        assert "QR of all rows" in found.report_.reason
        assert "QR of all rows" in whole.report_.reason
        np.testing.assert_allclose(found.loo_predictions_, whole.loo_predictions_, atol=1e-9)

    def test_sets_and_jackknife_plus(self):
        whole = PinvClassifier(alpha=1.0).fit(X, CLASSES)
        model = clone(whole).fit_blocks(cut(CLASSES, 100))
        np.testing.assert_array_equal(model.predict_set(X), whole.predict_set(X))
        whole = PinvRegressor(alpha=1.0).fit(X, TARGETS)
        model = clone(whole).fit_blocks(cut(TARGETS, 100))
        given = {"method": "jackknife+", "training": (X, TARGETS)}
        np.testing.assert_allclose(
            model.predict_interval(X, **given), whole.predict_interval(X, **given)
        )

    def test_blocks_of_one_row(self):
        y = CLASSES[:90] > 3
        blocks = [(X[i : i + 1], y[i : i + 1]) for i in range(90)]
        whole = PinvClassifier().fit(X[:90], y)
        model = PinvClassifier().fit_blocks(blocks)
        np.testing.assert_allclose(model.loo_predictions_, whole.loo_predictions_, atol=1e-10)
        assert model.corrected_score_ == pytest.approx(whole.corrected_score_, rel=0.1)

    def test_leverages_that_are_too_many_to_keep(self, monkeypatch):
        model = ELMClassifier(30, decoding="argmax", random_state=0)
        kept = clone(model).fit_blocks(cut(CLASSES, 100)).loo_predictions_
        monkeypatch.setattr("pinvlearn.readout.leave_one_out.MOST_FREEDOM", N)
        again = model.fit_blocks(cut(CLASSES, 100)).loo_predictions_
        np.testing.assert_allclose(again, kept, atol=1e-10)

    def test_what_is_read_once_has_none(self):
        model = PinvClassifier().fit_blocks(iter(cut(CLASSES, 100)))
        assert not hasattr(model, "predict_proba")
        assert not hasattr(model, "loo_scores_")
        assert len(model.gcv_scores_) == len(model.alphas_)

    def test_blocks_that_change(self):
        class Growing(list):
            def __iter__(self):
                self.append((X[:3], CLASSES[:3]))
                return super().__iter__()

        with pytest.raises(ValueError, match="303 rows when they were summed up and 300"):
            PinvClassifier().fit_blocks(Growing(cut(CLASSES, 100)))


class TestTemperatureOfTheLatestBlock:
    MODEL = PinvClassifier(alpha=1.0)

    @pytest.mark.parametrize("decay", [1.0, 0.5])
    @pytest.mark.parametrize("y", [CLASSES, CLASSES > 3, LABELS], ids=["seven", "two", "labels"])
    def test_is_that_of_predictions_before_it_was_added(self, y, decay):
        first, last = slice(150), slice(150, N)
        before = clone(self.MODEL).partial_fit(X[first], y[first])
        outputs, targets = before.decision_function(X[last]), LABELS[last]
        if y is not LABELS:
            targets = y[last, None] == before.classes_ if len(before.classes_) > 2 else y[last]
        fit = label_temperature if y is LABELS else class_temperature
        n = N - 150
        shape = (np.where(targets, 1.0, -1.0).reshape(n, -1), outputs.reshape(n, -1), np.ones(n))
        model = before.partial_fit(X[last], y[last], decay=decay)
        assert not model._ledger.has("coef_")
        assert any("block that came last" in note for note in model.report_.notes)
        for copied in (model, pickle.loads(pickle.dumps(model))):
            assert copied.temperature_ == pytest.approx(fit(*shape), rel=1e-9)
        scaled = model.decision_function(X) / model.temperature_
        found = model.predict_proba(X)
        if y is LABELS:
            np.testing.assert_allclose(found, 1 / (1 + np.exp(-2 * scaled)))
        else:
            np.testing.assert_array_equal(model.classes_[found.argmax(axis=1)], model.predict(X))

    def test_a_model_before_that_has_no_solution_is_named(self):
        """Few rows, or ones that are all alike; a larger ridge is no advice for those that came."""
        model = PinvClassifier(alpha=1e-20).partial_fit(X[:3], [True, False, True])
        model.partial_fit(X, CLASSES > 2)
        assert model.score(X, CLASSES > 2) > 0.5
        with pytest.raises(ValueError, match="scaled by the block that came last.* another block"):
            model.predict_proba(X)
        assert model.partial_fit(X, CLASSES > 2).predict_proba(X).shape == (N, 2)

    def test_goes_on_from_a_fit(self):
        model = clone(self.MODEL).fit(X[:200], CLASSES[:200])
        left_out = model.temperature_
        model.partial_fit(X[200:], CLASSES[200:])
        assert model.temperature_ == pytest.approx(left_out, rel=0.3)
        assert model.temperature_ != left_out
        assert not hasattr(model, "predict_set")

    def test_survives_a_file(self, tmp_path):
        model = clone(self.MODEL).fit(X[:200], CLASSES[:200]).partial_fit(X[200:], CLASSES[200:])
        pinvlearn.save(model, tmp_path / "model.pinv")
        assert pinvlearn.load(tmp_path / "model.pinv").temperature_ == model.temperature_

    def test_classes_that_were_not_there_tell_nothing(self):
        old, new = CLASSES < 4, CLASSES >= 4
        model = clone(self.MODEL).partial_fit(X[old], CLASSES[old])
        assert not hasattr(copy.deepcopy(model).partial_fit(X[new], CLASSES[new]), "predict_proba")
        both = np.r_[np.flatnonzero(old)[:40], np.flatnonzero(new)]
        seen = copy.deepcopy(model).partial_fit(X[both[:40]], CLASSES[both[:40]])
        model.partial_fit(X[both], CLASSES[both])
        assert model.predict_proba(X).shape == (N, 7)
        assert 0.5 < model.temperature_ / seen.temperature_ < 2.0

    def test_rows_of_one_class_alone_before_tell_nothing(self):
        """They are predicted right by whatever knows no other, and the scale was a fifth."""
        one = CLASSES < 1
        model = clone(self.MODEL).partial_fit(X[one], CLASSES[one], classes=np.unique(CLASSES))
        model.partial_fit(X, CLASSES)
        assert not hasattr(model, "predict_proba")
        assert hasattr(model.partial_fit(X[:50], CLASSES[:50]), "predict_proba")

    def test_nothing_is_kept_that_nobody_wants(self):
        quiet = clone(self.MODEL).set_params(loo_scoring=None)
        for model, y in ((quiet, CLASSES), (PinvRegressor(alpha=1.0), TARGETS)):
            model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
            assert not model._ledger.is_tested
        model = clone(self.MODEL).partial_fit(X[:200], CLASSES[:200])
        model.partial_fit(X[200:], CLASSES[200:], sample_weight=np.zeros(100))
        assert not model._ledger.is_tested

    def test_some_rows_of_a_large_block(self, monkeypatch):
        model = clone(self.MODEL).partial_fit(X[:100], CLASSES[:100])
        monkeypatch.setattr("pinvlearn.learners._ledger.MOST_TESTED", 64)
        model.partial_fit(X[100:], CLASSES[100:])
        assert len(model._ledger._test.rows) == 50
        assert 0.0 < model.temperature_ < 2.0
        assert model._ledger._test is None

    def test_after_forgetting_there_is_none(self):
        model = clone(self.MODEL).fit(X, CLASSES).partial_fit(X[:50], CLASSES[:50])
        assert not hasattr(model.forget(X[:50], CLASSES[:50]), "predict_proba")


class TestSolvingLater:
    def test_attributes_are_there_when_asked_for(self):
        model = ELMClassifier(30, **FIXED).partial_fit(X, CLASSES)
        assert not model._ledger.has("coef_")
        assert model.coef_.shape == (7, 30)
        assert model._ledger.has("coef_")
        assert model.coef_ is model.coef_
        assert model.report_.method == "cholesky"
        assert "effective condition" in model.report_.reason
        assert not hasattr(model, "gcv_scores_")
        model.partial_fit(X, CLASSES)
        assert not model._ledger.has("coef_")

    @pytest.mark.parametrize("first", [20, 150], ids=["rows kept", "sums kept"])
    def test_reading_changes_nothing(self, first):
        fitted = ELMClassifier(30, **FIXED).fit(X[:first], CLASSES[:first] % 4)
        added = ELMClassifier(30, **FIXED).partial_fit(X, CLASSES)
        kept_none = ELMClassifier(30, alpha=0, random_state=0).fit(X, CLASSES)
        for model in (fitted, added, kept_none, ELMClassifier(30)):
            before = dict(vars(model))
            for name in ("summary_", "coef_", "gcv_scores_", "loo_scores_", "nonsense_"):
                known = hasattr(model, name)
                assert hasattr(model, name) == known
                if known:
                    assert getattr(model, name) is getattr(model, name)
            if hasattr(model, "coef_"):
                model.predict(X)
            assert vars(model) == before
        assert hasattr(fitted, "summary_")
        assert hasattr(fitted, "loo_scores_")
        assert not hasattr(kept_none, "summary_")
        assert not hasattr(ELMClassifier(30), "coef_")

    def test_many_threads_solve_once(self, monkeypatch):
        """Whoever asks first solves, the others wait, and all get the same arrays."""
        solved = []
        plain = ELMClassifier._solution_of

        def slow(self, readout, schema, notes):
            time.sleep(0.05)
            solved.append(readout)
            return plain(self, readout, schema, notes)

        monkeypatch.setattr(ELMClassifier, "_solution_of", slow)
        model = ELMClassifier(30, **FIXED).partial_fit(X, CLASSES)
        before, start = dict(vars(model)), threading.Barrier(8, timeout=20)

        def read(i):
            start.wait()
            return model.predict(X) if i % 2 else model.coef_

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(read, range(8)))
        assert len(solved) == 1
        assert all(coef is found[0] for coef in found[::2])
        assert all(np.array_equal(labels, found[1]) for labels in found[1::2])
        assert vars(model) == before

    def test_a_copy_goes_its_own_way(self):
        model = ELMClassifier(30, **FIXED).partial_fit(X[:150], CLASSES[:150])
        other = copy.copy(model).partial_fit(X[150:], CLASSES[150:])
        assert model.summary_.n_rows == 150
        assert other.summary_.n_rows == N

    def test_pickles_and_clones_half_way(self):
        model = ELMClassifier(30, **FIXED).partial_fit(X[:150], CLASSES[:150])
        again = pickle.loads(pickle.dumps(model))
        again.partial_fit(X[150:], CLASSES[150:])
        model.partial_fit(X[150:], CLASSES[150:])
        np.testing.assert_array_equal(outputs(again), outputs(model))
        with pytest.raises(NotFittedError):
            clone(model).predict(X)
        with pytest.raises(AttributeError, match="no attribute 'coef_'"):
            _ = clone(model).coef_

    def test_what_needs_rows_is_absent(self):
        model = ELMClassifier(30, **FIXED).partial_fit(X, CLASSES)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError) as caught:
            _ = model.predict_proba
        assert "need rows" in str(caught.value.__cause__)
        assert "second block" in str(caught.value.__cause__)
        assert not hasattr(ELMRegressor(30, **FIXED).partial_fit(X, TARGETS), "predict_interval")
        assert hasattr(model.fit(X, CLASSES), "predict_proba")
        with pytest.raises(AttributeError) as caught:
            _ = ExtremeSVMClassifier().predict_proba
        assert "CalibratedClassifierCV" in str(caught.value.__cause__)

    def test_another_alpha_needs_no_rows(self):
        model = ExtremeSVMClassifier(30, **FIXED).fit(X, CLASSES)
        model.set_params(alpha=5.0).fit_summary(model.summary_)
        other = ExtremeSVMClassifier(30, alpha=5.0, random_state=0).fit(X, CLASSES)
        close(model, other, 1e-13)


KEEPING = [name for name in LEARNERS if name not in ("elm by qr", "elm without ridge")]
FEW = {"few": slice(30), "many": slice(150)}  # of 30 units: rows are kept, or sums


class TestAfterFit:
    """A plain fit is gone on from where the map keeps nothing of the rows and there is a ridge."""

    @pytest.fixture(params=KEEPING, ids=lambda name: name.replace(" ", "-"))
    def learner(self, request):
        return clone(LEARNERS[request.param])

    @pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
    @pytest.mark.parametrize("first", FEW.values(), ids=FEW)
    def test_add_forget_and_merge(self, learner, first, weights):
        y, rest = targets(learner), slice(first.stop, N)
        y = y % 4 if y.ndim == 1 else y  # so that a few rows have all classes

        def fitted(rows):
            return clone(learner).fit(*given(rows))

        def given(rows):
            return X[rows], y[rows], None if weights is None else weights[rows]

        whole = fitted(slice(N))
        close(fitted(first).partial_fit(*given(rest)[:2], sample_weight=given(rest)[2]), whole)
        close(fitted(first).merge(fitted(rest)), whole)
        close(fitted(slice(N)).forget(*given(rest)), fitted(first))
        assert whole.plan().summary(*given(rest)).n_rows == N - first.stop

    @pytest.mark.parametrize("count", [25, 100])
    def test_classes_grow(self, count):
        model = ELMClassifier(30, **FIXED)
        order = ORDER[np.r_[20 : 20 + count, :20, 20 + count : N]]
        model.fit(X[order[:count]], CLASSES[order[:count]])
        assert 1 < len(model.classes_) < 7
        model.partial_fit(X[order[count:]], CLASSES[order[count:]])
        close(model, ELMClassifier(30, **FIXED).fit(X, CLASSES))

    @pytest.mark.parametrize("first", FEW.values(), ids=FEW)
    @pytest.mark.parametrize("form", [np.float32, scipy.sparse.csr_array, scipy.sparse.csr_matrix])
    @pytest.mark.parametrize("y", [LABELS, CLASSES > 3, TARGETS[:, :1], TARGETS[:, 0]])
    def test_forms(self, y, form, first, tmp_path):
        """Several labels, two classes, a column and a vector of targets; what a file keeps."""
        rows = form(np.float32(X))
        kind = ELMRegressor if y.dtype == float else ELMClassifier
        model = kind(30, **FIXED).fit(rows[first], y[first])
        pinvlearn.save(model, tmp_path / "model.skops")
        for again in (pinvlearn.load(tmp_path / "model.skops"), pickle.loads(pickle.dumps(model))):
            again.partial_fit(rows[first.stop :], y[first.stop :])
            close(again, kind(30, **FIXED).fit(rows, y))

    @pytest.mark.parametrize("solver", ["cholesky", "gram", "auto"])
    @pytest.mark.parametrize("alpha", ["auto", [1e-3, 1.0], 1e-9])
    def test_ways_to_the_sums(self, solver, alpha):
        """Sums are those of the rows, whatever was factored on the way."""
        model = ELMClassifier(30, alpha=alpha, solver=solver, random_state=0).fit(X, CLASSES)
        sums = model.plan().summary(X, CLASSES)
        for name, mine in model.summary_.arrays().items():
            lower = np.tril if name == "HH" else np.asarray
            np.testing.assert_allclose(
                lower(mine), lower(sums.arrays()[name]), rtol=1e-12, atol=1e-10
            )
        assert model.summary_.n_rows == N
        np.testing.assert_allclose(model.summary_.mass, sums.mass)

    def test_a_wide_map(self, monkeypatch):
        monkeypatch.setattr("pinvlearn.summaries.block.WIDE", 10)
        model = ELMClassifier(30, **FIXED).fit(X[:150], CLASSES[:150])
        model.partial_fit(X[150:], CLASSES[150:])
        close(model, ELMClassifier(30, **FIXED).fit(X, CLASSES))

    @pytest.mark.parametrize("weight", [{0: 2.0, 3: 0.5}, "balanced"], ids=["dict", "balanced"])
    def test_class_weights(self, weight):
        model = ELMClassifier(30, class_weight=weight, **FIXED).fit(X[:150], CLASSES[:150])
        if weight != "balanced":
            close(model.partial_fit(X[150:], CLASSES[150:]), clone(model).fit(X, CLASSES))
            return
        for change in (model.partial_fit, model.forget):
            with pytest.raises(ValueError, match="totals"):
                change(X[150:], CLASSES[150:])
        with pytest.raises(ValueError, match="totals"):
            model.merge(model)

    @pytest.mark.parametrize("first", FEW.values(), ids=FEW)
    def test_what_needs_rows_is_there_until_rows_change(self, first):
        classifier = ELMClassifier(30, **FIXED).fit(X[first], CLASSES[first])
        regressor = ELMRegressor(30, **FIXED).fit(X[first], TARGETS[first])
        before = classifier.predict_proba(X), regressor.predict_interval(X)
        _ = classifier.summary_, regressor.summary_
        np.testing.assert_array_equal(classifier.predict_proba(X), before[0])
        np.testing.assert_array_equal(regressor.predict_interval(X), before[1])
        with pytest.raises(ValueError, match="NaN"):
            classifier.partial_fit(X[:1] * np.nan, CLASSES[:1])
        np.testing.assert_array_equal(classifier.predict_proba(X), before[0])
        for change in ("partial_fit", "forget"):
            for model, y in ((classifier, CLASSES), (regressor, TARGETS)):
                model.fit(X[first], y[first])
                getattr(model, change)(X[:10], y[:10])
                for name in ("predict_set", "predict_interval", "loo_predictions_"):
                    assert not hasattr(model, name)
                tested = change == "partial_fit" and model is classifier
                assert hasattr(model, "predict_proba") == tested
                assert model.report_.reason.startswith("normal equations of the summary")

    def test_the_rows_are_a_copy(self):
        rows, y, weights = X[:25].copy(), TARGETS[:25].copy(), WEIGHTS[:25].copy()
        model = PinvRegressor(lambda X: np.tanh(np.hstack([X] * 6)), **FIXED)
        model.fit(rows, y, sample_weight=weights)
        for array in (rows, y, weights):
            array[:] = 7.0
        model.partial_fit(X[25:], TARGETS[25:], sample_weight=WEIGHTS[25:])
        close(model, clone(model).fit(X, TARGETS, sample_weight=WEIGHTS))

    @pytest.mark.parametrize(
        ("model", "reason"),
        [
            (
                RBFNetworkClassifier(20),
                "centres were drawn from training rows, and with such a map",
            ),
            (RBFNetworkClassifier(centers=CENTERS, gamma="scale"), "width was taken"),
            (PinvClassifier(PCA(2)), "features were fitted"),
            (ELMClassifier(20, alpha=0), "R factor"),
            (ELMClassifier(20, alpha=0.1, solver="qr"), "R factor"),
            (ExtremeSVMClassifier(20, solver="exact"), "R factor"),
            (ELMClassifier(20, solver="adaptive"), "needs all rows at once"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_where_nothing_is_kept(self, model, reason):
        assert hasattr(model, "partial_fit")
        model.fit(X, CLASSES)
        for name in ("partial_fit", "forget", "merge"):
            with pytest.raises(AttributeError) as caught:
                getattr(model, name)
            said = str(caught.value.__cause__)
            assert reason in said
            assert "Start with partial_fit or fit_blocks" in said
        assert not hasattr(model, "summary_")

    def test_a_size_that_was_chosen(self):
        model = ELMClassifier("loo", max_hidden=20, random_state=0).fit(X, CLASSES)
        with pytest.raises(AttributeError) as caught:
            _ = model.partial_fit
        assert "give a number instead" in str(caught.value.__cause__)


class TestForgetting:
    def test_the_rest_is_as_if_alone(self, learner):
        y = targets(learner)
        learner.fit_blocks([(X, y)])
        if isinstance(learner.summary_, Triangle):
            with pytest.raises(ValueError, match="does not forget"):
                learner.forget(X[:100], y[:100])
            return
        learner.forget(X[:100], y[:100])
        close(learner, clone(learner).partial_fit(X[100:], y[100:]))

    @given(start=st.integers(0, 250), count=st.integers(1, 40))
    def test_add_and_forget(self, start, count):
        """Whatever was added and forgotten, the first rows' model is back."""
        model = clone(LEARNERS["esvm"]).partial_fit(X, CLASSES)
        rows = slice(start, start + count)
        whole = clone(model).fit(X, CLASSES)
        model.partial_fit(X[rows] + 1, CLASSES[rows]).forget(X[rows] + 1, CLASSES[rows])
        close(model, whole)

    def test_a_map_that_remembers_says_so(self):
        model = RBFNetworkClassifier(20, **FIXED).partial_fit(X, CLASSES)
        with pytest.warns(UserWarning, match="centres were drawn from training rows"):
            model.forget(X[:10], CLASSES[:10])
        with pytest.warns(UserWarning, match="fitted to training rows"):
            PinvClassifier(PCA(2), **FIXED).partial_fit(X, CLASSES).forget(X[:9], CLASSES[:9])

    def test_rows_that_were_never_there(self):
        model = ExtremeSVMClassifier(10, **FIXED).partial_fit(X[:50], CLASSES[:50])
        before = outputs(model)
        with pytest.raises(ValueError, match="cannot be forgotten"):
            model.forget(X, CLASSES)
        np.testing.assert_array_equal(outputs(model), before)
        with pytest.raises(NotFittedError):
            ExtremeSVMClassifier().forget(X, CLASSES)

    def test_decay(self):
        model = ExtremeSVMClassifier(30, **FIXED).partial_fit(X[:100], CLASSES[:100])
        model.partial_fit(X[100:], CLASSES[100:], decay=0.5)
        weights = np.where(np.arange(N) < 100, 0.5, 1.0)
        close(model, ExtremeSVMClassifier(30, **FIXED).fit(X, CLASSES, sample_weight=weights))
        for decay in (0.0, -1.0, 1.5, np.nan):
            with pytest.raises(ValueError, match="decay"):
                model.partial_fit(X, CLASSES, decay=decay)

    @pytest.mark.parametrize("solver", ["auto", "qr", "cholesky"])
    @pytest.mark.parametrize(("decay", "score"), [(0.8, 0.99), (0.5, 0.9)])
    def test_rows_that_fade_leave_a_ridge_to_be_chosen(self, solver, decay, score):
        """Counted in part they were fewer than columns, and no ridge but the largest was left."""
        rng = np.random.default_rng(0)
        coef, model = rng.standard_normal(30), PinvRegressor(solver=solver)
        for _ in range(30):
            rows = rng.standard_normal((5, 30))
            model.partial_fit(rows, rows @ coef + 0.1 * rng.standard_normal(5), decay=decay)
        rows = rng.standard_normal((100, 30))
        assert model.score(rows, rows @ coef) > score
        one, other = (PinvRegressor(solver=solver).partial_fit(X, TARGETS) for _ in range(2))
        other.partial_fit(X[:0], TARGETS[:0], decay=0.25)
        assert other.alpha_ == pytest.approx(0.25 * one.alpha_)
        two = PinvRegressor(solver=solver).partial_fit(X[:1], TARGETS[:1])
        two.partial_fit(X[1:2], TARGETS[1:2], decay=decay)
        assert two.alpha_ == two.alphas_.max()  # all are alike

    def test_decayed_rows(self):
        model = ExtremeSVMClassifier(30, **FIXED).partial_fit(X[:200], CLASSES[:200])
        model.partial_fit(X[200:], CLASSES[200:], decay=0.5)
        model.forget(X[:200], CLASSES[:200], sample_weight=np.full(200, 0.5))
        close(model, ExtremeSVMClassifier(30, **FIXED).fit(X[200:], CLASSES[200:]))


class TestMerging:
    def test_two_parties(self, learner):
        y = targets(learner)
        one = clone(learner).partial_fit(X[:120], y[:120])
        two = clone(learner).partial_fit(X[120:], y[120:])
        whole = clone(learner).fit(X, y)
        close(one.merge(two), whole)
        three = clone(learner).partial_fit(X[:120], y[:120])
        close(three.merge(two.summary_), whole)

    def test_what_does_not_fit_changes_nothing(self):
        one = ELMClassifier(30, **FIXED).fit_blocks(cut(CLASSES, 100))
        before = outputs(one)
        other = ELMClassifier(30, alpha=0.01, random_state=1).partial_fit(X, CLASSES)
        with pytest.raises(ValueError, match="feature maps"):
            one.merge(other)
        with pytest.raises(ValueError, match="is in both"):
            one.merge(clone(one).fit_blocks(cut(CLASSES, 100)))
        with pytest.raises(ValueError, match="has no summary"):
            one.merge(clone(one).set_params(solver="qr").fit(X, CLASSES))
        np.testing.assert_array_equal(outputs(one), before)

    def test_names_of_sources(self):
        model = ELMClassifier(30, **FIXED)
        one = clone(model).fit_blocks(cut(CLASSES, 100), source="north")
        two = clone(model).fit_blocks(cut(CLASSES, 100), source="south")
        assert one.merge(two).summary_.blocks == (("north", 0, 2), ("south", 0, 2))


class TestPlans:
    def test_the_way_of_an_engine(self, learner):
        y = targets(learner)
        before = dict(vars(learner))
        plan = pickle.loads(pickle.dumps(learner.plan(X[:60], y[:60])))
        assert vars(learner) == before
        parts = [
            plan.summary(X[a : a + 50], y[a : a + 50], None, ("s", a // 50))
            for a in range(0, N, 50)
        ]
        model = clone(learner).fit_summary(fold(parts[::-1]), plan)
        close(model, clone(learner).fit(X, y))
        assert model.n_features_in_ == 5

    def test_a_random_map_needs_no_plan(self):
        model = ELMClassifier(30, **FIXED).fit_blocks(cut(CLASSES, 100))
        again = ELMClassifier(30, **FIXED).fit_summary(model.summary_)
        np.testing.assert_allclose(outputs(again), outputs(model), rtol=0, atol=1e-9)
        with pytest.raises(ValueError, match="another map than this model draws"):
            ELMClassifier(30, alpha=0.01, random_state=5).fit_summary(model.summary_)

    def test_a_summary_of_other_targets_is_refused(self):
        numbers = ELMRegressor(30, **FIXED).fit_blocks(cut(TARGETS, 100)).summary_
        classes = ELMClassifier(30, **FIXED).fit_blocks(cut(CLASSES, 100)).summary_
        with pytest.raises(ValueError, match="targets are numbers, which ELMClassifier does not"):
            ELMClassifier(30, **FIXED).fit_summary(numbers)
        with pytest.raises(ValueError, match="targets are classes, which ELMRegressor does not"):
            ELMRegressor(30, **FIXED).fit_summary(classes)
        with pytest.raises(TypeError, match="summary is a str; give a Gram"):
            ELMRegressor(30, **FIXED).fit_summary("sums.npz")

    def test_centres_need_one(self):
        model = RBFNetworkClassifier(20, **FIXED)
        plan = model.plan(X, CLASSES)
        summary = plan.summary(X, CLASSES)
        with pytest.raises(ValueError, match="Give plan="):
            model.fit_summary(summary)
        assert model.fit_summary(summary, plan).score(X, CLASSES) > 0.3
        with pytest.raises(ValueError, match="another map than that of the plan"):
            model.fit_summary(summary, model.plan(X[::-1], CLASSES))

    def test_pivots(self):
        model = KernelELMClassifier(solver="rpcholesky", rank=40, **FIXED)
        plan = model.plan(X, CLASSES)
        in_parts = clone(model).fit_summary(
            fold([plan.summary(*b, block_id=("a", i)) for i, b in enumerate(cut(CLASSES, 99))]),
            plan,
        )
        close(in_parts, clone(model).set_params(loo_scoring=None).fit(X, CLASSES), 1e-8)
        assert not hasattr(KernelELMClassifier(), "partial_fit")

    def test_solvers_that_need_all_rows(self):
        with pytest.raises(ValueError, match="needs all rows at once"):
            ELMClassifier(30, solver="adaptive").partial_fit(X, CLASSES)


@dataclass(frozen=True)
class RidgeBySolve:
    """A user's own solver, which wants no more than the moments."""

    needs: str = "sums"

    def factor(self, problem, alpha):
        moments = problem.moments
        values, V = np.linalg.eigh(np.tril(moments.G, -1) + np.diag(moments.diagonal))
        factor = Spectral(
            V[:, ::-1],
            np.sqrt(values[::-1].clip(min=0.0)),
            V[:, ::-1].T @ moments.C,
            problem.center(moments),
            rcond=1e-9,
        )
        return factor, pinvlearn.Report("own", "as a user writes it")


class TestOwnSolver:
    """What a solver declares to need decides where it can be used."""

    def test_sums_are_enough_to_learn_in_pieces(self):
        model = ELMClassifier(30, solver=RidgeBySolve(), loo_scoring=None, **FIXED)
        whole = clone(model).set_params(solver="exact").fit(X, CLASSES)
        close(clone(model).fit(X, CLASSES), whole, 1e-7)
        in_pieces = clone(model)
        for block in cut(CLASSES, 100, 200, order=ORDER):
            in_pieces.partial_fit(*block)
        assert in_pieces.report_.method == "own"
        close(in_pieces, whole, 1e-7)
        close(in_pieces.forget(X[:50], CLASSES[:50]), clone(whole).fit(X[50:], CLASSES[50:]), 1e-7)
        after_fit = clone(model).fit(X[:150], CLASSES[:150])
        close(after_fit.partial_fit(X[150:], CLASSES[150:]), whole, 1e-7)

    def test_what_is_missing_is_named(self):
        own = RidgeBySolve(needs="rows")
        with pytest.raises(ValueError, match="RidgeBySolve needs all rows at once.*declares"):
            ELMClassifier(30, solver=own, **FIXED).partial_fit(X, CLASSES)
        with pytest.raises(ValueError, match="needs is 'luck'; declare 'rows', 'sums' or"):
            ELMClassifier(30, solver=RidgeBySolve("luck"), **FIXED).partial_fit(X, CLASSES)
        model = ELMClassifier(30, **FIXED).partial_fit(X, CLASSES).set_params(solver="qr")
        with pytest.raises(ValueError, match="QR does not solve from a Gram.*needs 'triangle'"):
            model.predict(X)


class TestDigits:
    """What a Gram matrix cannot carry is refused, refined on the rows, or kept as an R factor."""

    BAD = X @ np.diag([1.0, 1.0, 1.0, 1.0, 1e-8]) @ np.linalg.qr(RNG.standard_normal((5, 5)))[0]
    y = BAD @ np.arange(5.0)

    def test_refused(self):
        model = PinvRegressor(alpha=1e-14).partial_fit(self.BAD, self.y)
        with pytest.raises(ValueError, match='solver="qr"'):
            model.predict(self.BAD)
        assert isinstance(model.summary_, Gram)

    def test_refused_with_the_bound_of_what_was_asked_for(self):
        model = PinvRegressor(alpha=1e-18).partial_fit(np.hstack([X, X]), self.y)
        with pytest.raises(ValueError, match=r"bound on the error: inf, allowed: 0.01"):
            model.predict(np.hstack([X, X]))

    def test_a_long_read_is_not_lost(self):
        model = PinvRegressor(alpha=1e-14)
        with pytest.raises(ValueError, match="beyond the digits"):
            model.fit_blocks(iter([(self.BAD, self.y)]))
        model.set_params(alpha=1e-3)
        close_to = PinvRegressor(alpha=1e-3, loo_scoring=None).fit(self.BAD, self.y)
        np.testing.assert_allclose(model.predict(self.BAD), close_to.predict(self.BAD), atol=1e-8)

    def test_kept_as_triangle(self):
        model = PinvRegressor(alpha=0).partial_fit(self.BAD[:100], self.y[:100])
        model.partial_fit(self.BAD[100:], self.y[100:])
        assert isinstance(model.summary_, Triangle)
        np.testing.assert_allclose(model.predict(self.BAD), self.y, atol=1e-12 * 1e3)

    def test_refined_where_blocks_can_be_read_again(self):
        blocks = [(self.BAD[:100], self.y[:100]), (self.BAD[100:], self.y[100:])]
        bad = PinvRegressor(alpha=1e-12, solver="cholesky", loo_scoring=None)
        whole = clone(bad).set_params(solver="exact").fit(self.BAD, self.y)
        model = clone(bad).fit_blocks(blocks)
        assert any("refined" in note for note in model.report_.notes)
        np.testing.assert_allclose(model.predict(self.BAD), whole.predict(self.BAD), atol=1e-8)

    def test_a_sequence_ends_at_its_length(self):
        X, y = self.BAD, self.y

        class Blocks:
            def __len__(self):
                return 2

            def __getitem__(self, number):  # never raises IndexError
                half = slice(100) if number % 2 == 0 else slice(100, None)
                return X[half], y[half]

        bad = PinvRegressor(alpha=1e-12, solver="cholesky", loo_scoring=None)
        given = clone(bad).fit_blocks([Blocks()[0], Blocks()[1]])
        np.testing.assert_array_equal(bad.fit_blocks(Blocks()).coef_, given.coef_)

    def test_a_path_leaves_out_what_is_beyond(self):
        model = PinvRegressor().partial_fit(self.BAD, self.y)
        assert model.alpha_ > 0
        assert any("beyond the summary's digits" in note for note in model.report_.notes)


class TestBadBlocks:
    def test_nothing_is_lost(self, learner):
        y = targets(learner)
        learner.partial_fit(X[:200], y[:200])
        before = outputs(learner)
        bad = X[200:].copy()
        bad[3, 2] = np.nan
        for args, match in [
            ((bad, y[200:]), "row 3, column 2"),
            ((X[200:, :4], y[200:]), "features"),
            ((X[200:], y[:10]), "rows"),
            ((X[200:], y[200:], None, 1.0, -np.ones(100)), "negative"),
        ]:
            with pytest.raises(ValueError, match=match):
                learner.partial_fit(*args)
        np.testing.assert_array_equal(outputs(learner), before)

    def test_blocks_are_named(self):
        blocks = cut(CLASSES, 100, 200)
        blocks[1][0][5, 1] = np.inf
        with pytest.raises(ValueError, match=r"block \('s', 1\): X contains infinity.*row 5, col"):
            ExtremeSVMClassifier(10, **FIXED).fit_blocks(blocks, source="s")
        with pytest.raises(ValueError, match="block 1: a int was given"):
            ExtremeSVMClassifier(10, **FIXED).fit_blocks([cut(CLASSES)[0], 3])
        with pytest.raises(ValueError, match="no block with rows"):
            ExtremeSVMClassifier(10, **FIXED).fit_blocks([])

    def test_columns_that_are_permuted_or_missing(self):
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = ExtremeSVMClassifier(10, **FIXED).partial_fit(frame, CLASSES)
        assert list(model.feature_names_in_) == list("abcde")
        for wrong in (frame[list("bacde")], frame[list("abcd")], frame.rename(columns={"a": "z"})):
            with pytest.raises(ValueError, match="feature names should match"):
                model.partial_fit(wrong, CLASSES)
            with pytest.raises(ValueError, match="feature names should match"):
                model.forget(wrong, CLASSES)
        model.partial_fit(frame, CLASSES)

    def test_targets_that_do_not_fit(self):
        model = ELMRegressor(10, **FIXED).partial_fit(X, TARGETS)
        with pytest.raises(ValueError, match="was expected, as in the first block"):
            model.partial_fit(X, TARGETS[:, 0])
        model = ELMClassifier(10, **FIXED).partial_fit(X, CLASSES)
        with pytest.raises(ValueError, match="Unknown label type"):
            model.partial_fit(X, TARGETS[:, 0])
        with pytest.raises(ValueError, match="different types"):
            model.partial_fit(X, CLASSES.astype(str))


class TestBlocks:
    @pytest.mark.parametrize("n_jobs", [1, 2, 3])
    def test_threads_change_no_bit(self, n_jobs):
        blocks = cut(CLASSES, *range(20, N, 20))
        model = ExtremeSVMClassifier(30, n_jobs=n_jobs, **FIXED)
        reference = clone(model).set_params(n_jobs=1).fit_blocks(blocks)
        for given_blocks in (blocks, iter(blocks), (block for block in blocks)):
            again = clone(model).fit_blocks(given_blocks)
            np.testing.assert_array_equal(again.coef_, reference.coef_)

    def test_the_first_block_may_be_empty(self):
        blocks = [(X[:0], CLASSES[:0]), *cut(CLASSES, 100), (X[:0], CLASSES[:0])]
        model = ExtremeSVMClassifier(30, **FIXED).fit_blocks(iter(blocks))
        close(model, ExtremeSVMClassifier(30, **FIXED).fit(X, CLASSES))
        assert model.summary_.blocks[0][1:] == (0, 4)

    def test_resuming(self, tmp_path, monkeypatch):
        file = tmp_path / "fit.npz"
        blocks = cut(CLASSES, *range(20, N, 20))
        model = ExtremeSVMClassifier(30, **FIXED)
        reference = clone(model).fit_blocks(blocks)

        def broken():
            yield from blocks[:9]
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="the disk is gone"):
            clone(model).fit_blocks(broken(), checkpoint=file)
        calls = []

        class Counting(list):
            def __getitem__(self, i):
                calls.append(i)
                return super().__getitem__(i)

        summarised = []
        of_block = Gram.of_block.__func__

        def count(cls, block):
            summarised.append(block)
            return of_block(cls, block)

        with monkeypatch.context() as patch:
            patch.setattr(Gram, "of_block", classmethod(count))
            again = clone(model).fit_blocks(Counting(blocks), checkpoint=file)
        np.testing.assert_array_equal(again.coef_, reference.coef_)
        # The first for the map; all once, those counted before for their digests alone.
        assert sorted(calls) == [*range(len(blocks))]
        assert len(summarised) == len(blocks) - 9
        with pytest.raises(ValueError, match="another fit.*random_state was 0, and is 1"):
            clone(model).set_params(random_state=1).fit_blocks(blocks, checkpoint=file)
        with pytest.raises(ValueError, match="belongs to another fit.*the source"):
            clone(model).fit_blocks(blocks[::-1], checkpoint=file)
        with pytest.raises(ValueError, match="a checkpoint needs an integer"):
            clone(model).set_params(random_state=None).fit_blocks(blocks, checkpoint=file)

    @pytest.mark.faults
    def test_killed_and_resumed(self, tmp_path):
        """SIGKILL at any moment; the fit that follows has the bits of one never killed."""
        script, checkpoint = tmp_path / "fit.py", tmp_path / "fit.npz"
        script.write_text(
            "import sys, time, numpy as np\n"
            "from pinvlearn import ExtremeSVMClassifier\n"
            "def blocks(pause):\n"
            "    for i in range(40):\n"
            "        X = np.random.default_rng(i).standard_normal((50, 5))\n"
            "        yield X, (X[:, 0] > 0).astype(int)\n"
            "        time.sleep(pause)\n"
            "model = ExtremeSVMClassifier(60, alpha=0.01, random_state=0)\n"
            "if __name__ == '__main__':\n"
            "    model.fit_blocks(blocks(0.05), checkpoint=sys.argv[1], interval=0)\n"
        )
        code = runpy.run_path(str(script))
        model, blocks = code["model"], code["blocks"]
        for _ in range(2):
            before = _stamp(checkpoint)
            child = subprocess.Popen([sys.executable, script, checkpoint])
            while _stamp(checkpoint) == before and child.poll() is None:
                time.sleep(0.001)
            time.sleep(0.12)
            child.kill()
            assert child.wait(60) == -signal.SIGKILL
        assert 2 < Tree.load(checkpoint).n_blocks < 40
        resumed = clone(model).fit_blocks(blocks(0.0), checkpoint=checkpoint)
        np.testing.assert_array_equal(resumed.coef_, model.fit_blocks(blocks(0.0)).coef_)


def _stamp(file):
    return file.stat().st_mtime_ns if file.exists() else 0


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("total", "shown"), [(4, "[############............] 2/4"), (None, "2")])
def test_progress_shows_the_rate(total, shown):
    out, rate = Terminal(), Rate()
    with progress(total, stream=out) as show:
        rate.add(1000.0)
        rate.add(500.0)
        show(2, rate.label(None if total is None else 2))
    line = out.getvalue().split("\x1b[2K")[1]
    assert line.startswith(f"{shown} blocks, 1,500 rows, ")
    assert "rows/s" in line
    assert ("s left" in line) == (total is not None)


class TestExtremeSVM:
    """[He11] Eq. (7) and (8)."""

    @pytest.mark.parametrize("n_hidden", [None, 25])
    def test_the_paper(self, n_hidden):
        y = np.where(X[:, 0] + X[:, 1] > 0.3, 1, -1)
        v = 8.0
        model = ExtremeSVMClassifier(n_hidden, alpha=1 / v, random_state=0).fit(X, y)
        features = X if n_hidden is None else model.map_.hidden(X)
        E = np.hstack([features, -np.ones((N, 1))])
        wr = np.linalg.solve(np.eye(E.shape[1]) / v + E.T @ E, E.T @ y)
        np.testing.assert_allclose(model.coef_[0], wr, rtol=1e-8, atol=1e-10)
        assert not np.any(model.intercept_)
        plane = features @ wr[:-1] - wr[-1]
        np.testing.assert_allclose(model.decision_function(X), plane, atol=1e-9)
        np.testing.assert_array_equal(model.predict(X), np.where(plane > 0, 1, -1))

    def test_balanced_weights(self):
        y = (X[:, 0] > 1).astype(int)
        model = ExtremeSVMClassifier(30, class_weight="balanced", **FIXED).fit(X, y)
        by_class = {c: N / (2 * np.sum(y == c)) for c in (0, 1)}
        same = ExtremeSVMClassifier(30, class_weight=by_class, **FIXED).fit(X, y)
        close(model, same)
        with pytest.raises(ValueError, match="totals"):
            model.partial_fit(X, y)

    def test_save_and_load(self, tmp_path):
        model = ExtremeSVMClassifier(30, **FIXED).fit_blocks(cut(CLASSES, 100))
        for part in (model, ELMClassifier(30, alpha=0, random_state=0).partial_fit(X, CLASSES)):
            pinvlearn.save(part, tmp_path / "model.skops")
            again = pinvlearn.load(tmp_path / "model.skops")
            np.testing.assert_array_equal(outputs(again), outputs(part))
            again.partial_fit(X, CLASSES)
            part.partial_fit(X, CLASSES)
            np.testing.assert_array_equal(outputs(again), outputs(part))
            assert again.summary_.blocks == part.summary_.blocks


class TestOnce:
    """Rows are counted once, where that can be known."""

    def test_models_of_different_class_weights_do_not_merge(self):
        plain = ELMClassifier(10, **FIXED).partial_fit(X, CLASSES)
        one, two, same = (
            clone(plain).set_params(class_weight=w).partial_fit(X[:50], CLASSES[:50])
            for w in ({CLASSES[0]: 2.0}, {CLASSES[0]: 3.0}, {CLASSES[0]: 2, CLASSES[1]: 1.0})
        )
        for model in (plain, two):
            before = outputs(model)
            with pytest.raises(ValueError, match="differ in their class_weight"):
                model.merge(one)
            np.testing.assert_array_equal(outputs(model), before)
        weighted = {CLASSES[0]: 2.0}
        more = clone(plain).set_params(class_weight=weighted).partial_fit(X[50:], CLASSES[50:])
        assert more.merge(same).summary_.n_rows == N  # a weight of 1 is no weight
        with pytest.raises(ValueError, match="class_weight is none, and the rows learned so far"):
            clone(plain).fit_summary(one.summary_)
        with pytest.raises(ValueError, match="Set it back with set_params"):
            one.set_params(class_weight=None).partial_fit(X, CLASSES)

    def test_balanced_weights_of_a_fit_do_not_merge(self):
        balanced = ELMClassifier(10, class_weight="balanced", **FIXED).fit(X, CLASSES)
        plain = ELMClassifier(10, **FIXED).partial_fit(X[:50], CLASSES[:50])
        with pytest.raises(ValueError, match="class_weight: None and 'balanced'"):
            plain.merge(balanced)

    def test_a_model_is_not_merged_with_itself(self):
        for model in (
            ELMClassifier(10, **FIXED).partial_fit(X, CLASSES),
            ELMClassifier(10, **FIXED).fit(X, CLASSES),
            ELMClassifier(10, alpha=0.0, random_state=0).partial_fit(X, CLASSES),
        ):
            before = outputs(model)
            for other in (model, copy.deepcopy(model), model.summary_):
                with pytest.raises(ValueError, match="the same sums, bit for bit"):
                    model.merge(other)
            np.testing.assert_array_equal(outputs(model), before)
            model.merge(clone(model).partial_fit(X[:50], CLASSES[:50]))

    def test_blocks_are_forgotten_once(self):
        model = ELMClassifier(10, **FIXED).fit_blocks(cut(CLASSES, 100), source="a")
        part = model.plan().summary(X[:100], CLASSES[:100], block_id=("a", 0))
        model.fit_summary(model.summary_ - part)
        with pytest.raises(ValueError, match=r"block \('a', 0\) was never added"):
            model.summary_ - part
        assert model.summary_.forgotten == ()
        rest = model.plan().summary(X[100:], CLASSES[100:], block_id=("a", 1))
        nothing = model.summary_ - rest
        assert nothing.forgotten == ("a",)
        assert (nothing + part).forgotten == ()


@pytest.mark.sweep
@pytest.mark.parametrize("solver", ["auto", "cholesky", "gram", "qr"])
def test_the_first_row_alone_is_a_constant(solver):
    """Its sums about its mean are rounding, which no ridge of a path was large enough for."""
    model = ELMRegressor(20, solver=solver, random_state=0).partial_fit(X[:1], TARGETS[:1, 0])
    np.testing.assert_allclose(model.predict(X), TARGETS[0, 0])
    model = ELMClassifier(20, solver=solver, random_state=0).partial_fit(X[:1], LABELS[:1])
    assert np.isfinite(model.partial_fit(X[1:], LABELS[1:]).predict_proba(X)).all()


@pytest.mark.parametrize("solver", ["auto", "qr"])
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "fit_blocks"])
def test_rows_of_weight_zero_do_not_choose_a_ridge(learn, solver):
    y = TARGETS[:, 0] + np.random.default_rng(1).standard_normal(N)
    learner = ELMRegressor(25, loo_scoring=None, solver=solver, random_state=0)
    weights = np.where(np.arange(N) < 60, 1.0, 0.0)
    if learn == "fit_blocks":
        one = clone(learner).fit_blocks([(X[:60], y[:60])])
        two = clone(learner).fit_blocks([(X, y, weights)])
    else:
        one = getattr(clone(learner), learn)(X[:60], y[:60])
        two = getattr(clone(learner), learn)(X, y, sample_weight=weights)
    np.testing.assert_allclose(one.gcv_scores_, two.gcv_scores_, rtol=1e-6)
    assert one.alpha_ == pytest.approx(two.alpha_)


def test_a_path_goes_on_where_rows_do_not_mend_its_best():
    """More units than rows: the best ridge of all is beyond the digits of sums, refined or not."""
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = ELMClassifier(random_state=0, loo_scoring=None).fit_blocks([(X, y)])
    assert model.report_.error <= 1e-8
    assert any("beyond the summary's digits" in note for note in model.report_.notes)
    assert not any("try smaller ones" in note for note in model.report_.notes)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize(
    "learn",
    [
        lambda X, y: pinvlearn.PinvRegressor(alpha=1.0).partial_fit(X, y, np.ones(len(y))),
        lambda X, y: pinvlearn.PinvClassifier(alpha=1.0).partial_fit(X, X > 0.0, [0, 1]),
        lambda X, y: pinvlearn.PinvRegressor(alpha=1.0).fit_blocks(
            [(X, y)], classes=[0], quiet=True
        ),
    ],
    ids=["weights", "labels", "blocks"],
)
def test_classes_where_there_are_none(learn):
    X = np.random.default_rng(0).standard_normal((20, 3))
    with pytest.raises(ValueError, match=r"classes=.*sample_weight="):
        learn(X, X[:, 0])


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize(
    "learner",
    [PinvClassifier(), ELMClassifier(200, random_state=0)],
    ids=lambda learner: type(learner).__name__,
)
def test_some_blocks_have_weights(learner, first):
    """Rows that are put together from blocks without weights have weight 1."""
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((60, 5)), rng.uniform(0.1, 5.0, 30)
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0.0, "a", "b")
    one, two = (X[:30], y[:30]), (X[30:], y[30:])
    blocks = [(*one, weights), two] if first else [one, (*two, weights)]
    filled = [(*one, weights), (*two, np.ones(30))] if first else [(*one, np.ones(30)), blocks[1]]
    found = clone(learner).fit_blocks(blocks, quiet=True).decision_function(X)
    expected = clone(learner).fit_blocks(filled, quiet=True).decision_function(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("way", ["partial_fit", "forget"])
def test_targets_of_another_form_are_named(way):
    """Those without a dimension, and with three, failed within NumPy beside several targets."""
    for learner, Y in ((PinvRegressor(alpha=1.0), TARGETS), (PinvClassifier(alpha=1.0), LABELS)):
        model = clone(learner).partial_fit(X, Y)
        for y in (None, Y[:, :, None]):
            with pytest.raises(ValueError, match=r"y has shape .*; \(n, \d\) was expected"):
                getattr(model, way)(X, y)


@pytest.mark.parametrize("other", [None, 5, "model.skops"])
def test_what_is_no_model_cannot_be_merged(other):
    with pytest.raises(TypeError, match="cannot be merged; give a fitted learner, a Gram or a Tri"):
        PinvRegressor(alpha=1.0).fit(X, TARGETS).merge(other)


def test_models_of_other_columns_name_their_number():
    """Their maps differ as well, of which a fingerprint tells nobody anything."""
    one, two = (PinvRegressor(alpha=1.0).fit(X[:, :k], TARGETS) for k in (2, 3))
    with pytest.raises(ValueError, match="differ in their number of features: 2 and 3"):
        one.merge(two)
