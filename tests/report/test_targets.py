"""Reports of several targets and of labels, against scikit-learn's scores."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, precision_score, r2_score

import pinvlearn as pl
from pinvlearn.report.targets import gather_several

rng = np.random.default_rng(0)
X = rng.standard_normal((150, 4))
Y = np.column_stack([X[:, 0] + 0.1 * rng.standard_normal(150), X[:, 1] * X[:, 2]])
LABELS = (np.column_stack([Y, -Y[:, 0] - 1.0]) > 0).astype(int)


def gather(model, X, Y):
    return gather_several(model, X, Y, np.random.default_rng(0))


def test_numbers() -> None:
    frame = pd.DataFrame(Y, columns=["one", "two"])
    model = pl.ELMRegressor(40, random_state=0).fit(X[:100], Y[:100])
    told = gather(model, X[100:], frame[100:])
    expected = r2_score(Y[100:], model.predict(X[100:]))
    assert told.overall["mean R²"] == (pytest.approx(expected), 0.0)
    assert [line[0] for line in told.each] == ["one", "two"]
    assert not told.left_out


def test_the_rows_of_the_fit_are_judged_left_out() -> None:
    model = pl.ELMRegressor(40, random_state=0).fit(X, Y)
    told = gather(model, X, Y)
    assert told.left_out
    assert told.overall["mean R²"][0] == pytest.approx(r2_score(Y, model.loo_predictions_))
    labels = pl.ELMClassifier(40, random_state=0).fit(X, LABELS)
    told = gather(labels, X, LABELS)
    assert told.left_out
    right = accuracy_score(LABELS, labels.loo_predictions_ > 0)
    assert told.overall["rows with all labels right"][0] == pytest.approx(right)


@pytest.mark.parametrize("targets", [Y, LABELS], ids=["numbers", "labels"])
def test_one_row_is_too_few(targets) -> None:
    kind = pl.ELMRegressor if targets is Y else pl.ELMClassifier
    model = kind(40, random_state=0).fit(X, targets)
    with pytest.raises(ValueError, match="at least 2 rows, and there is 1"):
        gather(model, X[:1], targets[:1])


def test_labels() -> None:
    model = pl.ELMClassifier(40, random_state=0).fit(X[:100], LABELS[:100])
    truth, said = LABELS[100:], model.predict(X[100:])
    told = gather(model, X[100:], truth)
    always = np.tile(truth.mean(axis=0) > 0.5, (50, 1)).astype(int)
    for name, score in {
        "rows with all labels right": accuracy_score,
        "labels right": lambda a, b: 1.0 - hamming_loss(a, b),
        "F1 over all labels": lambda a, b: f1_score(a, b, average="micro", zero_division=0.0),
    }.items():
        expected = (score(truth, said), score(truth, always))
        assert told.overall[name] == pytest.approx(expected), name
    first = told.each[0]
    label = int(first[0])
    assert label == truth.sum(axis=0).argmax()
    assert float(first[3]) == pytest.approx(precision_score(truth[:, label], said[:, label]), 1e-2)


def test_many_sparse_labels() -> None:
    rows = scipy.sparse.csr_array(X > 0.3).astype(float)
    marks = scipy.sparse.csr_array(rng.random((150, 40)) < 0.1).astype(int)
    model = pl.FastPIClassifier().fit(rows, marks)
    told = gather(model, rows, marks)
    top = model.top_k(rows, 1)[:, 0]
    hits = np.mean([marks[i, j] for i, j in enumerate(top)])
    assert told.overall["precision at 1"][0] == pytest.approx(hits)
    assert (len(told.each), told.untold) == (30, 10)
    assert told.importances is None


def test_pages(tmp_path) -> None:
    for name, model, y in [
        ("numbers", pl.ELMRegressor(40, random_state=0), Y),
        ("labels", pl.ELMClassifier(40, random_state=0), LABELS),
    ]:
        pl.write_report(model.fit(X, y), X, y, tmp_path / f"{name}.html")
        text = (tmp_path / f"{name}.html").read_text(encoding="utf-8")
        assert "One by one" in text
        assert "Importances" in text
    with pytest.raises(ValueError, match="X has 150 rows and y 149"):
        pl.write_report(model, X, LABELS[:-1], tmp_path / "short.html")
