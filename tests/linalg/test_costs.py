"""What decompositions are counted to cost, and how flat a spectrum seems."""

import numpy as np
import pytest

from matrices import with_spectrum
from pinvlearn.linalg.costs import eigen_flops, exact_flops, flatness, gram_flops, krylov_flops
from threads import blas_limited_to, blas_limits

SHAPES = [(400, 200, 10), (400, 200, 90), (5000, 1000, 200), (1200, 1200, 20)]


@pytest.mark.parametrize(("n", "k"), [(60, 6), (500, 50), (2500, 250)])
def test_bisection_pays_up_to_one_eigenvector_in_ten(n, k):
    """Measured for sides of 60 to 2,500: the same times at a tenth, whatever the side."""
    for few, cheaper in ((k // 2, True), (2 * k, False)):
        every, some = eigen_flops(n, few)
        assert (some < every) == cheaper


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_costs_grow_with_rows_and_components(m, n, k):
    def costs(m, k):
        formed, applied = (krylov_flops(m, n, k, formed=formed) for formed in (True, False))
        return np.array([gram_flops(m, n, k), formed, applied, exact_flops(m, n)])

    assert np.all(costs(2 * m, k) > costs(m, k))
    assert np.all(costs(m, k + 5)[:3] > costs(m, k)[:3])


@pytest.mark.parametrize("formed", [True, False])
def test_a_flat_spectrum_costs_more_steps_but_no_more_than_the_side_has_columns(formed):
    falling, flat = (
        krylov_flops(5000, 1000, 20, formed=formed, flatness=value) for value in (0.0, 1.0)
    )
    assert falling < flat < 3.0 * falling
    most = (krylov_flops(200, 200, 150, formed=formed, flatness=value) for value in (0.0, 1.0))
    assert len(set(most)) == 1


@pytest.mark.parametrize("shape", [(2000, 100), (100, 2000), (150, 150)])
@pytest.mark.parametrize(
    ("spectrum", "low", "high"),
    [
        (lambda i: np.ones(len(i)), 0.7, 1.0),
        (lambda i: 1.0 / i, 0.0, 0.1),
        (lambda i: np.where(i == 1, 1.0, 0.0), 0.0, 0.05),
    ],
)
def test_flatness_is_the_effective_rank_by_the_side(shape, spectrum, low, high):
    n = min(shape)
    A = with_spectrum(max(shape), n, spectrum(np.arange(1.0, n + 1.0)))
    A = A if shape[0] >= shape[1] else A.T
    assert low <= flatness(A) <= high
    for size in (2.0**40, 2.0**900, 2.0**-900):
        assert flatness(size * A) == pytest.approx(flatness(A), rel=1e-9)


def test_flatness_of_nothing_is_nothing():
    assert flatness(np.zeros((80, 70))) == 0.0


def test_blas_has_one_thread_for_the_guess():
    """With several it waited for other processes ten times as long as a small SVD takes."""
    seen = []

    class Watched(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **options):
            if ufunc is np.matmul:
                seen.append(blas_limits())
            plain = (x.view(np.ndarray) if isinstance(x, Watched) else x for x in inputs)
            return getattr(ufunc, method)(*plain, **options)

    A = np.random.default_rng(0).standard_normal((80, 70))
    with blas_limited_to(2):
        assert flatness(A.view(Watched)) == pytest.approx(flatness(A))
    assert seen == [{1}]
