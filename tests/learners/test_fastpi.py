"""Multi-label regression through a low-rank pseudo-inverse: against dense oracles."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import NotFittedError

import pinvlearn
from pinvlearn import FastPIClassifier, precision_at_k, svd
from pinvlearn._validation import generator
from pinvlearn.learners import fastpi
from pinvlearn.readout import cells as _cells

SOLVERS = ("auto", "exact", "gram", "randomized", "chebyshev", "fastpi", "frpca", "arpack")


def labelled(rng, m=90, n=30, L=7, density=0.2):
    """Sparse inputs and sparse labels that depend on them."""
    X = scipy.sparse.random_array((m, n), density=density, rng=rng, format="csr")
    scores = X @ rng.standard_normal((n, L)) + 0.1 * rng.standard_normal((m, L))
    return X, scipy.sparse.csr_array((scores > np.quantile(scores, 0.8)).astype(float))


def oracle(X, Y, rank, alpha):
    """V g(s) Uᵀ Y from LAPACK's decomposition."""
    U, s, Vt = np.linalg.svd(X.toarray(), full_matrices=False)
    s = s[:rank]
    return Vt[:rank].T @ ((s / (s**2 + alpha))[:, None] * (U[:, :rank].T @ Y.toarray()))


def left_out_oracle(X, Y, rank, alpha):
    """Outputs for each row of the ridge on the same directions, fitted to all other rows."""
    A = X.toarray()
    V = np.linalg.svd(A, full_matrices=False)[2][:rank].T
    H, Y = A @ V, Y.toarray()
    outputs = []
    for i in range(len(A)):
        rest = np.arange(len(A)) != i
        G = H[rest].T @ H[rest] + alpha * np.eye(H.shape[1])
        outputs.append(H[i] @ np.linalg.lstsq(G, H[rest].T @ Y[rest], rcond=1e-13)[0])
    return np.array(outputs)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_weights_are_the_filtered_pseudo_inverse(rng, solver, alpha):
    X, Y = labelled(rng)
    model = FastPIClassifier(1.0, alpha, solver=solver, random_state=0).fit(X, Y)
    expected = oracle(X, Y, 30, alpha)
    assert model.coef_ == pytest.approx(expected.T, abs=1e-8 * np.abs(expected).max())
    assert model.decision_function(X) == pytest.approx(X @ expected, abs=1e-8)
    assert (model.rank_, model.alpha_) == (30, alpha)
    assert not hasattr(model, "loo_scores_")


def test_low_rank_as_in_the_paper(rng):
    X, Y = labelled(rng)
    model = FastPIClassifier(0.3, 0.0, solver="exact").fit(X, Y)
    assert model.rank_ == 9
    assert model.coef_ == pytest.approx(oracle(X, Y, 9, 0.0).T, abs=1e-10)


@pytest.mark.parametrize("ratio", [0.3, [0.1, 0.3], "auto"])
def test_the_papers_algorithm_runs_where_it_is_asked_for(rng, ratio):
    X, Y = labelled(rng)
    model = FastPIClassifier(ratio, 0.0, solver="fastpi", random_state=0).fit(X, Y)
    most = 1.0 if ratio == "auto" else 0.3
    factors = svd(X, rank=most, solver="fastpi", rng=generator(0))
    expected = factors.truncate(model.rank_).pinv() @ Y.toarray()
    assert model.coef_ == pytest.approx(expected.T, abs=1e-10 * np.abs(expected).max())
    assert model.report_.method == "fastpi"
    assert model.report_.reason.startswith("chosen by the caller")
    assert "reorder" in model.report_.seconds


@pytest.mark.parametrize("ratio", [0.3, "auto"])
def test_auto_says_that_it_does_not_take_the_papers_algorithm(rng, ratio):
    X, Y = labelled(rng)
    report = FastPIClassifier(ratio, 0.0).fit(X, Y).report_
    assert report.method != "fastpi"
    assert "auto leaves out fastpi, the algorithm of [JS20]" in report.reason


def test_weights_are_kept_in_the_smaller_form(rng):
    X, Y = labelled(rng, m=40, n=60, L=50)
    factored = FastPIClassifier(0.1, 0.0, solver="exact").fit(X, Y)
    assert [w.shape for w in factored.weights_] == [(60, 4), (4, 50)]
    product = FastPIClassifier(1.0, 0.0, solver="exact").fit(X, Y)
    assert [w.shape for w in product.weights_] == [(60, 50)]
    for model, rank in ((factored, 4), (product, 40)):
        expected = X @ oracle(X, Y, rank, 0.0)
        assert model.decision_function(X) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("shape", [(60, 20), (25, 40)])
@pytest.mark.parametrize("scoring", ["precision", "mse"])
def test_leave_one_out_is_refitting_without_the_row(rng, shape, scoring):
    X, Y = labelled(rng, *shape, density=0.5)
    ratios, alphas = [0.2, 0.6, 1.0], np.array([0.01, 1.0])
    model = FastPIClassifier(ratios, alphas, solver="exact", loo_scoring=scoring, k=2).fit(X, Y)
    for i, rank in enumerate(model.ranks_):
        for j, alpha in enumerate(alphas):
            left_out = left_out_oracle(X, Y, rank, alpha)
            if scoring == "precision":
                expected = precision_at_k(Y, left_out, 2)
            else:
                expected = -np.mean((left_out - Y.toarray()) ** 2)
            assert model.loo_scores_[i, j] == pytest.approx(expected, rel=1e-4)


def test_leave_one_out_where_every_row_can_be_fitted(rng):
    X, Y = labelled(rng, 25, 40, density=0.9)
    model = FastPIClassifier([0.5, 1.0], 0.0, solver="exact", loo_scoring="mse").fit(X, Y)
    K = (X @ X.T).toarray()
    inverse = np.linalg.inv(K)  # the left-out residual is (K⁻¹y)_i / (K⁻¹)_ii
    errors = inverse @ Y.toarray() / np.diag(inverse)[:, None]
    assert model.ranks_[-1] == 25
    assert model.loo_scores_[1, 0] == pytest.approx(-np.mean(errors**2), rel=1e-6)


def test_generalised_cross_validation_is_its_formula(rng):
    X, Y = labelled(rng)
    model = FastPIClassifier([0.2, 1.0], [0.1, 1.0], solver="exact", loo_scoring=None).fit(X, Y)
    m, L = Y.shape
    s = np.linalg.svd(X.toarray(), compute_uv=False)
    for i, rank in enumerate(model.ranks_):
        for j, alpha in enumerate(model.alphas_):
            rest = Y.toarray() - X @ oracle(X, Y, rank, alpha)
            freedom = m - np.sum(s[:rank] ** 2 / (s[:rank] ** 2 + alpha))
            expected = -m * np.sum(rest**2) / freedom**2 / L
            assert model.gcv_scores_[i, j] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("shape", [(90, 30), (90, 120)])
def test_auto_takes_the_same_from_the_gram_matrix_and_from_the_svd(rng, shape):
    X, Y = labelled(rng, *shape)
    auto = FastPIClassifier(random_state=0).fit(X, Y)
    given = FastPIClassifier(_cells.RATIOS, auto.alphas_, solver="exact").fit(X, Y)
    assert auto.report_.method == "gram"
    assert (auto.rank_, auto.alpha_) == (given.rank_, given.alpha_)
    assert auto.loo_scores_ == pytest.approx(given.loo_scores_, abs=1e-12)
    assert auto.coef_ == pytest.approx(given.coef_, abs=1e-7)
    assert "combinations by leave-one-out on 90 of 90 rows" in auto.report_.notes[-1]


def test_a_part_of_the_rows_can_judge(rng, monkeypatch):
    X, Y = labelled(rng)
    monkeypatch.setattr(_cells, "JUDGE_FLOPS", 0.0)
    monkeypatch.setattr(_cells, "LEAST_JUDGED", 40)
    first = FastPIClassifier(random_state=1).fit(X, Y)
    again = FastPIClassifier(random_state=1).fit(X, Y)
    assert "on 40 of 90 rows" in first.report_.notes[-1]
    assert np.array_equal(first.loo_scores_, again.loo_scores_)


def test_chunks_change_nothing(rng, monkeypatch):
    X, Y = labelled(rng)
    whole = FastPIClassifier(random_state=0).fit(X, Y)
    top = whole.top_k(X, 3)
    for module in (_cells, fastpi):
        monkeypatch.setattr(module, "CHUNK_ENTRIES", 100)
    parts = FastPIClassifier(random_state=0).fit(X, Y)
    assert parts.loo_scores_ == pytest.approx(whole.loo_scores_, abs=1e-12)
    assert np.array_equal(parts.top_k(X, 3), top)
    assert np.array_equal(parts.predict(X).toarray(), whole.predict(X).toarray())


def test_ranks_stop_where_factors_grow_too_large(rng, monkeypatch):
    X, Y = labelled(rng, 30, 60)
    monkeypatch.setattr(fastpi, "FACTOR_ENTRIES", 7 * 12)
    assert FastPIClassifier().fit(X, Y).ranks_.tolist() == [1, 3, 6, 9, 12]
    assert FastPIClassifier(solver="exact").fit(X, Y).ranks_.tolist() == [1]
    monkeypatch.setattr(fastpi, "FACTOR_ENTRIES", 97 * 12)
    assert FastPIClassifier(solver="exact").fit(X, Y).ranks_.tolist() == [1, 3, 6, 9, 12]
    monkeypatch.setattr(fastpi, "GRAM_SIDE", 20)
    assert FastPIClassifier().fit(X, Y).ranks_.tolist() == [1, 3]


def test_what_cannot_fit_is_refused_first(rng, monkeypatch):
    X, Y = labelled(rng)
    monkeypatch.setattr("pinvlearn._validation.memory.ALWAYS_THERE", 0)
    monkeypatch.setattr("pinvlearn._validation.memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="9 components of a matrix of shape"):
        FastPIClassifier(0.3, 0.0).fit(X, Y)


def test_the_best_labels_and_their_scores(rng):
    X, Y = labelled(rng)
    model = FastPIClassifier(0.5, 0.1, k=2).fit(X, Y)
    scores = model.decision_function(X)
    labels, values = model.top_k(X, 4, return_scores=True)
    assert labels.shape == (90, 4)
    assert values == pytest.approx(np.take_along_axis(scores, labels, axis=1), abs=1e-5)
    assert values == pytest.approx(-np.sort(-scores, axis=1)[:, :4], abs=1e-5)
    assert model.top_k(X).shape == (90, 2)
    assert FastPIClassifier(0.5, 0.1, k=20).fit(X, Y).top_k(X).shape == (90, 7)


@pytest.mark.parametrize("scale", [2.0**-560, 2.0**-500, 2.0**500])
def test_extreme_scales_change_nothing(rng, scale):
    X, Y = labelled(rng)
    for options in ({"rank": 1.0, "alpha": 0.0}, {}):
        model = FastPIClassifier(**options, random_state=0).fit(X, Y)
        scaled = FastPIClassifier(**options, random_state=0).fit(X * scale, Y)
        assert scaled.rank_ == model.rank_
        assert scaled.decision_function(X * scale) == pytest.approx(
            model.decision_function(X), abs=1e-10
        )
        assert np.array_equal(scaled.top_k(X * scale, 1), model.top_k(X, 1))


def test_labels_are_predicted_from_a_half(rng):
    X, Y = labelled(rng)
    sparse = FastPIClassifier(1.0, 0.0).fit(X, Y)
    dense = FastPIClassifier(1.0, 0.0).fit(X.toarray(), Y.toarray())
    marked = sparse.predict(X)
    assert scipy.sparse.issparse(marked)
    assert np.array_equal(marked.toarray(), sparse.decision_function(X) >= 0.5)
    assert np.array_equal(dense.predict(X.toarray()), marked.toarray())


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "3 entries for 90 rows"),
        (np.zeros(90), "all zero"),
        (-np.ones(90), "negative"),
        (np.full(90, np.nan), "contains NaN"),
    ],
)
def test_weights_of_a_score_of_labels(rng, weights, message):
    X, Y = labelled(rng)
    model = FastPIClassifier(alpha=1.0, rank=5).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        model.score(X, Y, weights)
    first = np.arange(90.0) < 30.0
    assert model.score(X, Y, first) == pytest.approx(model.score(X[:30], Y[:30]))


@pytest.mark.parametrize("container", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, np.asarray])
def test_score_is_precision_at_one(rng, container):
    X, Y = labelled(rng)
    model = FastPIClassifier().fit(X, container(Y.toarray()))
    expected = precision_at_k(Y, model.decision_function(X), 1)
    assert model.score(X, container(Y.toarray())) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_class_for_each_row(classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], np.array(["a", "b", "c"])[y[y < classes]]
    X = np.hstack([X, np.ones((len(X), 1))])  # instead of an intercept
    model = FastPIClassifier().fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.8
    assert model.decision_function(X).shape == ((100,) if classes == 2 else (150, 3))
    assert np.array_equal(model.classes_[model.top_k(X, 1)[:, 0]], model.predict(X))
    chosen = model.loo_scores_.max()
    assert chosen == pytest.approx(model.score(X, y), abs=0.1)


def test_two_classes_decide_as_two_columns_would(rng):
    X, Y = labelled(rng)
    y = Y.toarray()[:, 0].astype(int)
    both = FastPIClassifier(0.5, 0.1, solver="exact").fit(X, np.column_stack([1 - y, y]))
    one = FastPIClassifier(0.5, 0.1, solver="exact").fit(X, y)
    assert np.array_equal(one.predict(X), both.decision_function(X).argmax(axis=1))


def test_learns_generated_labels():
    X, Y = make_multilabel_classification(
        600, 60, n_classes=8, sparse=True, return_indicator="sparse", random_state=0
    )
    model = FastPIClassifier(random_state=0).fit(X[:400], Y[:400])
    most_frequent = np.asarray(Y[400:].mean(axis=0)).max()
    assert model.score(X[400:], Y[400:]) > most_frequent + 0.1
    attainable = np.minimum(np.diff(Y[400:].indptr), 3).mean() / 3
    assert precision_at_k(Y[400:], model.top_k(X[400:]), 3) > 0.7 * attainable


def test_rank_deficient_duplicated_and_empty(rng):
    X, Y = labelled(rng, 60, 20)
    X = scipy.sparse.csr_array(scipy.sparse.hstack([X, X, scipy.sparse.csr_array((60, 5))]))
    X = scipy.sparse.csr_array(scipy.sparse.vstack([X, X, scipy.sparse.csr_array((3, 45))]))
    Y = scipy.sparse.csr_array(scipy.sparse.vstack([Y, Y, scipy.sparse.csr_array((3, 7))]))
    expected = np.linalg.pinv(X.toarray(), rcond=1e-10) @ Y.toarray()
    whole = FastPIClassifier(1.0, 0.0, solver="exact").fit(X, Y)
    assert whole.coef_ == pytest.approx(expected.T, abs=1e-10 * np.abs(expected).max())
    chosen = FastPIClassifier(alpha=0.0).fit(X, Y)
    assert chosen.ranks_[-1] == np.linalg.matrix_rank(X.toarray())


def test_nothing_in_the_inputs():
    X, Y = scipy.sparse.csr_array((6, 4)), scipy.sparse.csr_array(np.eye(6, 3))
    model = FastPIClassifier().fit(X, Y)
    assert not model.decision_function(X).any()
    assert model.top_k(X, 2).tolist() == [[0, 1]] * 6


def test_single_precision_stays(rng):
    X, Y = labelled(rng)
    model = FastPIClassifier(0.5, 0.1).fit(X.astype(np.float32), Y)
    exact = FastPIClassifier(0.5, 0.1).fit(X, Y)
    scores = model.decision_function(X.astype(np.float32))
    assert scores == pytest.approx(exact.decision_function(X), abs=1e-4)


def test_saved_pickled_and_cloned(rng, tmp_path):
    X, Y = labelled(rng, L=40)
    for ratio in (0.1, 1.0):  # weights of two arrays, and of one
        model = FastPIClassifier(ratio, random_state=0).fit(X, Y)
        pinvlearn.save(model, tmp_path / "model.skops")
        for again in (
            pinvlearn.load(tmp_path / "model.skops"),
            pickle.loads(pickle.dumps(model)),
            clone(model).fit(X, Y),
        ):
            assert np.array_equal(again.decision_function(X), model.decision_function(X))
            assert np.array_equal(again.top_k(X), model.top_k(X))
            assert again.score(X, Y) == model.score(X, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0.0}, "above 0 to 1"),
        ({"rank": 10**6}, "give an integer in 1"),
        ({"rank": "best"}, "choose one of 'auto', or give an integer"),
        ({"rank": []}, "1-D array"),
        ({"rank": None}, "1-D array"),
        ({"alpha": -1.0}, "at least 0"),
        ({"solver": "fastest"}, "choose one of"),
        ({"solver": "adaptive"}, "choose one of"),
        ({"loo_scoring": "accuracy"}, "choose one of"),
        ({"k": 0}, "at least 1"),
    ],
)
def test_bad_parameters(rng, options, message):
    with pytest.raises(ValueError, match=message):
        FastPIClassifier(**options).fit(*labelled(rng))


def test_bad_targets(rng):
    X, Y = labelled(rng)
    with pytest.raises(ValueError, match="must be 0 or 1"):
        FastPIClassifier().fit(X, Y * 2.0)
    with pytest.raises(ValueError, match="one class only"):
        FastPIClassifier().fit(X, np.zeros(90, dtype=int))
    with pytest.raises(ValueError, match="continuous"):
        FastPIClassifier().fit(X, rng.random(90))
    model = FastPIClassifier(0.5, 0.1).fit(X, Y)
    before = model.coef_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X * np.nan, Y)
    assert np.array_equal(model.coef_, before)
    with pytest.raises(ValueError, match="only 7 labels"):
        model.top_k(X, 8)
    with pytest.raises(ValueError, match="as in fit"):
        model.score(X, Y[:, :3])
    with pytest.raises(NotFittedError):
        FastPIClassifier().top_k(X)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, bool])
def test_the_callers_labels_stay_as_they_are(rng, dtype):
    X, labels = rng.standard_normal((30, 8)), rng.random((30, 5)) < 0.4
    Y = scipy.sparse.csr_array(labels.astype(dtype))
    Y.data[::3] = 0  # known zeros, which the fit leaves out
    before = Y.copy()
    FastPIClassifier(rank=4, alpha=1.0).fit(X, Y)
    for part in ("data", "indices", "indptr"):
        assert np.array_equal(getattr(Y, part), getattr(before, part))


def test_a_class_that_is_missing_is_refused_by_place():
    y = np.array(["a", None, "b", "a"], dtype=object)
    with pytest.raises(ValueError, match=r"y contains NaN: y\[1\] is None. Leave out rows"):
        pinvlearn.FastPIClassifier().fit(np.eye(4), y)
