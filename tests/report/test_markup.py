"""Parts that are not markup become none."""

import pytest

from pinvlearn.report.markup import Markup, element, number, percent, seconds, table

NASTY = "<script>alert('x & y')</script>\""


def test_text_and_attributes_are_escaped():
    made = element("p", NASTY, title=NASTY)
    assert isinstance(made, Markup)
    assert "<script>" not in made
    assert made.startswith(
        '<p title="&lt;script&gt;alert(&#x27;x &amp; y&#x27;)&lt;/script&gt;&quot;">'
    )


def test_markup_is_left_as_it_is_and_attributes_are_named_as_in_html():
    inner = element("line", x1=0, class_="grid", stroke_width=2, hidden=None)
    assert inner == '<line x1="0" class="grid" stroke-width="2"/>'
    assert element("g", inner) == f"<g>{inner}</g>"


def test_cells_of_a_table_say_their_column():
    made = table(["a", NASTY], [["x", NASTY]])
    assert made.count("&lt;script&gt;") == 3
    assert "<script>" not in made
    assert "<td>x</td>" in made


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (1234.5, "1,234"),
        (0.123456, "0.123"),
        (3.1e-5, "3.10e-5"),
        (2.5e12, "2.50e12"),
        (-7.0, "-7"),
        (float("nan"), "–"),
    ],
)
def test_numbers_as_people_write_them(value, said):
    assert number(value) == said


def test_units():
    assert percent(0.9) == "90\u00a0%"
    assert seconds(0.0123) == "12.3 ms"
    assert seconds(3.0) == "3 s"
    assert seconds(600.0) == "10.0 min"
