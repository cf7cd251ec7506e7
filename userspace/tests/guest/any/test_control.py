# SPDX-License-Identifier: GPL-2.0-only
"""place, restore and migrate act on a real program, through both engines."""
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from placed import NODE_CPUS, TOOL, Target, Tool, find_module_file, remove_group, wait_until

COUNTS = ["moved", "already", "absent", "pinned", "shared", "file", "hugetlb", "thp_split", "busy",
          "no_memory", "no_huge"]
MIB_PAGES = 256


def check_sum(result: dict) -> None:
    assert result["asked"] == sum(result[name] for name in COUNTS), result


def migrate(tool: Tool, target: Target, engine: str, *words: object) -> dict:
    result = tool("migrate", target.pid, "--engine", engine, *words)["migrate"]
    check_sum(result)
    assert result["engine"] == engine
    assert result["bytes"] == result["moved"] * 4096
    return result


def test_topology(tool: Tool) -> None:
    machine = tool("topology")
    assert [node["cpus"] for node in machine["nodes"]] == ["0-1", "2-3"]
    assert [node["distances"] for node in machine["nodes"]] == [[10, 21], [21, 10]]
    assert machine["platform"].startswith("lab-")


def test_ps_sees_where_a_task_runs_and_its_pages_are(tool: Tool, start_target) -> None:
    target = start_target(cpus=0, memory=1)
    target.allocate(16)
    task = tool("ps", target.pid)["tasks"][0]
    assert (task["node"], task["cpus"], task["cores"]) == (0, "0-1", 1)
    assert task["pages"]["1"] >= 16 * MIB_PAGES
    assert task["locality"] < 0.05


def test_ps_measures_the_cores_kept_busy(tool: Tool, start_target) -> None:
    idle, busy = start_target(cpus=0, memory=0), start_target(cpus=1, memory=0)
    busy.ask("spinners 2")
    tasks = tool("ps", "--sample", "1500ms", busy.pid, idle.pid)["tasks"]
    assert [(task["cores"], task["node"]) for task in tasks] == [(2, 1), (1, 0)]


@pytest.mark.parametrize("engine", ["module", "syscall"], indirect=True)
def test_place_binds_every_thread_and_restore_gives_back(tool: Tool, start_target,
                                                         engine: str) -> None:
    target = start_target(cpus=1)
    target.ask("sleepers 3")
    placed = tool("place", target.pid, "--cpunodebind", 0, "--engine", engine)
    assert placed["cpus"] == NODE_CPUS[0]
    assert target.cpus() == {NODE_CPUS[0]}
    assert tool("restore", target.pid) == {"restored": 4, "left_alone": 0}
    assert target.cpus() == {NODE_CPUS[1]}


def test_the_first_original_wins(tool: Tool, start_target, engine: str) -> None:
    target = start_target(cpus=1)
    tool("place", target.pid, "--cpus", "0", "--engine", engine)
    tool("place", target.pid, "--cpus", "1", "--engine", engine)
    assert target.cpus() == {"1"}
    tool("restore", "--all")
    assert target.cpus() == {NODE_CPUS[1]}


def test_restore_leaves_what_the_user_changed(tool: Tool, start_target, engine: str) -> None:
    target = start_target(cpus=1)
    tool("place", target.pid, "--cpus", "0-1", "--engine", engine)
    os.sched_setaffinity(target.pid, {3})
    answer = tool("restore", target.pid)
    assert answer.pop("note").startswith("1 thread left alone: ") and answer == {"restored": 0, "left_alone": 1}
    assert target.cpus() == {"3"}


def test_one_thread(tool: Tool, start_target, engine: str) -> None:
    target = start_target(cpus=1)
    target.ask("sleepers 1")
    thread = max(int(name) for name in os.listdir(f"/proc/{target.pid}/task"))
    tool("place", thread, "--one-thread", "--cpus", "0", "--engine", engine)
    assert os.sched_getaffinity(thread) == {0}
    assert os.sched_getaffinity(target.pid) == {2, 3}
    assert tool("restore", target.pid)["restored"] == 1
    assert target.cpus() == {NODE_CPUS[1]}


def renewed(target: Target) -> None:
    """Waits until the short threads that there are now have ended: two stay, the first and the one that starts them."""
    now = set(os.listdir(f"/proc/{target.pid}/task"))
    wait_until(lambda: len(now & set(os.listdir(f"/proc/{target.pid}/task"))) == 2, "the short threads have ended")


def test_threads_that_start_meanwhile_are_bound_too(tool: Tool, start_target,
                                                    engine: str) -> None:
    target = start_target(cpus=1)
    target.ask("storm")
    tool("place", target.pid, "--cpunodebind", "0", "--engine", engine)
    renewed(target)
    assert target.cpus() == {NODE_CPUS[0]}
    tool("restore", target.pid)
    renewed(target)
    assert target.cpus() == {NODE_CPUS[1]}


@pytest.mark.parametrize("engine", ["module", "syscall"], indirect=True)
def test_migrate_moves_every_page_and_keeps_the_contents(tool: Tool, start_target,
                                                         engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(48)
    before = target.pages()
    result = migrate(tool, target, engine, "--from", 1, "--to", 0)
    after = target.pages()
    assert result["moved"] >= 48 * MIB_PAGES
    assert after[0] >= 0.95 * sum(before.values()), (before, after, result)
    assert abs(sum(after.values()) - sum(before.values())) < 64
    assert target.is_whole()
    again = migrate(tool, target, engine, "--to", 0)
    assert again["already"] >= 48 * MIB_PAGES


def test_migrate_while_the_program_writes(tool: Tool, start_target, engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(16)
    target.ask("count 1")
    for node in (0, 1, 0):
        migrate(tool, target, engine, "--to", node)
    assert target.pages()[0] >= 0.95 * sum(target.pages().values())
    assert target.ask("halt").startswith("ok ") and target.is_whole()


def test_migrate_transparent_huge_pages(tool: Tool, start_target, engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(16, "thp")
    result = migrate(tool, target, engine, "--to", 0)
    assert result["moved"] + result["thp_split"] >= 16 * MIB_PAGES, result
    if not result["thp_split"]:
        assert target.pages()[0] >= 16 * MIB_PAGES
    assert target.is_whole()


def test_migrate_a_range_only(tool: Tool, start_target, engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(8)
    lines = Path(f"/proc/{target.pid}/numa_maps").read_text().splitlines()
    area = next(line for line in lines if "N1=2048" in line or "anon=2048" in line)
    start = int(area.split()[0], 16)
    span = f"{start + 0x100000:x}-{start + 0x300000:x}"
    result = migrate(tool, target, engine, "--to", 0, "--range", span)
    assert (result["asked"], result["moved"]) == (512, 512)
    assert target.pages(area.split()[0]) == {0: 512, 1: 2048 - 512}


def test_shared_pages_stay_and_are_counted(tool: Tool, start_target, engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(4)
    target.ask("fork")
    result = migrate(tool, target, engine, "--to", 0)
    assert result["shared"] >= 4 * MIB_PAGES, result
    assert target.pages()[1] >= 4 * MIB_PAGES


@pytest.mark.usefixtures("module")
def test_shared_memory_that_one_maps_moves(tool: Tool, start_target) -> None:
    target = start_target(memory=1)
    target.allocate(4, "shm")
    result = migrate(tool, target, "module", "--from", 1, "--to", 0)
    assert result["moved"] >= 4 * MIB_PAGES, result
    assert target.pages("file=/dev/zero") == {0: 4 * MIB_PAGES, 1: 0}


def test_hugetlb_pages(tool: Tool, start_target) -> None:
    pools = [Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
             for node in (0, 1)]
    for pool in pools:
        pool.write_text("8")
    try:
        assert [int(pool.read_text()) for pool in pools] == [8, 8], "no room for huge pages"
        target = start_target(memory=1)
        target.allocate(8, "hugetlb")
        assert tool("ps", target.pid)["tasks"][0]["pages"]["1"] >= 8 * MIB_PAGES
        for policy in ("maximum-local", "interleave"):  # a move would take from the pool of the other node
            tool("apply", "--policy", policy, "--sample", 0, "--engine", "syscall", target.pid)
            assert target.pages(" huge ") == {0: 0, 1: 8 * MIB_PAGES}, policy
        assert [pool.read_text() for pool in pools] == ["8\n", "8\n"]
        tool("restore", "--all")
        result = migrate(tool, target, "syscall", "--from", 1, "--to", 0)
        assert target.pages(" huge ") == {0: 8 * MIB_PAGES, 1: 0}, result
        assert target.is_whole()
        target.end()
    finally:
        for pool in pools:
            pool.write_text("0")


def test_interrupt_ends_a_move(tool: Tool, start_target, engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(32)
    move = subprocess.Popen([TOOL, "migrate", str(target.pid), "--to", "0", "--rate", "1",
                             "--engine", engine], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
    wait_until(lambda: target.pages()[0] > 100 or move.poll() is not None, "pages are on their way")
    move.send_signal(signal.SIGINT)
    output, _ = move.communicate(timeout=120)
    assert move.returncode == 1 and output.startswith("cancelled"), output
    assert 0 < target.pages()[0] < target.pages()[1], "it ended long before all had moved, which takes 32 s"
    assert target.is_whole()


@pytest.mark.usefixtures("module")
def test_memory_policy_needs_the_module(tool: Tool, start_target) -> None:
    """That it is loaded is no help when the user said not to use it."""
    target = start_target()
    status, line = tool.fails("place", target.pid, "--cpus", "0", "--mem", "bind:0",
                              "--engine", "syscall")
    assert status == 3 and "--engine says not to use the numaplace module" in line
    assert target.cpus() == {NODE_CPUS[1]}, "half applied"


@pytest.mark.usefixtures("module")
def test_memory_policy_of_a_running_program(tool: Tool, start_target) -> None:
    target = start_target(memory=1)
    original = target.policy()
    assert original == "bind:1"
    placed = tool("place", target.pid, "--mem", "bind:0", "--engine", "module")
    assert (placed["mem"], placed["cpus"]) == ("bind:0", "unchanged")
    before = target.pages()
    target.allocate(8)
    assert target.pages()[0] - before[0] >= 8 * MIB_PAGES
    tool("place", target.pid, "--mem", "interleave:0-1", "--engine", "module")
    assert target.policy() == "interleave:0-1"
    tool("restore", target.pid)
    assert target.policy() == original


def test_errors_name_the_object_and_the_way_out(tool: Tool, start_target, engine: str) -> None:
    target = start_target()
    for words, status, part in [
        (("migrate", target.pid, "--to", 5), 2, "node 5 does not exist"),
        (("migrate", target.pid, "--from", 7, "--to", 0), 2, "node 7 does not exist"),
        (("migrate", 999999, "--to", 0), 1, "no process 999999"),
        (("place", target.pid, "--cpus", "9"), 2, "CPU 9 does not exist"),
        (("place", 999999, "--cpus", "0"), 1, "no process 999999"),
        (("place", 2, "--cpus", "0"), 1, "kernel thread"),
        (("restore", target.pid), 1, "not under control"),
    ]:
        options = () if words[0] == "restore" else ("--engine", engine)
        got, line = tool.fails(*words, *options)
        assert (got, part in line) == (status, True), (words, got, line)
    assert target.cpus() == {NODE_CPUS[1]}


def test_not_permitted_says_whose_and_what_to_do(tool: Tool, start_target, nobody) -> None:
    target = start_target()
    for words in (("place", target.pid, "--cpus", "0"), ("migrate", target.pid, "--to", "0")):
        status, line = tool.fails(*words, **nobody)
        assert status == 1 and "of user root" in line and "run as" in line, line
    assert target.cpus() == {NODE_CPUS[1]}


def test_users_place_their_own_without_root(tool: Tool, start_target, nobody) -> None:
    target = start_target(**nobody)
    target.allocate(4)
    assert tool.run("place", target.pid, "--cpus", "0", **nobody).returncode == 0
    assert target.cpus() == {"0"}
    state = Path(nobody["env"]["XDG_RUNTIME_DIR"], "numaplace", "state.json")
    assert state.stat().st_mode & 0o777 == 0o600
    assert tool.run("migrate", target.pid, "--to", "0", **nobody).returncode == 0
    assert target.pages()[0] > 4 * MIB_PAGES
    assert tool.run("restore", "--all", **nobody).returncode == 0
    assert target.cpus() == {NODE_CPUS[1]}


def test_cpus_that_overlap_what_the_program_chose(tool: Tool, start_target, engine: str) -> None:
    """numactl set its CPUs: from Linux 6.2 on the kernel keeps others within them."""
    target = start_target(cpus=1)
    target.ask("sleepers 2")
    words = ("--mem", "bind:0") if engine == "module" else ()
    tool("place", target.pid, "--cpus", "1-2", "--engine", engine, *words)
    assert target.cpus() == {"1-2"}
    tool("restore", target.pid)
    assert (target.cpus(), target.policy()) == ({NODE_CPUS[1]}, "bind:1")


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("order", [("module", "syscall"), ("syscall", "module")])
def test_one_engine_on_top_of_the_other(tool: Tool, start_target, order) -> None:
    target = start_target(cpus=1)
    tool("place", target.pid, "--cpus", "0", "--engine", order[0])
    tool("place", target.pid, "--cpus", "1", "--engine", order[1])
    assert target.cpus() == {"1"}
    assert tool("restore", target.pid)["left_alone"] == 0
    assert target.cpus() == {NODE_CPUS[1]}


@pytest.mark.usefixtures("module")
def test_no_inherit(tool: Tool, start_target) -> None:
    target = start_target(cpus=1)
    status, line = tool.fails("place", target.pid, "--cpus", "0", "--no-inherit",
                              "--engine", "syscall")
    assert status == 3 and "module" in line
    tool("place", target.pid, "--cpus", "0", "--no-inherit", "--engine", "module")
    target.ask("sleepers 1")
    wait_until(lambda: target.cpus() == {"0", NODE_CPUS[1]}, target.cpus)


@pytest.fixture
def cpuset_group() -> Iterator[Path]:
    """A cgroup with a cpuset; what is in it ends first."""
    root = Path("/sys/fs/cgroup")
    (root / "cgroup.subtree_control").write_text("+cpuset")
    group = root / "numaplace-test"
    group.mkdir()
    yield group
    remove_group(group)
    (root / "cgroup.subtree_control").write_text("-cpuset")


def test_a_cpuset_is_respected(tool: Tool, cpuset_group: Path, start_target, engine: str) -> None:
    target = start_target()
    (cpuset_group / "cpuset.cpus").write_text("2-3")
    (cpuset_group / "cgroup.procs").write_text(str(target.pid))
    status, line = tool.fails("place", target.pid, "--cpus", "1-2", "--engine", engine)
    assert status == 1 and "cpuset" in line
    status, line = tool.fails("place", target.pid, "--cpus", "0-1", "--engine", engine)
    assert status == 1 and "cpuset" in line
    assert target.cpus() == {"2-3"}, "half applied"
    tool("migrate", target.pid, "--to", 0, "--engine", engine)  # where the policy wants to go
    tool("apply", "--policy", "maximum-local", "--sample", 0, "--engine", engine, target.pid)
    assert target.cpus() == {"2-3"}


def test_restored_it_follows_its_cpuset_again(tool: Tool, cpuset_group: Path, start_target) -> None:
    """It never chose CPUs: what its cpuset allowed at the moment is not a choice."""
    target = start_target()
    os.sched_setaffinity(target.pid, range(4))
    (cpuset_group / "cpuset.cpus").write_text("1-3")
    (cpuset_group / "cgroup.procs").write_text(str(target.pid))
    tool("place", target.pid, "--cpus", "1", "--engine", "syscall")
    assert tool("restore", target.pid) == {"restored": 1, "left_alone": 0}
    assert target.cpus() == {"1-3"}
    (cpuset_group / "cpuset.cpus").write_text("0-3")
    assert target.cpus() == {"0-3"}


@pytest.mark.usefixtures("module")
def test_without_the_module_the_rest_says_what_is_missing(tool: Tool, start_target) -> None:
    module = find_module_file()
    assert module, "no module was built for this kernel"
    target = start_target(memory=1)
    target.allocate(4)
    tool("place", target.pid, "--cpus", "0", "--engine", "module")
    subprocess.run(["/sbin/rmmod", "numaplace"], check=True)
    try:
        assert target.cpus() == {NODE_CPUS[1]}, "unloading restores"
        assert tool("topology")["module"]["usable"] is False
        for words in (("place", target.pid, "--mem", "bind:0"),
                      ("migrate", target.pid, "--to", 0, "--engine", "module")):
            status, line = tool.fails(*words)
            assert status == 3 and "module" in line and "insmod" in line, line
        assert tool("place", target.pid, "--cpus", "0")["engine"] == "syscall"
        assert migrate(tool, target, "syscall", "--to", 0)["moved"] >= 4 * MIB_PAGES
        assert tool("restore", target.pid)["restored"] == 1
        assert target.is_whole()
    finally:
        subprocess.run(["/sbin/insmod", module], check=True)
