"""Where not all rows can be centres: fewer centres for more of them, or fewer rows, all centres.

For the work that the machine of m rows and their own m kernel columns takes, n > m rows can have
p < m pivots.  Which predicts better depends on the rows: on how fast the spectrum of their kernel
matrix falls, and on how much more rows still teach.  So both are tried at a part of their sizes,
m/n and p/n being what they are, and judged by rows left out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pinvlearn._core.arrays import Array
from pinvlearn._core.device import home
from pinvlearn.readout.choose import Alpha
from pinvlearn.readout.kernel import KernelTask, solve_part
from pinvlearn.readout.losses import Judge
from pinvlearn.readout.pivots import solve_pivots
from pinvlearn.readout.solve import Readout


def fewer_rows_do_better(
    task: KernelTask, rows: int, centers: int, ridges: Alpha, judge: Judge
) -> bool:
    """Whether a machine of the first rows alone predicts all rows better than one of few pivots.

    Rows that the first machine has, and all rows of the second, are left out one at a time.

    Parameters
    ----------
    task : KernelTask
        All rows, in a random order, with one alpha and a score.
    rows, centers : int
        The number of the first rows, and that of pivots for all of them.
    ridges : float or array
        The ridge, or ridges to choose from, where there are pivots.
    judge : Judge
        What a prediction costs.
    """
    first = np.arange(rows)
    alone = solve_part(task.K(first, first), lambda others: task.K(others, first), first, task)
    spread = solve_pivots(replace(task, alpha=ridges), centers, "rpcholesky").readout
    w: Array = np.ones(task.n, like=home(task.Y)) if task.weights is None else task.weights

    def loss(readout: Readout) -> float:
        assert readout.leave_one_out is not None
        return float(w @ judge.loss(task.Y, readout.leave_one_out, w))

    return loss(alone) < loss(spread)
