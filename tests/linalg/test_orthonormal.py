"""Orthonormal bases of ill-conditioned columns."""

import numpy as np
import pytest

from matrices import with_spectrum
from pinvlearn.linalg.orthonormal import basis, column_norms

EPS = np.finfo(float).eps


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e12])
@pytest.mark.parametrize("unequal", [1.0, 1e10])
def test_a_basis_without_its_triangle_is_that_of_qr(condition, unequal):
    Y = with_spectrum(300, 20, np.logspace(0.0, -np.log10(condition), 20))
    Y = np.ascontiguousarray(Y * np.logspace(0.0, np.log10(unequal), 20))
    Q = basis(Y)
    assert Q.flags.c_contiguous
    Q = basis(Q)
    assert np.abs(Q.T @ Q - np.eye(20)).max() <= 300 * EPS
    outside = Y - Q @ (Q.T @ Y)
    assert np.all(column_norms(outside) <= 300 * EPS * condition * column_norms(Y))
