# SPDX-License-Identifier: GPL-2.0-only
"""Targets that end, execute, fork and unmap while they are acted upon."""

import errno
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import driver
from driver import refusal


def short_lived() -> subprocess.Popen:
    return subprocess.Popen(["/bin/true"])


def test_race_with_exit():
    """Whatever moment it ends at: done, or no such process, and nothing is kept."""
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
    assert driver.eventually(lambda: all(j["state"] != "running" for j in driver.records("jobs")))


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
    for _ in range(10):
        driver.write("place", f"pid={t.pid} cpus=2")
        time.sleep(0.05)
        driver.write("restore", "all")
    stop.set()
    thread.join()
    driver.write("restore", "all")
    assert driver.eventually(lambda: driver.records("placements") == [])
    for child in children:
        assert os.sched_getaffinity(child) == {0, 1, 2, 3}
        os.kill(child, signal.SIGKILL)


def test_race_with_new_threads(target):
    """A thread that starts while its process is placed is placed as well."""
    t = target("anon", 4)
    done = threading.Event()

    def spawn():
        for _ in range(40):
            t.ask("thread")
        done.set()

    thread = threading.Thread(target=spawn)
    thread.start()
    while not done.is_set():
        driver.write("place", f"pid={t.pid} cpus=1")
    thread.join()
    assert all(os.sched_getaffinity(tid) == {1} for tid in t.tids())
    driver.write("restore", f"pid={t.pid}")
    assert all(os.sched_getaffinity(tid) == {0, 1, 2, 3} for tid in t.tids())


def test_race_with_mappings(target):
    """Mappings come and go under a job; what stays is whole."""
    t = target("anon", 512)
    stop = threading.Event()

    def remap():
        while not stop.is_set():
            t.ask("churn 64")

    thread = threading.Thread(target=remap)
    thread.start()
    for i in range(20):
        reply = driver.migrate(f"pid={t.pid} from=any to={i % 2}")
        assert reply["state"] == "done"
    stop.set()
    thread.join()
    assert t.is_whole()


def test_race_with_exec():
    """Programs that execute others while their pages move: old pages or none, never a new program's harm."""
    shell = subprocess.Popen(["sh", "-c", "i=0; while [ $i -lt 60 ]; do /bin/true; i=$((i+1)); done"])
    seen = set()
    while shell.poll() is None:
        error = refusal("migrate", f"pid={shell.pid} from=any to=1")
        seen.add(error)
        for line in os.popen(f"pgrep -P {shell.pid}"):
            seen.add(refusal("migrate", f"pid={line.strip()} from=any to=1"))
            seen.add(refusal("place", f"pid={line.strip()} cpus=1"))
    assert shell.returncode == 0
    assert seen <= {"", "ESRCH", "EBUSY"}
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
    """A placement and a job belong to the task, not to its number."""
    first = target("anon", 2048)
    driver.write("place", f"pid={first.pid} cpus=1")
    number = driver.start_job(f"pid={first.pid} from=0 to=1 rate_mib=1")
    assert driver.eventually(lambda: driver.job(number)["moved"] != "0")
    first.stop()
    later = with_number(first.pid, lambda: target("anon", 2048))
    assert os.sched_getaffinity(later.pid) == {0, 1, 2, 3}
    assert refusal("restore", f"pid={later.pid}") == "ESRCH"
    ended = driver.wait_job(number)
    assert (ended["state"], int(ended["error"])) == ("failed", errno.ESRCH)
    assert later.where() == {"0": 2048}
    assert driver.eventually(lambda: driver.records("placements") == [])


def test_race_a_thousand_that_exit(target):
    """Each ends while it is written to, at another moment, and no number stays behind."""
    t = target("anon", 16)
    before = driver.slab_objects("pid"), driver.slab_objects("task_struct")
    seen = Counter()
    for i in range(1000):
        child = int(t.ask(f"brief {i % 10 * 300}"))
        seen[refusal("place", f"pid={child} cpus=0-1")] += 1
        seen[refusal("migrate", f"pid={child} from=any to={i % 2}")] += 1
    assert set(seen) <= {"", "ESRCH"} and min(seen.values()) > 50, seen
    assert driver.eventually(lambda: driver.records("placements") == [])
    assert driver.eventually(lambda: all(j["state"] not in ("queued", "running") for j in driver.records("jobs")), 30)

    def are_back() -> bool:
        return driver.slab_objects("pid") < before[0] + 200 and driver.slab_objects("task_struct") < before[1] + 50
    assert driver.eventually(are_back, 30), (before, driver.slab_objects("pid"), driver.slab_objects("task_struct"))


def test_race_frozen_target(target):
    """A frozen control group does not make anybody wait for ever."""
    group = "/sys/fs/cgroup/numaplace-test"
    os.mkdir(group)
    try:
        t = target("anon", 64, threads=1)
        with open(f"{group}/cgroup.procs", "w", encoding="ascii") as procs:
            procs.write(str(t.pid))
        with open(f"{group}/cgroup.freeze", "w", encoding="ascii") as freeze:
            freeze.write("1")
        assert driver.eventually(lambda: "frozen 1" in open(f"{group}/cgroup.events", encoding="ascii").read())
        assert t.move("0", 1, "pause=always")["moved"] == "64"
        begin = time.monotonic()
        assert refusal("place", f"pid={t.pid} cpus=1 mem=caller") in ("", "EBUSY")
        assert time.monotonic() - begin < 15
        with open(f"{group}/cgroup.freeze", "w", encoding="ascii") as freeze:
            freeze.write("0")
        driver.write("restore", "all")
        assert t.where() == {"1": 64}
        assert t.ask("counters") == "ok"
        t.stop()
    finally:
        assert driver.eventually(lambda: open(f"{group}/cgroup.procs", encoding="ascii").read() == "")
        os.rmdir(group)
