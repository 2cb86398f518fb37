"""The benchmarks' own machinery, on data and numbers small enough to check by hand."""

import argparse
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_rel
from threadpoolctl import threadpool_info

import pinvlearn
from benchmarks import cli, data, environment, splits, threads
from benchmarks.collect import collect
from benchmarks.competitors import lapack_svd, nothing, one_vector
from benchmarks.published import jl19
from benchmarks.ranks import differ, ranks, standings
from benchmarks.registry import find_benchmarks
from benchmarks.render import format_cell, to_markdown
from benchmarks.result import Result, Table, measured, plain, spread
from benchmarks.speed.loo import leave_one_out
from benchmarks.timing import COLUMNS, clock, race

needs_data = pytest.mark.skipif(
    data.FOLDER_VARIABLE not in os.environ, reason=f"{data.FOLDER_VARIABLE} is not set"
)
TABLES = [f"jl19-{k}" for k in (1, 3, 4, 5, 6, 7, 8)]


@pytest.fixture
def generated(tmp_path, monkeypatch):
    """A data folder with a small, easy set under the name of a real one."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    X = rng.standard_normal((120, 4)) + 2 * y[:, None]
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "statlog_segment.npz", X=X, y=y, categorical=np.zeros(4, dtype=bool))
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(folder))
    return folder


# Ranks and wins


def test_ranks_by_hand():
    # Means 90.5, 90.4, 80.5, 80.4, 70: the second of each pair differs from its leader by a
    # noise of mean 0.1 and spread 1, which no t-test on six folds calls different.
    noise = np.array([1.1, -0.9, 1.1, -0.9, 1.1, -0.9])
    folds = np.array([90.0, 91.0, 90.0, 91.0, 90.0, 91.0])
    samples = {
        "worst": folds - 20.5,
        "second pair": folds - 10 - noise,
        "leader": folds,
        "second leader": folds - 10,
        "close": folds - noise,
    }
    expected = {"leader": 1, "close": 1, "second leader": 2, "second pair": 2, "worst": 3}
    assert ranks(samples) == expected


def test_a_group_is_compared_with_its_leader_not_its_neighbour():
    base = np.zeros(4)
    wobble = np.array([0.0, 0.0, 0.0, 1.0])
    samples = {"a": base + 10, "b": base + 9.9 - wobble, "c": base + 9.4 - wobble}
    assert differ(samples["a"], samples["c"])
    assert not differ(samples["a"], samples["b"])
    assert ranks(samples) == {"a": 1, "b": 1, "c": 2}


def test_differ_without_spread():
    assert not differ([1.0, 2.0], [1.0, 2.0])
    assert differ([1.0, 2.0], [2.0, 3.0])
    third = np.array([1 / 3, 2 / 3, 1.0])
    assert not differ(3 * third, third + third + third)  # equal but for rounding


def test_differ_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 1, 20):
        first, second = rng.standard_normal(12), rng.standard_normal(12) + shift
        assert differ(first, second) == (ttest_rel(first, second).pvalue < 0.05)


@pytest.mark.parametrize(
    ("table", "mean_ranks", "errors", "wins"),
    [
        (
            jl19.TABLE_7,
            [2.13, 3.27, 1.8, 2.93, 1.73, 1.53],
            [0.3, 0.43, 0.23, 0.34, 0.24, 0.24],
            ["5[0]", "2[1]", "6[0]", "2[0]", "8[1]", "10[3]"],
        ),
        (
            jl19.TABLE_8,
            [2.67, 3.47, 1.4, 2.73, 2.4, 1.0],
            [0.24, 0.38, 0.14, 0.33, 0.2, 0.0],
            ["2[0]", "1[0]", "9[0]", "2[0]", "2[0]", "15[6]"],
        ),
    ],
    ids=["table 7", "table 8"],
)
def test_standings_of_the_printed_ranks(table, mean_ranks, errors, wins):
    rows = [{config: cells[row].rank for config, cells in table.items()} for row in jl19.ROWS]
    found = standings(rows).values()
    assert [item.mean_rank for item in found] == pytest.approx(mean_ranks, abs=0.0051)
    assert [item.rank_error for item in found] == pytest.approx(errors, abs=0.0051)
    assert [f"{item.wins}[{item.unique}]" for item in found] == wins


def test_printed_cells():
    assert jl19.parse_cell("99.4±0.42(2)") == jl19.Printed(99.4, 0.42, 2)
    assert jl19.parse_cell("0.0127") == jl19.Printed(0.0127)
    with pytest.raises(ValueError, match="mean±std"):
        jl19.parse_cell("n/a")


# Data


def test_every_row_of_the_paper_has_one_data_set():
    assert len(data.DATASETS) == 14
    assert sorted(row for item in data.DATASETS for row in item.paper_rows) == sorted(jl19.ROWS)


@pytest.mark.parametrize("name", ["segment", "image", "SEGMENTATION-ALL", "statlog_segment"])
def test_a_set_has_several_names(name):
    assert data.find(name).name == "segment"


def test_unknown_name_lists_what_there_is():
    with pytest.raises(data.MissingDataError, match="'iris'.*cardiotocography-1.*waveform"):
        data.load("iris")


def test_missing_data_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", _offline)
    with pytest.raises(data.MissingDataError, match=r"no route.*letter\.npz.*PINVLEARN_DATA"):
        data.load("letter")
    with pytest.raises(data.MissingDataError, match=r"no copy.*ann_thyroid\.npz"):
        data.load("thyroid")


def _offline(**options):
    raise OSError("no route to host")


def test_openml_shape_is_checked(tmp_path, monkeypatch):
    monkeypatch.setenv(data.FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", _other_data)
    with pytest.raises(data.MissingDataError, match=r"data set 6 has shape \(10, 3\)"):
        data.load("letter")


def _other_data(**options):
    return argparse.Namespace(
        data=np.zeros((10, 3)), target=np.zeros(10), feature_names=["a", "b", "c"], categories={}
    )


def test_openml_columns_are_chosen_and_spread():
    X = np.array([[7.0, 0.0, 1.0], [8.0, 1.0, 2.0]])
    source = data.OpenMLSource(1, 1, columns=(1, 2), one_hot=(1,))
    arranged, categorical = data._arrange(X, np.array([False, False, True]), source)
    assert arranged.tolist() == [[0, 1, 0], [1, 0, 1]]
    assert not categorical.any()


def test_one_hot_puts_spread_columns_last():
    X = np.array([[2.0, 0.5], [5.0, 0.25], [2.0, 0.0]])
    spread_out = data.one_hot(X, np.array([True, False]))
    assert spread_out.tolist() == [[0.5, 1, 0], [0.25, 0, 1], [0, 1, 0]]


@needs_data
@pytest.mark.parametrize("dataset", data.DATASETS, ids=lambda item: item.name)
def test_real_data_have_the_stated_shape(dataset):
    X, y = data.load(dataset.name)
    assert len(X) == len(y) == dataset.rows
    if dataset.coding == "codes":
        assert X.shape[1] == dataset.features


def test_folds_are_standardised_on_the_training_part(generated):
    fold = splits.make_fold("segment", folds=3, repeat=0, fold=1, seed=0)
    assert fold.X_train.mean(axis=0) == pytest.approx(0, abs=1e-12)
    assert fold.X_train.std(axis=0) == pytest.approx(1)
    assert np.bincount(fold.y_test).min() >= 13  # stratified: 40 of each class in three folds
    assert len(fold.centres(10**6)) == len(fold.X_train)


def test_small_classes_cannot_be_stratified():
    assert splits.can_stratify(np.array([0, 0, 2, 2]), 2)
    assert not splits.can_stratify(np.array([0, 0, 0, 2]), 2)


# Competitors


@pytest.mark.parametrize(
    ("rule", "make_rule"),
    [
        (pinvlearn.Tolerance(), one_vector.tolerance),
        (pinvlearn.FlatGradient(), one_vector.flat_gradient),
    ],
    ids=["tolerance", "gradient"],
)
def test_one_vector_at_a_time_stops_at_the_same_column(rule, make_rule):
    X = np.random.default_rng(1).standard_normal((150, 3))
    A = np.exp(-((X[:, None] - X[None, :80]) ** 2).sum(axis=2) / 8)
    Q = one_vector.basis(A, make_rule(), np.random.default_rng(2))
    assert 10 < Q.shape[1] < 80
    assert Q.shape == pinvlearn.range_basis(A, rule, rng=np.random.default_rng(2)).Q.shape
    assert pytest.approx(np.eye(Q.shape[1]), abs=1e-8) == Q.T @ Q


def test_exact_and_empty_learning():
    rng = np.random.default_rng(0)
    A = np.column_stack([np.ones(30), rng.standard_normal((30, 4))])
    weights = rng.standard_normal((5, 2))
    assert lapack_svd.learn(A, A @ weights) == pytest.approx(weights)
    assert nothing.learn(A, A)[0] == pytest.approx(A.mean(axis=0))


def test_leave_one_out_by_refitting_agrees_with_the_closed_form():
    rng = np.random.default_rng(0)
    H, Y, alpha = rng.standard_normal((25, 4)), rng.standard_normal((25, 2)), 0.3
    A = np.column_stack([np.ones(25), H])
    hat = A @ np.linalg.solve(A.T @ A + alpha * np.diag([0, 1, 1, 1, 1]), A.T)
    expected = Y - (Y - hat @ Y) / (1 - np.diag(hat))[:, None]
    assert leave_one_out(H, Y, alpha) == pytest.approx(expected)


# Timing, records, pages


def test_race_counts_only_timed_rounds():
    calls = []
    timings = race({"a": lambda: calls.append("a"), "b": lambda: 7}, repeats=3, warmup=2)
    assert len(calls) == 5
    assert len(timings["a"].wall) == len(timings["a"].cpu) == 3
    assert timings["b"].value == 7
    record = timings["b"].record()
    assert record["seconds_low"] <= record["seconds"] <= record["seconds_high"]
    assert clock(1) in record
    assert clock(2) in record


def test_a_race_of_two_columns_frees_the_threads_for_one_of_them(monkeypatch):
    monkeypatch.setattr(threads, "processors", lambda: 2)
    limits = []
    with threads.limit(1):
        timing = race({"a": lambda: limits.append(blas_threads())}, repeats=2, both=True)["a"]
        assert blas_threads() == {1}
    assert limits == [{2}, {1}] * 3
    assert len(timing.wall) == len(timing.cpu) == len(timing.default) == 2
    assert set(COLUMNS.values()) <= set(timing.record())


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_resume_measures_only_what_is_missing(tmp_path):
    args = argparse.Namespace(name="try", out=tmp_path, resume=False, datasets=None, folds=2)
    seen = []

    def measure(piece):
        seen.append(piece["fold"])
        return [{"value": 10 * piece["fold"]}]

    collect(args, [{"fold": 0}], measure)
    args.resume = True
    records = collect(args, [{"fold": 0}, {"fold": 1}], measure)
    assert seen == [0, 1]
    assert records == [{"fold": 0, "value": 0}, {"fold": 1, "value": 10}]
    args.folds = 3
    with pytest.raises(SystemExit, match="other settings"):
        collect(args, [{"fold": 0}], measure)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"),
        (True, "yes"),
        (3, "3"),
        (0.123456, "0.123"),
        (12345.6, "12346"),
        (measured([1.0, 2.0, 3.0]), "2±1"),
        (measured([90.0, 92.0], rank=1), "**91±1.4(1)**"),
        (measured([90.0], rank=2), "90±0(2)"),
        (spread([3.0, 1.0, 2.0]), "2 [1, 3]"),
        (spread([0.25]), "0.25"),
    ],
)
def test_cells(cell, text):
    assert format_cell(plain(cell)) == text


def test_plain_values_survive_json():
    value = {"a": (np.float64(1.5), np.int64(2)), "b": float("nan"), "c": np.bool_(True)}
    assert json.loads(json.dumps(plain(value))) == {"a": [1.5, 2], "b": None, "c": True}


def test_page_from_json():
    table = Table("Times", ["set", "ours"], [["letter", 0.25]], ["A note."])
    result = Result({"folds": 2, "kernels": [100, 200]}, [table], ["It works."], ["curve.png"])
    about = {
        "cpu": "some processor",
        "system": "Linux x86_64",
        "python": "3.12",
        "packages": {"numpy": "2", "fbpca": None},
        "blas": [{"internal_api": "openblas", "version": "0.3", "architecture": "Zen"}],
        "threads": 1,
    }
    content = {
        "name": "try",
        "title": "a title",
        "question": "Why?",
        "conclusion": "Therefore.",
        "command": "python -m benchmarks try",
        "environment": about,
        **result.to_dict(),
    }
    page = to_markdown(json.loads(json.dumps(content)))
    assert "| set | ours |\n| --- | --- |\n| letter | 0.25 |\n\nA note." in page
    assert page.startswith("# try: a title\n\nWhy?\n\n## What this run shows\n\n- It works.")
    assert "![curve.png](curve.png)" in page
    assert "kernels = 100 200" in page
    assert "BLAS: openblas 0.3 (Zen)" in page
    assert "fbpca" not in page


def test_environment_names_no_machine():
    about = json.dumps(environment.describe(1))
    assert os.uname().nodename not in about
    assert str(Path.home()) not in about
    line = environment.command_line(["jl19-3", "--out", "/some/where", "--folds", "2", "--out=/x"])
    assert line.endswith("-m benchmarks jl19-3 --folds 2")


# The command line


def test_every_benchmark_opens_with_a_question_and_ends_with_a_conclusion():
    found = find_benchmarks()
    assert set(TABLES) <= set(found)
    assert {"speed-basis", "speed-learning", "speed-svd", "speed-loo"} <= set(found)
    for benchmark in found.values():
        assert benchmark.question.endswith("?")
        assert benchmark.conclusion.startswith("Conclusion:")


def test_listing_and_bad_names(capsys):
    assert cli.run_command([]) == 0
    listed = capsys.readouterr().out
    assert all(f"\n{name} " in f"\n{listed}" for name in TABLES)
    assert cli.run_command(["jl19-2"]) == 2
    assert "'jl19-2'" in capsys.readouterr().err


def test_missing_data_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv(data.FOLDER_VARIABLE, raising=False)
    command = ["jl19-4", "--datasets", "thyroid", "--out", str(tmp_path)]
    assert cli.run_command(command) == 1
    assert capsys.readouterr().err.startswith("Data set 'thyroid'")


@pytest.mark.parametrize("name", ["jl19-4", "jl19-8"])
def test_a_table_of_generated_data(name, generated, tmp_path, capsys):
    out = tmp_path / "results"
    options = ["--folds", "2", "--datasets", "segment", "--out", str(out)]
    assert cli.run_command([name, *options]) == 0
    written = [Path(line) for line in capsys.readouterr().out.split()]
    assert written == [out / f"{name}.json", out / f"{name}.md"]
    content = json.loads(written[0].read_text())
    assert {record["dataset"] for record in content["records"]} == {"segment"}
    assert str(tmp_path) not in written[0].read_text()
    page = written[1].read_text()
    written[1].unlink()
    assert cli.run_command(["render", str(written[0])]) == 0
    assert written[1].read_text() == page
    assert not list(out.glob("*.partial.jsonl"))


def test_fractions_of_generated_data(generated, tmp_path):
    out = tmp_path / "results"
    cli.run_command(["jl19-4", "--folds", "2", "--datasets", "segment", "--out", str(out)])
    records = json.loads((out / "jl19-4.json").read_text())["records"]
    assert len(records) == 2 * 2 * 3  # folds, sizes, stops
    # 60 training rows: both sizes use all of them as centres, and 60 rows bound the basis.
    assert all(record["columns"] <= 60 for record in records)
    assert all(record["fraction"] == record["columns"] / 61 for record in records)
