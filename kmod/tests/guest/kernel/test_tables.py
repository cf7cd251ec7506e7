# SPDX-License-Identifier: GPL-2.0-only
"""Page tables that the target takes away while moves read them."""

import subprocess
import sys
import time

import driver
import pytest

ROUNDS_S = 5

# Fills a page of each of its tables and gives all of their memory back: 7.x then frees the tables. In the pauses nothing else
# takes them, so that they are no tables of another kind by the time that one who has read their address too early uses it.
DROPPING = """
import ctypes, mmap, time
TABLE = 2 << 20
memory = mmap.mmap(-1, 17 * TABLE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(f"start={start:#x} end={start + len(memory):#x}", flush=True)
while True:
    for at in range(TABLE, 16 * TABLE, TABLE):
        memory[at] = 1
    time.sleep(0.02)
    memory.madvise(mmap.MADV_DONTNEED)
    time.sleep(0.05)
"""


@pytest.fixture
def dropping():
    process = subprocess.Popen([sys.executable, "-c", DROPPING], stdout=subprocess.PIPE, text=True)
    yield f"pid={process.pid} {process.stdout.readline().strip()}"
    process.kill()
    process.communicate()


def test_tables_that_are_dropped_while_they_are_read(dropping):
    end = time.monotonic() + ROUNDS_S
    moved = n = 0
    while time.monotonic() < end or not moved:
        done = driver.migrate(f"{dropping} from=any to={n % 2}")
        assert done["error"] == "0"
        moved += int(done["moved"])
        n += 1
    print(f"{n} moves moved {moved} pages")
