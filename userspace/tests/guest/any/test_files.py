# SPDX-License-Identifier: GPL-2.0-only
"""Policies with files=on: pages of mapped files count, come to where their readers run, and go back."""
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from placed import Tool, wait_until

SIZE = 32 << 20  # more than its own memory and the interpreter's files, on whichever node these are
PAGES = SIZE // 4096
# Without huge pages, by PR_SET_THP_DISABLE: khugepaged fills the holes of a range that it makes one of, and there are more pages.
READING = """
import ctypes, mmap, sys
assert not ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
own = bytearray(b"x" * (8 << 20))
with open(sys.argv[1], "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
for page in range(0, len(memory), 4096):
    memory[page]
print("ready", flush=True)
sys.stdin.read()
"""
WITH_FILES = ("--policy", "maximum-local:files=on", "--sample", 0)

OWN_PAGES = (8 << 20) // 4096

Start = Callable[..., int]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """On node 1."""
    subprocess.run(["mount", "-t", "tmpfs", "none", tmp_path], check=True)
    path = tmp_path / "data"
    subprocess.run(["numactl", "--membind=1", "dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={SIZE >> 20}", "status=none"], check=True)
    yield path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.fixture
def start(file: Path) -> Iterator[Start]:
    """Starts one that maps the file, on a node."""
    started = []

    def start_reader(node: int, *words: str) -> int:
        started.append(subprocess.Popen(["numactl", f"--cpunodebind={node}", *words, sys.executable, "-c", READING, str(file)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1].pid
    yield start_reader
    for process in started:
        process.communicate("")


def list_moves(done: dict, file: Path) -> list[dict]:
    """Of the file; the interpreter's own files may be on another node, too."""
    return [one for one in done["files"] if one["path"] == str(file)]


def pages_of(tool: Tool, file: Path) -> dict[str, int]:
    (found,) = tool("files", file)["files"]
    return found["pages"]


def test_a_file_comes_to_its_readers_and_goes_back(tool: Tool, start: Start, file: Path, engine: str) -> None:
    pids = [start(0), start(0)]
    done = tool("apply", *WITH_FILES, "--engine", engine, "--nodes", 0, *pids)
    (moved,) = list_moves(done, file)
    assert (moved["share"]["0"], moved["pages_to_move"]) == (1, PAGES)
    assert moved["migrate"]["moved"] == PAGES
    assert pages_of(tool, file) == {"0": PAGES, "1": 0}
    back = tool("restore", "--all", "--pages")
    assert back["pages"]["files"] == len(done["files"])
    assert pages_of(tool, file) == {"0": 0, "1": PAGES}


def test_restore_of_one_reader_brings_it_back(tool: Tool, start: Start, file: Path) -> None:
    pid = start(0)
    done = tool("apply", *WITH_FILES, "--nodes", 0, pid)
    assert tool("restore", "--pages", pid)["pages"]["files"] == len(done["files"])
    assert pages_of(tool, file) == {"0": 0, "1": PAGES}


def test_without_the_option_it_stays(tool: Tool, start: Start, file: Path) -> None:
    done = tool("apply", "--policy", "maximum-local", "--sample", 0, "--nodes", 0, start(0))
    assert "files" not in done and pages_of(tool, file) == {"0": 0, "1": PAGES}


def test_a_task_follows_a_file_that_is_most_of_its_memory(tool: Tool, start: Start, file: Path) -> None:
    pid = start(0)
    assert tool("plan", "--policy", "maximum-local", "--sample", 0, pid)["decisions"][0]["to"] in (None, 0)
    done = tool("plan", *WITH_FILES, pid)
    assert done["decisions"][0]["to"] == 1 and not list_moves(done, file)


def test_a_tasks_own_pages_go_back_too(tool: Tool, start: Start, file: Path) -> None:
    """They have followed the file; what is noted of them does not count the file's."""
    pid = start(0)
    before = tool("ps", "--sample", 0, pid)["tasks"][0]["pages"]
    assert tool("apply", *WITH_FILES, pid)["decisions"][0]["to"] == 1
    assert tool("ps", "--sample", 0, pid)["tasks"][0]["pages"]["1"] >= OWN_PAGES
    tool("restore", "--all", "--pages")
    after = tool("ps", "--sample", 0, pid)["tasks"][0]["pages"]
    assert after["0"] == pytest.approx(before["0"], abs=64) and after["1"] < 64


def test_a_reader_with_a_policy_of_its_own_keeps_its_file(plain: Tool, start: Start, file: Path) -> None:
    assert not list_moves(plain("plan", *WITH_FILES, "--nodes", 0, start(0, "--membind=0,1")), file)


def test_a_reader_that_has_ended_is_left_out(tool: Tool, start: Start, file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    saved = tmp_path_factory.mktemp("plan") / "plan.json"
    other = start(0)
    saved.write_text(tool.run("plan", *WITH_FILES, "--nodes", 0, start(0), other, "--json").stdout)
    os.kill(other, signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{other}/maps").exists() or not Path(f"/proc/{other}/maps").read_text(), "it has ended")
    tool("apply", "--plan", saved)
    assert pages_of(tool, file) == {"0": PAGES, "1": 0}


def test_readers_on_both_nodes_share_it(tool: Tool, start: Start, file: Path) -> None:
    done = tool("apply", "--policy", "interleave:files=on", "--sample", 0, start(0), start(1))
    (moved,) = list_moves(done, file)
    assert moved["share"] == {"0": 0.5, "1": 0.5}
    assert pages_of(tool, file)["0"] == pytest.approx(PAGES / 2, rel=0.05)


def test_a_file_of_others_is_left_alone(tool: Tool, start: Start, file: Path) -> None:
    """Two others map it as well."""
    pid, _, _ = start(0), start(1), start(1)
    assert not list_moves(tool("plan", *WITH_FILES, "--nodes", 0, pid), file)


def test_a_saved_plan_moves_them_too(tool: Tool, start: Start, file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    saved = tmp_path_factory.mktemp("plan") / "plan.json"
    saved.write_text(tool.run("plan", *WITH_FILES, "--nodes", 0, start(0), "--json").stdout)
    tool("apply", "--plan", saved)
    assert pages_of(tool, file) == {"0": PAGES, "1": 0}


def test_where_they_cannot_be_moved_is_one_line(tool: Tool, start: Start, file: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    snapshot = tmp_path_factory.mktemp("snapshot") / "tasks.json"
    snapshot.write_text(tool.run("ps", "--json", "--sample", 0, start(0)).stdout)
    assert "which files" in tool.fails("plan", "--policy", "maximum-local:files=on", "--snapshot", snapshot)[1]
    assert "files=on is of plan and apply" in tool.fails("run", "--policy", "maximum-local:files=on", "--", "true")[1]
