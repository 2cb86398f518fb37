"""Predictions for the rows of a table, with what belongs beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from pinvlearn.cli import _labels, _model
from pinvlearn.cli._columns import PREDICTION, recipe_of
from pinvlearn.cli._data import LARGEST, OWN_TARGET, Data, as_numbers, texts_of
from pinvlearn.cli._errors import USAGE, UserError
from pinvlearn.cli._options import check_columns
from pinvlearn.cli._output import Note
from pinvlearn.cli._target import labels_of


@dataclass(frozen=True)
class Beside:
    """What to write beside the predictions."""

    proba: bool = False
    interval: float | None = None
    top: int | None = None
    ids: Sequence[str] = ()

    def check(self, model: Any, path: Any) -> None:
        """Refuse what a model cannot give, before any row is read."""
        if self.proba and not hasattr(model, "predict_proba"):
            raise UserError(
                f"--proba needs a classifier with probabilities; {path} has none."
                + _why_none(_learner(model), "predict_proba"),
                USAGE,
            )
        if self.interval is not None:
            if not 0.0 < self.interval < 1.0:
                raise UserError(
                    f"--interval is {self.interval:g}; give a share between 0 and 1, such as 0.9.",
                    USAGE,
                )
            if not hasattr(_learner(model), "predict_interval"):
                raise UserError(
                    f"--interval needs a regressor that was fitted with leave-one-out; {path} is "
                    "none." + _why_none(_learner(model), "predict_interval"),
                    USAGE,
                )
        if self.top is not None and not _labels.has_top_k(model):
            raise UserError(
                f"--top needs a model fitted with --model fastpi; {path} is not.", USAGE
            )


def _why_none(learner: Any, method: str) -> str:
    """What took the rows left out from a learner whose fit has them."""
    if not hasattr(type(learner), method) or getattr(learner, "loo_scoring", None) is None:
        return ""
    return (
        " That rests on rows left out, which `pinvlearn fit` has, and which `update`, `merge` and "
        "`fit --like` have not: they know sums alone. Fit all rows at once."
    )


def predictions(model: Any, data: Data, beside: Beside, note: Note) -> pd.DataFrame:
    """One row for each of `data`: ids, prediction, and what was asked for beside it."""
    recipe = recipe_of(model)
    inputs, ids = data, pd.DataFrame(index=range(data.X.shape[0]))
    if isinstance(data.X, pd.DataFrame):
        check_columns("--id", beside.ids, data.X.columns)
        there = [name for name in dict.fromkeys([*recipe.ids, *beside.ids]) if name in data.X]
        absent = [name for name in recipe.ids if name not in data.X]
        if absent:
            note(f"the data lacks the ids that fit has named: {', '.join(absent)}")
        twice = [name for name in there if name in _names(model, beside)]
        if twice:
            raise UserError(
                f"--id {twice[0]} would stand beside a column of the predictions that is called "
                "so too. Rename it, or leave it out."
            )
        ids = texts_of(data, there)
        inputs = replace(data, X=recipe.prepared(data.X))
    elif beside.ids:
        raise UserError("--id names a column; sparse data has none.", USAGE)
    X = _model.inputs_for(model, inputs, note)
    if X.shape[0] == 0:
        return pd.DataFrame(columns=[*ids.columns, *_names(model, beside)])
    if beside.top is not None or _labels.predicts_labels(model):
        return pd.concat([ids, _labels.top_labels(model, X, beside.top)], axis=1)
    outputs = np.asarray(model.predict(X))
    if outputs.ndim == 2:  # of a model that Python has saved
        if beside.proba or beside.interval is not None:
            raise UserError("--proba and --interval are for models of one target.", USAGE)
        names = [f"{PREDICTION}_{target}" for target in range(outputs.shape[1])]
        return pd.concat([ids, pd.DataFrame(outputs, columns=names)], axis=1)
    found = pd.DataFrame({PREDICTION: outputs})
    _note_score(model, recipe.target, data, found[PREDICTION].to_numpy(), note)
    if beside.interval is not None:
        found["low"], found["high"] = _learner(model).predict_interval(
            _before_learner(model, X), beside.interval
        )
    if beside.proba:
        names = [f"p_{label}" for label in model.classes_]  # many: not one after the other
        found = pd.concat([found, pd.DataFrame(model.predict_proba(X), columns=names)], axis=1)
    return pd.concat([ids, found], axis=1)


def _names(model: Any, beside: Beside) -> list[str]:
    """Of the columns of predictions."""
    if beside.top is not None or _labels.predicts_labels(model):
        return _labels.columns_of_top(model, beside.top)
    names = [PREDICTION]
    names += ["low", "high"] if beside.interval is not None else []
    return names + ([f"p_{label}" for label in model.classes_] if beside.proba else [])


def _note_score(model: Any, target: str | None, data: Data, found: Any, note: Note) -> None:
    """How good the predictions are, where the data has the target too."""
    name = "the targets of the file"
    if isinstance(data.X, pd.DataFrame) and target in data.X:
        y, name = data.X[target], f"the target {target!r}"
    elif data.y is not None and target in (None, OWN_TARGET) and not sparse.issparse(data.y):
        y = pd.Series(data.y)
    else:
        return
    known = y.notna().to_numpy()
    if not known.any():
        return
    y, found = y[known], found[known]
    if hasattr(model, "classes_"):
        labels = labels_of(data, y, least=1, like=model.classes_)
        right = np.mean(labels.astype(str) == found.astype(str))
        note(f"accuracy {right:.4g} on {len(y)} rows, by {name}")
        return
    truth = as_numbers(y, data.decimal).to_numpy(dtype=float)
    usable = np.abs(truth) <= LARGEST
    if not usable.all():
        note(
            f"{(~usable).sum()} of {len(y)} rows are not scored, as {name} holds no number there, "
            f"first '{y[~usable].iloc[0]}'"
        )
    if not usable.any():
        return
    truth = truth[usable]
    left = truth - found[usable]
    said = f"RMSE {np.sqrt(np.mean(left**2)):.4g}"
    if np.var(truth) > 0.0:
        said += f", R² {1.0 - np.mean(left**2) / np.var(truth):.4g}"
    note(f"{said} on {len(truth)} rows, by {name}")


def _learner(model: Any) -> Any:
    return model.steps[-1][1] if hasattr(model, "steps") else model


def _before_learner(model: Any, X: Any) -> Any:
    """Rows as the last step of a Pipeline takes them."""
    return model[:-1].transform(X) if hasattr(model, "steps") and len(model.steps) > 1 else X
