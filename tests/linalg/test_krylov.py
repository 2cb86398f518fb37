"""Block Krylov and randomised subspaces: more work is never worse; what is unsettled says so."""

import pytest
import scipy.linalg

from matrices import slow
from pinvlearn import svd


@pytest.mark.parametrize("power", [0, 1, 3])
@pytest.mark.parametrize("solver", ["block-krylov", "randomized"])
def test_more_power_is_never_worse(solver, power):
    A = slow(200, 150)
    s = [svd(A, 5, solver=solver, n_power=q, rng=0).s.sum() for q in (power, power + 4)]
    assert s[0] <= s[1] * (1 + 1e-12)


def test_oversamples_help():
    A = slow(200, 150)
    few, many = (svd(A, 5, solver="randomized", n_oversamples=p, n_power=0, rng=0) for p in (0, 60))
    assert few.s.sum() < many.s.sum() <= scipy.linalg.svdvals(A)[:5].sum()


def test_unsettled_krylov_says_so(monkeypatch):
    monkeypatch.setattr("pinvlearn.linalg.krylov.MAX_STEPS", 0)
    f = svd(slow(300, 200), 20, solver="block-krylov", rng=0)
    assert "not settled" in " ".join(f.report.notes)
