"""`TabularInputs` as nodes: columns of numbers and of levels, each an input of the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pinvlearn.deploy.graph import ML, Nodes, doubles, onnx_module
from pinvlearn.features.columns import BEND, PreparedLevels, PreparedNumbers
from pinvlearn.learners._tables import LEVEL, NUMBER

TRUTH = {"True": 1.0, "False": 0.0}
"""Levels of a column of truth values, as numbers."""

GAP = ""
"""What stands for a missing text: a tensor of texts has no other gap."""


def check_kinds(model: Any) -> None:
    """Refuse columns for which a graph has no type."""
    names = getattr(model, "feature_names_in_", range(len(model.kinds_)))
    for name, kind in zip(names, model.kinds_, strict=True):
        if kind not in (NUMBER, LEVEL):
            raise TypeError(
                f"to_onnx() cannot convert column {name!r} of TabularInputs, which holds {kind}s: "
                "ONNX has no type for them. Give their parts (year, month, days) as numbers."
            )


def prepared_table(nodes: Nodes, model: Any, inputs: Sequence[tuple[str, bool]]) -> str:
    """The table made ready, from its columns: names of values, and whether they are texts."""
    parts = []
    for column in model.columns_.columns:
        value, texts = inputs[column.source]
        if isinstance(column, PreparedNumbers):
            parts += _numbers(nodes, column, value)
        else:
            parts.append(_levels(nodes, column, value, texts))
    return parts[0] if len(parts) == 1 else nodes.add("Concat", *parts, axis=1)


def prepared_matrix(nodes: Nodes, model: Any, x: str) -> list[str]:
    """The same from a matrix of numbers."""
    places = [nodes.constant(np.array([j])) for j in range(int(model.n_features_in_))]
    columns = [(nodes.add("Gather", x, place, axis=1), False) for place in places]
    return [prepared_table(nodes, model, columns)]


def _numbers(nodes: Nodes, column: PreparedNumbers, x: str) -> list[str]:
    gaps = nodes.add("IsNaN", x)
    known = nodes.add("Where", gaps, nodes.constant(doubles(column.middle)), x)
    made = []
    if column.scaled is not None:
        made.append(_standard(nodes, _bent(nodes, column, known), column.scaled))
    if column.ranked is not None:
        made.append(_standard(nodes, _rank(nodes, column, known), column.ranked))
    if column.indicator:
        yes, no = nodes.constant(doubles(1.0)), nodes.constant(doubles(-1.0))
        made.append(nodes.add("Where", gaps, yes, no))
    return made


def _standard(nodes: Nodes, x: str, moments: tuple[float, float]) -> str:
    mean, deviation = (nodes.constant(doubles(value)) for value in moments)
    return nodes.add("Div", nodes.add("Sub", x, mean), deviation)


def _bent(nodes: Nodes, column: PreparedNumbers, x: str) -> str:
    """3 asinh(z/3), as `features.columns.bent` has it; graphs know asinh of single precision."""
    z = _standard(nodes, x, (column.middle, column.scale))
    low, high = (nodes.constant(doubles(end)) for end in column.ends)
    bend, one = (nodes.constant(doubles(value)) for value in (BEND, 1.0))
    part = nodes.add("Div", nodes.add("Clip", z, low, high), bend)
    size = nodes.add("Abs", part)
    root = nodes.add("Sqrt", nodes.add("Add", nodes.add("Mul", part, part), one))
    asinh = nodes.add("Log", nodes.add("Add", size, root))
    return nodes.add("Mul", nodes.add("Mul", asinh, nodes.add("Sign", part)), bend)


def _rank(nodes: Nodes, column: PreparedNumbers, x: str) -> str:
    """Linear between knots, constant beyond: the knot to the left by counting those not above."""
    knots, ranks = doubles(column.knots), doubles(column.ranks)
    x = nodes.add("Clip", x, nodes.constant(knots[0]), nodes.constant(knots[-1]))
    reached = nodes.add("GreaterOrEqual", x, nodes.constant(knots[None, 1:-1]))
    reached = nodes.add("Cast", reached, to=onnx_module().TensorProto.INT64)
    left = nodes.add("ReduceSum", reached, nodes.constant(np.array([1])), keepdims=1)
    start = nodes.add("Gather", nodes.constant(knots[:-1]), left)
    low = nodes.add("Gather", nodes.constant(ranks[:-1]), left)
    gap, rise = (nodes.add("Gather", nodes.constant(np.diff(of)), left) for of in (knots, ranks))
    share = nodes.add("Div", nodes.add("Sub", x, start), gap)  # a slope may be infinite
    return nodes.add("Add", nodes.add("Mul", share, rise), low)


def _levels(nodes: Nodes, column: PreparedLevels, x: str, texts: bool) -> str:
    """Indicators of levels, of rare ones together and of gaps; of two labels their difference."""
    all_labels = (_of_texts if texts else _of_numbers)(nodes, column, x)
    if len(column.labels) != 2:
        return all_labels
    first, second = (
        nodes.add("Gather", all_labels, nodes.constant(np.array([j])), axis=1) for j in (0, 1)
    )
    return nodes.add("Sub", second, first)


def _of_texts(nodes: Nodes, column: PreparedLevels, x: str) -> str:
    n_known = len(column.levels)
    codes = {level: code for code, level in enumerate(column.levels)}
    if GAP not in (*column.levels, *column.pooled):
        codes[GAP] = len(column.labels) - 1 if column.missing else -1
    elif column.missing:
        raise ValueError(
            f"column {column.name!r} of TabularInputs has gaps and empty texts, which a graph "
            "cannot tell apart. Give both the same value before the fit."
        )
    code = nodes.add(
        "LabelEncoder",
        x,
        domain=ML,
        keys_strings=list(codes),
        values_int64s=list(codes.values()),
        default_int64=n_known if column.pooled else -1,
    )
    right = nodes.add("Equal", code, nodes.constant(np.arange(len(column.labels))[None]))
    return nodes.add("Cast", right, to=onnx_module().TensorProto.DOUBLE)


def _of_numbers(nodes: Nodes, column: PreparedLevels, x: str) -> str:
    double = onnx_module().TensorProto.DOUBLE
    values = [number_of(level, column.name) for level in column.levels]
    rare = [value for level in column.pooled if (value := _as_number(level)) is not None]
    if len({*values, *rare}) < len(values) + len(rare):
        raise ValueError(
            f"column {column.name!r} of TabularInputs has levels that are one number in double "
            f"precision, as integers beyond 2^53 may be: {', '.join(column.levels[:3])}, … Make "
            "texts of them before the fit."
        )
    right = nodes.add("Equal", x, nodes.constant(doubles([values])))
    parts = [nodes.add("Cast", right, to=double)]
    gaps = nodes.add("Cast", nodes.add("IsNaN", x), to=double)
    if column.pooled:
        known = nodes.add("ReduceSum", parts[0], nodes.constant(np.array([1])), keepdims=1)
        other = nodes.add("Sub", nodes.constant(doubles(1.0)), known)
        parts.append(nodes.add("Sub", other, gaps))
    if column.missing:
        parts.append(gaps)
    return parts[0] if len(parts) == 1 else nodes.add("Concat", *parts, axis=1)


def number_of(level: str, name: str) -> float:
    """A level of a column whose values are numbers or truth values."""
    value = _as_number(level)
    if value is None:
        raise TypeError(
            f"column {name!r} of TabularInputs has the level {level!r}, which is no number, but X "
            "holds numbers there. Give rows of the types that the model learned from."
        )
    return value


def _as_number(level: str) -> float | None:
    try:
        return TRUTH[level] if level in TRUTH else float(level)
    except ValueError:
        return None
