"""Matrices of any kind behind one set of questions."""

import numpy as np
import pytest
import scipy.sparse

from pinvlearn._core import arrays
from pinvlearn._core.arrays import Shifted, device_rows


def shifted(m, n, make=np.asarray):
    X = np.random.default_rng(0).standard_normal((m, n))
    return Shifted(make(X), np.ones(m), X.mean(axis=0))


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
@pytest.mark.parametrize("n", [1, 300, 5000])
def test_blocks_of_centred_rows_take_no_more_than_16_mib(n, make):
    m = {1: 140_000, 300: 4200, 5000: 500}[n]
    A = shifted(m, n, make)
    sizes = [block.nbytes for block in A.blocks()]
    assert len(sizes) > 1
    assert max(sizes) <= 16 * 2**20
    assert sum(block.nbytes for block in A.blocks(100, m - 1)) == 8 * (m - 101) * n


def test_blocks_are_the_difference():
    A = shifted(5000, 7)
    blocks = np.vstack([block.copy() for block in A.blocks()])
    np.testing.assert_array_equal(blocks, A.X - A.right)


def test_pieces_on_a_device_are_about_equal(monkeypatch):
    monkeypatch.setattr(arrays, "DEVICE_ENTRIES", 1000)
    assert device_rows(10, None, 101) == 64
    assert device_rows(10, None, 96) == 96
    assert device_rows(100, None, 11) == 6
    assert device_rows(5000, None, 3) == 1
    assert device_rows(10, None, 0) == 1


def test_a_mask_is_kept_and_nobody_writes_to_it():
    mask = arrays.lower_mask(3)
    np.testing.assert_array_equal(mask, np.tril(np.ones((3, 3), dtype=bool)))
    assert arrays.lower_mask(3) is mask
    with pytest.raises(ValueError, match="read-only"):
        mask[0, 1] = True
