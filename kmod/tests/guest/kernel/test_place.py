# SPDX-License-Identifier: GPL-2.0-only
"""Placing tasks: CPUs and memory policy as asked, the originals back afterwards, in every way out."""

import os
import signal

import driver
import mempolicy as mpol
import pytest
from driver import refusal, write

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def own_policy_back():
    yield
    mpol.set_own(mpol.DEFAULT)


def cpus(tid: int) -> set[int]:
    return os.sched_getaffinity(tid)


def placement(tid: int) -> dict[str, str]:
    return next((p for p in driver.records("placements") if int(p["tid"]) == tid), {})


def test_place_process_and_restore_pos(target):
    t = target("anon", 4, threads=2)
    before = {tid: cpus(tid) for tid in t.tids()}
    assert len(before) == 3
    write("place", f"pid={t.pid} cpus=2-3\n")
    assert all(cpus(tid) == {2, 3} for tid in t.tids())
    shown = placement(t.pid)
    assert (shown["cpus"], shown["saved_cpus"], shown["comm"]) == ("2-3", "0-3", "target")
    assert (shown["mem"], shown["saved_mem"]) == ("-", "-")
    write("restore", f"pid={t.pid}\n")
    assert {tid: cpus(tid) for tid in t.tids()} == before
    assert placement(t.pid) == {}


def test_place_node_pos(target):
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=node:1")
    assert cpus(t.pid) == {2, 3}


def test_place_one_thread_pos(target):
    t = target("anon", 4, threads=1)
    other = next(tid for tid in t.tids() if tid != t.pid)
    write("place", f"pid={other} threads=one cpus=1")
    assert cpus(other) == {1}
    assert cpus(t.pid) == {0, 1, 2, 3}
    write("restore", f"tid={other}")
    assert cpus(other) == {0, 1, 2, 3}


def test_restore_gives_the_first_original(target):
    t = target("anon", 4)
    os.sched_setaffinity(t.pid, {0, 1, 2})
    write("place", f"pid={t.pid} cpus=0")
    write("place", f"pid={t.pid} cpus=1")
    assert cpus(t.pid) == {1}
    write("restore", "all")
    assert cpus(t.pid) == {0, 1, 2}


def test_restore_leaves_later_choice_of_user(target):
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=0")
    os.sched_setaffinity(t.pid, {3})
    before = driver.stats()["kept_by_user"]
    write("restore", f"pid={t.pid}")
    assert cpus(t.pid) == {3}
    assert driver.stats()["kept_by_user"] == before + 1


def test_place_policy_pos(target):
    t = target("anon", 4, threads=1)
    os.sched_setaffinity(t.pid, {0})
    mpol.set_own(mpol.BIND, 0b10)
    write("place", f"pid={t.pid} mem=caller")
    assert t.ask("policy") == "2 2"
    assert t.ask("thread-policy 0") == "2 2"
    assert t.where("fresh 64") == {"1": 64}
    assert placement(t.pid)["mem"] == "bind:1"
    assert placement(t.pid)["saved_mem"] == "default"
    write("restore", f"pid={t.pid}")
    assert t.ask("policy") == "0 0"
    assert t.ask("thread-policy 0") == "0 0"
    assert t.where("fresh 64") == {"0": 64}


def test_place_interleave_pos(target):
    t = target("anon", 4)
    mpol.set_own(mpol.INTERLEAVE, 0b11)
    write("place", f"pid={t.pid} mem=caller cpus=0")
    assert t.where("fresh 64") == {"0": 32, "1": 32}
    mpol.set_own(mpol.DEFAULT)
    write("place", f"pid={t.pid} mem=caller")
    assert t.ask("policy") == "0 0"
    assert t.where("fresh 64") == {"0": 64}


def test_restore_gives_the_first_policy(target):
    t = target("anon", 4, wrap=("numactl", "--preferred=1"))
    before = t.ask("policy")
    assert before == "1 2"
    for mode, nodes in ((mpol.BIND, 1), (mpol.INTERLEAVE, 3), (mpol.DEFAULT, 0)) * 3:
        mpol.set_own(mode, nodes)
        write("place", f"pid={t.pid} mem=caller")
    assert t.ask("policy") == "0 0"
    write("restore", "all")
    assert t.ask("policy") == before


def test_place_policy_of_stopped_task(target):
    """It cannot run anything for us: a write that waited for it would end with EBUSY."""
    t = target("anon", 4)
    os.kill(t.pid, signal.SIGSTOP)
    mpol.set_own(mpol.BIND, 0b10)
    write("place", f"pid={t.pid} mem=caller cpus=1")
    os.kill(t.pid, signal.SIGCONT)
    assert t.ask("policy") == "2 2"
    os.kill(t.pid, signal.SIGSTOP)
    write("restore", "all")
    os.kill(t.pid, signal.SIGCONT)
    assert t.ask("policy") == "0 0"
    assert cpus(t.pid) == {0, 1, 2, 3}


def test_place_children_inherit(target):
    t = target("anon", 4)
    mpol.set_own(mpol.BIND, 0b10)
    write("place", f"pid={t.pid} cpus=2 mem=caller inherit=1")
    child, thread = int(t.ask("fork")), int(t.ask("thread"))
    for tid in (child, thread):
        assert cpus(tid) == {2}
        assert placement(tid)["mem"] == "bind:1"
        assert placement(tid)["saved_cpus"] == "0-3"
    write("restore", "all")
    for tid in (t.pid, child, thread):
        assert cpus(tid) == {0, 1, 2, 3}
    assert driver.records("placements") == []
    os.kill(child, signal.SIGKILL)


def test_place_children_do_not_inherit(target):
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=2 inherit=0")
    child = int(t.ask("fork"))
    assert driver.eventually(lambda: cpus(child) == {0, 1, 2, 3})
    assert driver.eventually(lambda: placement(child) == {})
    assert cpus(t.pid) == {2}
    os.kill(child, signal.SIGKILL)


def test_place_survives_exec(target):
    t = target("anon", 4)
    write("place", f"pid={t.pid} cpus=3")
    t.ask("exec")
    assert cpus(t.pid) == {3}
    write("restore", f"pid={t.pid}")
    assert cpus(t.pid) == {0, 1, 2, 3}


def test_place_ended_task_leaves_nothing(target):
    t = target("anon", 4, threads=2)
    mpol.set_own(mpol.BIND, 0b10)
    write("place", f"pid={t.pid} cpus=1 mem=caller")
    t.stop()
    assert driver.eventually(lambda: driver.records("placements") == [])


def test_unload_restores_everything(target):
    """Fifty tasks, CPUs and memory policy, given back when the module goes."""
    processes = [target("anon", 1) for _ in range(5)]
    for t in processes:
        for _ in range(9):
            t.ask("thread")
    tids = [tid for t in processes for tid in t.tids()]
    assert len(tids) == 50
    for i, tid in enumerate(tids):
        os.sched_setaffinity(tid, {i % 4, (i + 1) % 4})
    before = {tid: (cpus(tid), mpol.of(tid)) for tid in tids}
    mpol.set_own(mpol.INTERLEAVE, 0b11)
    for t in processes:
        write("place", f"pid={t.pid} cpus=node:1 mem=caller")
    assert {mpol.of(tid) for tid in tids} == {"interleave:0-1"}
    assert all(cpus(tid) <= {2, 3} for tid in tids)
    os.kill(processes[0].pid, signal.SIGSTOP)
    assert driver.unload() == 0
    os.kill(processes[0].pid, signal.SIGCONT)
    assert {tid: (cpus(tid), mpol.of(tid)) for tid in tids} == before
    assert all(t.ask("policy") == "0 0" for t in processes)


def test_place_cpus_go_offline(target):
    """A task whose CPUs all go away runs on elsewhere; that choice of the kernel is left alone."""
    t = target("anon", 4)
    os.sched_setaffinity(t.pid, {0, 1})
    write("place", f"pid={t.pid} cpus=3")
    with open("/sys/devices/system/cpu/cpu3/online", "w", encoding="ascii") as online:
        online.write("0")
    try:
        assert t.is_whole()
        assert cpus(t.pid) - {3}
        assert refusal("place", f"pid={t.pid} cpus=3") == "EINVAL"
    finally:
        with open("/sys/devices/system/cpu/cpu3/online", "w", encoding="ascii") as online:
            online.write("1")
    write("restore", f"pid={t.pid}")
    assert t.is_whole()
    assert placement(t.pid) == {}


NO_PLACES = [
    ("pid={pid}", "EINVAL"),
    ("pid={pid} cpus=", "EINVAL"),
    ("pid={pid} cpus=4-7", "EINVAL"),
    ("pid={pid} cpus=9999999", "EINVAL"),
    ("pid={pid} cpus=0-3:1/2", "EINVAL"),
    ("pid={pid} cpus=all", "EINVAL"),
    ("pid={pid} cpus=-1", "EINVAL"),
    ("pid={pid} cpus=node:", "EINVAL"),
    ("pid={pid} cpus=node:7", "ENODEV"),
    ("pid={pid} cpus=node:99999", "ENODEV"),
    ("pid={pid} cpus=0 mem=bind", "EINVAL"),
    ("pid={pid} cpus=0 threads=two", "EINVAL"),
    ("pid={pid} cpus=0 inherit=2", "EINVAL"),
    ("pid={pid} cpus=0 cpus=1", "EINVAL"),
    ("cpus=0", "EINVAL"),
    ("pid=0 cpus=0", "EINVAL"),
    ("pid=-1 cpus=0", "EINVAL"),
    ("pid=4194305 cpus=0", "ESRCH"),
    ("pid=2147483648 cpus=0", "EINVAL"),
    ("pid=2 cpus=0", "EINVAL"),
]


def test_place_neg(target):
    t = target("anon", 1)
    got = [(line, refusal("place", line.format(pid=t.pid))) for line, _ in NO_PLACES]
    assert got == NO_PLACES
    assert cpus(t.pid) == {0, 1, 2, 3}
    assert driver.records("placements") == []


def test_place_kernel_thread_neg():
    name = "ksoftirqd/0"
    pid = next(int(p) for p in os.listdir("/proc") if p.isdigit()
               and open(f"/proc/{p}/comm", encoding="ascii").read().strip() == name)
    before = cpus(pid)
    assert refusal("place", f"pid={pid} cpus=1") == "EINVAL"
    assert cpus(pid) == before


def test_place_deadline_task_neg(target):
    t = target("anon", 1)
    assert os.system(f"chrt --deadline --sched-runtime 1000000 --sched-deadline 10000000 "
                     f"--sched-period 10000000 -p 0 {t.pid}") == 0
    assert refusal("place", f"pid={t.pid} cpus=1") == "EBUSY"
    assert cpus(t.pid) == {0, 1, 2, 3}


def test_restore_neg():
    lines = [("pid=1 all", "EINVAL"), ("all=1", "EINVAL"), ("everything", "EINVAL"),
             ("pid=4194305", "ESRCH"), ("tid=4194305", "ESRCH")]
    assert [(line, refusal("restore", line)) for line, _ in lines] == lines
