"""The one policy for threads, and the one pool.

BLAS's own threads are of little use here: on small panels they wait for each other longer than
they work, beside a busy process they wait for it too, and how many there are changes bits.  So
BLAS is held to one thread while we compute, and products that are large enough are shared out, in
tiles that do not depend on how many share them, among the threads of a pool.  Only LAPACK's large
decompositions run with the threads that BLAS was given.

The limit of OpenBLAS is one for the whole process.  If two calls each set and restored it, the
first to leave would give BLAS its threads back while the other computes, and the other would then
restore the limit it had found: one thread, for good.  So there is one counted gate, through which
alone the library sets it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
import scipy.linalg.blas  # noqa: F401  its BLAS must be loaded before the controllers look for it
from threadpoolctl import ThreadpoolController

from pinvlearn._core.machine import idle_processors, processors

LAPACK_SIDE = 500
"""Smaller side from which LAPACK's decompositions may have several threads: 500² numbers, 2 MB, are
more than the cache of one core holds."""

NEVER_SHARED = 9216
"""Multiplications up to which OpenBLAS gives a product with a vector one thread; one of matrices
has more (its interface/gemv.c and gemm.c)."""

S = TypeVar("S")
T = TypeVar("T")


class Gate:
    """Holds libraries to one thread while anybody is inside.

    The first to enter lowers their limits, the last to leave restores what the first had found.
    """

    def __init__(self, libraries: list[Any]) -> None:
        self._libraries = libraries
        self._lock = threading.Lock()
        self._inside = 0
        self._found: list[int] = []

    @property
    def guards(self) -> bool:
        """Whether there is anything to hold."""
        return bool(self._libraries)

    def enter(self) -> None:
        """Lower the limits, unless somebody is inside already."""
        with self._lock:
            if not self._inside:
                self._found = [library.num_threads for library in self._libraries]
                for library, found in zip(self._libraries, self._found, strict=True):
                    _set_limit(library, found, 1)
            self._inside += 1

    def leave(self) -> None:
        """Restore the limits, unless somebody is still inside."""
        with self._lock:
            self._inside = max(self._inside - 1, 0)  # below 0: entered before a fork
            if not self._inside:
                self._restore()

    def limits(self) -> list[int]:
        """The limits while nobody is inside."""
        with self._lock:
            return self._found or [library.num_threads for library in self._libraries]

    def reopen(self) -> None:
        """For a forked process, in which nobody is inside whoever was before."""
        self._lock, self._inside = threading.Lock(), 0
        self._restore()

    def _restore(self) -> None:
        for library, found in zip(self._libraries, self._found, strict=False):
            _set_limit(library, 1, found)
        self._found = []


def _set_limit(library: Any, now: int, limit: int) -> None:
    if now == limit:
        return
    # From 3.8 on threadpoolctl lets one thread set limits, and ignores the others in silence.
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(limit)
    release(force=True)


class _Here(threading.local):
    """What is known of a thread: how deep it is in work that is not to be shared out, its gate."""

    alone = 0

    def __init__(self) -> None:
        self.gate = Gate([library for library in _libraries() if _per_thread(library)])


@cache
def _libraries() -> list[Any]:
    """Controllers of every BLAS; finding the libraries takes longer than a small fit."""
    libraries: list[Any] = ThreadpoolController().select(user_api="blas").lib_controllers
    return libraries


def _per_thread(library: Any) -> bool:
    """Whether each thread has a limit of its own, as OpenMP's have."""
    return getattr(library, "threading_layer", None) == "openmp"


@cache
def _shared_gate() -> Gate:
    return Gate([library for library in _libraries() if not _per_thread(library)])


@cache
def _here() -> _Here:
    return _Here()


@contextmanager
def one_blas_thread(work: float = np.inf) -> Iterator[None]:
    """BLAS on one thread, in the whole process; entered as often and by as many as like.

    So little `work`, in multiplications, that BLAS takes one thread anyway does not wait for that.
    """
    if work <= NEVER_SHARED:
        yield
        return
    gates = [gate for gate in (_shared_gate(), _here().gate) if gate.guards]
    for gate in gates:
        gate.enter()
    try:
        yield
    finally:
        for gate in gates:
            gate.leave()


@contextmanager
def as_worker() -> Iterator[None]:
    """All on the calling thread: BLAS's work, and what would be shared out among the pool.

    For tasks of an engine, of which others run beside this one.
    """
    here = _here()
    here.alone += 1
    try:
        with one_blas_thread():
            yield
    finally:
        here.alone -= 1


@contextmanager
def lapack_threads(side: int) -> Iterator[bool]:
    """Let LAPACK decompose a matrix whose smaller side is this long; gives whether by threads.

    Its reductions are matrix-vector products.  On small matrices BLAS's threads wait for each other
    longer than they work, and beside a busy process they take several times as long as one thread
    does [measured]; so they are left to matrices that are large, on a machine that is idle.  What
    they compute is the same to rounding.
    """
    if side < LAPACK_SIDE or idle_processors() < allowed_threads():
        with one_blas_thread():
            yield False
    else:
        yield allowed_threads() > 1


def allowed_threads() -> int:
    """How many threads may work for this one.

    The fewest that any BLAS is allowed while nobody holds it to one, that the process's affinity
    and its container's quota allow; one in the workers of our pool, of joblib and of Dask.
    """
    here = _here()
    if here.alone or _hired():
        return 1
    limits = _shared_gate().limits() + here.gate.limits()
    return min([processors(), *limits])


def _hired() -> bool:
    """Whether this thread works for joblib or Dask, which have others beside it.

    Their worker processes are limited through BLAS instead, by those who start them.
    """
    if threading.current_thread() is threading.main_thread():
        return False
    joblib, dask = sys.modules.get("joblib.parallel"), sys.modules.get("distributed.worker")
    if joblib is not None and (joblib.get_active_backend()[0].nesting_level or 0) > 0:
        return True
    return dask is not None and hasattr(dask.thread_state, "execution_state")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """The threads that all calls share; idle ones cost nothing."""
    return ThreadPoolExecutor(threads, thread_name_prefix="pinvlearn")


def _worked(function: Callable[..., T], *args: Any) -> T:
    """function(*args) in a thread of the pool, whose own work is not shared out again."""
    with as_worker():
        return function(*args)


def _after_fork() -> None:
    """Threads do not survive a fork, nor do those who were inside the gate."""
    _pool.cache_clear()
    if _shared_gate.cache_info().currsize:
        _shared_gate().reopen()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def in_parts(function: Callable[[int, int], Any], size: int, parts: int) -> None:
    """function(first, last) on so many parts of 0 … size, by this thread and those of the pool.

    Whoever is free takes the next part, so a thread that is held up delays one part, not all.
    """
    share_out(function, spans(size, parts))


def spans(size: int, parts: int) -> list[tuple[int, int]]:
    """0 … size in so many even parts, or in as many as it has: first, and last plus one."""
    parts = min(parts, size)
    edges = [size * i // parts for i in range(parts + 1)] if parts else [0]
    return list(zip(edges[:-1], edges[1:], strict=True))


def share_out(
    function: Callable[..., Any], parts: Sequence[tuple[Any, ...]], threads: int | None = None
) -> None:
    """function(*part) of every part, by so many threads: this one and some of the pool."""
    threads = 1 if _here().alone else min(threads or allowed_threads(), len(parts))
    todo = deque(parts)

    def work() -> None:
        while todo:
            try:
                part = todo.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                function(*part)
            except BaseException:
                todo.clear()  # nobody needs the rest any more
                raise

    with as_worker() if threads > 1 else one_blas_thread():
        helpers = [_pool(threads).submit(_worked, work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            started = [helper for helper in helpers if not helper.cancel()]
            for helper in started:
                helper.exception()  # waits: what they write to is the caller's again afterwards
        for helper in started:
            helper.result()


def in_threads(function: Callable[[S], T], items: Iterable[S], n_jobs: int | None) -> Iterator[T]:
    """function of every item, in order, by `n_jobs` threads (None: `allowed_threads`).

    Where the items themselves fail, what came before is given first.
    """
    n_jobs = 1 if _here().alone else n_jobs or allowed_threads()
    gate = _shared_gate()
    gate.enter()  # for the consumer's part of the work, too
    try:
        if n_jobs == 1 or (isinstance(items, Sequence) and len(items) == 1):
            for item in items:
                yield _worked(function, item)
        else:
            yield from _in_pool(function, items, n_jobs)
    finally:
        gate.leave()


def ahead(function: Callable[[S], T], items: Iterable[S]) -> Iterator[T]:
    """function of every item, in order, by a thread that is ahead of whoever takes them."""
    return _in_pool(function, items, 1)


def _in_pool(function: Callable[[S], T], items: Iterable[S], n_jobs: int) -> Iterator[T]:
    waiting: deque[Future[T]] = deque()
    source, failure = iter(items), None
    try:
        while True:
            try:
                item = next(source)
            except StopIteration:
                break
            except Exception as error:  # raised once what came before it is done
                failure = error
                break
            if len(waiting) > n_jobs:  # bounded: at most one finished block is in wait
                yield waiting.popleft().result()
            waiting.append(_pool(n_jobs).submit(_worked, function, item))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in [future for future in waiting if not future.cancel()]:
            future.exception()
    if failure is not None:
        raise failure
