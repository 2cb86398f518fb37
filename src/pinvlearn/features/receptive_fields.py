"""Local receptive fields: filters over the patches of images, pooled, as a frozen map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pinvlearn._core.arrays import Array, device_rows, slices
from pinvlearn._core.device import home, is_device, moved_to, to_host
from pinvlearn.features.random_layer import orthogonal_columns

TILE_BYTES = 2**22
"""Memory of one tile's patches: they are still in cache when they are multiplied."""

SAMPLE = 50_000
"""Patches from which PCA filters and the unit of the pixels are found."""

Shape = tuple[int, int, int]
"""Height, width and channels of an image."""


@dataclass(frozen=True, eq=False)
class Fields:
    """Images ↦ √Σ z² over pooling windows, with z the responses of filters to patches.

    Attributes
    ----------
    image_shape : tuple of int
        Height, width, channels.
    filters : array of shape (size²·channels, k)
        One filter in each column; the entries of each sum to zero, which takes a patch's mean away.
    size, stride : int
        Side of a patch, and steps between patches.
    pool, pool_stride : int
        Side of a pooling window, and steps between windows; the last may end at the edge.
    two_sided : bool
        Whether positive and negative responses are pooled apart.
    contrast : float or None
        Added to the variance of a patch, by whose root its responses are then divided.
    unit : float
        What pixels are divided by.
    """

    image_shape: Shape
    filters: Array
    size: int
    stride: int
    pool: int
    pool_stride: int
    two_sided: bool
    contrast: float | None
    unit: float

    @property
    def grid(self) -> tuple[int, int, int]:
        """Rows and columns of pooling windows, and maps."""
        down, across = self._windows()
        return len(down), len(across), self.filters.shape[1] * (2 if self.two_sided else 1)

    @property
    def n_columns(self) -> int:
        """Windows times maps."""
        rows, columns, maps = self.grid
        return rows * columns * maps

    @property
    def tile(self) -> int:
        """Images whose patches fit into `TILE_BYTES`, at least one."""
        down, across = self._windows()
        values = down.shape[1] * across.shape[1] * len(self.filters)
        return max(1, TILE_BYTES // (4 * values))

    def tile_of(self, X: Array) -> int:
        """The same where X lives: a device has no caches to mind, but memory."""
        down, across = self._windows()
        values = down.shape[1] * across.shape[1] * (len(self.filters) + 3 * self.filters.shape[1])
        return device_rows(values, X, len(X)) if is_device(X) else self.tile

    def __call__(self, X: Array) -> Array:
        """Features of flat images (n, height·width·channels), tile by tile, in float32.

        Infinite where pixels are so far beyond `unit` that their squares are not in float32.
        """
        H = np.empty((len(X), self.n_columns), dtype=np.float32, like=home(X))
        with np.errstate(over="ignore", invalid="ignore"):
            for rows in slices(0, len(X), self.tile_of(X)):
                H[rows] = self._of_tile(X[rows])
        return H

    def _windows(self) -> tuple[Array, Array]:
        """0/1 matrices that sum rows and columns of patches over pooling windows."""
        height, width, _ = self.image_shape
        down, across = ((side - self.size) // self.stride + 1 for side in (height, width))
        return (
            _window_sums(down, self.pool, self.pool_stride),
            _window_sums(across, self.pool, self.pool_stride),
        )

    def _of_tile(self, X: Array) -> Array:
        n, k = len(X), self.filters.shape[1]
        P = patches(centred(X, self.unit), self.image_shape, self.size, self.stride)
        flat = P.reshape(-1, P.shape[-1])
        Z = flat @ self.filters
        if self.contrast is not None:
            variance = np.einsum("ij,ij->i", flat, flat) / flat.shape[1] - flat.mean(axis=1) ** 2
            Z /= np.sqrt(variance.clip(min=0.0) + np.float32(self.contrast))[:, None]
        if self.two_sided:
            R = np.empty((len(Z), 2 * k), dtype=np.float32, like=home(Z))
            np.maximum(Z, 0.0, out=R[:, :k])
            np.minimum(Z, 0.0, out=R[:, k:])
        else:
            R = Z
        R *= R
        # Sums over windows are a product on each axis: far fewer passes than one for each offset.
        down, across = (moved_to(sums, X) for sums in self._windows())
        pooled = np.matmul(down, R.reshape(n, down.shape[1], -1))
        pooled = np.matmul(across, pooled.reshape(n, len(down), across.shape[1], -1))
        return np.sqrt(pooled, out=pooled).reshape(n, -1)


def draw_fields(
    X: Array,
    image_shape: Shape,
    *,
    filters: str | Array,
    n_filters: int,
    size: int,
    stride: int,
    pool: int,
    pool_stride: int,
    two_sided: bool,
    contrast: float | None,
    rng: np.random.Generator,
) -> Fields:
    """Receptive fields for flat images like X: filters by name, or given as columns."""
    sample, unit = sample_patches(X, image_shape, size, rng)
    if isinstance(filters, str):
        drawn = FILTERS[filters](sample, n_filters, contrast, rng)
    else:
        drawn = filters - filters.mean(axis=0)
    return Fields(
        image_shape,
        drawn.astype(np.float32),
        size,
        stride,
        pool,
        pool_stride,
        two_sided,
        contrast,
        unit,
    )


def centred(X: Array, unit: float) -> Array:
    """Images less their own mean, in units of `unit`, as float32.

    A patch's mean drops out later, but an image far from zero would lose its digits before.
    """
    scaled = X / unit
    scaled -= scaled.mean(axis=1, keepdims=True)
    return scaled.astype(np.float32, copy=False)


def patches(X: Array, image_shape: Shape, size: int, stride: int) -> Array:
    """All patches of flat images, each a row: shape (n, rows, columns, size²·channels)."""
    if is_device(X):
        return _patches_there(X.reshape(-1, *image_shape), size, stride)
    view = sliding_window_view(X.reshape(-1, *image_shape), (size, size), axis=(1, 2))
    view = view[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)
    return np.ascontiguousarray(view).reshape(*view.shape[:3], -1)


def _patches_there(images: Array, size: int, stride: int) -> Array:
    """The same by the array API, which has no windows: a slice for each place in a patch."""
    n, height, width, _ = images.shape
    down, across = height - size + 1, width - size + 1
    parts = [
        images[:, top : top + down : stride, left : left + across : stride]
        for top in range(size)
        for left in range(size)
    ]
    P: Array = np.stack(parts, axis=3)
    return P.reshape(*P.shape[:3], -1)


def sample_patches(
    X: Array, image_shape: Shape, size: int, rng: np.random.Generator
) -> tuple[Array, float]:
    """Random patches without their means, at unit mean variance, and the unit they are given in."""
    height, width, channels = image_shape
    count = min(SAMPLE, len(X) * (height - size + 1) * (width - size + 1))
    image = rng.integers(len(X), size=count)
    top = rng.integers(height - size + 1, size=count)
    left = rng.integers(width - size + 1, size=count)
    first = ((image * height + top) * width + left) * channels
    offset = np.arange(size)[:, None] * width * channels + np.arange(size * channels)
    places = first[:, None] + offset.ravel()
    P = to_host(X.reshape(-1)[places.ravel()]).reshape(places.shape).astype(np.float64)
    largest = float(np.abs(P).max()) or 1.0  # squares of extreme pixels would overflow or vanish
    P /= largest
    P -= P.mean(axis=1, keepdims=True)
    deviation = float(np.sqrt(np.mean(P * P))) or 1.0
    P /= deviation
    return P, largest * deviation


def pca_filters(P: Array, k: int, contrast: float | None, rng: np.random.Generator) -> Array:
    """The k directions in which patches (of the contrast that will be seen) vary most."""
    if contrast is not None:
        P = P / np.sqrt(np.mean(P * P, axis=1, keepdims=True) + contrast)
    m = P.shape[1]
    # The constant patch is no direction of mean-free ones: put it below those of no variance.
    V = np.linalg.eigh(P.T @ P - np.full((m, m), 1.0 / m))[1][:, ::-1][:, :k]
    signs = np.sign(V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])])
    return V * signs


def random_filters(P: Array, k: int, contrast: float | None, rng: np.random.Generator) -> Array:
    """Random orthonormal filters without mean, as many at a time as there are such directions."""
    drawn = rng.standard_normal((P.shape[1], k))
    return orthogonal_columns(drawn - drawn.mean(axis=0), P.shape[1] - 1)


FILTERS = {"pca": pca_filters, "random": random_filters}
"""How filters are drawn, by name."""


def _window_sums(length: int, pool: int, stride: int) -> Array:
    """A 0/1 row for each window of `pool` steps, `stride` apart, until the last step is passed."""
    count = min(1 + max(0, -(-(length - pool) // stride)), -(-length // stride))
    at = np.arange(length) - stride * np.arange(count)[:, None]
    return ((at >= 0) & (at < pool)).astype(np.float32)
