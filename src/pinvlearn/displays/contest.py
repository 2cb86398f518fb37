"""Learners side by side as bars, for whoever sees them for the first time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn.displays._axes import columns_of_axes

OURS, PEER = "tab:blue", "0.7"


@dataclass(frozen=True)
class Bar:
    """A learner's error, how it is written, its seconds, and whether it is one of ours."""

    name: str
    error: float
    text: str
    seconds: float
    ours: bool


def draw_contest(panels: Mapping[str, Sequence[Bar]], what: str) -> Any:
    """A panel for each table, shortest bar on top, error and seconds written beside each.

    Parameters
    ----------
    panels : mapping of str to sequence of Bar
        Title → learners.
    what : str
        What a bar's length is.

    Returns
    -------
    matplotlib Figure
        Not yet shown or saved.
    """
    figure, many = columns_of_axes(len(panels))
    for ax, (title, bars) in zip(many, panels.items(), strict=True):
        ranked = sorted(bars, key=lambda bar: bar.error)
        places = np.arange(len(ranked))
        drawn = ax.barh(
            places,
            [bar.error for bar in ranked],
            color=[OURS if bar.ours else PEER for bar in ranked],
        )
        texts = [f" {bar.text}, {bar.seconds:.2g} s" for bar in ranked]
        ax.bar_label(drawn, labels=texts, fontsize=9)
        ax.set_yticks(places, [bar.name for bar in ranked])
        ax.invert_yaxis()
        ax.margins(x=0.3)
        ours = [drawn[place] for place in places if ranked[place].ours]
        if ours:
            # above the longest bar, whose text reaches to the right
            ax.legend(ours[:1], ["pinvlearn"], loc="upper right", frameon=False)
        ax.set(title=title, xlabel=f"{what}: shorter is better")
        ax.spines[["top", "right"]].set_visible(False)
    return figure
