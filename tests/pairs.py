"""Product tables of which every pair of values is tried on every change, and the rest on demand."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Sequence

import pytest

Row = tuple[int, ...]


def sweep(**axes: Collection[Hashable]) -> pytest.MarkDecorator:
    """Parametrise a test over the product of its axes.

    A defect that needs two particular values to show is met by `pairwise` rows of the product.
    These always run; the others carry the marker `sweep` and run in `make test-all`.
    """
    values = [list(axis) for axis in axes.values()]
    always = set(pairwise([len(axis) for axis in values]))
    cases = [
        pytest.param(
            *(axis[i] for axis, i in zip(values, row, strict=True)),
            marks=() if row in always else pytest.mark.sweep,
        )
        for row in itertools.product(*(range(len(axis)) for axis in values))
    ]
    return pytest.mark.parametrize(tuple(axes), cases)


def pairwise(sizes: Sequence[int]) -> list[Row]:
    """Rows over axes of these sizes in which any two values of any two axes meet.

    In parameter order: the product of the two longest axes, then one axis after the other.  Each
    row takes the value that meets most values it has not met, of these the one least used; pairs
    that are still missing get rows of their own.
    """
    order = sorted(range(len(sizes)), key=lambda axis: -sizes[axis])
    ranges = [range(sizes[axis]) for axis in order]
    rows = [list(row) for row in itertools.product(*ranges[:2])]
    for k, values in enumerate(ranges[2:], 2):
        missing = {(j, x, v) for j in range(k) for x in ranges[j] for v in values}
        used = [0] * len(values)
        for row in rows:
            value = max(values, key=lambda v: (len(_met(row, v) & missing), -used[v]))
            used[value] += 1
            missing -= _met(row, value)
            row.append(value)
        for j, x, v in sorted(missing):
            rows.append([x if i == j else 0 for i in range(k)] + [v])
    return _in_order(rows, order)


def _met(row: Iterable[int], value: int) -> set[tuple[int, int, int]]:
    """What a row's values meet when it takes `value` on the next axis."""
    return {(j, x, value) for j, x in enumerate(row)}


def _in_order(rows: Iterable[Sequence[int]], order: Sequence[int]) -> list[Row]:
    """Sorted rows whose values stand in the order that the axes were given in."""
    place = {axis: i for i, axis in enumerate(order)}
    return sorted({tuple(row[place[axis]] for axis in range(len(order))) for row in rows})
