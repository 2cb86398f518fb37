"""Kernel machines that learn which directions of the input matter, by a handful of solves."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_consistent_length, get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from pinvlearn._core.arrays import Array, IntArray, Matrix, column_spread
from pinvlearn._core.device import as_given, home, moved_to, on_device, to_host
from pinvlearn._core.sparse import check_sparse
from pinvlearn._validation import (
    check_alpha,
    check_choice,
    check_in_memory,
    check_jobs,
    check_kernel_memory,
    check_positive,
    check_rows,
    check_rows_and_targets,
    check_same_home,
    check_size,
    check_solver,
    following,
    generator,
    known_targets,
    on_host,
)
from pinvlearn.engines.local import BlockRows, Reader, fold, rows_in_memory
from pinvlearn.engines.plan import Head, Plan, naming, source_name
from pinvlearn.features.kernels import Whitened
from pinvlearn.features.metric import FORMS, GradientProduct, MetricColumns, MetricMatrix
from pinvlearn.features.radial import RADIAL
from pinvlearn.features.random_layer import Inputs
from pinvlearn.learners._base import Fitted, ReadoutClassifier, ReadoutEstimator, ReadoutRegressor
from pinvlearn.learners._docs import MIXING, documented
from pinvlearn.learners._ledger import Solved, with_classes
from pinvlearn.learners._passes import (
    Each,
    TableCheck,
    check_each_row,
    columns_of_blocks,
    made_ready,
    metric_of_blocks,
    own_copy,
    sample_of_blocks,
)
from pinvlearn.learners._state import forget_fit, unchanged_on_failure
from pinvlearn.learners._targets import DECODINGS, Targets, coded
from pinvlearn.learners.tabular_inputs import TabularInputs
from pinvlearn.linalg.kernel import Pivots
from pinvlearn.readout.budget import COMPARED, Budget, budget_for, metric_rows, rows_kept
from pinvlearn.readout.centers import fewer_rows_do_better
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.crossing import learn
from pinvlearn.readout.kernel import KernelTask, solve_part, with_others
from pinvlearn.readout.losses import CLASSES, LABELS, NUMBERS, Judge
from pinvlearn.readout.machines import Sample
from pinvlearn.readout.pivots import best_ridge, solve_pivots
from pinvlearn.readout.rounds import made
from pinvlearn.readout.scoring import Scoring, squared_error_score
from pinvlearn.readout.solve import Readout
from pinvlearn.readout.solvers import SOLVERS
from pinvlearn.readout.trials import ALPHAS, WIDTHS, Space, search_plain
from pinvlearn.summaries import Gram, Schema, Summary

JUDGES = {"classes": CLASSES, "labels": LABELS, "targets": NUMBERS}

DOUBLE = 8.0
"""Bytes of one kernel value."""

DECODING = (
    MIXING.replace("`coef_`", "`dual_coef_`")
    .replace("`partial_fit`", "`fit_blocks`")
    .replace(' with `solver="auto"`', "")
    .replace(
        "a tenth of the log-loss and one to two points of accuracy", "a twentieth of the log-loss"
    )
)

MORE = """
    metric_ : array of shape (n_columns, n_columns)
        Average gradient outer product of the fitted function along the prepared columns, scaled
        to trace n_columns.
    feature_importances_ : array of shape (n_features,)
        Share of each column of X in the trace of `metric_`; with `inputs` of your own, of each
        column that these make, in their order.
    rounds_ : tuple of Round
        What each round was worth, by rows that made neither its metric nor its machine: the plain
        machine first, `accepted` the one that was taken.
    parts_ : tuple of Part
        The kernels whose mean is used, each with its gamma and the root of its metric.
    n_kernels_ : int
        Number of centres.
    optimism_ : Optimism
        How much worse than leave-one-out said rows fared, in the rounds, that did not make the
        metric: intervals are widened by it, so is the temperature where that surely suits these
        rows, and `corrected_score_` and `corrected_accuracy_` allow for it.
    budget_ : Budget
        How many rows each part of the work took.
    inputs_ : transformer or None
        What made the columns ready."""


class FeatureMachine(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ReadoutEstimator):
    """Prepares columns, chooses kernel and metric by rows left out, and solves with all rows."""

    budget_: Budget

    dual_coef_ = Solved("Weights of the centres.", solved_as="coef_")

    _parameter_docs = {
        "kernel": """
    kernel : {"auto", "laplacian", "exponential", "rbf"}, default="auto"
        exp(-gamma·‖x - z‖₁), exp(-gamma·‖x - z‖₂), exp(-gamma·‖x - z‖₂²), or the best of them.""",
        "gamma": """
    gamma : "auto" or float, default="auto"
        Width of the kernel on the prepared columns; "auto" chooses among seven widths from 0.1 to
        4 times the median distance of rows.""",
        "alpha": """
    alpha : "auto", float or array, default="auto"
        Ridge.  A number is obeyed; an array, or for "auto" 15 values from 1e-6 to 10, is chosen
        from, together with kernel, width and metric.  Where fewer rows are centres than learned
        from, the last fit chooses anew from eight values or more.""",
        "metric": """
    metric : {"auto", "diagonal", "full"}, default="auto"
        Whether a learned metric weights columns, or mixes them as well.""",
        "max_rounds": """
    max_rounds : int, default=10
        Rounds of learning a metric, at most; beyond three there is another only where the last one
        was surely better than the one before.  0 leaves the inputs as they are.""",
        "n_kernels": """
    n_kernels : "auto" or int, default="auto"
        Centres of the last fit: all rows where `max_kernels` and `max_work` allow it.  Where they
        do not, it is either as many rows as can all be centres, with the other rows predicted, or
        fewer centres for more rows, the pivots of a randomly pivoted Cholesky factorisation:
        whichever leave-one-out finds better at a third of both sizes.  A number is that of
        pivots.""",
        "max_kernels": """
    max_kernels : int, default=16000
        Centres at most for "auto".  Memory is 8·n_kernels² bytes, 2 GB for 16,000.  So it is about
        for pivots, once or twice: rows that would need more are predicted.""",
        "max_work": """
    max_work : float, default=3.2e12
        Flops of the whole fit, about: counted and not timed, so that a seed gives the same machine
        anywhere, and by half in single precision.  A core does some 4e10 a second; 12,000 rows
        take half of the default.""",
        "inputs": """
    inputs : "auto", "passthrough" or transformer, default="auto"
        What makes columns ready: `TabularInputs`, nothing, or a transformer of your own, which is
        cloned and fitted to X and y (by `fit_blocks` to the first block); sparse rows of it are
        filled.  One that looks at y has seen the targets of rows that are left out.""",
        "random_state": """
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order in which rows are sampled.""",
    }

    # Rows: made ready by the inputs, whatever kind of table they are.

    def _new_rows(self, X: Any, y: Any) -> tuple[Matrix, Any]:
        self.inputs_ = self._inputs_for_fit()
        if self.inputs_ is None:
            return check_rows_and_targets(self, X, y, dtype=np.float64)
        check_sparse(y, "y")
        X, like = on_host(X)
        y = known_targets(following(y, X))
        y = validate_data(self, X="no_validation", y=y, multi_output=True)
        Z = made_ready(self.inputs_.fit_transform(own_copy(X), y), X)
        check_consistent_length(Z, y)
        check_each_row(self.inputs_, X)
        self._note_columns(X)
        return moved_to(Z, like), y

    def _note_columns(self, X: Any) -> None:
        """Keep number and names of the table's columns; not all transformers know theirs."""
        validate_data(self, X, reset=True, skip_check_array=True)

    @property
    def _row_names(self) -> Any:
        # else names are of the table's columns, not of what they become
        return super()._row_names if self.inputs_ is None else None

    def _later_rows(self, X: Any) -> Matrix:
        check_is_fitted(self)
        if self.inputs_ is None:
            return check_rows(self, X, reset=False, dtype=np.float64)
        X, like = on_host(X)  # where columns are made ready
        if isinstance(self.inputs_, TabularInputs):
            return moved_to(self.inputs_.prepared(X, self), like)
        return moved_to(made_ready(self.inputs_.transform(own_copy(X)), X), like)

    def _inputs_for_fit(self) -> Any:
        if isinstance(self.inputs, str):
            check_choice("inputs", self.inputs, ("auto", "passthrough"), "a transformer")
            return TabularInputs() if self.inputs == "auto" else None
        if not hasattr(self.inputs, "fit") or not hasattr(self.inputs, "transform"):
            raise TypeError(
                f'inputs={self.inputs!r} is no transformer; give "auto", "passthrough" or an '
                "object with fit and transform."
            )
        return clone(self.inputs)

    # Learning: the order of rows, the search, the rounds, and the last fit.

    def _fit_readout(self, X: Matrix, y: Any, targets: Targets, score: Scoring | None) -> Fitted:
        order_stream, *streams = generator(self.random_state).spawn(3)
        Y, weights, task = targets.Y, targets.weights, targets.schema.task
        order = _order_of(len(Y), weights, order_stream)
        sample, unit = _sample_of(X, Y, weights, order, task == "targets")
        budget = self._budget(len(sample), X.shape[1], Y.shape[1])
        space = self._space(task, unit)
        alpha, columns = self._learn(sample, space, budget)
        if columns is not None:
            X, sample = X[:, columns], sample.of_columns(columns)
        ridges = space.ridges_near(alpha)
        comparable = min(budget.alone, budget.centers) >= COMPARED
        if comparable and self._is_better_alone(sample, alpha, ridges, space.judge, streams):
            budget = replace(self.budget_, centers=budget.alone, rows=budget.alone)
            self.budget_ = budget
        every = MetricMatrix(MetricColumns.around(self.parts_, X))
        anew = budget.centers < budget.rows and score is not None
        ridge = ridges if anew else alpha
        problem = self._task(every, Y, weights, ridge * unit, score, streams)
        around, W, readout = self._solved(problem, order)
        coef = readout.coef if W is None else W @ readout.coef
        few = sample.part(0, budget.gradients)
        metric = GradientProduct.of(around, coef, few.Z, few.w).metric
        self.metric_ = as_given(moved_to(metric, X))
        drawn = around if W is None else Whitened(around, W)
        rows = rows_in_memory(drawn, X, Y, weights, drawn.n_columns, check_jobs(self.n_jobs))
        return Fitted(drawn, replace(readout, rows=rows), self._notes(len(X)))

    def _learn(self, sample: Sample, space: Space, budget: Budget) -> tuple[float, IntArray | None]:
        """Choose columns, kernel and metric by a sample of the rows.

        Gives the ridge for weights of mean 1, and the columns where these are not all.
        """
        if not budget.full:
            space = replace(space, forms=tuple(form for form in space.forms if form != "full"))
        looks = self._looks()
        plain = search_plain(sample, space, budget.search, looks)
        columns = looks[plain.look]
        if columns is not None:
            self.inputs_, sample = self.inputs_.without_ranks(), sample.of_columns(columns)
        learned = learn(sample, plain.settings, space, budget.half, budget.gradients)
        steps = sum(len(branch.steps) for branch in learned.recipe.branches)
        n, d, t = len(sample), sample.Z.shape[1], sample.Y.shape[1]
        rows = metric_rows(max(steps, 1), n, d, t, budget.gradients, float(self.max_work))
        budget = replace(budget, metric=rows)
        self.parts_ = made(learned.recipe, sample.part(0, rows), space, budget.gradients)
        self.rounds_, self.optimism_, self.budget_ = learned.rounds, learned.optimism, budget
        return learned.recipe.alpha, columns

    def _looks(self) -> list[IntArray | None]:
        """Columns that kernels may see: all and, of inputs that nobody chose, all but the ranks."""
        if not isinstance(self.inputs, str) or self.inputs_ is None:
            return [None]
        ranks = np.array(self.inputs_.columns_.ranks)
        return [None, np.flatnonzero(~ranks)] if ranks.any() else [None]

    def _notes(self, n: int) -> list[str]:
        """What a user should know of the inputs, and how many rows each part of n had."""
        notes = list(getattr(self.inputs_, "notes_", ()))
        if isinstance(self.inputs, str) and getattr(self.inputs_, "copies", "both") != "both":
            notes.append("columns are scaled alone: with their ranks, rows left out fared worse")
        return [*notes, _sizes_in_words(self.budget_, n)]

    def _task(
        self,
        matrix: MetricMatrix,
        Y: Array,
        weights: Array | None,
        alpha: Alpha,
        score: Scoring | None,
        streams: list[np.random.Generator],
    ) -> KernelTask:
        n_jobs = check_jobs(self.n_jobs)

        def rows_of(F: Array) -> BlockRows:
            return rows_in_memory(Inputs(F.shape[1]), F, Y, weights, F.shape[1], n_jobs)

        solved = (Y, weights, alpha, score, True, tuple(streams))
        return KernelTask(matrix, rows_of, *solved, mixed=True, centers_go=True)

    def _is_better_alone(
        self,
        sample: Sample,
        alpha: float,
        ridges: float | Array,
        judge: Judge,
        streams: list[np.random.Generator],
    ) -> bool:
        """Whether fewer rows do better than fewer centres, as a part of both tells."""
        part = sample.part(0, self.budget_.rows // COMPARED)
        matrix = MetricMatrix(MetricColumns.around(self.parts_, part.Z))
        task = self._task(matrix, part.Y, part.w, alpha, Scoring(squared_error_score), streams)
        rows, centers = self.budget_.alone // COMPARED, self.budget_.centers // COMPARED
        return fewer_rows_do_better(task, rows, centers, ridges, judge)

    def _solved(
        self, task: KernelTask, order: IntArray
    ) -> tuple[MetricColumns, Array | None, Readout]:
        """The kernel columns used, what they are multiplied by, and the solution on them."""
        budget = self.budget_
        if budget.centers < budget.rows == len(order):
            machine = solve_pivots(task, budget.centers, "rpcholesky")
            return task.K.around(machine.pivots), machine.W, machine.readout
        if budget.centers < budget.rows:
            return self._solved_by_some(task, np.sort(order[: budget.rows]))
        check_kernel_memory(budget.rows, DOUBLE, task.Y)
        inside = np.sort(order[: budget.rows])
        columns = task.K.around(inside)
        K = replace(task, K=MetricMatrix(columns), Y=task.Y[inside]).whole()
        return columns, None, solve_part(K, lambda rows: task.K(rows, inside), inside, task)

    def _solved_by_some(
        self, task: KernelTask, inside: IntArray
    ) -> tuple[MetricColumns, Array, Readout]:
        """The same with pivots of some of the rows; the others are predicted."""
        w: Array = np.zeros(task.n, like=home(task.Y))
        w[inside] = 1.0 if task.weights is None else task.weights[inside]
        own, streams = MetricMatrix(task.K.around(inside)), list(task.streams)
        part = self._task(own, task.Y[inside], w[inside], task.alpha, task.score, streams)
        machine = solve_pivots(part, self.budget_.centers, "rpcholesky")
        columns = own.around(machine.pivots)
        coef = machine.W @ machine.readout.coef
        across = partial(task.K, columns=inside[machine.pivots])
        found = with_others(machine.readout, coef, across, inside, task.Y, w)
        return columns, machine.W, found

    def _space(self, task: str, unit: float) -> Space:
        """What may be chosen, by the parameters; ridges are relative to the mean weight."""
        kernels: tuple[str, ...] = Space().kernels
        if self.kernel != "auto":
            kernels = (check_choice("kernel", self.kernel, ("auto", *RADIAL)),)
        gamma = None
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("auto",), "a number above 0")
        else:
            gamma = check_positive("gamma", self.gamma)
        alpha = check_alpha(self.alpha)
        ridges = ALPHAS if alpha is None else tuple(np.sort(np.atleast_1d(alpha) / unit).tolist())
        check_choice("metric", self.metric, ("auto", *FORMS))
        return Space(
            kernels=kernels,
            widths=WIDTHS if gamma is None else (1.0,),
            gamma=gamma,
            alphas=ridges,
            forms=FORMS if self.metric == "auto" else (self.metric,),
            max_rounds=_check_rounds(self.max_rounds),
            judge=JUDGES[task],
            decoded=task == "classes" and self._decodes,
        )

    @property
    def _decodes(self) -> bool:
        """Whether outputs of classes are decoded where that predicts rows better."""
        return self.loo_scoring is not None and getattr(self, "decoding", "argmax") != "argmax"

    def _budget(self, n: int, d: int, t: int, *, kept: bool = True) -> Budget:
        most = check_size("max_kernels", self.max_kernels)
        budget = budget_for(
            n,
            d,
            t,
            max_work=check_positive("max_work", self.max_work),
            max_centers=most,
            kept=kept,
        )
        if isinstance(self.n_kernels, str):
            if self.n_kernels != "auto":
                raise ValueError(
                    f'n_kernels={self.n_kernels!r}: give an integer of at least 1, or "auto".'
                )
            return budget
        centers = min(check_size("n_kernels", self.n_kernels), n)
        rows = rows_kept(n, centers, most) if kept and centers < n else n
        return replace(budget, centers=centers, rows=rows, alone=0)

    def _solution_of(
        self, readout: Readout, schema: Schema, notes: tuple[str, ...]
    ) -> dict[str, Any]:
        found = super()._solution_of(readout, schema, notes)
        optimism = self.optimism_
        if self.loo_scoring in ("log_loss", "mse") and "corrected_score_" in found:
            score = found["corrected_score_"]  # minus a loss
            most = -optimism.most if self.loo_scoring == "log_loss" else -np.inf
            found["corrected_score_"] = max(score * optimism.loss, min(score, most))
        elif self.loo_scoring in ("accuracy", "balanced_accuracy") and "corrected_score_" in found:
            found["corrected_score_"] -= optimism.wrong
        if "corrected_accuracy_" in found:
            found["corrected_accuracy_"] -= optimism.wrong
        return found

    @property
    def _why_no_ridge(self) -> str | None:
        return "the metric of a feature machine has seen all rows, those left out too."

    @property
    def _why_blocks_leave_none_out(self) -> str | None:
        return (
            "the rows that chose kernel and metric are among those that would be left out. Use fit "
            "on as many rows as memory holds or, of a classifier, scikit-learn's "
            "CalibratedClassifierCV(FrozenEstimator(model)), fitted to other rows."
        )

    def _why_not_updatable(self) -> str | None:
        return (
            "a feature machine chooses its kernel and metric by all of its rows, so that rows "
            "cannot be added to it; use RBFNetworkClassifier or RBFNetworkRegressor on what its "
            "transform gives."
        )

    # Blocks: a pass for the columns, one for a sample, one for sums, one for gradients.

    def fit_blocks(
        self,
        blocks: Iterable[Any],
        *,
        classes: Any = None,
        source: str | None = None,
        quiet: bool = False,
    ) -> Any:
        """Fit to rows that come in blocks and need not fit into memory.

        The blocks are read four times: for the columns (a mergeable sketch of each), for a sample
        of rows that chooses kernel, metric and centres, for sums over the centres' columns, from
        which the weights of all rows follow, and for the gradients of all rows.  The result's bits
        depend on the blocks, not on the number of threads or workers.  Without leave-one-out there
        are no probabilities and no intervals.

        Parameters
        ----------
        blocks : sequence or iterable of (X, y) or (X, y, sample_weight)
            What can be read again and again: a list, or a source such as `ParquetBlocks`.
        classes : array, optional
            All classes, also those that no block may hold.
        source : str, optional
            Name under which the blocks are counted.  Left out, it is a digest of the first rows.
        quiet : bool, default=False
            Show no progress; without a terminal there is none anyway.

        Returns
        -------
        self
            Unchanged if it fails.
        """
        n_jobs = check_jobs(self.n_jobs)
        with unchanged_on_failure(self):
            reader = Reader(blocks)
            head = reader.head()
            each = partial(reader.each, n_jobs=n_jobs)
            plan = self._plan_from_blocks(head, each)
            name = source_name(head) if source is None else source
            total = fold(plan, reader, name, n_jobs=n_jobs, quiet=quiet)
            total = with_classes(total, classes)
            self._begin(plan, total)
            self._solution(reader.rows(plan, total.schema, n_jobs))
            self._after_blocks(plan, each)
        return self

    def _check_device(self, device: str | None) -> None:
        if device is not None:
            raise TypeError(
                f"the blocks of {type(self).__name__} are worked on on the host: leave "
                f"device={device!r} out, or fit to an array that lives there."
            )

    def _plan_from_blocks(self, head: Head, each: Each) -> Plan:
        class_weight = self._weights_of_classes("which blocks do not know")
        forget_fit(self)
        self.inputs_ = inputs = self._inputs_for_fit()
        counts = columns_of_blocks(inputs, head, each)
        with naming(head.where):
            Z, y = self._head_rows(head)
            schema, y = self._read_targets(y, Z.shape[1])
        check = TableCheck(inputs)
        plan = Plan(Inputs(Z.shape[1]), schema, Gram, check, class_weight, type(self).__name__)
        seed_stream, order_stream, pivot_stream = generator(self.random_state).spawn(3)
        t = schema.n_targets if schema.task == "targets" else len(np.unique(y))
        budget = self._budget(counts.weighted, Z.shape[1], max(t, 1), kept=False)
        count = max(budget.search, 2 * budget.half, budget.metric, budget.centers)
        seed = int(seed_stream.integers(2**62))
        count = min(count, int(self.max_kernels))
        X, y, weights = sample_of_blocks(plan, each, count, counts, seed)
        targets = coded(schema, y, weights, class_weight)
        order = _order_of(len(X), targets.weights, order_stream)
        numbers = schema.task == "targets"
        sample, unit = _sample_of(X, targets.Y, targets.weights, order, numbers)
        space = replace(self._space(schema.task, unit), decoded=False)  # nothing is left out
        ridge, columns = self._learn(sample, space, budget)
        if columns is not None:
            sample = sample.of_columns(columns)
            schema = replace(schema, n_features=len(columns))
            plan = replace(plan, check=TableCheck(self.inputs_))
        matrix = MetricMatrix(MetricColumns.around(self.parts_, sample.Z))
        pivots = Pivots(matrix, pivot_stream, uniform=False)
        pivots.grow(min(budget.centers, len(sample)))
        chosen = np.array(pivots.pivots, dtype=np.intp)
        drawn = Whitened(matrix.around(chosen), pivots.whitening())
        ridges = space.ridges_near(ridge)
        if isinstance(ridges, np.ndarray) and len(chosen) < len(sample):
            judged, streams = Scoring(squared_error_score), [pivot_stream] * 2
            task = self._task(matrix, sample.Y, sample.w, ridges, judged, streams)
            ridge = best_ridge(task, pivots)
        self.sums_alpha_ = ridge * unit
        return replace(
            plan,
            map=drawn,
            schema=schema.of_map(drawn),
            notes=tuple(self._notes(counts.rows)),
            learned={name: value for name, value in vars(self).items() if name.endswith("_")},
        )

    def _head_rows(self, head: Head) -> tuple[Matrix, Any]:
        """The head of the data made ready, its columns noted as those of the model."""
        check_in_memory(head.X)
        if self.inputs_ is None:
            return check_rows_and_targets(self, head.X, head.y, dtype=np.float64)
        self._note_columns(head.X)
        return made_ready(self.inputs_.transform(own_copy(head.X)), head.X), np.asarray(head.y)

    def _after_blocks(self, plan: Plan, each: Each) -> None:
        columns, coef = self.map_.folded(np.atleast_2d(self.dual_coef_).T)
        schema = self._ledger.schema
        self.metric_ = metric_of_blocks(replace(plan, schema=schema), columns, coef, each)

    def _score_of_blocks(self, summary: Summary) -> Scoring | None:
        """None: the sample that chose kernel and metric is among the rows that are left out."""
        return None

    def _solver(self) -> Any:
        return check_solver("auto", SOLVERS)

    def _alpha_of_sums(self) -> float:
        return float(self.sums_alpha_)

    # What was learned.

    def transform(self, X: Any) -> Array:
        """The learned coordinates: prepared columns multiplied by the root of each metric.

        Parameters
        ----------
        X : data frame, or array of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        array of shape (n_samples, n_coordinates)
            Distances along them are those that the kernels see.
        """
        Z = self._later_rows(X)
        check_same_home(self, Z, on_device(self.metric_), "transform")
        return as_given(np.hstack([part.coordinates(Z) for part in self.parts_]))

    @property
    def coef_(self) -> Array:
        """Absent: selectors of columns would prefer it to `feature_importances_`."""
        raise AttributeError(
            f"{type(self).__name__!r} has weights of centres and none of columns: dual_coef_. "
            "feature_importances_ are of columns."
        )

    @property
    def feature_importances_(self) -> Array:
        """Share of each column of X in the trace of `metric_`, or of those that own inputs make."""
        check_is_fitted(self)
        metric = to_host(on_device(self.metric_))
        shares: Array = np.diagonal(metric) / np.trace(metric)
        sources = getattr(self.inputs_, "sources_", None)
        if sources is None:
            return shares
        importances: Array = np.zeros(self.n_features_in_)
        np.add.at(importances, sources, shares)
        return importances

    @property
    def n_kernels_(self) -> int:
        """Number of centres."""
        return int(getattr(self.map_, "base", self.map_).n_columns)

    @property
    def _n_features_out(self) -> int:
        return len(self.parts_) * len(self.metric_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        if isinstance(self.inputs, str):
            own = get_tags(TabularInputs()).input_tags if self.inputs == "auto" else None
        else:
            own = get_tags(self.inputs).input_tags
        for name in ("allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, bool(own is not None and getattr(own, name)))
        return tags


def _order_of(n: int, weights: Array | None, rng: np.random.Generator) -> IntArray:
    """Rows of positive weight in a random order."""
    return rng.permutation(n if weights is None else to_host(np.flatnonzero(weights > 0.0)))


def _sample_of(
    X: Matrix, Y: Array, weights: Array | None, order: IntArray, numbers: bool
) -> tuple[Sample, float]:
    """The rows in some order, and the mean of their weights.

    Targets that are numbers are scaled to variance 1, so that the errors of several add up.
    """
    w = np.ones(len(order), like=home(Y)) if weights is None else weights[order]
    unit, Y = float(w.mean()), Y[order]
    if numbers:
        deviation = column_spread(Y)
        Y = Y / np.where(deviation > 0.0, deviation, 1.0)
    return Sample(X[order], Y, w / unit), unit


def _check_rounds(value: Any) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise ValueError(f"max_rounds={value!r} must be an integer of at least 0.")
    return int(value)


def _sizes_in_words(budget: Budget, n: int) -> str:
    last = ""
    if budget.rows < n:
        alone = budget.centers == budget.rows
        last = (
            ", to which alone the last fit is" if alone else f"; the last fit is to {budget.rows}"
        )
    return (
        f"of {n} rows, {budget.search} chose the kernel, {2 * budget.half} judged metrics, "
        f"{budget.metric} made the metric and {budget.centers} are centres{last}"
    )


def _with_more(cls: type) -> type:
    """Fill in what every learner shares, and the attributes that these machines have besides."""
    cls = documented(cls)
    cls.__doc__ = (
        (cls.__doc__ or "")
        .replace("{more}", inspect.cleandoc(MORE))
        .replace("\ncoef_ :", "\ndual_coef_ :")
    )
    return cls


@_with_more
class FeatureMachineClassifier(ReadoutClassifier, FeatureMachine):
    """A kernel machine that learns its features, for classification, with nothing to set.

    K + alpha is solved for a kernel k(‖M^½(x - z)‖) whose metric M is the average gradient outer
    product of the fitted function, Σ_i ∇f(x_i) ∇f(x_i)ᵀ / n (Radhakrishnan, Beaglehole, Pandit and
    Belkin, Science 2024): directions along which the outputs change count, others do not.  Kernel,
    width, ridge and metric are chosen by rows left out.  A round of learning M is judged by rows
    that made neither its metric nor its machine (halves, both ways), and the plain machine stays a
    candidate.

    Cost: at most about `max_work` flops, counted beforehand; with n rows as centres 2n³/3 for the
    last fit with its leave-one-out.  Machines that choose, or make a metric, are solved in single
    precision wherever its rounding moves their outputs by less than 1 %, by a bound.  So is, from
    1,024 rows, the last one: its weights are then refined to the digits of double precision, and
    `loo_error_` says how far its left-out predictions may be off.  Memory as `max_kernels` says.

    Parameters
    ----------
    {tail}

    {attributes}
    {more}

    Deviations: leave-one-out takes the place of a validation set, and the metric's form, diagonal
    or full, is chosen.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from pinvlearn import FeatureMachineClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = FeatureMachineClassifier(random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _parameter_docs = {**FeatureMachine._parameter_docs, "decoding": DECODING}
    _decodings = (*DECODINGS, "inputs")

    @property
    def _mixes_inputs(self) -> bool:
        return True

    @property
    def _widening(self) -> float:
        return float(self.optimism_.temperature)

    def _chose_alpha(self, readout: Readout) -> bool:
        """By trials before the last fit, which has one."""
        return isinstance(self.alpha, str) or np.size(self.alpha) > 1

    def __init__(
        self,
        *,
        kernel: str = "auto",
        gamma: Any = "auto",
        alpha: Any = "auto",
        metric: str = "auto",
        max_rounds: int = 10,
        n_kernels: Any = "auto",
        max_kernels: int = 16000,
        max_work: float = 3.2e12,
        inputs: Any = "auto",
        class_weight: Any = None,
        loo_scoring: Any = "log_loss",
        decoding: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.metric = metric
        self.max_rounds = max_rounds
        self.n_kernels = n_kernels
        self.max_kernels = max_kernels
        self.max_work = max_work
        self.inputs = inputs
        self.class_weight = class_weight
        self.loo_scoring = loo_scoring
        self.decoding = decoding
        self.n_jobs = n_jobs
        self.random_state = random_state


@_with_more
class FeatureMachineRegressor(ReadoutRegressor, FeatureMachine):
    """A kernel machine that learns its features, for regression, with nothing to set.

    K + alpha is solved for a kernel k(‖M^½(x - z)‖) whose metric M is the average gradient outer
    product of the fitted function, Σ_i ∇f(x_i) ∇f(x_i)ᵀ / n (Radhakrishnan, Beaglehole, Pandit and
    Belkin, Science 2024): directions along which the outputs change count, others do not.  Kernel,
    width, ridge and metric are chosen by rows left out.  A round of learning M is judged by rows
    that made neither its metric nor its machine (halves, both ways), and the plain machine stays a
    candidate.

    Cost: at most about `max_work` flops, counted beforehand; with n rows as centres 2n³/3 for the
    last fit with its leave-one-out.  Machines that choose, or make a metric, are solved in single
    precision wherever its rounding moves their outputs by less than 1 %, by a bound.  So is, from
    1,024 rows, the last one: its weights are then refined to the digits of double precision, and
    `loo_error_` says how far its left-out predictions may be off.  Memory as `max_kernels` says.

    Parameters
    ----------
    {tail}

    {attributes}
    {more}

    Deviations: leave-one-out takes the place of a validation set, and the metric's form, diagonal
    or full, is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from pinvlearn import FeatureMachineRegressor
    >>> X = np.random.default_rng(0).standard_normal((200, 4))
    >>> model = FeatureMachineRegressor(random_state=0).fit(X, np.sin(2 * X[:, 1]))
    >>> int(model.feature_importances_.argmax())
    1
    """

    def __init__(
        self,
        *,
        kernel: str = "auto",
        gamma: Any = "auto",
        alpha: Any = "auto",
        metric: str = "auto",
        max_rounds: int = 10,
        n_kernels: Any = "auto",
        max_kernels: int = 16000,
        max_work: float = 3.2e12,
        inputs: Any = "auto",
        loo_scoring: Any = "mse",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.alpha = alpha
        self.metric = metric
        self.max_rounds = max_rounds
        self.n_kernels = n_kernels
        self.max_kernels = max_kernels
        self.max_work = max_work
        self.inputs = inputs
        self.loo_scoring = loo_scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _widening(self) -> float:
        return float(self.optimism_.spread)
