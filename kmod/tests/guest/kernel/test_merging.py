# SPDX-License-Identifier: GPL-2.0-only
"""Pages of two processes move while ksmd merges them with each other and both write to them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import driver
import pytest
from kinds_table import MM
from storms import PAGES, eager_kernel, end, start, wait_for_moves

# Equal pages, which are written anew as soon as ksmd has had time to merge them.
EQUAL = """
import mmap, signal, sys
pages = int(sys.argv[1])
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_MERGEABLE)
scans = open("/sys/kernel/mm/ksm/full_scans")
def read_scans():
    scans.seek(0)
    return int(scans.read())
print("ready", flush=True)
rounds = 0
while not stop:
    rounds += 1
    block = bytes([rounds % 251]) * 4096
    for page in range(pages):
        memory[page * 4096:(page + 1) * 4096] = block
    until = read_scans() + 3
    while not stop and read_scans() < until:
        assert all(memory[page * 4096:(page + 1) * 4096] == block for page in range(pages))
print(rounds, flush=True)
"""


@contextmanager
def interrupted_ksmd() -> Iterator[None]:
    """ksmd waits for a CPU wherever it may, also between the two halves of a merge: it runs where nobody else does."""
    pid = next(int(name) for name in os.listdir("/proc") if name.isdigit() and Path("/proc", name, "comm").read_text() == "ksmd\n")
    os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0))
    yield
    os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0))


@pytest.mark.long("moves until ksmd has merged often")
@pytest.mark.parametrize("scans", [20, pytest.param(200, marks=pytest.mark.full("idle CPUs are rare on a busy host"))])
def test_moves_beside_merging(scans):
    """ksmd scans all memory that may be merged so often, and merges the pages of two processes that write to them and move."""
    with eager_kernel() as group, interrupted_ksmd():
        processes = [start(EQUAL, PAGES, group=group) for _ in range(2)]
        before = driver.stats()["moved"]
        moving = [driver.Moving(process.pid, words) for process in processes for words in ("", "shared=1")]
        scanned = MM / "ksm" / "full_scans"
        until = int(scanned.read_text()) + scans
        assert driver.eventually(lambda: int(scanned.read_text()) >= until, 1800)  # of idle CPUs, also of a slow host
        moved = wait_for_moves(before)
        for one in moving:
            one.end()
        rounds = [end(process) for process in processes]
        print(f"{moved} pages moved beside {scans} scans of ksmd and {rounds} rounds of the writers")
        assert min(rounds) > 0
