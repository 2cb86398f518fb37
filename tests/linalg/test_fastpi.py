"""FastPI's own options; its results are tested with the other decompositions."""

import numpy as np
import pytest

from matrices import skewed
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
