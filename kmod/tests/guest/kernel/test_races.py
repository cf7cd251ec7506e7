# SPDX-License-Identifier: GPL-2.0-only
"""Targets that end, execute, fork and unmap during placements and moves."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import cgroup
import driver
import mempolicy as mpol
import pytest
from driver import refusal


@pytest.fixture(autouse=True)
def own_policy_back():
    yield
    mpol.set_own(mpol.DEFAULT)


def lost_tasks() -> int:
    """Objects for tasks that are in no process."""
    alive = 0
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            alive += len(os.listdir(f"/proc/{pid}/task"))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return driver.slab_objects("task_struct") - alive


def short_lived() -> subprocess.Popen:
    return subprocess.Popen(["/bin/true"])


def test_race_with_exit():
    """At any moment of its end: done, or no such process, and nothing is kept."""
    seen = set()
    for i in range(60):
        process = short_lived()
        if i % 3 == 0:
            time.sleep(0.001 * (i % 10))
        seen.add(refusal("place", f"pid={process.pid} cpus=0-1"))
        seen.add(refusal("migrate", f"pid={process.pid} from=any to=1"))
        process.wait()
    assert seen <= {"", "ESRCH"}
    assert driver.eventually(lambda: driver.records("placements") == [])


def test_race_zombie_neg():
    process = short_lived()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert refusal("migrate", f"pid={process.pid} from=any to=1") == "ESRCH"
    assert refusal("place", f"pid={process.pid} cpus=0") == "ESRCH"
    process.wait()


def test_race_with_fork(target):
    """Children of a placed process are all under control or all restored."""
    t = target("anon", 4)
    stop = threading.Event()
    children = []

    def breed():
        while not stop.is_set():
            children.append(int(t.ask("fork")))
            if len(children) > 40:
                os.kill(children.pop(0), signal.SIGKILL)

    thread = threading.Thread(target=breed)
    thread.start()
    for i in range(30):
        mpol.set_own(mpol.BIND, 1 + i % 2)
        driver.write("place", f"pid={t.pid} mem=caller" + " cpus=2" * (i % 3 > 0))
        driver.write("place", f"pid={t.pid} mem=caller" + " cpus=1" * (i % 3 > 1))
        driver.write("restore", "all")
    stop.set()
    thread.join()
    driver.write("restore", "all")
    assert driver.eventually(lambda: driver.records("placements") == [])
    for child in children:
        assert (os.sched_getaffinity(child), mpol.of(child)) == ({0, 1, 2, 3}, "default")
        os.kill(child, signal.SIGKILL)


@contextmanager
def spawning(target: driver.Target, n: int):
    """The target starts n threads meanwhile; whether it has not started all of them yet."""
    thread = threading.Thread(target=lambda: [target.ask("thread") for _ in range(n)])
    thread.start()
    try:
        yield thread.is_alive
    finally:
        thread.join()


def test_race_with_new_threads(target):
    """A thread that starts while its process is placed is placed as well."""
    t = target("anon", 4)
    with spawning(t, 40) as still:
        driver.write("place", f"pid={t.pid} cpus=1")  # also where all have started before
        while still():
            driver.write("place", f"pid={t.pid} cpus=1")
    assert all(os.sched_getaffinity(tid) == {1} for tid in t.tids())
    before = driver.stats()["restored"]
    driver.write("restore", f"pid={t.pid}")
    assert driver.records("placements") == []
    assert driver.stats()["restored"] - before == len(t.tids())  # one record for each
    assert all(os.sched_getaffinity(tid) == {0, 1, 2, 3} for tid in t.tids())


def test_race_with_new_threads_and_policies(target):
    """Threads that start while their process is given other policies have the last one."""
    t = target("anon", 4)
    node = 0
    with spawning(t, 60) as still:
        more = True
        while more:
            more = still()  # where all have started before, once
            node = 1 - node
            mpol.set_own(mpol.BIND, 1 << node)
            driver.write("place", f"pid={t.pid} cpus=1 mem=caller")
    assert {mpol.of(tid) for tid in t.tids()} == {f"bind:{node}"}
    assert {placed["mem"] for placed in driver.records("placements")} == {f"bind:{node}"}
    driver.write("restore", f"pid={t.pid}")
    assert driver.records("placements") == []
    assert {mpol.of(tid) for tid in t.tids()} == {"default"}


FORKS = "while :; do sleep 1000 & sleep 0.02; done"


@contextmanager
def forking(n: int):
    """Shells that start a child after the other, which all stay; their pids."""
    shells = [subprocess.Popen(["sh", "-c", FORKS], start_new_session=True) for _ in range(n)]
    try:
        yield [shell.pid for shell in shells]
    finally:
        for shell in shells:
            os.killpg(shell.pid, signal.SIGKILL)
            shell.wait()


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


def members(sessions: list[int]) -> list[int]:
    found = []
    for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
        with suppress(ProcessLookupError, FileNotFoundError):
            if os.getsid(pid) in sessions and is_alive(pid):
                found.append(pid)
    return found


def seen(pid: int) -> tuple[set[int], str]:
    """While it executes a program it has no stack to show the policy of."""
    with suppress(StopIteration):
        return os.sched_getaffinity(pid), mpol.of(pid)
    return set(), ""


SLEEPERS = """
import sys, threading, time
threading.stack_size(65536)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(600):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
"""


@contextmanager
def placed_sleepers(words: str):
    """A process of many threads that are forked placed: to restore them takes a while, as each gets a policy of its own."""
    with subprocess.Popen([sys.executable, "-c", SLEEPERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        mpol.set_own(mpol.BIND, 2)
        driver.write("place", f"pid={process.pid} {words}")
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        yield


@pytest.mark.parametrize("how", ["restore", pytest.param("unload", marks=pytest.mark.full("the same wait by another way"))])
@pytest.mark.long("hundreds of processes")
def test_race_of_many_forks_with_one_restore(how):
    """A child that is forked while other tasks are restored is restored as well, and the wait for it ends."""
    words = "cpus=2-3 mem=caller inherit=1"
    mpol.set_own(mpol.INTERLEAVE, 3)
    with forking(12) as shells, placed_sleepers(words):
        for pid in shells:
            driver.write("place", f"pid={pid} {words}")
        assert driver.eventually(lambda: len(driver.records("placements")) > 650, 120)
        if how == "restore":
            driver.write("restore", "all")
        else:
            subprocess.run(["rmmod", "numaplace"], check=True, timeout=120)
        for pid in shells:
            os.kill(pid, signal.SIGSTOP)
        if how == "restore":
            assert driver.eventually(lambda: driver.records("placements") == [], 60)
        own = ({0, 1, 2, 3}, "interleave:0-1")
        assert driver.eventually(lambda: all(seen(pid) == own for pid in members(shells)), 60)
        assert len(members(shells)) > 40


def test_race_with_mappings(target):
    """Mappings come and go under a move; what stays is whole."""
    t = target("anon", 512)
    stop = threading.Event()

    def remap():
        while not stop.is_set():
            t.ask("churn 64")

    thread = threading.Thread(target=remap)
    thread.start()
    moved = 0
    for i in range(20):
        reply = driver.migrate(f"pid={t.pid} from=any to={(i + 1) % 2}")
        assert reply["error"] == "0"
        moved += int(reply["moved"])
    stop.set()
    thread.join()
    assert moved > 10 * 512
    assert t.is_whole()


@pytest.mark.long("two hundred programs")
def test_race_with_exec():
    """Programs that execute others while their pages move: old pages or none, and no harm to the new program."""
    shell = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i+1)); done"])
    seen, children = set(), set()
    while shell.poll() is None:
        seen.add(refusal("migrate", f"pid={shell.pid} from=any to=1"))
        for child in Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text().split():
            children.add(child)
            seen.add(refusal("migrate", f"pid={child} from=any to=1"))
            seen.add(refusal("place", f"pid={child} cpus=1"))
    assert shell.returncode == 0
    assert seen <= {"", "ESRCH"}
    assert len(children) > 10, "too few were met"
    assert driver.eventually(lambda: driver.records("placements") == [])


def with_number(pid: int, start) -> subprocess.Popen | driver.Target:
    """Something that start() starts, under a number that was another's."""
    for _ in range(100):
        Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1), encoding="ascii")
        later = start()
        if later.pid == pid:
            return later
        getattr(later, "stop", getattr(later, "kill", None))()
    raise AssertionError(f"number {pid} is not given out again")


def test_race_pid_is_not_a_later_process(target):
    """A placement and a move belong to the task, not to its number."""
    first = target("anon", 2048)
    driver.write("place", f"pid={first.pid} cpus=1")
    moving = driver.Moving(first.pid)
    assert driver.eventually(lambda: first.where().get("1", 0) > 0)
    first.stop()
    ended = moving.wait()
    later = with_number(first.pid, lambda: target("anon", 2048))
    assert os.sched_getaffinity(later.pid) == {0, 1, 2, 3}
    assert refusal("restore", f"pid={later.pid}") == "ESRCH"
    assert int(ended["errno"]) == errno.ESRCH
    assert later.where() == {"0": 2048}
    assert driver.eventually(lambda: driver.records("placements") == [])


@pytest.mark.full("a thousand processes; test_race_with_exit has a hundred")
def test_race_a_thousand_that_exit(target):
    """Each ends while it is written to, at another moment, and nothing of it stays behind."""
    t = target("anon", 16)
    mpol.set_own(mpol.BIND, 2)
    driver.write("place", f"pid={t.pid} cpus=0-2 mem=caller")
    before = driver.settled(lost_tasks), driver.settled_objects("numa_policy")
    seen = Counter()
    life = 1000  # us for which a child sleeps; below 0: for so long no write to it
    for i in range(1000):
        child = int(t.ask(f"brief {max(life, 0)}"))
        time.sleep(max(-life, 0) / 1e6)
        errors = (refusal("place", f"pid={child} cpus=0-1 threads=one mem=caller"),
                  refusal("place", f"pid={child} cpus={i % 3}"),
                  refusal("migrate", f"pid={child} from=any to={i % 2}"))
        seen.update(errors)
        # On a machine of any speed some writes come before the end and some after it.
        life += 100 * (errors.count("ESRCH") - errors.count(""))
    assert set(seen) == {"", "ESRCH"} and min(seen.values()) > 50, seen
    assert driver.eventually(lambda: len(driver.records("placements")) == 1)
    assert driver.eventually(lambda: lost_tasks() <= before[0]), (before, lost_tasks())
    assert driver.eventually(lambda: driver.slab_objects("numa_policy") <= before[1]), before


def test_race_frozen_target(target):
    """A frozen control group does not make a write wait for ever."""
    group = "/sys/fs/cgroup/numaplace-test"
    os.mkdir(group)
    try:
        t = target("anon", 64, threads=1)
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write(str(t.pid))
        with open(f"{group}/cgroup.freeze", "w", encoding="ascii") as freeze:
            freeze.write("1")
        assert driver.eventually(lambda: "frozen 1" in open(f"{group}/cgroup.events", encoding="ascii").read())
        assert t.move("0", 1)["moved"] == "64"
        mpol.set_own(mpol.BIND, 1)
        driver.write("place", f"pid={t.pid} cpus=1 mem=caller")
        assert {mpol.of(tid) for tid in t.tids()} == {"bind:0"}
        with open(f"{group}/cgroup.freeze", "w", encoding="ascii") as freeze:
            freeze.write("0")
        assert t.ask("policy") == t.ask("thread-policy 0") == "2 1"
        driver.write("restore", "all")
        assert t.ask("policy") == t.ask("thread-policy 0") == "0 0"
        assert t.where() == {"1": 64}
        assert t.ask("counters") == "ok"
        t.stop()
    finally:
        assert driver.eventually(lambda: cgroup.is_removed(Path(group)), 60)


def test_race_frozen_in_its_sleep(target, tmp_path):
    """The freezer of version 1 stops a task wherever it sleeps: what it may be using there is left alone."""
    subprocess.run(["mount", "-t", "cgroup", "-o", "freezer", "freezer", tmp_path], check=True)
    group = tmp_path / "numaplace-test"
    group.mkdir()
    t = target("anon", 4)
    try:
        (group / "tasks").write_text(str(t.pid))
        (group / "freezer.state").write_text("FROZEN")
        assert driver.eventually(lambda: (group / "freezer.state").read_text() == "FROZEN\n")
        mpol.set_own(mpol.BIND, 2)
        assert refusal("place", f"pid={t.pid} cpus=1 mem=caller") == "EBUSY"
        assert (os.sched_getaffinity(t.pid), mpol.of(t.pid)) == ({0, 1, 2, 3}, "default")
        (group / "freezer.state").write_text("THAWED")
        driver.write("place", f"pid={t.pid} cpus=1 mem=caller")
        assert mpol.of(t.pid) == "bind:1"
    finally:
        (group / "freezer.state").write_text("THAWED")
        t.stop()
        assert driver.eventually(lambda: cgroup.is_removed(group), 60)
        subprocess.run(["umount", tmp_path], check=True)
