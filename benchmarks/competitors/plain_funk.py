"""The loop of [LingPipe] as printed, compiled and otherwise left alone."""

import numba

NAME = "plain loop"


@numba.njit(cache=True)
def descend(starts, columns, residual, u, v, rate, annealing, alpha, first, last, previous,
            earlier_penalty, min_improvement, min_epochs, limit, work):  # fmt: skip
    """Cached residual, entries in contiguous order, one update after the other."""
    squared = 0.0
    for epoch in range(first, last):
        step = rate / (1.0 + epoch / annealing)
        squared = 0.0
        for i in range(len(u)):
            for e in range(starts[i], starts[i + 1]):
                j = columns[e]
                old_u = u[i]
                old_v = v[j]
                error = residual[e] - old_u * old_v
                squared += error * error
                u[i] += step * (error * old_v - alpha * old_u)
                v[j] += step * (error * old_u - alpha * old_v)
    return last, squared, squared, 0
