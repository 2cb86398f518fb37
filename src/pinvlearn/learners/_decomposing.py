"""What `FastPCA` and `FastTruncatedSVD` share: checks, the summary of `partial_fit`, the report."""

from __future__ import annotations

import threading
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    Shifted,
    c_ordered,
    matrix_home,
    max_abs,
)
from pinvlearn._core.device import as_given, moved_to, on_device, to_host
from pinvlearn._core.products import product
from pinvlearn._core.threads import one_blas_thread
from pinvlearn._validation import (
    check_choice,
    check_count,
    check_finite,
    check_nonnegative,
    check_rows,
    check_same_home,
    generator,
)
from pinvlearn.learners._following import Followed, followed
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.linalg.driver import DENSE_ENTRIES
from pinvlearn.linalg.principal import (
    SINGLE_BLURRED,
    Axes,
    Scatter,
    blurred,
    centred,
    choose_axes,
    gram_axes,
    principal_axes,
    single_scatter,
)
from pinvlearn.linalg.report import Stopwatch
from pinvlearn.linalg.stop import Energy, Stop

SAME_AS = {"full": "exact", "covariance_eigh": "gram"}
"""scikit-learn's names for methods that have another one here."""

SOLVERS = (
    *("auto", "gram", "exact", "block-krylov", "randomized", "arpack", "adaptive"),
    *SAME_AS,
)
NEED_RANK = ("arpack", "block-krylov", "randomized")
NORMALIZERS = ("auto", "QR", "LU", "none")

_SOLVING = threading.RLock()
"""One for all models, which so remain plain attributes that can be copied and pickled."""


def held(values: Array, what: str, hint: str) -> Array:
    """The values, none of which overflows; a sum that is finite tells so in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(values.sum()))
    if not finite and not np.isfinite(values).all():
        raise ValueError(
            f"the {what} are beyond {np.finfo(values.dtype).max:.2g}, the largest number of "
            f"{values.dtype}: {hint}."
        )
    return values


def by_tiles(X: Matrix, V: Array) -> Array:
    """X·V with one BLAS thread; of many rows in tiles, by all of ours."""
    with one_blas_thread(X.shape[0] * V.size):
        return product(X, V)


def _goes_on(estimator: Any) -> bool:
    if "components_" in vars(estimator) and "summary_" not in vars(estimator):
        raise AttributeError(
            "This model was fitted by fit, which keeps no summary that rows could be added to. "
            "Start with partial_fit on the first rows too, or on a clone."
        )
    return True


class FromSummary:
    """What `fit` sets; after `partial_fit` it is found when it is first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> Any:
        if model is None:
            return self
        if "summary_" not in vars(model):
            raise AttributeError(
                f"{type(model).__name__} is not fitted: it has no {self.name} yet."
            )
        return model._solved_once()[self.name]


class Decomposition(Followed, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """fit, partial_fit and the choice of components; a subclass says what is decomposed."""

    _runs_on_devices = True
    _solver_name: ClassVar[str]
    """The parameter that names the solver."""
    _from_summary: ClassVar[list[str]]
    """Names of what a summary decides."""
    _dtype: np.dtype[Any]
    """Precision of the attributes: that of X."""
    _solution: dict[str, Any] | None = None
    """Attributes `FromSummary`, once one of them was asked for after `partial_fit`."""
    _fewest: ClassVar[int]
    """Smallest number of components that makes sense."""
    _also: ClassVar[str] = ""
    """What else `n_components` may be, for messages."""

    components_ = FromSummary()
    explained_variance_ = FromSummary()
    explained_variance_ratio_ = FromSummary()
    n_components_ = FromSummary()
    report_ = FromSummary()
    singular_values_ = FromSummary()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._from_summary = [n for n in dir(cls) if isinstance(getattr(cls, n), FromSummary)]

    def _fit(self, X: Matrix) -> None:
        """Set all attributes from checked rows."""
        raise NotImplementedError

    def _solve(self, summary: Scatter) -> None:
        """Set the attributes `FromSummary`."""
        raise NotImplementedError

    @property
    def _needs_small_values(self) -> bool:
        """Whether "auto" should spare no effort for singular values that are small."""
        raise NotImplementedError

    @followed
    def fit(self, X: Matrix, y: Any = None) -> Any:
        """Find the components of the rows of X.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Training rows.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
            Unchanged if the fit fails or is interrupted.
        """
        with unchanged_on_failure(self):
            forget_fit(self)
            self.__dict__.pop("_solution", None)
            self._check_parameters()
            self._fit(check_rows(self, X, reset=True, least=2, finite=False))
        return self

    @available_if(_goes_on)
    def partial_fit(self, X: Matrix, y: Any = None) -> Any:
        """Add the rows of X, one or more, to those seen by earlier calls.

        The rows are summed up by their number, mean and products about it, n_features² numbers in
        all, and forgotten.  Components are found when they are first asked for.  However the rows
        were cut into pieces, they are those of ``fit`` by ``"gram"`` to rounding: singular values
        below 1e-8 of the largest are not resolved, nor are those below 1e-3 by `FastPCA` where
        pieces are many float32 rows, whose products are single.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows to add.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
        """
        with unchanged_on_failure(self):
            self._check_parameters()
            seen: Scatter | None = vars(self).get("summary_")
            if self._solver not in ("auto", "gram"):
                raise ValueError(
                    f"{self._solver_name}={getattr(self, self._solver_name)!r} needs all rows at "
                    'once; partial_fit works with "auto" and "gram".'
                )
            X = check_rows(self, X, reset=seen is None, bounded=False)
            self._rank_and_stop((X.shape[1], X.shape[1]))
            if X.shape[1] ** 2 > DENSE_ENTRIES:
                raise ValueError(
                    f"partial_fit keeps n_features² numbers; with n_features={X.shape[1]} that is "
                    f"{8e-9 * X.shape[1] ** 2:.0f} GB. Use fit, which needs no such array."
                )
            with np.errstate(over="ignore", invalid="ignore"):
                new = None if self._needs_small_values else single_scatter(X)
                new = Scatter.of(X) if new is None else new
            squares, least = float(np.trace(new.products)), np.finfo(np.float64).tiny
            if not np.isfinite(squares):
                raise ValueError("the squares of X overflow. Divide X by a large number first.")
            if squares <= least * np.prod(X.shape) and 0.0 < max_abs(X) < np.sqrt(least):
                raise ValueError("the squares of X underflow. Multiply X by a large number first.")
            for name in self._from_summary:
                self.__dict__.pop(name, None)
            self._solution = None
            self.summary_ = new if seen is None else seen + new
            self.n_samples_ = self.summary_.count
            self._dtype = X.dtype if seen is None else np.result_type(self._dtype, X.dtype)
        return self

    def _solved_once(self) -> dict[str, Any]:
        """What follows from the summary, solved for by whoever asks first.

        On a copy, and under one name that is there already: other threads may be going through the
        attributes, to which nothing is added.
        """
        if self._solution is None:
            with _SOLVING:
                if self._solution is None:
                    other = object.__new__(type(self))
                    other.__dict__.update(vars(self))
                    with one_blas_thread():
                        other._solve(self.summary_)
                    self._solution = {name: vars(other)[name] for name in self._from_summary}
        return self._solution

    @property
    def _solver(self) -> str:
        """The solver asked for, by the name it has here."""
        given = getattr(self, self._solver_name)
        return SAME_AS.get(given, given)

    def _check_parameters(self) -> None:
        check_choice(self._solver_name, getattr(self, self._solver_name), SOLVERS)
        check_choice("power_iteration_normalizer", self.power_iteration_normalizer, NORMALIZERS)
        check_nonnegative("tol", self.tol)
        if check_count("n_oversamples", self.n_oversamples, least=1) is None:
            raise ValueError("n_oversamples=None must be an integer of at least 1.")

    def _there(self, name: str) -> Array:
        """A fitted array, as one that answers to NumPy wherever it lives."""
        return on_device(getattr(self, name))

    def _place(self, like: Array, **attributes: Array) -> None:
        """Set fitted arrays, where `like` lives and in the precision of X.

        They lie as a copy would, so that one gives the same bits, and hold no more than is shown.
        """
        for name, values in attributes.items():
            held = moved_to(values, like).astype(self._dtype, copy=False)
            setattr(self, name, as_given(c_ordered(held, copy=False)))

    def _projected(self, X: Any, mean: Array | None = None) -> Array:
        """(X - mean) Vᵀ for new rows; it is finite only where they are, which saves a pass."""
        X, components = check_rows(self, X, reset=False, finite=False), self._there("components_")
        check_same_home(self, X, components, "transform")
        with np.errstate(over="ignore", invalid="ignore"):
            output = by_tiles(X, components.T)
            if mean is not None:
                output -= mean @ components.T
            finite = bool(output.size) and np.isfinite(output.sum())
        if finite:
            return output
        self._check_finite(X)
        return held(output, "outputs", "divide X by a large number first")

    def _variances(self, deviations: Array) -> Array:
        """The squares of deviations, where the precision of X can hold the largest of them."""
        largest, kind = float(deviations.max(initial=0.0)), np.finfo(self._dtype)
        if largest > np.sqrt(float(kind.max)):
            wider = "Give X as float64, or divide" if kind.dtype == np.float32 else "Divide"
            raise ValueError(
                f"the deviations of X reach {largest:.2g}, and {kind.dtype} holds no squares of "
                f"numbers above {np.sqrt(float(kind.max)):.2g}. {wider} it by a large number first."
            )
        return deviations**2

    def _check_finite(self, X: Matrix) -> None:
        check_finite(X, getattr(self, "feature_names_in_", None))

    def _centred(self, X: Matrix) -> Shifted:
        """X minus its column means, whose sums tell for free whether X is finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            A = centred(X)
        if not np.isfinite(A.right).all():
            self._check_finite(X)
            raise ValueError(
                "the sum of a column of X overflows. Divide X by a large number first."
            )
        return A

    def _chosen(self, A: Matrix) -> tuple[str, str]:
        """The solver for the rows A, and why."""
        if self._solver != "auto":
            return self._solver, "chosen by the caller"
        if isinstance(self.n_components, str):
            return "exact", "the likelihood asks for the small variances too"
        elsewhere = matrix_home(A) is not None
        return choose_axes(A.shape, *self._rank_and_stop(A.shape), elsewhere=elsewhere)

    def _single_axes(self, X: Matrix) -> tuple[Axes, Array] | None:
        """The axes of centred rows and their mean where single precision will do, else None."""
        rank, _ = self._rank_and_stop(X.shape)
        solver, reason = self._chosen(X)
        watch = Stopwatch()
        with watch("gram"):
            summary = single_scatter(X) if solver == "gram" and rank != 0 else None
        if summary is None:
            return None
        axes = gram_axes(summary.products, rank, generator(self.random_state), single=True)
        if self._needs_small_values and blurred(axes, SINGLE_BLURRED):
            return None
        found = axes.report
        report = replace(found, reason=f"{reason}; {found.reason}", seconds=watch | found.seconds)
        return replace(axes, report=report), summary.mean

    def _axes(self, A: Matrix, n_power: int | None) -> Axes:
        """The axes of the rows A, before the whole spectrum is cut to a fraction of it."""
        rank, stop = self._rank_and_stop(A.shape)
        solver, reason = self._chosen(A)
        rng = generator(self.random_state)
        axes = principal_axes(
            A,
            rank,
            solver=solver,
            reason=reason,
            stop=stop,
            tol=self.tol,
            n_oversamples=self.n_oversamples,
            n_power=n_power,
            rng=rng,
        )
        small = self._needs_small_values and A.shape[0] * A.shape[1] <= DENSE_ENTRIES
        if small and self._solver == "auto" and stop is None and blurred(axes):
            reason = f"values below 1e-5 of the largest are wanted, which {solver} blurs"
            axes = principal_axes(A, rank, solver="exact", reason=reason, rng=rng)
        if solver == "randomized" and self.power_iteration_normalizer in ("LU", "none"):
            note = f"every step is made orthonormal, not {self.power_iteration_normalizer}"
            axes = replace(axes, report=axes.report.with_notes(note))
        return axes

    def _summary_axes(self, G: Array, summary: Scatter) -> Axes:
        """The same from the products G of the columns of rows that were summed up."""
        p, count, rng = len(G), summary.count, generator(self.random_state)
        rank, stop = self._rank_and_stop((p, p))
        most = min(p if rank is None else rank, count)
        axes = gram_axes(G, most, rng, single=summary.single)
        if stop is not None:
            # Any matrix with these products will do, so the rule sees diag(s)·Vt.
            root = axes.s[:, None] * axes.Vt
            axes = principal_axes(root, None, solver="adaptive", stop=stop, rng=rng)
        reason = f"products of {count} rows were summed up; {axes.report.reason}"
        notes = axes.report.notes
        if rank is not None and count < rank:
            notes += (f"{rank} components were asked for, {count} rows have been seen",)
        return replace(axes, report=replace(axes.report, reason=reason, notes=notes))

    def _cut(self, axes: Axes) -> Axes:
        """As many axes as hold the fraction asked for, where one was."""
        if not isinstance(self.n_components, float | np.floating):
            return axes
        if axes.norm == 0.0:
            return axes.keep(1)
        held_by_first = np.cumsum(to_host(axes.shares))
        k = int(np.searchsorted(held_by_first, self.n_components, side="right")) + 1
        return axes.keep(min(k, len(axes.s)))

    def _rank_and_stop(self, shape: tuple[int, int]) -> tuple[int | None, Stop | None]:
        """A number of components, a rule that finds it, or neither: the whole spectrum."""
        wanted, solver, small = self.n_components, self._solver, min(shape)
        asked = f"{self._solver_name}={getattr(self, self._solver_name)!r}"
        if callable(wanted):
            if solver not in ("auto", "adaptive"):
                raise ValueError(
                    f'n_components={wanted!r} is a stop rule; it needs {self._solver_name}="auto" '
                    f'or "adaptive", not {asked}.'
                )
            return None, wanted
        if solver == "adaptive":
            raise ValueError(
                f"{asked} needs a stop rule as n_components, for instance Energy(0.9)."
            )
        fraction = isinstance(wanted, float | np.floating) and 0.0 < wanted < 1.0
        likely = isinstance(wanted, str) and wanted == "mle" and "mle" in self._also
        if (fraction or likely) and solver in NEED_RANK:
            kind = "a string" if likely else "a fraction"
            raise ValueError(f"n_components={wanted!r} cannot be {kind} with {asked}.")
        if fraction:
            # Where no Gram matrix fits, a basis grows until it holds the fraction.
            fits = small**2 <= DENSE_ENTRIES or solver != "auto"
            return None, None if fits else Energy(float(wanted))
        if likely:
            return None, None
        if wanted is None:
            return small - 1 if solver == "arpack" else small, None
        self._check_count(wanted, small, asked, shape)
        return int(wanted), None

    def _check_count(self, wanted: Any, small: int, asked: str, shape: tuple[int, int]) -> None:
        least = 1 if self._solver in NEED_RANK else self._fewest
        inside = isinstance(wanted, Integral) and least <= int(wanted) <= small
        if not inside or isinstance(wanted, bool):
            raise ValueError(
                f"n_components={wanted!r} must be between {least} and min(n_samples, n_features)="
                f"{small} with {asked}, a fraction between 0 and 1{self._also}, or a stop rule; "
                f"X has n_{'samples' if shape[0] < shape[1] else 'features'}={small}."
            )
        if self._solver == "arpack" and wanted == small:
            raise ValueError(
                f"n_components={wanted!r} must be strictly less than min(n_samples, n_features)="
                f"{small} with {asked}."
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = self._runs_on_devices
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)
