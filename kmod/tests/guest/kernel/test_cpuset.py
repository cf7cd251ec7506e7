# SPDX-License-Identifier: GPL-2.0-only
"""Tasks in a cpuset: never placed or restored outside of it, also when it changes meanwhile."""

import errno
import os
import subprocess
import time
from pathlib import Path

import cgroup
import driver
import mempolicy as mpol
import pytest
from driver import refusal, write
from stuck import Write


@pytest.fixture(autouse=True)
def own_policy_back():
    yield
    mpol.set_own(mpol.DEFAULT)


def cpus(tid: int) -> set[int]:
    return os.sched_getaffinity(tid)


def mems(tid: int) -> str:
    with open(f"/proc/{tid}/status", encoding="ascii") as status:
        return next(line.split()[1] for line in status if line.startswith("Mems_allowed_list"))


def test_cpuset_cpus_outside_neg(target):
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-1") as g:
        g.add(t.pid)
        assert cpus(t.pid) == {0, 1}
        assert refusal("place", f"pid={t.pid} cpus=2") == "EINVAL"
        assert refusal("place", f"pid={t.pid} cpus=node:1") == "EINVAL"
        assert cpus(t.pid) == {0, 1}
        assert driver.records("placements") == []


def test_cpuset_cpus_partly_outside(target):
    """As sched_setaffinity(2): those inside are given, and shown."""
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-1") as g:
        g.add(t.pid)
        write("place", f"pid={t.pid} cpus=1-3")
        assert cpus(t.pid) == {1}
        assert driver.records("placements")[0]["cpus"] == "1"
        write("restore", "all")
        assert cpus(t.pid) == {0, 1}


def test_cpuset_cpus_that_the_task_had_not(target):
    """Its cpuset is the limit, not the affinity that it has just now."""
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-2") as g:
        g.add(t.pid)
        os.sched_setaffinity(t.pid, {0})
        write("place", f"pid={t.pid} cpus=2")
        assert cpus(t.pid) == {2}
        write("restore", "all")
        assert cpus(t.pid) == {0}


def test_cpuset_shrinks_to_what_we_gave(target):
    """The mask equals the one that was set, but the task's saved CPUs are outside of the cpuset now."""
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-3") as g:
        g.add(t.pid)
        write("place", f"pid={t.pid} cpus=2-3")
        g.set("cpuset.cpus", "2-3")
        write("restore", "all")
        assert cpus(t.pid) == {2, 3}
        g.set("cpuset.cpus", "0-3")
        assert cpus(t.pid) == {0, 1, 2, 3}


def test_cpuset_shrinks_away_from_what_we_gave(target):
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-3") as g:
        g.add(t.pid)
        write("place", f"pid={t.pid} cpus=2-3")
        g.set("cpuset.cpus", "0-1")
        assert cpus(t.pid) == {0, 1}
        write("restore", "all")
        assert cpus(t.pid) == {0, 1}


def test_cpuset_left_and_entered(target):
    """A placed task that is moved to another control group is that group's from then on."""
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=2-3")
    with cgroup.group(cpuset_cpus="2-3") as g:
        g.add(t.pid)
        write("restore", "all")
        assert cpus(t.pid) == {2, 3}


def given(place, asked: str) -> set[int] | None:
    """The CPUs of a task that was just placed; None where that was refused."""
    try:
        return place(asked)
    except OSError as error:
        assert error.errno == errno.EINVAL
        return None


@pytest.mark.parametrize("asked, expected", [("2", None), ("2-3", None), ("1-3", {1}), ("0-1", {0, 1})])
def test_cpuset_partition_takes_cpus_from_the_root(target, asked, expected):
    """A task of the root's control group gets none of them, as by sched_setaffinity(2)."""
    t = target("anon", 4)
    cgroup.Group(cgroup.ROOT).add(t.pid)

    def by_module(words: str) -> set[int]:
        write("place", f"pid={t.pid} cpus={words}")
        return cpus(t.pid)

    def by_call(words: str) -> set[int]:
        first, _, last = words.partition("-")
        os.sched_setaffinity(t.pid, range(int(first), int(last or first) + 1))
        return cpus(t.pid)

    with cgroup.group(cpuset_cpus="2-3") as g:
        g.set("cpuset.cpus.partition", "isolated")
        assert g.get("cpuset.cpus.partition") == "isolated"
        assert cpus(t.pid) == {0, 1}
        assert given(by_module, asked) == expected
        write("restore", "all")
        assert cpus(t.pid) == {0, 1}
        assert given(by_call, asked) == expected


def test_cpuset_partition_that_is_made_after_a_placement(target):
    """The kernel gives the task what it was placed on."""
    t = target("anon", 4)
    cgroup.Group(cgroup.ROOT).add(t.pid)
    write("place", f"pid={t.pid} cpus=0-1")
    with cgroup.group(cpuset_cpus="2-3") as g:
        g.set("cpuset.cpus.partition", "isolated")
        write("restore", "all")
        assert cpus(t.pid) == {0, 1}


def test_cpuset_of_the_root_has_cpus_that_are_offline(target):
    t = target("anon", 4)
    cgroup.Group(cgroup.ROOT).add(t.pid)
    online = Path("/sys/devices/system/cpu/cpu3/online")
    write("place", f"pid={t.pid} cpus=0")
    online.write_text("0")
    try:
        write("restore", "all")
        assert cpus(t.pid) == {0, 1, 2}
    finally:
        online.write_text("1")
    assert cpus(t.pid) == {0, 1, 2, 3}


@pytest.fixture
def version_1(tmp_path):
    """The cpusets of version 1, with a group of CPUs 0-1. Asked for before a target, which is to be reaped first."""
    mount = ["mount", "-t", "cgroup", "-o", "cpuset", "numaplace-test", tmp_path]
    # An option (CPUSETS_V1) from 6.12 on, which Debian leaves out.
    if driver.RELEASE >= (6, 12) and " cpuset1_" not in Path("/proc/kallsyms").read_text():
        pytest.skip("this kernel has no cpusets of version 1")
    assert driver.eventually(lambda: subprocess.run(mount, capture_output=True, check=False).returncode == 0, 5), mount
    g = cgroup.Group(tmp_path / "numaplace-test")
    g.path.mkdir()
    g.set("cpuset.cpus", "0-1")
    g.set("cpuset.mems", "0-1")
    yield g
    assert driver.eventually(lambda: cgroup.is_removed(g.path), 60)

    def is_unmounted() -> bool:
        """A hierarchy ends with its mount only once the kernel has freed its groups: else it is mounted again."""
        subprocess.run(["umount", tmp_path], check=True)
        ended = driver.eventually(lambda: "cpuset" in (cgroup.ROOT / "cgroup.controllers").read_text().split(), 1)
        if not ended:
            subprocess.run(mount, check=True)
        return ended

    assert driver.eventually(is_unmounted, 60)


def test_cpuset_of_version_1_is_refused_neg(version_1, target):
    """Its CPUs cannot be read."""
    t = target("anon", 4)
    version_1.add(t.pid)
    assert refusal("place", f"pid={t.pid} cpus=0") == "EINVAL"
    assert cpus(t.pid) == {0, 1}
    assert driver.records("placements") == []


def test_cpuset_of_version_1_entered_by_a_placed_task(version_1, target):
    """It is not taken out of it, though it has the CPUs that it was placed on."""
    t = target("anon", 4)
    cgroup.Group(cgroup.ROOT).add(t.pid)
    write("place", f"pid={t.pid} cpus=0")
    before = driver.stats()["kept_by_user"]
    version_1.set("cpuset.cpus", "0")
    version_1.add(t.pid)
    write("restore", "all")
    assert cpus(t.pid) == {0}
    assert driver.stats()["kept_by_user"] == before + 1


def open_files() -> int:
    return int(Path("/proc/sys/fs/file-nr").read_text().split()[0])


@pytest.mark.parametrize("stuck", [400], indirect=True)
def test_cpuset_of_many_threads_is_one_file(stuck):
    """While a write waits, it holds no file for each thread."""
    mpol.set_own(mpol.BIND, 2)
    with cgroup.group(cpuset_cpus="0-2") as g:
        g.add(stuck.pid)
        stuck.wait_for_child()
        before = open_files()
        begin = time.monotonic()
        first = Write("place", f"pid={stuck.pid} cpus=1-3 mem=caller")
        assert driver.eventually(lambda: len(driver.records("placements")) == 401, 120)
        assert open_files() < before + 400
        stuck.go_on()
        error = first.end()
        # After 5 s, which the threads have together, the write fails and each of them has its CPUs again.
        assert error == "" or error == "EBUSY" and time.monotonic() - begin > 5
        wanted = (0, 1, 2) if error else (1, 2)
        assert driver.eventually(lambda: {tuple(cpus(tid)) for tid in driver.tids_of(stuck.pid)} == {wanted}, 120)
        write("restore", "all")
        stuck.process.kill()


def test_cpuset_unload_keeps_to_it(target):
    t = target("anon", 4)
    with cgroup.group(cpuset_cpus="0-3") as g:
        g.add(t.pid)
        write("place", f"pid={t.pid} cpus=1-2")
        g.set("cpuset.cpus", "1-2")
        assert driver.unload() == 0
        assert cpus(t.pid) == {1, 2}


def test_cpuset_mems_outside_neg(target):
    t = target("anon", 64)
    with cgroup.group(cpuset_mems="0") as g:
        g.add(t.pid)
        assert mems(t.pid) == "0"
        assert refusal("migrate", f"pid={t.pid} from=0 to=1") == "EACCES"
        mpol.set_own(mpol.BIND, 2)
        assert refusal("place", f"pid={t.pid} mem=caller") == "EACCES"
        mpol.set_own(mpol.INTERLEAVE, 3)
        assert refusal("place", f"pid={t.pid} mem=caller cpus=1") == "EACCES"
        assert t.ask("policy") == "0 0"
        assert cpus(t.pid) == {0, 1, 2, 3}
        assert t.where() == {"0": 64}
        assert driver.records("placements") == []


def test_cpuset_mems_shrink_while_moving(target):
    """The move ends at the next batch, and nothing goes to the node that is lost."""
    t = target("anon", 4096, threads=1)
    with cgroup.group(cpuset_mems="0-1") as g:
        g.add(t.pid)
        moving = driver.Moving(t.pid, t.range())
        assert driver.eventually(lambda: t.where().get("1", 0) > 0)
        g.set("cpuset.mems", "0")
        assert moving.wait()["errno"] == str(errno.EACCES)
        # The cpuset's own move may have passed by what the last batch was moving: once more, without a move.
        g.set("cpuset.mems", "0-1")
        g.set("cpuset.mems", "0")
        assert driver.eventually(lambda: t.where() == {"0": 4096})  # moved back by the cpuset
        assert t.is_whole()
        assert t.ask("counters") == "ok"


def test_cpuset_mems_shrink_while_placed(target):
    """A restored policy is the saved one; where that names no node of the cpuset, the cpuset decides."""
    t = target("anon", 4, wrap=("numactl", "--membind=0"))
    with cgroup.group(cpuset_mems="0-1") as g:
        g.add(t.pid)
        assert t.ask("policy") == "2 1"
        mpol.set_own(mpol.BIND, 2)
        write("place", f"pid={t.pid} mem=caller")
        g.set("cpuset.mems", "1")
        assert t.ask("policy") == "2 2"
        write("restore", "all")
        assert t.ask("policy") == "2 1"
        assert t.where("fresh 16") == {"1": 16}
        g.set("cpuset.mems", "0-1")
        g.set("cpuset.mems", "0")
        assert t.where("fresh 16") == {"0": 16}
