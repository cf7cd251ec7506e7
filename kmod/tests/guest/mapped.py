# SPDX-License-Identifier: GPL-2.0-only
"""Processes that map one file or segment, and `numaplace migrate` of what they map."""

import json
import mmap
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import driver
import pagemap

PAGES = 1024
SIZE = PAGES * mmap.PAGESIZE
# Maps a file or attaches a segment, touches all of it, writes to every second page where it is told to, and says the sum of what
# it reads whenever it is asked.
MAPPER = """
import ctypes, mmap, sys, zlib
kind, name, size, writes = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "write"
if kind == "shm":
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    at = libc.shmat(int(name), None, 0)
    memory = (ctypes.c_char * size).from_address(at)
else:
    file = open(name, "r+b")
    memory = mmap.mmap(file.fileno(), size)
    at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
for page in range(0, size, 4096):
    memory[page + 1]
    if writes and page % 8192 == 0:
        memory[page] = b"w" if kind == "shm" else ord("w")
print(hex(at), flush=True)
for line in sys.stdin:
    found = 0
    for at in range(0, size, 1 << 20):
        found = zlib.crc32(memory[at:at + (1 << 20)], found)
    print(found, flush=True)
"""


class Mapper:
    def __init__(self, kind: str, name: object, writes: bool = False, pages: int = PAGES):
        self.pages = pages
        self.process = subprocess.Popen([sys.executable, "-c", MAPPER, kind, str(name), str(self.pages * mmap.PAGESIZE), "write" if writes else "read"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.at = int(self.process.stdout.readline(), 16)

    def read_sum(self) -> str:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def nodes(self) -> set[int]:
        return set(pagemap.nodes(self.process.pid, self.at, self.pages))

    def end(self):
        self.process.kill()
        self.process.communicate()


def write_half_dirty(path: Path, pages: int):
    """Random bytes, of which the first half is on the disk and the other is not yet."""
    with path.open("wb") as data:
        for is_dirty in (False, True):
            data.write(os.urandom(pages * mmap.PAGESIZE // 2))
            data.flush()
            if not is_dirty:
                os.fsync(data.fileno())


def drop_pages(path: Path):
    """Writes it back and takes it out of memory; drop_caches leaves what another CPU has not yet put on a list."""
    with path.open("rb") as data:
        os.fsync(data.fileno())
        os.posix_fadvise(data.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def mapped_by(kind: str, name: object, processes: int, pages: int = PAGES):
    """So many processes that map it, the first of several writes."""
    mappers = []
    try:
        for number in range(processes):
            mappers.append(Mapper(kind, name, writes=not number and processes > 1, pages=pages))
        yield mappers
    finally:
        for mapper in mappers:
            mapper.end()


def migrate(engine: str, *words: object) -> dict[str, int]:
    done = subprocess.run([driver.TOOL, "migrate", "--engine", engine, "--json", *map(str, words)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)["migrate"]
    assert found["asked"] == sum(found[name] for name in driver.COUNTS)
    return {name: found[name] for name in driver.COUNTS if found[name]}
