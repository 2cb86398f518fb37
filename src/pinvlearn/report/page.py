"""The page around the sections: its style, its head, and what keeps it to itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pinvlearn
from pinvlearn.report.markup import Markup, element, join

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""No script and no request, even if something were to slip through the escaping."""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; a wide one takes the page's whole width."""

    title: str
    parts: Sequence[Markup]
    wide: bool = False


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole file."""
    head = [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("link", rel="icon", href="data:,"),
        element("title", f"{title}: {subtitle}"),
        element("style", Markup(STYLE)),
    ]
    cards = [
        element(
            "section",
            element("h2", section.title),
            *section.parts,
            class_="wide" if section.wide else None,
        )
        for section in sections
    ]
    made = f"Made by pinvlearn {pinvlearn.__version__}. This page needs no network."
    body = [
        element("header", element("h1", title), element("p", subtitle)),
        element("main", *cards),
        element("footer", made),
    ]
    whole = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{join([whole])}\n"


STYLE = """
:root {
  --paper: #f5f5f2; --card: #ffffff; --ink: #1c1e21; --faint: #5e6470; --line: #dcdfe4;
  --accent: #1f6feb; --soft: #1f6feb33; --warm: #c2410c;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14161a; --card: #1d2026; --ink: #e8eaed; --faint: #a2a9b4; --line: #363b44;
    --accent: #79b0ff; --soft: #79b0ff40; --warm: #ffa657;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; max-width: 74rem; padding: 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  overflow-wrap: anywhere;
}
header { padding: 0.5rem 0.25rem 1rem; }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.2; }
h2 { margin: 0 0 0.6rem; font-size: 1.1rem; }
h3 { margin: 1rem 0 0.4rem; font-size: 0.95rem; }
header p { margin: 0.2rem 0 0; }
header p, footer, .faint { color: var(--faint); }
footer { padding: 1.25rem 0.25rem; font-size: 0.85rem; }
@media (min-width: 56rem) {
  body { padding: 2rem; }
  main { columns: 2; column-gap: 1rem; }
  section.wide { column-span: all; margin-top: 1rem; }
}
section {
  break-inside: avoid; margin: 0 0 1rem; padding: 1rem 1.1rem 1.1rem; background: var(--card);
  border: 1px solid var(--line); border-radius: 0.6rem;
}
section p { margin: 0.6rem 0 0; }
section h2 + p { margin-top: 0; }
ul { margin: 0; padding-left: 1.1rem; }
p + ul { margin-top: 0.6rem; }
li + li { margin-top: 0.5rem; }
table { width: 100%; border-collapse: collapse; font-size: 0.92rem; }
th, td { padding: 0.3rem 0.5rem; border-bottom: 1px solid var(--line); text-align: right; }
th:first-child, td:first-child { padding-left: 0; text-align: left; }
th { color: var(--faint); font-weight: 600; }
td { font-variant-numeric: tabular-nums; }
table:not(.words) td + td { white-space: nowrap; }
table.words td { text-align: left; vertical-align: top; }
table.words th { text-align: left; }
@media (min-width: 40rem) { table.words td:nth-child(2) { white-space: nowrap; } }
@media (max-width: 40rem) {
  table.words thead { display: none; }
  table.words tr { display: block; padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  table.words td { display: block; padding: 0.1rem 0; border: 0; }
  table.words td:first-child { font-weight: 600; }
  table.words td[data-column]::before {
    content: attr(data-column) ": "; color: var(--faint); font-size: 0.85rem;
  }
}
table.confusion { margin: 0.5rem 0 0; table-layout: fixed; font-size: 0.78rem; }
@media (min-width: 40rem) { table.confusion { font-size: 0.9rem; } }
table.confusion th, table.confusion td { padding: 0.35rem 0; text-align: center; }
table.confusion th:first-child { width: 32%; text-align: left; padding-right: 0.4rem; }
table.confusion tbody th { color: var(--ink); font-weight: 400; }
table.confusion td { background: color-mix(in srgb, var(--hue) var(--share), transparent); }
table.confusion td.right { --hue: var(--accent); }
table.confusion td.wrong { --hue: var(--warm); }
.chart { display: block; width: 100%; max-width: 36rem; height: auto; margin: 0.75rem auto 0; }
.chart .grid { stroke: var(--line); stroke-width: 0.7; }
.chart .guide { stroke: var(--faint); stroke-width: 1; stroke-dasharray: 4 3; }
.chart .curve { fill: none; stroke: var(--accent); stroke-width: 1.8; stroke-linejoin: round; }
.chart .curve.second { stroke: var(--faint); stroke-width: 1.2; }
.chart .dot { fill: var(--accent); fill-opacity: 0.75; }
.chart .chosen { fill: var(--warm); stroke: var(--card); stroke-width: 1.2; }
.chart .whisker { fill: none; stroke: var(--soft); stroke-width: 1.6; }
.chart text { fill: var(--faint); font-size: 12.5px; }
.chart .y { text-anchor: end; }
.chart .x { text-anchor: middle; }
.chart .name { fill: var(--ink); }
.chart .power { font-size: 9px; }
@media (min-width: 40rem) { .chart text { font-size: 10px; } .chart .power { font-size: 7.5px; } }
.bars {
  display: grid; grid-template-columns: minmax(0, 2fr) minmax(0, 3fr); gap: 0.35rem 0.75rem;
  align-items: center; margin: 0.75rem 0 0; font-size: 0.92rem;
}
.bars dd { display: flex; align-items: center; gap: 0.6rem; margin: 0; }
.bars .track { flex: 1; height: 0.8rem; background: var(--soft); border-radius: 0.2rem; }
.bars .bar { display: block; height: 100%; background: var(--accent); border-radius: 0.2rem; }
.bars .value {
  flex: 0 0 8.5rem; color: var(--faint); font-variant-numeric: tabular-nums; white-space: nowrap;
}
@media (max-width: 40rem) {
  .bars { grid-template-columns: minmax(0, 1fr); gap: 0.1rem; }
  .bars dd { margin-bottom: 0.4rem; }
}
"""
