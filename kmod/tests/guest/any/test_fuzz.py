# SPDX-License-Identifier: GPL-2.0-only
"""
The files under lines of their grammar with boundary and broken values, from several writers at once, while tasks come and
go and the module is removed and loaded (kmod/tests/fuzz_files.c).

NUMAPLACE_FUZZ has SEED WRITERS OPERATIONS UNLOADS of another run; the operations are those of each writer.
"""

import json
import os
import subprocess
from pathlib import Path

import driver

PROGRAM = driver.TOP / "build" / "tests" / "fuzz_files"
FEW = "1 3 60 1" if driver.KMEMLEAK.exists() else "1 3 200 2"
WORDS = os.environ.get("NUMAPLACE_FUZZ", FEW).split()
LOGGED = Path("/proc/sys/kernel/printk_devkmsg")  # how many operations were done is in the log, each time
# Objects that one write may leave behind, and how many of each more may be there for other reasons.
LEFT = {"numa_policy": 0, "mm_struct": 10, "task_struct": 20}


def objects() -> dict[str, int]:
    return {name: driver.slab_objects(name) for name in LEFT}


def left(before: dict[str, int]) -> dict[str, int]:
    return {name: n - before[name] for name, n in objects().items() if n > before[name] + LEFT[name]}


def test_fuzz_files():
    LOGGED.write_text("on\n")  # not without the end of the line
    before = objects()
    done = subprocess.run([PROGRAM, *WORDS, driver.module()], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = json.loads(done.stdout.splitlines()[-1])
    assert counts["operations"] == int(WORDS[1]) * int(WORDS[2])
    assert counts["unloads"] == int(WORDS[3])
    assert counts["checked_tasks"] > int(WORDS[1])
    assert all(counts[name]["0"] and counts[name]["EINVAL"] for name in ("place", "restore", "migrate"))
    assert driver.eventually(lambda: not left(before), 60), left(before)
