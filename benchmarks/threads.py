"""Pinned threads: through the environment before NumPy loads, through threadpoolctl afterwards."""

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)

RESTED = 0.2
"""Seconds after which they sleep, twice what was measured of OpenBLAS."""


def add_threads_argument(parser: argparse.ArgumentParser) -> None:
    """The option is read twice: before NumPy is imported and with all others."""
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads (default: 1)")


def pin_environment(argv: Sequence[str]) -> None:
    """Set the thread variables from ``--threads``; call before the first import of NumPy."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_threads_argument(parser)
    try:
        threads = parser.parse_known_args(argv)[0].threads
    except argparse.ArgumentError:
        return  # the full parser reports it
    for name in VARIABLES:
        os.environ[name] = str(threads)


def limit(threads: int) -> AbstractContextManager[object]:
    """Run a block with this number of BLAS and OpenMP threads, also above the environment's."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=threads)


def rest() -> None:
    """Wait until workers of BLAS have gone to sleep.

    After their work they look for more of it for up to a tenth of a second, which counts as CPU
    time of whatever this process runs next on one thread.
    """
    time.sleep(RESTED)


def processors() -> int:
    """How many threads BLAS takes where nothing is set."""
    return len(os.sched_getaffinity(0))
