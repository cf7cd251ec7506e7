# SPDX-License-Identifier: GPL-2.0-only
"""The nodes of a process's pages, by the kernel and not by the module."""

import ctypes
import os
import struct

import driver

PAGE = 4096
SOFT_DIRTY = 1 << 55
UFFD_WP = 1 << 57
PRESENT = 1 << 63
SWAPPED = 1 << 62
PFN = (1 << 55) - 1
MPOL_MF_MOVE, MPOL_MF_MOVE_ALL = 2, 4

libnuma = ctypes.CDLL("libnuma.so.1", use_errno=True)
libnuma.numa_parse_nodestring.restype = ctypes.c_void_p


def entries(pid: int, start: int, pages: int) -> list[int]:
    fd = os.open(f"/proc/{pid}/pagemap", os.O_RDONLY)
    try:
        return list(struct.unpack(f"{pages}Q", os.pread(fd, 8 * pages, start // PAGE * 8)))
    finally:
        os.close(fd)


def flagged(t: driver.Target, flag: int) -> list[int]:
    """Numbers of the pages of a target's memory that have it."""
    found = entries(t.pid, t.start, (t.end - t.start) // PAGE)
    return [i for i, entry in enumerate(found) if entry & flag]


def drain_batches():
    """
    Empties the CPUs' batches of pages that are on their way to an LRU list.

    A page in a batch has one reference more, so that it is pinned. migrate_pages(2) empties them first,
    here of a process that has nothing to move.
    """
    node = libnuma.numa_parse_nodestring(b"0")
    if libnuma.numa_migrate_pages(0, ctypes.c_void_p(node), ctypes.c_void_p(node)) < 0:
        raise OSError(ctypes.get_errno(), "migrate_pages")


def move_pages(pid: int, start: int, pages: int, nodes, flags: int = MPOL_MF_MOVE) -> list[int]:
    addresses = (ctypes.c_void_p * pages)(*range(start, start + pages * PAGE, PAGE))
    status = (ctypes.c_int * pages)()
    if libnuma.numa_move_pages(pid, ctypes.c_ulong(pages), addresses, nodes, status, flags) < 0:
        raise OSError(ctypes.get_errno(), "move_pages")
    return list(status)


def nodes(pid: int, start: int, pages: int) -> list[int]:
    """By move_pages(2): the node of each page, or -errno."""
    return move_pages(pid, start, pages, None)


def move(pid: int, start: int, pages: int, node: int, flags: int = MPOL_MF_MOVE):
    """By move_pages(2), for comparison."""
    move_pages(pid, start, pages, (ctypes.c_int * pages)(*[node] * pages), flags)


def smaps(pid: int, start: int) -> dict[str, int]:
    """The sizes, in kB, of the mapping that begins there."""
    with open(f"/proc/{pid}/smaps", encoding="ascii") as maps:
        lines = maps.read().splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{start:x}-"))
    sizes = {}
    for line in lines[first + 1:]:
        words = line.split()
        if not words[0].endswith(":"):
            break
        if words[-1] == "kB":
            sizes[words[0][:-1]] = int(words[1])
    return sizes
