"""Tests that scikit-learn and SciPy install, run on what stands in here for the thing they test.

As in `test_substituted.py`, where the class here is a drop-in one; here a small adapter comes in
between, which translates parameters and nothing else.  `REASONS` names every test that cannot pass,
and why; a test that passes after all is an error.
"""

import importlib.util
import re
import types
from unittest import mock

import numpy as np
import pytest
import scipy.linalg
import sklearn.decomposition
import sklearn.impute
import sklearn.kernel_ridge
import sklearn.linear_model
import sklearn.utils.extmath
from sklearn.utils import gen_batches
from sklearn.utils.fixes import parse_version, sp_version

from pinvlearn import FastPCA, KernelELMRegressor, PinvRegressor, SVDImputer
from pinvlearn import lstsq as our_lstsq
from pinvlearn import pinv as our_pinv
from pinvlearn import svd as our_svd
from reasons import expect_failure

pytestmark = pytest.mark.sweep


class IncrementalPCA(FastPCA):
    """`FastPCA` that learns from batches of rows, as scikit-learn's `IncrementalPCA` does."""

    def __init__(self, n_components=None, *, whiten=False, copy=True, batch_size=None):
        super().__init__(n_components, whiten=whiten, copy=copy)
        self.batch_size = batch_size

    def fit(self, X, y=None):
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        X = X.tocsr() if hasattr(X, "tocsr") else X
        size = self.batch_size or 5 * X.shape[1]
        for batch in gen_batches(X.shape[0], size, min_batch_size=self.n_components or 0):
            self.partial_fit(X[batch])
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


def kernel_ridge(alpha=1.0, *, kernel="linear", **parameters):
    return KernelELMRegressor(
        kernel, alpha=float(alpha), solver="exact", fit_intercept=False, gamma=0.1, **parameters
    )


class Ridge(PinvRegressor):
    """`PinvRegressor` by the names of scikit-learn's `Ridge`; there is always an intercept."""

    def __init__(
        self,
        alpha=1.0,
        *,
        fit_intercept=True,
        copy_X=True,
        max_iter=None,
        tol=1e-4,
        solver="auto",
        positive=False,
        random_state=None,
    ):
        super().__init__(alpha=alpha, solver=solver, random_state=random_state)
        self.fit_intercept = fit_intercept
        self.copy_X, self.max_iter, self.tol, self.positive = copy_X, max_iter, tol, positive

    def fit(self, X, y, sample_weight=None):
        given, ours = self.solver, {"svd": "exact", "lsqr": "qr"}
        self.solver = ours.get(given, given)
        try:
            super().fit(X, y, sample_weight)
        finally:
            self.solver = given
        self.solver_ = given
        return self


def ridge_cv(alphas=(0.1, 1.0, 10.0), *, cv=None, **parameters):
    if cv is not None:  # refits, which are what ours is compared with
        return THEIR_RIDGE_CV(alphas, cv=cv, **parameters)
    return PinvRegressor(alpha=list(alphas))


class Imputer(SVDImputer):
    """`SVDImputer` with a parameter more, of which NaN is the one value."""

    def __init__(self, *, missing_values=np.nan, add_indicator=False, keep_empty_features=False):
        super().__init__(
            add_indicator=add_indicator, keep_empty_features=keep_empty_features, random_state=0
        )
        self.missing_values = missing_values

    def set_params(self, **parameters):
        if not np.isnan(parameters.get("missing_values", np.nan)):
            raise ValueError("only NaN is missing")
        return super().set_params(**parameters)


THEIR_RIDGE_CV = sklearn.linear_model.RidgeCV


def randomized_svd(M, n_components, *, n_iter="auto", random_state=None, **others):
    n_power = None if n_iter == "auto" else n_iter
    f = our_svd(
        M, n_components, solver="randomized", n_oversamples=10, n_power=n_power, rng=random_state
    )
    return f.U, f.s, f.Vt


def scipy_pinv(a, *, atol=None, rtol=None, check_finite=True):
    return our_pinv(a, rcond=rtol).to_array()


def scipy_lstsq(a, b, cond=None, **others):
    found = our_lstsq(a, b, rcond=cond)
    return found.coef, found.residual_norms**2, found.rank, None


REASONS = {
    r"test_ipca_incremental_pca_sparse.*": "partial_fit takes sparse rows, and wants no error",
    r"test_ipca_incremental_pca_validation": "as many components as features are allowed, however "
    "few rows the first batch has; the message is that of FastPCA",
    r"test_ipca_incremental_pca_set_params": "the number of components may change between batches: "
    "the sums are of all columns",
    r"test_ipca_incremental_pca_partial_fit_float_division": "there is no n_samples_seen_; "
    "n_samples_ is the number of rows",
    r"test_rsvd_randomized_svd_sign_flip_with_transpose": "signs follow the right vectors, "
    "whatever the shape",
    r"test_rsvd_randomized_svd_power_iteration_normalizer": "every power iteration is normalised, "
    "so none diverges",
    r"test_rsvd_randomized_svd_sparse_warnings.*": "every sparse format is converted without "
    "a word",
    r"test_rsvd_randomized_svd_low_rank_all_dtypes\[int.*": "as integers the matrix is zero, and "
    "it compares vectors, of which any are right",
    r"test_rsvd_randomized_svd_(infinite_rank|transpose_consistency)": "it holds for the random "
    "vectors of one seed: with more than half of all seeds scikit-learn's misses it, as ours does",
    r"test_ridge_ridge_shapes_type": "the intercept of one target is a Python float",
    r"test_ridge_ridge_vs_lstsq": "it wants no intercept, and there is always one",
    r"test_ridge_ridge_gcv_vs_ridge_loo_cv\[y_shape1.*": "a single column of targets gives "
    "coefficients of shape (1, p), as one of several does",
    r"test_ridge_regularization_limits_ridge\[asarray-wide-True-cholesky-zero_alpha\]": "Cholesky "
    "is obeyed where the ridge drowns in rounding: its factor is shifted, as a note says, and of "
    "many solutions it need not give the shortest",
    r"test_ridge_ridge_gcv_(sample_weights|integer_arrays).*": "it compares cv_results_: the "
    "left-out values of every alpha are not kept",
    r"test_ridge_solver_consistency\[.*(sag|sparse_cg).*": "iterative solvers are not here",
    r"test_ridge_ridgecv_sample_weight": "it scores single rows, about which scikit-learn warns",
    r"test_ridge_raises_value_error_if_sample_weights_greater_than_1d": "the message is another",
    r"test_ridge_dtype_match.*": "sums, and so coefficients, are float64 whatever X is",
    r"test_imputer_imputers_add_indicator\[Imputer-(-1|0)\]": "only NaN is missing",
    r"test_imputer_imputers_pandas_na_integer_array_support.*": "a frame of integers with gaps "
    "comes back as one, its gaps filled with whole numbers",
    r"TestPinv\.test_simple_complex": "numbers are real",
    r"TestPinv\.test_atol_rtol": "the cut-off is relative to the largest singular value",
    r"TestPinv\.test_empty.*": "an empty matrix is refused",
    r"TestLstsq\.test_simple_overdet_complex": "numbers are real",
    r"TestLstsq\.test_random_complex_.*": "numbers are real",
    r"TestLstsq\.test_empty.*": "an empty matrix is refused",
}
"""Test ids, as regular expressions, and why ours differs."""

SCIPY = {"TestPinv"} | ({"TestLstsq"} if sp_version < parse_version("1.18") else set())
"""From 1.18 on SciPy's `lstsq` takes stacks of matrices, and its tests are of little else."""

LEFT_OUT = {
    r".*array_api.*": "other arrays than NumPy's",
    r".*lapack_driver": "drivers of LAPACK cannot be chosen here",
    r".*fit_overflow": "half a million rows",
    r".*add_indicator_sparse": "sparse tables with gaps, which partial_svd takes and SVDImputer "
    "does not",
    r"test_(primal_dual_relationship|X_CenterStackOp|compute_(gram|covariance)"
    r"|check_gcv_mode_choice)": "private functions of scikit-learn",
    r"test_ridge_regression_(check_arguments_validity|convergence_fail|dtype_stability)": "the "
    "function ridge_regression, for which there is none here",
    r"test_.*(classifier|class_weight|dense_sparse).*|test_ridgecv_alphas_.*|test_metadata_routing.*"
    r"|test_set_score_request.*|test_ridge_(gcv_cv_results_not_stored|best_score"
    r"|regression_custom_scoring)": "RidgeClassifier and RidgeClassifierCV too, which code targets "
    "in their own way",
    r"test_(.*positive.*|.*_sag.*|sparse_cg_max_iter|n_iter|lbfgs.*|ridge_fit_intercept_sparse"
    r"(_error)?)": "iterative solvers and signs of coefficients, which are not here",
    r"test_ridge.*individual_penalties": "one alpha serves all targets",
    r"test_ridge_(loo_cv_asym_scoring|cv_custom_multioutput_scorer|cv_results_predictions)"
    r"|test_ridgecv_store_cv_results":
    "scorers of the user's, and the left-out values of every alpha, which are not kept",
}  # fmt: skip
"""Tests, as regular expressions, of something that nothing here stands in for, and of what."""

THINNED = {
    "solver": ["svd", "cholesky", "lsqr"],
    "sparse_container": slice(0, 1),
    "csr_container": slice(0, 1),
    "X_container": slice(0, 1),
    "imputer": slice(-1, None),
    "gcv_mode": slice(0, 1),
    "fit_intercept": [True],  # there is always one
    "n": slice(0, 1),
    "overwrite": slice(0, 1),
    "lapack_driver": slice(-1, None),
}
"""Values kept of parameters that name what is not here, or multiply one another."""


def borrowed(module: str, label: str, wanted: str, **ours: object) -> dict[str, object]:
    """Tests and fixtures of one module whose names are wanted, with ours in place of theirs."""
    home, names = ours.pop("home"), ours
    spec = importlib.util.find_spec(module)
    if spec is None or spec.loader is None:
        return {}
    loaded = importlib.util.module_from_spec(spec)
    strict = mock.patch.object(pytest.mark, "_config", None)  # their markers are not ours
    with strict, mock.patch.multiple(home, **names):
        spec.loader.exec_module(loaded)
    found: dict[str, object] = {}
    for name, value in vars(loaded).items():
        if type(value).__name__ == "FixtureFunctionDefinition":
            found[name] = value
        elif name.startswith(("test", "Test")) and re.fullmatch(wanted, name):
            if any(re.fullmatch(pattern, name) for pattern in LEFT_OUT):
                continue
            thin(value)
            found[f"test_{label}_{name[5:]}" if name.startswith("test") else name] = value
    return found


def thin(test: object) -> None:
    methods = vars(test).values() if isinstance(test, type) else [test]
    for method in methods:
        for mark in getattr(method, "pytestmark", []):
            if mark.name == "parametrize":
                names, values = mark.args
                keep = THINNED.get(names, slice(None))
                values = list(values)
                kept = values[keep] if isinstance(keep, slice) else [v for v in values if v in keep]
                object.__setattr__(mark, "args", (names, kept or values))
                if kept and len(kept) < len(values) and isinstance(mark.kwargs.get("ids"), list):
                    object.__setattr__(mark, "kwargs", {})  # names of all


FOUND = (
    borrowed(
        "sklearn.decomposition.tests.test_incremental_pca", "ipca", ".*",
        home=sklearn.decomposition, IncrementalPCA=IncrementalPCA,
    )
    | borrowed(
        "sklearn.tests.test_kernel_ridge", "kernel", ".*",
        home=sklearn.kernel_ridge, KernelRidge=kernel_ridge,
    )
    | borrowed(
        "sklearn.linear_model.tests.test_ridge", "ridge",
        ".*",
        home=sklearn.linear_model, Ridge=Ridge, RidgeCV=ridge_cv,
    )
    | borrowed(
        "sklearn.utils.tests.test_extmath", "rsvd", "test_randomized_svd.*",
        home=sklearn.utils.extmath, randomized_svd=randomized_svd,
    )
    | borrowed(
        "scipy.linalg.tests.test_basic", "scipy", "|".join(sorted(SCIPY)),
        home=scipy.linalg, pinv=scipy_pinv, lstsq=scipy_lstsq,
    )
    | borrowed(
        "sklearn.impute.tests.test_common", "imputer", ".*",
        home=sklearn.impute, SimpleImputer=Imputer,
    )
)  # fmt: skip
globals().update(FOUND)


@pytest.fixture(params=[42])
def global_random_seed(request):
    """The seed that scikit-learn's configuration gives by default."""
    return request.param


@pytest.fixture(autouse=True)
def explained(request):
    name = request.node.name
    if request.cls is not None:
        name = f"{request.cls.__name__}.{name}"
    expect_failure(request, name, REASONS)


def test_they_brought_their_tests():
    functions = [test for test in FOUND.values() if isinstance(test, types.FunctionType)]
    if not functions:
        pytest.skip("scikit-learn was installed without its tests")
    assert len(functions) > 40
    assert FOUND.keys() >= SCIPY
