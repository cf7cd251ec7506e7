# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel did meanwhile: pages moved and processors' time, counted alike for every placement."""

import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..host.process import read_processes

VMSTAT = Path("/proc/vmstat")
MODULE = Path("/sys/kernel/debug/numaplace/stats")
MOVED = ("pgmigrate_success", "pgmigrate_fail")
BY_MODULE = "numaplace_moved"  # which the kernel does not count
MOVERS = ("kswapd", "khugepaged", "kcompactd", "kdamond")  # kernel threads that move memory
SYSTEM = (2, 5, 6)  # of the line cpu of /proc/stat: system, irq, softirq


@dataclass(frozen=True)
class Activity:
    """Holds what the kernel has counted since the machine's start."""

    counted: dict[str, int]  # events, by the counter's name
    system_s: float   # of all CPUs in the kernel, to a tick
    threads_s: float  # of the kernel threads that move memory or work for a mechanism


def read_activity(counters: Sequence[str], threads: Sequence[str]) -> Activity:
    """Reads MOVED and `counters` of /proc/vmstat, what the module has moved, and the times of the kernel threads whose names begin with
    one of `threads`."""
    counted = parse_vmstat(VMSTAT.read_text(encoding="ascii"), (*MOVED, *counters)) | {BY_MODULE: _count_moved_by_module()}
    return Activity(counted, _read_system_time(), _sum_thread_times(threads))


def parse_vmstat(text: str, names: Sequence[str]) -> dict[str, int]:
    """Parses the counters of these names in the text of /proc/vmstat; one that the kernel does not have is left out."""
    rows = (line.split() for line in text.splitlines())
    return {name: int(value) for name, value in rows if name in names}


def parse_module(text: str) -> int:
    """Parses how many pages the module has moved since it was loaded, of the text of its `stats`; 0 of ''."""
    found = re.search(r"\bmoved=(\d+)", text)
    return int(found[1]) if found else 0


def compute_difference(before: Activity, after: Activity) -> dict[str, float | dict[str, int]]:
    """Computes what was counted in between, for a record: counters, and times in s."""
    return {"counters": {name: value - before.counted.get(name, 0) for name, value in after.counted.items()},
            "system_s": round(after.system_s - before.system_s, 6), "threads_s": round(after.threads_s - before.threads_s, 9)}


def count_moved(kernel: dict[str, Any]) -> int:
    """Counts the pages that the machine has moved, by a record's `kernel`: by the kernel's own code and by numaplace's module."""
    return kernel["counters"]["pgmigrate_success"] + kernel["counters"].get(BY_MODULE, 0)


def _count_moved_by_module() -> int:
    """Counts the pages that the module has moved since it was loaded; 0 where it is not, or may not be asked."""
    try:
        return parse_module(MODULE.read_text(encoding="ascii"))
    except OSError:
        return 0


def _read_system_time() -> float:
    """Reads the time of all CPUs in the kernel, in s."""
    cpu = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    return sum(int(cpu[k]) for k in SYSTEM) / os.sysconf("SC_CLK_TCK")


def _sum_thread_times(names: Sequence[str]) -> float:
    """Sums the CPU time, in s, of the running processes whose names begin with one of `names`."""
    total = 0
    starts = tuple(name.encode() for name in names)
    for pid, comm in read_processes("comm") if names else ():
        if comm.startswith(starts):
            with suppress(OSError):
                total += int(Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9
