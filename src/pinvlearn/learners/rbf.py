"""Radial basis function networks: [JL19] Eq. (4) to (7) with radial kernels."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from pinvlearn._core.arrays import Matrix
from pinvlearn._validation import check_choice, generator
from pinvlearn.features import FeatureMap
from pinvlearn.features.radial import RadialBasis
from pinvlearn.learners._base import (
    ReadoutClassifier,
    ReadoutRegressor,
)
from pinvlearn.learners._docs import LINKS, MIXING, documented
from pinvlearn.learners._maps import (
    beside_line,
    cluster_means,
    draw_radial,
    gets_line,
    given_centers,
    with_links,
)
from pinvlearn.learners._sizing import RANK, SelfSizing, size_of
from pinvlearn.learners._targets import DECODINGS
from pinvlearn.learners._widths import SeveralWidths, in_part


class _RBFNetwork(SeveralWidths, SelfSizing):
    _size_name = "n_kernels"
    _links_by_rows = False
    """Whether direct_links="auto" puts a line beside the bumps of few rows."""
    _means_of_rows = False
    """Whether centres that seem to be given were made of the rows once for all widths."""

    _parameter_docs = {
        "n_kernels": """
    n_kernels : int or "loo", default=1000
        Number of centres; with fewer rows every row is a centre, and `report_` says so.  "loo"
        judges the first 1, 2, … of `max_kernels` centres by exact leave-one-out, all from one
        decomposition for each of `alpha` (where that is "auto", three ridges about the best for
        all centres), and fits the best number; centres by "rpcholesky" come in a good order.""",
        "max_kernels": """
    max_kernels : int, default=1000
        Bound on the number of centres for ``n_kernels="loo"``.""",
        "rank": RANK,
        "gamma": """
    gamma : "scale", float, list or "auto", default="scale"
        Width of the kernel.  "scale" is 1 / (n_features·X.var()).  Of a list, or for "auto" seven
        widths from 0.1 to 4 times the median distance of rows, leave-one-out chooses one, together
        with `alpha`; from 700 rows on seven cost half to three quarters of seven fits.""",
        "centers": """
    centers : {"random", "kmeans", "leverage", "rpcholesky"} or array of shape \
            (n_kernels, n_features), default="random"
        A random subset of the training rows, k-means centres, or given ones.  "leverage" draws
        rows in proportion to approximate ridge leverage scores of the kernel matrix, for n·1024²
        flops; "rpcholesky" takes the pivots of a randomly pivoted Cholesky factorisation of it,
        for n·n_kernels² flops and n·n_kernels memory.""",
        "kernel": """
    kernel : {"rbf", "laplacian", "exponential"}, list of them or "auto", default="rbf"
        exp(-gamma·‖x - c‖₂²), exp(-gamma·‖x - c‖₁) or exp(-gamma·‖x - c‖₂); of several, "auto"
        being all three, leave-one-out chooses one.""",
    }

    def _draw_map(
        self, X: Matrix, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureMap, list[str]]:
        size = size_of("n_kernels", self.n_kernels, self.max_kernels)
        radial, notes = draw_radial(
            X,
            n_kernels=size,
            gamma=self.gamma,
            centers=self.centers,
            kernel=self.kernel,
            rng=rng,
        )
        if isinstance(self.n_kernels, str):  # given centres may be more
            radial = radial.first(size)
        if not (isinstance(self.direct_links, str) and self._links_by_rows):
            return with_links(radial, X, self.direct_links), notes
        check_choice("direct_links", self.direct_links, ("auto",), "True or False")
        if not (self._leaves_it_open and gets_line(X, self.alpha)):
            return radial, notes
        linked, more = beside_line(radial, X)
        return linked, [*notes, *more]

    @property
    def _leaves_it_open(self) -> bool:
        """Whether no solver or rank was asked for, and the map keeps something of its rows.

        A line takes its units from rows, which given centres and widths could do without.
        """
        solver = isinstance(self.solver, str) and self.solver == "auto"
        return solver and self.rank is None and self._map_memory is not None

    def _for_all_widths(self, X: Matrix) -> Any:
        if isinstance(self.centers, str) and self.centers != "kmeans":
            return self
        learner = copy(self)
        if not isinstance(self.centers, str):
            return learner.set_params(centers=given_centers(self.centers, X))
        map_stream = generator(self.random_state).spawn(2)[0]
        size = size_of("n_kernels", self.n_kernels, self.max_kernels)
        learner.set_params(centers=cluster_means(X, min(size, X.shape[0]), map_stream))
        learner._means_of_rows = True
        return learner

    def _in_part(self) -> Any:
        if not isinstance(self.centers, str):
            count = self.centers.shape[0]
            some = np.linspace(0, count - 1, in_part(count)).astype(np.intp)
            self.set_params(centers=self.centers[some])
        name = "max_kernels" if isinstance(self.n_kernels, str) else "n_kernels"
        return self.set_params(**{name: in_part(getattr(self, name))})

    @property
    def _map_memory(self) -> str | None:
        if isinstance(self.centers, str) or self._means_of_rows:
            return "its centres were drawn from training rows"
        given = not isinstance(self.gamma, str)
        return None if given else "its width was taken from training rows"

    @property
    def centers_(self) -> Matrix:
        """Centres of the kernels."""
        radial: RadialBasis = getattr(self.map_, "hidden", self.map_)
        return radial.centers

    @property
    def n_kernels_(self) -> int:
        """Number of kernels."""
        return int(self.centers_.shape[0])


@documented
class RBFNetworkClassifier(ReadoutClassifier, _RBFNetwork):
    """Radial basis function network for classification, trained by one solve.

    Minimises Σ_i w_i ‖Σ_j b_j g(x_i, c_j) + b_0 - y_i‖² + alpha·‖b‖² over the output weights b,
    where the centres c_j are training rows (or cluster means, or given), y_i is ±1 for each class
    and the intercept b_0 is free.

    Cost for m rows and p kernels: mp² + p³/3 flops for one alpha and as many again as mp² for its
    exact leave-one-out, and memory for one p × p array and tiles of rows: 8,000 kernels need
    0.6 GB however many rows there are, 0.7 GB with leave-one-out.  Choosing among 31 alphas costs
    one eigendecomposition, 9p³ flops, and five such arrays.  The kernel matrix is never stored
    unless the solver needs all rows ("exact", "adaptive", "adaptive-flat", "qr", "randomized").

    Parameters
    ----------
    {tail}

    {attributes}
    {choices}
    centers_ : array of shape (n_kernels, n_features)
    n_kernels_ : int
        Number of kernels.

    References
    ----------
    [JL19] N. Jankowski, R. Linowiecki (2019). A fast neural network learning algorithm with
    approximate singular value decomposition. Int. J. Appl. Math. Comput. Sci. 29(3).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pinvlearn import RBFNetworkClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RBFNetworkClassifier(n_kernels=50, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_docs = {**_RBFNetwork._parameter_docs, "decoding": MIXING}
    _decodings = (*DECODINGS, "inputs")

    @property
    def _mixes_inputs(self) -> bool:
        """Where neither a solver nor a rank was asked for, which a regression would ignore."""
        return isinstance(self.solver, str) and self.solver == "auto" and self.rank is None

    def __init__(
        self,
        n_kernels: Any = 1000,
        *,
        max_kernels: int = 1000,
        gamma: Any = "scale",
        centers: Any = "random",
        kernel: str = "rbf",
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        direct_links: bool = False,
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        decoding: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_kernels = n_kernels
        self.max_kernels = max_kernels
        self.gamma = gamma
        self.centers = centers
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.direct_links = direct_links
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.decoding = decoding
        self.n_jobs = n_jobs
        self.random_state = random_state


@documented
class RBFNetworkRegressor(ReadoutRegressor, _RBFNetwork):
    """Radial basis function network for regression, trained by one solve.

    Minimises Σ_i w_i ‖Σ_j b_j g(x_i, c_j) + b_0 - y_i‖² + alpha·‖b‖² over the output weights b;
    see `RBFNetworkClassifier` for the cost.

    Parameters
    ----------
    {tail}

    {attributes}
    {choices}
    centers_ : array of shape (n_kernels, n_features)
    n_kernels_ : int
        Number of kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import RBFNetworkRegressor
    >>> X = np.linspace(0.0, 6.0, 200)[:, None]
    >>> model = RBFNetworkRegressor(n_kernels=40, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.999)
    True
    >>> lower, upper = model.predict_interval(X, coverage=0.9)
    """

    _parameter_docs = {**_RBFNetwork._parameter_docs, "direct_links": LINKS}
    _links_by_rows = True

    def __init__(
        self,
        n_kernels: Any = 1000,
        *,
        max_kernels: int = 1000,
        gamma: Any = "scale",
        centers: Any = "random",
        kernel: str = "rbf",
        alpha: Any = "auto",
        solver: Any = "auto",
        rank: Any = None,
        direct_links: Any = "auto",
        loo_scoring: Any = "mse",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_kernels = n_kernels
        self.max_kernels = max_kernels
        self.gamma = gamma
        self.centers = centers
        self.kernel = kernel
        self.alpha = alpha
        self.solver = solver
        self.rank = rank
        self.direct_links = direct_links
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state
