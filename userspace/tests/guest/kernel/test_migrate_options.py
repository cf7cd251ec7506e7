# SPDX-License-Identifier: GPL-2.0-only
"""Kinds and numbers of pages that migrate moves, by engine; every option of the module's grammar."""
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import Target, Tool, wait_until

MIB_PAGES = 256
NOT_REASONS = ("asked", "bytes", "ns", "longest_unmapped_us", "engine")


def migrate(tool: Tool, target: Target, *words: object) -> dict:
    return tool("migrate", target.pid, "--from", 1, "--to", 0, *words)["migrate"]


@pytest.fixture
def huge_pages() -> Iterator[None]:
    pools = [Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
             for node in (0, 1)]
    try:
        for pool in pools:
            pool.write_text("8")
        if any(int(pool.read_text()) < 8 for pool in pools):
            pytest.skip("the kernel found no room for huge pages")
        yield
    finally:
        for pool in pools:
            pool.write_text("0")


@pytest.mark.usefixtures("module")
def test_shared_memory_is_home_and_no_plan_moves_it(tool: Tool, start_target: Callable[..., Target]) -> None:
    """A task whose 16 MiB of shared memory are on node 1 and whose own few pages are on node 0."""
    target = start_target(cpus=0, memory=1)
    target.allocate(16, "shm")
    tool("migrate", target.pid, "--to", 0)
    maps = Path(f"/proc/{target.pid}/maps").read_text().splitlines()
    tool("migrate", target.pid, "--to", 1, "--range", next(line.split()[0] for line in maps if "/dev/zero" in line))
    task = tool("ps", target.pid)["tasks"][0]
    assert task["shm_pages"] == {"0": 0, "1": 16 * MIB_PAGES}
    assert task["pages"]["1"] >= 16 * MIB_PAGES and task["locality"] < 0.2
    walked = tool("ps", "--walk", target.pid)["tasks"][0]
    assert walked["pages"]["1"] == pytest.approx(task["pages"]["1"], abs=16)
    done = tool("apply", "--policy", "maximum-local", "--assume", f"pid={target.pid},penalty=1.5", "--sample", 0,
                target.pid)["decisions"][0]
    assert done["to"] == 1 and target.cpus() == {"2-3"}, done
    assert target.pages("file=/dev/zero") == {0: 0, 1: 16 * MIB_PAGES}
    assert done["result"]["migrate"]["moved"] < 4 * MIB_PAGES


@pytest.mark.usefixtures("module", "huge_pages")
def test_auto_moves_hugetlb_without_any_thp(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(memory=1)
    target.allocate(8, "hugetlb")
    result = migrate(tool, target)
    assert target.pages(" huge ") == {0: 8 * MIB_PAGES, 1: 0}, result
    assert (result["hugetlb"], result["engine"]) == (0, "module+syscall")
    assert target.is_whole()
    target.end()


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("engine", ["auto", "syscall"])
def test_shared_memory_that_only_it_maps_moves(tool: Tool, start_target: Callable[..., Target], engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(4, "shm")
    result = migrate(tool, target, "--engine", engine)
    assert target.pages("file=/dev/zero") == {0: 4 * MIB_PAGES, 1: 0}, result
    assert result["moved"] >= 4 * MIB_PAGES
    assert result["asked"] == sum(count for reason, count in result.items() if reason not in NOT_REASONS), result
    assert target.is_whole()


def fully_mapped(target: Target) -> bool:
    """Its child has as many pages of shared memory as itself."""
    child = Path(f"/proc/{target.pid}/task/{target.pid}/children").read_text().split()[0]
    return Path(f"/proc/{child}/smaps_rollup").read_text().split("Pss_Shmem:")[1].split()[0] == str(4 * 1024 // 2)


def test_shared_memory_of_two_needs_an_option(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(memory=1)
    target.allocate(4, "shm")
    target.ask("fork-reader")
    wait_until(lambda: fully_mapped(target), "the child has every page")
    result = migrate(tool, target, "--engine", "syscall")
    assert result["file"] >= 4 * MIB_PAGES, result
    assert target.pages("file=/dev/zero") == {0: 0, 1: 4 * MIB_PAGES}
    migrate(tool, target, "--engine", "syscall", "--shared")
    assert target.pages("file=/dev/zero") == {0: 4 * MIB_PAGES, 1: 0}


def test_pages_left_by_fork_need_an_option(tool: Tool, start_target: Callable[..., Target], engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(4)
    target.ask("fork")
    assert migrate(tool, target, "--engine", engine)["shared"] >= 4 * MIB_PAGES
    if engine == "module":
        assert migrate(tool, target, "--engine", engine, "--shared")["shared"] >= 4 * MIB_PAGES
        engine = "auto"
    assert migrate(tool, target, "--engine", engine, "--shared")["moved"] >= 4 * MIB_PAGES
    assert target.is_whole()


@pytest.mark.usefixtures("module")
def test_split(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(memory=1)
    target.allocate(8, "thp")
    result = migrate(tool, target, "--engine", "module", "--split")
    assert result["thp_split"] == 0, result
    assert target.pages()[0] >= 8 * MIB_PAGES
    assert target.is_whole()


def test_limit_is_kept(tool: Tool, start_target: Callable[..., Target], engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(8)
    before = target.pages()[1]
    result = migrate(tool, target, "--engine", engine, "--limit", 1000)
    assert result["moved"] == 1000
    assert abs(before - target.pages()[1] - 1000) < 16
    assert target.is_whole()


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize("words", [("--threads", 1), ("--threads", 16), ("--split",)])
def test_options_of_the_module_alone(tool: Tool, start_target: Callable[..., Target], words: tuple) -> None:
    target = start_target(memory=1)
    target.allocate(4)
    target.ask("count 1")
    result = migrate(tool, target, "--engine", "module", *words)
    assert result["moved"] >= 4 * MIB_PAGES * 0.9
    assert result["longest_unmapped_us"] > 0
    status, line = tool.fails("migrate", target.pid, "--to", 0, "--engine", "syscall", *words)
    assert status == 3 and words[0] in line and "module" in line


def test_dry_run_moves_nothing_and_counts_the_same(tool: Tool, start_target: Callable[..., Target], engine: str) -> None:
    target = start_target(memory=1)
    target.allocate(4)
    before = target.pages()
    would = migrate(tool, target, "--engine", engine, "--dry-run")
    assert target.pages() == before and would["moved"] >= 4 * MIB_PAGES
    assert migrate(tool, target, "--engine", engine)["moved"] == pytest.approx(would["moved"], abs=16)


def test_several_processes(tool: Tool, start_target: Callable[..., Target]) -> None:
    targets = [start_target(memory=1), start_target(memory=1)]
    for target in targets:
        target.allocate(4)
    moves = tool("migrate", *[target.pid for target in targets], "--to", 0)["moves"]
    assert [move["pid"] for move in moves] == [target.pid for target in targets]
    assert all(move["migrate"]["moved"] >= 4 * MIB_PAGES for move in moves)
    assert all(target.pages()[0] >= 4 * MIB_PAGES for target in targets)


def test_a_limit_is_of_all_processes(tool: Tool, start_target: Callable[..., Target]) -> None:
    targets = [start_target(memory=1), start_target(memory=1)]
    for target in targets:
        target.allocate(4)
    moves = tool("migrate", *[target.pid for target in targets], "--to", 0, "--limit", 100)["moves"]
    assert [move["migrate"]["moved"] for move in moves] == [100]


def test_all_of_a_cgroup(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(memory=1)
    target.allocate(4)
    group = Path("/sys/fs/cgroup/migrated")
    group.mkdir()
    home = Path("/sys/fs/cgroup", Path(f"/proc/{target.pid}/cgroup").read_text().splitlines()[-1].partition("::/")[2])
    try:
        (group / "cgroup.procs").write_text(str(target.pid))
        (move,) = tool("migrate", "--cgroup", "/migrated", "--to", 0)["moves"]
        assert move["pid"] == target.pid and target.pages()[0] >= 4 * MIB_PAGES
    finally:
        (home / "cgroup.procs").write_text(str(target.pid))
        group.rmdir()


def test_ranges_and_weights(tool: Tool, start_target: Callable[..., Target]) -> None:
    target = start_target(memory=1)
    target.allocate(16)
    tool("migrate", target.pid, "--spread", "0:3,1:1")
    assert target.pages()[0] / sum(target.pages().values()) == pytest.approx(0.75, abs=0.03)
    maps = [line.split() for line in Path(f"/proc/{target.pid}/maps").read_text().splitlines()]
    whole = [words[0] for words in maps if len(words) == 5]  # anonymous
    moved = tool("migrate", target.pid, "--to", 1, *[word for one in whole for word in ("--range", one)])["migrate"]["moved"]
    assert moved >= 11 * MIB_PAGES and target.pages()[0] < MIB_PAGES
    assert target.is_whole()


@pytest.mark.parametrize("words", [("--spread", "0:0,1:1"), ("--spread", "0:1,1"), ("--spread", "7:1"), ("--spread", "0:x")])
def test_wrong_weights_are_one_line(tool: Tool, start_target: Callable[..., Target], words: tuple) -> None:
    assert tool.fails("migrate", start_target().pid, *words)[0] == 2
