"""Kernel extreme learning machines, exact and by low-rank approximation [MW15]."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import Tags

from pinvlearn._core.arrays import Array, IntArray, Matrix, to_dense
from pinvlearn._core.device import is_device, to_host
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_jobs,
    check_kernel_memory,
    check_number,
    check_positive,
    check_rank,
    check_size,
    check_symmetric,
    generator,
)
from pinvlearn.engines.local import BlockRows, rows_in_memory
from pinvlearn.features import FeatureMap
from pinvlearn.features.kernels import (
    KERNELS,
    GivenColumns,
    Kernel,
    KernelColumns,
    KernelMatrix,
    KernelWithLine,
    Whitened,
)
from pinvlearn.features.radial import RADIAL
from pinvlearn.features.random_layer import Inputs
from pinvlearn.learners._base import (
    Fitted,
    ReadoutClassifier,
    ReadoutRegressor,
)
from pinvlearn.learners._docs import KERNEL_LINKS, MIXING, documented
from pinvlearn.learners._maps import LINE, gets_line, kernel_width, kernel_with_line
from pinvlearn.learners._targets import DECODINGS, Targets, coded
from pinvlearn.learners._widths import SeveralWidths, in_part, is_several
from pinvlearn.linalg.kernel import as_kernel_matrix
from pinvlearn.readout.auto import Auto
from pinvlearn.readout.kernel import KernelTask, solve_kernel, solve_single_precision
from pinvlearn.readout.pivots import solve_pivots, solve_randomized
from pinvlearn.readout.scoring import Scoring
from pinvlearn.readout.solve import Readout

SOLVERS = ("auto", "exact", "randomized", "nystroem", "rpcholesky")

EXACT_ROWS = 2000
"""Up to so many rows `auto` solves exactly: an eigendecomposition of K takes about a second."""

FEW = 8
"""Rows by which a function is seen to be a kernel."""

SINGLE, DOUBLE = 4.0, 8.0
"""Bytes of one kernel value."""


class _KernelELM(SeveralWidths):
    """Takes all rows, samples or pivots, and solves on the features they give."""

    _parameter_docs = {
        "kernel": """
    kernel : str, callable or list, default="rbf"
        "rbf", "laplacian", "exponential", "linear", "poly", "sigmoid", "cosine" or "precomputed".
        Of a list, or for "auto" the first three, leave-one-out chooses one together with `gamma`
        and `alpha`.
        A callable takes two sets of rows and returns their kernel values.  With "precomputed", X
        is the kernel matrix of the training rows, later that of new rows against them.""",
        "gamma": """
    gamma : "scale", float, list or "auto", default="scale"
        Width of "rbf" (exp(-gamma·‖x - z‖₂²)), "laplacian" (1-norm) and "exponential" (2-norm, not
        squared), factor of "poly" and "sigmoid".  "scale" is 1 / (n_features·X.var()).  Of a list,
        or for "auto" seven widths from 0.1 to 4 times the median distance of rows, leave-one-out
        chooses one; from 700 rows on seven cost half to three quarters of seven fits.""",
        "degree": """
    degree : float, default=3
        Of "poly".""",
        "coef0": """
    coef0 : float, default=1
        Of "poly" and "sigmoid".""",
        "alpha": """
    alpha : "auto", float or array, default="auto"
        Ridge, 1/C of [MW15].  A number is obeyed; an array is a path from which leave-one-out
        chooses; "auto" is a path of 31 values.""",
        "solver": """
    solver : {"auto", "exact", "randomized", "nystroem", "rpcholesky"}, default="auto"
        - "exact": K + alpha is factored; memory 2n².
        - "randomized": [MW15] Algorithm 3 and Woodbury's formula, Eq. (19); needs all of K.
        - "nystroem": features of uniformly drawn pivots; n·k kernel entries, memory n·k.
        - "rpcholesky": the same with pivots drawn by what is left of the diagonal.
        - "auto": exact up to 2000 rows, else "rpcholesky"; `report_` says which.""",
        "rank": """
    rank : "auto", int or float, default="auto"
        Number of pivots or samples k; a float above 0 to 1 is a share of the rows.  "auto"
        doubles k from 1024 while the curve of generalised cross-validation over k promises that
        the next doubling gains a percent, at most to 4096, half the rows or what `max_work`
        allows; all the ranks tried cost together at most 4/3 of the last.""",
        "max_work": """
    max_work : float, default=5e11
        Flops for ``rank="auto"``, about: counted and not timed, so that a seed gives the same
        machine anywhere.  A core does some 4e10 a second.""",
        "n_oversamples": """
    n_oversamples : int, default=10
        Extra samples of "randomized", the paper's p.""",
        "consistent": """
    consistent : bool, default=True
        For "randomized": predict through the low-rank map φ(x) = k(x, X) U D^(-1/2) that was
        trained.  False is Eq. (20) of the paper, which trains on the approximate kernel and
        predicts with the exact one; it fails for small alpha.""",
        "fit_intercept": """
    fit_intercept : bool, default=True
        The paper's form has none.""",
        "single_precision": """
    single_precision : bool, default=False
        For "exact" and one alpha: factor in float32 and correct in float64.""",
    }

    def _fit_one(self, X: Matrix, y: Any, targets: Targets, score: Scoring | None) -> Fitted:
        check_choice("solver", self.solver, SOLVERS)
        n = X.shape[0]
        rank = self._checked_rank(n)
        solver, reason = self.solver, "chosen by the caller"
        if solver == "auto":
            solver, reason = _choose(n, rank, self.single_precision)
        if self.single_precision and solver != "exact":
            raise ValueError(f'single_precision=True belongs to solver="exact", not "{solver}".')
        K = self._kernel_matrix(X)
        n_jobs, alpha = check_jobs(self.n_jobs), check_alpha(self.alpha)
        if alpha is not None and np.size(alpha) == 1:  # a path of one is no path
            alpha = float(np.ravel(alpha)[0])

        Y, weights = targets.Y, targets.weights

        def rows_of(F: Array) -> BlockRows:
            return rows_in_memory(Inputs(F.shape[1]), F, Y, weights, F.shape[1], n_jobs)

        streams = tuple(generator(self.random_state).spawn(2))
        intercept, work = bool(self.fit_intercept), check_positive("max_work", self.max_work)
        task = KernelTask(K, rows_of, Y, weights, alpha, score, intercept, streams, work)
        pivots, W, readout = self._machine(task, solver, rank)
        report = readout.report
        report = replace(report, method=solver, reason=f"{reason}; {report.reason}")
        drawn = self._columns(K, X, pivots)
        drawn = drawn if W is None else Whitened(drawn, W)
        rows = rows_in_memory(drawn, X, Y, weights, drawn.n_columns, n_jobs)
        notes = [LINE] if isinstance(getattr(K, "kernel", None), KernelWithLine) else []
        return Fitted(drawn, replace(readout, report=report, rows=rows), notes)

    def _in_part(self) -> Any:
        given = isinstance(self.rank, int | np.integer)
        return self.set_params(rank=in_part(self.rank)) if given else self

    def _machine(
        self, task: KernelTask, solver: str, rank: int | None
    ) -> tuple[IntArray, Array | None, Readout]:
        """The rows whose kernel columns are used, what they are multiplied by, and the solution."""
        if solver in ("nystroem", "rpcholesky"):
            _check_function(task.K)
            machine = solve_pivots(task, rank, solver)
            return machine.pivots, machine.W, machine.readout
        every, entry = np.arange(task.n), 1.5 * DOUBLE if solver == "randomized" else 2.0 * DOUBLE
        if self.single_precision:
            _check_for_single_precision(task)
            entry = SINGLE
        check_kernel_memory(task.n, entry, task.Y)
        _check_function(task.K)
        if solver == "randomized":
            oversamples = check_size("n_oversamples", self.n_oversamples)
            solved = solve_randomized(task, rank, oversamples, consistent=self.consistent)
            return every, None, solved
        if self.single_precision:
            return every, None, solve_single_precision(task)
        solved = solve_kernel(
            task.whole(),
            task.Y,
            task.weights,
            intercept=task.intercept,
            alpha=task.alpha,
            score=task.score,
            rounding=task.rounding,
        )
        return every, None, solved

    @property
    def _why_no_ridge(self) -> str | None:
        if isinstance(self.map_, Whitened) and self._intercept:
            return None
        return 'use solver="rpcholesky" or "nystroem", with an intercept.'

    @property
    def _intercept(self) -> bool:
        return bool(self.fit_intercept)

    @property
    def _map_memory(self) -> str | None:
        return "its pivots are training rows"

    def _why_not_updatable(self) -> str | None:
        if is_several(self.kernel) or is_several(self.gamma):
            return super()._why_not_updatable()
        if self.solver in ("nystroem", "rpcholesky") and self.kernel != "precomputed":
            return None
        return (
            f"solver={self.solver!r} with kernel={self.kernel!r} keeps no fixed "
            'features that rows could be added to; use solver="rpcholesky" or "nystroem".'
        )

    def _map_for(self, X: Matrix, y: Any) -> tuple[FeatureMap, list[str]]:
        schema, y = self._read_targets(y, X.shape[1])
        targets = coded(schema, y, None, self._class_weight)
        return self._fit_one(X, y, targets, None).map, []

    def _solver(self) -> Any:
        return Auto()

    def _checked_rank(self, n: int) -> int | None:
        """None for "auto", else a number in 1 … n."""
        if isinstance(self.rank, str):
            check_choice("rank", self.rank, ("auto",), "an integer or a share")
            return None
        if self.solver == "exact":
            raise ValueError(f'solver="exact" takes no rank (rank={self.rank!r}); leave it "auto".')
        if self.rank is None:
            raise ValueError(f'rank=None: give "auto", an integer in 1 … {n} or a share of {n}.')
        return check_rank(self.rank, (n, n))

    def _kernel_matrix(self, X: Matrix) -> Any:
        """The kernel matrix of the training rows, to be asked for blocks."""
        if self.kernel == "precomputed":
            if getattr(self, "direct_links", False) not in ("auto", False):
                raise ValueError(
                    f"direct_links={self.direct_links!r} adds a function of inputs, which "
                    'kernel="precomputed" does not have; use "auto" or False.'
                )
            return as_kernel_matrix(to_dense(check_symmetric(X)))
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, (*KERNELS, "precomputed", "auto"))
        gamma = kernel_width(X, self.gamma)
        degree = check_positive("degree", self.degree)
        coef0 = check_number("coef0", self.coef0)
        kernel = Kernel(self.kernel, gamma, degree, coef0)
        return KernelMatrix(kernel_with_line(kernel, X) if self._linked(X) else kernel, X)

    def _linked(self, X: Matrix) -> bool:
        """Whether the kernel of these rows has a linear part."""
        links = getattr(self, "direct_links", False)
        if not isinstance(links, str):
            return bool(links)
        check_choice("direct_links", links, ("auto",), "True or False")
        radial = isinstance(self.kernel, str) and self.kernel in RADIAL
        asked = self.solver != "auto" or self.rank != "auto" or not self._intercept
        return radial and not asked and gets_line(X, self.alpha)

    def _columns(self, K: Any, X: Matrix, rows: Any) -> FeatureMap:
        """The map onto the kernel columns of some training rows."""
        if self.kernel == "precomputed":
            return GivenColumns(rows)
        return KernelColumns(K.kernel, X[rows])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        one = isinstance(self.kernel, str)
        tags.input_tags.pairwise = one and self.kernel == "precomputed"
        tags.input_tags.sparse = not tags.input_tags.pairwise and not callable(self.kernel)
        return tags


def _check_function(K: Any) -> None:
    """Refuse a function that is no kernel of two rows: half of its matrix would be ignored."""
    if not isinstance(K, KernelMatrix) or isinstance(K.kernel.function, str):
        return
    few = np.arange(min(FEW, K.shape[0]))
    every, alone = to_host(K(few, few)), to_host(K(few[:1], few))
    size = float(np.abs(every).max())
    apart, moved = float(np.abs(every - every.T).max()), float(np.abs(every[:1] - alone).max())
    if max(apart, moved) > 1e-4 * size:
        what = "k(x, z) and k(z, x)" if apart > 1e-4 * size else "values for a row alone and others"
        raise ValueError(
            f"kernel={K.kernel.function!r}: {what} differ by up to {max(apart, moved):.3g}. Give a "
            "symmetric function of pairs of rows."
        )


def _check_for_single_precision(task: KernelTask) -> None:
    if is_device(task.Y):
        raise ValueError("single_precision=True is for arrays of NumPy; leave it False elsewhere.")
    if not isinstance(task.alpha, float) or task.score is not None or task.weights is not None:
        raise ValueError(
            "single_precision=True solves for one alpha, without weights or leave-one-out: give "
            "alpha as a number and loo_scoring=None."
        )


def _choose(n: int, rank: int | None, single_precision: bool) -> tuple[str, str]:
    if rank is not None:
        return "rpcholesky", "a rank was given"
    if single_precision:
        return "exact", "single precision was asked for"
    if n <= EXACT_ROWS:
        return "exact", f"{n} rows are few enough to solve exactly"
    return "rpcholesky", f"{n} rows: n·k kernel entries instead of n²"


@documented
class KernelELMClassifier(ReadoutClassifier, _KernelELM):
    """Kernel extreme learning machine for classification, exact or low-rank.

    Minimises Σ_i w_i ‖f(x_i) + b - y_i‖² + alpha·‖f‖² over functions f of the kernel's space and
    ±1 targets: f(x) = Σ_j c_j k(x, x_j) with (K + alpha)c = y, [MW15] Eq. (9) and (15).  The
    low-rank forms replace K by k(X, P) k(P, P)⁻¹ k(P, X) and need no n × n array.

    Cost: n³/3 flops exact for one alpha, 9n³ for a path; nk² with k pivots.

    Parameters
    ----------
    {tail}

    {attributes}
    {choices}

    References
    ----------
    [MW15] C. Men, W. Wang (2015). A randomized ELM speedup algorithm. Neurocomputing 159.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import KernelELMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelELMClassifier().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.report_.method
    (True, 'exact')
    """

    _parameter_docs = {**_KernelELM._parameter_docs, "decoding": MIXING}

    @property
    def _decodings(self) -> tuple[str, ...]:  # type: ignore[override]
        """Those of everybody and, where there are inputs, theirs."""
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return DECODINGS if given else (*DECODINGS, "inputs")

    @property
    def _mixes_inputs(self) -> bool:
        """Where there are inputs, and no solver was asked for, which a regression would ignore."""
        return self.solver == "auto" and self._intercept and "inputs" in self._decodings

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        alpha: Any = "auto",
        solver: str = "auto",
        rank: Any = "auto",
        max_work: float = 5e11,
        n_oversamples: int = 10,
        consistent: bool = True,
        fit_intercept: bool = True,
        single_precision: bool = False,
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        decoding: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.max_work = max_work
        self.n_oversamples = n_oversamples
        self.consistent = consistent
        self.fit_intercept = fit_intercept
        self.single_precision = single_precision
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.decoding = decoding
        self.n_jobs = n_jobs
        self.random_state = random_state


@documented
class KernelELMRegressor(ReadoutRegressor, _KernelELM):
    """Kernel extreme learning machine for regression, exact or low-rank.

    Minimises Σ_i w_i ‖f(x_i) + b - y_i‖² + alpha·‖f‖²; see `KernelELMClassifier`.

    Parameters
    ----------
    {tail}

    {attributes}
    {choices}

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import KernelELMRegressor
    >>> X = np.linspace(0.0, 6.0, 200)[:, None]
    >>> model = KernelELMRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    """

    _parameter_docs = {**_KernelELM._parameter_docs, "direct_links": KERNEL_LINKS}

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1,
        alpha: Any = "auto",
        solver: str = "auto",
        rank: Any = "auto",
        max_work: float = 5e11,
        n_oversamples: int = 10,
        consistent: bool = True,
        fit_intercept: bool = True,
        single_precision: bool = False,
        direct_links: Any = "auto",
        loo_scoring: Any = "mse",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.max_work = max_work
        self.n_oversamples = n_oversamples
        self.consistent = consistent
        self.fit_intercept = fit_intercept
        self.single_precision = single_precision
        self.direct_links = direct_links
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
