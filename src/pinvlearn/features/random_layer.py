"""Hidden layers with random weights, and the inputs themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse

from pinvlearn._arrays import Array, Matrix, evaluate, is_sparse
from pinvlearn.features.activations import ACTIVATIONS, Activation

WEIGHTS = ("gaussian", "uniform", "orthogonal")


CHUNK_ENTRIES = 2**15
"""Entries of a layer that are made at a time: 256 KiB, which second-level caches hold."""


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
        return self.into(X, np.empty((X.shape[0], self.n_columns), dtype=X.dtype))

    def into(self, X: Matrix, out: Array) -> Array:
        """Write the features into `out`, whose rows need not lie next to each other."""
        W, b = (part.astype(out.dtype, copy=False) for part in (self.W, self.b))
        act = ACTIVATIONS[self.activation] if isinstance(self.activation, str) else self.activation
        # BLAS rearranges W for every product, so wide inputs get more rows at a time.
        chunks = _chunks(len(out), len(b), 2 * len(W))
        room = np.empty((chunks[0].stop if chunks else 0, len(b)), dtype=out.dtype)
        for rows in chunks:
            H = out[rows]
            Z = room[: len(H)]  # contiguous and in cache, for which NumPy is twice as fast
            if is_sparse(X):
                Z[...] = X[rows] @ W
            else:
                np.matmul(X[rows], W, out=Z)
            Z += b
            H[...] = act(Z)
        return out


def _chunks(n_rows: int, n_columns: int, least: int) -> list[slice]:
    step = max(CHUNK_ENTRIES // max(n_columns, 1), least)
    return [slice(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


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

    def __call__(self, X: Matrix) -> Array:
        return np.hstack([self.hidden(X), X.toarray() if is_sparse(X) else X])


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
        return self.into(X, np.empty((X.shape[0], self.n_columns), dtype=X.dtype))

    def into(self, X: Matrix, out: Array) -> Array:
        """Write the features into `out`, whose rows need not lie next to each other."""
        evaluate(self.hidden, X, out[:, :-1])
        out[:, -1] = -1.0
        return out
