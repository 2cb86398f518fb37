"""A checkpoint resumes the fit it belongs to, whatever has changed since it was written."""

import errno

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import pinvlearn
from pinvlearn.summaries import Tree

RNG = np.random.default_rng(0)
X = RNG.standard_normal((600, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
W = RNG.uniform(0.5, 2.0, 600)
DONE = 5
MODEL = pinvlearn.ELMClassifier(10, alpha=0.1, random_state=0)


def cut(X=X, y=Y, w=W, size=100, stop=None):
    """Blocks of so many rows."""
    stop = X.shape[0] if stop is None else stop
    return [(X[i : i + size], y[i : i + size], w[i : i + size]) for i in range(0, stop, size)]


def interrupted(file, blocks, model=MODEL):
    """Leave a checkpoint behind of the first blocks."""

    def broken():
        yield from blocks[:DONE]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clone(model).fit_blocks(broken(), checkpoint=file, source="rows")
    assert Tree.load(file).n_blocks == DONE


def with_entry(array, at, value):
    array = array.copy()
    array[at] = value
    return array


CHANGED = {
    "a row in the last block": ({"X": with_entry(X, (480, 2), 9.0)}, {}, "block 4 has another X"),
    "the smallest change of a number": (
        {"X": with_entry(X, (250, 0), np.nextafter(X[250, 0], 9))}, {}, "block 2 has another X"),
    "two rows that changed places": (
        {"X": X[[*range(150), 151, 150, *range(152, 600)]]}, {}, "block 1 has another X"),
    "a corrected target": ({"y": with_entry(Y, 330, 1 - Y[330])}, {}, "block 3 has another y"),
    "targets of other names": ({"y": Y + 5}, {}, "block 0 has another y"),
    "a weight": ({"w": with_entry(W, 17, 3.0)}, {}, "block 0 has another sample_weight"),
    "no weights": ({"w": None}, {}, "block 0 has another sample_weight"),
    "a smaller block": ({"size": 50}, {}, "block 0 had 100 rows, and has 50"),
    "a larger block": ({"size": 150}, {}, "block 0 had 100 rows, and has 150"),
    "fewer blocks": ({"stop": 300}, {}, "2 blocks that were counted are not there now"),
    "class_weight": ({}, {"class_weight": {0: 2.0}}, "class_weight was None, and is {0: 2.0}"),
    "alpha": ({}, {"alpha": 0.2}, "alpha was 0.1, and is 0.2"),
    "random_state": ({}, {"random_state": 1}, "random_state was 0, and is 1"),
    "n_hidden": ({}, {"n_hidden": 11}, "n_hidden was 10, and is 11"),
    "activation": ({}, {"activation": "relu"}, "activation was"),
    "solver": ({}, {"solver": "cholesky"}, "solver was 'auto', and is 'cholesky'"),
    "a column more": ({"X": np.hstack([X, X[:, :1]])}, {}, "number of features was 4, and is 5"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["list", "iterator"])
@pytest.mark.parametrize("name", CHANGED)
def test_every_change_is_noticed(name, kind, tmp_path, tally) -> None:
    tally(1, refused=1)
    file = tmp_path / "fit.npz"
    interrupted(file, cut())
    before = file.read_bytes()
    data, parameters, message = CHANGED[name]
    blocks = cut(**{"w": W} | data) if data.get("w", W) is not None else [b[:2] for b in cut()]
    model = clone(MODEL).set_params(**parameters)
    with pytest.raises(ValueError, match="belongs to another fit") as raised:
        model.fit_blocks(blocks if kind == "list" else iter(blocks), checkpoint=file, source="rows")
    assert message in str(raised.value)
    assert "Put back what has changed" in str(raised.value)
    assert file.read_bytes() == before
    assert not hasattr(model, "coef_")


def test_a_file_that_has_grown_in_its_last_block(tmp_path, tally) -> None:
    tally(1, refused=1)
    file = tmp_path / "fit.npz"
    interrupted(file, cut(stop=450, X=X[:450], y=Y[:450], w=W[:450]))
    with pytest.raises(ValueError, match="block 4 had 50 rows, and has 100"):
        clone(MODEL).fit_blocks(cut(), checkpoint=file, source="rows")


def test_another_first_row_is_noticed_by_the_name_of_the_source(tmp_path, tally) -> None:
    tally(1, refused=1)
    file = tmp_path / "fit.npz"
    clone(MODEL).fit_blocks(cut(), checkpoint=file)
    with pytest.raises(ValueError, match="the source .a digest of the first rows.* was"):
        clone(MODEL).fit_blocks(cut(with_entry(X, (0, 0), 7.0)), checkpoint=file)


def test_centres_drawn_from_other_rows_are_noticed(tmp_path, tally) -> None:
    tally(1, refused=1)
    file = tmp_path / "fit.npz"
    model = pinvlearn.RBFNetworkClassifier(10, alpha=0.1, random_state=0)
    interrupted(file, cut(), model)
    with pytest.raises(ValueError, match=r"the map \(by fingerprint"):
        clone(model).fit_blocks(cut(X + 1.0), checkpoint=file, source="rows")


def test_sparse_rows_are_noticed(tmp_path, tally) -> None:
    tally(1, refused=1)
    file, S = tmp_path / "fit.npz", sp.csr_array(np.where(X > 1.0, X, 0.0))
    interrupted(file, cut(S))
    other = S.copy()
    other.data[other.indptr[320]] += 1.0
    with pytest.raises(ValueError, match="block 3 has another X"):
        clone(MODEL).fit_blocks(cut(other), checkpoint=file, source="rows")


def test_what_does_not_matter_may_change(tmp_path, tally) -> None:
    """Threads, the class of the container, memory order, and further blocks at the end."""
    tally(1, answered=1)
    file = tmp_path / "fit.npz"
    interrupted(file, cut())
    model = clone(MODEL).set_params(n_jobs=2)
    more = cut(np.asfortranarray(np.vstack([X, X[:50]])), np.r_[Y, Y[:50]], np.r_[W, W[:50]])
    resumed = model.fit_blocks(iter(more), checkpoint=file, source="rows")
    reference = clone(MODEL).fit_blocks(more, source="rows")
    np.testing.assert_array_equal(resumed.coef_, reference.coef_)
    assert resumed.summary_.n_rows == 650


@pytest.mark.parametrize("learner", [pinvlearn.ELMRegressor, pinvlearn.PinvRegressor])
def test_empty_blocks_and_no_weights(learner, tmp_path, tally) -> None:
    tally(1, answered=1)
    file = tmp_path / "fit.npz"
    model = learner(alpha=0.1, random_state=0) if learner is pinvlearn.ELMRegressor else learner()
    model.set_params(**({"random_state": 0} if "random_state" in model.get_params() else {}))
    blocks = [(X[:0], X[:0, 0]), *[(part, part[:, 0]) for part, _, _ in cut()]]
    reference = clone(model).fit_blocks(blocks)
    clone(model).fit_blocks(blocks[:3], checkpoint=file)
    np.testing.assert_array_equal(
        clone(model).fit_blocks(blocks, checkpoint=file).coef_, reference.coef_
    )


def test_a_full_disk_does_not_hide_what_went_wrong_first(tmp_path, monkeypatch) -> None:
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    bad = cut(with_entry(X, (250, 1), np.nan))
    monkeypatch.setattr(Tree, "save", full)
    with pytest.raises(ValueError, match="contains NaN, first in row 50, column 1") as raised:
        clone(MODEL).fit_blocks(bad, checkpoint=tmp_path / "fit.npz")
    (note,) = raised.value.__notes__
    assert "could not be written: [Errno 28] No space left" in note
    with pytest.raises(OSError, match="No space left"):  # where nothing else went wrong
        clone(MODEL).fit_blocks(cut(), checkpoint=tmp_path / "fit.npz", interval=0)
