"""Local receptive fields as a transformer of images [HBKV15]."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import Array, first_bad_entry, slices
from pinvlearn._core.device import as_given, check_room, home_within, is_device, memory_named
from pinvlearn._core.threads import in_threads
from pinvlearn._validation import (
    check_choice,
    check_image_shape,
    check_images,
    check_jobs,
    check_matrix,
    check_names,
    check_nonnegative,
    check_same_home,
    check_size,
    generator,
)
from pinvlearn.features import placed
from pinvlearn.features.receptive_fields import FILTERS, Fields, draw_fields
from pinvlearn.learners._state import unchanged_on_failure


class ReceptiveFields(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Features of images from filters over their patches, pooled; nothing is trained by descent.

    For every patch p of an image, less its mean, the responses are z = pᵀf for filters f.  Positive
    and negative responses are squared, summed over pooling windows, and the root is taken:

        h = √Σ max(z, 0)²  and  √Σ min(z, 0)²

    Cost: 2·size²·channels·n_filters flops a patch, by matrix products over tiles of images; memory
    for the features, and 4 MB (or one image's patches) for each thread.  Computed in float32.

    Parameters
    ----------
    n_filters : int, default=24
        Number of filters.
    size : int, default=7
        Side of a patch.
    stride : int, default=1
        Steps between patches.
    filters : {"pca", "random"} or array, default="pca"
        "pca" takes the directions in which 50,000 random patches vary most; "random" draws
        orthogonal ones, as [HBKV15].  An array has shape (n_filters, size, size[, channels]).
    pool : int, default=4
        Side of a pooling window, in patches.
    pool_stride : int, default=None
        Steps between windows; None puts them side by side.  The last window of a row or column may
        be smaller.
    two_sided : bool, default=True
        Pool positive and negative responses apart.  False is the pooling of [HBKV15], √Σ z².
    contrast : float or None, default=None
        Divide the responses of a patch by √(its variance + contrast), where 1 is the mean variance
        of patches.  Makes faint strokes as good as strong ones.
    image_shape : tuple of int or None, default=None
        Height, width and, if there are any, channels of images that come as flat rows.
    n_jobs : int, default=None
        Threads over tiles of images; None takes as many as BLAS is allowed, -1 all cores.  The
        result does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the patches looked at and of random filters.

    Attributes
    ----------
    filters_ : array of shape (n_filters, size, size) or (n_filters, size, size, channels)
    grid_ : tuple of int
        Rows and columns of pooling windows, and maps: the shape of one image's features.
    image_shape_ : tuple of int
        Height, width and channels.
    map_ : Fields
        The frozen map.
    n_features_in_ : int
        Pixels times channels.
    feature_names_in_
        As everywhere in scikit-learn, of flat rows that are a frame.

    Notes
    -----
    Images are arrays (n, height, width) or (n, height, width, channels), or flat rows with
    `image_shape`; a fitted transformer takes either.  Pixels are measured in units of the training
    patches' deviation, so 0 … 255 and 0 … 1 give the same features.

    Deviations from [HBKV15]: responses are taken of mean-free patches; PCA filters and two-sided
    pooling, off there, are the defaults here; windows do not reach over the edge.

    References
    ----------
    [HBKV15] G.-B. Huang, Z. Bai, L. Kasun, C.-M. Vong (2015). Local receptive fields based extreme
    learning machine. IEEE Comput. Intell. Mag. 10(2).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pinvlearn import ReceptiveFields
    >>> images = load_digits().images
    >>> fields = ReceptiveFields(8, size=3, pool=2, random_state=0).fit(images)
    >>> fields.transform(images[:5]).shape, fields.grid_
    ((5, 144), (3, 3, 16))
    """

    def __init__(
        self,
        n_filters: int = 24,
        *,
        size: int = 7,
        stride: int = 1,
        filters: Any = "pca",
        pool: int = 4,
        pool_stride: int | None = None,
        two_sided: bool = True,
        contrast: float | None = None,
        image_shape: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_filters = n_filters
        self.size = size
        self.stride = stride
        self.filters = filters
        self.pool = pool
        self.pool_stride = pool_stride
        self.two_sided = two_sided
        self.contrast = contrast
        self.image_shape = image_shape
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> ReceptiveFields:
        """Draw the filters.

        Parameters
        ----------
        X : array of shape (n, height, width), (n, height, width, channels), or (n, n_pixels)
            Training images.
        y : ignored
            There for pipelines.

        Returns
        -------
        self
            Unchanged if the fit fails.
        """
        with unchanged_on_failure(self):
            self._fit(X)
        return self

    def _fit(self, X: Any) -> None:
        given = None if self.image_shape is None else check_image_shape(self.image_shape)
        flat, shape = check_images(X, given)
        check_names(self, X, reset=True)
        size = check_size("size", self.size)
        if size > min(shape[:2]):
            raise ValueError(f"size={size} exceeds the images, which are {shape[0]} × {shape[1]}.")
        if size * size * shape[2] < 2:
            raise ValueError(
                "A patch of one pixel is nothing without its mean; take a larger size."
            )
        pool = check_size("pool", self.pool)
        drawn = draw_fields(
            flat,
            shape,
            filters=self._checked_filters(size, shape[2]),
            n_filters=check_size("n_filters", self.n_filters),
            size=size,
            stride=check_size("stride", self.stride),
            pool=pool,
            pool_stride=pool
            if self.pool_stride is None
            else check_size("pool_stride", self.pool_stride),
            two_sided=bool(self.two_sided),
            contrast=None
            if self.contrast is None
            else check_nonnegative("contrast", self.contrast),
            rng=generator(self.random_state),
        )
        self.map_ = placed(drawn, flat)
        self.image_shape_ = shape
        self.n_features_in_ = int(np.prod(shape))

    def _checked_filters(self, size: int, channels: int) -> Any:
        """A name, or given filters as columns."""
        pixels = size * size * channels
        if isinstance(self.filters, str):
            name = check_choice("filters", self.filters, FILTERS)
            if name == "pca" and check_size("n_filters", self.n_filters) >= pixels:
                raise ValueError(
                    f"n_filters={self.n_filters}: patches of {pixels} values without their mean "
                    f'vary in {pixels - 1} directions only; take fewer, or filters="random".'
                )
            return name
        array = np.asarray(self.filters)
        wanted = [(size, size, channels)] + ([(size, size)] if channels == 1 else [])
        if array.shape[1:] not in wanted:
            raise ValueError(
                f"filters has shape {array.shape}; with size={size} and {channels} channel(s) it "
                f"must be (n_filters, {', '.join(map(str, wanted[-1]))})."
            )
        return check_matrix(array.reshape(len(array), pixels), "filters").astype(np.float64).T

    def transform(self, X: Any) -> Array:
        """Features of images.

        Parameters
        ----------
        X : array of shape (n, height, width), (n, height, width, channels), or (n, n_pixels)
            Images of the shape that `fit` saw.

        Returns
        -------
        array of shape (n, rows·columns·maps)
            The product of `grid_` for each image, in float32.
        """
        check_is_fitted(self)
        flat, shape = check_images(X, self.image_shape_)
        check_names(self, X, reset=False)
        fields: Fields = self.map_
        check_same_home(self, flat, home_within(fields), "transform")
        with memory_named():
            H = self._features(fields, flat)
        bad = first_bad_entry(H)
        if bad is not None:
            raise ValueError(
                f"Image {bad[0]} is too far beyond those of fit for single precision: its pixels "
                f"reach {np.abs(flat[bad[0]]).max():.3g}, a typical deviation in fit was "
                f"{fields.unit:.3g}. Scale all images alike."
            )
        return as_given(H)

    def _features(self, fields: Fields, flat: Array) -> Array:
        if is_device(flat):
            n, p = len(flat), fields.n_columns
            what = f"features of {n} images, {p} of each,"
            check_room(flat, n * p // 2, what, "Transform fewer images at a time.")
            return fields(flat)
        H = np.empty((len(flat), fields.n_columns), dtype=np.float32)

        def fill(rows: slice) -> None:
            H[rows] = fields(flat[rows])

        for _ in in_threads(fill, slices(0, len(flat), fields.tile), check_jobs(self.n_jobs)):
            pass
        return H

    @property
    def filters_(self) -> Array:
        """Filters as images."""
        size, channels = self.map_.size, self.image_shape_[2]
        shape = (-1, size, size) if channels == 1 else (-1, size, size, channels)
        return as_given(self.map_.filters.T.reshape(shape))

    @property
    def grid_(self) -> tuple[int, int, int]:
        """Rows and columns of pooling windows, and maps."""
        return self.map_.grid

    @property
    def _n_features_out(self) -> int:
        return int(self.map_.n_columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.image_shape is not None
        tags.input_tags.three_d_array = self.image_shape is None
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
