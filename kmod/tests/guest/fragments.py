# SPDX-License-Identifier: GPL-2.0-only
"""A node with free memory and without a free huge page, for as long as one needs it."""

import ctypes
import mmap
import os
from contextlib import contextmanager
from pathlib import Path

import faulty
import pagemap

REGION = 16 << 20
ORDER = 9                 # of a huge page
HUGE = mmap.PAGESIZE << ORDER
DEFRAG = Path("/sys/kernel/mm/transparent_hugepage/defrag")
RESERVE = 64 << 20        # left when the node is filled, so that no process is killed
MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTNEED_LOCKED = 14, 15, 24
MPOL_BIND = 2
MIN_FREE = Path("/proc/sys/vm/min_free_kbytes")
COMPACT_LOCKED = Path("/proc/sys/vm/compact_unevictable_allowed")

LIST_FRACTION = Path("/proc/sys/vm/percpu_pagelist_high_fraction")
STAT_REFRESH = Path("/proc/sys/vm/stat_refresh")

TRIES = 5
LOOKS = 16

libc = ctypes.CDLL(None, use_errno=True)


def free_bytes(node: int) -> int:
    text = Path(f"/sys/devices/system/node/node{node}/meminfo").read_text()
    return int(text.split("MemFree:")[1].split()[0]) << 10


@contextmanager
def short_cpu_lists():
    """Each CPU keeps few free pages in a list of its own, where MemFree does not count them; since Linux 6.7 these lists grow to
    an eighth of the zone."""
    with faulty.set_to({LIST_FRACTION: "1000000"}):
        yield


def drain_cpu_lists(node: int):
    """Each look at the statistics shortens lists that are too long by an eighth."""
    before = -1
    while before < (now := free_bytes(node)):
        before = now
        for _ in range(LOOKS):
            STAT_REFRESH.read_text()


def huge_blocks(node: int) -> int:
    lines = [line for line in Path("/proc/buddyinfo").read_text().splitlines()
             if line.startswith(f"Node {node}, ")]
    return sum(sum(map(int, line.split()[4 + ORDER:])) for line in lines)


def bound(node: int, length: int) -> tuple[mmap.mmap, int]:
    """Memory that will be on a node, and its address."""
    region = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    start = ctypes.addressof(ctypes.c_char.from_buffer(region))
    mask = ctypes.c_ulong(1 << node)
    assert pagemap.libnuma.mbind(ctypes.c_void_p(start), ctypes.c_ulong(length), MPOL_BIND,
                                 ctypes.byref(mask), ctypes.c_ulong(64), 0) == 0
    return region, start


def locked(node: int, length: int) -> mmap.mmap:
    """Memory on a node that neither reclaim nor compaction may move."""
    region, start = bound(node, length)
    region.madvise(MADV_NOHUGEPAGE)
    assert libc.mlock(ctypes.c_void_p(start), ctypes.c_size_t(length)) == 0
    return region


def own_huge_pages() -> int:
    text = Path("/proc/self/smaps_rollup").read_text()
    return int(text.split("AnonHugePages:")[1].split()[0]) * 1024 // HUGE


def of_cpu_lists(node: int) -> list[mmap.mmap]:
    """The free huge pages that CPUs keep in lists of their own, which /proc/buddyinfo does not count. Without defrag
    a page fault takes what is free and wakes nobody that would make more."""
    taken, everywhere = [], os.sched_getaffinity(0)
    with faulty.set_to({DEFRAG: "never"}):
        for cpu in everywhere:
            os.sched_setaffinity(0, {cpu})
            before = None
            while before != own_huge_pages():
                before = own_huge_pages()
                region, start = bound(node, 2 * HUGE)
                region.madvise(MADV_HUGEPAGE)
                region[-start % HUGE] = 1
                taken.append(region)
    os.sched_setaffinity(0, everywhere)
    return taken


def punch(region: mmap.mmap):
    """Frees every other page."""
    for offset in range(0, len(region), 2 * mmap.PAGESIZE):
        region.madvise(MADV_DONTNEED_LOCKED, offset, mmap.PAGESIZE)


def until_none_was_free(move, whole: dict[str, int]) -> dict[str, int]:
    """What move() counts on a node without a free huge page. One may be free again before the job asks for it, since the kernel
    makes some by itself; then all pages move whole, and it is asked again."""
    for _ in range(TRIES):
        if (found := move()) != whole:
            break
    return found


@contextmanager
def fragmented(node: int, left: int):
    """So many bytes can be had on the node, in single pages, and no huge page."""
    pool = Path(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages")
    before, taken = COMPACT_LOCKED.read_text(), 0
    left += int(MIN_FREE.read_text()) * 1024 * 5 // 4  # what the kernel keeps for itself: the low watermarks
    COMPACT_LOCKED.write_text("0")
    regions = []
    try:
        while free_bytes(node) > RESERVE + REGION:
            regions.append(locked(node, REGION))
        whole = list(regions)
        for _ in range(2 * left // REGION):
            punch(whole.pop())
        while True:
            # What was never split is left still: the kernel's pool of huge pages takes nothing smaller. To make
            # more of them the kernel moves pages into the gaps.
            while taken < (more := taken + huge_blocks(node)):
                pool.write_text(str(more))
                taken = int(pool.read_text())
            if free_bytes(node) < left:
                punch(whole.pop())
                continue
            regions += of_cpu_lists(node)
            if not huge_blocks(node):  # some may have come to be meanwhile
                break
        yield
    finally:
        pool.write_text("0")
        COMPACT_LOCKED.write_text(before)
        del regions[:]
