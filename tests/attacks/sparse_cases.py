"""Malformed sparse matrices, in files and in memory, and every door they could come in by."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from commands import COMMAND

ROWS, COLUMNS = 60, 8
RNG = np.random.default_rng(0)
GOOD = sp.random_array((ROWS, COLUMNS), density=0.2, format="csr", rng=RNG)
Y = (np.arange(ROWS) % 2).astype(np.int64)
NNZ = GOOD.nnz


def changed(array, **at):
    """A copy with some entries replaced: changed(indices, _3=99)."""
    array = array.copy()
    for place, value in at.items():
        array[int(place.replace("_", "").replace("m", "-"))] = value
    return array


def _decreasing(indptr):
    indptr = indptr.copy()
    indptr[[10, 30]] = indptr[[30, 10]]
    return indptr


_I, _P, _D = GOOD.indices, GOOD.indptr, GOOD.data
# What is wrong → the parts that are replaced; None leaves a part out.
PARTS: dict[str, dict] = {
    "indices count from 1": {"indices": _I + 1},
    "indices count from -1": {"indices": _I - 1},
    "one index too large": {"indices": changed(_I, _5=COLUMNS)},
    "one index far too large": {"indices": changed(_I, _5=10**9)},
    "one index the largest": {"indices": changed(_I, _m1=2**31 - 1)},
    "one index negative": {"indices": changed(_I, _0=-1)},
    "one index the smallest": {"indices": changed(_I, _0=-(2**31))},
    "an index of 2**40": {"indices": changed(_I.astype(np.int64), _7=2**40)},
    "an index of -2**63": {"indices": changed(_I.astype(np.int64), _7=-(2**63))},
    "unsigned indices that wrap": {"indices": changed(_I.astype(np.uint64), _7=2**64 - 1)},
    "indices of another byte order, too large": {"indices": (_I + 1).astype(">i4")},
    "short indices": {"indices": _I.astype(np.int8) + np.int8(120)},
    "indptr starts at 1": {"indptr": changed(_P, _0=1)},
    "indptr starts below 0": {"indptr": changed(_P, _0=-4)},
    "indptr decreases": {"indptr": _decreasing(_P)},
    "indptr below 0": {"indptr": changed(_P, _20=-7)},
    "indptr far out in the middle": {"indptr": changed(_P, _20=10**8)},
    "indptr ends too far": {"indptr": changed(_P, _m1=NNZ + 1000)},
    "indptr ends far too far": {"indptr": changed(_P, _m1=2**31 - 1)},
    "indptr ends too early": {"indptr": np.minimum(_P, NNZ - 9)},
    "indptr ends below 0": {"indptr": changed(_P, _m1=-1)},
    "indptr too short": {"indptr": _P[:-1]},
    "indptr too long": {"indptr": np.append(_P, NNZ)},
    "indptr empty": {"indptr": _P[:0]},
    "indptr a number": {"indptr": np.array(0)},
    "indptr of fractions": {"indptr": _P + 0.5},
    "data too short": {"data": _D[:-3]},
    "data too long": {"data": np.append(_D, 1.0)},
    "data empty": {"data": _D[:0]},
    "data in two dimensions": {"data": _D[:, None]},
    "complex data": {"data": _D + 1j},
    "data that are text": {"data": _D.astype(str)},
    "data with NaN": {"data": changed(_D, _3=np.nan)},
    "data with infinity": {"data": changed(_D, _3=np.inf)},
    "indices too short": {"indices": _I[:-3]},
    "indices in two dimensions": {"indices": _I[None, :]},
    "indices of fractions": {"indices": _I + 0.5},
    "indices NaN": {"indices": np.full(NNZ, np.nan)},
    "indices that are text": {"indices": _I.astype(str)},
    "indices that are truth values": {"indices": _I > 3},
    "shape with too few columns": {"shape": np.array([ROWS, 3])},
    "shape with too few rows": {"shape": np.array([ROWS - 1, COLUMNS])},
    "shape with too many rows": {"shape": np.array([10**7, COLUMNS])},
    "shape negative": {"shape": np.array([ROWS, -COLUMNS])},
    "shape empty": {"shape": np.array([0, COLUMNS])},
    "shape of fractions": {"shape": np.array([ROWS, COLUMNS + 0.5])},
    "shape of three": {"shape": np.array([ROWS, COLUMNS, 1])},
    "shape a number": {"shape": np.array(ROWS)},
    "no indices": {"indices": None},
    "no indptr": {"indptr": None},
    "no shape": {"shape": None},
}

_COO = GOOD.tocoo()
_CSC = GOOD.tocsc()
_BSR = GOOD.tobsr((2, 2))
_DIA = {"data": np.ones((2, COLUMNS)), "offsets": np.array([0, 1])}


def _saved(form, shape=(ROWS, COLUMNS), **parts):
    return {"format": np.array(form.encode()), "shape": np.array(shape), **parts}


def _compressed(form, A, **parts):
    return _saved(form, **({"data": A.data, "indices": A.indices, "indptr": A.indptr} | parts))


# As scipy.sparse.save_npz writes them.
SAVED: dict[str, dict] = {
    "csr, indices count from 1": _compressed("csr", GOOD, indices=_I + 1),
    "csc, indices count from 1": _compressed("csc", _CSC, indices=_CSC.indices + 1),
    "csc, indptr decreases": _compressed("csc", _CSC, indptr=changed(_CSC.indptr, _3=NNZ)),
    "csc, indices of fractions": _compressed("csc", _CSC, indices=_CSC.indices + 0.5),
    "bsr, indices count from 1": _compressed("bsr", _BSR, indices=_BSR.indices + 1),
    "bsr, blocks that do not tile": _compressed("bsr", _BSR, data=np.ones((len(_BSR.data), 7, 3))),
    "coo, row too large": _saved("coo", data=_D, row=changed(_COO.row, _0=ROWS), col=_COO.col),
    "coo, col negative": _saved("coo", data=_D, row=_COO.row, col=changed(_COO.col, _0=-1)),
    "coo, col too short": _saved("coo", data=_D, row=_COO.row, col=_COO.col[:-1]),
    "dia, offsets too many": _saved("dia", **(_DIA | {"offsets": np.arange(5)})),
    "dia, offsets twice": _saved("dia", **(_DIA | {"offsets": np.array([1, 1])})),
    "unknown format": _compressed("xyz", GOOD),
}  # fmt: skip

_MTX = "%%MatrixMarket matrix coordinate real general\n"
TEXTS: dict[str, tuple[str, str]] = {
    "index 0": (".mtx", _MTX + "3 3 2\n0 1 1.0\n1 1 2.0\n"),
    "index too large": (".mtx", _MTX + "3 3 2\n4 1 1.0\n1 1 2.0\n"),
    "index negative": (".mtx", _MTX + "3 3 2\n-4 1 1.0\n1 1 2.0\n"),
    "fewer lines than said": (".mtx", _MTX + "3 3 5\n1 1 1.0\n"),
    "more lines than said": (".mtx", _MTX + "3 3 1\n1 1 1.0\n2 2 1.0\n"),
    "size negative": (".mtx", _MTX + "-3 3 1\n1 1 1.0\n"),
    "libsvm, index negative": (".libsvm", "1 -3:1.0 2:1\n0 1:2.0\n" * 9),
    "libsvm, indices fall": (".libsvm", "1 3:1.0 2:1\n0 1:2.0\n" * 9),
    "libsvm, index beyond 64 bits": (".libsvm", f"1 1:1 {2**70}:1\n0 1:2.0\n" * 9),
    "labels, feature too large": (".txt", "2 3 2\n0 1:1 3:1\n1 0:1\n"),
    "labels, label too large": (".txt", "2 3 2\n0,2 1:1\n1 0:1\n"),
    "labels, feature negative": (".txt", "2 3 2\n0 -1:1\n1 0:1\n"),
}


def part_arrays(name, prefix="X"):
    """The parts of a CSR matrix with one thing wrong, as they are called in a file."""
    parts = {"data": _D, "indices": _I, "indptr": _P, "shape": np.array([ROWS, COLUMNS])}
    parts |= PARTS[name]
    return {f"{prefix}_{part}": value for part, value in parts.items() if value is not None}


def in_memory():
    """Matrices that were sound when they were made, and were changed since."""
    made = {}
    for name in PARTS:
        given = PARTS[name]
        if "shape" in given or any(part is None for part in given.values()):
            continue
        A = GOOD.copy()
        for part, value in given.items():
            setattr(A, part, value)
        made[f"csr, {name}"] = A
    for form in ("csc", "bsr"):
        A = GOOD.asformat(form)
        A.indices = A.indices + 1
        made[f"{form}, indices count from 1"] = A
    A = GOOD.tocoo()
    A.coords = (A.row + 1, A.col)
    made["coo, rows count from 1"] = A
    A = GOOD.tolil()
    A.rows[3].append(99)
    A.data[3].append(1.0)
    made["lil, a column too large"] = A
    A = GOOD.tolil()
    A.data[3].extend([1.0] * 100)
    made["lil, more values than columns"] = A
    return made


def write_files(folder: Path) -> dict[str, Path]:
    """All files, by what is wrong with them."""
    files = {}

    def put(name, suffix):
        files[name] = folder / f"{len(files)}{suffix}"
        return files[name]

    for name in PARTS:
        np.savez(put(f"parts: {name}", ".npz"), y=Y, **part_arrays(name))
    for name in PARTS:
        good = {f"X_{part}": getattr(GOOD, part) for part in ("data", "indices", "indptr")}
        labels = part_arrays(name, "Y") | {"X_shape": np.array([ROWS, COLUMNS])}
        np.savez(put(f"labels: {name}", ".npz"), **good, **labels)
    for name, parts in SAVED.items():
        np.savez(put(f"saved: {name}", ".npz"), **parts)
    for name, (suffix, text) in TEXTS.items():
        put(f"text: {name}", suffix).write_text(text)
    return files


def command(*arguments):
    """One run of the command line."""
    return lambda: COMMAND([str(argument) for argument in arguments], prog_name="pinvlearn")


def file_cases(folder: Path):
    """Every file through the commands and the block sources that take its kind."""
    import pinvlearn

    linear = ("--model", "linear", "-q", "-o", folder / "m.skops")
    labels = ("--model", "fastpi", "-q", "-o", folder / "m.skops")
    for name, path in write_files(folder).items():
        kind = name.partition(":")[0]
        if kind == "labels":
            yield f"fit {name}", command("fit", path, *labels)
            continue
        if path.suffix in (".npz", ".mtx"):
            yield f"svd {name}", command("svd", path, "--rank", 2, "-o", folder / "f.npz", "-q")
        if path.suffix == ".txt":
            yield f"fit {name}", command("fit", path, *labels)
        elif kind == "parts" or path.suffix == ".libsvm":
            yield f"fit {name}", command("fit", path, *linear)
        if kind == "parts":
            model = pinvlearn.ELMClassifier(5, alpha=1.0, random_state=0)
            yield f"blocks {name}", lambda p=path, m=model: m.fit_blocks(pinvlearn.NpzBlocks(p))


def memory_cases(every: bool):
    """Matrices in memory through the functions and learners that take sparse ones.

    Without `every`, each through two of them, and each of them by several.
    """
    import pinvlearn

    sound = pinvlearn.svd(GOOD, 2)
    labels = (GOOD > 0.5).astype(float)
    elm = pinvlearn.ELMClassifier(5, alpha=1.0, random_state=0).fit(GOOD, Y)
    rbf = pinvlearn.RBFNetworkClassifier(5, random_state=0).fit(GOOD, Y)
    pca = pinvlearn.FastPCA(2, random_state=0).fit(GOOD)
    cells = pinvlearn.FastPIClassifier(random_state=0).fit(GOOD, labels)
    features = pinvlearn.RandomFeatures(5, random_state=0).fit(GOOD)
    doors = {
        "svd": lambda A: pinvlearn.svd(A, 2),
        "pinv": pinvlearn.pinv,
        "lstsq": lambda A: pinvlearn.lstsq(A, np.ones(ROWS)),
        "lstsq targets": lambda A: pinvlearn.lstsq(GOOD, A),
        "range_basis": lambda A: pinvlearn.range_basis(A, pinvlearn.Rank(2)),
        "as_triplets": pinvlearn.as_triplets,
        "precision": lambda A: pinvlearn.precision_at_k(A, np.ones((ROWS, COLUMNS)), 1),
        "append_rows": sound.append_rows,
        "operator": lambda A: sound.pinv() @ A,
        "elm fit": lambda A: pinvlearn.ELMClassifier(5).fit(A, Y),
        "elm predict": elm.predict,
        "elm partial_fit": lambda A: pinvlearn.ELMClassifier(5, alpha=1.0).partial_fit(A, Y),
        "elm blocks": lambda A: pinvlearn.ELMClassifier(5, alpha=1.0).fit_blocks([(A, Y)]),
        "rbf fit": lambda A: pinvlearn.RBFNetworkClassifier(5).fit(A, Y),
        "rbf centres": lambda A: pinvlearn.RBFNetworkClassifier(centers=A).fit(GOOD, Y),
        "rbf predict": rbf.predict,
        "pca fit": lambda A: pinvlearn.FastPCA(2).fit(A),
        "pca transform": pca.transform,
        "fastpi fit": lambda A: pinvlearn.FastPIClassifier().fit(A, labels),
        "fastpi labels": lambda A: pinvlearn.FastPIClassifier().fit(GOOD, A),
        "fastpi score": lambda A: cells.score(GOOD, A),
        "fastpi predict": cells.predict,
        "features": features.transform,
        "summary": lambda A: elm.plan().summary(A, Y),
    }  # fmt: skip
    for at, (matrix, A) in enumerate(in_memory().items()):
        for number, (door, take) in enumerate(doors.items()):
            if door == "operator" and matrix.startswith("csr, data with"):
                continue  # which gives NaN back, as every product does
            if every or (number - at) % len(doors) in (0, 11):
                yield f"{door}: {matrix}", lambda take=take, A=A: take(A)
