"""HTML from parts: whatever is not markup already is escaped, so that no data can become any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Markup(str):
    """Text that is HTML already; everything else is escaped when it becomes a part of any."""

    __slots__ = ()


EMPTY = frozenset({"circle", "line", "link", "meta", "path", "polygon", "polyline", "rect"})
"""Elements that are written without an end."""


def element(name: str, /, *parts: object, **attributes: object) -> Markup:
    """An element; of an attribute's name a trailing _ is dropped, and inner ones become hyphens."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = join(parts)
    if name in EMPTY and not inner:
        return Markup(f"<{name}{said}/>")
    return Markup(f"<{name}{said}>{inner}</{name}>")


def join(parts: Iterable[object]) -> Markup:
    """Parts one after the other."""
    return Markup("".join(p if isinstance(p, Markup) else escape(str(p)) for p in parts))


def paragraph(*parts: object, **attributes: object) -> Markup:
    """A paragraph."""
    return element("p", *parts, **attributes)


def bullets(lines: Iterable[object]) -> Markup:
    """A list."""
    return element("ul", *(element("li", line) for line in lines))


def table(head: Sequence[object], rows: Iterable[Sequence[object]], **attributes: object) -> Markup:
    """A table; every cell says the name of its column, which phones show in front of it."""
    titles = element("tr", *(element("th", cell, scope="col") for cell in head))
    lines = []
    for row in rows:
        cells = [
            element("td", cell, data_column=head[column] if column else None)
            for column, cell in enumerate(row)
        ]
        lines.append(element("tr", *cells))
    body = element("thead", titles), element("tbody", *lines)
    return element("table", *body, **attributes)


def number(value: float, digits: int = 3) -> str:
    """A number as people write it: a few digits, and no exponent where it can be helped."""
    if value != value:
        return "–"
    size = abs(value)
    if size and not 1e-4 <= size < 1e7:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(power)}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def percent(share: float) -> str:
    """A share as a percentage."""
    return f"{100.0 * share:.3g}\u00a0%"  # the two stay on one line


def seconds(time: float) -> str:
    """A time in the unit that suits it."""
    if time < 1.0:
        return f"{1000.0 * time:.3g} ms"
    return f"{time:.3g} s" if time < 120.0 else f"{time / 60.0:.1f} min"
