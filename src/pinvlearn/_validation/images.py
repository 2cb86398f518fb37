"""Images, as rows of pixels or as arrays of their shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from pinvlearn._core.arrays import Array, is_sparse
from pinvlearn._core.device import on_device
from pinvlearn._validation.homes import check_library, taken_as_is
from pinvlearn._validation.magnitudes import check_finite
from pinvlearn._validation.parameters import check_size


def check_image_shape(shape: Any) -> tuple[int, int, int]:
    """Height, width and channels, from two or three integers."""
    sizes = tuple(shape) if np.ndim(shape) == 1 else ()
    if len(sizes) not in (2, 3):
        raise ValueError(
            f"image_shape={shape!r} must be (height, width) or (height, width, channels)."
        )
    height, width, channels = (check_size("each of image_shape", size) for size in (*sizes, 1)[:3])
    return height, width, channels


def check_images(
    X: Any, image_shape: tuple[int, int, int] | None
) -> tuple[Array, tuple[int, int, int]]:
    """Images as rows of finite numbers, and the shape of each; whole numbers stay what they are."""
    if is_sparse(X):
        raise TypeError("X is sparse; images must be dense: use X.toarray().")
    check_library(X)
    X = on_device(X) if taken_as_is(X) else np.asarray(X)
    if X.dtype.kind not in "fiub":
        try:
            if X.dtype.kind == "c":
                raise TypeError
            X = X.astype(np.float64)
        except (TypeError, ValueError) as failure:
            raise TypeError(f"X has dtype {X.dtype}; images are of real numbers.") from failure
    if X.ndim == 2 and image_shape is None:
        raise ValueError(
            f"X has shape {X.shape}: flat rows. Give image_shape=(height, width[, channels]), or "
            "an array of shape (n, height, width[, channels])."
        )
    if X.ndim not in (2, 3, 4):
        raise ValueError(
            f"X has {X.ndim} dimension(s); images have shape (n, height, width) or (n, height, "
            "width, channels), and flat rows (n, n_pixels)."
        )
    if 0 in X.shape:
        raise ValueError(f"X is empty (shape {X.shape}); at least one image is needed.")
    if X.ndim == 2:
        shape = image_shape or (0, 0, 0)
        if X.shape[1] != np.prod(shape):
            raise ValueError(
                f"X has {X.shape[1]} features; images of shape {shape} have {np.prod(shape)}."
            )
    else:
        shape = check_image_shape(X.shape[1:])
        if image_shape is not None and shape != image_shape:
            raise ValueError(f"X holds images of shape {shape}; {image_shape} is expected.")
    flat = X.reshape(len(X), -1)
    check_finite(flat)
    return flat, shape
