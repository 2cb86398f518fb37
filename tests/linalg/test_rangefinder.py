"""The blocked basis is the paper's basis: same columns, same errors, same stop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import hilbert
from scipy.sparse.linalg import aslinearoperator

from matrices import FORMS, MATRICES, N, fast, kernel, products_only, slow, sparse, wide
from oracles import construct_q
from pairs import sweep
from pinvlearn import Energy, FlatGradient, Rank, Tolerance, range_basis

EPS = np.finfo(float).eps
BLOCKS = (1, 7, 64, None)
RULES = {
    "tolerance": Tolerance(),
    "tolerance-loose": Tolerance(3.0, r=4),
    "tolerance-tight": Tolerance(1e-6, r=6),
    "tolerance-one": Tolerance(0.5, r=1),
    "gradient": FlatGradient(),
    "gradient-steep": FlatGradient(1e-9, tau=0.05, r=5),
    "gradient-at-once": FlatGradient(1e-9, tau=100.0, r=5),
    "gradient-flat": FlatGradient(1e-6, tau=1e-5, r=3),
}
SHAPES = {"fast": fast, "slow": slow, "kernel": kernel, "wide": wide}


def spectral(A) -> float:
    return float(np.linalg.norm(A, 2))


def rounding(A) -> float:
    """Error of Eq. (18): the samples Aω carry eps·n·‖A‖·‖ω‖, and Gram-Schmidt a few times that."""
    m, n = A.shape
    return 100.0 * EPS * max(m, n) * np.sqrt(n) * spectral(A)


def oracle(A, rule, seed):
    tau = getattr(rule, "tau", None)
    return construct_q(A, np.random.default_rng(seed), eps=rule.eps, r=rule.r, tau=tau)


@sweep(rule=RULES, matrix=SHAPES, seed=[0, 1, 2], block=BLOCKS)
def test_the_basis_is_that_of_one_vector_at_a_time(rule, matrix, seed, block):
    A, rule = SHAPES[matrix](), RULES[rule]
    Q, errors = oracle(A, rule, seed)
    basis = range_basis(A, rule, block=block, rng=seed)
    assert basis.Q.shape == Q.shape
    assert basis.rank == Q.shape[1]
    np.testing.assert_allclose(basis.errors, errors, rtol=0, atol=rounding(A))
    np.testing.assert_allclose(basis.Q.T @ basis.Q, np.eye(basis.rank), atol=100 * EPS)


def test_the_rules_end_somewhere_between_nothing_and_everything():
    """Or the comparison above would compare little."""
    columns = {
        (name, matrix): range_basis(SHAPES[matrix](), rule, rng=0).rank
        for name, rule in RULES.items()
        for matrix in SHAPES
    }
    inside = [columns for columns in columns.values() if 0 < columns < N]
    assert len(set(inside)) > 8


@pytest.mark.parametrize("form", [form for form in FORMS if form != "list"])
@pytest.mark.parametrize("rule", [Tolerance(2.0), FlatGradient(1e-3, 0.05)], ids=str)
def test_every_form_of_the_matrix_gives_the_same_basis(form, rule):
    S = sparse()
    expected, errors = oracle(S.toarray(), rule, 5)
    basis = range_basis(FORMS[form](S.toarray()), rule, block=7, rng=5)
    assert 0 < basis.rank < N
    assert basis.Q.shape == expected.shape
    np.testing.assert_allclose(basis.errors, errors, rtol=0, atol=rounding(S.toarray()))


def test_an_operator_that_offers_only_vectors_is_enough():
    A = slow()
    basis = range_basis(products_only(A), Tolerance(1.0), rng=0)
    assert basis.rank == range_basis(A, Tolerance(1.0), rng=0).rank


@pytest.mark.parametrize("block", BLOCKS)
def test_samples_come_one_vector_after_the_other_from_the_stream(block):
    """The contract: column j is a multiple of what sample j adds, whatever the block."""
    A, stream = slow(), np.random.default_rng(3)
    H = np.column_stack([A @ stream.standard_normal(A.shape[1]) for _ in range(12)])
    Q, _ = np.linalg.qr(H)
    basis = range_basis(A, Rank(12), block=block, rng=3)
    cosines = np.abs(np.einsum("ij,ij->j", Q, basis.Q))
    np.testing.assert_allclose(cosines, 1.0, atol=rounding(A) * np.linalg.cond(H))


class Recorder(np.random.Generator):
    """A generator that notes what it was asked for."""

    def __init__(self, seed):
        super().__init__(np.random.PCG64(seed))
        self.asked = []

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        self.asked.append(size)
        return super().standard_normal(size, dtype, out)


def test_only_standard_normals_are_drawn():
    generator = Recorder(0)
    range_basis(slow(), Tolerance(1.0), block=5, rng=generator)
    assert generator.asked
    assert all(np.atleast_1d(size)[-1] == N for size in generator.asked)


def test_the_errors_bound_the_true_error():
    """Lemma 1 with r = 10 fails once in 1e10: never here."""
    A = kernel()
    basis = range_basis(A, Tolerance(1e-6), rng=0)
    for j in range(basis.rank + 1):
        Q = basis.Q[:, :j]
        assert spectral(A - Q @ (Q.T @ A)) <= basis.errors[j] + rounding(A)


@given(k=st.integers(1, N), block=st.sampled_from(BLOCKS), seed=st.integers(0, 100))
@pytest.mark.sweep
def test_rank_stops_at_exactly_k_columns(k, block, seed):
    basis = range_basis(slow(), Rank(k), block=block, rng=seed)
    assert basis.Q.shape == (60, k)
    assert basis.errors.shape == (k + 1,)


@pytest.mark.parametrize("fraction", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("form", ["dense", "csr"])
def test_energy_stops_at_the_first_column_that_holds_the_fraction(fraction, block, form):
    A = slow()
    basis = range_basis(FORMS[form](A), Energy(fraction), block=block, rng=0)
    captured = np.cumsum(np.linalg.norm(basis.Q.T @ A, axis=1) ** 2) / np.linalg.norm(A) ** 2
    assert captured[-1] >= fraction * (1 - N * EPS)
    assert captured[-2] < fraction
    np.testing.assert_allclose(basis.B, basis.Q.T @ A, atol=N * EPS)


def test_energy_of_everything_takes_every_direction():
    assert range_basis(MATRICES["rank_deficient"](), Energy(1.0), rng=0).rank in (12, 13)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize(
    ("matrix", "rank"),
    [
        ("zero", 0),
        ("rank_one", 1),
        ("rank_deficient", 12),
        ("duplicate_columns", 20),
        ("one_row", 1),
        ("one_column", 1),
        ("one_entry", 1),
        ("wide", 40),
        ("flat", 40),
    ],
)
def test_the_basis_ends_where_the_matrix_has_no_more(matrix, rank, block):
    """A rule that never stops: the basis is that of the whole range, and no column is noise."""
    A = MATRICES[matrix]()
    basis = range_basis(A, lambda errors: False, block=block, rng=0)
    assert basis.rank == rank
    assert basis.errors.shape == (rank + 1,)
    assert spectral(basis.Q.T @ basis.Q - np.eye(rank)) <= 100 * EPS if rank else True
    assert spectral(A - basis.Q @ (basis.Q.T @ A)) <= rounding(A)


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("block", [7, None])
def test_columns_are_orthonormal_on_every_matrix(matrix, block):
    A = MATRICES[matrix]()
    basis = range_basis(A, Tolerance(1e-10, relative=True), block=block, rng=0)
    eps = np.finfo(basis.Q.dtype).eps
    np.testing.assert_allclose(basis.Q.T @ basis.Q, np.eye(basis.rank), atol=100 * eps)
    assert np.isfinite(basis.errors).all()


def test_single_precision_stays_single():
    A = slow()
    single = range_basis(A.astype(np.float32), Tolerance(1.0), rng=0)
    assert single.Q.dtype == np.float32
    assert single.rank == range_basis(A, Tolerance(1.0), rng=0).rank


def test_an_operator_over_integers_is_computed_in_floats():
    A = MATRICES["integers"]()
    basis = range_basis(aslinearoperator(A), Rank(5), rng=0)
    np.testing.assert_allclose(basis.Q, range_basis(A, Rank(5), rng=0).Q, atol=rounding(A))


def test_the_same_seed_gives_the_same_bits():
    A = kernel()
    one, two = (range_basis(A, Tolerance(0.5), rng=11) for _ in range(2))
    np.testing.assert_array_equal(one.Q, two.Q)
    np.testing.assert_array_equal(one.errors, two.errors)


def test_errors_of_range_basis_name_what_was_given():
    with pytest.raises(TypeError, match=r"stop=0\.1 is no stop rule.*Tolerance"):
        range_basis(slow(), 0.1)
    with pytest.raises(ValueError, match="block=0"):
        range_basis(slow(), Rank(3), block=0)
    with pytest.raises(ValueError, match="rng='x'"):
        range_basis(slow(), Rank(3), rng="x")
    with pytest.raises(TypeError, match="Energy needs the entries"):
        range_basis(aslinearoperator(slow()), Energy(0.5))


def test_the_error_is_not_zero_where_rounding_ends_the_basis():
    """In float32 samples of this matrix are used up while a few ten-thousandths of it are left."""
    A = hilbert(8).astype(np.float32)
    for seed in range(8):
        found = range_basis(A, FlatGradient(0.01), rng=np.random.default_rng(seed))
        left = np.linalg.norm(A.astype(float) - found.Q @ (found.Q.T @ A.astype(float)), 2)
        assert left <= found.errors[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [None, 1, 40])
def test_the_error_is_not_zero_where_the_basis_is_full(dtype, block):
    """What rounding leaves of the matrix is left of its bound, too."""
    A = (slow() * 1e4).astype(dtype)
    found = range_basis(A, Tolerance(1e-12), block=block, rng=0)
    assert found.rank == N
    left = np.linalg.norm(A.astype(float) - found.Q @ (found.Q.T @ A.astype(float)), 2)
    assert 0.0 < left <= found.errors[-1] < 1e4 * np.linalg.norm(A, 2) * np.finfo(dtype).eps
