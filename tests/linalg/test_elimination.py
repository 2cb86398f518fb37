"""Inverses of sparse Gram matrices at the entries that rows meet."""

import numpy as np
import pytest
import scipy.sparse

from pinvlearn.linalg.elimination import Split, apart


def one_hot(levels, m, rng):
    numbers = [rng.integers(count, size=m) for count in levels]
    return scipy.sparse.hstack(
        [scipy.sparse.csr_array(np.eye(c)[i]) for c, i in zip(levels, numbers, strict=True)]
    ).tocsr()


@pytest.mark.parametrize("levels", [(30, 9, 4), (12,), (5, 5, 5, 5)])
def test_inverse_and_forms_are_those_of_the_whole_matrix(levels, rng):
    H = one_hot(levels, 200, rng)
    H.data = rng.standard_normal(H.nnz)
    K = (H.T @ H).tocsr()
    split = Split.of(K)
    for alpha in (0.3, 7.0):
        exact = np.linalg.inv(K.toarray() + alpha * np.eye(sum(levels)))
        found = split.inverse(alpha)
        X = rng.standard_normal((sum(levels), 2))
        np.testing.assert_allclose(found @ X, exact @ X, rtol=1e-9, atol=1e-12)
        dense = H.toarray()
        np.testing.assert_allclose(
            found.forms(H), np.einsum("ij,jk,ik->i", dense, exact, dense), rtol=1e-9
        )


def test_columns_apart_never_meet_and_are_nearly_as_many_as_the_largest_category(rng):
    H = one_hot((40, 10, 3), 60, rng)
    K = (H.T @ H).tocsr()
    chosen = apart(K)
    among = K.toarray()[np.ix_(chosen, chosen)]
    assert not np.any(among - np.diag(np.diagonal(among)))
    assert len(chosen) >= 36
