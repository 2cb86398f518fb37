"""One gate and one pool: limits come back, bits stay, nothing waits for ever."""

import os
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import scipy.linalg

import pinvlearn
from pinvlearn._core import threads
from pinvlearn._core.threads import (
    NEVER_SHARED,
    Gate,
    allowed_threads,
    as_worker,
    in_parts,
    in_threads,
    one_blas_thread,
    share_out,
)
from threads import blas_limited_to, blas_limits


@pytest.fixture
def two_threads(monkeypatch):
    """BLAS with two threads, on a machine of two processors."""
    monkeypatch.setattr(threads, "processors", lambda: 2)
    with blas_limited_to(2):
        yield
        assert blas_limits() == {2}


class Library:
    """A BLAS whose limit anybody may set, and which remembers who did."""

    def __init__(self, num_threads):
        self.num_threads, self.set = num_threads, []

    def set_num_threads(self, limit):
        self.num_threads = limit
        self.set.append(limit)


class TestGate:
    def test_the_first_lowers_and_the_last_restores(self):
        libraries = [Library(4), Library(1), Library(2)]
        gate = Gate(libraries)
        for _ in range(3):
            gate.enter()
            assert [lib.num_threads for lib in libraries] == [1, 1, 1]
            assert gate.limits() == [4, 1, 2]
        for _ in range(2):
            gate.leave()
            assert [lib.num_threads for lib in libraries] == [1, 1, 1]
        gate.leave()
        assert [lib.num_threads for lib in libraries] == [4, 1, 2] == gate.limits()
        assert [lib.set for lib in libraries] == [[1, 4], [], [1, 2]]

    def test_what_others_set_meanwhile_is_not_what_was_found(self):
        gate, lib = Gate([library := Library(4)]), library
        gate.enter()
        gate.enter()
        lib.num_threads = 3  # somebody else, while we are inside
        gate.leave()
        gate.leave()
        assert lib.num_threads == 4

    def test_a_fork_finds_it_open(self):
        gate = Gate([library := Library(4)])
        gate.enter()
        gate.reopen()
        assert library.num_threads == 4
        gate.leave()  # that of the frame which forked
        gate.enter()
        assert library.num_threads == 1
        gate.leave()
        assert library.num_threads == 4


class TestOneBlasThread:
    def test_it_is_one_and_comes_back(self, two_threads):
        with one_blas_thread():
            assert blas_limits() == {1}
            with one_blas_thread():
                pass
            assert blas_limits() == {1}
        assert blas_limits() == {2}

    def test_little_work_does_not_ask_for_it(self, two_threads):
        with one_blas_thread(NEVER_SHARED):
            assert blas_limits() == {2}
        with one_blas_thread(NEVER_SHARED + 1):
            assert blas_limits() == {1}

    def test_thin_panels_have_it(self, two_threads, monkeypatch):
        limits, qr = [], scipy.linalg.qr

        def watched(*args, **kwargs):
            limits.append(blas_limits())
            return qr(*args, **kwargs)

        monkeypatch.setattr(scipy.linalg, "qr", watched)
        A = np.add.outer(np.arange(6.0), np.arange(5.0))
        pinvlearn.SVD.from_factors(A, A[:4]).append_rows(A[:2, :4] ** 2)
        pinvlearn.partial_svd(*pinvlearn.as_triplets(A), A.shape, rank=1, max_epochs=2, rng=0)
        assert len(limits) == 5
        assert limits == 5 * [{1}]

    def test_after_an_error_too(self, two_threads):
        with pytest.raises(KeyboardInterrupt), one_blas_thread():
            raise KeyboardInterrupt
        assert blas_limits() == {2}

    def test_threads_that_overlap_leave_it_as_it_was(self, two_threads):
        """The first to leave must not open it, nor the last restore what the second had found."""
        inside, first_left = threading.Barrier(2, timeout=20), threading.Event()

        def first():
            with one_blas_thread():
                inside.wait()
            first_left.set()

        def second():
            with one_blas_thread():
                inside.wait()
                assert first_left.wait(20)
                return blas_limits()

        with ThreadPoolExecutor(2) as pool:
            early, late = pool.submit(first), pool.submit(second)
            early.result()
            assert late.result() == {1}
        assert blas_limits() == {2}

    def test_whoever_used_threadpoolctl_before(self, two_threads):
        """threadpoolctl ignores, in silence, all threads but the one that set a limit first."""
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: entered(blas_limits)).result() == {1}
        assert blas_limits() == {2}

    def test_many_threads_at_once(self, two_threads):
        def come_and_go(_):
            for _ in range(10):
                with one_blas_thread():
                    assert blas_limits() == {1}

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(come_and_go, range(8)))
        assert blas_limits() == {2}

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
    def test_a_forked_process_has_its_threads_back(self):
        """And a pool of its own: threads do not survive a fork."""
        script = """
            import os, threadpoolctl
            from pinvlearn._core.threads import in_parts, one_blas_thread
            limits = lambda: {lib["num_threads"] for lib in threadpoolctl.threadpool_info()}
            before, seen = limits(), []
            in_parts(lambda i, j: seen.append(i), 8, 8)
            with one_blas_thread():
                child = os.fork()
                if not child:
                    after = limits()
                    in_parts(lambda i, j: seen.append(i), 8, 8)
                    os._exit(0 if after == before and len(seen) == 16 else 1)
                _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), limits() == before)
        """
        env = os.environ | {"OPENBLAS_NUM_THREADS": "2", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            capture_output=True, text=True, env=env, timeout=60,
        )  # fmt: skip
        assert done.stdout.split() == ["0", "True"], done.stderr


def entered(function):
    with one_blas_thread():
        return function()


class TestAllowedThreads:
    def test_the_fewest_of_blas_and_processors(self, monkeypatch):
        for limit, processors, expected in ((2, 8, 2), (2, 1, 1), (1, 8, 1)):
            monkeypatch.setattr(threads, "processors", lambda count=processors: count)
            with blas_limited_to(limit):
                assert allowed_threads() == expected

    def test_a_gate_that_another_thread_closed_does_not_count(self, two_threads):
        with ThreadPoolExecutor(1) as pool, one_blas_thread():
            assert pool.submit(allowed_threads).result() == 2
            assert allowed_threads() == 2

    def test_a_worker_has_one(self, two_threads):
        with as_worker():
            assert allowed_threads() == 1
            assert blas_limits() == {1}
        assert allowed_threads() == 2
        assert list(in_threads(lambda _: allowed_threads(), range(3), 2)) == [1, 1, 1]
        assert list(in_threads(lambda _: allowed_threads(), range(3), 1)) == [1, 1, 1]

    def test_joblib_threads_have_one(self, two_threads):
        work = joblib.delayed(allowed_threads)
        assert joblib.Parallel(2, backend="threading")(work() for _ in range(2)) == [1, 1]
        assert allowed_threads() == 2

    def test_dask_threads_have_one(self, two_threads):
        distributed = pytest.importorskip("distributed")
        options = {"dashboard_address": "127.0.0.1:0", "processes": False, "memory_limit": 0}
        with (
            distributed.LocalCluster(n_workers=1, threads_per_worker=1, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            assert client.submit(allowed_threads, pure=False).result() == 1


class TestSharingOut:
    @pytest.mark.parametrize("parts", [1, 2, 7, 100])
    def test_every_part_once(self, two_threads, parts):
        seen = np.zeros(50)

        def add(first, last):
            seen[first:last] += 1

        in_parts(add, 50, parts)
        np.testing.assert_array_equal(seen, 1)
        in_parts(add, 0, parts)

    def test_two_threads_work_with_one_blas_thread_each(self, two_threads):
        meeting = threading.Barrier(2, timeout=20)

        def work(_):
            meeting.wait()  # passes only if two threads are here at once
            assert blas_limits() == {1}
            assert allowed_threads() == 1

        share_out(work, [(i,) for i in range(4)])

    def test_a_slow_thread_delays_its_own_part_alone(self, two_threads):
        mine = []

        def work(part):
            if part == 0:
                while len(mine) < 9:
                    time.sleep(1e-3)
            mine.append(part)

        share_out(work, [(i,) for i in range(10)])
        assert mine[-1] == 0

    @pytest.mark.parametrize("bad", [0, 9])
    def test_an_error_reaches_the_caller_and_ends_the_rest(self, two_threads, bad):
        done = []

        def work(part):
            if part == bad:
                raise ArithmeticError("part")
            done.append(part)
            time.sleep(1e-3)

        with pytest.raises(ArithmeticError, match="part"):
            share_out(work, [(i,) for i in range(1000)])
        assert len(done) < 900
        assert blas_limits() == {2}

    def test_work_that_shares_out_again_does_not_wait_for_itself(self, two_threads):
        counted = []

        def outer(i):
            in_parts(lambda first, last: counted.append(i), 4, 4)
            list(in_threads(lambda item: counted.append(i), range(3), 5))

        share_out(outer, [(i,) for i in range(6)])
        assert sorted(counted) == sorted(7 * list(range(6)))

    def test_many_callers_share_the_pool(self, two_threads):
        def call(i):
            total = np.zeros(20)

            def add(first, last):
                total[first:last] += i

            in_parts(add, 20, 20)
            return sum(in_threads(lambda x: x * i, range(10), 2)) + total.sum()

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(call, range(40))) == [65 * i for i in range(40)]

    def test_items_that_fail_come_after_what_was_before_them(self, two_threads):
        def items():
            yield from range(4)
            raise OSError("source")

        results = in_threads(lambda item: item, items(), 2)
        assert [next(results) for _ in range(4)] == list(range(4))
        with pytest.raises(OSError, match="source"):
            next(results)

    def test_results_that_nobody_wants_any_more_leave_no_limit(self, two_threads):
        results = in_threads(lambda item: item, range(10), 2)
        assert next(results) == 0
        assert blas_limits() == {1}
        results.close()
        assert blas_limits() == {2}


def test_entering_costs_little():
    """Counted, not timed: a gate that is entered already touches no library."""
    gate = Gate([library := Library(2)])
    gate.enter()
    library.set.clear()
    for _ in range(10):
        gate.enter()
        gate.leave()
    assert library.set == []
