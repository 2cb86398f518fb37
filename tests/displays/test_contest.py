"""Bars that say who errs less."""

from matplotlib import pyplot as plt

from pinvlearn.displays.contest import OURS, Bar, draw_contest


def test_the_shortest_bar_is_on_top_and_ours_are_in_colour() -> None:
    plt.switch_backend("agg")
    bars = [Bar("one", 5.0, "5 %", 0.5, False), Bar("two", 2.0, "2 %", 30.0, True)]
    figure = draw_contest({"a": bars, "b": bars[:1]}, "wrong rows, %")
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["two", "one"]
    assert [patch.get_width() for patch in left.patches] == [2.0, 5.0]
    assert [text.get_text() for text in left.texts] == [" 2 %, 30 s", " 5 %, 0.5 s"]
    assert left.patches[0].get_facecolor() == plt.matplotlib.colors.to_rgba(OURS)
    assert left.get_ylim()[0] > left.get_ylim()[1]
    assert left.get_legend().get_texts()[0].get_text() == "pinvlearn"
    assert right.get_legend() is None
    assert right.get_xlabel() == "wrong rows, %: shorter is better"
    plt.close(figure)
