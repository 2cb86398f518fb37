"""How an error or a score moves along a path: columns of a basis, ridges, sizes, rounds."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from pinvlearn.displays._axes import axes
from pinvlearn.linalg.rangefinder import RangeBasis
from pinvlearn.readout.rounds import Round

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osDv^P*X"
_SCORE_NAMES = {
    "log_loss": "− leave-one-out log-loss",
    "accuracy": "leave-one-out accuracy",
    "balanced_accuracy": "leave-one-out balanced accuracy",
    "mse": "− leave-one-out squared error",
    "precision": "leave-one-out precision",
}


def _score_name(learner: Any) -> str:
    judge = learner.loo_scoring
    return _SCORE_NAMES.get(judge if isinstance(judge, str) else "", "leave-one-out score")


class ConvergenceDisplay:
    """How the decomposition error falls while a basis grows ([JL19]_, Figs. 8 and 9).

    The curve is solid until the first stop and dashed after it, and each stop is marked: with
    the stops of both rules the solid part is what the gradient stop computes and the whole curve
    what the tolerance alone computes.

    Parameters
    ----------
    errors : array of shape (columns + 1,)
        The error of Eq. (18) after 0, 1, 2, … columns.
    stops : mapping of str to int, optional
        Name of a stop rule → the number of columns at which it stopped.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        The solid and, where there is one, the dashed part.
    stops_ : dict of str to Line2D
        The marks.

    References
    ----------
    .. [JL19] N. Jankowski, R. Linowiecki, "A fast neural network learning algorithm with
       approximate singular value decomposition", Int. J. Appl. Math. Comput. Sci. 29(3), 2019.

    Examples
    --------
    >>> import numpy as np, pinvlearn
    >>> A = np.random.default_rng(0).random((80, 40))
    >>> basis = pinvlearn.range_basis(A, pinvlearn.Rank(30), rng=0)
    >>> display = pinvlearn.ConvergenceDisplay.from_basis(basis, stops={"rank 20": 20})
    """

    def __init__(self, errors: npt.ArrayLike, *, stops: Mapping[str, int] | None = None) -> None:
        self.errors = np.asarray(errors, dtype=float)
        self.stops = dict(stops or {})
        if self.errors.ndim != 1 or not self.errors.size:
            raise ValueError(
                f"errors has shape {self.errors.shape}; give one error per number of columns, "
                "such as the `errors` of range_basis."
            )
        last = self.errors.size - 1
        for name, column in self.stops.items():
            if not 0 <= column <= last:
                raise ValueError(
                    f"stop {name!r} is at column {column}, but the errors cover columns 0 to "
                    f"{last}. Draw the basis that grew longest."
                )

    @classmethod
    def from_basis(
        cls,
        basis: RangeBasis | npt.ArrayLike,
        *,
        ax: "Axes | None" = None,
        stops: Mapping[str, int] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the errors of a basis.

        Parameters
        ----------
        basis : RangeBasis or array of shape (columns + 1,)
            What `range_basis` found, or its errors alone.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        stops : mapping of str to int, optional
            Name of a stop rule → the number of columns at which it stopped.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        ConvergenceDisplay
            The drawn display.
        """
        errors = basis.errors if isinstance(basis, RangeBasis) else basis
        return cls(errors, stops=stops).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the curve and its stops.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        name : str, optional
            The curve's name in the legend.
        **kwargs : dict
            Passed to matplotlib's ``Axes.plot``.

        Returns
        -------
        ConvergenceDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        # An exact basis ends at zero, which a log axis lacks: draw it at the least error above it.
        errors = np.maximum(self.errors, self.errors[self.errors > 0].min(initial=np.inf))
        columns = np.arange(errors.size)
        first = min(self.stops.values(), default=errors.size - 1)
        style = {"linewidth": 1.5} | kwargs
        (solid,) = ax.plot(columns[: first + 1], errors[: first + 1], label=name, **style)
        self.lines_ = [solid]
        style["color"] = solid.get_color()
        if first < errors.size - 1:
            self.lines_ += ax.plot(columns[first:], errors[first:], **style | {"linestyle": "--"})
        self.stops_ = {}
        for marker, (stop, column) in zip(_MARKERS * 8, self.stops.items(), strict=False):
            (self.stops_[stop],) = ax.plot(
                column,
                errors[column],
                marker=marker,
                linestyle="none",
                color=style["color"],
                label=f"{stop}: {column} columns",
            )
        ax.set(yscale="log", xlabel="columns of the basis", ylabel="decomposition error, Eq. (18)")
        if name is not None or self.stops:
            ax.legend()
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


class AlphaPathDisplay:
    """The leave-one-out score over the path of `alpha`, with the chosen one marked.

    Parameters
    ----------
    alphas, scores : arrays of shape (n_alphas,)
        The path and its scores; larger is better.
    alpha : float
        The chosen one.
    score_name : str, default="leave-one-out score"
        Label of the vertical axis.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    line_, chosen_ : matplotlib Line2D
        The path and the mark.

    Examples
    --------
    >>> import numpy as np, pinvlearn
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 5))
    >>> model = pinvlearn.PinvRegressor().fit(X, X @ np.ones(5) + rng.standard_normal(60))
    >>> display = pinvlearn.AlphaPathDisplay.from_estimator(model)
    """

    def __init__(
        self,
        alphas: npt.ArrayLike,
        scores: npt.ArrayLike,
        *,
        alpha: float,
        score_name: str = "leave-one-out score",
    ) -> None:
        self.alphas = np.asarray(alphas, dtype=float)
        self.scores = np.asarray(scores, dtype=float)
        self.alpha = float(alpha)
        self.score_name = score_name
        if self.alphas.ndim != 1 or self.alphas.shape != self.scores.shape:
            raise ValueError(
                f"alphas has shape {self.alphas.shape} and scores {self.scores.shape}; give one "
                "score per alpha."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw the path of a fitted learner.

        Parameters
        ----------
        estimator : learner or Pipeline
            Fitted; of a Pipeline the last step is drawn.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        AlphaPathDisplay
            The drawn display.
        """
        learner = _fitted_learner(estimator)
        alphas = getattr(learner, "alphas_", None)
        scores = getattr(learner, "loo_scores_", None)
        if alphas is None or scores is None:
            raise ValueError(
                f"this {type(learner).__name__} has no leave-one-out scores over alpha. Fit a "
                "pinvlearn learner with alpha='auto' or an array, and loo_scoring not None."
            )
        if np.ndim(learner.alpha_):
            raise ValueError(
                "every target of this learner has a path of its own: give AlphaPathDisplay one "
                "column of loo_scores_, and its alpha."
            )
        if np.ndim(scores) == 2:  # ranks and ridges were judged together: the path at the rank used
            scores = scores[np.flatnonzero(learner.ranks_ == learner.rank_)[0]]
        display = cls(alphas, scores, alpha=learner.alpha_, score_name=_score_name(learner))
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw the path and the chosen alpha.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to matplotlib's ``Axes.plot``.

        Returns
        -------
        AlphaPathDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        order = np.argsort(self.alphas)
        alphas, scores = self.alphas[order], self.scores[order]
        (self.line_,) = ax.plot(alphas, scores, **{"marker": "."} | kwargs)
        (self.chosen_,) = ax.plot(
            self.alpha,
            scores[np.argmin(np.abs(alphas - self.alpha))],
            marker="o",
            linestyle="none",
            color=self.line_.get_color(),
            label=f"chosen: {self.alpha:.3g}",
        )
        positive = alphas[alphas > 0]
        if alphas[0] > 0:
            ax.set_xscale("log")
        elif positive.size:  # alpha = 0 belongs to the path but not to a log axis
            ax.set_xscale("symlog", linthresh=positive[0])
        ax.set(xlabel="alpha", ylabel=self.score_name)
        ax.legend()
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


class SizePathDisplay:
    """The leave-one-out score over the number of units or directions, with the chosen one marked.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of units or directions.
    scores : array of shape (n_sizes,) or (n_alphas, n_sizes)
        Larger is better.
    size : int
        The chosen one.
    alphas : array of shape (n_alphas,), optional
        The ridge of each curve, for the legend.
    size_name, score_name : str
        Labels of the axes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : list of matplotlib Line2D
        One curve for each ridge.
    chosen_ : matplotlib Line2D
        The mark.

    Examples
    --------
    >>> import numpy as np, pinvlearn
    >>> x = np.linspace(0.0, 6.0, 80)[:, None]
    >>> model = pinvlearn.RBFNetworkRegressor("loo", max_kernels=20, random_state=0)
    >>> model = model.fit(x, np.sin(x[:, 0]))
    >>> display = pinvlearn.SizePathDisplay.from_estimator(model)
    """

    def __init__(
        self,
        sizes: npt.ArrayLike,
        scores: npt.ArrayLike,
        *,
        size: int,
        alphas: npt.ArrayLike | None = None,
        size_name: str = "units",
        score_name: str = "leave-one-out score",
    ) -> None:
        self.sizes = np.asarray(sizes)
        self.scores = np.atleast_2d(np.asarray(scores, dtype=float))
        self.size = int(size)
        self.alphas = None if alphas is None else np.asarray(alphas, dtype=float)
        self.size_name, self.score_name = size_name, score_name
        if self.sizes.ndim != 1 or self.scores.shape[1] != len(self.sizes):
            raise ValueError(
                f"sizes has shape {self.sizes.shape} and scores {self.scores.shape}; give one "
                "score per size."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw the sizes among which a fitted learner chose.

        Parameters
        ----------
        estimator : learner or Pipeline
            Fitted; of a Pipeline the last step is drawn.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        SizePathDisplay
            The drawn display.
        """
        learner = _fitted_learner(estimator)
        if not hasattr(learner, "size_scores_"):
            raise ValueError(
                f"this {type(learner).__name__} did not choose a size by leave-one-out. Fit it "
                'with n_kernels="loo", n_hidden="loo" or rank="loo".'
            )
        names = {"n_kernels": "kernels", "n_hidden": "hidden units", "rank": "directions"}
        (chosen,) = [name for name in names if isinstance(getattr(learner, name, None), str)]
        display = cls(
            learner.sizes_,
            learner.size_scores_,
            size=getattr(learner, f"{chosen}_"),
            alphas=learner.size_alphas_,
            size_name=names[chosen],
            score_name=_score_name(learner),
        )
        return display.plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw one curve for each ridge, and the chosen size.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to matplotlib's ``Axes.plot``.

        Returns
        -------
        SizePathDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        finite = np.where(np.isfinite(self.scores), self.scores, np.nan)
        self.lines_ = []
        for i, scores in enumerate(finite):
            label = None if self.alphas is None else f"alpha = {self.alphas[i]:.2g}"
            self.lines_ += ax.plot(
                self.sizes, scores, **{"linewidth": 1.2, "label": label} | kwargs
            )
        at = finite[:, self.sizes == self.size]
        (self.chosen_,) = ax.plot(
            self.size,
            np.nanmax(at) if at.size else np.nan,
            marker="o",
            linestyle="none",
            color="black",
            label=f"chosen: {self.size}",
        )
        ax.set(xlabel=self.size_name, ylabel=self.score_name)
        ax.legend()
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


class RoundsDisplay:
    """What each round of learning a metric gained over the plain machine, the one taken marked.

    Errors are those of rows that made neither the metric nor the machine; a bar is one standard
    error of the gain each way.  A round to the left of zero would have cost accuracy.

    Parameters
    ----------
    rounds : sequence of Round
        `rounds_` of a feature machine.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    bars_ : matplotlib ErrorbarContainer
        The gains.
    accepted_ : matplotlib Line2D
        The mark.

    Examples
    --------
    >>> import numpy as np, pinvlearn
    >>> X = np.random.default_rng(0).standard_normal((120, 4))
    >>> model = pinvlearn.FeatureMachineRegressor(random_state=0).fit(X, np.sin(2 * X[:, 1]))
    >>> display = pinvlearn.RoundsDisplay.from_estimator(model)
    """

    def __init__(self, rounds: Sequence[Round]) -> None:
        self.rounds = tuple(rounds)
        if not self.rounds:
            raise ValueError(
                "there are no rounds to draw: with max_rounds=0, or fewer rows than two halves "
                "need, a feature machine learns no metric."
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw the rounds of a fitted feature machine.

        Parameters
        ----------
        estimator : FeatureMachineClassifier, FeatureMachineRegressor or Pipeline
            Fitted; of a Pipeline the last step is drawn.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        RoundsDisplay
            The drawn display.
        """
        learner = _fitted_learner(estimator)
        if not hasattr(learner, "rounds_"):
            raise ValueError(
                f"a {type(learner).__name__} learns no metric in rounds; give a fitted "
                "FeatureMachineClassifier or FeatureMachineRegressor."
            )
        return cls(learner.rounds_).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Draw the gain of each round, the first on top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to matplotlib's ``Axes.errorbar``.

        Returns
        -------
        RoundsDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        rows = np.arange(len(self.rounds))
        style: dict[str, Any] = {"fmt": "o", "capsize": 3.0, "markerfacecolor": "white"}
        self.bars_: Any = ax.errorbar(
            [one.gain for one in self.rounds],
            rows,
            xerr=[one.standard_error for one in self.rounds],
            **style | kwargs,
        )
        taken = [row for row in rows if self.rounds[row].accepted]
        (self.accepted_,) = ax.plot(
            [self.rounds[row].gain for row in taken],
            taken,
            marker="o",
            linestyle="none",
            color=self.bars_.lines[0].get_color(),
            zorder=3,
            label="taken",
        )
        ax.axvline(0.0, color="0.5", linewidth=0.8)
        ax.set_yticks(rows, [_round_in_words(one) for one in self.rounds])
        ax.invert_yaxis()
        ax.set(xlabel="error below that of the plain machine")
        ax.legend()
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


def _round_in_words(one: Round) -> str:
    return f"round {one.number}: {one.kernel}, {one.form}" if one.number else f"plain {one.kernel}"


def _fitted_learner(estimator: Any) -> Any:
    """The estimator, or the last step of a Pipeline; it must have been fitted."""
    learner = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    check_is_fitted(learner)
    return learner
