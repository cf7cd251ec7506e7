# SPDX-License-Identifier: GPL-2.0-only
"""Moves while the process, other moves and the kernel change the same pages."""

import errno
import os
import re
import select
import threading
from contextlib import contextmanager
from pathlib import Path

import cgroup
import driver
import pagemap
import pytest
from driver import counts

PAGES = 256
MADV_PAGEOUT = 21


def answered(t) -> bool:
    return bool(select.select([t.process.stdout], [], [], 0)[0])


def jobs_until_answer(t, words: str, least: int = 4, most: int = 400, extra: str = "") -> int:
    """Jobs between two nodes, one after the other, while the target runs its command. Returns the pages moved: a few
    jobs may each meet a child that shares all of them."""
    t.tell(words)
    done = moved = 0
    while done < least or (not moved and done < most) or not answered(t):
        reply = t.move("any", (done + 1) % 2, extra)
        assert reply["error"] == "0"
        moved += int(reply["moved"])
        done += 1
        if answered(t) and (done < least or (not moved and done < most)):
            assert t.answer() == "ok"
            t.tell(words)
    assert t.answer() == "ok"
    return moved


@pytest.mark.parametrize("how", ["dontneed", "unmap", "remap", "protect", "fork"])
@pytest.mark.parametrize("extra", ["shared=1", ""])
def test_disturbed_by_the_process(target, how, extra):
    """The target checks every page each time: none has old, lost or another's contents."""
    t = target("anon", PAGES)
    assert jobs_until_answer(t, f"disturb {how} 12", extra=extra) > 0
    assert t.is_whole()


@pytest.mark.long("two movers hold up the faults of the target")
def test_disturbed_by_faults_of_many_threads(target):
    """Threads that fault pages in, and count in all of them, while jobs go both ways."""
    t = target("anon", 64, threads=2)
    moving = [driver.Moving(t.pid, t.range(), nodes) for nodes in ((0, 1), (1, 0))]
    moved = driver.stats()["moved"]
    for _ in range(4):
        t.ask("churn 16")
    assert all(one.end()["errno"] == str(errno.EINTR) for one in moving)
    assert driver.stats()["moved"] > moved
    assert t.ask("halt").startswith("ok ")
    assert t.is_whole()


@contextmanager
def settings(**values):
    """Settings of the kernel, restored afterwards."""
    knobs = {
        "balancing": "/proc/sys/kernel/numa_balancing",
        "scan_delay": "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms",
        "scan_period": "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
        "scan_period_max": "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
        "khugepaged": "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs",
    }
    paths = {Path(knobs[name]): value for name, value in values.items()}
    before = {path: path.read_text() for path in paths}
    try:
        for path, value in paths.items():
            path.write_text(value)
        yield
    finally:
        for path, value in before.items():
            path.write_text(value)


def cpus_of_node(node: int) -> set[int]:
    return {int(path.name[3:]) for path in Path(f"/sys/devices/system/node/node{node}").glob("cpu[0-9]*")}


def run_on_node(t, node: int):
    for tid in t.tids():
        os.sched_setaffinity(tid, cpus_of_node(node))


def taken_back(t) -> int:
    """Pages that NUMA balancing has moved for the threads of a target."""
    texts = (Path(f"/proc/{t.pid}/task/{tid}/sched").read_text() for tid in t.tids())
    return sum(int(re.search(r"^numa_pages_migrated\s*:\s*(\d+)", text, re.MULTILINE)[1]) for text in texts)


@pytest.mark.long("jobs until it has acted")
def test_disturbed_by_numa_balancing(target):
    """The kernel takes pages back to where their threads run, while jobs take them away."""
    t = target("anon", 64, threads=2)
    assert t.ask("unbind") == "ok"
    run_on_node(t, 1)
    moved = 0
    with settings(balancing="1", scan_delay="10", scan_period="10", scan_period_max="20"):
        for _ in range(4):
            before = taken_back(t)
            replies = [t.move("any", i % 2) for i in range(9)]
            assert all(reply["error"] == "0" for reply in replies)
            moved += sum(int(reply["moved"]) for reply in replies)
            t.move("any", 0)  # the last of the jobs may have been one to node 1
            assert driver.eventually(lambda: taken_back(t) > before, 60), "the kernel took no page back"
    assert moved > 0
    assert t.ask("halt").startswith("ok ")
    assert t.is_whole()


@pytest.mark.long("jobs until both have acted")
def test_disturbed_by_compaction_and_khugepaged(target):
    with settings(khugepaged="0"):
        t = target("thp", 1024)
        t.ask("readers 1")
        moved = 0
        for i in range(4):
            before = driver.stats()["moved"]
            moving = driver.Moving(t.pid, f"{t.range()} split=1", ((i + 1) % 2, i % 2))
            Path("/proc/sys/vm/compact_memory").write_text("1")
            assert moving.end()["errno"] == str(errno.EINTR)
            moved += driver.stats()["moved"] - before
        assert moved > 0
        assert t.ask("read").startswith("ok ")
        assert sum(t.where().values()) == 1024
        assert t.is_whole()


@contextmanager
def moved_by_call(t, pages: int):
    """move_pages(2) moves them there and back meanwhile."""
    ended = threading.Event()

    def move():
        while not ended.is_set():
            for node in (1, 0):
                pagemap.move(t.pid, t.start, pages, node, pagemap.MPOL_MF_MOVE_ALL)
    mover = threading.Thread(target=move)
    mover.start()
    try:
        yield
    finally:
        ended.set()
        mover.join()


@pytest.mark.parametrize("kind, pages, words, left", [("memfd", 512, "files=0", "file"), ("forked", 512, "", "shared")])
def test_pages_that_are_on_the_move_are_not_taken(target, kind, pages, words, left):
    """Those that are not to move do not, also where the kernel is just moving them."""
    t = target(kind, pages)
    with moved_by_call(t, pages):
        counted = [counts(t.move("any", i % 2, words)) for i in range(300)]
    assert not any(found.get("moved") for found in counted)
    assert any(found.get(left) for found in counted)
    assert t.is_whole()


@pytest.mark.skipif(driver.MOVES_WHOLE, reason="they move whole on this kernel")
def test_a_huge_page_that_is_on_the_move_is_not_broken_up(target):
    t = target("thp", 512)
    with moved_by_call(t, 512):
        counted = [counts(t.move("any", i % 2)) for i in range(100)]
    assert not any(found.get("moved") for found in counted)
    assert pagemap.smaps(t.pid, t.start)["AnonHugePages"] == 2048
    assert t.is_whole()


@pytest.fixture
def group():
    """A control group of its own with a limit to its memory."""
    parent = Path("/sys/fs/cgroup")
    (parent / "cgroup.subtree_control").write_text("+memory")
    path = parent / "numaplace-test-memory"
    path.mkdir()
    yield path
    assert driver.eventually(lambda: cgroup.is_removed(path), 60)


def anon_bytes_on_node_1(group) -> int:
    lines = (group / "memory.numa_stat").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("anon ")).split("N1=")[1])


FEW_PAGES = 256 << 10   # what the target needs to answer, far below the 8 MiB that a second charge would be


def test_disturbed_by_a_limit_of_memory(target, group):
    """A process that has all the memory it may have: its pages move, are charged to it once, no process is killed."""
    t = target("anon", 1)
    (group / "cgroup.procs").write_text(str(t.pid))
    own = target("hole", 2048, wrap=("sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"))
    own.ask("touch 0 2048")
    used = int((group / "memory.current").read_text())
    (group / "memory.max").write_text(str(used + FEW_PAGES))
    assert int(own.move("any", 1)["moved"]) == 2048
    assert own.where() == {"1": 2048}
    assert abs(int((group / "memory.current").read_text()) - used) < 1 << 20
    assert "oom_kill 0" in (group / "memory.events").read_text()
    assert own.is_whole()
    # The kernel gathers these counts from its CPUs every two seconds.
    assert driver.eventually(lambda: anon_bytes_on_node_1(group) >= 2048 * 4096, 30)
    own.stop()
    t.stop()
