"""What a process may use: of a machine as its files describe it, and of containers on it."""

import os
import threading

import pytest

from pinvlearn._core import machine
from pinvlearn._core.machine import (
    available_memory,
    idle_processors,
    processor_quota,
    processors,
)

GIB = 2**30


@pytest.fixture
def root(tmp_path):
    """A file system on which to put the files of a machine with 8 GiB free."""
    files = {
        "proc/meminfo": f"MemTotal:  16000000 kB\nMemAvailable: {8 * GIB // 1024} kB\n",
        "proc/loadavg": "0.50 0.40 0.30 1/300 4242",
    }
    return lambda **more: write(tmp_path, files | more)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def version_2(group, **files):
    """Files of one group of the one tree, and where this process is in it."""
    return {f"sys/fs/cgroup{group}/{name}": text for name, text in files.items()}


def memory_2(group, limit, used, cached=0):
    files = {
        "memory.max": f"{limit}\n",
        "memory.current": f"{used}\n",
        "memory.stat": f"anon 1\ninactive_file {cached}\n",
    }
    return version_2(group, **files)


def memory_1(group, limit, used, cached=0):
    files = {
        "memory.limit_in_bytes": f"{limit}\n",
        "memory.usage_in_bytes": f"{used}\n",
        "memory.stat": f"inactive_file 7\ntotal_inactive_file {cached}\n",
    }
    return {f"sys/fs/cgroup/memory{group}/{name}": text for name, text in files.items()}


class TestMemory:
    def test_the_machine_alone(self, root):
        assert available_memory(root()) == 8 * GIB

    @pytest.mark.parametrize("mount", ["", "/unified"])
    def test_version_2(self, root, mount):
        files = {"proc/self/cgroup": "0::/job\n"} | memory_2(
            f"{mount}/job", 4 * GIB, 3 * GIB, GIB // 2
        )
        assert available_memory(root(**files)) == 3 * GIB // 2

    def test_a_limit_of_a_group_above(self, root):
        files = {"proc/self/cgroup": "0::/pod/job\n"}
        files |= memory_2("/pod/job", "max", GIB) | memory_2("/pod", 2 * GIB, GIB)
        assert available_memory(root(**files)) == GIB

    def test_no_limit(self, root):
        files = {"proc/self/cgroup": "0::/job\n"} | memory_2("/job", "max", GIB)
        assert available_memory(root(**files)) == 8 * GIB

    def test_version_1(self, root):
        files = {"proc/self/cgroup": "4:memory:/job\n1:cpu,cpuacct:/\n"}
        files |= memory_1("/job", 4 * GIB, 3 * GIB, GIB)
        assert available_memory(root(**files)) == 2 * GIB

    def test_version_1_without_limit(self, root):
        files = {"proc/self/cgroup": "4:memory:/\n"} | memory_1("", 2**63 - 4096, GIB)
        assert available_memory(root(**files)) == 8 * GIB

    def test_a_path_that_only_the_host_sees(self, root):
        """Without a namespace of its own a container reads the host's path, and finds the top."""
        files = {"proc/self/cgroup": "4:memory:/docker/abc\n"} | memory_1("", 2 * GIB, GIB)
        assert available_memory(root(**files)) == GIB

    def test_a_group_beyond_its_limit_has_nothing_left(self, root):
        files = {"proc/self/cgroup": "0::/\n"} | memory_2("", GIB, 2 * GIB)
        assert available_memory(root(**files)) == 0

    def test_addresses_that_may_be_reserved(self, root):
        """``ulimit -v`` counts what is reserved, used or not."""
        files = {
            "proc/self/limits": f"Max address space  {3 * GIB}  {4 * GIB}  bytes\n",
            "proc/self/status": f"Name:\tpython\nVmSize:\t{GIB // 1024} kB\n",
        }
        assert available_memory(root(**files)) == 2 * GIB
        files["proc/self/limits"] = "Max address space  unlimited  unlimited  bytes\n"
        assert available_memory(root(**files)) == 8 * GIB

    def test_a_system_without_such_files(self, tmp_path, monkeypatch):
        pages = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
        monkeypatch.setattr(os, "sysconf", pages.__getitem__, raising=False)
        assert available_memory(tmp_path) == 40960
        monkeypatch.delattr(os, "sysconf")
        assert available_memory(tmp_path) is None

    def test_this_machine_says(self):
        memory = available_memory()
        assert memory is None or memory > 2**20


class TestProcessors:
    @pytest.fixture(autouse=True)
    def _eight(self, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
        monkeypatch.setattr(os, "cpu_count", lambda: 8)
        processor_quota.cache_clear()

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("max 100000", 8), ("400000 100000", 4), ("150000 100000", 2), ("20000 100000", 1)],
    )
    def test_version_2(self, root, text, expected):
        files = {"proc/self/cgroup": "0::/job\n"} | version_2("/job", **{"cpu.max": text})
        assert processors(root(**files)) == expected

    @pytest.mark.parametrize(("quota", "expected"), [("-1", 8), ("300000", 3), ("50000", 1)])
    def test_version_1(self, root, quota, expected):
        files = {"proc/self/cgroup": "2:cpu,cpuacct:/job\n"}
        names = {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000"}
        files |= {f"sys/fs/cgroup/cpu/job/{name}": text for name, text in names.items()}
        assert processors(root(**files)) == expected

    def test_the_least_of_all_groups(self, root):
        files = {"proc/self/cgroup": "0::/pod/job\n"}
        files |= version_2("/pod/job", **{"cpu.max": "400000 100000"})
        files |= version_2("/pod", **{"cpu.max": "200000 100000"})
        assert processor_quota(root(**files)) == 2.0

    def test_affinity(self, root, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
        assert processors(root()) == 1

    def test_systems_without_affinity(self, root, monkeypatch):
        monkeypatch.delattr(os, "sched_getaffinity")
        assert processors(root()) == 8

    @pytest.mark.parametrize(("running", "idle"), [(1, 8), (2, 7), (8, 1), (20, 1)])
    def test_those_that_nobody_else_uses(self, root, running, idle):
        assert idle_processors(root(**{"proc/loadavg": f"9 9 9 {running}/300 1"})) == idle

    @pytest.mark.parametrize(("states", "idle"), [("S", 6), ("R", 7), ("RSR", 8), ("RRRR", 8)])
    def test_workers_of_its_own_that_wait_for_more_are_nobody_else(self, root, states, idle):
        """BLAS's go on for a while after a product, and took the second core from what came."""
        tasks = {f"proc/self/task/{i}/stat": f"{i} (a) b) {s} 1 1" for i, s in enumerate(states)}
        ours = {f"proc/self/task/{threading.get_native_id()}/stat": "7 (python) R 1 1"}
        where = root(**{"proc/loadavg": "9 9 9 3/300 1"}, **tasks, **ours)
        assert idle_processors(where) == idle

    def test_the_load_where_there_is_no_such_file(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "getloadavg", lambda: (2.6, 9.0, 9.0))
        assert idle_processors(tmp_path) == 5

    @pytest.mark.parametrize(("others", "idle"), [(0.0, 2), (0.3, 2), (0.9, 1), (1.8, 1)])
    def test_those_that_this_process_is_held_to(self, root, monkeypatch, others, idle):
        """Others are as busy as can be; these are busy with this process and some others."""
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3}, raising=False)
        monkeypatch.setattr(os, "sysconf", lambda _: 100)
        clock = [0.0]

        def lines(own):
            busy = [round(100 * clock[0])] * 2 + [round(50 * (own + others * clock[0]))] * 2
            rows = [f"cpu{i} {ticks} 0 0 5 5 0 0 0 0 0" for i, ticks in enumerate(busy)]
            return {"proc/stat": "\n".join(["cpu 9 9 9 9 9 9 9 0 0 0", *rows]) + "\n"}

        def sleep(seconds):
            clock[0] += seconds
            root(**lines(clock[0]))

        monkeypatch.setattr(machine.time, "monotonic", lambda: clock[0])
        monkeypatch.setattr(machine.time, "sleep", sleep)
        times = os.times()
        monkeypatch.setattr(os, "times", lambda: type(times)((clock[0], 0.0, 0.0, 0.0, 0.0)))
        where = root(**lines(0.0))
        sleep(10.0)
        machine._seen.clear()
        assert machine._taken({2, 3}, where) is not None
        sleep(2.0)
        assert idle_processors(where) == idle
        assert idle_processors(where) == idle  # what was found a moment ago

    def test_processors_of_which_nothing_is_told(self, root, monkeypatch):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3}, raising=False)
        assert idle_processors(root(**{"proc/loadavg": "9 9 9 3/300 1"})) == 2
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
        assert idle_processors(root()) == 1

    def test_this_machine_has_one(self):
        assert machine.processors() >= 1
