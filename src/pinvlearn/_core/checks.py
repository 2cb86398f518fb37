"""Checks of single numbers, for what users construct below `_validation`: stop rules, solvers."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer of at least `least`."""
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}.")
    return int(value)


def number(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> float:
    """A finite number within the bounds that are given; no truth value is a number."""
    fits = is_number(value) and isfinite(value)
    fits = fits and (least is None or value >= least) and (above is None or value > above)
    if not fits or (most is not None and value > most):
        bounds = [
            f" of at least {least:g}" if least is not None else "",
            f" above {above:g}" if above is not None else "",
            f" and at most {most:g}" if most is not None else "",
        ]
        raise ValueError(f"{name}={value!r} must be a finite number{''.join(bounds)}.")
    return float(value)


def is_number(value: Any) -> bool:
    """Whether it is a real number; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool)
