"""The sections of a model's report, each from what was gathered."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn.report.advice import advice, notes_of
from pinvlearn.report.charts import (
    bars,
    chart,
    curve,
    dots,
    horizontal,
    some,
    straight,
    vertical,
    whiskers,
)
from pinvlearn.report.columns import ColumnStory
from pinvlearn.report.facts import COVERAGE, REPEATS, Facts, Importances, calibration, confusion
from pinvlearn.report.markup import (
    Markup,
    bullets,
    element,
    number,
    paragraph,
    percent,
    seconds,
    table,
)
from pinvlearn.report.page import Section

MOST_BARS = 25
"""Columns whose importances are drawn."""

FEW = 5
"""Rows below which what came true is chance: such a dot has no line to it."""


def scores_section(facts: Facts) -> Section:
    """How good the predictions are, beside what needs no model."""
    named = "left out" if facts.left_out else "these rows"
    head = ["", named, *(["in the fit"] if facts.fitted else []), "no model"]
    rows = []
    for name, value in facts.scores.items():
        fitted = [number(facts.fitted[name])] if facts.fitted else []
        rows.append([name, number(value), *fitted, number(facts.baseline[name])])
    always = "the commonest class" if facts.classes is not None else "the mean"
    said = f"{_whose(facts)} Without a model one would always say {always}."
    parts = [table(head, rows), paragraph(said, class_="faint")]
    if facts.estimate is not None:
        parts.append(paragraph(*_promised(facts)))
    return Section("Scores", parts)


def _whose(facts: Facts) -> str:
    n = f"{facts.shape[0]:,}"
    if facts.left_out:
        return (
            f"These {n} rows are those the model learned from. Each was predicted by the read-out "
            "fitted to all others, so no row has helped to predict itself."
        )
    if getattr(facts.learner, "loo_predictions_", None) is None:
        return (
            f"{n} rows. If the model learned from them, the scores are too good: it keeps nothing "
            "by which to tell."
        )
    return (
        f"{n} rows that are not those of the fit, or not in its order; if the model learned from "
        "some of them, the scores are too good."
    )


def _promised(facts: Facts) -> tuple[object, ...]:
    assert facts.estimate is not None
    name, value = facts.estimate
    said = f"The fit's own leave-one-out estimate of the {name} is "
    return said, element("strong", number(value)), ", corrected for having chosen alpha by it."


def calibration_section(facts: Facts) -> Section | None:
    """Predicted probabilities beside what came."""
    found = calibration(facts)
    if found is None:
        return None
    two = len(facts.classes) == 2
    of = f"class {facts.classes[1]}" if two else "the predicted class"
    unit = np.array([0.0, 1.0])
    x, y = horizontal(unit), vertical(unit)
    many = found.counts >= FEW
    marks = [
        straight(x, y, (0.0, 0.0), (1.0, 1.0)),
        curve(x, y, found.predicted[many], found.observed[many]),
        *(
            dots(x, y, np.array([p]), np.array([o]), radius=2.0 + 6.0 * np.sqrt(c / len(facts.y)))
            for p, o, c in zip(found.predicted, found.observed, found.counts, strict=True)
        ),
    ]
    drawn = chart(
        x,
        y,
        marks,
        names=("predicted probability", "share that came true"),
        says=f"Calibration of the probability of {of}; mean distance {percent(found.error)}",
    )
    said = (
        f"Where the model gives {of} a probability, how often is it right? On the dashed line the "
        f"two agree; the mean distance is {percent(found.error)}. Larger dots stand for more rows."
    )
    return Section("Calibration", [paragraph(said), drawn])


def confusion_section(facts: Facts) -> Section | None:
    """Which classes are taken for which."""
    if facts.classes is None:
        return None
    names, counts = confusion(facts)
    totals = counts.sum(axis=1)
    shares = counts / np.maximum(totals, 1)[:, None]
    columns = [element("th", str(j + 1), scope="col") for j in range(len(names))]
    head = element("tr", element("th", "true class"), *columns)
    lines = []
    for i, name in enumerate(names):
        label = element("th", f"{i + 1} · {name} ({totals[i]:,})", scope="row")
        cells = [_cell(shares[i, j], i == j) for j in range(len(names))]
        lines.append(element("tr", label, *cells))
    drawn = element("table", element("thead", head), element("tbody", *lines), class_="confusion")
    said = (
        "Of the rows of each true class (how many there are stands beside it), the percentage that "
        "is taken for the class with each number."
    )
    return Section("Confusion", [paragraph(said), drawn])


def _cell(share: float, right: bool) -> Markup:
    style = f"--share:{round(60.0 * float(share))}%"
    said = "·" if share == 0.0 else f"{100.0 * share:.0f}" if share >= 0.005 else "<1"
    return element("td", said, class_="right" if right else "wrong", style=style)


def intervals_section(facts: Facts, rng: np.random.Generator) -> Section | None:
    """Predictions and intervals over the truth."""
    if facts.classes is not None:
        return None
    shown = some(len(facts.y), rng)
    truth, predicted = facts.y[shown], facts.predicted[shown]
    ends: list[Array] = [truth, predicted]
    if facts.intervals is not None:
        ends += [facts.intervals.lower[shown], facts.intervals.upper[shown]]
    x, y = horizontal(truth), vertical(np.concatenate(ends))
    low, high = max(x.low, y.low), min(x.high, y.high)
    marks = [straight(x, y, (low, low), (high, high))] if low < high else []
    if facts.intervals is not None:
        marks.append(whiskers(x, y, truth, ends[2], ends[3]))
    marks.append(dots(x, y, truth, predicted))
    drawn = chart(
        x, y, marks, names=("truth", "prediction"), says="Predictions and intervals over the truth"
    )
    count = "" if len(shown) == len(facts.y) else f" ({len(shown)} of them are drawn)"
    if facts.intervals is None:
        said = f"Each dot is a row{count}; on the dashed line prediction and truth agree."
        return Section("Predictions over truth", [paragraph(said), drawn])
    said = (
        f"Each dot is a row{count} with its {percent(COVERAGE)} interval; on the dashed line "
        "prediction and truth agree."
    )
    rows = [[percent(asked), percent(held)] for asked, held in facts.intervals.held.items()]
    held = table(["intervals asked to hold", "hold of these rows"], rows)
    return Section("Intervals over truth", [paragraph(said), drawn, held])


def importances_section(found: Importances | None, score: str, *, left_out: bool) -> Section | None:
    """Which columns the model relies on, by a score."""
    if found is None:
        return None
    order = np.argsort(-found.mean, kind="stable")
    order = order[(found.mean[order] != 0.0) | (found.std[order] > 0.0)][:MOST_BARS]
    texts = [f"{number(found.mean[j])} ± {number(found.std[j], 1)}" for j in order]
    drawn = bars([found.names[j] for j in order], found.mean[order], texts)
    left = len(found.names) - len(order)
    whole = "as fitted to all of them" if left_out else "as it is"
    said = (
        f"By how much {score} falls where one column is shuffled (permutation importance: "
        f"{REPEATS} times each, on {found.rows:,} of these rows, with the model {whole})."
    )
    more = [paragraph(f"{left} columns count for less or nothing.", class_="faint")] if left else []
    return Section("Importances", [paragraph(said), drawn, *more])


def path_section(learner: Any) -> Section | None:
    """The score over the path of alpha."""
    alphas = np.asarray(getattr(learner, "alphas_", ()), dtype=np.float64)
    scores = getattr(learner, "loo_scores_", getattr(learner, "gcv_scores_", None))
    if scores is None or np.ndim(scores) != 1 or len(alphas) < 2 or (alphas <= 0.0).all():
        return None
    order = np.argsort(alphas)
    order = order[alphas[order] > 0.0]
    alphas, values = alphas[order], np.asarray(scores, dtype=np.float64)[order]
    if len(alphas) < 2:
        return None
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return None
    # Far ends of a path may be so bad that nothing else would be seen beside them.
    floor = max(known.min(), known.max() - 4.0 * (known.max() - np.median(known)) - 1e-12)
    shown = np.where(values < floor, np.nan, values)
    x, y = horizontal(alphas, log=True), vertical(shown)
    marks = [curve(x, y, alphas, shown)]
    at = int(np.argmin(np.abs(alphas - learner.alpha_)))
    if np.isfinite(shown[at]) and np.isclose(alphas[at], learner.alpha_):  # zero is not drawn
        marks.append(dots(x, y, alphas[at : at + 1], shown[at : at + 1], radius=4.5, kind="chosen"))
    judged = "leave-one-out" if hasattr(learner, "loo_scores_") else "generalised cross-validation"
    drawn = chart(
        x,
        y,
        marks,
        names=("alpha", _score_name(learner)),
        says=f"The score over the path of alpha; {number(learner.alpha_)} was chosen",
    )
    said = f"The ridge alpha was chosen by {judged} from {len(alphas)} values: "
    return Section(
        "The path", [paragraph(said, element("strong", number(learner.alpha_)), "."), drawn]
    )


def _score_name(learner: Any) -> str:
    judge = getattr(learner, "loo_scoring", None)
    names = {
        "accuracy": "left-out accuracy",
        "balanced_accuracy": "left-out balanced accuracy",
        "log_loss": "minus left-out log loss",
        "mse": "minus left-out squared error",
    }
    return names.get(judge, "score") if isinstance(judge, str) else "score"


def sizes_section(learner: Any) -> Section | None:
    """The score over the number of units, where one was chosen."""
    if not hasattr(learner, "size_scores_"):
        return None
    sizes = np.asarray(learner.sizes_, dtype=np.float64)
    scores = np.atleast_2d(np.asarray(learner.size_scores_, dtype=np.float64))
    best = np.where(np.isfinite(scores), scores, -np.inf).max(axis=0)
    best = np.where(np.isfinite(best), best, np.nan)
    thin = np.unique(np.linspace(0, len(sizes) - 1, 300).astype(np.intp))
    x, y = horizontal(sizes), vertical(best[thin])
    drawn = chart(
        x,
        y,
        [curve(x, y, sizes[thin], best[thin])],
        names=("units", _score_name(learner)),
        says="The score over the number of units",
    )
    said = "The number of units was chosen by leave-one-out, all sizes from one decomposition."
    return Section("The size", [paragraph(said), drawn])


def columns_section(stories: list[ColumnStory], n_rows: int) -> Section | None:
    """What was done to each column."""
    if not stories:
        return None
    rows = [
        [
            story.name,
            f"{story.gaps:,} ({percent(story.gaps / n_rows)})" if story.gaps else "none",
            "; ".join(story.steps),
        ]
        for story in stories
    ]
    return Section(
        "Columns",
        [table(["column", "gaps", "what is done to it"], rows, class_="words")],
        wide=True,
    )


def time_section(learner: Any) -> Section | None:
    """How it was solved, and how long that took."""
    report = getattr(learner, "report_", None)
    if report is None:
        return None
    parts = [paragraph(element("strong", report.method), f": {report.reason}.")]
    if report.error is not None:
        parts.append(paragraph(f"Estimated numerical error: {number(report.error, 2)}."))
    if report.seconds:
        names, times = list(report.seconds), np.array(list(report.seconds.values()))
        parts.append(bars(names, times, [seconds(time) for time in times]))
        parts.append(paragraph(f"{seconds(float(times.sum()))} in all.", class_="faint"))
    notes = notes_of(learner)
    if notes:
        parts += [element("h3", "Notes of the fit"), bullets(notes)]
    return Section("How, and how long", parts)


def next_section(facts: Facts, ids: list[str]) -> Section:
    """What to try next."""
    return Section("What to try next", [bullets(advice(facts, ids))])
