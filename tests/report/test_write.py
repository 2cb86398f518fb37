"""The pages as files, and as a browser shows them."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pinvlearn as pl
from browser import Browser
from pinvlearn.report.write import write_imputation, write_race

NASTY = "<img src=x onerror=alert(1)>&\"'</style><script>alert(2)</script>"
LONG = "a_column_whose_name_is_one_word_of_more_letters_than_a_phone_is_wide_" * 2
VOID = frozenset({"circle", "line", "link", "meta", "path", "polyline"})


class Outline(HTMLParser):
    """Elements of a page, which must be closed in order, and the addresses they name."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names, self.addresses = [], set(), []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {NASTY: rng.standard_normal(200), LONG: rng.standard_normal(200), "c": rng.random(200)}
    )


@pytest.fixture(scope="module")
def pages(table, tmp_path_factory):
    """One page of every kind, by name, with everything in it that could break one."""
    tmp_path = tmp_path_factory.mktemp("pages")
    y = (table[NASTY] * 3e7 + table["c"]).to_numpy()
    scaler = StandardScaler()
    model = make_pipeline(scaler, pl.RBFNetworkRegressor("loo", max_kernels=40, random_state=0))
    pl.write_report(model.fit(table, y), table, y, tmp_path / "regression.html", title=NASTY)

    codes = np.arange(200) % 10
    X = table[["c"]].to_numpy() + np.eye(10)[codes]
    labels = np.array([f"{NASTY} {code}" for code in range(8)] + [LONG, "nine"])[codes]
    model = pl.ELMClassifier(30, random_state=0).fit(X, labels)
    pl.write_report(model, X, labels, tmp_path / "classes.html", title=LONG)

    rows = [{"method": NASTY, LONG: "0.1"}, {"method": "b", LONG: "0.2"}]
    write_race(tmp_path / "race.html", NASTY, rows, {LONG: {NASTY: 1.0, "b": 2.0}})
    gaps = table.assign(c=table["c"].mask(table["c"] < 0.5), d=NASTY)
    write_imputation(tmp_path / "filled.html", LONG, gaps, gaps.fillna(0.0), [NASTY])
    return {path.stem: path for path in tmp_path.glob("*.html")}


def test_pages_are_whole_and_hold_nothing_from_elsewhere(pages):
    assert set(pages) == {"regression", "classes", "race", "filled"}
    for path in pages.values():
        text = path.read_text(encoding="utf-8")
        outline = Outline(text)
        assert not outline.names & {"script", "img", "iframe", "object", "form"}
        assert outline.addresses == ["data:,"]
        assert "@import" not in text
        assert "url(" not in text
        assert len(re.findall("<style>", text)) == 1
        assert "&lt;img src=x" in text or "a_column" in text


def test_sections_of_a_classifier(pages):
    text = pages["classes"].read_text(encoding="utf-8")
    wanted = ["Scores", "What to try next", "Calibration", "Confusion", "Importances", "The path"]
    assert headings(text) == [*wanted, "How, and how long"]
    assert text.startswith("<!doctype html>")


def test_sections_of_a_regressor(pages):
    text = pages["regression"].read_text(encoding="utf-8")
    wanted = ["Scores", "What to try next", "Intervals over truth", "Importances", "The path"]
    assert headings(text) == [*wanted, "The size", "How, and how long", "Columns"]
    assert "The fit's own" not in text  # an apostrophe is escaped too
    assert "The fit&#x27;s own leave-one-out estimate" in text


def test_the_same_input_gives_the_same_page(table, tmp_path):
    y = table["c"].to_numpy()
    model = pl.PinvRegressor().fit(table, y)
    for name in ("one", "two"):
        pl.write_report(model, table, y, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_arrays_lists_and_sparse_rows(table, tmp_path):
    import scipy.sparse

    X, y = table.to_numpy(), table["c"].to_numpy()
    model = pl.PinvRegressor(loo_scoring=None, alpha=0.1).fit(X, y)
    for rows in (X, X.tolist(), scipy.sparse.csr_array(X)):
        pl.write_report(model, rows, y, tmp_path / "page.html")
        text = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert "it keeps nothing by which to tell" in text
        assert headings(text)[2] == "Predictions over truth"
        assert "The path" not in headings(text)  # one alpha is no path


def test_a_table_of_arrow_keeps_the_index_that_the_model_has_learned(table, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    stored = arrow.Table.from_pandas(table.set_axis(np.arange(200.0)[::-1]))
    model = pl.PinvRegressor().fit(stored, table["c"])
    assert "__index_level_0__" in model.feature_names_in_
    pl.write_report(model, stored, table["c"], tmp_path / "page.html")
    assert "__index_level_0__" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("learner", [pl.PinvRegressor, pl.PinvClassifier])
def test_a_column_of_targets_is_one_target(table, learner, tmp_path):
    """Each row's target was compared with the predictions of all rows."""
    y = table["c"].round(3 if learner is pl.PinvRegressor else 0)
    y = y if learner is pl.PinvRegressor else y.map(str)
    model = learner().fit(table, y)
    for name, targets in (("one", y), ("two", y.to_frame()), ("three", y.to_numpy()[:, None])):
        pl.write_report(model, table, targets, tmp_path / name)
        assert (tmp_path / name).read_bytes() == (tmp_path / "one").read_bytes()
    gappy = y.convert_dtypes().mask(table.index == 3)
    with pytest.raises(ValueError, match="y contains NaN, first in row 3. Leave out rows"):
        pl.write_report(model, table, gappy, tmp_path / "one")


def test_a_failed_report_leaves_the_old_one(table, tmp_path):
    model = pl.PinvRegressor().fit(table, table["c"])
    path = tmp_path / "page.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="one target for each row"):
        pl.write_report(model, table, table["c"][:5], path)
    assert path.read_text() == "old"


@pytest.mark.browser
def test_a_browser_shows_pages_at_any_width_and_asks_for_nothing(pages):
    with Browser() as browser:
        for path in pages.values():
            for width, dark in ((390, False), (390, True), (768, False), (1440, False)):
                browser.open(path, width=width, dark=dark)
                assert browser.value("document.documentElement.scrollWidth") == width, path.stem
                assert browser.value(SPILLED) == [], path.stem
                assert browser.complaints() == []
                assert browser.requests() == [path.as_uri()]
                light = browser.value("getComputedStyle(document.body).backgroundColor")
                assert (light == "rgb(245, 245, 242)") != dark


SPILLED = """
[...document.querySelectorAll("section *, header *")]
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName + ": " + e.textContent.slice(0, 40))
"""
"""What reaches beyond the window, whatever hides it."""


@pytest.mark.browser
def test_a_browser_sees_what_a_page_is_not_allowed(tmp_path):
    """The other tests could fail: this page asks, spills over and complains."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<!doctype html><title>bad</title><div style='width:3000px'>wide</div>"
        "<img src='missing.png'><script>console.error('no')</script>"
    )
    with Browser() as browser:
        browser.open(path, width=390)
        assert browser.value("document.documentElement.scrollWidth") > 390
        assert len(browser.requests()) == 2
        assert browser.complaints()
