"""Models and summaries that were crafted, and sealed again so that only their content tells."""

import io
import json
import zipfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pinvlearn
from archives import change, change_schema, members, nodes, rewrite
from pinvlearn._core.files import read_arrays, write_arrays
from pinvlearn.summaries import Gram, Triangle, load_summary

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5))
S = sp.csr_array(np.where(X > 0.3, X, 0.0))
Y = np.array(["no", "yes", "perhaps"])[np.arange(40) % 3]
HUGE = 3 * 10**9
"""Bytes that a crafted file would take if it were believed."""

LARGE = 32 * 2**20
"""The same where they are there, but compressed: more than a file may take to be refused."""


@cache
def models(folder: Path) -> dict[str, Path]:
    """Sound files of several kinds."""
    made = {
        "sparse": pinvlearn.RBFNetworkClassifier(8, random_state=0).fit(S, Y),
        "layer": pinvlearn.ELMClassifier(8, alpha=0.1, random_state=0).fit(X, Y),
        "blocks": pinvlearn.ELMClassifier(8, alpha=0.1, random_state=0).fit_blocks([(X, Y)]),
        "seeded": pinvlearn.ELMRegressor(4, random_state=np.random.default_rng(0)).fit(X, X[:, 0]),
        "imputer": pinvlearn.SVDImputer(2, random_state=0).fit(np.where(X > 1.0, np.nan, X)),
        "partial": pinvlearn.PartialSVD(2, random_state=0).fit(np.argwhere(X > 0), X[X > 0]),
    }
    for name, model in made.items():
        pinvlearn.save(model, folder / f"{name}.skops")
    return {name: folder / f"{name}.skops" for name in made}


def use(file: Path) -> None:
    """Load a model and let it do what it does: whatever it raises then, the process lives on."""
    model = pinvlearn.load(file)
    with suppress(Exception):
        if isinstance(model, pinvlearn.PartialSVD):
            model.predict(np.argwhere(X > -9))
            model.recommend([0, 1], n=2)
        elif isinstance(model, pinvlearn.SVDImputer):
            model.transform(np.where(X > 0.5, np.nan, X))
        else:
            model.predict(S)
            model.predict(X)


# Crafted models: name → (which sound file, what is done to it, whether load itself must refuse it).


def _npy(array) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def _declared(shape, dtype="<f8", data=b"\0" * 64) -> bytes:
    buffer = io.BytesIO()
    header = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + data


def _sparse_file(**parts) -> bytes:
    """The parts of the sparse centres with some replaced, as SciPy writes them."""
    buffer = io.BytesIO()
    A = sp.csr_array(np.eye(8, 5))
    good = {"data": A.data, "indices": A.indices, "indptr": A.indptr, "shape": A.shape}
    np.savez_compressed(buffer, format=b"csr", **good | parts, _is_array=True)
    return buffer.getvalue()


def _first(file: Path, ending: str) -> str:
    return next(name for name in members(file) if name.endswith(ending))


def in_member(ending, content):
    return lambda file: change(file, _first(file, ending), lambda _: content)


def in_schema(function):
    return lambda file: change_schema(file, function)


def _zeros(compressed: str):
    """An array of zeros, compressed although no array is, or packed twice."""

    def craft(file: Path) -> None:
        contents = members(file)
        name = _first(file, ".npz" if compressed == "twice" else ".npy")
        if compressed == "twice":
            contents[name] = _sparse_file(data=np.zeros(LARGE // 8))
        else:
            contents[name] = _declared((LARGE // 8,), data=bytes(LARGE))
        rewrite(file, contents, packed=name)

    return craft


def _one_file_for_many(schema) -> None:
    array = next(node for node in nodes(schema, "NdArrayNode") if node["type"] == "numpy")
    copies = [array | {"__id__": 10**9 + i} for i in range(1000)]
    root = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    _attributes(schema)["copies_"] = root | {"content": copies, "__id__": 5}
    _key_types(schema).append(_key_types(schema)[0])


def _attributes(schema) -> dict:
    return schema["content"]["content"]


def _key_types(schema) -> list:
    return schema["content"]["key_types"]["content"]


def _unfolded(schema) -> None:
    """Lists in lists, each the same list many times: a hundred texts for 10⁹ objects."""
    leaf = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    leaf |= {"content": "0", "is_json": True, "__id__": 10**9}
    level = leaf
    for depth in range(3):
        one = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
        stub = {"__id__": level["__id__"], "__loader__": level["__loader__"]}
        level = one | {"content": [level, *999 * [stub]], "__id__": 10**9 + 1 + depth}
    shape = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    shape |= {"content": [leaf, leaf, leaf], "__id__": 10**9 + 9}
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    array |= {"type": "json", "content": level["content"], "shape": shape, "__id__": 10**9 + 10}
    _attributes(schema)["unfolded_"] = array
    _key_types(schema).append(_key_types(schema)[0])


def _void(file: Path) -> None:
    """A scalar of type numpy.void takes a number as its size."""
    contents = members(file)
    contents["number.npy"] = _npy(np.array(2 * 10**9))
    schema = json.loads(contents["schema.json"])
    node = {"__class__": "void", "__module__": "numpy", "__loader__": "NdArrayNode"}
    _attributes(schema)["void_"] = node | {"type": "numpy", "file": "number.npy", "__id__": 10**9}
    _key_types(schema).append(_key_types(schema)[0])
    rewrite(file, contents | {"schema.json": json.dumps(schema).encode()})


def _pool(schema) -> None:
    seed = nodes(schema, "RandomGeneratorNode")[0]["content"]["seed_seq"]["content"]
    seed["pool_size"] |= {"content": str(HUGE // 4), "__id__": 10**9}


def _nested(file: Path) -> None:
    """Lists in lists, by nodes that are all as they should be."""
    start = '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    contents = members(file)
    text = contents["schema.json"].decode().rstrip()[:-1]
    nested = f', "nested": {400 * start}{400 * "]}"}}}'
    rewrite(file, contents | {"schema.json": (text + nested).encode()})


def _deep_text(content: bytes) -> bytes:
    return b"[" * 200_000 + b"]" * 200_000


def _two_contents(schema) -> None:
    both = nodes(schema, "JsonNode")
    both[1]["__id__"] = both[0]["__id__"]
    both[1]["content"] = '"another"'


def _overlap(file: Path) -> None:
    """Members that lie in one another's bytes, each the whole of them."""
    whole = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
        others = [m for m in archive.infolist() if m is not largest and m.filename.endswith("npy")]
    for other in others:  # in the directory: offset and sizes of the largest
        at = whole.rfind(other.filename.encode()) - 46
        size = largest.file_size.to_bytes(4, "little")
        whole[at + 20 : at + 28] = size + size
        whole[at + 42 : at + 46] = largest.header_offset.to_bytes(4, "little")
    from pinvlearn._core.files import _DIGEST_LENGTH, _digest

    digest = _digest(io.BytesIO(whole), len(whole) - _DIGEST_LENGTH)
    whole[-_DIGEST_LENGTH:] = digest
    file.write_bytes(whole)


def in_array(function, ending=".npy"):
    """Change every array for which the function does not give None."""

    def craft(file: Path) -> None:
        contents = members(file)
        for name in contents:
            if name.endswith(ending):
                array = np.load(io.BytesIO(contents[name]))
                new = function(array)
                contents[name] = contents[name] if new is None else _npy(new)
        rewrite(file, contents)

    return craft


def in_attribute(name: str, text: str):
    """Replace the value of a number somewhere in the model."""

    def edit(schema) -> None:
        stack, found = [schema], 0
        while stack:
            thing = stack.pop()
            if isinstance(thing, dict):
                if isinstance(thing.get(name), dict) and "content" in thing[name]:
                    thing[name] |= {"content": text, "__id__": 10**9 + found}
                    found += 1
                stack.extend(thing.values())
            elif isinstance(thing, list):
                stack.extend(thing)
        assert found, name

    return in_schema(edit)


def _shorter(array):
    return array[:-1].copy() if array.ndim == 2 and array.shape[0] > 1 else None


def _unsorted(array):
    return array[::-1].copy() if array.dtype.kind == "U" else None


def _not_finite(array):
    return np.full_like(array, np.nan) if array.dtype.kind == "f" and array.size else None


CRAFTED = {
    "an array compressed": ("layer", _zeros("once"), True),
    "a sparse matrix packed twice": ("sparse", _zeros("twice"), True),
    "a sparse matrix packed too well": (
        "sparse", in_member(".npz", _sparse_file(data=np.zeros(LARGE // 8))), True),
    "a schema of blanks": (
        "layer", lambda f: change(f, "schema.json", lambda text: b" " * LARGE + text), True),
    "one file for many arrays": ("layer", in_schema(_one_file_for_many), True),
    "lists unfolded": ("layer", in_schema(_unfolded), True),
    "a scalar of two gigabytes": ("layer", _void, True),
    "a pool of three gigabytes": ("seeded", in_schema(_pool), True),
    "an array declared too large": ("layer", in_member(".npy", _declared((HUGE // 8,))), True),
    "an array declared negative": ("layer", in_member(".npy", _declared((-8,))), True),
    "an array of objects": ("layer", in_member(".npy", _declared((8,), "|O")), True),
    "an array of a later version": ("layer", in_member(".npy", b"\x93NUMPY\x09\x00"), True),
    "an array that is none": ("layer", in_member(".npy", b"nothing"), True),
    "an empty member": ("layer", in_member(".npy", b""), True),
    "two contents of one id": ("layer", in_schema(_two_contents), True),
    "members that overlap": ("layer", _overlap, True),
    "a nested schema": ("layer", _nested, False),
    "a schema of brackets": ("layer", lambda f: change(f, "schema.json", _deep_text), True),
    "a schema that is a list": (
        "layer", lambda f: change(f, "schema.json", lambda _: b"[]"), True),
    "a schema without a loader": (
        "layer", in_schema(lambda schema: schema.pop("__loader__")), True),
    "a schema of another protocol": ("layer", in_schema(lambda s: s.update(protocol=99)), True),
    "a header of brackets": ("layer", lambda f: change(f, "pinvlearn.json", _deep_text), True),
    "a header that is a number": (
        "layer", lambda f: change(f, "pinvlearn.json", lambda _: b"2"), True),
    "centres that count from 1": (
        "sparse", in_member(".npz", _sparse_file(indices=np.arange(1, 6))), True),
    "centres far out": (
        "sparse", in_member(".npz", _sparse_file(indices=np.full(5, 10**6))), True),
    "centres below 0": ("sparse", in_member(".npz", _sparse_file(indices=-np.ones(5, int))), True),
    "centres that decrease": (
        "sparse", in_member(".npz", _sparse_file(indptr=np.r_[0, 5, 1, 5, 5, 5, 5, 5, 5])), True),
    "centres too few": ("sparse", in_member(".npz", _sparse_file(data=np.ones(2))), True),
    "centres of fewer columns": ("sparse", in_member(".npz", _sparse_file(shape=(8, 2))), True),
    "centres of more columns": ("sparse", in_member(".npz", _sparse_file(shape=(8, 99))), False),
    "arrays a row shorter": ("layer", in_array(_shorter), True),
    "arrays of sums a row shorter": ("blocks", in_array(_shorter), True),
    "sums that are NaN": ("blocks", in_array(_not_finite), True),
    "classes not sorted": ("blocks", in_array(_unsorted), True),
    "fewer than no rows": ("blocks", in_attribute("n_rows", "-5"), True),
    "NaN rows": ("blocks", in_attribute("n_rows", "NaN"), True),
    "negative mass": ("blocks", in_attribute("mass", "-1.0"), True),
    "loadings a row shorter": ("imputer", in_array(_shorter), False),
    "factors a row shorter": ("partial", in_array(_shorter), False),
}  # fmt: skip


def crafted_models(folder: Path):
    """Crafted models, each loaded and used."""
    sound = models(folder)
    for number, (name, (kind, craft, _)) in enumerate(CRAFTED.items()):
        file = folder / f"crafted{number}.skops"
        file.write_bytes(sound[kind].read_bytes())
        craft(file)
        yield f"{'load' if CRAFTED[name][2] else 'use'}: {name}", lambda f=file: use(f)


def fuzzed_models(folder: Path, count: int):
    """Bytes changed at random in a member, sealed again: loaded, and used if that succeeds."""
    sound = {name: members(file) for name, file in models(folder).items()}
    for number in range(count):
        kind = list(sound)[number % len(sound)]
        contents = dict(sound[kind])
        name = list(contents)[RNG.integers(len(contents))]
        changed = bytearray(contents[name])
        for _ in range(RNG.integers(1, 4)):
            changed[RNG.integers(len(changed))] = RNG.integers(256)
        if RNG.random() < 0.2:
            changed = changed[: RNG.integers(len(changed))]
        file = folder / f"fuzzed{number}.skops"
        rewrite(file, contents | {name: bytes(changed)})
        yield f"fuzz: {kind} {number}", lambda f=file: use(f)


# Crafted summaries: what is done to arrays and header of a sound one.


@cache
def summary_files(folder: Path) -> dict[str, Path]:
    """Sound summaries of both kinds."""
    files = {}
    for kind, alpha in ((Gram, 0.1), (Triangle, 0.0)):
        plan = pinvlearn.ELMClassifier(6, alpha=alpha, random_state=0).plan(X, Y)
        summary = plan.summary(X, Y, block_id=("a", 3))
        assert type(summary) is kind
        files[kind.__name__] = folder / f"{kind.__name__}.npz"
        summary.save(files[kind.__name__])
    return files


def counted(**values):
    return lambda arrays, meta: meta["summaries"][0]["counted"].update(values)


def schema(**values):
    return lambda arrays, meta: meta["summaries"][0]["schema"].update(values)


def array(name, function):
    def edit(arrays, meta) -> None:
        arrays[f"0.{name}"] = function(arrays[f"0.{name}"])

    return edit


def header(function):
    return lambda arrays, meta: function(meta)


def _entry(at, value):
    def edit(A):
        A = A.copy()
        A[at] = value
        return A

    return edit


SUMMARIES = {
    "n_rows negative": ("Gram", counted(n_rows=-5)),
    "n_rows NaN": ("Gram", counted(n_rows=float("nan"))),
    "n_rows infinite": ("Triangle", counted(n_rows=float("inf"))),
    "n_rows text": ("Gram", counted(n_rows="many")),
    "n_rows nothing": ("Triangle", counted(n_rows=None)),
    "mass negative": ("Gram", counted(mass=-1.0)),
    "mass NaN": ("Gram", counted(mass=float("nan"))),
    "blocks backwards": ("Gram", counted(blocks=[["a", 5, 3]])),
    "blocks negative": ("Gram", counted(blocks=[["a", -2, 3]])),
    "blocks not sorted": ("Gram", counted(blocks=[["b", 0, 1], ["a", 0, 1]])),
    "blocks that overlap": ("Triangle", counted(blocks=[["a", 0, 4], ["a", 3, 5]])),
    "blocks of another form": ("Gram", counted(blocks=[["a"]])),
    "blocks a number": ("Gram", counted(blocks=7)),
    "classes not sorted": ("Gram", array("classes", lambda c: c[::-1])),
    "classes twice": ("Gram", array("classes", lambda c: c[[0, 0, 1]])),
    "classes too few": ("Triangle", array("classes", lambda c: c[:2])),
    "classes NaN": ("Gram", array("classes", lambda c: np.array([0.0, 1.0, np.nan]))),
    "classes of two dimensions": ("Gram", array("classes", lambda c: c[:, None])),
    "classes gone": ("Gram", lambda arrays, meta: arrays.pop("0.classes")),
    "HH gone": ("Gram", lambda arrays, meta: arrays.pop("0.HH")),
    "HH too small": ("Gram", array("HH", lambda A: A[:-1, :-1])),
    "HH not square": ("Gram", array("HH", lambda A: A[:-1])),
    "HH not symmetric": ("Gram", array("HH", _entry((0, 3), 1.0))),
    "HH NaN": ("Gram", array("HH", _entry((3, 1), np.nan))),
    "HH infinite": ("Gram", array("HH", _entry((1, 1), np.inf))),
    "HH negative": ("Gram", array("HH", _entry((2, 2), -1e3))),
    "HH single": ("Gram", array("HH", lambda A: A.astype(np.float32))),
    "HH complex": ("Gram", array("HH", lambda A: A + 0j)),
    "HH text": ("Gram", array("HH", lambda A: A.astype(str))),
    "HT of another shape": ("Gram", array("HT", lambda A: A.T)),
    "TT not symmetric": ("Gram", array("TT", _entry((0, 1), 1e3))),
    "TT negative": ("Gram", array("TT", _entry((0, 0), -5.0))),
    "R not a triangle": ("Triangle", array("R", _entry((3, 1), 1.0))),
    "R NaN": ("Triangle", array("R", _entry((0, 1), np.nan))),
    "R too small": ("Triangle", array("R", lambda A: A[:-1, :-1])),
    "another task": ("Gram", schema(task="dreams")),
    "columns negative": ("Gram", schema(n_columns=-6)),
    "columns a fraction": ("Gram", schema(n_columns=6.5)),
    "columns too many": ("Gram", schema(n_columns=10**9)),
    "features text": ("Gram", schema(n_features="5")),
    "names too few": ("Gram", schema(feature_names=["a"])),
    "a field more": ("Gram", schema(colour="red")),
    "no schema": ("Gram", header(lambda meta: meta["summaries"][0].pop("schema"))),
    "no counts": ("Gram", header(lambda meta: meta["summaries"][0].pop("counted"))),
    "another kind": ("Gram", header(lambda meta: meta["summaries"][0].update(kind="Pie"))),
    "the other kind": ("Gram", header(lambda meta: meta["summaries"][0].update(kind="Triangle"))),
    "no summary": ("Gram", header(lambda meta: meta.update(summaries=[]))),
    "summaries a number": ("Gram", header(lambda meta: meta.update(summaries=3))),
    "two summaries": ("Gram", header(lambda meta: meta["summaries"].append({"kind": "Gram"}))),
    "another purpose": ("Gram", header(lambda meta: meta.update(what="cake"))),
    "the first version": ("Gram", header(lambda meta: meta.update(format=1))),
    "a later version": ("Gram", header(lambda meta: meta.update(format=99))),
}


def crafted_summaries(folder: Path):
    """Crafted summaries, each of which must be refused."""
    sound = summary_files(folder)
    for number, (name, (kind, edit)) in enumerate(SUMMARIES.items()):
        arrays, meta = read_arrays(sound[kind], "summary")
        edit(arrays, meta)
        file = folder / f"summary{number}.npz"
        write_arrays(file, arrays, meta)
        yield f"load: {name}", lambda f=file: load_summary(f)
    npy, deep = "0.HH.npy", "meta.npy"
    contents = members(sound["Gram"])
    packed = _declared((LARGE // 8,), data=bytes(LARGE))
    for name, change_to in {
        "an array compressed": ({npy: packed}, npy),
        "an array declared too large": ({npy: _declared((HUGE // 8,))}, ""),
        "an array of objects": ({npy: _declared((8,), "|O")}, ""),
        "a header of brackets": ({deep: _npy(np.frombuffer(_deep_text(b""), np.uint8))}, ""),
        "a header that is a list": ({deep: _npy(np.frombuffer(b"[]", np.uint8))}, ""),
        "a header of zeros": ({deep: _npy(np.zeros(9, np.uint8))}, ""),
    }.items():
        file = folder / f"packed{len(name)}.npz"
        rewrite(file, contents | change_to[0], packed=change_to[1])
        yield f"load: {name}", lambda f=file: load_summary(f)


def fuzzed_summaries(folder: Path, count: int):
    """Bytes changed at random in a member, sealed again."""
    sound = {name: members(file) for name, file in summary_files(folder).items()}
    for number in range(count):
        kind = list(sound)[number % len(sound)]
        contents = dict(sound[kind])
        name = list(contents)[RNG.integers(len(contents))]
        changed = bytearray(contents[name])
        changed[RNG.integers(len(changed))] = RNG.integers(256)
        if RNG.random() < 0.2:
            changed = changed[: RNG.integers(len(changed))]
        file = folder / f"fuzzed{number}.npz"
        rewrite(file, contents | {name: bytes(changed)}, packed="")
        yield f"fuzz: {kind} {number}", lambda f=file: load_summary(f)
