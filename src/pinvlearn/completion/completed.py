"""A completed matrix: biases and factors, one set of them or draws from a posterior."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator

from pinvlearn._core.arrays import Array, IntArray
from pinvlearn.completion.als import Entries, Prior, Run, predicted, update
from pinvlearn.completion.descent import orthonormal
from pinvlearn.linalg.driver import decompose
from pinvlearn.linalg.svd import SVD


@dataclass(frozen=True, eq=False)
class Completed:
    """a_ij ≈ mean + scale·(b_i + c_j + u_i·v_j), averaged over S sets of biases and factors.

    Attributes
    ----------
    rows : array of shape (S, m + 1, d)
        (b_i, u_i); the last is that of a row never seen.
    cols : array of shape (S, n + 1, d)
        (c_j, v_j); the last is that of a column never seen.
    biases : bool
        Whether the first of the d numbers is a bias.
    mean, scale : float
    noise_precision, precision, rhs, per_entry : arrays
        What a new row's solution is drawn to, for each set: see `Prior`.
    """

    rows: Array
    cols: Array
    biases: bool
    mean: float
    scale: float
    noise_precision: Array
    precision: Array
    rhs: Array
    per_entry: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns that were fitted."""
        return self.rows.shape[1] - 1, self.cols.shape[1] - 1

    def check(self) -> None:
        """Raise ValueError if the parts do not fit together: compiled rows would read beyond."""
        S, _, d = self.rows.shape
        shapes = {
            "cols": (S, self.cols.shape[1], d),
            "noise_precision": (S,),
            "precision": (S, d, d),
            "rhs": (S, d),
            "per_entry": (d,),
        }
        for name, shape in shapes.items():
            found = np.shape(getattr(self, name))
            if found != shape:
                raise ValueError(f"{name} has shape {found}, not {shape}")

    @property
    def n_sets(self) -> int:
        """Number of sets of factors."""
        return len(self.rows)

    def predict(self, rows: IntArray, cols: IntArray) -> tuple[Array, Array]:
        """Mean and predictive variance of pairs; indices outside the shape are never seen ones.

        The variance is that of the sets plus that of the noise: of one set, the noise alone.
        """
        m, n = self.shape
        rows, cols = np.minimum(rows, m), np.minimum(cols, n)
        mean, spread = np.zeros(len(rows)), np.zeros(len(rows))
        for count, (A, B) in enumerate(zip(self.rows, self.cols, strict=True), start=1):
            gap = predicted(A, B, rows, cols, self.biases) - mean
            mean += gap / count
            spread += gap**2 * (1.0 - 1.0 / count)
        variance = spread / self.n_sets + np.mean(1.0 / self.noise_precision)
        return self.mean + self.scale * mean, self.scale**2 * variance

    def scores(self, rows: IntArray) -> Array:
        """All columns' values for some rows, shape (len(rows), n)."""
        m, n = self.shape
        rows = np.minimum(rows, m)
        total = np.zeros((len(rows), n))
        first = int(self.biases)
        for A, B in zip(self.rows, self.cols, strict=True):
            own = A[rows].astype(np.float64)
            other = B[:n].astype(np.float64)
            total += own[:, first:] @ other[:, first:].T
            if self.biases:
                total += own[:, :1] + other[:, 0]
        return self.mean + (self.scale / self.n_sets) * total

    def mean_biases(self) -> tuple[Array, Array]:
        """Biases of rows and columns, in the units of the entries."""
        if not self.biases:
            return np.zeros(self.shape[0]), np.zeros(self.shape[1])
        b, c = (side[:, :-1, 0].mean(axis=0, dtype=np.float64) for side in (self.rows, self.cols))
        return self.scale * b, self.scale * c

    def svd(self, rank: int, rng: np.random.Generator) -> SVD:
        """Decomposition of the mean of scale·u_i·v_j, to the given rank.

        One set is decomposed exactly.  The mean of many has a higher rank: block Krylov finds its
        leading part from products with the factors, S·(m + n)·d flops for each vector.
        """
        (m, n), first = self.shape, int(self.biases)
        if self.n_sets == 1:
            X, Y = self.rows[0, :m, first:], self.cols[0, :n, first:]
            seen = [np.flatnonzero(np.any(F != 0.0, axis=1)) for F in (X, Y)]
            found = orthonormal(self.scale * X, Y, *seen)
        else:
            products = {"matvec": self._times, "rmatvec": self._times_transposed}
            products |= {"matmat": self._times, "rmatmat": self._times_transposed}
            small = min(m, n) <= 4 * rank
            mean = LinearOperator((m, n), dtype=np.float64, **products)
            found = decompose(
                self._times(np.eye(n)) if small else mean,
                rank,
                stop=None,
                solver="auto",
                rng=rng,
                n_oversamples=None,
                n_power=None,
            )
        return found

    def _times(self, X: Array) -> Array:
        return self._product(self.rows, self.cols, X)

    def _times_transposed(self, X: Array) -> Array:
        return self._product(self.cols, self.rows, X)

    def _product(self, left: Array, right: Array, X: Array) -> Array:
        first = int(self.biases)
        total: Array = np.zeros((left.shape[1] - 1, *np.shape(X)[1:]))
        for A, B in zip(left, right, strict=True):
            total += A[:-1, first:] @ (B[:-1, first:].T @ X)
        return total * (self.scale / self.n_sets)

    def interactions(self, rows: IntArray, X: Array) -> Array:
        """Some rows of the mean of scale·u_i·v_j, times X."""
        first = int(self.biases)
        total: Array = np.zeros((len(rows), X.shape[1]))
        for A, B in zip(self.rows, self.cols, strict=True):
            total += A[rows][:, first:] @ (B[:-1, first:].T @ X)
        return total * (self.scale / self.n_sets)

    def with_rows(
        self,
        new: Entries,
        rng: np.random.Generator,
        run: Run,
        places: IntArray | None = None,
    ) -> Completed:
        """The same with rows solved for in closed form given the columns: further ones, or those
        at some places instead of what was there.

        With many sets a row is drawn for each, so that its predictive variance is right as well.
        """
        self.check()
        count, d, m = len(new.starts) - 1, self.rows.shape[2], self.shape[0]
        places = np.arange(m, m + count) if places is None else places
        solved = np.empty((self.n_sets, count, d), dtype=self.rows.dtype)
        draws, out = np.zeros((count, d)), np.zeros((count, d))
        for s in range(self.n_sets):
            if self.n_sets > 1:
                draws = rng.standard_normal((count, d))
            prior = Prior(
                float(self.noise_precision[s]), self.precision[s], self.rhs[s], self.per_entry
            )
            others = self.cols[s].astype(np.float64)
            update(run, new, others, self.biases, prior, out, draws)
            solved[s] = out
        return self.placed(solved, places)

    def placed(self, solved: Array, places: IntArray) -> Completed:
        """The same with solutions of each set at some places, or beyond the last row."""
        m = self.shape[0]
        more = max(0, int(places.max(initial=-1)) + 1 - m)
        added = np.zeros((self.n_sets, more, self.rows.shape[2]), dtype=self.rows.dtype)
        rows = np.concatenate([self.rows[:, :-1], added, self.rows[:, -1:]], axis=1)
        rows[:, places] = solved
        return replace(self, rows=rows)
