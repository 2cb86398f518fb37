"""scikit-learn's own tests of PCA and TruncatedSVD, run on ours in their place.

The test modules that scikit-learn installs are loaded once more, with its two classes replaced.
`REASONS` names every test that cannot pass, and why; a test that passes after all is an error.
"""

import importlib.util
import re
from unittest import mock

import numpy as np
import pytest
import sklearn.decomposition

from pinvlearn import FastPCA, FastTruncatedSVD
from reasons import expect_failure

pytestmark = pytest.mark.sweep

REASONS = {
    r"test_sparse_pca_solver_error.*": "every method of ours takes sparse rows, and none densifies "
    "them but the one asked to by name",
    r"test_pca_validation\[auto-3-.*": "the message names svd_solver as it was given, 'auto', not "
    "the method it would have led to",
    r"test_pca_svd_solver_auto.*": "auto has a policy of its own, and report_ in place of a "
    "private attribute",
    r"test_feature_names_out": "the prefix is the name of the class: fastpca0",
}
"""Test ids, as regular expressions, and why ours differs."""

LEFT_OUT = {
    r".*array_api.*": "ours take NumPy's arrays; without array libraries at hand these tests would "
    "only be skipped",
    r"test_pca_score": "it wants the whitened score below the plain one, since scikit-learn "
    "multiplies the covariance by the variances once more; ours is the likelihood of the same "
    "model, so rounding alone would decide (test_decomposition.py compares both with numpy.cov)",
}
"""Tests, as regular expressions, that would tell nothing about ours, and why."""

THINNED = {"sparse_container": slice(1, 3), "scale": slice(0, 3, 2)}
"""Values kept of parameters that multiply one another: a CSR array and a CSC matrix, two scales."""


def substituted(name: str) -> dict[str, object]:
    """Tests and fixtures of one of scikit-learn's modules, with ours in place of its classes."""
    spec = importlib.util.find_spec(f"sklearn.decomposition.tests.{name}")
    if spec is None or spec.loader is None:
        return {}
    module = importlib.util.module_from_spec(spec)
    ours = {"PCA": FastPCA, "TruncatedSVD": FastTruncatedSVD}
    with mock.patch.multiple(sklearn.decomposition, **ours):
        spec.loader.exec_module(module)
    for test in vars(module).values():
        for mark in getattr(test, "pytestmark", []):
            if mark.name == "parametrize":  # some of its generators are deprecated by pytest
                names, values = mark.args
                kept = list(values)[THINNED.get(names, slice(None))]
                object.__setattr__(mark, "args", (names, kept))
    return {
        name: value
        for name, value in vars(module).items()
        if name.startswith("test_") or type(value).__name__ == "FixtureFunctionDefinition"
        if not any(re.fullmatch(pattern, name) for pattern in LEFT_OUT)
    }


FOUND = substituted("test_pca") | substituted("test_truncated_svd")
globals().update(FOUND)


@pytest.fixture(params=[42])
def global_random_seed(request):
    """The seed that scikit-learn's configuration gives by default."""
    return request.param


@pytest.fixture(params=[np.float64])
def global_dtype(request):
    return request.param


@pytest.fixture(autouse=True)
def explained(request):
    expect_failure(request, request.node.name, REASONS)


def test_scikit_learn_brought_its_tests():
    if not FOUND:
        pytest.skip("this scikit-learn was installed without its tests")
    assert len(FOUND) > 40
