"""What is refused, and in which words: given, allowed, what to do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from matrices import FORMS, slow
from pinvlearn import (
    FastPCA,
    FastPIClassifier,
    FeatureMachineClassifier,
    PinvClassifier,
    PinvRegressor,
    Rank,
    SVDImputer,
    TabularInputs,
    as_triplets,
    frobenius_error,
    lstsq,
    partial_svd,
    pinv,
    range_basis,
    spectral_error,
    svd,
)
from pinvlearn import _validation as v
from pinvlearn.readout.solvers import SOLVERS, Cholesky

ENTRIES = {
    "svd": svd,
    "pinv": pinv,
    "lstsq": lambda A: lstsq(A, np.ones(np.shape(A)[0] if np.ndim(A) else 1)),
    "range_basis": lambda A: range_basis(A, Rank(1)),
    "spectral_error": lambda A: spectral_error(A, np.zeros((2, 2))),
    "frobenius_error": lambda A: frobenius_error(A, np.zeros((2, 2))),
}


def with_entry(value, form=np.asarray):
    A = np.ones((3, 4))
    A[2, 1] = value
    return form(A)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize(
    ("A", "error", "message"),
    [
        (np.empty((0, 3)), ValueError, r"A is empty \(shape \(0, 3\)\)"),
        (np.empty((3, 0)), ValueError, r"A is empty \(shape \(3, 0\)\)"),
        (scipy.sparse.csr_array((3, 0)), ValueError, "empty"),
        (np.ones(3), ValueError, r"A has 1 dimension;.*reshape\(-1, 1\)"),
        (np.ones((2, 2, 2)), ValueError, "A has 3 dimensions"),
        (with_entry(np.nan), ValueError, "A contains NaN, first in row 2, column 1.*impute"),
        (with_entry(np.inf), ValueError, "infinity.*row 2, column 1"),
        (with_entry(-np.inf), ValueError, "infinity.*row 2, column 1"),
        (with_entry(np.nan, scipy.sparse.csr_array), ValueError, "NaN, first in row 2, column 1"),
        (np.ones((2, 2)) * 1j, TypeError, "complex"),
        (scipy.sparse.csr_array(np.ones((2, 2)) * 1j), TypeError, "complex"),
        (np.array([["a", "b"]]), TypeError, "dtype.*numbers are needed"),
        (np.array([[{}, 1]], dtype=object), TypeError, "numbers are needed"),
        (np.array([[1, "NaT"]], dtype="m8[s]"), TypeError, "numbers are needed"),
    ],
)  # fmt: skip
def test_matrices_that_are_refused(entry, A, error, message):
    with pytest.raises(error, match=message):
        ENTRIES[entry](A)


def test_a_complex_operator_is_refused():
    with pytest.raises(TypeError, match="complex operator"):
        svd(LinearOperator((3, 3), matvec=lambda x: x, dtype=complex))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float16, np.float32, float, object])
def test_numbers_of_every_kind_are_accepted(dtype, form):
    if form not in ("dense", "list") and dtype in (object, np.float16):
        pytest.skip("SciPy has no such sparse matrices")
    A = (np.arange(12).reshape(4, 3) % 2).astype(dtype)
    expected = np.float32 if dtype == np.float32 and form != "list" else np.float64
    checked = v.check_matrix(FORMS[form](A))
    if form != "operator":
        assert checked.dtype == expected
    s = svd(FORMS[form](A)).s
    np.testing.assert_allclose(s, np.linalg.svd(A.astype(float))[1], atol=1e-6)


def test_clean_input_is_not_copied():
    A = slow()
    assert v.check_matrix(A) is A
    A.setflags(write=False)
    assert v.check_matrix(A) is A


def test_a_column_is_named_where_names_are_known():
    with pytest.raises(ValueError, match=r"column 1 \('height'\)"):
        v.check_finite(with_entry(np.nan), ["a", "height", "c", "d"])


def test_entries_that_overflow_in_a_sum_are_finite():
    v.check_finite(np.full((3, 3), 1.7e308))
    assert np.isfinite(svd(np.full((1, 3), 1e308)).s).all()


@pytest.mark.parametrize("value", [-1, np.nan, np.inf, "1", None, True, [1.0]])
def test_numbers_of_at_least_zero(value):
    with pytest.raises(ValueError, match=r"x=.*finite number of at least 0"):
        v.check_nonnegative("x", value)


@pytest.mark.parametrize("value", [0, 0.0, 2, np.float32(0.5), np.int64(3)])
def test_numbers_of_at_least_zero_that_are(value):
    assert v.check_nonnegative("x", value) == value


def test_positive_numbers():
    assert v.check_positive("x", 2) == 2.0
    with pytest.raises(ValueError, match="x=0.0 must be a finite number above 0"):
        v.check_positive("x", 0.0)


@pytest.mark.parametrize("value", [-1, 0.5, "3", True])
def test_counts(value):
    with pytest.raises(ValueError, match=r"x=.*integer of at least 0"):
        v.check_count("x", value)
    assert v.check_count("x", None) is None
    assert v.check_count("x", np.int32(4)) == 4


@pytest.mark.parametrize("value", [0.0, 1.0, "0.9", None, np.nan])
def test_coverage(value):
    with pytest.raises(ValueError, match=r"coverage=.* must lie strictly between 0 and 1"):
        v.check_coverage(value)


def test_choices_are_listed():
    with pytest.raises(ValueError, match="x='c' is not known; choose one of 'a', 'b'\\."):
        v.check_choice("x", "c", ("a", "b"))
    with pytest.raises(ValueError, match="choose one of 'a', or give a number above 0."):
        v.check_choice("x", "c", ("a",), "a number above 0")


@pytest.mark.parametrize("alpha", ["best", -0.1, np.nan, [0.1, -1.0], [], [[1.0]], [np.inf], None])
def test_alphas_that_are_refused(alpha):
    with pytest.raises(ValueError, match=r"(?i)alpha"):
        v.check_alpha(alpha)


def test_alphas():
    assert v.check_alpha("auto") is None
    assert v.check_alpha(2) == 2.0
    np.testing.assert_array_equal(v.check_alpha([1, 2]), [1.0, 2.0])


def test_solvers():
    assert v.check_solver("cholesky", SOLVERS) == Cholesky()
    mine = Cholesky()
    assert v.check_solver(mine, SOLVERS) is mine
    with pytest.raises(ValueError, match="'magic'.*'auto'.*'qr'"):
        v.check_solver("magic", SOLVERS)
    with pytest.raises(TypeError, match="neither a name.*factor"):
        v.check_solver(42, SOLVERS)


def test_random_states():
    one, two = (v.generator(7).standard_normal(3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    generator = np.random.default_rng(0)
    assert v.generator(generator) is generator
    state = np.random.RandomState(0)
    assert not np.array_equal(v.generator(state).random(3), v.generator(state).random(3))
    with pytest.raises(ValueError, match="cannot be used to seed"):
        v.generator("seed")


class _NoTranspose(LinearOperator):
    def _matvec(self, x):
        return np.zeros(self.shape[0])


@pytest.mark.parametrize(
    ("operator", "error", "message"),
    [
        (aslinearoperator(np.array([[1.0, np.nan], [0.0, 1.0]])), ValueError, "NaN or infinity"),
        (aslinearoperator(np.array([[1.0, np.inf], [0.0, 1.0]])), ValueError, "NaN or infinity"),
        (aslinearoperator(np.ones((3, 0))), ValueError, r"empty \(shape \(3, 0\)\)"),
        (aslinearoperator(np.ones((0, 3))), ValueError, r"empty \(shape \(0, 3\)\)"),
        (LinearOperator((3, 2), matvec=lambda x: np.zeros(3), dtype=float), TypeError, "rmatvec"),
        (LinearOperator((3, 2), matvec=lambda x: np.zeros(3), dtype=int), TypeError, "rmatvec"),
        (_NoTranspose(np.float64, (3, 2)), TypeError, "without a transposed product"),
    ],
)
def test_operators_that_cannot_be_decomposed(operator, error, message) -> None:
    with pytest.raises(error, match=message):
        svd(operator, 1)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e290])
@pytest.mark.parametrize(
    "back", [lambda A: A, lambda A: -A.T, lambda A: 2.0 * A.T, lambda A: 0 * A]
)
def test_an_operator_of_two_matrices_is_refused(back, scale, rng) -> None:
    A = scale * rng.standard_normal((70, 70))
    other = back(A)
    operator = LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: other @ y, dtype=float
    )
    with pytest.raises(ValueError, match="rmatvec is not the transposed product"):
        svd(operator, 3)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e-38), (np.float64, 1e-310)])
def test_an_operator_whose_products_have_no_digits_is_taken(dtype, size, rng) -> None:
    A = (rng.standard_normal((70, 70)) * size).astype(dtype)
    assert svd(aslinearoperator(A), 3, rng=0).rank == 3


def test_an_operator_that_is_complex_after_all_is_refused(rng) -> None:
    A = rng.standard_normal((70, 70)) + 1j
    operator = LinearOperator(
        A.shape, matvec=lambda x: A @ x, rmatvec=lambda y: A.conj().T @ y, dtype=float
    )
    with pytest.raises(TypeError, match="complex operator"):
        svd(operator, 3)


def test_operators_with_large_entries_are_taken() -> None:
    found = svd(aslinearoperator(np.diag([1e300, 1e290])), 1)
    assert found.s[0] == pytest.approx(1e300)


@pytest.mark.parametrize(
    "alpha", [["0.1", 1.0], [True, False], [[1.0]], [], [1.0, np.nan], [-1.0], [None], [1j]]
)
def test_paths_that_are_none(alpha) -> None:
    with pytest.raises(ValueError, match="a path must be a 1-D array of finite numbers"):
        v.check_alpha(alpha)


@pytest.mark.parametrize("alpha", [[1, 2.5], (1,), np.array([1, 2], dtype=np.uint8)])
def test_paths(alpha) -> None:
    assert v.check_alpha(alpha).dtype == np.float64


class TestMagnitude:
    ROWS, TARGETS = np.ones((3, 2)), np.ones((3, 1))

    @pytest.mark.parametrize("scale", [1e-49, 1.0, 1e49])
    def test_what_can_be_squared(self, scale):
        v.check_magnitude(scale * self.ROWS, 1e70 * self.TARGETS, np.full(3, scale))
        v.check_magnitude(0.0 * self.ROWS, 0.0 * self.TARGETS, None)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ((1e60, 1.0, 1.0), r"X holds values up to 1e\+60, whose powers overflow.*Scale X"),
            ((1e-60, 1.0, 1.0), r"X holds values up to 1e-60, whose powers underflow"),
            ((1.0, 1e160, 1.0), r"y holds values up to 1e\+160"),
            ((1.0, 1e-160, 1.0), r"y holds values up to 1e-160, whose powers underflow"),
            ((1.0, 1e130, 1e45), r"y holds values.*is the most"),
            ((1.0, 1.0, 1e60), r"sample_weight holds values up to 1e\+60"),
            ((1.0, 1.0, 1e-60), r"sample_weight holds values up to 1e-60"),
        ],
    )
    def test_what_cannot(self, arguments, message):
        X, y, weight = arguments
        with pytest.raises(ValueError, match=message):
            v.check_magnitude(X * self.ROWS, y * self.TARGETS, np.full(3, weight))

    def test_small_values_beside_other_rows(self):
        v.check_magnitude(1e-200 * self.ROWS, None, None, part=True)
        with pytest.raises(ValueError, match="block 7: X holds"):
            v.check_magnitude(1e200 * self.ROWS, None, None, "block 7: ", part=True)

    @pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array])
    def test_at_the_door_of_every_learner(self, form):
        model = PinvRegressor()
        with pytest.raises(ValueError, match="Scale X first"):
            model.fit(form(1e60 * self.ROWS), np.ones(3))
        with pytest.raises(ValueError, match="Scale X first"):
            model.partial_fit(form(1e60 * self.ROWS), np.ones(3))


class TestSymmetric:
    def test_in_the_precision_that_the_entries_have(self):
        K = np.eye(3) / 3.0
        assert v.check_symmetric(K).dtype == np.float64
        assert v.check_symmetric(K.astype(np.float32).astype(float)).dtype == np.float32
        assert v.check_symmetric(1e60 * np.eye(3)).dtype == np.float64

    def test_rounding_of_single_precision_is_no_asymmetry(self):
        K = np.ones((2, 2), dtype=np.float32)
        K[0, 1] += np.finfo(np.float32).eps
        v.check_symmetric(K)
        with pytest.raises(ValueError, match="must be symmetric"):
            v.check_symmetric(K.astype(float) + 1e-12)

    def test_kernel_matrices_that_do_not_fit(self, monkeypatch):
        monkeypatch.setattr(v.memory, "available_memory", lambda: 800)
        v.check_kernel_memory(10, 8.0, np.empty(10))
        with pytest.raises(MemoryError, match="11 rows need a kernel matrix.*rpcholesky"):
            v.check_kernel_memory(11, 8.0, np.empty(11))


def test_masked_entries_are_not_taken_for_known_ones():
    A = np.ma.masked_array(np.eye(3), np.eye(3, dtype=bool))
    with pytest.raises(ValueError, match="A has masked entries. .*partial_svd"):
        v.check_matrix(A)
    np.testing.assert_array_equal(v.check_matrix(np.ma.masked_array(np.eye(3))), np.eye(3))


@pytest.mark.parametrize("values", [np.ones((2, 2)) * 1j, np.ones((2, 2), dtype="m8[s]")])
def test_no_part_of_a_number_is_taken_for_it(values):
    for call in (as_triplets, lambda A: partial_svd([0, 1], [0, 1], A[0], (2, 2), rank=1)):
        with pytest.raises(TypeError, match="is of type .*; real numbers are needed"):
            call(values)
    with pytest.raises(TypeError, match="sample_weight is of type"):
        v.check_weights(values[0], 2)


class TestMaskedEntries:
    """What a masked array hides is missing: its hidden values must not come back."""

    @pytest.fixture
    def X(self):
        X = np.random.default_rng(0).standard_normal((30, 3))
        return np.ma.masked_array(np.where(X > 1.0, 1e6, X), mask=X > 1.0)

    @pytest.mark.parametrize("learner", [PinvRegressor, FastPCA])
    def test_they_are_refused_where_nan_is(self, X, learner):
        with pytest.raises(ValueError, match="X contains NaN, first in row"):
            learner().fit(X, np.ones(30))

    @pytest.mark.parametrize(
        "table", [SVDImputer(random_state=0), TabularInputs()], ids=lambda x: type(x).__name__
    )
    def test_they_are_gaps_of_tables(self, X, table):
        assert_array_equal(table.fit_transform(X), table.fit_transform(X.filled(np.nan)))

    def test_of_targets_and_weights(self, X):
        rows, hidden = X.filled(0.0), np.ma.masked_array(np.arange(30), mask=np.arange(30) == 4)
        with pytest.raises(ValueError, match="y contains NaN"):
            PinvRegressor().fit(rows, hidden)
        with pytest.raises(ValueError, match="y contains NaN"):
            PinvClassifier().fit(rows, np.ma.masked_array(["a", "b"] * 15, mask=hidden.mask))
        with pytest.raises(ValueError, match="sample_weight contains NaN"):
            PinvRegressor().fit(rows, rows[:, 0], sample_weight=hidden)
        with pytest.raises(ValueError, match="values holds 1 NaN"):
            partial_svd(np.arange(30), np.zeros(30, int), hidden, (30, 1), rank=1)

    def test_none_hidden_is_as_without_a_mask(self, X):
        rows = X.filled(0.0)
        found = PinvRegressor(alpha=1.0).fit(np.ma.masked_array(rows), rows[:, 0])
        assert_array_equal(found.coef_, PinvRegressor(alpha=1.0).fit(rows, rows[:, 0]).coef_)


class TestClassesThatAreObjects:
    """Columns of tables of several types: what they hold is told by the values."""

    X = np.arange(12.0)[:, None] % 5

    @pytest.mark.parametrize("kind", [bool, int, float])
    @pytest.mark.parametrize("learner", [PinvClassifier, FastPIClassifier])
    def test_numbers_and_truth_values_have_their_type_back(self, kind, learner):
        y = (np.arange(12) % 2).astype(kind)
        model = learner().fit(self.X, y.astype(object))
        assert model.classes_.dtype == y.dtype
        assert_array_equal(model.predict(self.X), learner().fit(self.X, y).predict(self.X))
        assert model.score(self.X, y.astype(object)) == np.mean(model.predict(self.X) == y)

    def test_labels_of_several_types(self):
        Y = np.array([[True, 0], [False, 1]] * 6, dtype=object)
        assert PinvClassifier().fit(self.X, Y).predict(self.X).shape == (12, 2)

    @pytest.mark.parametrize("y", [[[0, 2], [1, 1], [2, 0]] * 4, [["a", "b"], ["b", "a"]] * 6])
    def test_several_columns_of_classes_have_a_remedy(self, y):
        with pytest.raises(ValueError, match="2 columns, and not of 0 and 1.*MultiOutputClass"):
            PinvClassifier().fit(self.X, y)

    @pytest.mark.parametrize(
        ("y", "types"), [(["a", 1, "b"] * 4, "number, text"), ([(1, 2), (3,), ()] * 4, "tuple")]
    )
    def test_others_are_named(self, y, types):
        classes = np.empty(12, dtype=object)
        classes[:] = y
        with pytest.raises(ValueError, match=f"other types: {types}. Give classes.*astype"):
            PinvClassifier().fit(self.X, classes)

    @pytest.mark.parametrize("gap", [np.nan, None, pd.NA], ids=str)
    def test_a_gap_in_a_list_of_texts_is_no_class(self, gap):
        """NumPy makes the text "nan" of it."""
        y, known = ["a", "b", gap] * 4, ["a", "b", "b"] * 4
        message = r"y contains NaN: y\[2\] is "
        for learner in (PinvClassifier(), FastPIClassifier(), FeatureMachineClassifier()):
            with pytest.raises(ValueError, match=message):
                learner.fit(self.X, y)
        with pytest.raises(ValueError, match=message):
            PinvClassifier().partial_fit(self.X, y)
        with pytest.raises(ValueError, match=message):
            PinvClassifier().partial_fit(self.X, known).partial_fit(self.X, y)
        with pytest.raises(ValueError, match=rf"block .*1\): .*{message}"):
            PinvClassifier().fit_blocks([(self.X, known), (self.X, y)])


@pytest.mark.parametrize(("given", "threads"), [(-1, 4), (-2, 3), (-9, 1), (None, None), (7, 7)])
def test_threads_are_counted_as_in_scikit_learn(monkeypatch, given, threads):
    monkeypatch.setattr("pinvlearn._validation.parameters.processors", lambda: 4)
    assert v.check_jobs(given) == threads


@pytest.mark.parametrize("given", [0, 1.5, "all", True])
def test_what_n_jobs_may_be_is_said(given):
    with pytest.raises(ValueError, match="at least 1.* Or give None, -1 for all cores"):
        v.check_jobs(given)
