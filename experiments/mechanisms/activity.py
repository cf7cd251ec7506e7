# SPDX-License-Identifier: GPL-2.0-only
"""What the kernel did meanwhile: pages moved and processors' time, counted alike for every placement."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

VMSTAT = Path("/proc/vmstat")
MOVED = ("pgmigrate_success", "pgmigrate_fail")
SYSTEM = (2, 5, 6)  # of the line cpu of /proc/stat: system, irq, softirq


@dataclass(frozen=True)
class Activity:
    """Since the machine's start."""

    counted: dict[str, int]
    system_s: float   # of all CPUs in the kernel, in ticks
    threads_s: float  # of the kernel threads that work for a mechanism


def now(counters: Sequence[str], threads: Sequence[str]) -> Activity:
    wanted = dict.fromkeys((*MOVED, *counters))
    rows = (line.split() for line in VMSTAT.read_text(encoding="ascii").splitlines())
    return Activity({name: int(value) for name, value in rows if name in wanted}, _system(), _of_threads(threads))


def since(before: Activity, after: Activity) -> dict[str, float | dict[str, int]]:
    """For a record."""
    return {"counters": {name: value - before.counted.get(name, 0) for name, value in after.counted.items()},
            "system_s": round(after.system_s - before.system_s, 6), "threads_s": round(after.threads_s - before.threads_s, 9)}


def _system() -> float:
    cpu = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    return sum(int(cpu[k]) for k in SYSTEM) / os.sysconf("SC_CLK_TCK")


def _of_threads(names: Sequence[str]) -> float:
    """A thread that has ended since is not counted."""
    total = 0
    for comm in Path("/proc").glob("[0-9]*/comm") if names else ():
        try:
            if comm.read_text(encoding="utf-8", errors="replace").startswith(tuple(names)):
                total += int((comm.parent / "schedstat").read_text(encoding="ascii").split()[0])
        except OSError:
            continue
    return total / 1e9
