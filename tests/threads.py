"""BLAS's threads in tests: how many it has, and how to give it some."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_info, threadpool_limits


def blas_limits() -> set[int]:
    """The limits of every BLAS in this process."""
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@contextmanager
def blas_limited_to(threads: int) -> Iterator[None]:
    """BLAS with so many threads, whatever the environment gave it."""
    with threadpool_limits(threads, user_api="blas"):
        assert blas_limits() == {threads}
        yield
