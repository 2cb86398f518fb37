"""Stop rules: at every scale, relative or not, and what they refuse."""

import numpy as np
import pytest

from matrices import M, N, slow
from pinvlearn import Energy, FlatGradient, Rank, Tolerance, range_basis, svd

BLOCKS = (1, 7, 64, None)


@pytest.mark.parametrize(
    "stop",
    [Rank(5), Energy(0.9), Tolerance(1.0), lambda e: len(e) > 5],
    ids=["rank", "energy", "tolerance", "callable"],
)
@pytest.mark.parametrize("exponent", [-150, 0, 150])
def test_stop_rules_work_at_every_scale(stop, exponent):
    scale = 10.0**exponent
    rule = Tolerance(1.0 * scale) if isinstance(stop, Tolerance) else stop
    f, plain = svd(slow() * scale, stop=rule, rng=0), svd(slow(), stop=stop, rng=0)
    assert 0 < f.rank < N
    assert f.rank == plain.rank
    np.testing.assert_allclose(f.s / scale, plain.s, rtol=1e-10)
    np.testing.assert_allclose(f.report.error / scale, plain.report.error, rtol=1e-6)
    assert "lambda" not in f.report.reason or not isinstance(stop, Rank | Energy | Tolerance)


def test_a_loose_tolerance_keeps_nothing():
    f = svd(slow(), stop=Tolerance(1e6), rng=0)
    assert f.rank == 0
    np.testing.assert_array_equal(f.to_array(), np.zeros((M, N)))
    np.testing.assert_array_equal(f.pinv().to_array(), np.zeros((N, M)))


@pytest.mark.parametrize(
    "rule", [Tolerance(1.5, relative=True), FlatGradient(0.2, 0.01, relative=True)], ids=str
)
@pytest.mark.parametrize("exponent", [-60, 0, 60])
def test_a_relative_rule_does_not_see_the_scale(rule, exponent):
    """Scaling by a power of two changes no digit, so nothing at all may change."""
    A = slow()
    plain = range_basis(A, rule, rng=0)
    scaled = range_basis(np.ldexp(A, exponent), rule, rng=0)
    assert 0 < plain.rank < N
    np.testing.assert_array_equal(plain.Q, scaled.Q)
    np.testing.assert_array_equal(np.ldexp(plain.errors, exponent), scaled.errors)


def test_an_absolute_rule_sees_the_scale():
    A = slow()
    assert (
        range_basis(100.0 * A, Tolerance(1.0), rng=0).rank
        > range_basis(A, Tolerance(1.0), rng=0).rank
    )


@pytest.mark.parametrize("block", BLOCKS)
def test_a_function_is_a_rule(block):
    seen = []

    def stop(errors):
        seen.append(errors.copy())
        return errors[-1] < 0.5 * errors[0]

    basis = range_basis(slow(), stop, block=block, rng=0)
    np.testing.assert_array_equal(seen[-1], basis.errors)
    assert [len(errors) for errors in seen] == list(range(1, basis.rank + 2))
    assert basis.errors[-1] < 0.5 * basis.errors[0] <= basis.errors[-2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tolerance(-0.1), "eps=-0.1"),
        (lambda: Tolerance(np.nan), "eps=nan"),
        (lambda: Tolerance(0.1, r=0), "r=0"),
        (lambda: FlatGradient(tau=-1.0), "tau=-1.0"),
        (lambda: FlatGradient(r=2.5), "r=2.5"),
        (lambda: Rank(0), "k=0"),
        (lambda: Rank(1.5), "k=1.5"),
        (lambda: Energy(0.0), "fraction=0.0"),
        (lambda: Energy(1.5), "fraction=1.5 must be a finite number above 0 and at most 1"),
        (lambda: Tolerance(0.0), "eps=0.0 must be a finite number above 0"),
        (lambda: FlatGradient(eps=0.0), "eps=0.0"),
        (lambda: FlatGradient(tau=0.0), "tau=0.0"),
    ],
)
def test_a_senseless_rule_says_so(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "make", [lambda k: Rank(k), lambda k: Tolerance(r=k), lambda k: FlatGradient(r=k)]
)
def test_numpy_integers_count_as_integers(make):
    assert make(np.int64(3)) == make(3)


@pytest.mark.parametrize("rule", [Tolerance, FlatGradient])
def test_a_relative_rule_of_a_zero_matrix_is_a_rule(rule):
    basis = range_basis(np.zeros((20, 10)), rule(relative=True), rng=0)
    assert basis.rank <= 1
    assert basis.errors[-1] == 0.0
