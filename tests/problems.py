"""Problems of rows in memory, and how far a solution of theirs may be from the exact one."""

import numpy as np

from pinvlearn.engines.local import rows_in_memory
from pinvlearn.readout.problem import Problem

EPS = np.finfo(float).eps


def make_problem(H, Y, *, weights=None, intercept=True, score=None, n_jobs=1, seed=0):
    rows = rows_in_memory(lambda X: X, H, np.asarray(Y, dtype=float), weights, H.shape[1], n_jobs)
    return Problem(rows, intercept, score, np.random.default_rng(seed))


def targets(rows, t=2, seed=7):
    return np.random.default_rng(seed).standard_normal((rows, t))


def prediction_error(H, weights, readout, coef, offset):
    """Relative error where it matters, on the weighted rows."""
    root = np.sqrt(np.ones(len(H)) if weights is None else weights)[:, None]
    expected = H @ coef + offset
    return np.linalg.norm(root * (H @ readout.coef + readout.intercept - expected))


def bound(H, Y, weights, intercept, coef, alpha, promise):
    """eps·(cond·‖r‖ + ‖Z‖·‖B‖) of a stable method, and what Gram-based ones promise beyond it."""
    w = np.ones(len(H)) if weights is None else weights
    mean = np.average(H, axis=0, weights=w) if intercept else 0.0
    values = np.linalg.svd(np.sqrt(w)[:, None] * (H - mean), compute_uv=False)
    kept = values[values > EPS * max(H.shape) * values[0]]
    smallest = np.sqrt((kept[-1] if len(kept) else 0.0) ** 2 + alpha)
    condition = np.sqrt(values[0] ** 2 + alpha) / smallest if smallest else 1.0
    size = np.linalg.norm(np.sqrt(w)[:, None] * Y)
    # Centring loses what the means exceed the spread by.
    raw = np.linalg.norm(np.sqrt(w)[:, None] * H, 2)
    return (
        20 * sum(H.shape) * EPS * (condition * size + raw * np.linalg.norm(coef)) + promise * size
    )
