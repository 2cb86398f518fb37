"""Hidden layers with random weights, and the inputs themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from pinvlearn._core.arrays import Array, Matrix, aligned, evaluate, is_sparse, slices, to_dense
from pinvlearn._core.device import home, is_device, on_device
from pinvlearn.features.activations import ACTIVATIONS, Activation, sigmoid_of_negative

WEIGHTS = ("gaussian", "uniform", "orthogonal")


TILE_ENTRIES, TILE_COLUMNS = 2**15, 2**10
"""Entries of a layer that are made at a time, 256 KiB, which second-level caches hold, and their
columns."""

ROWS = 512
"""Rows of a layer that are made at a time where more is gained by many than by the cache."""


@dataclass(frozen=True, eq=False)
class RandomLayer:
    """X ↦ activation(X W + b): the hidden layer of an extreme learning machine [JL19] Eq. (4).

    A layer that an autoencoder has found has the same form, with weights that are not random.
    """

    W: Array
    b: Array
    activation: str | Activation = "sigmoid"

    @property
    def n_columns(self) -> int:
        """Number of hidden units."""
        return len(self.b)

    def first(self, count: int) -> RandomLayer:
        """The first units alone."""
        return replace(self, W=self.W[:, :count], b=self.b[:count])

    def __call__(self, X: Matrix) -> Array:
        empty = np.empty((X.shape[0], self.n_columns), dtype=X.dtype, like=home(X))
        return self.into(X, empty)

    def into(self, X: Matrix, out: Array) -> Array:
        """Write the features into `out`, whose rows need not lie next to each other."""
        if is_device(X):
            return self._on_device(X, out)
        sparse, W, b = is_sparse(X), *(A.astype(out.dtype, copy=False) for A in (self.W, self.b))
        if self.activation == "sigmoid":
            W, b = -W, -b
        height, width = self._tile(sparse)
        inputs = np.ones((0 if sparse else min(height, len(out)), len(W) + 1), dtype=out.dtype)
        if not sparse:
            W = np.vstack([W, b])  # b is the weight of the ones beside the inputs
        room = _aligned(min(height, len(out)) * width, out.dtype)
        for rows in slices(0, len(out), height):
            part = X[rows]
            if not sparse:
                inputs[: len(part), :-1] = part
                part = inputs[: len(part)]
            for columns in slices(0, len(b), width):
                H = out[rows, columns]
                # Contiguous and in cache, for which NumPy is twice as fast.
                Z = room[: H.size].reshape(H.shape)
                if sparse:
                    np.add(part @ W[:, columns], b[columns], out=Z)
                else:
                    np.matmul(part, W[:, columns], out=Z)
                self._activate(Z, H)
        return out

    def _on_device(self, X: Any, out: Any) -> Any:
        """All rows at once: a device has no caches to mind, and a call costs what many rows do."""
        d = X.shape[1]
        inputs = np.zeros((len(X), aligned(d + 1)), dtype=out.dtype, like=X)
        weights = np.zeros((inputs.shape[1], len(self.b)), dtype=out.dtype, like=X)
        inputs[:, :d], inputs[:, d], weights[:d], weights[d] = X, 1.0, self.W, self.b
        np.matmul(inputs, weights, out=out)
        if isinstance(self.activation, str):
            found = ACTIVATIONS[self.activation](out)
        else:
            found = on_device(self.activation(out.data))
        if found is not out:
            out[...] = found
        return out

    def _tile(self, sparse: bool) -> tuple[int, int]:
        """Rows and columns that are made at a time."""
        width = len(self.b)
        if sparse or not isinstance(self.activation, str):  # own functions may want whole rows
            return ROWS, width
        width = max(min(width, TILE_COLUMNS), 1)
        # BLAS rearranges W for every product, so wide inputs get more rows at a time.
        return max(TILE_ENTRIES // width, min(2 * len(self.W), ROWS)), width

    def _activate(self, Z: Array, out: Array) -> None:
        """Write the features to `out` from their sums, negated for a sigmoid."""
        if self.activation == "sigmoid":
            sigmoid_of_negative(Z, out)
        elif isinstance(self.activation, str):
            out[...] = ACTIVATIONS[self.activation](Z)
        else:
            out[...] = self.activation(Z)


def _aligned(size: int, dtype: np.dtype[Any]) -> Array:
    """Memory from a cache line on: vectors that lie on two take a twentieth longer [measured]."""
    raw = np.empty(size * dtype.itemsize + 64, dtype=np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size * dtype.itemsize].view(dtype)


def draw_layer(
    n_features: int,
    n_hidden: int,
    *,
    activation: str | Activation = "sigmoid",
    weights: str = "gaussian",
    scale: float = 1.0,
    rng: np.random.Generator,
) -> RandomLayer:
    """A random layer whose sums X W + b have about unit variance times scale² on standardised X.

    Weights are divided by √n_features: without that, wide inputs drive every unit of a saturating
    activation to its limits.  Orthogonal ones are Gaussian ones made orthonormal, which have that
    length already.
    """
    size = (n_features + 1, n_hidden)
    if weights == "uniform":
        drawn = rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), size)
    else:
        drawn = rng.standard_normal(size)
    if weights == "orthogonal":
        W = orthogonal_columns(drawn[1:], n_features) * scale
    else:
        W = drawn[1:] * (scale / np.sqrt(n_features))
    return RandomLayer(W, drawn[0] * scale, activation)


def orthogonal_columns(A: Array, most: int) -> Array:
    """Columns made orthonormal, `most` of them at a time: more cannot be in their space."""
    blocks = (np.linalg.qr(A[:, i : i + most])[0] for i in range(0, A.shape[1], most))
    return np.hstack(list(blocks))


@dataclass(frozen=True)
class Inputs:
    """X ↦ X: linear learning, [JL19] Eq. (6)."""

    n_columns: int

    def __call__(self, X: Matrix) -> Matrix:
        return X


@dataclass(frozen=True, eq=False)
class Beside:
    """X ↦ [hidden(X), X]: direct links put the inputs beside the hidden units."""

    hidden: Any
    n_inputs: int

    @property
    def n_columns(self) -> int:
        """Hidden units and inputs."""
        return int(self.hidden.n_columns) + self.n_inputs

    def first(self, count: int) -> Beside:
        """The map with the first hidden units only; the links stay."""
        return Beside(self.hidden.first(count), self.n_inputs)

    def __call__(self, X: Matrix) -> Array:
        return np.hstack([self.hidden(X), X.toarray() if is_sparse(X) else X])


@dataclass(frozen=True, eq=False)
class Line:
    """X ↦ unit·(x - mean), held within a box: inputs for a linear part that does not run off.

    The box of the rows that it is made of is half as wide again on either side.  Few rows tell
    little of a column's tails, and a line that is followed a thousand spreads away is off by that.
    """

    mean: Array
    lower: Array
    upper: Array
    unit: float = 1.0

    @classmethod
    def of(cls, X: Matrix, spread: float) -> Line | None:
        """Of rows on which its columns have this variance in all; None where all rows are alike."""
        X = to_dense(X)
        mean = X.mean(axis=0)
        least, most = X.min(axis=0) - mean, X.max(axis=0) - mean
        more = (most - least) / 2.0
        own = float(np.square(X - mean).mean(axis=0).sum())
        if not (own > 0.0 and spread > 0.0):
            return None
        return cls(mean, least - more, most + more, float(np.sqrt(spread / own)))

    @property
    def n_columns(self) -> int:
        """Number of inputs."""
        return len(self.mean)

    def __call__(self, X: Matrix) -> Array:
        within = np.minimum(np.maximum(to_dense(X) - self.mean, self.lower), self.upper)
        return self.unit * within


@dataclass(frozen=True, eq=False)
class BesideLine:
    """X ↦ [hidden(X), line(X)]."""

    hidden: Any
    line: Line

    @property
    def n_inputs(self) -> int:
        """Columns of the line."""
        return self.line.n_columns

    @property
    def n_columns(self) -> int:
        """Hidden units and inputs."""
        return int(self.hidden.n_columns) + self.n_inputs

    def first(self, count: int) -> BesideLine:
        """The map with the first hidden units only; the line stays."""
        return BesideLine(self.hidden.first(count), self.line)

    def __call__(self, X: Matrix) -> Array:
        return np.hstack([self.hidden(X), self.line(X)])


@dataclass(frozen=True, eq=False)
class Stack:
    """X ↦ layer_k(… layer_1(X)): each layer on what the one before it gives."""

    layers: tuple[Any, ...]

    @property
    def n_columns(self) -> int:
        """Columns of the last layer."""
        return int(self.layers[-1].n_columns)

    def __call__(self, X: Matrix) -> Array:
        for layer in self.layers:
            X = layer(X)
        return X


@dataclass(frozen=True, eq=False)
class Offset:
    """X ↦ [hidden(X), -1]: E of [He11] Eq. (7), whose last weight is the offset r."""

    hidden: Any

    @property
    def n_columns(self) -> int:
        """Hidden units and the column of -1."""
        return int(self.hidden.n_columns) + 1

    def __call__(self, X: Matrix) -> Matrix:
        if isinstance(self.hidden, Inputs) and is_sparse(X):
            column = scipy.sparse.csr_array(np.full((X.shape[0], 1), -1.0))
            return scipy.sparse.hstack([X, column], format="csr")
        empty = np.empty((X.shape[0], self.n_columns), dtype=X.dtype, like=home(X))
        return self.into(X, empty)

    def into(self, X: Matrix, out: Array) -> Array:
        """Write the features into `out`, whose rows need not lie next to each other."""
        evaluate(self.hidden, X, out[:, :-1])
        out[:, -1] = -1.0
        return out
