"""The pages of the documentation: their code runs and prints what they say."""

import doctest
import json
import re
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
        assert any(re.search(only, one) for one in findings), (name, only)
