"""How fast and how good is implicit feedback beside the package implicit?

Clicks are ratings of four and five stars (movielens) and plays of artists (lastfm, by their
number); a fifth is held out at random and wanted back among the ten best of every user. *Same
settings*: both minimise the same sum with the same weights, rank, ridge and fifteen iterations, of
three conjugate-gradient steps each, on one thread. *As they come*: PartialSVD at rank 64 chooses
ridge and confidence itself, which is part of its time; implicit has its defaults, but for the rank.

Conclusion: at the same settings ours takes half to three quarters of the time, for a sum as small
and lists as good. Choosing the settings takes ten fits and more, and is worth more than the rest.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from benchmarks.collect import Piece, collect, settings_of
from benchmarks.competitors import implicit_als
from benchmarks.files import load_arrays, random_split
from benchmarks.result import Record, Result, Table
from benchmarks.timing import race
from pinvlearn import PartialSVD, ndcg_at_k, precision_at_k
from pinvlearn.completion.implicit import extra_confidence

NAMES = {"speed-implicit": "clicks without ratings, beside the package implicit"}
SETS = ("movielens_100k", "movielens_1m", "lastfm")
RANKS = (10, 64, 128)
ITERATIONS, K, HELD_OUT = 15, 10, 0.2
SETTINGS = {"movielens_100k": (30.0, 3.0), "movielens_1m": (60.0, 3.0), "lastfm": (80.0, 3.0)}
"""Ridge and confidence of the race at the same settings: about what PartialSVD chooses."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to measure."""
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS))
    parser.set_defaults(repeats=3)


def run(args: argparse.Namespace) -> Result:
    """Every set at every rank, and once as they come."""
    sets = args.datasets or SETS
    pieces: list[Piece] = [{"set": name, "rank": rank} for name in sets for rank in args.ranks]
    pieces += [{"set": name, "rank": "as they come"} for name in sets]
    records = collect(args, pieces, partial(_measure, args))
    same = [r for r in records if r["rank"] != "as they come"]
    free = [r for r in records if r["rank"] == "as they come"]
    return Result(
        settings_of(args), [_same(same), _free(free)], findings(same, free), records=records
    )


def load_clicks(name: str) -> csr_matrix:
    """Users × items, with the number of clicks."""
    if name == "lastfm":
        d = load_arrays("lastfm_artist_tags")
        parts = (d["X_data"].astype(float), d["X_indices"].astype(np.int32), d["X_indptr"])
        return csr_matrix(csr_matrix(parts, shape=tuple(d["X_shape"])).T)
    d = load_arrays(name)
    liked = d["rating"] >= 4
    users, items = (np.unique(d[key][liked], return_inverse=True)[1] for key in ("user", "item"))
    return csr_matrix((np.ones(len(users)), (users, items)))


def split(clicks: Any, seed: int) -> tuple[Any, Any]:
    """Clicks to learn from and those to find."""
    coo = clicks.tocoo()
    parts = random_split(coo.nnz, seed, HELD_OUT)
    train, test = (
        csr_matrix((coo.data[p], (coo.row[p], coo.col[p])), shape=coo.shape) for p in parts
    )
    return train, test


def quality(U: Any, V: Any, train: Any, test: Any) -> dict[str, float]:
    """Precision and NDCG at ten of users with something to find."""
    users = np.flatnonzero(np.diff(test.indptr))
    scores = U[users].astype(float) @ V.astype(float).T
    scores[train[users].nonzero()] = scores.min() - 1.0
    wanted = csr_array(test[users] != 0).astype(int)
    return {"precision": precision_at_k(wanted, scores, K), "ndcg": ndcg_at_k(wanted, scores, K)}


def objective(U: Any, V: Any, train: Any, extra: Any, alpha: float) -> float:
    """The sum that both minimise."""
    U, V, coo = U.astype(float), V.astype(float), train.tocoo()
    at = np.einsum("ij,ij->i", U[coo.row], V[coo.col])
    known = np.sum((1.0 + extra) * (1.0 - at) ** 2 - at**2)
    ridge = alpha * (np.sum(U**2) + np.sum(V**2))
    return float(np.sum((U.T @ U) * (V.T @ V)) + known + ridge)


def _measure(args: argparse.Namespace, piece: Piece) -> Iterator[Record]:
    train, test = split(load_clicks(piece["set"]), args.seed)
    measure = _as_they_come if piece["rank"] == "as they come" else _same_settings
    yield measure(args, piece, train, test)


def _same_settings(args: argparse.Namespace, piece: Piece, train: Any, test: Any) -> Record:
    alpha, confidence = SETTINGS[piece["set"]]
    coo = train.tocoo()
    extra = extra_confidence(coo.data, confidence)
    weights = csr_matrix((1.0 + extra, (coo.row, coo.col)), shape=coo.shape, dtype=np.float32)
    pairs = np.column_stack([coo.row, coo.col])
    fixed = {"alpha": alpha, "confidence": confidence, "max_iter": ITERATIONS, "n_jobs": 1}

    def ours() -> tuple[Any, Any]:
        options = {"feedback": "implicit", "shape": coo.shape, "random_state": args.seed}
        model = PartialSVD(piece["rank"], **options, **fixed).fit(pairs, coo.data)
        return model.completed_.rows[0, :-1], model.completed_.cols[0, :-1]

    theirs = partial(
        implicit_als.fit, weights, piece["rank"], args.seed,
        regularization=alpha, alpha=1.0, iterations=ITERATIONS,
    )  # fmt: skip
    times = race({"ours": ours, "implicit": theirs}, repeats=args.repeats)
    sums = {who: objective(*t.value, train, extra, alpha) for who, t in times.items()}
    good = {who: quality(*t.value, train, test) for who, t in times.items()}
    return {
        "clicks": int(train.nnz),
        "cpu_seconds": {who: t.cpu_seconds for who, t in times.items()},
        "objective_ratio": sums["ours"] / sums["implicit"],
        "quality": good,
    }


def _as_they_come(args: argparse.Namespace, piece: Piece, train: Any, test: Any) -> Record:
    coo = train.tocoo()
    pairs = np.column_stack([coo.row, coo.col])

    def ours() -> PartialSVD:
        model = PartialSVD(
            64, feedback="implicit", shape=coo.shape, n_jobs=1, random_state=args.seed
        )
        return model.fit(pairs, coo.data)

    def theirs() -> tuple[Any, Any]:
        return implicit_als.fit(train.astype(np.float32), 64, args.seed)

    times = race({"ours": ours, "implicit": theirs}, repeats=1, warmup=0)
    model = times["ours"].value
    factors = model.completed_.rows[0, :-1], model.completed_.cols[0, :-1]
    return {
        "clicks": int(train.nnz),
        "cpu_seconds": {who: t.cpu_seconds for who, t in times.items()},
        "chosen": [model.alpha_, model.confidence_, len(model.trials_)],
        "quality": {
            "ours": quality(*factors, train, test),
            "implicit": quality(*times["implicit"].value, train, test),
        },
    }


def _same(records: list[Record]) -> Table:
    rows = []
    for r in records:
        ours, theirs = r["cpu_seconds"]["ours"], r["cpu_seconds"]["implicit"]
        q = r["quality"]
        rows.append(
            [r["set"], r["clicks"], r["rank"], ours, theirs, theirs / ours, r["objective_ratio"],
             q["ours"]["precision"], q["implicit"]["precision"],
             q["ours"]["ndcg"], q["implicit"]["ndcg"]]
        )  # fmt: skip
    columns = [
        *("set", "clicks", "rank", "CPU seconds, ours", "implicit", "times as fast"),
        *("its sum over implicit's", "precision@10, ours", "implicit", "NDCG@10, ours", "implicit"),
    ]
    return Table("The same settings, fifteen iterations", columns, rows)


def _free(records: list[Record]) -> Table:
    rows = []
    for r in records:
        alpha, confidence, trials = r["chosen"]
        q = r["quality"]
        rows.append(
            [r["set"], r["cpu_seconds"]["ours"], r["cpu_seconds"]["implicit"], alpha, confidence,
             trials, q["ours"]["precision"], q["implicit"]["precision"], q["ours"]["ndcg"],
             q["implicit"]["ndcg"]]
        )  # fmt: skip
    columns = [
        *(
            "set",
            "CPU seconds, ours",
            "implicit",
            "alpha chosen",
            "confidence chosen",
            "fits tried",
        ),
        *("precision@10, ours", "implicit", "NDCG@10, ours", "implicit"),
    ]
    return Table(
        "As they come, rank 64",
        columns,
        rows,
        ["implicit has a ridge of 0.01 and takes counts as weights; its authors advise to choose "
         "both, and to weight counts first."],
    )  # fmt: skip


def findings(same: list[Record], free: list[Record]) -> list[str]:
    """Ratios over all sets and ranks."""
    said = []
    if same:
        fast = [r["cpu_seconds"]["implicit"] / r["cpu_seconds"]["ours"] for r in same]
        sums = [r["objective_ratio"] for r in same]
        gap = [
            r["quality"]["ours"]["precision"] - r["quality"]["implicit"]["precision"] for r in same
        ]
        said.append(
            f"At the same settings {min(fast):.1f} to {max(fast):.1f} times as fast as implicit; "
            f"the sum that both minimise is {min(sums):.4f} to {max(sums):.4f} of its, and "
            f"precision at 10 differs by {min(gap):+.4f} to {max(gap):+.4f}."
        )
    for r in free:
        q = r["quality"]
        slower = r["cpu_seconds"]["ours"] / r["cpu_seconds"]["implicit"]
        said.append(
            f"{r['set']}, as they come: precision at 10 of {q['ours']['precision']:.3f}, implicit "
            f"{q['implicit']['precision']:.3f}, in {slower:.1f} times its time."
        )
    return said
