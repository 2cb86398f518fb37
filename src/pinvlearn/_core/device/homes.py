"""Where arrays live, and how they move."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pinvlearn._core.device.array import DeviceArray, to_host
from pinvlearn._core.device.libraries import is_foreign


def on_device(x: Any) -> Any:
    """A user's array of another library as a `DeviceArray`; anything else as it is."""
    return DeviceArray(x) if is_foreign(x) else x


def as_given(x: Any) -> Any:
    """The array of its library that a `DeviceArray` holds; anything else as it is."""
    return x.data if isinstance(x, DeviceArray) else x


def fields_of(change: Callable[[Any], Any], thing: Any) -> Any:
    """A frozen result with its arrays changed by `on_device` or `as_given`; itself if none is."""
    parts = {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    changed = {name: change(part) for name, part in parts.items()}
    if all(changed[name] is parts[name] for name in parts):
        return thing
    return dataclasses.replace(thing, **changed)


def home_within(thing: Any) -> Any:
    """A `DeviceArray` among the fields of a frozen object, or in them; None: it is on the host."""
    if isinstance(thing, DeviceArray):
        return thing
    if isinstance(thing, tuple):
        parts: Any = thing
    elif dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        parts = (getattr(thing, field.name) for field in dataclasses.fields(thing))
    else:
        return None
    return next((found for part in parts if (found := home_within(part)) is not None), None)


def moved_to(x: Any, like: Any) -> Any:
    """x where `like` lives: on its device if it is a `DeviceArray`, else on the host."""
    if not isinstance(like, DeviceArray):
        return to_host(x)
    if isinstance(x, DeviceArray):
        return x
    return DeviceArray(like.bare(x))
