"""The pages of the documentation: their code runs and prints what they say."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
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
