"""Leading right singular vectors of a matrix, without the left ones: principal axes.

References
----------
[Chan83] T.F. Chan, G.H. Golub, R.J. LeVeque (1983). Algorithms for computing the sample variance:
analysis and recommendations. The American Statistician 37(3).

[Minka00] T.P. Minka (2000). Automatic choice of dimensionality for PCA. NIPS 13.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.special

from pinvlearn._core.arrays import (
    Array,
    Matrix,
    Shifted,
    f_ordered,
    is_sparse,
    power_of_two_scale,
    scaled,
    squared_norm,
)
from pinvlearn._core.device import home, moved_to, to_host
from pinvlearn._core.factoring import svd, triangle_of
from pinvlearn._core.products import SHARED_WORK, SINGLE_ROWS, gram, single_products, times
from pinvlearn._core.threads import as_worker
from pinvlearn.linalg.dense import left_vectors
from pinvlearn.linalg.driver import (
    DECOMPOSITIONS,
    DENSE_ENTRIES,
    DEVICE_GRAM_SIDE,
    check_runs_there,
    zero_svd,
)
from pinvlearn.linalg.krylov import NormalProduct, krylov_space
from pinvlearn.linalg.lanczos import lanczos
from pinvlearn.linalg.orthonormal import leading_eigen
from pinvlearn.linalg.rangefinder import absolute
from pinvlearn.linalg.report import Report, Stopwatch
from pinvlearn.linalg.stop import Stop, on_scaled_matrix
from pinvlearn.linalg.svd import SVD, sign_fixed, unresolved_notes

SMALL = 1000
"""Side up to which `choose_axes` takes the Gram matrix whatever the rank: it is exact there, and
as fast as a few Krylov steps [measured, benchmarks/speed/pca.py]."""

LAPACK_SIDE = 800
"""Side up to which LAPACK finds leading eigenvectors faster than a Krylov space does [measured]."""

BLURRED = 1e-5
"""Fraction of the largest singular value below which an axis from a Gram matrix, whose error is
about eps·(s₁/s_k)², has fewer than six digits."""

SINGLE_BLURRED = 0.04
"""The same for a Gram matrix of single products, whose error is about √b·u of the largest variance
for sums of b = `SINGLE_ROWS` (u = 2⁻²⁴): three digits."""

SINGLE_RESOLUTION = 1e-3
"""Fraction of the largest singular value below which such a Gram matrix tells none from zero: about
the root of √b·u."""

SINGLE_SAMPLE = 64
"""Rows whose mean stands for that of all until all have been read."""


@dataclass(frozen=True, eq=False)
class Axes:
    """The leading part of A = U diag(s) Vt without U.

    Attributes
    ----------
    s : array of shape (k,)
        Singular values in falling order: the norms of the columns of A Vtᵀ.
    Vt : array of shape (k, n)
        Orthonormal rows, the largest entry of each positive.
    norm : float
        ‖A‖_F, whose square the kept components hold Σ s² of.
    report : Report
    left_out : float or None
        √Σ s² of all other axes, where these were found too: a difference of squares tells nothing
        of what is below √eps·‖A‖_F.
    """

    s: Array
    Vt: Array
    norm: float
    report: Report
    left_out: float | None = None

    @property
    def shares(self) -> Array:
        """What part of ‖A‖²_F each axis holds, in float64; nothing of nothing."""
        shares: Array = (self.s.astype(np.float64) / (self.norm or 1.0)) ** 2
        return shares

    def keep(self, k: int) -> Axes:
        """The first k axes, in memory of their own."""
        left_out = self.left_out
        if left_out is not None:  # no square, which might overflow
            others = to_host(self.s[k:]).astype(np.float64)
            left_out = float(np.hypot.reduce(others, initial=left_out))
        return replace(self, s=self.s[:k].copy(), Vt=self.Vt[:k].copy(), left_out=left_out)

    @property
    def rest(self) -> float:
        """Norm of what the axes do not hold."""
        if self.left_out is not None:
            return self.left_out
        return self.norm * float(np.sqrt(max(1.0 - float(self.shares.sum()), 0.0)))


@dataclass(frozen=True, eq=False)
class Scatter:
    """Rows summed up by their number, their mean and their products about it; can be merged.

    With δ the difference of two means, n and m the counts, the products of both sets of rows are
    S₁ + S₂ + nm/(n + m)·δδᵀ, the pairwise update of [Chan83].  Nothing cancels,
    however large the means.

    Attributes
    ----------
    count : int
    mean : array of shape (p,)
    products : array of shape (p, p)
    single : bool
        Whether some of the products were made in single precision.
    """

    count: int
    mean: Array
    products: Array
    single: bool = False

    @classmethod
    def of(cls, X: Matrix) -> Scatter:
        """The summary of one block of rows; mp² flops."""
        with as_worker():  # rows that come in pieces give the same bits on any number of threads
            A = centred(X.astype(np.float64, copy=False))
            return cls(A.shape[0], A.right, gram(A))

    def __add__(self, other: Scatter) -> Scatter:
        count = self.count + other.count
        step = other.mean - self.mean
        products = self.products + other.products
        products += np.outer(step * (self.count * other.count / count), step)
        mean = self.mean + step * (other.count / count)
        return Scatter(count, mean, products, self.single or other.single)

    def about_zero(self) -> Array:
        """XᵀX of the rows."""
        return self.products + np.outer(self.mean * self.count, self.mean)


def centred(X: Matrix) -> Shifted:
    """X minus its column means; they are summed in float64 and rounded to X's precision."""
    m = X.shape[0]
    ones = np.ones(m, dtype=X.dtype, like=home(X))
    if home(X) is not None:
        sums = ones @ X if X.dtype == np.float64 else X.sum(axis=0)
    elif is_sparse(X) or X.dtype == np.float64:
        sums = np.ones(m) @ X  # X.sum(axis=0) takes twice as long, and sums sparse rows as they are
    else:
        sums = X.sum(axis=0, dtype=np.float64)
    return Shifted(X, ones, (sums / m).astype(X.dtype), sums)


def single_scatter(X: Matrix) -> Scatter | None:
    """`Scatter.of` many float32 rows by `single_products` in one pass, or None of others.

    Rows are shifted by the mean of a few of them, and what that leaves of the mean is taken out of
    the sums.  Where it is no small part of them the rows are read again, about their mean.  Shifted
    rows are rounded as the rows themselves were: to u of their size or less.
    """
    m, n = X.shape
    single = isinstance(X, np.ndarray) and X.dtype == np.float32
    if not single or m < n or m * n**2 // 2 < SHARED_WORK:
        return None
    mean: Array = X[:: max(1, m // SINGLE_SAMPLE)].mean(axis=0, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(2):
            shift = mean.astype(np.float32)
            sums, products = single_products(X, shift)
            step, raw = sums / m, float(np.trace(products))
            mean = shift + step
            products -= np.outer(sums, step)
            left = float(np.trace(products))
            if raw <= 2.0 * left:
                break
    return Scatter(m, mean, products, single=True) if _in_range(left, X.dtype) else None


def choose_axes(
    shape: tuple[int, int], rank: int | None, stop: Stop | None, *, elsewhere: bool = False
) -> tuple[str, str]:
    """The solver that "auto" runs for a matrix of this shape, on a device or not, and why."""
    small = min(shape)
    side = DEVICE_GRAM_SIDE if elsewhere else SMALL
    fits = small**2 <= DENSE_ENTRIES
    if stop is not None:
        return "adaptive", "a stop rule was given"
    if rank is None:
        how = "the whole spectrum is wanted"
        return ("gram", how) if fits else ("exact", f"{how}, and {small}² products do not fit")
    if small <= side:
        return "gram", f"the smaller side has only {small} entries"
    if 8 * rank < small or not fits:
        return "block-krylov", f"{rank} components are few beside a smaller side of {small}"
    return "gram", f"{rank} components are more than an eighth of the smaller side, {small}"


def principal_axes(
    A: Matrix,
    rank: int | None = None,
    *,
    solver: str,
    reason: str = "chosen by the caller",
    stop: Stop | None = None,
    tol: float = 0.0,
    n_oversamples: int | None = None,
    n_power: int | None = None,
    rng: np.random.Generator,
) -> Axes:
    """The `rank` leading axes of A (all if None), or as many as `stop` asks for.

    "gram" takes the eigenvectors of the smaller Gram matrix: mn·min(m, n) flops and one pass (two
    if the matrix is wide), variances to eps of the largest and singular values to 1e-8 of it.
    "arpack" is SciPy's `svds`; the others are those of `DECOMPOSITIONS`.  A solver that leaves
    A·Vtᵀ other than U diag(s) is followed by one product with A that restores it.

    Parameters
    ----------
    tol : float
        Of "arpack": relative accuracy of the singular values, 0 for machine precision.
    n_oversamples, n_power : int, optional
        As `DECOMPOSITIONS` takes them.
    """
    check_runs_there(A, solver)
    watch = Stopwatch()
    tall = A.shape[0] >= A.shape[1]
    with (
        np.errstate(over="ignore", invalid="ignore"),
        watch("gram" if solver == "gram" else "norm"),
    ):
        G = gram(A if tall else A.T) if solver == "gram" and rank != 0 else None
        total = squared_norm(A) if G is None else float(np.trace(G))
    scale = 1.0 if _in_range(total, A.dtype) else power_of_two_scale(A)
    if scale != 1.0:
        stop = None if stop is None else on_scaled_matrix(stop, scale)
        axes = principal_axes(
            scaled(A, scale),
            rank,
            solver=solver,
            reason=reason,
            stop=stop,
            tol=tol,
            n_oversamples=n_oversamples,
            n_power=n_power,
            rng=rng,
        )
        left_out = None if axes.left_out is None else axes.left_out / scale
        return replace(axes, s=axes.s / scale, norm=axes.norm / scale, left_out=left_out)
    if rank == 0:
        report = Report(solver, "no component was asked for", passes=1)
        found = SVD(np.empty((0, 0)), np.empty(0), np.empty((0, A.shape[1])), report)
    elif total == 0.0:
        found = zero_svd(A, 0 if stop is not None else rank)
    elif G is not None:
        found = _by_gram(A, G, rank, rng)
    elif solver == "arpack":
        found = lanczos(A, rank or min(A.shape) - 1, tol=tol, rng=rng)
    else:
        stop = None if stop is None else absolute(stop, A, rng)
        found = DECOMPOSITIONS[solver](
            A,
            None if solver == "exact" else rank,
            stop=stop,
            n_oversamples=n_oversamples,
            n_power=n_power,
            rng=rng,
        )
        if solver != "exact" and not (solver == "block-krylov" and tall):
            found = _aligned(A, found)
    details = found.report
    report = replace(details, reason=f"{reason}; {details.reason}", seconds=watch | details.seconds)
    found = sign_fixed(found.U[:0], found.s, found.Vt, report)
    axes = Axes(found.s, found.Vt, float(np.sqrt(total)), report)
    if solver == "exact" and found.rank == min(A.shape):
        axes = replace(axes, left_out=0.0).keep(found.rank if rank is None else rank)
    return axes


def likely_rank(variance: Array, n: int) -> int:
    """The number of components of the largest evidence [Minka00] among 1 … p - 1.

    Variances below 1e-15 of the largest cannot be components (below 1e-15, in scikit-learn).
    """
    p, tiny = len(variance), 1e-15
    spectrum = variance.astype(np.float64)
    spectrum /= max(float(spectrum.max(initial=0.0)), np.finfo(np.float64).tiny)
    evidence = np.full(p, -np.inf)
    index = np.arange(p)
    for k in range(1, p):
        if spectrum[k - 1] < tiny:
            break
        noise = max(tiny, spectrum[k:].mean())
        flattened = np.where(index < k, spectrum, noise)
        i, j = np.nonzero(index[:k, None] < index)
        gaps = (spectrum[i] - spectrum[j]) * (1.0 / flattened[j] - 1.0 / flattened[i])
        if not np.all(gaps > 0.0):  # equal variances cannot be told apart, let alone cut between
            continue
        free = p * k - k * (k + 1) / 2.0
        halves = (p - index[:k]) / 2.0
        curvature = np.log(gaps).sum() + len(gaps) * np.log(n)
        evidence[k] = (
            (scipy.special.gammaln(halves) - np.log(np.pi) * halves).sum()
            - k * np.log(2.0)
            - 0.5 * n * (np.log(spectrum[:k]).sum() + (p - k) * np.log(noise))
            + 0.5 * (free + k) * np.log(2.0 * np.pi)
            - 0.5 * curvature
            - 0.5 * k * np.log(n)
        )
    return max(int(np.argmax(evidence)), 1)


def _in_range(total: float, dtype: np.dtype[np.floating]) -> bool:
    """Whether sums of squares of this size neither overflow nor vanish."""
    limit = 1e18 if dtype == np.float32 else 1e200
    return 1.0 / limit < total < limit


def gram_axes(
    G: Array, rank: int | None, rng: np.random.Generator, *, single: bool = False
) -> Axes:
    """The axes of any A with AᵀA = G, whose entries may be good to single precision only."""
    found = _eigen(G, rank, rng)
    report = found.report
    if single:
        notes = unresolved_notes(found.s, SINGLE_RESOLUTION)
        how = f"products in single precision, added up in double every {SINGLE_ROWS} rows"
        report = replace(report, notes=(how, *notes))
    return Axes(found.s, found.Vt, float(np.sqrt(np.trace(G))), report)


def leading_axes(G: Array, rank: int | None, rng: np.random.Generator) -> tuple[Array, Array, str]:
    """The largest eigenvalues of a positive semidefinite G, falling, their vectors, and how.

    For few vectors of a large G a block Krylov space is grown until the residuals are at the
    rounding of G itself, n·eps·‖G‖, as LAPACK's are.  Where a flat spectrum would keep it from
    that within n/4 columns, LAPACK does it.
    """
    n = len(G)
    k = n if rank is None else rank
    if n > LAPACK_SIDE and 16 * k < n:
        width = max(20, 2 * k // 5)
        start = moved_to(rng.standard_normal((width, n)).T, home(G))
        progress = _Progress(n * float(np.finfo(np.float64).eps), n // (4 * width))
        space = krylov_space(NormalProduct(G, G), start, k, progress.most, progress)
        if space.settled and not progress.hopeless and space.ritz.shape[1] == k:
            V: Array = space.basis @ space.ritz
            values: Array = np.einsum("ij,ij->j", V, times(G, V))
            return values.clip(min=0.0), V, f"{space.steps} Krylov steps"
    values, V = leading_eigen(G, k)
    return values[:k].clip(min=0.0), V[:, :k], "LAPACK" if home(G) is None else "its library"


class _Progress:
    """Ends a Krylov space when residuals are rounding, or when they will not be in time."""

    def __init__(self, rounding: float, most: int) -> None:
        self.rounding, self.most, self.hopeless = rounding, most, False
        self._residuals: list[float] = []

    def __call__(self, values: Array, residuals: Array) -> bool:
        worst = float(residuals.max()) / max(float(values[-1]), np.finfo(np.float64).tiny)
        self._residuals.append(worst)
        if worst <= self.rounding:
            return True
        if len(self._residuals) < 3:
            return False
        # Convergence gets faster with the steps, but seldom twice as fast as in the last two.
        gain = np.log(self._residuals[-3] / worst) / 2.0
        left = self.most - len(self._residuals)
        self.hopeless = bool(np.log(worst / self.rounding) > 2.0 * left * gain)
        return self.hopeless


def blurred(axes: Axes, limit: float = BLURRED) -> bool:
    """Whether the last axis has too few digits, coming from a Gram matrix."""
    return len(axes.s) > 0 and bool(axes.s[-1] <= limit * axes.s[0])


def _eigen(G: Array, rank: int | None, rng: np.random.Generator) -> SVD:
    watch = Stopwatch()
    with watch("eigen"):
        values, V, how = leading_axes(G, rank, rng)
    s = np.sqrt(values)
    reason = f"eigenvectors of {len(G)}² products by {how}"
    report = Report("gram", reason, 1, seconds=dict(watch), notes=unresolved_notes(s))
    return sign_fixed(V[:0], s, V.T, report)


def _by_gram(A: Matrix, G: Array, rank: int | None, rng: np.random.Generator) -> SVD:
    """From G = AᵀA, or from G = AAᵀ and one more product if A is wide."""
    found = _eigen(G, rank, rng)
    if A.shape[0] >= A.shape[1]:
        return found
    watch = Stopwatch()
    with watch("vectors"):
        V = left_vectors(A.T, found.Vt.T)
    report = replace(found.report, passes=2, seconds=found.report.seconds | watch)
    return SVD(V[:0], found.s, V.T, report)


def _aligned(A: Matrix, found: SVD) -> SVD:
    """The span of the right vectors, turned so that the columns of A·Vtᵀ are orthogonal."""
    if not found.rank:
        return found
    watch = Stopwatch()
    with watch("align"):
        W = times(A, f_ordered(found.Vt.T))
        R = triangle_of(W)[: W.shape[1]]
        _, s, Zt = svd(R)
    passes = None if found.report.passes is None else found.report.passes + 1
    report = replace(found.report, passes=passes, seconds=found.report.seconds | watch)
    return SVD(W[:0], s, Zt @ found.Vt, report)
