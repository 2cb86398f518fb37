"""Principal component analysis and truncated SVD, drop-in for scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    column_spread,
    is_sparse,
    power_of_two_scale,
    scaled,
    squared_norm,
)
from pinvlearn._core.device import as_given, moved_to, on_device, to_host
from pinvlearn._core.factoring import add_to_diagonal
from pinvlearn._validation import check_count, check_outputs, check_rows, check_same_home
from pinvlearn.learners._decomposing import Decomposition, FromSummary, by_tiles, held
from pinvlearn.linalg.principal import Axes, Scatter, likely_rank
from pinvlearn.linalg.svd import cutoff_gain, default_rcond


class FastPCA(Decomposition):
    r"""Principal component analysis, drop-in for scikit-learn's ``PCA``.

    With X̄ the rows of X minus their mean, the components are the k rows of V minimising
    ‖X̄ - X̄VᵀV‖_F: the leading right singular vectors of X̄, or eigenvectors of its covariance.
    X̄ is not formed (but by "exact"), so sparse X stays sparse and dense X is not copied.

    Parameters
    ----------
    n_components : int, float, "mle", stop rule or None, default=None
        How many components to keep.  A float between 0 and 1 is the fraction of the variance they
        must explain; "mle" is Minka's choice [Minka00]; a rule (`Tolerance`, `FlatGradient`,
        `Energy`, `Rank`, or a callable of the error sequence) grows a basis until it is satisfied.
        None keeps min(n_samples, n_features).
    copy : bool, default=True
        For compatibility: X is never written to.
    whiten : bool, default=False
        Divide the outputs by their standard deviations.  A direction without variance gives 0.
    svd_solver : str, default="auto"
        - "auto": "gram" up to a smaller side of 1000, or where more than an eighth of all
          components are wanted, else "block-krylov"; "exact" after either if it finds values
          below 1e-5 of the largest and `whiten` divides by them; `report_` says which and why.
        - "gram", or "covariance_eigh": eigenvectors of the smaller of X̄ᵀX̄ and X̄X̄ᵀ.  Variances
          are exact to 1e-15 of the largest; of many float32 rows, whose products are single and
          added up in double, to 2e-6.
        - "exact", or "full": LAPACK's SVD of X̄.
        - "block-krylov", "randomized": approximate, for a given number.
        - "arpack": SciPy's ``svds``.
        - "adaptive": for stop rules.
    tol : float, default=0.0
        Relative accuracy of "arpack"; 0 is machine precision.
    iterated_power : int or "auto", default="auto"
        Power iterations of "randomized", steps of "block-krylov".
    n_oversamples : int, default=10
        Extra samples of "randomized".
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        For compatibility: every step of "randomized" is made orthonormal.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the randomised methods.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by falling variance.  The largest entry of each is positive, which is
        also the rule of scikit-learn's PCA.
    explained_variance_ : array of shape (n_components,)
        Variance of each output, with n_samples - 1 in the denominator.
    explained_variance_ratio_ : array of shape (n_components,)
        The same as fractions of the variance of X.
    singular_values_ : array of shape (n_components,)
        Norms of the columns of X̄Vᵀ.
    mean_ : array of shape (n_features,)
    n_components_ : int
    n_samples_ : int
    noise_variance_ : float
        Mean variance of the directions left out, of which there are min(n_samples, n_features) -
        n_components [TB99].
    report_ : Report
        What was done, why, how exactly, and how long it took.
    summary_ : Scatter
        After `partial_fit`: number of rows, their mean and their products about it.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    Cost of "gram": mn·min(m, n) flops in one pass; of "block-krylov" about 4mn·n_components flops
    in each of its passes.

    Deviations from scikit-learn: every solver takes sparse X; "auto" has a policy of its own;
    `fit_transform` is `fit` followed by `transform`, to the bit; with ``whiten=True``
    `get_covariance`, `get_precision` and `score` are those of the data, while scikit-learn's are
    multiplied by the variances once more; where ``noise_variance_`` is 0, `score` is the density
    within the span of the components.

    References
    ----------
    [Minka00] T.P. Minka (2000). Automatic choice of dimensionality for PCA. NIPS 13.

    [TB99] M.E. Tipping, C.M. Bishop (1999). Probabilistic principal component analysis. J. R.
    Statist. Soc. B 61(3).

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import FastPCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> pca = FastPCA(n_components=0.9).fit(X)
    >>> pca.n_components_, np.round(pca.explained_variance_ratio_, 4)
    (1, array([0.9924]))
    >>> rows = FastPCA()
    >>> for row in X:
    ...     _ = rows.partial_fit([row])
    >>> np.round(rows.singular_values_, 5)
    array([6.30061, 0.5498 ])
    """

    _solver_name = "svd_solver"
    _fewest = 0
    _also = ', "mle"'
    mean_ = FromSummary()
    noise_variance_ = FromSummary()

    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: Any = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state

    def transform(self, X: Matrix) -> Array:
        """Project rows on the components: (X - mean) Vᵀ.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_components)
            Their coordinates, divided by the standard deviations if `whiten`.
        """
        check_is_fitted(self)
        output = self._projected(X, self._there("mean_"))
        if self.whiten:
            output = (output * cutoff_gain(self._deviations, self._rcond)).astype(output.dtype)
        return as_given(output)

    def inverse_transform(self, X: Matrix) -> Array:
        """Take rows from the space of the components back to that of the features.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Rows as `transform` gives them.

        Returns
        -------
        array of shape (n_samples, n_features)
            The rows that have these coordinates.
        """
        check_is_fitted(self)
        X, V = check_outputs(X, self.n_components_), self._there("components_")
        check_same_home(self, X, V, "inverse_transform")
        with np.errstate(over="ignore", invalid="ignore"):
            if self.whiten:
                X = X * self._deviations.astype(V.dtype)
            rows = by_tiles(X, V)
            rows += self._there("mean_")
        return as_given(held(rows, "rows", "divide X by a large number first"))

    def get_covariance(self) -> Array:
        """The covariance of the model: Vᵀ(diag(λ) - σ²)V + σ², [TB99] Eq. (7).

        Returns
        -------
        array of shape (n_features, n_features)
            The covariance.
        """
        check_is_fitted(self)
        V = self._there("components_")
        above = (self._there("explained_variance_") - self.noise_variance_).clip(min=0.0)
        covariance: Array = (V.T * above) @ V
        add_to_diagonal(covariance, self.noise_variance_)
        return as_given(covariance)

    def get_precision(self) -> Array:
        """The inverse of `get_covariance`, its pseudo-inverse where it is singular.

        Returns
        -------
        array of shape (n_features, n_features)
            The precision.
        """
        check_is_fitted(self)
        with np.errstate(over="ignore", invalid="ignore"):
            noise = np.divide(1.0, self.noise_variance_) if self.noise_variance_ > 0.0 else 0.0
            V = self._there("components_").astype(np.float64)
            precision: Array = (V.T * (self._gains - noise)) @ V
            add_to_diagonal(precision, noise)
            precision = precision.astype(self._dtype)
        return as_given(
            held(precision, "inverse variances", "multiply X by a large number before the fit")
        )

    def score_samples(self, X: Matrix) -> Array:
        """Log-likelihood of each row under the model, [TB99] Eq. (4).

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples,)
            One number for each row.
        """
        X = check_rows(self, X, reset=False, bounded=False)
        V, mean = (self._there(name).astype(np.float64) for name in ("components_", "mean_"))
        check_same_home(self, X, V, "score_samples")
        gains = self._gains
        used, log_volume = np.count_nonzero(gains), -np.log(gains[gains > 0.0]).sum()
        with np.errstate(over="ignore", invalid="ignore"):
            if is_sparse(X):
                projected: Array = X @ V.T - mean @ V.T
                outside = _squared_distances(X, mean) - (projected**2).sum(axis=1)
            else:
                rows = X - mean
                projected = rows @ V.T
                rows -= projected @ V  # no difference of squares, which loses what is small
                outside = np.einsum("ij,ij->i", rows, rows)
            distance = projected**2 @ moved_to(gains, X)
            if self.noise_variance_ > 0.0:
                left = self.n_features_in_ - len(gains)
                distance += outside.clip(min=0.0) / self.noise_variance_
                used, log_volume = used + left, log_volume + left * np.log(self.noise_variance_)
            likelihood: Array = -0.5 * (distance + used * np.log(2.0 * np.pi) + log_volume)
        return as_given(
            held(likelihood, "log-likelihoods", "X is too far from the rows of the fit")
        )

    def score(self, X: Matrix, y: Any = None) -> float:
        """Mean log-likelihood of the rows.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.
        y : ignored
            There for pipelines.

        Returns
        -------
        float
            The mean of `score_samples`.
        """
        return float(on_device(self.score_samples(X)).mean())

    @property
    def _rcond(self) -> float:
        shape = self.n_samples_, self.n_features_in_
        return default_rcond(shape, self._dtype)

    @property
    def _deviations(self) -> Array:
        """Roots of the variances, which may be too small for the precision of X."""
        values = to_host(self._there("singular_values_"))
        roots: Array = values.astype(np.float64) / np.sqrt(max(self.n_samples_ - 1, 1))
        return roots

    @property
    def _gains(self) -> Array:
        """Inverse variances of the model along the components; 0 where there is none.

        From deviations, since variances may vanish: the inverse is then infinite.
        """
        deviations = np.maximum(self._deviations, np.sqrt(self.noise_variance_))
        with np.errstate(over="ignore"):
            gains: Array = cutoff_gain(deviations, np.sqrt(self._rcond)) ** 2
        return gains

    @property
    def _needs_small_values(self) -> bool:
        return bool(self.whiten)  # which divides by them; else their variances do not count

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.iterated_power != "auto":
            check_count("iterated_power", self.iterated_power)

    def _fit(self, X: Matrix) -> None:
        if self.n_components == "mle":
            self._check_likelihood(X.shape)
        self.n_samples_ = X.shape[0]
        self._dtype = X.dtype
        found = self._single_axes(X)
        if found is None:
            power = None if self.iterated_power == "auto" else self.iterated_power
            A = self._centred(X)
            found = self._axes(A, power), A.right
        self._set(*found)

    def _solve(self, summary: Scatter) -> None:
        if self.n_components == "mle":
            self._check_likelihood((summary.count, len(summary.mean)))
        self._set(self._summary_axes(summary.products, summary), summary.mean)

    def _check_likelihood(self, shape: tuple[int, int]) -> None:
        if shape[0] < shape[1]:
            raise ValueError(
                "n_components='mle' is only supported if n_samples >= n_features; there are "
                f"{shape[0]} rows and {shape[1]} columns."
            )

    def _set(self, axes: Axes, mean: Array) -> None:
        n, p = self.n_samples_, len(mean)
        spread = max(n - 1, 1)
        axes = self._cut(axes)
        if self.n_components == "mle":
            axes = axes.keep(likely_rank(to_host(axes.s) ** 2 / spread, n))
        k, shares = len(axes.s), axes.shares
        rest = min(n, p) - k
        variances = self._variances(axes.s.astype(np.float64) / np.sqrt(spread))
        self._place(
            axes.Vt,
            components_=axes.Vt,
            explained_variance_=variances,
            explained_variance_ratio_=shares,
            singular_values_=axes.s,
            mean_=mean,
        )
        self.n_components_ = k
        self.noise_variance_ = (axes.rest / np.sqrt(spread)) ** 2 / rest if rest else 0.0
        self.report_ = axes.report


class FastTruncatedSVD(Decomposition):
    """Truncated SVD (latent semantic analysis), drop-in for scikit-learn's ``TruncatedSVD``.

    The components are the k rows of V minimising ‖X - XVᵀV‖_F: X is not centred.

    Parameters
    ----------
    n_components : int, float, stop rule or None, default=2
        How many components to keep.  A float between 0 and 1 is the fraction of the sum of squares
        ‖X‖²_F they must hold; a rule (`Tolerance`, `FlatGradient`, `Energy`, `Rank`, or a callable
        of the error sequence) grows a basis until it is satisfied; None keeps all.
    algorithm : str, default="auto"
        "auto", "gram", "exact", "block-krylov", "randomized", "arpack" or "adaptive", as
        `FastPCA` has them.  "auto" goes on to "exact" if a wanted value is below 1e-5 of the
        largest and X is not too large to be made dense.
    n_iter : int, default=5
        Power iterations of "randomized".
    n_oversamples : int, default=10
        Extra samples of "randomized".
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        For compatibility: every step of "randomized" is made orthonormal.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the randomised methods.
    tol : float, default=0.0
        Relative accuracy of "arpack"; 0 is machine precision.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        Orthonormal rows, by falling singular value.  The largest entry of each is positive.
    explained_variance_ : array of shape (n_components,)
        Variance of each output, with n_samples in the denominator.
    explained_variance_ratio_ : array of shape (n_components,)
        The same as fractions of the variance of X.
    singular_values_ : array of shape (n_components,)
        Norms of the columns of XVᵀ.
    n_components_ : int
    n_samples_ : int
    report_ : Report
        What was done, why, how exactly, and how long it took.
    summary_ : Scatter
        After `partial_fit`: number of rows, their mean and their products about it.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from scipy.sparse import random_array
    >>> from pinvlearn import FastTruncatedSVD
    >>> X = random_array((500, 200), density=0.05, rng=0)
    >>> lsa = FastTruncatedSVD(n_components=10, random_state=0)
    >>> lsa.fit_transform(X).shape
    (500, 10)
    """

    _solver_name = "algorithm"
    _fewest = 1

    def __init__(
        self,
        n_components: Any = 2,
        *,
        algorithm: str = "auto",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        tol: float = 0.0,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol

    def transform(self, X: Matrix) -> Array:
        """Project rows on the components: X Vᵀ.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_components)
            Their coordinates.
        """
        check_is_fitted(self)
        return as_given(self._projected(X))

    def inverse_transform(self, X: Matrix) -> Array:
        """Take rows from the space of the components back to that of the features.

        Parameters
        ----------
        X : array of shape (n_samples, n_components)
            Rows as `transform` gives them.

        Returns
        -------
        array of shape (n_samples, n_features)
            The rows that have these coordinates.
        """
        check_is_fitted(self)
        X, V = check_outputs(X, self.n_components_), self._there("components_")
        check_same_home(self, X, V, "inverse_transform")
        with np.errstate(over="ignore", invalid="ignore"):
            rows = by_tiles(X, V)
        return as_given(held(rows, "rows", "divide X by a large number first"))

    @property
    def _needs_small_values(self) -> bool:
        return True  # beside a dominant mean, all that is of interest is small

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_count("n_iter", self.n_iter) is None:
            raise ValueError("n_iter=None must be an integer of at least 0.")

    def _fit(self, X: Matrix) -> None:
        A = self._centred(X)
        axes = self._cut(self._axes(X, self.n_iter if self.algorithm == "randomized" else None))
        self.n_samples_ = X.shape[0]
        self._dtype = X.dtype
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = held(X @ axes.Vt.T, "outputs", "divide X by a large number first")
            scale = power_of_two_scale(outputs)
            deviations = column_spread(scaled(outputs, scale)) / scale
            total = squared_norm(A)
        self._set(axes, deviations, total)

    def _solve(self, summary: Scatter) -> None:
        axes = self._cut(self._summary_axes(summary.about_zero(), summary))
        spread = np.einsum("ij,ij->i", axes.Vt @ summary.products, axes.Vt).clip(min=0.0)
        self._set(axes, np.sqrt(spread / summary.count), float(np.trace(summary.products)))

    def _set(self, axes: Axes, deviations: Array, total: float) -> None:
        variances = self._variances(deviations)
        if not np.isfinite(total):
            raise ValueError("the squares of X overflow. Divide X by a large number first.")
        ratio = deviations**2 * (self.n_samples_ / total if total > 0.0 else 0.0)
        self._place(
            axes.Vt,
            components_=axes.Vt,
            explained_variance_=variances,
            explained_variance_ratio_=ratio,
            singular_values_=axes.s,
        )
        self.n_components_ = len(axes.s)
        self.report_ = axes.report


def _squared_distances(X: Matrix, mean: Array) -> Array:
    """‖x - mean‖² of each row of a sparse array."""
    X = X.astype(np.float64, copy=False)
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    distances: Array = squares - 2.0 * (X @ mean) + mean @ mean
    return distances
