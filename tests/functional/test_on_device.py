"""svd, pinv, lstsq and the error functions where a matrix lives."""

import numpy as np
import pytest
import scipy.sparse

import pinvlearn as pl
from backends import host

rng = np.random.default_rng(0)
LOW = rng.standard_normal((120, 12)) @ rng.standard_normal((12, 80))
LOW += 0.01 * rng.standard_normal(LOW.shape)
STEEP = rng.standard_normal((120, 70)) * np.logspace(0, -5, 70)
MATRICES = {"low rank": LOW, "wide": LOW.T, "steep": STEEP}
WAYS = {
    "all": {},
    "rank": {"rank": 8},
    "large rank": {"rank": 60},
    **{solver: {"rank": 8, "solver": solver} for solver in ("exact", "gram", "block-krylov")},
    "randomized": {"rank": 8, "solver": "randomized"},
    "tolerance": {"stop": pl.Tolerance(0.5)},
    "flat": {"stop": pl.FlatGradient(0.5, 0.1)},
    "energy": {"stop": pl.Energy(0.9)},
}


@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("way", WAYS)
def test_svd_is_the_same_there(backend, matrix, way):
    A = np.ascontiguousarray(MATRICES[matrix])
    there, options = pl.svd(backend.put(A), rng=0, **WAYS[way]), dict(WAYS[way])
    if "rank" in options:  # what `auto` takes is a matter of rates, which differ
        options["solver"] = there.report.method
    here = pl.svd(A, rng=0, **options)
    assert there.report.method == here.report.method
    assert there.rank == here.rank
    assert all(backend.is_there(part) for part in (there.U, there.s, there.Vt))
    np.testing.assert_allclose(host(there.s), here.s, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(host(there.to_array()), here.to_array(), atol=1e-8)
    for error in (pl.frobenius_error, pl.spectral_error):
        assert error(backend.put(A), there) == pytest.approx(error(A, here), rel=1e-3, abs=1e-9)


def test_pinv(backend):
    there, here = (pl.pinv(A, alpha=1e-6) for A in (backend.put(STEEP), STEEP))
    found = there @ backend.put(LOW)
    assert backend.is_there(found)
    np.testing.assert_allclose(host(found), here @ LOW, rtol=1e-7, atol=1e-7)
    assert backend.is_there(there.to_array())
    assert there.T.shape == here.T.shape


@pytest.mark.parametrize("solver", ["auto", "exact", "adaptive", "cholesky", "gram", "qr"])
def test_lstsq(backend, solver):
    Y = LOW[:, :2]
    here = pl.lstsq(LOW[:, 2:], Y, alpha=0.1, solver=solver, rng=0)
    there = pl.lstsq(backend.put(LOW[:, 2:]), backend.put(Y), alpha=0.1, solver=solver, rng=0)
    assert backend.is_there(there.coef)
    np.testing.assert_allclose(host(there.coef), here.coef, rtol=1e-6, atol=1e-8)
    one = pl.lstsq(backend.put(LOW[:, 2:]), Y[:, 0], alpha=0.1, solver=solver, rng=0)
    np.testing.assert_allclose(host(one.coef), here.coef[:, 0], rtol=1e-6, atol=1e-8)


def test_range_basis(backend):
    here = pl.range_basis(LOW, pl.Tolerance(0.5), rng=0)
    there = pl.range_basis(backend.put(LOW), pl.Tolerance(0.5), rng=0)
    assert backend.is_there(there.Q)
    assert there.rank == here.rank
    np.testing.assert_allclose(there.errors, here.errors, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("solver", ["fastpi", "chebyshev", "frpca", "arpack"])
def test_what_needs_compiled_code_refuses_by_name(backend, solver):
    with pytest.raises(TypeError, match=f"{solver}.*move the matrix to NumPy"):
        pl.svd(backend.put(LOW), 5, solver=solver)


def test_what_asks_where_a_matrix_is_zero_refuses_by_name(backend):
    for ask in (pl.hub_spoke, pl.ReorderingDisplay.from_matrix, pl.DegreeDisplay.from_matrix):
        with pytest.raises(TypeError, match="works on NumPy and SciPy arrays alone"):
            ask(backend.put(LOW))


def test_a_matrix_of_zeros(backend):
    found = pl.svd(backend.put(np.zeros((9, 6))), 3)
    assert backend.is_there(found.U)
    assert not host(found.s).any()


def test_a_pseudo_inverse_of_zeros_is_zero(backend):
    found = pl.pinv(backend.put(np.zeros((3, 2))))
    assert not host(found.to_array()).any()


def test_factors_check_what_they_multiply_there_too(backend):
    f, here = pl.svd(backend.put(LOW)), pl.svd(LOW)
    assert f.value(2, 1) == pytest.approx(LOW[2, 1])
    n = LOW.shape[1]
    for X in (np.ones(n), scipy.sparse.csr_array(np.eye(n)), np.eye(n).tolist()):
        found = f @ X
        assert backend.is_there(found)
        np.testing.assert_allclose(host(found), here @ X, atol=1e-12)
    for X in (np.ones(n + 1), np.ones((n, 1, 1))):
        for given in (X, backend.put(X)):
            with pytest.raises(ValueError, match=f"it needs {n} rows, in one or two dim"):
                f @ given


def test_factors_are_cut_there(backend):
    there, here = (pl.svd(A).truncate(5) for A in (backend.put(STEEP), STEEP))
    assert all(backend.is_there(part) for part in (there.U, there.s, there.Vt))
    np.testing.assert_allclose(host(there.to_array()), here.to_array(), atol=1e-10)


@pytest.mark.parametrize("name", ["append_rows", "append_columns"])
def test_appending_there_is_refused_by_name(backend, name):
    f = pl.svd(backend.put(LOW))
    for more in (LOW, backend.put(LOW)):
        with pytest.raises(TypeError, match=f"{name} works on NumPy arrays alone"):
            getattr(f, name)(more)


def test_mixed_devices_are_refused(backend):
    with pytest.raises(ValueError, match="Move both to one device"):
        pl.lstsq(LOW, backend.put(LOW[:, 0]))
