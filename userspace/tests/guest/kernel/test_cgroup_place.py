# SPDX-License-Identifier: GPL-2.0-only
"""place and restore of a whole cgroup, by cpuset.cpus and cpuset.mems."""
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from placed import MIB, NODE_CPUS, Target, Tool, wait_until

ROOT = Path("/sys/fs/cgroup")
STATE = Path("/run/numaplace/cgroups.json")

# Starts a child that outlives its parent; the pid of the child is its answer.
ORPHAN = """
import os, sys, time
if os.fork():
    os._exit(0)
print(os.getpid(), flush=True)
time.sleep(10000)
"""


class Group:
    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    @property
    def name(self) -> str:
        return f"/{self.path.relative_to(ROOT)}"

    def get(self, name: str) -> str:
        """Nothing without the controller."""
        path = self.path / name
        return path.read_text() if path.exists() else ""

    def set(self, name: str, text: object) -> None:
        (self.path / name).write_text(f"{text}\n")

    def lists(self) -> tuple[str, str]:
        return self.get("cpuset.cpus").strip(), self.get("cpuset.mems").strip()

    def orphan(self) -> int:
        """Of a program that has ended."""
        read, write = os.pipe()
        subprocess.run(["sh", "-c", 'echo $$ >"$0"/cgroup.procs && exec "$@"', self.path, sys.executable, "-c", ORPHAN],
                       stdout=write, check=True)
        os.close(write)
        pid = os.read(read, 32)
        os.close(read)
        return int(pid)

    def remove(self) -> None:
        self.set("cgroup.kill", 1)

        def removed() -> bool:
            for path in [*self.path.glob("**/"), self.path]:
                with suppress(OSError):
                    path.rmdir()
            return not self.path.exists()

        wait_until(removed, f"{self.path} is removed")


def controllers(folder: Path = ROOT) -> set[str]:
    return set((folder / "cgroup.subtree_control").read_text().split())


@pytest.fixture
def group(tool: Tool) -> Iterator[Group]:
    assert "cpuset" not in controllers()
    made = Group(ROOT / "numaplace-whole")
    yield made
    made.remove()
    tool("restore", "--all")
    assert "cpuset" not in controllers(), "what place had enabled is disabled again"


def allowed(pid: int) -> tuple[set[str], set[str]]:
    """CPUs and nodes of all threads."""
    found: tuple[set[str], set[str]] = set(), set()
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        with suppress(FileNotFoundError, ProcessLookupError):
            text = status.read_text()
            found[0].add(re.search(r"Cpus_allowed_list:\s*(\S+)", text)[1])
            found[1].add(re.search(r"Mems_allowed_list:\s*(\S+)", text)[1])
    return found


def is_on(pid: int, node: int) -> bool:
    return allowed(pid) == ({NODE_CPUS[node]}, {str(node)})


@pytest.fixture
def target(start_target, group: Group) -> Target:
    """In the group, on any CPU, with its pages on node 1."""
    started = start_target(cpus="0,1", memory=1)
    started.allocate(32)
    group.set("cgroup.procs", started.pid)
    return started


def place(tool: Tool, group: Group, *words: object) -> dict:
    return tool("place", "--cgroup", group.name, *words)


def test_all_that_runs_in_it_follows(tool: Tool, group: Group, target: Target) -> None:
    target.ask("sleepers 2")
    below = Group(group.path / "below")
    early, lower = group.orphan(), below.orphan()
    answer = place(tool, group, "-N", 0, "-m", 0)
    assert answer.pop("pages", None) is None or "memory" in controllers()
    assert answer == {"cgroup": group.name, "unit": None, "cpus": NODE_CPUS[0], "mem": "bind:0", "engine": "cgroup"}
    late = group.orphan()
    target.ask("sleepers 1")
    for pid in (target.pid, early, lower, late):
        wait_until(lambda pid=pid: is_on(pid, 0), lambda pid=pid: allowed(pid))
    assert tool("restore", "--cgroup", group.name) == {"restored": 1, "left_alone": 0}
    for pid in (early, lower, late):
        wait_until(lambda pid=pid: allowed(pid) == ({"0-3"}, {"0-1"}), lambda pid=pid: allowed(pid))


def test_the_kernel_moves_its_pages(tool: Tool, group: Group, start_target) -> None:
    target = start_target(cpus="0,1", memory="0,1")
    group.set("cgroup.procs", target.pid)
    place(tool, group, "-m", 1)
    target.allocate(32)
    wait_until(lambda: target.pages()[1] * 4096 >= 32 * MIB, target.pages)
    place(tool, group, "-m", 0)
    wait_until(lambda: target.pages()[0] * 4096 >= 32 * MIB, target.pages)
    assert target.is_whole()


def test_pages_are_reported_with_the_memory_controller(tool: Tool, group: Group, start_target) -> None:
    (ROOT / "cgroup.subtree_control").write_text("+memory")
    try:
        target = start_target(cpus="0,1", memory=1, wrap=("sh", "-c", f'echo $$ >{group.path}/cgroup.procs && exec "$@"', "sh"))
        target.allocate(32)
        assert place(tool, group, "-N", 1)["pages"]["1"] >= 32 * MIB
    finally:
        group.remove()
        group.path.mkdir()
        (ROOT / "cgroup.subtree_control").write_text("-memory")


def test_restore_gives_back_what_the_user_had_set(tool: Tool, group: Group) -> None:
    (ROOT / "cgroup.subtree_control").write_text("+cpuset")
    try:
        group.set("cpuset.cpus", "0,2-3")
        group.set("cpuset.mems", "0-1")
        before = group.get("cpuset.cpus"), group.get("cpuset.mems")
        place(tool, group, "-C", 3, "-m", 1)
        assert group.lists() == ("3", "1")
        place(tool, group, "-C", 2)
        assert group.lists() == ("2", "1")
        assert tool("restore", "--cgroup", group.name) == {"restored": 1, "left_alone": 0}
        assert (group.get("cpuset.cpus"), group.get("cpuset.mems")) == before
        assert "cpuset" in controllers(), "others had enabled it"
        assert json.loads(STATE.read_text())["cgroups"] == []
    finally:
        (ROOT / "cgroup.subtree_control").write_text("-cpuset")


def takes_an_empty_list() -> bool:
    """Whether this kernel does while tasks are in the cgroup."""
    other = Group(ROOT / "numaplace-test-empty")
    try:
        other.orphan()
        other.set("cpuset.cpus", "0-3")
        other.set("cpuset.cpus", "")
    except OSError:
        return False
    finally:
        other.remove()
    return True


def test_an_empty_list_is_given_back_as_a_full_one(tool: Tool, group: Group) -> None:
    """Where the kernel takes no empty one while tasks are in it, and the controller is not numaplace's to disable."""
    (ROOT / "cgroup.subtree_control").write_text("+cpuset")
    try:
        group.orphan()
        place(tool, group, "-N", 0, "-m", 1)
        answer = tool("restore", "--cgroup", group.name)
        note = answer.pop("note", "")
        assert answer == {"restored": 1, "left_alone": 0}
        if takes_an_empty_list():
            assert (note, *group.lists()) == ("", "", "")
        else:
            assert "the kernel allows no empty cpuset while tasks are in it" in note and group.lists() == ("0-3", "0-1")
    finally:
        (ROOT / "cgroup.subtree_control").write_text("-cpuset")


def test_what_the_user_changed_since_is_left_alone(tool: Tool, group: Group) -> None:
    place(tool, group, "-N", 0, "-m", 0)
    group.set("cpuset.cpus", "1-2")
    answer = tool("restore", "--all")
    assert answer.pop("note") == f"cpuset.cpus of cgroup {group.name} left alone: changed since"
    assert answer == {"restored": 1, "left_alone": 1}
    assert group.lists() == ("1-2", "")
    (ROOT / "cgroup.subtree_control").write_text("-cpuset")


def test_half_of_it_is_taken_back(tool: Tool, group: Group) -> None:
    group.orphan()
    place(tool, group, "-N", 0, "-m", 0)
    mems = group.path / "cpuset.mems"
    subprocess.run(["mount", "--bind", mems, mems], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", mems], check=True)
        status, line = tool.fails("place", "--cgroup", group.name, "-N", 1, "-m", 1)
        assert status == 1 and line == f"numaplace: {mems} cannot be written: Read-only file system\n"
        assert group.lists() == (NODE_CPUS[0], "0")
    finally:
        subprocess.run(["umount", mems], check=True)
    assert tool("restore", "--cgroup", group.name) == {"restored": 1, "left_alone": 0}
    assert "cpuset" not in controllers()


def test_those_that_the_cgroup_above_does_not_have(tool: Tool, group: Group) -> None:
    below = Group(group.path / "below")
    place(tool, group, "-m", 0)
    status, line = tool.fails("place", "--cgroup", below.name, "-N", 1, "-m", "0-1")
    assert status == 1
    assert line == (f"numaplace: cgroup {below.name} cannot have nodes 0-1: cgroup {group.name}/ above it has 0; "
                    "name some of these, or place that cgroup\n")
    assert "cpuset" not in controllers(group.path), "nothing was enabled"
    place(tool, below, "-N", 1, "-m", 0)
    assert below.lists() == (NODE_CPUS[1], "0")
    assert tool("restore", "--cgroup", group.name) == {"restored": 2, "left_alone": 0}
    assert "cpuset" not in controllers(), "also where the lower one was placed later"


def test_the_last_one_placed_disables_the_controller(tool: Tool, group: Group) -> None:
    other = Group(ROOT / "numaplace-other")
    try:
        place(tool, group, "-N", 0)
        place(tool, other, "-N", 1)
        assert tool("restore", "--cgroup", group.name) == {"restored": 1, "left_alone": 0}
        assert "cpuset" in controllers() and other.lists()[0] == NODE_CPUS[1]
        tool("restore", "--cgroup", other.name)
        assert "cpuset" not in controllers()
    finally:
        other.remove()


def test_removed_and_made_again_it_is_another(tool: Tool, group: Group) -> None:
    place(tool, group, "-N", 0)
    group.remove()
    group.path.mkdir()
    group.set("cpuset.cpus", NODE_CPUS[0])
    assert tool("restore", "--cgroup", group.name) == {"restored": 0, "left_alone": 0}
    assert group.lists()[0] == NODE_CPUS[0]
    (ROOT / "cgroup.subtree_control").write_text("-cpuset")


def test_tasks_placed_one_by_one_are_restored_as_well(tool: Tool, group: Group, target: Target) -> None:
    os.sched_setaffinity(target.pid, {0, 1, 2})
    tool("place", target.pid, "-C", 1, "--engine", "syscall")
    place(tool, group, "-N", 0)
    assert target.cpus() == {"1"} or os.uname().release.startswith("6.1.")     # it forgets masks of tasks
    answer = tool("restore", "--cgroup", group.name)
    assert answer["restored"] + answer["left_alone"] >= 2
    wait_until(lambda: target.cpus() != {"1"}, target.cpus)


def test_killed_numaplace_leaves_what_restore_needs(tool: Tool, group: Group) -> None:
    """As if it had been killed between the file and the cgroup."""
    place(tool, group, "-N", 0)
    state = json.loads(STATE.read_text())
    state["cgroups"][0].update(was=state["cgroups"][0]["set"], set={"cpus": NODE_CPUS[1]})
    STATE.write_text(json.dumps(state))
    assert tool("restore", "--all") == {"restored": 1, "left_alone": 0}
    assert group.lists() == ("", "")


def test_a_damaged_state_is_named(tool: Tool, group: Group) -> None:
    place(tool, group, "-N", 0)
    text = STATE.read_text()
    state = json.loads(text)
    state["cgroups"][0]["cgroup"] = "shop"
    try:
        STATE.write_text(json.dumps(state))
        found = [tool.fails("restore", *words) for words in (("--all",), ("--unit", "gone.service"))]
    finally:
        STATE.write_text(text)
    assert all(status == 1 and "cgroups.json is damaged" in line for status, line in found)
    assert tool("restore", "--all") == {"restored": 1, "left_alone": 0}


@pytest.mark.parametrize(("words", "status", "part"), [
    (("--preferred", 0), 2, "cannot have memory policy preferred:0, only nodes: say --membind NODES"),
    (("--interleave", "all"), 2, "one by one"),
    (("-N", 0, "--one-thread"), 2, "placed as a whole"),
    (("-N", 0, "--no-inherit"), 2, "--no-inherit is for a process"),
    (("-N", 0, "--engine", "module"), 2, "--engine is for a process"),
    (("-N", 0, "1"), 2, "name one process, one --cgroup or one --unit"),
    ((), 2, "say where"),
])
def test_refused(tool: Tool, group: Group, words: tuple, status: int, part: str) -> None:
    got, line = tool.fails("place", "--cgroup", group.name, *words)
    assert (got, part in line) == (status, True), line
    assert "cpuset" not in controllers()


def test_the_root_and_threaded_ones_are_refused(tool: Tool, group: Group) -> None:
    status, line = tool.fails("place", "--cgroup", "/", "-N", 0)
    assert status == 3 and "the root cgroup cannot be placed" in line
    below = Group(group.path / "threads")
    below.set("cgroup.type", "threaded")
    status, line = tool.fails("place", "--cgroup", below.name, "-N", 0)
    assert status == 3 and "it is threaded" in line
    status, line = tool.fails("place", "--cgroup", "/is-not-there", "-N", 0)
    assert status == 1 and 'no cgroup "/is-not-there"' in line


def test_without_permission(tool: Tool, group: Group, nobody: dict) -> None:
    status, line = tool.fails("place", "--cgroup", group.name, "-N", 0, **nobody)
    assert status == 1 and "cgroup.subtree_control cannot be written: Permission denied; run as root" in line


def test_a_unit_without_systemd_is_a_cgroup_by_name(tool: Tool, group: Group) -> None:
    unit = Group(group.path / "shop8.2.service")
    assert tool("place", "--unit", "shop8.2", "-N", 1)["cgroup"] == unit.name
    assert unit.lists() == (NODE_CPUS[1], "")
    twin = Group(group.path / "below")
    Group(twin.path / "shop8.2.service")
    status, line = tool.fails("place", "--unit", "shop8.2", "-N", 0)
    assert status == 1 and "2 units" in line
    (twin.path / "shop8.2.service").rmdir()
    assert tool("restore", "--unit", "shop8.2") == {"restored": 1, "left_alone": 0}
