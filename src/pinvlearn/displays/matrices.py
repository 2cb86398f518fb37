"""Pictures of sparse matrices: where their non-zeros lie, and how unevenly."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from pinvlearn._core.arrays import Matrix, is_operator, is_sparse
from pinvlearn._core.sparse import merged
from pinvlearn._validation import check_matrix, check_on_host
from pinvlearn.displays._axes import axes
from pinvlearn.functional.matrices import hub_spoke
from pinvlearn.linalg.reorder import Reordering

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = 300
"""Cells of a matrix's picture in each direction: about as many as a small figure has pixels."""


class ReorderingDisplay:
    """Where the non-zeros of a matrix lie, with hubs and spokes apart ([JS20]_, Fig. 3).

    The matrix is drawn on a grid of at most 300 × 300 cells, the darker the more non-zeros a cell
    holds, so that any size can be drawn.  Lines part the spokes, above and left, from the hubs.

    Parameters
    ----------
    A : array or sparse array of shape (m, n)
        The matrix; only where it is zero matters.
    order : Reordering, optional
        What `hub_spoke` found; without it A is drawn as it is.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    image_ : matplotlib AxesImage
        Logarithm of one plus the number of non-zeros of each cell.
    lines_ : list of matplotlib Line2D
        The borders m1 and n1, none without an order.

    References
    ----------
    .. [JS20] J. Jung, L. Sael, "Fast and accurate pseudoinverse with sparse matrix reordering and
       incremental approach", Machine Learning 109, 2020.

    Examples
    --------
    >>> import scipy.sparse, pinvlearn
    >>> A = scipy.sparse.random_array((200, 80), density=0.01, rng=0)
    >>> display = pinvlearn.ReorderingDisplay.from_matrix(A, hub_ratio=0.05)
    """

    def __init__(self, A: Matrix, order: Reordering | None = None) -> None:
        self.A = _entries(A)
        self.order = order
        if order is not None and (len(order.rows), len(order.columns)) != self.A.shape:
            raise ValueError(
                f"A has shape {self.A.shape}, but the order is of a matrix of shape "
                f"{(len(order.rows), len(order.columns))}. Give the order of this matrix."
            )

    @classmethod
    def from_matrix(
        cls, A: Matrix, *, hub_ratio: float = 0.01, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Reorder a matrix by `hub_spoke` and draw it.

        Parameters
        ----------
        A : array or sparse array of shape (m, n)
            The matrix; only where it is zero matters.
        hub_ratio : float, default=0.01
            Share of the rows and of the columns that a round takes out as hubs.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        ReorderingDisplay
            The drawn display.
        """
        return cls(A, hub_spoke(A, hub_ratio)).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw the matrix and the borders of its order.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        name : str, optional
            Title of the axes.
        **kwargs : dict
            Passed to matplotlib's ``Axes.imshow``.

        Returns
        -------
        ReorderingDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        m, n = self.A.shape
        rows, columns = self.A.nonzero()
        if self.order is not None:
            rows = np.argsort(self.order.rows)[rows]
            columns = np.argsort(self.order.columns)[columns]
        counts, _, _ = np.histogram2d(
            rows, columns, bins=(min(m, CELLS), min(n, CELLS)), range=((0, m), (0, n))
        )
        style: dict[str, Any] = {
            "cmap": "Greys",
            "aspect": "auto",
            "interpolation": "nearest",
        } | kwargs
        self.image_: Any = ax.imshow(np.log1p(counts), extent=(0, n, m, 0), **style)
        self.lines_: list[Any] = []
        if self.order is not None:
            line: dict[str, Any] = {"color": "C3", "linewidth": 0.8}
            self.lines_ = [ax.axhline(self.order.m1, **line), ax.axvline(self.order.n1, **line)]
        ax.set(xlabel=f"{n} columns", ylabel=f"{m} rows", title=name or "")
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


class DegreeDisplay:
    """How many rows and columns have so many non-zeros, on logarithmic axes ([JS20]_, Fig. 1).

    A few rows or columns with very many and very many with few are what a hub-and-spoke order
    feeds on.

    Parameters
    ----------
    A : array or sparse array of shape (m, n)
        The matrix; only where it is zero matters.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    rows_, columns_ : matplotlib Line2D
        Number of rows, or columns, for each number of non-zeros that occurs.

    References
    ----------
    .. [JS20] J. Jung, L. Sael, "Fast and accurate pseudoinverse with sparse matrix reordering and
       incremental approach", Machine Learning 109, 2020.

    Examples
    --------
    >>> import scipy.sparse, pinvlearn
    >>> A = scipy.sparse.random_array((200, 80), density=0.05, rng=0)
    >>> display = pinvlearn.DegreeDisplay.from_matrix(A)
    """

    def __init__(self, A: Matrix) -> None:
        A = _entries(A)
        rows, columns = A.nonzero()
        self.row_degrees = np.bincount(rows, minlength=A.shape[0])
        self.column_degrees = np.bincount(columns, minlength=A.shape[1])

    @classmethod
    def from_matrix(cls, A: Matrix, *, ax: "Axes | None" = None, **kwargs: Any) -> Self:
        """Count the non-zeros of a matrix and draw the counts.

        Parameters
        ----------
        A : array or sparse array of shape (m, n)
            The matrix; only where it is zero matters.
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        **kwargs : dict
            Passed to `plot`.

        Returns
        -------
        DegreeDisplay
            The drawn display.
        """
        return cls(A).plot(ax=ax, **kwargs)

    def plot(self, ax: "Axes | None" = None, *, name: str | None = None, **kwargs: Any) -> Self:
        """Draw one mark for each number of non-zeros that occurs.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; new axes by default.
        name : str, optional
            Title of the axes.
        **kwargs : dict
            Passed to matplotlib's ``Axes.plot``.

        Returns
        -------
        DegreeDisplay
            The display itself, with its attributes set.
        """
        ax = axes(ax)
        lines = []
        for what, degrees in (("rows", self.row_degrees), ("columns", self.column_degrees)):
            # Zero has no place on a log axis; empty rows and columns are counted in the legend.
            values, counts = np.unique(degrees[degrees > 0], return_counts=True)
            empty = int(np.count_nonzero(degrees == 0))
            label = what + (f" ({empty} empty)" if empty else "")
            style: dict[str, Any] = {"markersize": 3, "linestyle": "none", "label": label}
            style["marker"] = "o" if what == "rows" else "s"
            lines += ax.plot(values, counts, **style | kwargs)
        self.rows_, self.columns_ = lines
        ax.set(xscale="log", yscale="log", xlabel="non-zeros", ylabel="how many", title=name or "")
        ax.legend()
        self.ax_: Any = ax
        self.figure_: Any = ax.figure
        return self


def _entries(A: Matrix) -> Any:
    check_on_host("A picture of a matrix", A)
    A = check_matrix(A)
    if is_operator(A):
        raise TypeError("A plot of non-zeros needs the entries of A; a LinearOperator has none.")
    return merged(A) if is_sparse(A) else A
