# SPDX-License-Identifier: GPL-2.0-only
"""A restored task has its former CPUs and policy, whatever changed meanwhile; no write waits for another's task."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import cgroup
import driver
import mempolicy as mpol
import pytest
from driver import refusal, write
from stuck import Write

ALL = {0, 1, 2, 3}
BIG = 120000  # small pages; a fork that copies them takes longer than anything here waits


@pytest.fixture(autouse=True)
def own_policy_back():
    yield
    mpol.set_own(mpol.DEFAULT)


def placement(tid: int) -> dict[str, str]:
    return next((p for p in driver.records("placements") if int(p["tid"]) == tid), {})


@contextmanager
def small_pages():
    """Memory that is touched first in here has small pages."""
    knob = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    before = re.search(r"\[(\w+)\]", knob.read_text())[1]
    knob.write_text("never")
    yield
    knob.write_text(before)


class Forking:
    """A fork of a large process that is in progress."""

    def __init__(self, t: driver.Target, took: float):
        self.thread = threading.Thread(target=self.run, args=(t,))
        self.thread.start()
        time.sleep(took / 6)  # in the middle of it, as far as can be told from outside

    def run(self, t: driver.Target):
        self.child = int(t.ask("fork"))

    def end(self) -> int:
        self.thread.join()
        return self.child


def time_of_fork(t: driver.Target) -> float:
    begin = time.monotonic()
    os.kill(int(t.ask("fork")), signal.SIGKILL)
    return time.monotonic() - begin


@pytest.mark.parametrize("act", ["restore", "place-again", "unload"])
def test_exact_during_a_long_fork(target, act):
    """The child is forked with what its parent had when the fork began."""
    with small_pages():
        t = target("anon", BIG)
    took = time_of_fork(t)
    print(f"a fork takes {took:.3f} s")
    for _ in range(3):
        write("place", f"pid={t.pid} cpus=1")
        fork = Forking(t, took)
        if act == "unload":
            assert driver.unload() == 0
            assert driver.load() == 0
        else:
            if act == "place-again":
                write("place", f"pid={t.pid} cpus=2")
            write("restore", "all")
        child = fork.end()
        if act == "place-again":
            write("restore", "all")
        assert driver.eventually(lambda: os.sched_getaffinity(child) == ALL)
        assert os.sched_getaffinity(t.pid) == ALL
        assert driver.eventually(lambda: driver.records("placements") == [])
        os.kill(child, signal.SIGKILL)


def test_exact_policy_is_the_targets_own(target):
    """A change of the writer's cpuset does not change the target's nodes, nor the other way round."""
    t = target("anon", 4)
    with cgroup.group(cpuset_mems="0-1") as g:
        go, done = os.pipe()
        writer = os.fork()
        if writer == 0:
            try:
                g.add(os.getpid())
                mpol.set_own(mpol.BIND, 2)
                write("place", f"pid={t.pid} mem=caller")
                os.write(done, b"+")
                signal.pause()
            finally:
                os._exit(1)
        os.close(done)
        assert os.read(go, 1) == b"+"
        os.close(go)
        assert t.ask("policy") == "2 2"
        g.set("cpuset.mems", "0")
        assert mpol.of(writer) == "bind:0"
        assert t.ask("policy") == "2 2"
        assert placement(t.pid)["mem"] == "bind:1"
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
    write("restore", "all")
    assert t.ask("policy") == "0 0"


def test_exact_threads_have_policies_of_their_own(target):
    """Also where they have the same original: no two tasks share what the kernel changes in place."""
    before = driver.settled_objects("numa_policy")
    t = target("anon", 1, threads=2)
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={t.pid} mem=caller")
    assert driver.slab_objects("numa_policy") >= before + 3
    t.stop()
    mpol.set_own(mpol.DEFAULT)
    assert driver.eventually(lambda: driver.slab_objects("numa_policy") <= before)


def test_exact_now_is_shown(target):
    """CPUs that differ from those that were set are shown beside them."""
    t = target("anon", 4)
    mpol.set_own(mpol.BIND, 2)
    with cgroup.group(cpuset_mems="0-1") as g:
        g.add(t.pid)
        write("place", f"pid={t.pid} cpus=2 mem=caller")
        assert not {"now_cpus", "now_mem"} & set(placement(t.pid))
        os.sched_setaffinity(t.pid, {3})
        g.set("cpuset.mems", "0")
        shown = placement(t.pid)
        assert (shown["cpus"], shown["now_cpus"]) == ("2", "3")
        assert (shown["mem"], shown["now_mem"]) == ("bind:1", "bind:0")
        t.stop()


@pytest.mark.long("the module waits 15 s for a task")
def test_exact_a_stuck_task_blocks_nobody(target, stuck):
    """While a write waits for it, others place and restore; it is restored when it returns to user mode."""
    t = target("anon", 4)
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={stuck.pid} mem=caller")
    stuck.wait_for_child()
    errors = []
    waiter = threading.Thread(target=lambda: errors.append(refusal("restore", f"pid={stuck.pid}")))
    waiter.start()
    n = 0
    while waiter.is_alive():
        write("place", f"pid={t.pid} cpus=1")
        write("restore", f"pid={t.pid}")
        n += waiter.is_alive()
    assert errors == ["EBUSY"]
    assert n > 20, n
    assert placement(stuck.pid)["mem"] == "bind:1"
    assert refusal("place", f"pid={stuck.pid} cpus=1") == ""
    assert refusal("place", f"pid={stuck.pid} mem=caller") == "EBUSY"
    stuck.go_on()
    assert driver.eventually(lambda: driver.records("placements") == [])
    assert (os.sched_getaffinity(stuck.pid), mpol.of(stuck.pid)) == (ALL, "default")


@pytest.mark.parametrize("stuck", [3], indirect=True)
def test_exact_a_later_restore_holds(stuck):
    """Also where the write comes while an earlier one still waits for one of the threads."""
    mpol.set_own(mpol.BIND, 2)
    stuck.wait_for_child()
    errors = []
    placer = threading.Thread(target=lambda: errors.append(refusal("place", f"pid={stuck.pid} cpus=2 mem=caller")))
    placer.start()
    assert driver.eventually(lambda: placement(stuck.pid).get("cpus") == "2")
    write("restore", f"pid={stuck.pid}")
    placer.join()
    assert errors == [""]
    stuck.go_on()
    assert driver.eventually(lambda: driver.records("placements") == [])
    assert {(tuple(os.sched_getaffinity(tid)), mpol.of(tid)) for tid in driver.tids_of(stuck.pid)} == \
        {((0, 1, 2, 3), "default")}


@pytest.mark.parametrize("stuck", [3], indirect=True)
def test_exact_a_later_restore_of_a_new_thread_holds(stuck):
    """Also where the record of the thread has gone before the write that waits looks for threads again."""
    mpol.set_own(mpol.BIND, 2)
    stuck.wait_for_child()
    before = set(driver.tids_of(stuck.pid))
    first = Write("place", f"pid={stuck.pid} cpus=2 mem=caller")
    # All four: a thread that one without a record starts has none until the write goes on.
    assert driver.eventually(lambda: [one["cpus"] for one in driver.records("placements")] == ["2"] * 4)
    stuck.start_thread()
    assert driver.eventually(lambda: len(driver.records("placements")) == 5)
    new, = set(driver.tids_of(stuck.pid)) - before
    write("restore", f"tid={new}")
    assert driver.eventually(lambda: len(driver.records("placements")) == 4)
    stuck.go_on()
    assert first.end() == ""
    assert has(new) == (ALL, "default")
    assert {tid: has(tid) for tid in before} == dict.fromkeys(before, ({2}, "bind:1"))
    write("restore", "all")


def has(pid: int) -> tuple[set[int], str]:
    return os.sched_getaffinity(pid), mpol.of(pid)


def allocated() -> int:
    """Objects of the sizes that a few words and a set of CPUs can have."""
    return driver.slab_objects("kmalloc-32") + driver.slab_objects("kmalloc-2k")


def test_exact_a_stuck_task_is_placed_again_and_again(stuck):
    """What it had before is kept for its child, once."""
    stuck.wait_for_child()
    write("place", f"pid={stuck.pid} cpus=1")
    before = allocated()
    for i in range(2000):  # each with two objects, where others come and go by some hundred
        write("place", f"pid={stuck.pid} cpus={2 - i % 2}")
    assert driver.eventually(lambda: allocated() < before + 1000, 20), (before, allocated())
    stuck.go_on()
    write("restore", f"pid={stuck.pid}")


def test_exact_later_cpus_leave_the_policy_to_come(stuck):
    """A write about CPUs alone drops no policy that an earlier one still waits for."""
    mpol.set_own(mpol.BIND, 2)
    stuck.wait_for_child()
    first = Write("place", f"pid={stuck.pid} mem=caller")
    assert driver.eventually(lambda: placement(stuck.pid) != {})
    write("place", f"pid={stuck.pid} cpus=1")
    assert first.waits()
    stuck.go_on()
    assert first.end() == ""
    assert has(stuck.pid) == ({1}, "bind:1")
    write("restore", f"pid={stuck.pid}")
    assert has(stuck.pid) == (ALL, "default")


def test_exact_later_cpus_stay_where_the_earlier_policy_fails(stuck):
    mpol.set_own(mpol.BIND, 2)
    stuck.wait_for_child()
    first = Write("place", f"pid={stuck.pid} mem=caller")
    assert driver.eventually(lambda: placement(stuck.pid) != {})
    write("place", f"pid={stuck.pid} cpus=1")
    assert first.end() == "EBUSY"
    assert placement(stuck.pid)["cpus"] == "1"
    stuck.go_on()
    assert has(stuck.pid) == ({1}, "default")
    write("restore", f"pid={stuck.pid}")
    assert has(stuck.pid) == (ALL, "default")


def test_exact_later_cpus_leave_the_policy_to_be_restored(stuck):
    """A restore that has begun ends as it reports, though others give the task CPUs meanwhile."""
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={stuck.pid} cpus=2 mem=caller")
    stuck.wait_for_child()
    first = Write("restore", f"pid={stuck.pid}")
    assert driver.eventually(lambda: os.sched_getaffinity(stuck.pid) == ALL)
    write("place", f"pid={stuck.pid} cpus=1")
    assert first.waits()
    stuck.go_on()
    assert first.end() == ""
    assert has(stuck.pid) == ({1}, "default")
    assert {key: placement(stuck.pid)[key] for key in ("cpus", "mem")} == {"cpus": "1", "mem": "-"}
    write("restore", f"pid={stuck.pid}")
    assert driver.eventually(lambda: driver.records("placements") == [])
    assert has(stuck.pid) == (ALL, "default")


def test_exact_each_restore_waits_for_the_policy(stuck):
    """A second one that comes to the same task does not end the first."""
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={stuck.pid} cpus=2 mem=caller")
    stuck.wait_for_child()
    first = Write("restore", f"pid={stuck.pid}")
    assert driver.eventually(lambda: os.sched_getaffinity(stuck.pid) == ALL)
    second = Write("restore", "all")
    assert second.waits()
    assert first.waits()
    stuck.go_on()
    assert (first.end(), second.end()) == ("", "")
    assert has(stuck.pid) == (ALL, "default")


# Its main thread starts a thread, whose number is to be written to a page that nobody serves.
STARTING = """
import ctypes, fcntl, mmap, struct
libc = ctypes.CDLL(None, use_errno=True)
page = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
stack = ctypes.create_string_buffer(65536)
uffd = libc.syscall(323, 0)
fcntl.ioctl(uffd, 0xc018aa3f, struct.pack("3Q", 0xaa, 0, 0))  # UFFDIO_API
fcntl.ioctl(uffd, 0xc020aa00, struct.pack("4Q", address, 4096, 1, 0))  # UFFDIO_REGISTER, missing pages
# CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM and PARENT_SETTID
libc.syscall(56, ctypes.c_ulong(0x150f00), ctypes.c_void_p(ctypes.addressof(stack) + 65536), ctypes.c_void_p(address),
             None, None)
"""


def test_exact_a_thread_that_does_not_start_blocks_nobody():
    """Nor does it keep the module."""
    with subprocess.Popen([sys.executable, "-c", STARTING]) as process:
        try:
            assert driver.eventually(lambda: len(driver.tids_of(process.pid)) == 2)
            begin = time.monotonic()
            place = Write("place", f"pid={process.pid} cpus=1")
            place.thread.join(15)
            assert not place.thread.is_alive()
            assert place.error == "EBUSY"
            assert 4 < time.monotonic() - begin < 10
            assert driver.records("placements") == []
            assert has(process.pid) == (ALL, "default")
        finally:
            process.kill()
    assert driver.unload() == 0


def test_exact_unload_can_be_interrupted(stuck):
    """It logs the task that it waits for; when it is interrupted the module goes, and that task keeps its placement."""
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={stuck.pid} mem=caller")
    stuck.wait_for_child()
    log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    os.lseek(log, 0, os.SEEK_END)

    def said(words: str) -> bool:
        try:
            return words in os.read(log, 8192).decode()
        except BlockingIOError:
            return False

    rmmod = subprocess.Popen(["rmmod", "numaplace"])
    assert driver.eventually(lambda: said(f"rmmod waits for task {stuck.pid} ("))
    assert rmmod.poll() is None
    rmmod.send_signal(signal.SIGINT)
    rmmod.wait(30)
    assert driver.eventually(lambda: not driver.is_loaded())
    assert driver.eventually(lambda: said(f"task {stuck.pid} ("))
    os.close(log)
    stuck.go_on()
    assert mpol.of(stuck.pid) == "bind:1"


def test_exact_unload_waits_for_a_stuck_task(stuck):
    mpol.set_own(mpol.BIND, 2)
    write("place", f"pid={stuck.pid} cpus=2 mem=caller")
    stuck.wait_for_child()
    rmmod = subprocess.Popen(["rmmod", "numaplace"])
    assert driver.eventually(lambda: os.sched_getaffinity(stuck.pid) == ALL)
    stuck.go_on()
    assert rmmod.wait(30) == 0
    assert (os.sched_getaffinity(stuck.pid), mpol.of(stuck.pid)) == (ALL, "default")


VHOST = """
import fcntl, os, sys
print("ready", flush=True)
sys.stdin.readline()
fcntl.ioctl(os.open("/dev/vhost-net", os.O_RDWR), 0xaf01)  # VHOST_SET_OWNER
print("on", flush=True)
sys.stdin.readline()
"""


@pytest.mark.skipif(driver.RELEASE < (6, 4), reason="vhost's workers are threads of the process since Linux 6.4")
def test_exact_worker_of_vhost(target):
    """The worker is forked without sched_process_fork, and inherits CPUs and policy of the placed process."""
    if subprocess.run(["modprobe", "vhost_net"], check=False).returncode:
        assert "-numaplace-" in os.uname().release, "Debian's kernels have vhost_net"
        pytest.skip("the debug kernel is built without vhost_net")
    with subprocess.Popen([sys.executable, "-c", VHOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        assert process.stdout.readline() == "ready\n"
        mpol.set_own(mpol.BIND, 2)
        write("place", f"pid={process.pid} cpus=2 mem=caller")
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "on\n"
        tids = driver.tids_of(process.pid)
        assert len(tids) == 2
        assert {(tuple(os.sched_getaffinity(tid)), mpol.of(tid)) for tid in tids} == {((2,), "bind:1")}
        write("restore", f"pid={process.pid}")
        assert {(tuple(os.sched_getaffinity(tid)), mpol.of(tid)) for tid in tids} == {((0, 1, 2, 3), "default")}
        assert driver.eventually(lambda: driver.records("placements") == [])


# So many threads sleep, each with CPUs of its own.
MANY = """
import os, sys, threading
threading.stack_size(65536)
n, on = int(sys.argv[1]), threading.Event()
ready = threading.Semaphore(0)
def run(i):
    os.sched_setaffinity(0, {i % 4, (i + 1) % 4})
    ready.release()
    on.wait()
for i in range(n):
    threading.Thread(target=run, args=(i,), daemon=True).start()
for i in range(n):
    ready.acquire()
print("ready", flush=True)
sys.stdin.readline()
"""


def place_all(pid: int, tids: list[int]):
    """By one write; one by one where they do not all return to user mode in the module's time limit."""
    if error := refusal("place", f"pid={pid} cpus=2-3 mem=caller"):
        assert error == "EBUSY"
        assert driver.eventually(lambda: driver.records("placements") == [], 120)
        write("place", f"pid={pid} cpus=2-3")
        for tid in tids:
            write("place", f"pid={tid} threads=one mem=caller")


def restore_all():
    """Those that do not return to user mode in time are restored as soon as they do."""
    if error := refusal("restore", "all"):
        assert error == "EBUSY"
        assert driver.eventually(lambda: driver.records("placements") == [], 120)


@pytest.mark.full("two thousand processes; fewer are in the tests beside it")
def test_exact_two_thousand_tasks():
    """Each has its own CPUs again. The times are printed."""
    mpol.set_own(mpol.DEFAULT)
    process = subprocess.Popen([sys.executable, "-c", MANY, "2000"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        tids = [int(tid) for tid in os.listdir(f"/proc/{process.pid}/task")]
        assert len(tids) == 2001
        before = {tid: os.sched_getaffinity(tid) for tid in tids}
        mpol.set_own(mpol.BIND, 2)
        times = [time.monotonic()]
        place_all(process.pid, tids)
        times.append(time.monotonic())
        shown = driver.records("placements")
        assert len(shown) == 2001
        assert all(p["mem"] == "bind:1" and set(p["cpus"]) <= set("2-3") for p in shown)
        times.append(time.monotonic())
        restore_all()
        times.append(time.monotonic())
        place, show, restore = (b - a for a, b in zip(times, times[1:]))
        print(f"2001 tasks: placed in {place:.2f} s, shown in {show:.2f} s, restored in {restore:.2f} s")
        assert driver.records("placements") == []
        assert {tid: os.sched_getaffinity(tid) for tid in tids} == before
        assert all(mpol.of(tid) == "default" for tid in tids[::50])
    finally:
        process.kill()
        process.communicate()
