"""Merging along a fixed tree: the same bits in any order of arrival."""

import numpy as np
import pytest

from pinvlearn.summaries import Gram, Tree, fold
from sums import CLASSES, KINDS, MAP, WEIGHTS, N, X, blocks, second_moments, summary_of


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_arrival_orders_give_the_same_bits(kind):
    parts = blocks(kind, CLASSES, range(7, N, 7), WEIGHTS)
    parts += blocks(kind, CLASSES, range(31, N, 31), WEIGHTS, source="there")
    reference = second_moments(fold(parts))
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(parts))
        np.testing.assert_array_equal(second_moments(fold([parts[i] for i in order])), reference)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_nodes_may_be_merged_elsewhere(kind):
    parts = blocks(kind, CLASSES, range(10, N, 10))
    whole = fold([fold(parts[4:8]), fold(parts[:4]), parts[8]])
    np.testing.assert_array_equal(second_moments(whole), second_moments(fold(parts)))
    with pytest.raises(ValueError, match="one block each"):
        fold([fold(parts[:3]), parts[4]])
    with pytest.raises(ValueError, match="one block each"):
        fold([summary_of(kind, MAP, X, CLASSES)])
    with pytest.raises(ValueError, match="no blocks"):
        fold([])


def test_a_tree_uses_up_nothing_but_its_own_sums():
    parts = blocks(Gram, CLASSES, range(10, N, 10))
    before = [second_moments(part) for part in parts]
    tree = Tree()
    seen = []
    for part in parts:
        tree.add(part)
        seen.append((tree.result(), second_moments(tree.result())))
    for part, old in zip(parts, before, strict=True):
        np.testing.assert_array_equal(second_moments(part), old)
    for result, old in seen:
        np.testing.assert_array_equal(second_moments(result), old)
    assert len(tree) == 2  # 8 + 1
    assert tree.counted(("here", 3))
    assert not tree.counted(("here", 9))
