"""The triangular summary: the R factor of rows, which keeps the digits that a Gram matrix loses."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from pinvlearn._core.arrays import MIN_BLOCK_ROWS, Array, Matrix, to_dense
from pinvlearn._core.blas import lapack
from pinvlearn._core.device import home, to_host
from pinvlearn._core.factoring import triangle_of
from pinvlearn.summaries.block import Block, raise_not_finite
from pinvlearn.summaries.files import read_summary, write_summary
from pinvlearn.summaries.gram import mean_of_both, same_kind, united, weighted_of_both
from pinvlearn.summaries.schema import (
    Ranges,
    Schema,
    add_ranges,
    check_counted,
    check_numbers,
    ranges_from,
)


@dataclass(frozen=True, eq=False)
class Triangle:
    """R with RᵀR = ZᵀZ for weighted rows Z = √w·[1, Φ(X), T]; the condition is not squared.

    With the ones in front, the rows below the first are the R factor of the centred columns, so an
    intercept costs nothing.  R factors of two sets of rows merge by the QR of one on the other.

    Cost: about 3.3 times that of `Gram`; memory (p + t)².  It adds, and does not subtract.

    Attributes
    ----------
    R : array of shape (1 + p + t, 1 + p + t)
        The upper triangular factor.
    schema : Schema
        What its columns mean.
    blocks : tuple of (source, first, one past the last)
        Blocks that were counted; rows given without a `block_id` are in none.
    n_rows : float
        Rows counted, the decayed ones in part.
    n_weighted : float
        Those of positive weight, as `Gram` counts them.
    middle : array of shape (t,) or None
        What was taken away from every target, as `Gram` does; it is in the first row of R alone.
    decayed : bool
        Whether weights were multiplied since rows were counted.

    See Also
    --------
    Gram : Cheaper, and can forget.
    """

    R: Array
    schema: Schema
    blocks: Ranges = ()
    n_rows: float = 0.0
    n_weighted: float = 0.0
    middle: Array | None = None
    decayed: bool = False

    offers = "triangle"

    @classmethod
    def of_block(cls, block: Block) -> Triangle:
        """The summary of one block of rows.

        Parameters
        ----------
        block : Block
            Checked rows with coded targets.

        Returns
        -------
        Triangle
            Of its rows; one that is not finite is named in an error.
        """
        width = 1 + block.schema.n_columns + block.schema.n_targets
        R: Array = np.zeros((width, width), like=home(block.X))
        middle = block.target_mean
        for piece in block.pieces(2 * MIN_BLOCK_ROWS):  # few merges, of which each costs p³
            with np.errstate(over="ignore", invalid="ignore"):
                Z = _weighted(piece.H, piece.T, piece.weights, middle)
                finite = np.isfinite(Z.sum())
            if not finite:
                raise_not_finite(block.pieces())
            R = stacked(R, square_r(Z))
        rows = float(len(block)), float(block.n_weighted)
        return cls(R, block.schema, block.ranges, *rows, middle)

    def __add__(self, other: Any) -> Triangle:
        return self.merged(other)

    def merged(self, other: Any, *, overwrite: bool = False) -> Triangle:
        """The summary of both sets of rows, as ``+`` gives it.

        Parameters
        ----------
        other : Triangle
            Of other rows, by the same map.
        overwrite : bool, default=False
            Ignored: nothing is used up.

        Returns
        -------
        Triangle
            Of both; a block that both have counted raises.
        """
        same_kind(self, other)
        schema = united(self, other)
        blocks = add_ranges(self.blocks, other.blocks)
        middle = mean_of_both(self, other)
        R = stacked(self._widened(schema, middle), other._widened(schema, middle))
        rows = self.n_rows + other.n_rows, weighted_of_both(self, other)
        return Triangle(R, schema, blocks, *rows, middle, self.decayed or other.decayed)

    def __sub__(self, other: Any) -> NoReturn:
        raise ValueError(
            "a Triangle does not forget: taking rows out of an R factor is unstable. Use a Gram "
            'summary, which learners keep with solver="cholesky", or with "auto" and alpha above '
            "0; or fit again to the rows that are to stay."
        )

    def __mul__(self, decay: float) -> Triangle:
        """All rows so far with their weights multiplied by `decay`."""
        n_rows, decayed = self.n_rows * decay, self.decayed or decay != 1.0
        return replace(self, R=self.R * np.sqrt(decay), n_rows=n_rows, decayed=decayed)

    def signed(self, intercept: bool) -> tuple[Array, Array, Array]:
        """The R factor of Z with QᵀY for ±1 targets Y, centred if there is an intercept.

        Parameters
        ----------
        intercept : bool
            Take Z and Y about their weighted means.

        Returns
        -------
        R : array of shape (q, p)
            The R factor of Z, with zeros below.
        QY : array of shape (q, t)
            QᵀY.
        first : array of shape (1 + p + t,)
            √Σw·[1, mean of Z, mean of Y].
        """
        p, middle = self.schema.n_columns, self.middle if intercept else None
        R = self._widened(self.schema, middle)
        head = np.delete(np.arange(len(R)), np.arange(1, 1 + p))
        targets = R[:, head] @ self.schema.signs[:, 1:]
        return parted(np.hstack([R[:, : 1 + p], targets]), p, intercept, middle)

    def with_classes(self, classes: Any) -> Triangle:
        """The same rows, with further classes as columns of zeros.

        Parameters
        ----------
        classes : array
            Classes of which no row has been seen.

        Returns
        -------
        Triangle
            With a column for each of them.
        """
        schema = self.schema.with_classes(classes)
        return replace(self, schema=schema, R=self._widened(schema, self.middle))

    def _widened(self, schema: Schema, middle: Array | None) -> Array:
        """R for all targets of a schema, about a `middle`."""
        if schema.n_targets == self.schema.n_targets:
            if middle is self.middle:
                return self.R
            there, here = (0.0 if own is None else own for own in (middle, self.middle))
            R = self.R.copy()
            R[0, 1 + schema.n_columns :] -= R[0, 0] * (there - here)
            return R
        first = 1 + schema.n_columns
        width = first + schema.n_targets
        columns = np.r_[np.arange(first), first + self.schema.columns_in(schema)]
        R = np.zeros((width, width), like=home(self.R))
        R[: len(self.R), columns] = self.R
        return R

    def arrays(self) -> dict[str, Array]:
        """What a file holds of it.

        Returns
        -------
        dict of str to array
            R, and the `middle`, where there is one.
        """
        middle = {} if self.middle is None else {"middle": self.middle}
        return {"R": to_host(self.R)} | middle

    def counted(self) -> dict[str, Any]:
        """What else a file holds: of which rows it is.

        Returns
        -------
        dict
            The other attributes but the schema.
        """
        names = ("blocks", "n_rows", "n_weighted", "decayed")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], schema: Schema, counted: Any) -> Triangle:
        """The summary that a file holds.

        Parameters
        ----------
        arrays : dict of str to array
            What `arrays` gave.
        schema : Schema
            What their columns mean.
        counted : dict
            What `counted` gave.

        Returns
        -------
        Triangle
            The one that was written.
        """
        rows = float(counted["n_rows"]), float(counted["n_weighted"])
        blocks, decayed = ranges_from(counted["blocks"]), bool(counted.get("decayed", False))
        return cls(arrays["R"], schema, blocks, *rows, arrays.get("middle"), decayed)

    def check(self) -> None:
        """Raise ValueError if no rows could have given these numbers; p² operations."""
        self.schema.check()
        width = 1 + self.schema.n_columns + self.schema.n_targets
        check_numbers("R", self.R, (width, width))
        if self.middle is not None:
            check_numbers("middle", self.middle, (self.schema.n_targets,))
        check_counted(self.blocks, self.n_rows, self.n_weighted, self.mass)
        if np.tril(self.R, -1).any():
            raise ValueError("R is not an upper triangle")

    @property
    def total(self) -> float:
        """Sum of the weights."""
        return float(self.R[0, 0] ** 2)

    @property
    def target_totals(self) -> Array:
        """Weighted sum of each target column."""
        totals: Array = self.R[0, 0] * self.R[0, 1 + self.schema.n_columns :]
        return totals if self.middle is None else totals + self.total * self.middle

    @property
    def mass(self) -> float:
        """Trace of ΦᵀΦ; infinite in a file that no rows could have given."""
        with np.errstate(over="ignore"):
            return float(np.sum(self.R[:, 1 : 1 + self.schema.n_columns] ** 2))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to an ``.npz`` file without pickles, whole or not at all, under a SHA-256.

        Parameters
        ----------
        path : path-like
            File to write; an old one is replaced when the new one is complete.
        """
        write_summary(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Triangle:
        """Read a file of `save`; one changed bit anywhere raises ValueError.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Triangle
            The summary that was saved.
        """
        return read_summary(path, {"Triangle": cls})


def r_factor(H: Matrix, Y: Array, weights: Array | None, middle: Array | None = None) -> Array:
    """R of weighted rows √w·[1, H, Y - middle], square."""
    return square_r(_weighted(H, Y, weights, middle))


def square_r(Z: Array) -> Array:
    """R of Z = QR, with zeros below where rows are fewer than columns; Z is used up."""
    return _square(triangle_of(Z))


def parted(
    R: Array, p: int, intercept: bool, middle: Array | None = None
) -> tuple[Array, Array, Array]:
    """The R factor of Z with QᵀY, centred if there is an intercept, and the first row of R.

    R is used up.  Of targets about a middle the first row is what it would be without.
    """
    first = R[0].copy()
    if middle is not None:
        first[1 + p :] += first[0] * middle
    R = R[1:, 1:] if intercept else triangle_of(R[:, 1:])
    return R[:, :p], R[:, p:], first


def _weighted(H: Matrix, T: Array, weights: Array | None, middle: Array | None) -> Array:
    T = T if middle is None else T - middle
    Z: Array = np.hstack([np.ones((len(T), 1), like=home(T)), to_dense(H), T])
    if weights is not None:
        Z *= np.sqrt(weights)[:, None]
    return Z


def _square(R: Array) -> Array:
    """R of fewer rows than columns, with zeros below."""
    m, n = R.shape
    return R if m == n else np.vstack([R, np.zeros((n - m, n), like=home(R))])


def stacked(R: Array, S: Array) -> Array:
    """The R factor of one triangle on the other: 2n³/3 flops, by LAPACK's tpqrt.

    No rows change no bit: an empty block and one that is not there are the same.
    """
    if not (R.any() and S.any()):
        return R if R.any() else S
    if home(R, S) is not None:
        return triangle_of(np.vstack([R, S]))
    n = len(R)
    merged, _, _, info = lapack("tpqrt", R)(n, min(n, 32), R, S)
    if info != 0:
        raise np.linalg.LinAlgError(f"tpqrt failed (info={info}).")
    triangle: Array = np.triu(merged)
    return triangle
