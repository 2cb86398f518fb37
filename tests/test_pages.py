"""The pages of the documentation: their code runs and prints what they say."""

import ast
import doctest
import json
import re
import textwrap
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RESULTS = DOCS.parent / "benchmarks" / "results"
COMING = [f"coming/{path.stem}" for path in (DOCS / "coming").glob("*.rst")]
PAGES = ["index", "tutorial", "heads", "intervals", *COMING]


@pytest.mark.parametrize("page", sorted(PAGES))
def test_code_of_a_page(page):
    failed, tried = doctest.testfile(
        str(DOCS / f"{page}.rst"),
        module_relative=False,
        optionflags=doctest.ELLIPSIS,
        encoding="utf-8",
    )
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("page", sorted(path.stem for path in DOCS.glob("*.rst")))
def test_plain_blocks_of_a_page_import_what_is_there(page):
    """Those without prompts stand for data of the reader's, so they are not run."""
    text = (DOCS / f"{page}.rst").read_text("utf-8")
    for block in re.findall(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text, re.M):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("pinvlearn"):
                module = import_module(node.module)
                assert [one.name for one in node.names if not hasattr(module, one.name)] == []


def test_findings_that_pages_choose_are_there():
    """A run that words them in another way would leave the page without figures."""
    chosen = [
        found
        for page in DOCS.glob("*.rst")
        for found in re.findall(
            r"^\.\. benchmark-findings:: (\S+)\n   :only: (.+)$", page.read_text("utf-8"), re.M
        )
    ]
    assert chosen
    for name, only in chosen:
        findings = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["findings"]
        for one_of_them in re.split(r"\|(?![^(]*\))", only):  # at bars outside of parentheses
            assert any(re.search(one_of_them, one) for one in findings), (name, one_of_them)


def test_findings_that_the_summary_chooses_are_there(monkeypatch):
    pytest.importorskip("sphinx", reason="the directives are Sphinx's: `make docs` installs it")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    tables = import_module("benchmark_tables")
    for name, summary in {**tables.COMPARED, **tables.PAPERS}.items():
        findings = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))["findings"]
        said = [tables.without_targets(one) for one in findings]
        assert any(re.search(summary.pattern, one) for one in said), name


LISTED = {"PROBLEMS": "readout.problem", "FACTORS": "readout.factors", "SUMMARIES": "summaries"}
"""What the page of the interface lists by hand, and where that is."""


@pytest.mark.parametrize("constant", LISTED)
def test_names_that_the_interface_lists_are_there(constant):
    """`make docs` would fail by one that is gone, which no other check builds."""
    tree = ast.parse((DOCS / "_ext" / "api_pages.py").read_text("utf-8"))
    (names,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == constant
    )
    module = import_module(f"pinvlearn.{LISTED[constant]}")
    assert [name for name in names if not hasattr(module, name)] == []
