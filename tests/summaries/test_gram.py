"""Gram and Triangle: sums that know what they are of, and files that notice every changed bit."""

import warnings
import zipfile

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from pinvlearn._validation import check_block
from pinvlearn.engines.plan import Plan
from pinvlearn.features.radial import RadialBasis
from pinvlearn.features.random_layer import Inputs, RandomLayer, draw_layer
from pinvlearn.summaries import Gram, Schema, Tree, Triangle, fingerprint, fold, load_summary

RNG = np.random.default_rng(0)
N, P = 90, 12
X = RNG.standard_normal((N, 4))
CLASSES = np.array(["ant", "bee", "cat", "dog"])[RNG.integers(4, size=N)]
TARGETS = RNG.standard_normal((N, 2))
WEIGHTS = RNG.uniform(0.0, 2.0, N)
MAP = draw_layer(4, P, rng=np.random.default_rng(1))
EPS = np.finfo(float).eps
KINDS = [Gram, Triangle]


def summary_of(
    kind, map, X, y, sample_weight=None, block_id=None, *, task=None, feature_names=None
):
    """The summary of one block, as a plan makes it."""
    y = np.asarray(y)
    if task is None:
        task = "targets" if y.dtype.kind == "f" else "classes" if y.ndim == 1 else "labels"
    schema = Schema(
        task,
        X.shape[1],
        0 if task == "classes" else 1 if y.ndim == 1 else y.shape[1],
        one_target=y.ndim == 1,
        classes=np.empty(0) if task == "classes" else None,
        feature_names=feature_names,
    )
    plan = Plan(map, schema.of_map(map), kind, check_block)
    with warnings.catch_warnings():  # arrays have no feature names
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return plan.summary(X, y, sample_weight, block_id)


def second_moments(summary):
    """ZᵀZ for Z = [1, H, T], whichever summary it is."""
    if isinstance(summary, Triangle):
        return summary.R.T @ summary.R
    p = summary.products
    HH = np.tril(p.HH) + np.tril(p.HH, -1).T
    return np.block(
        [
            [p.TT[:1, :1], p.HT[:, :1].T, p.TT[:1, 1:]],
            [p.HT[:, :1], HH, p.HT[:, 1:]],
            [p.TT[1:, :1], p.HT[:, 1:].T, p.TT[1:, 1:]],
        ]
    )


def oracle(y, weights=None, rows=slice(None)):
    H = MAP(X)
    if y is CLASSES:
        y = (y[:, None] == np.unique(CLASSES[rows])).astype(float)
    Z = np.hstack([np.ones((N, 1)), H, y])[rows]
    w = np.ones(N) if weights is None else weights
    return Z.T @ (w[rows, None] * Z)


def close(one, two):
    np.testing.assert_allclose(one, two, rtol=0, atol=N * EPS * np.abs(two).max())


def blocks(kind, y, cuts, weights=None, source="here"):
    bounds = [0, *cuts, N]
    return [
        summary_of(
            kind,
            MAP,
            X[a:b],
            y[a:b],
            None if weights is None else weights[a:b],
            (source, i),
        )
        for i, (a, b) in enumerate(zip(bounds, bounds[1:], strict=False))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
@pytest.mark.parametrize("y", [CLASSES, TARGETS], ids=["classes", "targets"])
def test_a_summary_holds_the_products(kind, y, weights):
    summary = summary_of(kind, MAP, X, y, weights)
    close(second_moments(summary), oracle(y, weights))
    assert summary.n_rows == N
    assert summary.mass == pytest.approx(
        np.sum((np.ones(N) if weights is None else weights)[:, None] * MAP(X) ** 2)
    )


@pytest.mark.parametrize("kind", KINDS)
@given(cuts=st.lists(st.integers(0, N), max_size=6).map(sorted), weighted=st.booleans())
def test_any_cut_gives_the_same_sum(kind, cuts, weighted):
    """Empty blocks, single rows and blocks that lack classes included."""
    weights = WEIGHTS if weighted else None
    total = fold(blocks(kind, CLASSES, cuts, weights))
    close(second_moments(total), oracle(CLASSES, weights))
    assert list(total.schema.classes) == ["ant", "bee", "cat", "dog"]
    assert total.blocks == (("here", 0, len(cuts) + 1),)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_are_repeated_rows_and_zero_weights_are_none(kind):
    counts = RNG.integers(0, 4, N)
    repeated = np.repeat(np.arange(N), counts)
    one = summary_of(kind, MAP, X, CLASSES, counts)
    two = summary_of(kind, MAP, X[repeated], CLASSES[repeated])
    close(second_moments(one), second_moments(two))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_rows_are_taken_some_at_a_time(weights, monkeypatch):
    whole = summary_of(Gram, MAP, X, TARGETS, weights)
    monkeypatch.setattr("pinvlearn.summaries.products.ROOM_ROWS", (1, 7))
    pieces = summary_of(Gram, MAP, X, TARGETS, weights)
    close(second_moments(pieces), second_moments(whole))
    close(second_moments(pieces), oracle(TARGETS, weights))


@pytest.mark.parametrize("kind", KINDS)
def test_no_rows_change_no_bit(kind):
    some, none = summary_of(kind, MAP, X, CLASSES), summary_of(kind, MAP, X[:0], CLASSES[:0])
    for both in (some + none, none + some):
        assert both.n_rows == N
        for name, mine in both.arrays().items():
            np.testing.assert_array_equal(mine, some.arrays()[name])


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows(kind):
    S = scipy.sparse.random_array((N, 4), density=0.3, rng=np.random.default_rng(2)).tocsr()
    one, two = summary_of(kind, MAP, S, TARGETS), summary_of(kind, MAP, S.toarray(), TARGETS)
    close(second_moments(one), second_moments(two))


@pytest.mark.parametrize("kind", KINDS)
def test_labels(kind):
    labels = (TARGETS > 0).astype(int)
    summary = summary_of(kind, MAP, X, labels)
    assert summary.schema.task == "labels"
    close(second_moments(summary), oracle(labels.astype(float)))


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


class TestForgetting:
    def test_what_is_left_is_the_sum_of_the_rest(self):
        one, two = blocks(Gram, CLASSES, [60], WEIGHTS)
        left = (one + two) - two
        close(second_moments(left), oracle(CLASSES, WEIGHTS, slice(60)))
        assert left.blocks == one.blocks
        assert left.n_rows == 60

    def test_everything(self):
        one = summary_of(Gram, MAP, X, CLASSES, WEIGHTS)
        nothing = one - one
        assert not second_moments(nothing).any()
        assert nothing.n_rows == nothing.mass == 0.0

    def test_what_was_never_added(self):
        one, two = blocks(Gram, CLASSES, [60])
        with pytest.raises(ValueError, match="never added"):
            one - two
        with pytest.raises(ValueError, match="cannot be forgotten"):
            one - summary_of(Gram, MAP, X, CLASSES)
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:20], TARGETS[:20]) - summary_of(
                Gram, MAP, X[50:60], TARGETS[50:60]
            )
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:10], TARGETS[:10]) - summary_of(
                Gram, MAP, X[:5], 1.1 * TARGETS[:5]
            )
        with pytest.raises(ValueError, match="cannot be forgotten"):
            summary_of(Gram, MAP, X[:10], TARGETS[:10]) - summary_of(
                Gram, MAP, X[:5], TARGETS[:5], np.full(5, 1.1)
            )

    def test_a_triangle_says_what_to_do_instead(self):
        one = summary_of(Triangle, MAP, X, CLASSES)
        with pytest.raises(ValueError, match='solver="cholesky"'):
            one - one

    def test_lost_digits_warn_and_then_refuse(self):
        linear = Inputs(4)
        small = summary_of(Gram, linear, X, TARGETS)
        for scale, outcome in [(1.0, None), (1e3, "warn"), (1e5, "refuse")]:
            large = summary_of(Gram, linear, scale * X, TARGETS)
            both = small + large
            if outcome == "refuse":
                with pytest.raises(ValueError, match="Fit again"):
                    both - large
            elif outcome == "warn":
                with pytest.warns(UserWarning, match="of 16 digits"):
                    left = both - large
                # The rounding of the sum is what is lost, and no more.
                atol = 4 * EPS * scale**2 * small.mass
                np.testing.assert_allclose(left.products.HH, small.products.HH, rtol=0, atol=atol)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    both - large

    def test_parts_of_a_range(self):
        parts = blocks(Gram, CLASSES, range(10, N, 10))
        left = fold(parts) - parts[4]
        assert left.blocks == (("here", 0, 4), ("here", 5, 9))
        assert (left + parts[4]).blocks == (("here", 0, 9),)


@pytest.mark.parametrize("kind", KINDS)
def test_decay(kind):
    summary = summary_of(kind, MAP, X, CLASSES) * 0.25
    close(second_moments(summary), 0.25 * oracle(CLASSES))
    assert summary.n_rows == 0.25 * N


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (
            lambda X, y, w: X.__setitem__((7, 2), np.nan),
            "X contains NaN, first in row 7, column 2",
        ),
        (lambda X, y, w: X.__setitem__((3, 1), np.inf), "X contains infinity"),
        (lambda X, y, w: y.__setitem__((5, 0), np.nan), "y contains NaN, first in row 5, column 0"),
        (lambda X, y, w: w.__setitem__(2, np.nan), "sample_weight contains NaN, first in row 2"),
        (lambda X, y, w: w.__setitem__(2, -1.0), "sample_weight holds negative"),
    ],
)
def test_bad_entries_are_named(kind, bad, match):
    data = X.copy(), TARGETS.copy(), WEIGHTS.copy()
    bad(*data)
    with pytest.raises(ValueError, match=r"block \('a', 3\): " + match):
        summary_of(kind, MAP, *data, ("a", 3))
    with pytest.raises(ValueError, match="rows"):
        summary_of(kind, MAP, X[1:], TARGETS)


@pytest.mark.parametrize("kind", KINDS)
def test_features_that_overflow_are_named(kind):
    def explode(Z):
        with np.errstate(over="ignore"):
            return np.exp(Z)

    layer = RandomLayer(np.ones((4, 3)), np.zeros(3), explode)
    data = X.copy()
    data[11] = 1e4
    with pytest.raises(ValueError, match="map gives NaN or infinity, first in row 11, column 0"):
        summary_of(kind, layer, data, TARGETS)


class TestFiles:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("y", [CLASSES, TARGETS, CLASSES == "ant", np.arange(N) % 3])
    def test_round_trip(self, kind, y, tmp_path):
        summary = summary_of(kind, MAP, X, y, WEIGHTS, ("a", 3), feature_names=("a", "b", "c", "é"))
        summary.save(tmp_path / "part.npz")
        for again in (kind.load(tmp_path / "part.npz"), load_summary(tmp_path / "part.npz")):
            np.testing.assert_array_equal(second_moments(again), second_moments(summary))
            assert again.blocks == summary.blocks
            assert (again.n_rows, again.mass) == (summary.n_rows, summary.mass)
            assert again.schema.header() == summary.schema.header()
            if again.schema.classes is not None:
                np.testing.assert_array_equal(again.schema.classes, summary.schema.classes)
        with np.load(tmp_path / "part.npz", allow_pickle=False) as plain:
            assert "meta" in plain.files

    def test_every_changed_bit_is_noticed(self, tmp_path):
        file = tmp_path / "part.npz"
        summary_of(Gram, Inputs(4), X[:20], CLASSES[:20], block_id=("a", 0)).save(file)
        whole = file.read_bytes()
        rng = np.random.default_rng(3)
        # All of the end, where zip keeps its directory, and bits from everywhere.
        bits = {8 * len(whole) - 1 - i for i in range(0, 600, 3)}
        bits |= {int(i) for i in rng.integers(8 * len(whole), size=300)}
        for bit in bits:
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(ValueError, match="damaged"):
                Gram.load(file)
        for length in (0, 10, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            with pytest.raises(ValueError, match="damaged"):
                Gram.load(file)
        file.write_bytes(whole)
        Gram.load(file)

    def test_other_files_and_kinds(self, tmp_path):
        np.savez(tmp_path / "other.npz", a=X)
        with pytest.raises(ValueError, match="not a summary of pinvlearn"):
            Gram.load(tmp_path / "other.npz")
        summary_of(Triangle, MAP, X, CLASSES).save(tmp_path / "r.npz")
        with pytest.raises(ValueError, match="holds a Triangle summary, not a Gram"):
            Gram.load(tmp_path / "r.npz")
        tree = Tree()
        tree.add(summary_of(Gram, MAP, X, CLASSES, block_id=("a", 0)))
        tree.save(tmp_path / "tree.npz")
        with pytest.raises(ValueError, match="holds a checkpoint, not a summary"):
            load_summary(tmp_path / "tree.npz")

    def test_another_format_version(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pinvlearn.summaries.files.FORMAT", 3)
        summary_of(Gram, MAP, X, CLASSES).save(tmp_path / "new.npz")
        monkeypatch.undo()
        with pytest.raises(ValueError, match="format version 3"):
            Gram.load(tmp_path / "new.npz")

    def test_a_failed_write_leaves_the_old_file(self, tmp_path, monkeypatch):
        file = tmp_path / "part.npz"
        summary = summary_of(Gram, MAP, X, CLASSES)
        summary.save(file)
        before = file.read_bytes()

        def fail(*args, **options):
            raise OSError("disk full")

        monkeypatch.setattr(zipfile.ZipFile, "open", fail)
        with pytest.raises(OSError, match="disk full"):
            (summary + summary).save(file)
        assert file.read_bytes() == before
        assert list(tmp_path.iterdir()) == [file]

    def test_every_changed_bit_of_a_checkpoint_is_noticed(self, tmp_path):
        file = tmp_path / "check.npz"
        tree = Tree()
        for part in blocks(Gram, CLASSES, [30, 60]):
            tree.add(part)
        tree.save(file)
        whole = file.read_bytes()
        for bit in np.random.default_rng(4).integers(8 * len(whole), size=100):
            changed = bytearray(whole)
            changed[bit // 8] ^= 1 << bit % 8
            file.write_bytes(changed)
            with pytest.raises(ValueError, match="damaged"):
                Tree.load(file)

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_checkpoint_goes_on_with_the_same_bits(self, kind, tmp_path):
        parts = blocks(kind, CLASSES, range(10, N, 10))
        tree = Tree()
        for part in parts[5::-1]:
            tree.add(part)
        tree.save(tmp_path / "check.npz")
        again = Tree.load(tmp_path / "check.npz")
        assert again.n_blocks == 6
        for part in parts[6:]:
            again.add(part)
        np.testing.assert_array_equal(second_moments(again.result()), second_moments(fold(parts)))


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
