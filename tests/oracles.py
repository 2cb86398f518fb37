"""Short, slow and plain: what the fast code is compared with."""

from __future__ import annotations

import numpy as np

from pinvlearn.completion import descent

ERROR_CONSTANT = 10.0 * np.sqrt(2.0 / np.pi)


def construct_q(A, rng, *, eps=0.1, r=10, tau=None, relative_to=1.0):
    """[JL19] Algorithm 2, or Algorithm 4 where `tau` is given, one vector at a time.

    As printed but for three things.  Line 10 (11) is done twice: done once, the columns of Q lose
    their orthogonality on fast spectra and the sequence ends in noise.  The basis ends with
    min(m, n) columns, after which line 11 (12) would divide noise by noise.  The norms that the
    stop rules look at are returned as the sequence of Eq. (18), after 0, 1, … columns.
    """
    m, n = A.shape
    Q = np.empty((m, 0))
    h = [A @ rng.standard_normal(n) for _ in range(r)]
    largest = [max(np.linalg.norm(x) for x in h)]
    gradient = GradientStop(eps * relative_to, tau * relative_to, r) if tau is not None else None
    go_on = gradient is not None or largest[0] > eps * relative_to / ERROR_CONSTANT
    j = 0
    while go_on and j < min(m, n):
        j += 1
        x = h.pop(0)
        for _ in range(2):
            x = x - Q @ (Q.T @ x)
        q = x / np.linalg.norm(x)
        Q = np.column_stack([Q, q])
        y = A @ rng.standard_normal(n)
        h = [x - q * (q @ x) for x in h] + [y - Q @ (Q.T @ y)]
        largest.append(max(np.linalg.norm(x) for x in h))
        if gradient is None:
            go_on = largest[-1] > eps * relative_to / ERROR_CONSTANT
        else:
            go_on = gradient(largest[-1])
    return Q, ERROR_CONSTANT * np.array(largest)


class GradientStop:
    """[JL19] Algorithm 3 as printed; True means go on."""

    def __init__(self, eps, tau, r):
        self.eps, self.tau, self.r = eps, tau, r
        self.i, self.last_max, self.grad_t = 0, 0.0, np.zeros(r)

    def __call__(self, m):
        if m <= self.eps / ERROR_CONSTANT:
            return False
        self.grad_t[self.i % self.r] = max(0.0, self.last_max - m)
        self.i += 1
        self.last_max = m
        return True if self.i <= self.r else bool(self.grad_t.mean() > self.tau)


def ridge(H, Y, alpha=0.0, *, weights=None, intercept=False):
    """Coefficients and intercept by `lstsq` of the augmented matrix: no Gram matrix anywhere."""
    H, Y = np.asarray(H, dtype=float), np.asarray(Y, dtype=float)
    weights = np.ones(len(H)) if weights is None else np.asarray(weights, dtype=float)
    H_mean, Y_mean = np.zeros(H.shape[1]), np.zeros(Y.shape[1:])
    if intercept:
        H_mean = np.average(H, axis=0, weights=weights)
        Y_mean = np.average(Y, axis=0, weights=weights)
    root = np.sqrt(weights)
    Z = (H - H_mean) * root[:, None]
    T = ((Y - Y_mean).T * root).T
    if alpha > 0.0:
        Z = np.vstack([Z, np.sqrt(alpha) * np.eye(H.shape[1])])
        T = np.concatenate([T, np.zeros((H.shape[1], *Y.shape[1:]))])
    rcond = np.finfo(float).eps * max(H.shape)
    coef = np.linalg.lstsq(Z, T, rcond=rcond)[0]
    return coef, Y_mean - H_mean @ coef


def leave_one_out(H, Y, alpha, *, weights=None, intercept=True):
    """Prediction for each row of the read-out fitted to all the others: n refits."""
    H, Y = np.asarray(H, dtype=float), np.asarray(Y, dtype=float)
    weights = np.ones(len(H)) if weights is None else np.asarray(weights, dtype=float)
    left_out = np.empty_like(Y)
    for i in range(len(H)):
        others = np.arange(len(H)) != i
        coef, offset = ridge(
            H[others], Y[others], alpha, weights=weights[others], intercept=intercept
        )
        left_out[i] = H[i] @ coef + offset
    return left_out


def generalised_cross_validation(H, Y, alpha):
    """n·RSS / (n - df)² with an intercept, from the dense hat matrix; mean over the targets."""
    n = len(H)
    center = np.eye(n) - 1.0 / n
    Z = center @ H
    hat = Z @ np.linalg.solve(Z.T @ Z + alpha * np.eye(H.shape[1]), Z.T) + 1.0 / n
    residual = Y - hat @ Y
    return n * np.mean(np.sum(residual**2, axis=0)) / (n - np.trace(hat)) ** 2


def descend_plainly(
    starts,
    columns,
    residual,
    u,
    v,
    rate,
    annealing,
    alpha,
    first,
    last,
    previous,
    earlier_penalty,
    min_improvement,
    min_epochs,
    limit,
    work,
):
    """One factor of the descent as [LingPipe]'s documentation prints it."""
    penalised = squared = 0.0
    for epoch in range(first, last):
        step = rate / (1.0 + epoch / annealing)
        squared = sizes = 0.0
        for i in range(len(u)):
            for e in range(starts[i], starts[i + 1]):
                j = columns[e]
                old_u, old_v = u[i], v[j]
                error = residual[e] - old_u * old_v
                squared += error * error
                sizes += old_u * old_u + old_v * old_v
                u[i] += step * (error * old_v - alpha * old_u)
                v[j] += step * (error * old_u - alpha * old_v)
        if not squared <= limit:
            return epoch + 1, np.inf, np.inf, descent.HAS_DIVERGED
        penalised = squared + alpha * sizes + earlier_penalty
        improvement = abs(previous - penalised) / (abs(previous) + abs(penalised) + 1e-300)
        if previous >= 0.0 and epoch + 1 >= min_epochs and improvement < min_improvement:
            return epoch + 1, penalised, squared, descent.CONVERGED
        previous = penalised
    return last, penalised, squared, descent.GO_ON


def row_by_dense_solve(rows, cols, values, i, others, biases, prior, draw):
    """Row i by a dense solve; also its squared error."""
    mine = rows == i
    W, y = others[cols[mine]].copy(), values[mine].copy()
    if biases:
        y -= W[:, 0]
        W[:, 0] = 1.0
    P = prior.noise_precision * W.T @ W + prior.precision + mine.sum() * np.diag(prior.per_entry)
    L = np.linalg.cholesky(P)
    x = np.linalg.solve(P, prior.noise_precision * W.T @ y + prior.rhs) + np.linalg.solve(L.T, draw)
    return x, np.sum((y - W @ x) ** 2)


ACTIVATION_FORMULAS = {
    "sigmoid": lambda z: 1.0 / (1.0 + np.exp(-z)),
    "tanh": np.tanh,
    "relu": lambda z: z * (z > 0),
    "sine": np.sin,
    "hardlimit": lambda z: (z >= 0).astype(float),
    "identity": lambda z: z,
}
"""Activations as their definitions read."""


def best_labels(scores, k):
    """The k best labels of each row in order: falling score, then rising number."""
    return [sorted(range(len(row)), key=lambda j: (-row[j], j))[:k] for row in scores]
