# SPDX-License-Identifier: GPL-2.0-only
"""Files and segments as a whole, whoever maps them or nobody: by `numaplace migrate --file` and `--shm`, with both engines."""

import ctypes
import hashlib
import json
import mmap
import os
import subprocess
from contextlib import ExitStack
from pathlib import Path

import blocks
import driver
import pagemap
import pytest
from mapped import PAGES, SIZE, drop_pages, mapped_by, migrate, write_half_dirty

ENGINES = ["module", "syscall"]
BIG = 65536  # 256 MiB
SIZES = [pytest.param(PAGES, 3, id="4-MiB"), pytest.param(BIG, 8, id="256-MiB", marks=pytest.mark.full("memory and time for 256 MiB"))]


def choose_engine(engine: str) -> str:
    """For a file on ext4: the module leaves large folios of files, and auto takes the call for them."""
    return "auto" if engine == "module" and driver.LARGE_FILES else engine


def sum_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def make_file(tmp_path):
    """Makes a file on a disk, of which one half is written back and the other is dirty."""
    folder = tmp_path / "disk"
    folder.mkdir()
    with ExitStack() as stack:
        def make(pages: int) -> Path:
            stack.enter_context(blocks.file_system((pages * mmap.PAGESIZE >> 20) + 60, folder))
            path = folder / "data"
            write_half_dirty(path, pages)
            return path
        yield make


@pytest.fixture
def file(make_file):
    return make_file(PAGES)


def check_disk(path: Path):
    """What the disk has is what the memory had."""
    before = sum_of(path)
    drop_pages(path)
    assert sum_of(path) == before


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("pages", "mappers"), SIZES)
def test_file_that_nobody_maps(make_file, engine, pages, mappers):
    file = make_file(pages)
    before = sum_of(file)
    for to in (1, 0, 1):
        found = migrate(choose_engine(engine), "--file", file, "--to", to)
        assert found.get("moved", 0) + found.get("already", 0) == pages, found
        with mapped_by("file", file, 1, pages) as (mapper,):
            assert mapper.nodes() == {to}
    assert sum_of(file) == before
    with mapped_by("file", file, mappers, pages):
        pass  # one has written to every second page
    assert sum_of(file) != before
    check_disk(file)


def check_moves(mappers, engine, *words):
    """All of it to the other node and back, whole for each of those that map it."""
    seen = {mapper.read_sum() for mapper in mappers}
    for to in (1, 0):
        found = migrate(engine, *words, "--to", to)
        assert found.get("moved", 0) + found.get("already", 0) == mappers[0].pages, found
        assert all(mapper.nodes() == {to} for mapper in mappers)
    assert {mapper.read_sum() for mapper in mappers} == seen and len(seen) == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("pages", "mappers"), SIZES)
def test_file_that_several_map(make_file, engine, pages, mappers):
    file = make_file(pages)
    with mapped_by("file", file, mappers, pages) as processes:
        check_moves(processes, choose_engine(engine), "--file", file)
    check_disk(file)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("pages", "mappers"), SIZES)
def test_segment(engine, pages, mappers):
    libc = ctypes.CDLL(None, use_errno=True)
    number = libc.shmget(0, ctypes.c_size_t(pages * mmap.PAGESIZE), 0o1600)  # IPC_CREAT
    assert number >= 0
    try:
        with mapped_by("shm", number, mappers, pages) as processes:
            check_moves(processes, engine, "--shm", number)
        assert migrate(engine, "--shm", number, "--to", 1)["moved"] == pages  # nobody has it attached
    finally:
        libc.shmctl(number, 0, None)


def test_files_says_for_whom_it_is_remote(file):
    """All on the node that its one reader runs on, or none."""
    with mapped_by("file", file, 1) as (mapper,):
        os.sched_setaffinity(mapper.process.pid, {2})
        for to, remote in ((1, 0), (0, 1)):
            migrate("auto", "--file", file, "--to", to)
            done = subprocess.run([driver.TOOL, "files", "--json", str(file)], check=True, capture_output=True, text=True)
            (found,) = json.loads(done.stdout)["files"]
            assert found["pages"][str(to)] == PAGES and found["remote_share"] == remote, found
            assert [reader["pid"] for reader in found["readers"]] == [mapper.process.pid]


@pytest.mark.parametrize("engine", ENGINES)
def test_file_over_nodes(file, engine):
    """Spread and brought together again: every part of it has its half on each node, or, where folios are large, all of it."""
    with mapped_by("file", file, 2) as mappers:
        seen = mappers[0].read_sum()
        migrate(choose_engine(engine), "--file", file, "--spread", "0-1")
        nodes = pagemap.nodes(mappers[0].process.pid, mappers[0].at, PAGES)
        part = PAGES if driver.LARGE_FILES else 64
        assert all(3 / 8 <= sum(nodes[at:at + part]) / part <= 5 / 8 for at in range(0, PAGES, part)), nodes
        migrate(choose_engine(engine), "--file", file, "--spread", "1")
        assert mappers[1].nodes() == {1} and mappers[0].read_sum() == seen
    check_disk(file)


def test_memory_file_of_a_process(target):
    """By its descriptor; a memory file has no name."""
    t = target("memfd", PAGES)
    link, = (link for link in Path(f"/proc/{t.pid}/fd").iterdir() if os.readlink(link).startswith("/memfd:"))
    assert migrate("module", "--file", link, "--to", 1) == {"moved": PAGES}
    assert t.where() == {"1": PAGES} and t.is_whole()


def count_in_memory(path: Path) -> int:
    """Pages of it that are in memory."""
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    resident = (ctypes.c_ubyte * PAGES)()
    with path.open("rb") as opened:
        at = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(SIZE), mmap.PROT_READ, mmap.MAP_SHARED, opened.fileno(), ctypes.c_size_t(0)))
    try:
        assert libc.mincore(at, ctypes.c_size_t(SIZE), resident) == 0
    finally:
        libc.munmap(at, ctypes.c_size_t(SIZE))
    return sum(page & 1 for page in resident)


def test_what_is_not_in_memory_is_not_read(file):
    """A file that was dropped: nothing to move, and nothing is there afterwards."""
    assert count_in_memory(file) == PAGES
    drop_pages(file)
    assert count_in_memory(file) == 0
    assert "moved" not in migrate("module", "--file", file, "--to", 1)
    assert count_in_memory(file) == 0


@pytest.mark.parametrize(("words", "said"), [(("--file", "/nonexistent"), "No such file"), (("--file", "/"), "no regular file"),
                                             (("--shm", 999999), "`ipcs -m` lists them"), ((), "name processes, a cgroup, --file or --shm"),
                                             (("--file", "/proc/self/exe", "--spread", "0"), "two ways to say where to")])
def test_what_cannot_be_moved_is_one_line(words, said):
    done = subprocess.run([driver.TOOL, "migrate", *map(str, words), "--to", "1"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and said in done.stderr and done.stderr.count("\n") == 1, done.stderr
