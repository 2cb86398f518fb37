"""Checks of single numbers, for what users construct below `_validation`: stop rules, solvers."""

from __future__ import annotations

from math import ceil, isfinite
from numbers import Integral, Real
from typing import Any


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer of at least `least`; no truth value is a number."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
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


def count_or_share(name: str, value: Any, most: int, of: str = "") -> int:
    """An integer in 1 … most, or what a float above 0 to 1 makes of `most`, rounded up."""
    if is_share(value):
        return max(1, ceil(round(value * most, 9)))
    if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= int(value) <= most:
        raise ValueError(
            f"{name}={value!r}: {of}give an integer in 1 … {most}, or a share of {most} as a float "
            "above 0 to 1."
        )
    return int(value)


def is_share(value: Any) -> bool:
    """Whether it is a float above 0 to 1; the integer 1 is a number of things."""
    return is_number(value) and not isinstance(value, Integral) and 0.0 < value <= 1.0


def is_number(value: Any) -> bool:
    """Whether it is a real number; truth values are not."""
    return isinstance(value, Real) and not isinstance(value, bool)
