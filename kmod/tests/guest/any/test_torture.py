# SPDX-License-Identifier: GPL-2.0-only
"""
Everything at once: tasks start, fork, execute and end by the thousand, are stopped and killed, change cpusets, and
choose CPUs and policies of their own, while others place and restore them, with CPUs and memory policy, move their pages,
and unload the module. At the end every task has what it had or chose. Programs that nobody places live beside them, with
CPUs that others are placed on, in their cgroups and sessions: none of them ever has anything else than it was started with.

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
ACTORS = ("place 0", "place 1", "restore 0", "restore 1", "signal", "change", "watch", "move")
# What bystanders have of their own, the CPUs as engines place tasks on
CHOSEN = ({0}, {3}, {1, 2}, {0, 1}, {2, 3})
POLICIES = ((), ("--preferred=1",), ("--interleave=all",))
BYSTANDERS = 8            # at a time
SLOW = 2                  # times in twenty seconds that a task may need more than 5 s to come by, as on a busy host
GONE = (ProcessLookupError, FileNotFoundError)
FUTEX = "202"


def start(group: cgroup.Group, number: int, cpus: set[int], wrap: tuple, own: bool) -> subprocess.Popen:
    argv = ["numactl", *wrap] if wrap else []
    options = ["own"] if own else []

    def begin():
        group.add(os.getpid())  # which gives it the group's CPUs
        os.sched_setaffinity(0, cpus)

    return subprocess.Popen([*argv, str(STORM), str(SEED + number), *options], preexec_fn=begin)


def system_call(pid: int) -> str:
    """The number of the one that a process sleeps in; other words if it does not."""
    try:
        return Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()[0]
    except GONE:
        return "ended"


def is_orphan(pid: int) -> bool:
    """Its parent, or that of one that it descends from, has ended: the parents do not lead here."""
    while pid > 1 and pid != os.getpid():
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
        pid = int(status.partition("\nPPid:\t")[2].partition("\n")[0])
    return pid != os.getpid()


class Bystanders:
    """Programs that nobody places."""

    def __init__(self, groups: list[cgroup.Group]):
        self.groups = groups
        self.started: set[int] = set()
        self.own: dict[int, tuple] = {}  # CPUs and policy
        self.looks = 0

    def start(self, draw: random.Random):
        cpus, policy, group, leads = draw.choice(CHOSEN), draw.choice(POLICIES), draw.choice(self.groups), draw.random() < 0.5
        told, go = os.pipe()
        pid = os.fork()
        if not pid:
            os.read(told, 1)  # nobody may place it from its first moment in the group on
            group.add(os.getpid())
            os.sched_setaffinity(0, cpus)
            if leads:
                os.setsid()
            os.execvp("numactl", ["numactl", *(policy or ["--all"]), "sleep", "infinity"])
        self.started.add(pid)
        os.write(go, b"x")
        for end in (told, go):
            os.close(end)
        # exec(2) gives it the name before the stack, whose policy is looked at
        assert driver.eventually(lambda: Path(f"/proc/{pid}/comm").read_text(encoding="ascii") == "sleep\n"
                                 and " stack " in Path(f"/proc/{pid}/numa_maps").read_text(encoding="ascii"), 120), \
            Path(f"/proc/{pid}/status").read_text(encoding="ascii")
        self.own[pid] = self.now(pid)
        assert self.own[pid][0] == cpus

    def now(self, pid: int) -> tuple:
        return os.sched_getaffinity(pid), mpol.of(pid)

    def check(self):
        assert {pid: self.now(pid) for pid in self.own} == self.own
        self.looks += len(self.own)

    def end_one(self):
        pid = next(iter(self.own))
        del self.own[pid]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        self.started.discard(pid)

    def watch(self, draw: random.Random, _pid: int) -> str:
        self.check()
        if len(self.own) == BYSTANDERS:
            self.end_one()
        self.start(draw)
        time.sleep(draw.random() / 10)
        return ""


class Storms:
    """The actors, each a thread with random numbers of its own."""

    def __init__(self, engine, groups: list[cgroup.Group], changing: cgroup.Group):
        self.engine = engine
        self.groups, self.changing = groups, changing
        self.beside = Bystanders(groups)
        self.chosen = 0  # by tasks themselves, of what was compared
        self.over = threading.Event()
        self.seen: dict[str, Counter] = {name: Counter() for name in ACTORS}
        self.draws = {name: random.Random(f"{SEED} {name}") for name in ACTORS}
        self.errors: list[BaseException] = []

    def act(self, name: str, once):
        draw = self.draws[name]
        try:
            while not self.over.is_set():
                pids = self.members()
                if draw.random() < self.engine.share_of_first:
                    pids = [storm.pid for storm in self.first]
                self.seen[name][once(draw, draw.choice(pids)) if pids else "nobody"] += 1
        except BaseException as error:  # shown by the test
            self.errors.append(error)

    def members(self, *groups: cgroup.Group) -> list[int]:
        """Of the storms, in these groups or in all."""
        pids = [int(pid) for group in groups or (*self.groups, self.changing) for pid in group.get("cgroup.procs").split()]
        return [pid for pid in pids if pid not in self.beside.started]

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

    def rage(self, storms: list[subprocess.Popen], unload: bool):
        """One round, after which all tasks that are there sleep, and none comes or goes."""
        self.first = storms
        self.over.clear()
        actions = (self.engine.place, self.engine.place, self.engine.restore, self.engine.restore,
                   self.signal, self.change, self.beside.watch, self.engine.move)
        threads = [threading.Thread(target=self.act, args=actor) for actor in zip(ACTORS, actions)]
        for thread in threads:
            thread.start()
        time.sleep(ROUND_S)
        self.over.set()
        for thread in threads:
            thread.join()
        if unload:
            self.changing.set("cpuset.mems", "0-1")
            assert driver.unload() == 0
        for storm in storms:
            storm.send_signal(signal.SIGTERM)
        for pid in self.members():
            with suppress(*GONE):
                os.kill(pid, signal.SIGCONT)
        assert not self.errors, self.errors
        assert driver.eventually(self.is_calm), "the storm does not calm down"
        if unload:
            assert driver.load() == 0

    def has_seen_enough(self) -> bool:
        return all(self.seen[name][""] >= n for name, n in self.engine.enough.items())

    def is_calm(self) -> bool:
        """No task comes or goes any more: all sleep in futex(2), as in two looks."""
        looks = [{tid for pid in self.members() for tid in driver.tids_of(pid)} for _ in range(2)]
        return looks[0] == looks[1] and all(system_call(tid) == FUTEX for tid in looks[0])

    def check(self, group: cgroup.Group, cpus: set[int], policy: str):
        """
        Each task has what the first of the group had, or what it chose itself, but for what an engine may leave. One that
        was placed again after it had chosen gets back what it had before it was first placed.
        """
        for pid in self.members(group):
            if self.engine.leaves_orphans and is_orphan(pid):
                continue
            for tid in driver.tids_of(pid):
                name = Path(f"/proc/{tid}/comm").read_text(encoding="ascii").strip()
                assert "/" in name, (name, Path(f"/proc/{tid}/cmdline").read_bytes(), system_call(tid))
                own_cpus, own_policy = name.split("/")
                now = os.sched_getaffinity(tid), mpol.of(tid)
                self.chosen += own_cpus != "-" and now[0] != cpus
                self.chosen += own_policy != "-" and now[1] != policy
                assert now[0] in (cpus, {int(cpu) for cpu in own_cpus.split(",") if cpu != "-"}), (tid, own_cpus, now)
                assert now[1] in (policy, own_policy), (tid, own_policy, now)


def tasks_left() -> int:
    """Objects for tasks that are no task's any more."""
    alive = sum(len(driver.tids_of(int(pid))) for pid in os.listdir("/proc") if pid.isdecimal())
    return driver.slab_objects("task_struct") - alive


def check_restored(engine, storms: Storms) -> int:
    """Every task has what it had or chose, and each bystander what it had; returns how many the tasks are."""
    storms.changing.set("cpuset.mems", "0-1")
    engine.restore_all()
    assert driver.eventually(lambda: engine.records() == []), engine.records()
    storms.changing.set("cpuset.cpus", "0-3")
    for group, (cpus, _, policy) in zip(storms.groups, STORMS):
        storms.check(group, cpus, policy)
    if engine.sees_through_cpusets:
        storms.check(storms.changing, ALL, "default")
    storms.beside.check()
    return sum(len(driver.tids_of(pid)) for pid in storms.members())


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
        first = [start(group, i, cpus, wrap, engine.keeps_choices)
                 for i, (group, (cpus, wrap, _)) in enumerate(zip(groups, STORMS))]
        first.append(start(changing, len(first), ALL, (), own=False))
        storms = Storms(engine, groups, changing)
        compared = []
        begin = time.monotonic()
        while not (passed := time.monotonic() - begin) > SECONDS or \
                (not storms.has_seen_enough() and passed < SECONDS + ENOUGH_S):
            storms.rage(first, engine.unloads and len(compared) % 2 == 1)
            compared.append(check_restored(engine, storms))
            for storm in first:
                storm.send_signal(signal.SIGUSR1)
        print(f"{len(compared)} rounds, {sum(compared)} tasks compared, {storms.chosen} choices kept, {storms.beside.looks} looks at bystanders")
        print({name: dict(seen) for name, seen in storms.seen.items()}, driver.stats())
        assert sum(compared) > 2 * len(first) * len(compared), "all have ended: nothing is left to compare"
        assert storms.has_seen_enough(), storms.seen
        check_answers(engine, storms.seen, passed)
        assert bool(storms.chosen) == engine.keeps_choices
        assert driver.stats()["inherit_failed"] == 0
        for group in (*groups, changing):
            group.set("cgroup.kill", "1")
        for process in first:
            process.wait()
        for pid in storms.beside.own:
            os.waitpid(pid, 0)
        assert driver.eventually(lambda: not storms.members())
    assert driver.eventually(lambda: driver.slab_objects("numa_policy") <= before[1], 60), \
        (before, driver.slab_objects("numa_policy"))
    assert driver.eventually(lambda: tasks_left() <= before[0], 60), (before, tasks_left())
    assert driver.unload() == 0
