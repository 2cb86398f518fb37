"""Intervals of a regressor's predictions, from what its rows predict of one another."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.metaestimators import available_if

from pinvlearn._core.arrays import Array, IntArray, Matrix, is_sparse, to_dense
from pinvlearn._core.device import as_given, home, moved_to, on_device, to_host
from pinvlearn._core.sparse import check_sparse
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_coverage,
    check_finite,
    check_jobs,
    check_real,
    check_weights,
    following,
)
from pinvlearn.engines.local import rows_in_memory
from pinvlearn.learners._ids import as_ids, learned
from pinvlearn.learners._ledger import has_leave_one_out
from pinvlearn.learners._pieces import LedgerHolder
from pinvlearn.learners._targets import one_column
from pinvlearn.readout.contract import TOLERANCE
from pinvlearn.readout.intervals import NoiseScale, RowsLeftOut, log_errors, width_of
from pinvlearn.readout.problem import Problem
from pinvlearn.readout.scoring import Scoring, squared_error_score
from pinvlearn.summaries import Schema

OTHER_ROWS = (
    "training= are not the rows of the fit, or not in its order, or with other weights: leaving "
    "them out one by one does not give loo_predictions_."
)

ROUNDING = 1e-6
"""Of the largest target: what residuals of the training rows may differ by."""


class IntervalPredictor(LedgerHolder):
    """A learner that can tell how far its predictions may be off."""

    _outputs: Any
    _outputs_of: Any
    _why_no_ridge: Any

    @available_if(has_leave_one_out)
    def predict_interval(
        self,
        X: Matrix,
        coverage: float = 0.9,
        *,
        method: str = "quantile",
        normalised: bool = False,
        training: Any = None,
        groups: Any = None,
        calibration: Any = None,
    ) -> tuple[Array, Array]:
        """Intervals that hold about the given share of new targets.

        "quantile" is the jackknife: the half-width is the ⌈coverage·(n + 1)⌉-th smallest
        leave-one-out error (the largest, if n is too small for that), the same for all rows, and
        no theorem goes with it.  "jackknife+" and "cv+" take quantiles over the predictions of all
        fits that lack one row, or one fold, and need the training rows; from one product instead
        of n fits.  They hold at least a share of 1 - 2·(1 - coverage) [BCRT21] where rows are
        exchangeable and the map and alpha treat rows alike: random units, given centres, a fixed
        alpha or one chosen by other rows.  What is measured is about `coverage`.  Where centres
        are training rows, or alpha was chosen by the same rows, both are estimates.

        "split" is for the cautious: the half-width is the ⌈coverage·(m + 1)⌉-th smallest error on
        m rows that the fit has not seen.  It holds at least a share of `coverage`, on average over
        draws of these rows, whatever the map and however alpha was chosen, where they and the new
        rows are exchangeable.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        coverage : float, default=0.9
            The share, between 0 and 1.
        method : {"quantile", "jackknife+", "cv+", "split"}, default="quantile"
            How, see above.
        normalised : bool, default=False
            For "quantile" and "split": widths that follow the noise.  Errors are divided by their
            scale at the row, a second read-out on the same features whose targets are the
            logarithms of the leave-one-out errors.  It needs the training rows, and a second solve
            in every call.  What is said of "split" holds with it too.
        training : tuple (X, y) or (X, y, sample_weight), optional
            The rows of the fit, in their order; not needed where it kept them (`keep_rows`).
        groups : array of shape (n_training_rows,), optional
            For "cv+": rows of a group are left out together; ten folds at random by default.
        calibration : tuple (X, y), optional
            For "split": rows that took no part in the fit or in any choice before it.

        Returns
        -------
        lower, upper : arrays of shape (n_samples,) or (n_samples, n_targets)
            Ends of the intervals.
        """
        check_coverage(coverage)
        check_choice("method", method, ("quantile", "jackknife+", "cv+", "split"))
        if groups is not None and method != "cv+":
            raise ValueError(f'groups are left out by method="cv+"; it is {method!r}.')
        if calibration is not None and method != "split":
            raise ValueError(f'calibration= is for method="split"; it is {method!r}.')
        middle, schema = self._outputs(X), self._ledger.schema
        if method in ("quantile", "split"):
            scale = self._noise_scale(training) if normalised else None
            if method == "split":
                errors = self._errors_on(calibration, coverage, scale)
            elif scale is None:
                errors = self._solution()["loo_errors"]
            else:
                errors = scale.left_out_errors
            width = width_of(errors, coverage)
            if scale is not None:
                width = width * scale(self.map_(self._later_rows(X)))
            return _ends(middle - width, middle + width, schema)
        if normalised:
            raise ValueError(
                f'normalised=True is for method="quantile" and "split"; it is {method!r}.'
            )
        with one_blas_thread():
            left_out = self._rows_left_out(method, training, groups)
            _check_enough(len(left_out.errors), coverage, "training rows")
            new, n_jobs = self._later_rows(X), check_jobs(self.n_jobs)
            lower, upper = left_out.ends(new, middle, coverage, n_jobs)
        return _ends(lower, upper, schema)

    def _errors_on(self, calibration: Any, coverage: float, scale: NoiseScale | None) -> Array:
        """Absolute errors on rows that the fit has not seen, in units of the scale at each."""
        X, y = _pair("calibration", calibration, 'rows that the fit has not seen, for "split"')
        rows = self._later_rows(X)
        Y, outputs = _targets_of(y, rows), self._outputs_of(rows)
        if Y.shape != outputs.shape:
            raise ValueError(
                f"calibration= has {Y.shape[1]} targets for each row; the fit had "
                f"{outputs.shape[1]}."
            )
        errors = np.abs(Y - outputs)
        _check_enough(len(errors), coverage, "calibration rows")
        return errors if scale is None else errors / scale(self.map_(rows))

    def _training_rows(self, why: str, training: Any) -> tuple[Matrix, Array, Array]:
        """The rows of the fit, their targets and weights."""
        if self._why_no_ridge is not None:
            raise ValueError(f"{why} is for a ridge on units: {self._why_no_ridge}")
        kept = getattr(self, "training_", None) if training is None else None
        if training is None and kept is None:
            raise ValueError(
                f"{why} needs the rows of the fit: give training=(X, y), or fit a "
                "PinvRegressor with keep_rows=True."
            )
        if kept is not None:
            rows, y, *more = kept
        else:
            X, y, *more = _pair("training", training, "the rows of the fit", weights=True)
            rows = self._later_rows(X)
        Y = _targets_of(y, rows)
        weights = check_weights(more[0] if more else None, len(Y), some=True, X=rows)
        if on_device(self.loo_predictions_).size != Y.size:
            raise ValueError(OTHER_ROWS)
        return rows, Y, np.ones(len(Y), like=home(Y)) if weights is None else weights

    def _left_out_errors(self, Y: Array) -> Array:
        """Targets of the training rows minus what the others predict."""
        return Y - on_device(self.loo_predictions_).reshape(Y.shape)

    def _noise_scale(self, training: Any) -> NoiseScale:
        """How large the errors are, from those of the rows of the fit."""
        rows, Y, w = self._training_rows("normalised=True", training)
        inside = np.flatnonzero(w)
        errors = self._left_out_errors(Y)[inside]
        rows, w = rows[inside], w[inside]
        if not _may_be_same(Y[inside] - self._outputs_of(rows), errors, Y):
            raise self._other_rows(Y)
        T = log_errors(np.abs(errors), Y[inside])
        features = rows_in_memory(
            self.map_, rows, T, w, self.map_.n_columns, check_jobs(self.n_jobs)
        )
        problem = Problem(features, True, Scoring(squared_error_score))
        return NoiseScale.of(problem, check_alpha("auto"))

    def _rows_left_out(self, method: str, training: Any, groups: Any) -> RowsLeftOut:
        """What the training rows have done to the fit."""
        rows, Y, w = self._training_rows(f"method={method!r}", training)
        n = len(Y)
        folds: IntArray = np.arange(n)
        if method == "cv+":
            folds = np.random.default_rng(0).permutation(n) % 10
            if groups is not None:
                known, folds = learned(as_ids("groups", groups))
                check_consistent_length(np.empty(n), folds)
                weighted = np.unique(folds[to_host(w) > 0.0])
                if len(weighted) < 2:
                    raise ValueError(
                        f"groups holds {known[weighted[0]]} alone; without it no row would be left "
                        "to learn from. Give at least two groups."
                    )
        residuals = Y - self._outputs_of(rows)
        inside = slice(None) if w.all() else np.flatnonzero(w)
        alone = self._left_out_errors(Y)[inside]
        if not _may_be_same(residuals[inside], alone, Y):
            raise self._other_rows(Y)
        left_out = RowsLeftOut.of(
            self.map_,
            rows[inside],
            alone,
            w[inside],
            self.alpha_,
            folds[inside],
            check_jobs(self.n_jobs),
        )
        freedom = left_out.freedom[:, None]
        allowed = freedom * (1e-4 * np.abs(alone) + ROUNDING * np.abs(Y).max())
        allowed += TOLERANCE * np.abs(Y).max()  # of the predictions
        if not (np.abs(residuals[inside] - freedom * alone) <= allowed).all():
            most = min(len(alone) - 1, left_out.whitened.shape[1])
            if self.rank_ < most:
                raise ValueError(
                    f"method={method!r} leaves rows out of a ridge on all directions, and this fit "
                    f"has {self.rank_} of {most}: fit without rank=, and with a solver that keeps "
                    "all of them."
                )
            raise self._other_rows(Y)
        return left_out

    def _other_rows(self, Y: Array) -> ValueError:
        """That training rows are not those of the fit, or that rounding makes them seem so."""
        told = float(on_device(self.loo_error_).max()) / (float(np.abs(Y).max()) or 1.0)
        off = max(told, self.report_.error or 0.0)
        if not off > ROUNDING:
            return ValueError(OTHER_ROWS)
        return ValueError(
            f"{OTHER_ROWS} Or they are, and rounding has moved that by {off:.1g} of the largest "
            'target, see loo_error_ and report_: fit with solver="auto" or "qr".'
        )


def _pair(name: str, given: Any, what: str, weights: bool = False) -> Any:
    """(X, y), perhaps with weights."""
    if not isinstance(given, tuple | list) or len(given) not in ((2, 3) if weights else (2,)):
        shape = "(X, y) or (X, y, sample_weight)" if weights else "(X, y)"
        raise ValueError(f"{name}= must be {shape}, {what}; it is a {type(given).__name__}.")
    return given


def _may_be_same(residuals: Array, errors: Array, Y: Array) -> bool:
    """Whether residuals could be those of a fit with these left-out errors.

    A row pulls the fit towards itself, never beyond and never away.
    """
    rounding = ROUNDING * np.abs(Y).max()
    beyond = np.abs(residuals) > np.abs(errors) * (1.0 + ROUNDING) + rounding
    return not ((residuals * np.sign(errors) < -rounding).any() or beyond.any())


def _check_enough(n: int, coverage: float, what: str) -> None:
    """Refuse a share that no quantile of so many errors has, where a theorem goes with it."""
    least = int(np.ceil(coverage / (1.0 - coverage) - 1e-9))
    if n < least:
        raise ValueError(
            f"coverage={coverage:g} needs at least {least} {what}; there are {n}. Give more, or "
            "ask for a smaller share."
        )


def _targets_of(y: Any, rows: Matrix) -> Array:
    """Targets of rows, where they live, of shape (n, t)."""
    check_sparse(y, "y")
    y = following(y, rows)
    targets, n = to_dense(y) if is_sparse(y) else np.asarray(y, like=home(y)), rows.shape[0]
    if targets.ndim not in (1, 2) or len(targets) != n:
        raise ValueError(f"y has shape {targets.shape}; give targets for each of the {n} rows.")
    check_real(targets, "y")
    targets = np.asarray(targets, dtype=np.float64, like=home(y)).reshape(n, -1)
    check_finite(targets, None, "y")
    return moved_to(targets, rows)


def _ends(lower: Array, upper: Array, schema: Schema) -> tuple[Array, Array]:
    """The ends of intervals as a user has them."""
    return as_given(one_column(lower, schema)), as_given(one_column(upper, schema))
