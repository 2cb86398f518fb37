"""What a summary is of: schemas that differ, blocks that count once, fingerprints."""

import numpy as np
import pytest
import scipy.sparse

from pinvlearn.features.radial import RadialBasis
from pinvlearn.features.random_layer import Inputs, RandomLayer, draw_layer
from pinvlearn.summaries import Gram, Schema, Triangle, fingerprint, fold
from sums import CLASSES, KINDS, MAP, TARGETS, N, P, X, blocks, summary_of


@pytest.mark.parametrize("kind", KINDS)
def test_a_block_counts_once(kind):
    one, two = blocks(kind, CLASSES, [40])
    with pytest.raises(ValueError, match=r"block \('here', 1\) is in both"):
        (one + two) + two
    with pytest.raises(ValueError, match="is in both"):
        fold([one, two, one])
    assert (one + summary_of(kind, MAP, X, CLASSES, block_id=("there", 0))).blocks == (
        ("here", 0, 1),
        ("there", 0, 1),
    )


@pytest.mark.parametrize("block_id", ["here", ("here", -1), ("here", 1.5), (1, 2), ("a", 1, 2)])
def test_bad_block_ids(block_id):
    with pytest.raises(ValueError, match="must be \\(source, number\\)"):
        summary_of(Gram, MAP, X, CLASSES, block_id=block_id)


def test_what_differs_is_named():
    one = summary_of(Gram, MAP, X, CLASSES)
    other = draw_layer(4, P, rng=np.random.default_rng(2))
    with pytest.raises(ValueError, match="feature maps"):
        one + summary_of(Gram, other, X, CLASSES)
    with pytest.raises(ValueError, match="task"):
        one + summary_of(Gram, MAP, X, TARGETS)
    with pytest.raises(ValueError, match="number of targets"):
        summary_of(Gram, MAP, X, TARGETS) + summary_of(Gram, MAP, X, TARGETS[:, :1])
    with pytest.raises(ValueError, match="feature names"):
        one + summary_of(Gram, MAP, X, CLASSES, feature_names=("a", "b", "c", "d"))
    with pytest.raises(ValueError, match="different types"):
        one + summary_of(Gram, MAP, X, np.arange(N) % 3)
    with pytest.raises(TypeError, match="merges with another one"):
        one + summary_of(Triangle, MAP, X, CLASSES)


@pytest.mark.parametrize("floats_first", [True, False])
def test_integers_that_no_float_holds_stay_classes_of_their_own(floats_first):
    few, large = np.array([0.0, 1.0]), 2**60 + np.arange(3)
    one, two = (few, large) if floats_first else (large, few)
    schema = Schema("classes", 1, 0, classes=np.empty(0)).with_classes(one).with_classes(two)
    assert schema.classes.tolist() == [0, 1, 2**60, 2**60 + 1, 2**60 + 2]
    with pytest.raises(ValueError, match="no type holds all"):
        schema.with_classes([1e300])
    assert schema.with_classes([2.0]).classes.dtype.kind == "i"


class TestFingerprint:
    def test_the_same_map_has_the_same(self):
        again = draw_layer(4, P, rng=np.random.default_rng(1))
        assert fingerprint(MAP) == fingerprint(again)

    def test_every_part_counts(self):
        maps = [
            MAP,
            draw_layer(4, P, rng=np.random.default_rng(1), activation="tanh"),
            draw_layer(4, P, rng=np.random.default_rng(1), activation=np.tanh),
            draw_layer(4, P, rng=np.random.default_rng(1), activation=lambda Z: Z),
            draw_layer(4, P, rng=np.random.default_rng(1), activation=lambda Z: Z + 1),
            RandomLayer(MAP.W.astype(np.float32), MAP.b),
            RandomLayer(np.nextafter(MAP.W, 9), MAP.b),
            RadialBasis(X, 1.0),
            RadialBasis(X, 2.0),
            RadialBasis(scipy.sparse.csr_array(X), 1.0),
            Inputs(4),
            Inputs(5),
        ]
        assert len({fingerprint(one) for one in maps}) == len(maps)

    def test_any_object(self):
        from sklearn.preprocessing import PolynomialFeatures, StandardScaler

        def scaler(data):
            return StandardScaler().fit(data)

        assert fingerprint(scaler(X)) == fingerprint(scaler(X))
        assert fingerprint(scaler(X)) != fingerprint(scaler(2 * X))
        things = [PolynomialFeatures(2), PolynomialFeatures(3), {1: 2}, {1: 3}, [1], (1,), {1}]
        things += [np.random.default_rng(0), np.random.default_rng(1), np.array([None, "a"])]
        assert len({fingerprint(one) for one in things}) == len(things)
        loop = []
        loop.append(loop)
        assert fingerprint(loop)
