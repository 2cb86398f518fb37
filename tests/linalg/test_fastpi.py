"""FastPI's own options; its results are tested with the other decompositions."""

import numpy as np
import pytest
import scipy.sparse

from matrices import skewed
from pinvlearn import svd
from pinvlearn.linalg.dense import gram_svd
from pinvlearn.linalg.fastpi import fastpi


@pytest.mark.parametrize("wide", [False, True])
def test_a_low_rank_approximation_of_the_callers_choice_is_used(wide):
    used = []

    def approximate(M, k, parts, **options):
        used.append(k)
        return gram_svd(M, k, G=None if parts is None else parts.gram)

    A = skewed(200, 60)
    A = A.T.tocsr() if wide else A
    f = fastpi(A, 10, rng=np.random.default_rng(0), low_rank=approximate)
    assert len(used) == 2
    assert used[-1] == f.rank == 10


@pytest.mark.parametrize("rank", [25, None])
@pytest.mark.parametrize("wide", [False, True])
def test_a_matrix_of_lower_rank_has_as_many_components_as_asked_for(wide, rank):
    A = np.zeros((80, 60))
    A[0], A[:, 0] = 1.0, 1.0
    A = A.T if wide else A
    f = svd(scipy.sparse.csr_array(A), rank, solver="fastpi", rng=0)
    assert f.rank == (rank or 60)
    np.testing.assert_allclose(f.to_array(), A, atol=1e-12)
    for vectors in (f.U.T, f.Vt):
        np.testing.assert_allclose(vectors @ vectors.T, np.eye(f.rank), atol=1e-12)
