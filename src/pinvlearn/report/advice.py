"""What to try next: plain rules, each from numbers that the page shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pinvlearn.report.facts import COVERAGE, Facts, calibration
from pinvlearn.report.markup import number, percent

SURE = 3.0
"""Standard errors from which a difference is taken to be one."""

GAP = 0.1
"""Difference of two scores between 0 and 1 from which it is worth a word."""

LEAK = 0.9
"""Share of all importance in one column from which it is suspect where the score is near 1."""


def advice(facts: Facts, ids: list[str]) -> list[str]:
    """Sentences, most urgent first; one that says so where nothing stands out."""
    said = [sentence for rule in RULES if (sentence := rule(facts)) is not None]
    if ids:
        said.insert(0, f"Leave out {_listed(ids)}: every row has a value of its own there.")
    return said or ["Nothing stands out. More rows, or columns that tell more, are what is left."]


def _no_better(facts: Facts) -> str | None:
    score, least = facts.scores[facts.main], facts.baseline[facts.main]
    if score > least + SURE * _standard_error(facts):
        return None
    always = "the commonest class" if facts.classes is not None else "the mean"
    return (
        f"The model is no better than always saying {always} ({number(score)} against "
        f"{number(least)}). Check that the target is the right column, and look for inputs that "
        "have to do with it."
    )


def _suspect(facts: Facts) -> str | None:
    found = facts.importances
    if found is None or len(found.names) < 2 or facts.scores[facts.main] < 0.99:
        return None
    positive = np.maximum(found.mean, 0.0)
    if positive.sum() == 0.0 or positive.max() < LEAK * positive.sum():
        return None
    return (
        f"Nearly everything rests on {found.names[int(positive.argmax())]}. Make sure that it is "
        "known when a prediction is made, and not the target under another name."
    )


def _overfitted(facts: Facts) -> str | None:
    if not facts.fitted:
        return None
    inside, outside = facts.fitted[facts.main], facts.scores[facts.main]
    if inside - outside < GAP:
        return None
    return (
        f"Rows in the fit are predicted far better than rows left out ({facts.main} "
        f"{number(inside)} against {number(outside)}): the model has more freedom than these rows "
        "can settle. Give it more rows, or fewer kernels or hidden units."
    )


def _worse_than_promised(facts: Facts) -> str | None:
    if facts.left_out or facts.estimate is None or facts.estimate[0] not in facts.scores:
        return None
    name, promised = facts.estimate
    score = facts.scores[name]
    if name == "accuracy":
        worse = promised - score > SURE * _standard_error(facts)
    else:
        worse = score > (1.0 + GAP) * promised
    if not worse:
        return None
    return (
        f"These rows are predicted worse than the fit promised ({name} {number(score)}, promised "
        f"{number(promised)}). They may come from elsewhere than the rows it learned from: fit "
        "again with some of them."
    )


def _path_ends(facts: Facts) -> str | None:
    alphas = np.asarray(getattr(facts.learner, "alphas_", ()))
    if len(alphas) < 3 or np.ndim(facts.learner.alpha_):
        return None
    if facts.learner.alpha_ == alphas.max():
        return (
            "The largest ridge of the path was chosen: the inputs tell little, or the path ends "
            "too early. Try larger values of alpha."
        )
    if facts.learner.alpha_ == alphas.min():
        return (
            "The smallest ridge of the path was chosen: the model may have too little freedom. Try "
            "more kernels or hidden units, or smaller values of alpha."
        )
    return None


def _size_ends(facts: Facts) -> str | None:
    sizes = getattr(facts.learner, "sizes_", None)
    if sizes is None or not hasattr(facts.learner, "size_scores_"):
        return None
    scores = np.atleast_2d(facts.learner.size_scores_)
    best = np.where(np.isfinite(scores), scores, -np.inf).max(axis=0)
    if best.argmax() < 0.95 * (len(best) - 1):
        return None
    return (
        f"The score still rises at {int(sizes[-1])} units, the most that were tried. Try a larger "
        "bound (--max-size, max_kernels, max_hidden)."
    )


def _unbalanced(facts: Facts) -> str | None:
    if "balanced accuracy" not in facts.scores:
        return None
    plain, balanced = facts.scores["accuracy"], facts.scores["balanced accuracy"]
    if plain - balanced < GAP or getattr(facts.learner, "class_weight", None) is not None:
        return None
    return (
        f"Rare classes are often missed (balanced accuracy {number(balanced)}, accuracy "
        f"{number(plain)}). If they matter as much as common ones, fit with "
        'class_weight="balanced".'
    )


def _uncalibrated(facts: Facts) -> str | None:
    found = calibration(facts)
    if found is None or found.error < max(GAP, SURE / np.sqrt(len(facts.y))):
        return None
    return (
        f"Predicted probabilities are off by {percent(found.error)} on average. Do not take them "
        "at their word on rows like these."
    )


def _uncovered(facts: Facts) -> str | None:
    if facts.intervals is None or facts.left_out:
        return None
    held = facts.intervals.held[COVERAGE]
    spread = np.sqrt(COVERAGE * (1.0 - COVERAGE) / len(facts.y))
    if held > COVERAGE - SURE * spread:
        return None
    return (
        f"Intervals of {percent(COVERAGE)} hold {percent(held)} of these targets. Errors here are "
        "larger than where the model learned: fit again with some of these rows."
    )


def _idle(facts: Facts) -> str | None:
    found = facts.importances
    if found is None or len(found.names) < 3:
        return None
    idle = [
        name
        for name, mean, std in zip(found.names, found.mean, found.std, strict=True)
        if mean <= std
    ]
    # Where most columns are, they stand in for each other, and no one of them is idle.
    if not idle or 2 * len(idle) > len(found.names):
        return None
    return f"Shuffling {_listed(idle)} changes nothing: the model may do without."


def _linear(facts: Facts) -> str | None:
    if not type(facts.learner).__name__.startswith("Pinv") or facts.scores[facts.main] > 0.95:
        return None
    if getattr(facts.learner, "features", None) is not None:
        return None
    return "The model is linear. Try one that bends: --model rbf, or RBFNetworkClassifier."


RULES: tuple[Callable[[Facts], str | None], ...] = (
    _no_better,
    _suspect,
    _worse_than_promised,
    _uncovered,
    _uncalibrated,
    _overfitted,
    _unbalanced,
    _size_ends,
    _path_ends,
    _linear,
    _idle,
)


def _standard_error(facts: Facts) -> float:
    """Of accuracy, or of R² about what the errors' spread makes of it."""
    n = len(facts.y)
    if facts.classes is not None:
        share = min(max(facts.scores["accuracy"], 0.0), 1.0)
        return float(np.sqrt(max(share * (1.0 - share), 1.0 / n) / n))
    shares = (facts.y - facts.predicted) ** 2 / (np.var(facts.y) or 1.0)
    return float(np.std(shares) / np.sqrt(n))


def _listed(names: list[str], most: int = 5) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def notes_of(learner: Any) -> list[str]:
    """What the fit itself had to say."""
    report = getattr(learner, "report_", None)
    return list(report.notes) if report is not None else []
