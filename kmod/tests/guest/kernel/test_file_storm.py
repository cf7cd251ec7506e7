# SPDX-License-Identifier: GPL-2.0-only
"""Pages of files move while others map, write, sync, truncate and drop them: every counter is right in memory and on the disk."""

import multiprocessing
from contextlib import suppress
from pathlib import Path

import blocks
import cgroup
import driver
import pytest
from mapped import drop_pages
from storms import PAGES, eager_kernel, end, start, wait_for_moves

PAGE = 4096
MIB = 128  # of the disk
ROOM = 16 << 20  # bytes for the reader itself
# A process that counts in its own 8 bytes of each page of a file until it is told to end, and then says how often it went round.
WRITER = """
import mmap, os, struct, sys
path, slot, how, pages = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
fd = os.open(path, os.O_RDWR)
memory = mmap.mmap(fd, pages * 4096)
print("ready", flush=True)
stop = []
import signal
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
rounds = 0
while not stop:
    rounds += 1
    value = struct.pack("Q", rounds)
    for page in range(pages):
        at = page * 4096 + 8 * slot
        if how == "map":
            memory[at:at + 8] = value
        else:
            os.pwrite(fd, value, at)
    if how == "sync":
        os.fsync(fd)
    for page in range(pages):
        at = page * 4096 + 8 * slot
        seen = memory[at:at + 8] if how != "map" else os.pread(fd, 8, at)
        assert seen == value, (page, seen, value)
print(rounds, flush=True)
"""
# Others that change what is mapped: they only have to survive.
CHURN = """
import ctypes, mmap, os, signal, sys
path, pages = sys.argv[1], int(sys.argv[2])
size = pages * 4096
libc = ctypes.CDLL(None)
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
print("ready", flush=True)
while not stop:
    fd = os.open(path, os.O_RDWR)
    memory = mmap.mmap(fd, size)
    for page in range(0, pages, 7):
        memory[page * 4096]
    child = os.fork()
    if not child:
        for page in range(0, pages, 3):
            memory[page * 4096]
        os._exit(0)
    at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    libc.mprotect(at, ctypes.c_size_t(size // 2), 1)
    memory.madvise(mmap.MADV_DONTNEED, 0, size // 2)
    libc.mprotect(at, ctypes.c_size_t(size // 2), 3)
    assert os.waitpid(child, 0)[1] == 0
    del at
    os.close(fd)
print("0", flush=True)
"""
# A second file that is cut, grows and is written anew, and checked each time. khugepaged keeps away from it: by 7.3.4, also without the
# module, collapse_file() has pages locked while it reads others in, for which it waits for a truncation that waits for those pages.
CUTTER = """
import mmap, os, signal, sys
path, pages = sys.argv[1], int(sys.argv[2])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
fd = os.open(path, os.O_RDWR)
print("ready", flush=True)
rounds = 0
while not stop:
    rounds += 1
    os.ftruncate(fd, rounds % pages * 4096)
    os.ftruncate(fd, pages * 4096)
    block = bytes([rounds % 251]) * 4096
    for page in range(pages):
        os.pwrite(fd, block, page * 4096)
    memory = mmap.mmap(fd, pages * 4096)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    assert all(memory[page * 4096:(page + 1) * 4096] == block for page in range(pages))
print(rounds, flush=True)
"""
# Its own memory: equal pages, which are merged and written to in turn, and memory for huge pages.
OWN = """
import mmap, signal, sys
pages = int(sys.argv[1])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
equal, huge = (mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2))
equal.madvise(mmap.MADV_MERGEABLE)
huge.madvise(mmap.MADV_HUGEPAGE)
print("ready", flush=True)
rounds = 0
while not stop:
    rounds += 1
    blocks = [bytes([rounds % 251]) * 4096, bytes([rounds % 241]) * 4096]
    for memory, block in zip((equal, huge), blocks):
        for page in range(0, pages, 1 + rounds % 3):
            memory[page * 4096:(page + 1) * 4096] = block
        assert all(memory[page * 4096:(page + 1) * 4096] == block for page in range(0, pages, 1 + rounds % 3))
    huge.madvise(mmap.MADV_DONTNEED, pages // 2 * 4096)
print(rounds, flush=True)
"""


def read_counters(path: Path, slot: int) -> set[int]:
    data = path.read_bytes()
    return {int.from_bytes(data[page * PAGE + 8 * slot:page * PAGE + 8 * slot + 8], "little") for page in range(PAGES)}


def press_memory(group: cgroup.Group, stop) -> None:
    """Drops clean pages, and pushes those of a group to the disk and to swap, again and again."""
    while not stop.is_set():
        Path("/proc/sys/vm/drop_caches").write_text("1")
        Path("/proc/sys/vm/compact_memory").write_text("1")
        with suppress(OSError):  # less than that was to be had
            group.set("memory.reclaim", "4M")
        stop.wait(0.3)


@pytest.mark.long("moves until each of the others has acted")
@pytest.mark.parametrize("seconds", [0, pytest.param(600, marks=pytest.mark.full("ten minutes of it"))])
@pytest.mark.parametrize("where", ["disk", "tmpfs"])
def test_moves_beside_all_that_changes_a_file(where, seconds, tmp_path):
    with blocks.file_system(MIB, tmp_path) if where == "disk" else blocks.mounted(tmp_path, "-t", "tmpfs", "none"):
        storm(tmp_path, seconds)


def storm(folder: Path, seconds: float) -> None:
    """Moves pages for so long, and until LEAST have moved."""
    counted, cut = folder / "counted", folder / "cut"
    counted.write_bytes(bytes(PAGES * PAGE))
    cut.write_bytes(bytes(PAGES * PAGE))
    with eager_kernel() as group:
        rounds = move_beside(counted, cut, group, seconds)
    for slot, count in enumerate(rounds):
        assert read_counters(counted, slot) == {count}
    drop_pages(counted)
    for slot, count in enumerate(rounds):
        assert read_counters(counted, slot) == {count}


def move_beside(counted: Path, cut: Path, group: cgroup.Group, seconds: float) -> list[int]:
    """Returns how often each writer went round."""
    stop = multiprocessing.Event()
    pressing = multiprocessing.Process(target=press_memory, args=(group, stop))
    writers = [start(WRITER, counted, slot, how, PAGES, group=group) for slot, how in enumerate(("map", "write", "sync"))]
    others = [start(CHURN, counted, PAGES, group=group), start(CUTTER, cut, PAGES, group=group), start(OWN, PAGES, group=group)]
    before = driver.stats()["moved"]
    moving = [driver.Moving(process.pid, "shared=1") for process in (writers[0], writers[2], *others[1:])]
    pressing.start()
    moved = wait_for_moves(before, seconds)
    for one in moving:
        one.end()
    stop.set()
    pressing.join()
    rounds = [end(writer) for writer in writers]
    assert end(others[0]) == 0 and end(others[1]) > 0 and end(others[2]) > 0
    swapped = int(next(line.split()[1] for line in Path("/proc/vmstat").read_text().splitlines() if line.startswith("pswpout ")))
    print(f"{moved} pages moved beside {rounds} rounds of writers; {swapped} pages were swapped out")
    return rounds


def test_moves_in_a_cgroup_that_is_full(tmp_path):
    """A reader whose cgroup has room for a part of the file: reclaim and the move take pages from each other."""
    with blocks.file_system(MIB, tmp_path), cgroup.group(memory_max=str(PAGES // 2 * PAGE + ROOM)) as group:
        file = tmp_path / "data"
        file.write_bytes(bytes(PAGES * PAGE))
        drop_pages(file)  # what the reader reads in is charged to its group
        reader = start(CHURN, file, PAGES, group=group)
        before = driver.stats()["moved"]
        moving = driver.Moving(reader.pid, "shared=1")
        wait_for_moves(before)
        moving.end()
        assert end(reader) == 0
