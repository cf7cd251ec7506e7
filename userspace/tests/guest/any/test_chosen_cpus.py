# SPDX-License-Identifier: GPL-2.0-only
"""User-set affinity and isolated CPUs are left alone."""
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, TOOL, Target, Tool, remove_group, wait_until

ISOLATED = Path("/sys/devices/system/cpu/isolated")
BALANCING = Path("/proc/sys/kernel/numa_balancing")
MAXIMUM_LOCAL = ("--policy", "maximum-local", "--sample", 0)


def threads(target: Target) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{target.pid}/task").iterdir()]


def away(start_target) -> Target:
    """numactl's CPUs on node 1, memory on node 0."""
    target = start_target(cpus=1, memory=0)
    target.allocate(8)
    return target


def free(start_target) -> Target:
    """The same, but it may run everywhere, and runs on node 1."""
    target = away(start_target)
    for tid in threads(target):
        os.sched_setaffinity(tid, range(4))
    return target


def test_a_chosen_mask_is_kept(plain: Tool, start_target, engine: str) -> None:
    target = away(start_target)
    planned = plain("plan", *MAXIMUM_LOCAL, target.pid)
    assert not planned["override"] and planned["decisions"][0]["to"] in (None, 1)
    assert "its CPUs 2-3 were chosen for it and are kept" in planned["decisions"][0]["reason"]
    plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert target.cpus() == {NODE_CPUS[1]}
    plain("apply", *MAXIMUM_LOCAL, "--engine", engine, "--override", "-o", "pages=stay", target.pid)
    assert target.cpus() != {NODE_CPUS[1]} or target.pages()[1] > target.pages()[0]


def test_a_plan_stays_within_a_chosen_mask(plain: Tool, start_target, engine: str) -> None:
    """One CPU of node 0 and both of node 1 were chosen: it gets the one, and is planned so again."""
    target = away(start_target)
    for tid in threads(target):
        os.sched_setaffinity(tid, {1, 2, 3})
    for _ in range(2):
        done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
        assert done["decisions"][0]["to"] == 0, done
        assert "its CPUs 1-3 were chosen" in done["decisions"][0]["reason"]
        assert target.cpus() == {"1"}
    plain("restore", target.pid)
    assert target.cpus() == {"1-3"}


def test_threads_with_cpus_of_their_own(plain: Tool, start_target, engine: str) -> None:
    target = free(start_target)
    target.ask("sleepers 2")
    wait_until(lambda: len(threads(target)) == 3)
    chosen = dict(zip(sorted(threads(target)), ({0, 1, 2, 3}, {0}, {3})))
    for tid, cpus in chosen.items():
        os.sched_setaffinity(tid, cpus)
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert "its threads have CPUs of their own, which are kept" in done["decisions"][0]["reason"]
    assert {tid: os.sched_getaffinity(tid) for tid in chosen} == chosen
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, "--override", target.pid)
    assert {frozenset(os.sched_getaffinity(tid)) for tid in chosen} in ({frozenset({0, 1})}, {frozenset({2, 3})}), done
    plain("restore", target.pid)
    assert {tid: os.sched_getaffinity(tid) for tid in chosen} == chosen


def test_an_idle_thread_does_not_keep_the_pages_away(plain: Tool, start_target, engine: str) -> None:
    """The thread that works is bound to node 1, the others, which wait, are bound to nothing."""
    target = start_target(cpus=0, memory="all")
    target.allocate(32)
    assert target.pages()[0] > 8000
    target.ask("sleepers 2")
    wait_until(lambda: len(threads(target)) == 3)
    chosen = {tid: {2, 3} if tid == target.pid else {0, 1, 2, 3} for tid in threads(target)}
    for tid, cpus in chosen.items():
        os.sched_setaffinity(tid, cpus)
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert "its threads have CPUs of their own, which are kept" in done["decisions"][0]["reason"]
    assert done["decisions"][0]["to"] == 1 and target.pages()[1] > 8000, done
    assert {tid: os.sched_getaffinity(tid) for tid in chosen} == chosen


@pytest.mark.parametrize("override", [False, True])
def test_what_we_have_placed_is_placed_again(start_target, engine: str, override: bool) -> None:
    """Also its child, which was born on the CPUs that we gave."""
    target, plain = free(start_target), Tool(override=override)
    plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert target.cpus() == {NODE_CPUS[0]}
    plain("migrate", target.pid, "--to", 1)
    plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert target.cpus() == {NODE_CPUS[1]}
    target.ask("fork")
    child = Target.__new__(Target)
    child.pid = int(Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text())
    for task in (child, target):
        reason = plain("plan", *MAXIMUM_LOCAL, task.pid)["decisions"][0]["reason"]
        assert "CPUs" not in reason
    plain("restore", "--all")
    assert target.cpus() == child.cpus() == {"0-3"}


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[None]:
    """As if the machine had been booted with isolcpus=1."""
    (tmp_path / "isolated").write_text("1\n")
    subprocess.run(["mount", "--bind", tmp_path / "isolated", ISOLATED], check=True)
    yield
    subprocess.run(["umount", ISOLATED], check=True)


def test_isolated_cpus_are_given_to_nobody(plain: Tool, start_target, engine: str, isolated: None) -> None:
    target = free(start_target)
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, target.pid)
    assert done["isolated"] == "1" and target.cpus() == {"0"}
    text = plain.run("plan", *MAXIMUM_LOCAL, target.pid).stdout
    assert "CPUs 1 are isolated (isolcpus, nohz_full, partition) and are given to nobody\n" in text
    plain("restore", "--all")
    done = plain("apply", *MAXIMUM_LOCAL, "--engine", engine, "--override", target.pid)
    assert done["isolated"] is None and target.cpus() == {NODE_CPUS[0]}


@pytest.fixture
def partition() -> Iterator[None]:
    """CPU 3 is in an isolated partition, which the kernel names in no file of sysfs."""
    root, group = Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/realtime")
    (root / "cgroup.subtree_control").write_text("+cpuset")
    group.mkdir()
    (group / "cpuset.cpus").write_text("3")
    (group / "cpuset.cpus.partition").write_text("isolated")
    assert (group / "cpuset.cpus.partition").read_text() == "isolated\n"
    yield
    (group / "cpuset.cpus.partition").write_text("member")
    remove_group(group)


def test_cpus_of_an_isolated_partition_are_given_to_nobody(plain: Tool, start_target, partition: None) -> None:
    tasks = [start_target(cpus=0, memory=1), start_target(cpus=0, memory=1)]
    for target in tasks:
        target.allocate(8)
        os.sched_setaffinity(target.pid, {0, 1, 2})     # all that is left: nobody's choice
    done = plain("apply", *MAXIMUM_LOCAL, *(target.pid for target in tasks))
    assert done["isolated"] == "3" and sorted(d["to"] for d in done["decisions"]) == [0, 1], done
    assert sorted(cpus for target in tasks for cpus in target.cpus()) == ["0-1", "2"]
    assert plain("ps", "--sample", 0, tasks[0].pid)["machine"]["nodes"][1]["usable_cpus"] == 1


def test_a_saved_plan_overrides_as_it_was_made(plain: Tool, start_target, tmp_path: Path) -> None:
    target = away(start_target)
    for override, where in (([], NODE_CPUS[1]), (["--override"], NODE_CPUS[0])):
        saved = tmp_path / "plan.json"
        saved.write_text(json.dumps(plain("plan", *MAXIMUM_LOCAL, *override, "-o", "pages=stay", target.pid)))
        assert plain("apply", "--plan", saved)["override"] == bool(override)
        assert target.cpus() == {where}


def daemon(*words: object) -> subprocess.Popen:
    return subprocess.Popen([TOOL, "daemon", "--policy", "maximum-local", "--interval", "100ms", "--min-busy",
                             "0", *map(str, words)], text=True, stderr=subprocess.PIPE)


def test_the_daemon_leaves_them_alone(tool: Tool, start_target) -> None:
    """The free task shows when a plan has been carried out; the others were in it, or would have been."""
    pinned, excluded, taken = away(start_target), free(start_target), free(start_target)
    process = daemon("--exclude", excluded.pid, "--hysteresis", 4, pinned.pid, excluded.pid, taken.pid)
    try:
        said = []     # to its line about the move: a signal before that undoes the move
        while f"process {taken.pid} " not in "".join(said[-1:]):
            said.append(process.stderr.readline())
            assert said[-1], "it has ended"
        assert taken.cpus() == {NODE_CPUS[0]}
    finally:
        process.terminate()
        errors = "".join(said) + process.communicate(timeout=60)[1]
    assert (pinned.cpus(), excluded.cpus()) == ({NODE_CPUS[1]}, {"0-3"})
    assert f"process {excluded.pid} " not in errors and "node 1 -> 0" in said[-1]


def test_excluded_by_name(plain: Tool, start_target) -> None:
    target = away(start_target)
    found = plain("plan", *MAXIMUM_LOCAL, "--all", "--exclude", "target")["decisions"]
    assert target.pid not in {d["pid"] for d in found} and len(found) > 0
    found = plain("plan", *MAXIMUM_LOCAL, "--command", "targ*")["decisions"]
    assert {d["pid"] for d in found} == {target.pid}
    assert plain("plan", *MAXIMUM_LOCAL, "--user", "nobody", "--command", "target")["decisions"] == []


@pytest.fixture
def balancing() -> Iterator[None]:
    before = BALANCING.read_text()
    BALANCING.write_text("1")
    yield
    BALANCING.write_text(before)


def test_numa_balancing_that_is_on_is_said(plain: Tool, start_target, balancing: None) -> None:
    target = free(start_target)
    said = "NUMA balancing is on: the kernel moves tasks and pages as well"
    for command in ("plan", "apply"):
        assert plain(command, *MAXIMUM_LOCAL, target.pid)["numa_balancing"] == 1
        assert plain.run(command, *MAXIMUM_LOCAL, target.pid).stdout.count(said) == 1
    plain("restore", "--all")
    process = daemon(target.pid)
    try:
        assert said in process.stderr.readline()
    finally:
        process.terminate()
        process.communicate(timeout=60)
    run = subprocess.Popen([TOOL, "run", "--policy", "maximum-local", "--membind", "0", "--", "python3", "-c",
                            "import os, sys\nos.sched_setaffinity(0, {0, 1, 2, 3})\narea = bytearray(32 << 20)\n"
                            "while True:\n  for at in range(0, len(area), 4096): area[at] = 1"],
                           text=True, stderr=subprocess.PIPE)
    try:
        # Where nothing is counted, that is the first line.
        assert any(said in run.stderr.readline() for _ in range(2))
    finally:
        run.terminate()
        run.communicate(timeout=60)
