# SPDX-License-Identifier: GPL-2.0-only
"""A program to be placed: fills memory with a pattern, keeps threads running, checks the pattern.

Reads commands from standard input, one a line, and answers each with one line.
"""
from __future__ import annotations

import hashlib
import mmap
import sys
import threading
import time

PAGE = mmap.PAGESIZE
MAP_HUGETLB = 0x40000
MADV_NOHUGEPAGE, MADV_HUGEPAGE = 15, 14

areas: list[mmap.mmap] = []
stop = threading.Event()
counter = [0]


def stamp(number: int) -> bytes:
    return (b"%016x" % (number * 2654435761 % 2**64)) * (PAGE // 16)


def allocate(mib: int, kind: str) -> str:
    """Maps and fills memory; kind is small, thp, hugetlb or shared."""
    flags = mmap.MAP_ANONYMOUS | (mmap.MAP_SHARED if kind == "shared" else mmap.MAP_PRIVATE)
    area = mmap.mmap(-1, mib << 20, flags | (MAP_HUGETLB if kind == "hugetlb" else 0))
    if kind in ("small", "thp"):
        area.madvise(MADV_HUGEPAGE if kind == "thp" else MADV_NOHUGEPAGE)
    for page in range(len(area) // PAGE):
        area[page * PAGE:(page + 1) * PAGE] = stamp(page)
    areas.append(area)
    return "allocated"


def check() -> str:
    wrong = sum(area[page * PAGE + 16:(page + 1) * PAGE] != stamp(page)[16:]
                for area in areas for page in range(len(area) // PAGE))
    return f"wrong {wrong}"


def rewrite() -> None:
    """Writes the first 16 bytes of page after page, over and over."""
    while not stop.is_set():
        for area in areas[:1]:
            for page in range(0, len(area) // PAGE, 7):
                counter[0] += 1
                area[page * PAGE:page * PAGE + 16] = b"%016x" % counter[0]


def start(count: int, work) -> str:
    for _ in range(count):
        threading.Thread(target=work, daemon=True).start()
    return "started"


def spin() -> None:
    """Keeps a CPU busy; hashing a large buffer does not hold the interpreter's lock."""
    buffer = bytes(1 << 20)
    while not stop.is_set():
        hashlib.sha256(buffer)


def storm() -> None:
    """Starts short threads without end."""
    while not stop.is_set():
        threading.Thread(target=time.sleep, args=(0.05,), daemon=True).start()
        time.sleep(0.002)


def answer(words: list[str]) -> str:
    match words:
        case ["allocate", mib, kind]:
            return allocate(int(mib), kind)
        case ["check"]:
            return check()
        case ["sleepers", count]:
            return start(int(count), stop.wait)
        case ["writer"]:
            return start(1, rewrite)
        case ["spinners", count]:
            return start(int(count), spin)
        case ["storm"]:
            return start(1, storm)
        case ["calm"]:
            stop.set()
            return "calm"
    return "what?"


for line in sys.stdin:
    print(answer(line.split()), flush=True)
