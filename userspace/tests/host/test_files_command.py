# SPDX-License-Identifier: GPL-2.0-only
"""numaplace files: pages in memory of files and segments, mapped or not, and who maps them."""
import json
import mmap
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import building

ROOT = Path(__file__).resolve().parents[3]
TOOL = ROOT / "build" / "numaplace"
PAGES = 64
SIZE = PAGES * mmap.PAGESIZE
NOBODY = 65534
MAPPING = """
import mmap, os, sys
kind, name = sys.argv[1:]
if kind == "segment":  # in an IPC namespace of its own
    import ctypes
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    assert not libc.unshare(0x08000000)  # CLONE_NEWIPC
    memory = (ctypes.c_char * {size}).from_address(libc.shmat(libc.shmget(0, {size}, 0o1600), None, 0))
elif kind == "memfd":
    fd = os.memfd_create(name)
    os.ftruncate(fd, {size})
else:
    fd = os.open(name, os.O_RDONLY)
if kind != "segment":
    memory = mmap.mmap(fd, {size}, mmap.MAP_PRIVATE if kind == "copies" else mmap.MAP_SHARED,
                       mmap.PROT_READ | (mmap.PROT_WRITE if kind != "read" else 0))
for page in range(0, {size}, 4096):
    if kind == "read":
        memory[page]
    else:
        memory[page] = 1
print("ready", flush=True)
sys.stdin.read()
""".format(size=SIZE)

Start = Callable[..., int]


@pytest.fixture
def start() -> Iterator[Start]:
    building.build("build/numaplace")
    started = []

    def start_mapping(kind: str, name: object, user: int = 0) -> int:
        command = [sys.executable, "-IS", "-c", MAPPING, kind, str(name)]
        started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, user=user))
        assert started[-1].stdout.readline() == "ready\n"
        return started[-1].pid
    yield start_mapping
    for process in started:
        process.communicate("")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.write_bytes(bytes(SIZE))
    return path


def run(*words: object, user: int = 0) -> subprocess.CompletedProcess:
    return subprocess.run([TOOL, "files", *map(str, words)], capture_output=True, text=True, timeout=60, check=False, user=user)


def read_files(*words: object, user: int = 0) -> dict[str, dict]:
    """By path."""
    done = run("--json", *words, user=user)
    assert done.returncode == 0, done.stderr
    return {found["path"]: found for found in json.loads(done.stdout)["files"]}


def count_pages(found: dict) -> int:
    return sum(found["pages"].values())


def test_a_file_that_nobody_maps(start: Start, file: Path) -> None:
    found = read_files(file)[str(file)]
    assert (count_pages(found), found["readers"], found["remote_share"]) == (PAGES, [], None)


def test_what_is_not_in_memory_is_not_read(start: Start, file: Path) -> None:
    fd = os.open(file, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in range(2):
        assert count_pages(read_files(file)[str(file)]) == 0
    os.close(fd)


def test_an_empty_file_has_a_line(start: Start, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    found = read_files(tmp_path / "empty")[str(tmp_path / "empty")]
    assert (count_pages(found), found["readers"]) == (0, [])


def test_a_file_that_is_cut_meanwhile(start: Start) -> None:
    """To touch a page behind its end would end the command by SIGBUS."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        for _ in range(10):
            file.write(bytes(64 << 20))
            file.flush()
            with subprocess.Popen([TOOL, "files", file.name], stdout=subprocess.DEVNULL) as command:
                while command.poll() is None:
                    os.ftruncate(file.fileno(), 0)
                    os.ftruncate(file.fileno(), 64 << 20)
            assert command.returncode == 0
            file.seek(0)


def test_its_readers_are_named(start: Start, file: Path) -> None:
    pids = {start("read", file), start("read", file)}
    found = read_files(file)[str(file)]
    assert {reader["pid"] for reader in found["readers"]} == pids
    assert all(sum(reader["pages"].values()) == PAGES for reader in found["readers"])
    assert count_pages(found) == PAGES


def test_files_of_a_process_are_as_those_by_name(start: Start, file: Path) -> None:
    pid = start("read", file)
    other = start("read", file)
    found = read_files(pid)[str(file)]
    assert {reader["pid"] for reader in found["readers"]} == {pid, other}
    assert count_pages(found) == PAGES and Path(found["through"]).samefile(file)


def test_a_process_that_is_named_twice_counts_once(start: Start, file: Path) -> None:
    pid = start("read", file)
    reader, = read_files(pid, pid)[str(file)]["readers"]
    assert sum(reader["pages"].values()) == PAGES


def test_ps_counts_them_when_asked(start: Start, file: Path) -> None:
    pid = start("read", file)

    def count(*words: str) -> tuple[int, int]:
        done = subprocess.run([TOOL, "ps", "--json", "-s", "0", *words, str(pid)], capture_output=True, text=True, timeout=60, check=True)
        task, = json.loads(done.stdout)["tasks"]
        return sum(task["pages"].values()), sum(task.get("shm_pages", {}).values())

    (own, shared), (all_pages, left_alone) = count(), count("--files")
    assert all_pages - own >= PAGES and left_alone - shared == pytest.approx(all_pages - own, abs=16)


def test_two_names_of_one_file_are_one(start: Start, file: Path) -> None:
    link = file.with_name("link")
    link.hardlink_to(file)
    assert len(read_files(file, link, file)) == 1


def test_copies_that_a_process_wrote_are_not_of_the_file(start: Start, file: Path) -> None:
    start("copies", file)
    assert read_files(file)[str(file)]["readers"] == []


def test_a_file_without_a_name(start: Start) -> None:
    pid = start("memfd", "np-test")
    found = read_files(pid)["/memfd:np-test (deleted)"]
    assert count_pages(found) == PAGES
    assert count_pages(read_files(found["through"])[found["through"]]) == PAGES


def test_a_segment_of_another_namespace(start: Start) -> None:
    """Its number is another segment's here."""
    pid = start("segment", "")
    found = read_files(pid)["/SYSV00000000 (deleted)"]
    assert (count_pages(found), found["mapped_only"], found.get("shm")) == (PAGES, False, None)
    named = read_files(found["through"])[found["through"]]
    assert (count_pages(named), [reader["pid"] for reader in named["readers"]], named.get("shm")) == (PAGES, [pid], None)


def test_who_may_not_open_it_sees_what_is_mapped(start: Start) -> None:
    with tempfile.NamedTemporaryFile() as file:  # pytest's own folders are closed to others
        os.fchmod(file.fileno(), 0o644)
        file.write(bytes(2 * SIZE))
        file.flush()
        pid = start("read", file.name, user=NOBODY)
        assert count_pages(read_files(pid)[file.name]) == 2 * PAGES
        found = read_files(pid, user=NOBODY)[file.name]
        assert (count_pages(found), found["mapped_only"]) == (PAGES, True)


@pytest.mark.parametrize(("words", "status", "said"), [
    ((), 2, "name a process, a file"), (("999999",), 1, "no process 999999"), (("/dev/null",), 1, "no regular file"),
    (("/nonexistent",), 1, "No such file"), (("1", "--limit", "x"), 2, "--limit")])
def test_what_cannot_be_is_one_line(words: tuple[str, ...], status: int, said: str) -> None:
    building.build("build/numaplace")
    done = run(*words)
    assert (done.returncode, done.stdout) == (status, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


def test_an_option_without_effect_is_refused(start: Start, file: Path) -> None:
    done = subprocess.run([TOOL, "migrate", "--file", file, "--to", "0", "--shared"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "--shared is of processes" in done.stderr


def test_a_long_path_leaves_room_for_the_reason(start: Start, tmp_path: Path) -> None:
    path = tmp_path / ("x" * 240 + "end")
    path.mkdir()
    assert "xxxend cannot be reached: it is no regular file" in run(path).stderr


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in run(tmp_path / "pipe").stderr
