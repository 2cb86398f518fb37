"""What was filled into the gaps of a table, beside what was known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pinvlearn.report.markup import number


@dataclass(frozen=True)
class FilledColumn:
    """A column: gaps before, how many of them are filled, and both kinds of values in words."""

    name: str
    gaps: int
    filled: int
    known: str
    new: str


def filled_columns(before: Any, after: Any) -> list[FilledColumn]:
    """One for each column, in their order."""
    rows = []
    for position, name in enumerate(before.columns):
        old, new = before.iloc[:, position], after.iloc[:, position]
        gap = np.asarray(old.isna())
        done = gap & ~np.asarray(new.isna())
        rows.append(
            FilledColumn(
                str(name), int(gap.sum()), int(done.sum()), _told(old[~gap]), _told(new[done])
            )
        )
    return rows


def _told(values: Any) -> str:
    """Mean and spread of numbers; of anything else the commonest value."""
    if len(values) == 0:
        return "–"
    if np.asarray(values).dtype.kind in "iuf":
        numbers = np.asarray(values, dtype=np.float64)
        said = f"{number(float(numbers.mean()))} ± {number(float(numbers.std()), 2)}"
        return f"{said}, {number(float(numbers.min()))} to {number(float(numbers.max()))}"
    counts = values.astype(str).value_counts()
    return f"mostly “{counts.index[0]}” ({int(counts.iloc[0]):,} of {len(values):,})"
