"""Completion and imputation on the command line: names of any type, and messages that count."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pinvlearn
from commands import fails, ok

TRIPLETS = ("--model", "completion", "--row", "user", "--col", "film", "--value", "stars")


@pytest.fixture
def ratings() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    full = 3.0 + rng.standard_normal((30, 1)) + rng.standard_normal(12)
    rows, cols = np.nonzero(rng.random(full.shape) < 0.6)
    frame = pd.DataFrame(
        {
            "user": [f"u{i}" for i in rows],
            "film": [f"film, no. {j}" for j in cols],
            "stars": full[rows, cols],
            "when": "today",
        }
    )
    frame.to_csv("ratings.csv", index=False)
    return frame


@pytest.fixture
def model(ratings) -> str:
    ok("fit", "ratings.csv", *TRIPLETS, "--size", 2, "--out", "m.skops", "--quiet")
    return "m.skops"


def test_fit_says_what_it_did(ratings):
    said = json.loads(ok("fit", "ratings.csv", *TRIPLETS, "--json").stdout)
    assert said["model"] == "PartialSVD"
    assert (said["entries"], said["rows"], said["columns"]) == (len(ratings), 30, 12)
    assert said["solved_by"].startswith("gibbs")


def test_predictions_keep_the_ids(model, ratings):
    ratings[["film", "user"]].head(5).to_csv("new.csv", index=False)
    ok("predict", model, "new.csv", "--out", "p.csv")
    predicted = pd.read_csv("p.csv")
    assert list(predicted.columns) == ["user", "film", "prediction"]
    assert predicted["user"].tolist() == ratings["user"].head(5).tolist()
    assert np.abs(predicted["prediction"] - ratings["stars"].head(5)).max() < 1.0


def test_recommendations(model, ratings):
    result = ok("predict", model, "--recommend", 3, "--row", "u4", "--row", "u7")
    lines = result.stdout.splitlines()
    assert lines[0] == "user,film,prediction"
    assert [line.split(",")[0] for line in lines[1:]] == ["u4"] * 3 + ["u7"] * 3
    had = ratings.loc[ratings["user"] == "u4", "film"]
    assert not any(film in line for film in had for line in lines[1:4] if f'"{film}"' in line)


def test_unknown_ids_are_counted(model):
    pd.DataFrame({"user": ["u1", "new", "newer"], "film": ["film, no. 1"] * 3}).to_csv(
        "new.csv", index=False
    )
    result = ok("predict", model, "new.csv")
    assert "2 lines have a user that the model does not know, first new" in result.stderr
    assert len(result.stdout.splitlines()) == 4
    message = fails(2, "predict", model, "--recommend", 3, "--row", "nobody")
    assert "1 of 1 ids are unknown" in message
    assert "it knows 30" in message


def test_duplicates_are_counted_and_averaged(ratings):
    pd.concat([ratings, ratings.head(3)]).to_csv("twice.csv", index=False)
    result = ok("fit", "twice.csv", *TRIPLETS)
    assert "3 ratings repeat a user and an item; their mean is used" in result.stderr


def test_lines_without_id_or_value_are_counted(ratings):
    ratings["stars"] = ratings["stars"].astype(object)
    ratings.loc[0, "stars"] = "many"
    ratings.loc[5, "user"] = None
    ratings.to_csv("gaps.csv", index=False)
    result = ok("fit", "gaps.csv", *TRIPLETS)
    assert f"2 of {len(ratings)} lines lack an id or a finite value" in result.stderr
    assert "first number 1" in result.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_marks_of_missing_values(ratings, ending):
    ratings["stars"] = ratings["stars"].astype(float)
    ratings.loc[:4, "stars"] = -1.0
    write = ratings.to_parquet if ending == "parquet" else ratings.to_csv
    write(f"m.{ending}")
    said = ok("fit", f"m.{ending}", *TRIPLETS, "--size", 2, "--missing", "-1").stderr
    assert f"5 of {len(ratings)} lines lack an id or a finite value" in said


def test_malformed_lines_are_counted(ratings):
    with open("ratings.csv", "a") as file:
        file.write("u1,film,4,today,and,more\nu2,film,4,today,and,more\n")
    result = ok("fit", "ratings.csv", *TRIPLETS)
    assert "2 malformed lines are left out, first u1, film, 4" in result.stderr


@pytest.mark.parametrize("ending", ["tsv", "parquet"])
def test_numbers_as_ids(ratings, ending):
    ratings["user"] = ratings["user"].str[1:].astype(int)
    file = f"ratings.{ending}"
    if ending == "tsv":
        ratings.to_csv(file, index=False, sep="\t")
    else:
        ratings.to_parquet(file)
    ok("fit", file, *TRIPLETS)
    assert ok("predict", "model.skops", "--recommend", 1, "--row", 4).stdout.count("\n") == 2


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--model", "completion"), "needs the columns"),
        (
            (*TRIPLETS[:-1], "rating"),
            "there is no column rating; there are user, film, stars, when",
        ),
        ((*TRIPLETS[:-1], "user"), "user, film, user"),
        (
            (*TRIPLETS, "--rank", 2),
            "does not take --rank. It takes --row, --col and --value, and --size",
        ),
        ((*TRIPLETS, "--id", "when", "--drop", "x"), "does not take --drop, --id"),
        ((*TRIPLETS, "--categorical", "user", "--date", "when"), "not take --categorical, --date"),
        ((*TRIPLETS, "--solver", "exact"), "give one of auto, descent, als, gibbs"),
        (("--row", "user", "--target", "stars"), "belong to --model completion"),
    ],
)
def test_bad_usage_of_fit(ratings, args, message):
    assert message in fails(2, "fit", "ratings.csv", *args)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "give one of DATA, --recommend N and --similar N"),
        (("--row", "u1", "--similar", 3), "--row belongs to --recommend"),
        (("ratings.csv", "--col", "u1"), "--col to --similar"),
        (("ratings.csv", "--recommend", 3, "--row", "u1"), "give one of DATA"),
        (("ratings.csv", "--proba"), "--proba needs a classifier"),
        (("ratings.csv", "--id", "when"), "--id belongs to models of rows"),
    ],
)
def test_bad_usage_of_predict(model, args, message):
    assert message in fails(2, "predict", model, *args)


def test_recommend_needs_a_completion_model(ratings):
    ok("fit", "ratings.csv", "--target", "stars", "--model", "linear", "--quiet")
    message = fails(2, "predict", "model.skops", "--recommend", 1, "--row", "u1")
    assert "need a completion model" in message


def test_nothing_usable(ratings):
    ratings.assign(stars="?").to_csv("none.csv", index=False)
    assert "no usable line" in fails(1, "fit", "none.csv", *TRIPLETS)


def test_the_held_out_error_is_said(ratings):
    said = json.loads(ok("fit", "ratings.csv", *TRIPLETS, "--json").stdout)
    assert 0.0 < said["held_out_rmse"] < ratings["stars"].std()


def test_ids_stay_as_they_are_written():
    rows = [f"{u:03d},{10**17 + f},{(u + f) % 5 + 1}" for u in range(12) for f in range(6)]
    Path("ratings.csv").write_text("\n".join(["user,film,stars", *rows]))
    ok("fit", "ratings.csv", *TRIPLETS, "--size", 2, "--quiet")
    model = pinvlearn.load("model.skops")
    assert model.users_[7] == "007"
    assert model.predict(["007"], [str(10**17)]).shape == (1,)
    Path("new.csv").write_text(f"user,film\n007,{10**17 + 3}\n")
    assert (
        ok("predict", "model.skops", "new.csv")
        .stdout.splitlines()[1]
        .startswith(f"007,{10**17 + 3},")
    )


def test_recommendations_for_everyone(model):
    lines = ok("predict", model, "--recommend", 2).stdout.splitlines()
    assert len(lines) == 1 + 2 * 30
    one = ok("predict", model, "--recommend", 2, "--row", "u4").stdout.splitlines()
    assert set(one) <= set(lines)


def test_more_are_asked_for_than_there_are(model):
    """An array of that width used to be asked for."""
    every = ok("predict", model, "--recommend", 10**15).stdout
    assert every == ok("predict", model, "--recommend", 1000).stdout
    assert ok("predict", model, "--similar", 10**15).stdout


def test_similar_columns(model):
    lines = ok("predict", model, "--similar", 2, "--col", "film, no. 3").stdout.splitlines()
    assert lines[0] == "film,similar film,similarity"
    assert len(lines) == 3
    assert all(line.startswith('"film, no. 3",') for line in lines[1:])
    assert len(ok("predict", model, "--similar", 1).stdout.splitlines()) == 13


def test_standard_deviations(model, ratings):
    ratings[["user", "film"]].head(4).to_csv("new.csv", index=False)
    ok("predict", model, "new.csv", "--std", "--out", "p.csv")
    assert (pd.read_csv("p.csv")["std"] > 0.0).all()


def test_ids_are_not_lost_to_columns_of_their_name(ratings):
    def learned(name):
        ratings.rename(columns={"film": name}).to_csv("named.csv", index=False)
        return ("named.csv", "--model", "completion", "--row", "user", "--col", name)

    said = fails(2, "fit", *learned("prediction"), "--value", "stars")
    assert "predictions have a column 'prediction' of their own" in said
    for name, options in {"std": ["named.csv", "--std"], "similarity": ["--similar", 2]}.items():
        ok("fit", *learned(name), "--value", "stars", "--size", 2, "-q")
        ok("predict", "model.skops", "named.csv")
        assert f"a column {name!r} of their own" in fails(2, "predict", "model.skops", *options)


def test_new_ratings_without_a_refit(model):
    def value() -> float:
        Path("pair.csv").write_text('user,film\nu4,"film, no. 1"\n')
        return float(ok("predict", model, "pair.csv").stdout.splitlines()[1].split(",")[-1])

    before = value()
    lines = [f'{user},"film, no. {j}",-9' for user in ("u4", "new") for j in range(2, 9)]
    lines += ['u4,"film, no. 2",-9', "u4,unheard of,3"]
    Path("new.csv").write_text("\n".join(["user,film,stars", *lines]))
    result = ok("update", model, "new.csv", "--json")
    said = json.loads(result.stdout)
    assert (said["entries_added"], said["new_rows"], said["rows"]) == (14, 1, 31)
    assert "1 lines repeat a pair; the last of each counts" in result.stderr
    assert "1 lines have a film that the model does not know, first unheard of" in result.stderr
    assert value() < before - 1.0
    assert "u4" in ok("predict", model, "--recommend", 1, "--row", "u4").stdout
    message = fails(2, "update", model, "new.csv", "--forget")
    assert "a completion model takes new ratings" in message


def test_decimal_commas_and_pipes(ratings):
    text = ratings.to_csv(index=False, sep=";", decimal=",")
    args = (*TRIPLETS, "--size", 2, "--decimal", ",", "--json")
    said = json.loads(ok("fit", "-", *args, input=text).stdout)
    assert said["entries"] == len(ratings)
    ratings.to_parquet("r.parquet")
    raw = Path("r.parquet").read_bytes()
    said = json.loads(ok("fit", "-", *TRIPLETS, "--size", 2, "--json", input=raw).stdout)
    assert said["entries"] == len(ratings)


def test_a_model_of_python_knows_its_columns_by_other_names(ratings):
    model = pinvlearn.PartialSVD(2, random_state=0)
    texts = ratings.astype({"user": str, "film": str})
    pinvlearn.save(model.fit(texts["user"], texts["film"], texts["stars"]), "python.skops")
    ratings.to_csv("ratings.csv", index=False)
    message = fails(2, "predict", "python.skops", "ratings.csv")
    assert "no column row, column; there are user, film" in message
    assert "knows its columns by these names; give those of the data the same" in message
    texts.rename(columns={"user": "row", "film": "column"}).to_csv("renamed.csv", index=False)
    assert len(ok("predict", "python.skops", "renamed.csv").stdout.splitlines()) == len(texts) + 1


def test_a_model_of_indices_is_for_python():
    pairs = np.argwhere(np.ones((5, 4)))
    plain = pinvlearn.PartialSVD(1, solver="als", alpha=0.1).fit(pairs, np.arange(20.0))
    pinvlearn.save(plain, "plain.skops")
    assert "use it in Python" in fails(1, "predict", "plain.skops", "--recommend", 1)


def test_the_score_is_said_where_the_values_are_there(model, ratings):
    ok("predict", model, "ratings.csv", "--out", "p.csv")
    found = pd.read_csv("p.csv")
    error = np.sqrt(np.mean((found["prediction"] - ratings["stars"]) ** 2))
    assert list(found) == ["user", "film", "prediction"]
    said = ok("predict", model, "ratings.csv").stderr
    assert f"RMSE {error:.4g} on {len(ratings)} lines, by the values in 'stars'" in said


def test_values_that_are_no_numbers_are_named(ratings) -> None:
    stars = ratings["stars"].round(2).astype(str)
    for first, more in (("3,5", ", say --decimal , if that is its point"), ("n.a.", "")):
        stars[4] = first
        ratings.assign(stars=stars).to_csv("some.csv", index=False)
        said = ok("fit", "some.csv", *TRIPLETS).stderr
        assert f"column 'stars' holds '{first}', which is no finite number{more}\n" in said
        assert f"1 of {len(ratings)} lines lack an id or a finite value" in said


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(ratings, end) -> None:
    table = ratings.assign(film=ratings["film"] + "\npart 1")
    Path("ends.csv").write_bytes(table.to_csv(index=False).replace("\n", end).encode())
    said = json.loads(ok("fit", "ends.csv", *TRIPLETS, "--json", "--quiet").stdout)
    assert (said["entries"], said["rows"], said["columns"]) == (len(ratings), 30, 12)
    Path("open.csv").write_bytes(end.join(["user,film,stars", 'a,"f,1', "b,f,2", "c,f,3"]).encode())
    assert "open.csv, line 2: a quote is never closed" in fails(1, "fit", "open.csv", *TRIPLETS)


def test_a_quote_that_is_never_closed() -> None:
    """All lines after it were one cell, and were lost without a word."""
    lines = [f"u{i % 5},i{i % 7},{i % 3}" for i in range(40)]
    lines[4] = '"u1,i1,2'
    Path("open.csv").write_text("\n".join(["user,item,rating", *lines]))
    columns = ("--row", "user", "--col", "item", "--value", "rating")
    said = fails(1, "fit", "open.csv", "--model", "completion", *columns)
    assert "line 6: a quote is never closed" in said


def test_clicks_without_values() -> None:
    rng = np.random.default_rng(0)
    users = rng.integers(0, 90, 500)
    frame = pd.DataFrame(
        {"who": [f"u{u}" for u in users], "what": users % 3 * 10 + rng.integers(0, 10, 500)}
    )
    frame.to_csv("clicks.csv", index=False)
    columns = ("--row", "who", "--col", "what", "--feedback", "implicit", "--size", 4)
    said = json.loads(ok("fit", "clicks.csv", "--model", "completion", *columns, "--json").stdout)
    assert said["held_out_ndcg"] > 0.2
    assert said["confidence"] > 0.0
    best = ok("predict", "model.skops", "--recommend", 3, "--row", "u4").stdout.splitlines()
    assert best[0] == "who,what,prediction"
    assert all(int(line.split(",")[1]) // 10 == 1 for line in best[1:])
    Path("more.csv").write_text("who,what\nnobody,21\nnobody,22\n")
    ok("update", "model.skops", "more.csv", "--out", "later.skops")
    best = ok("predict", "later.skops", "--recommend", 3, "--row", "nobody").stdout.splitlines()
    assert all(int(line.split(",")[1]) // 10 == 2 for line in best[1:])
    ok("predict", "later.skops", "more.csv")
    assert "--std needs a model of several draws" in fails(
        2, "predict", "later.skops", "more.csv", "--std"
    )


def test_clicks_and_ratings_are_not_confused(ratings) -> None:
    ratings.to_csv("r.csv", index=False)
    assert "--feedback implicit, for clicks" in fails(2, "fit", "r.csv", *TRIPLETS[:-2])
    assert "belongs to --feedback" in fails(2, "fit", "r.csv", *TRIPLETS, "--confidence", 3)
    clicks = (*TRIPLETS, "--feedback", "implicit")
    assert "give one of auto, als" in fails(2, "fit", "r.csv", *clicks, "--solver", "gibbs")
    assert "--confidence is" in fails(2, "fit", "r.csv", *clicks, "--confidence", -3)
    assert "belong to --model completion" in fails(2, "fit", "r.csv", "--feedback", "implicit")
