# SPDX-License-Identifier: GPL-2.0-only
"""
Everything at once: tasks start, fork, execute and end by the thousand, are stopped and killed, and change
cpusets, while others place and restore them, with CPUs and memory policy. At the end every task has what it had.

NUMAPLACE_TORTURE_S says for how many seconds, and without it nothing is done; what is drawn follows from
NUMAPLACE_TORTURE_SEED.
"""

import os
import random
import signal
import subprocess
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

import cgroup
import driver
import mempolicy as mpol
import pytest
import torture_engines

SECONDS = float(os.environ.get("NUMAPLACE_TORTURE_S", "0"))
SEED = int(os.environ.get("NUMAPLACE_TORTURE_SEED", "1"))
STORM = driver.TOP / "build" / "tests" / "storm"
ALL = {0, 1, 2, 3}
# What the tasks of a storm have by themselves: CPUs, memory policy as numactl takes it and as the kernel shows it.
STORMS = [(ALL, (), "default"), ({0, 2}, ("--preferred=1",), "prefer:1"),
          ({1, 2, 3}, ("--interleave=all",), "interleave:0-1")]
ENGINES = [torture_engines.Module, torture_engines.ToolByModule, torture_engines.ToolBySyscall]
ROUND_S = 6
ENOUGH_S = 120            # more than was asked, until enough was done, however slow the machine is
ACTORS = ("place 0", "place 1", "restore 0", "restore 1", "signal", "change")
SLOW = 2                  # times in twenty seconds that a task may need more than 5 s to come by, as on a busy host
GONE = (ProcessLookupError, FileNotFoundError)
FUTEX = "202"


def start(group: cgroup.Group, number: int, cpus: set[int], wrap: tuple) -> subprocess.Popen:
    argv = ["numactl", *wrap] if wrap else []

    def begin():
        group.add(os.getpid())  # which gives it the group's CPUs
        os.sched_setaffinity(0, cpus)

    return subprocess.Popen([*argv, str(STORM), str(SEED + number)], preexec_fn=begin)


def system_call(pid: int) -> str:
    """The number of the one that a process sleeps in; other words if it does not."""
    try:
        return Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0]
    except GONE:
        return "ended"


def members(groups: list[cgroup.Group]) -> list[int]:
    return [int(pid) for group in groups for pid in group.get("cgroup.procs").split()]


class Storms:
    """The actors, each a thread with random numbers of its own."""

    def __init__(self, engine, groups: list[cgroup.Group], changing: cgroup.Group):
        self.engine = engine
        self.groups, self.changing = groups, changing
        self.over = threading.Event()
        self.seen: dict[str, Counter] = {name: Counter() for name in ACTORS}
        self.draws = {name: random.Random(f"{SEED} {name}") for name in ACTORS}
        self.errors: list[BaseException] = []

    def act(self, name: str, once):
        draw = self.draws[name]
        try:
            while not self.over.is_set():
                pids = members([*self.groups, self.changing])
                if draw.random() < self.engine.share_of_first:
                    pids = [storm.pid for storm in self.first]
                self.seen[name][once(draw, draw.choice(pids)) if pids else "nobody"] += 1
        except BaseException as error:  # shown by the test
            self.errors.append(error)

    def signal(self, draw: random.Random, pid: int) -> str:
        kept = {storm.pid for storm in self.first}
        with suppress(*GONE):
            if draw.random() < 0.3 and pid not in kept:
                os.kill(pid, signal.SIGKILL)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(draw.random() / 100)
            os.kill(pid, signal.SIGCONT)
        return ""

    def change(self, draw: random.Random, _pid: int) -> str:
        self.changing.set("cpuset.cpus", draw.choice(["0-3", "0-1", "2-3", "1"]))
        self.changing.set("cpuset.mems", draw.choice(["0-1", "0", "1"]))
        driver.records("placements")
        time.sleep(draw.random() / 50)
        return ""

    def rage(self, storms: list[subprocess.Popen]):
        """One round, after which all tasks that are there sleep, and none comes or goes."""
        self.first = storms
        self.over.clear()
        actions = (self.engine.place, self.engine.place, self.engine.restore, self.engine.restore,
                   self.signal, self.change)
        threads = [threading.Thread(target=self.act, args=actor) for actor in zip(ACTORS, actions)]
        for thread in threads:
            thread.start()
        time.sleep(ROUND_S)
        self.over.set()
        for thread in threads:
            thread.join()
        for storm in storms:
            storm.send_signal(signal.SIGTERM)
        for pid in members([*self.groups, self.changing]):
            with suppress(*GONE):
                os.kill(pid, signal.SIGCONT)
        assert not self.errors, self.errors
        assert driver.eventually(self.is_calm), "the storm does not calm down"

    def has_seen_enough(self) -> bool:
        return all(self.seen[name][""] >= n for name, n in self.engine.enough.items())

    def is_calm(self) -> bool:
        """No task comes or goes any more: all sleep in futex(2), as in two looks."""
        groups = [*self.groups, self.changing]
        looks = [{tid for pid in members(groups) for tid in driver.tids_of(pid)} for _ in range(2)]
        return looks[0] == looks[1] and all(system_call(tid) == FUTEX for tid in looks[0])


def states(groups: list[cgroup.Group]) -> list[list[tuple]]:
    return [sorted({(tuple(sorted(os.sched_getaffinity(tid))), mpol.of(tid))
                    for pid in members([group]) for tid in driver.tids_of(pid)}) for group in groups]


def tasks_left() -> int:
    """Objects for tasks that are no task's any more."""
    alive = sum(len(driver.tids_of(int(pid))) for pid in os.listdir("/proc") if pid.isdecimal())
    return driver.slab_objects("task_struct") - alive


def check_restored(engine, groups: list[cgroup.Group], changing: cgroup.Group) -> int:
    """Every task has what the first of its storm had; returns how many there are."""
    changing.set("cpuset.mems", "0-1")
    engine.restore_all()
    assert driver.eventually(lambda: engine.records() == []), engine.records()
    changing.set("cpuset.cpus", "0-3")
    assert states(groups) == [[(tuple(sorted(cpus)), shown)] for cpus, _, shown in STORMS]
    if engine.sees_through_cpusets:
        assert states([changing]) == [[(tuple(sorted(ALL)), "default")]]
    return sum(len(driver.tids_of(pid)) for pid in members([*groups, changing]))


def check_answers(engine, seen: dict[str, Counter], seconds: float):
    for name in ACTORS:
        assert set(seen[name]) <= engine.answers, seen
        assert seen[name]["EBUSY"] <= SLOW * max(1, seconds / 20), seen


@pytest.mark.skipif(not SECONDS, reason="tasks are placed while they come and go: make check-torture")
@pytest.mark.parametrize("make_engine", ENGINES)
def test_torture(make_engine):
    engine = make_engine()
    mpol.set_own(mpol.DEFAULT)
    before = tasks_left(), driver.slab_objects("numa_policy")
    with ExitStack() as made:
        groups = [made.enter_context(cgroup.group(f"storm-{i}")) for i in range(len(STORMS))]
        changing = made.enter_context(cgroup.group("storm-moved", cpuset_cpus="0-3", cpuset_mems="0-1"))
        first = [start(group, i, cpus, wrap) for i, (group, (cpus, wrap, _)) in enumerate(zip(groups, STORMS))]
        first.append(start(changing, len(first), ALL, ()))
        storms = Storms(engine, groups, changing)
        compared = []
        begin = time.monotonic()
        while not (passed := time.monotonic() - begin) > SECONDS or \
                (not storms.has_seen_enough() and passed < SECONDS + ENOUGH_S):
            storms.rage(first)
            compared.append(check_restored(engine, groups, changing))
            for storm in first:
                storm.send_signal(signal.SIGUSR1)
        print(f"{len(compared)} rounds, {sum(compared)} tasks compared")
        print({name: dict(seen) for name, seen in storms.seen.items()}, driver.stats())
        assert sum(compared) > 2 * len(first) * len(compared), "all have ended: nothing is left to compare"
        assert storms.has_seen_enough(), storms.seen
        check_answers(engine, storms.seen, passed)
        assert driver.stats()["inherit_failed"] == 0
        for group in (*groups, changing):
            group.set("cgroup.kill", "1")
        for process in first:
            process.wait()
        assert driver.eventually(lambda: not members([*groups, changing]))
    assert driver.eventually(lambda: driver.slab_objects("numa_policy") <= before[1], 60), \
        (before, driver.slab_objects("numa_policy"))
    assert driver.eventually(lambda: tasks_left() <= before[0], 60), (before, tasks_left())
    assert driver.unload() == 0
