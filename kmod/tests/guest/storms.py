# SPDX-License-Identifier: GPL-2.0-only
"""Programs that disturb moves of pages, on a kernel that merges, swaps and makes huge pages as fast as it can."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import blocks
import cgroup
import driver
from kinds_table import MM, setting

PAGES = 512  # of a file or of a process
LEAST = 4 * PAGES  # pages that move in a storm
SWAP_MIB = 128


def start(program: str, *words: object, group: cgroup.Group | None = None) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE, text=True,
                               preexec_fn=(lambda: group.add(os.getpid())) if group else None)
    assert process.stdout.readline() == "ready\n"
    return process


def end(process: subprocess.Popen) -> int:
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return int(said)


@contextmanager
def eager_kernel() -> Iterator[cgroup.Group]:
    """Merges pages and makes huge ones as fast as it can, and has swap for a group of processes."""
    with ExitStack() as stack:
        for name, value in (("ksm/sleep_millisecs", "0"), ("ksm/pages_to_scan", "1000"), ("ksm/run", "1"),
                            ("transparent_hugepage/khugepaged/scan_sleep_millisecs", "10")):
            stack.enter_context(setting(MM / name, value))
        stack.enter_context(blocks.swap(SWAP_MIB))
        yield stack.enter_context(cgroup.group())


def wait_for_moves(before: int, seconds: float = 0) -> int:
    """Waits until LEAST pages have moved since the total was `before`, and for so long. Returns how many have."""
    until = time.monotonic() + seconds
    assert driver.eventually(lambda: driver.stats()["moved"] - before > LEAST and time.monotonic() >= until, seconds + 300)
    return driver.stats()["moved"] - before
