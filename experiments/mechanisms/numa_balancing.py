# SPDX-License-Identifier: GPL-2.0-only
"""NUMA balancing: the kernel unmaps pages in turn and moves those that a task of another node then touches."""

from pathlib import Path

from ..host.guard import NUMA_BALANCING
from .mechanism import Parameter, Switch

SETTINGS = Path("/sys/kernel/debug/sched/numa_balancing")
SCANS = {
    "scan_delay_ms": Parameter("until a new task's pages are first unmapped", 1, 60000),
    "scan_period_min_ms": Parameter("between two scans of a task, at least", 10, 60000),
    "scan_period_max_ms": Parameter("between two scans of a task, at most", 10, 600000),
    "scan_size_mb": Parameter("that are unmapped at once", 1, 4096, of_bytes=True),
}


class NumaBalancing(Switch):
    """Switches NUMA balancing on."""

    name = "numa-balancing"
    about = "the kernel's NUMA balancing (numa_balancing=1)"
    parameters = SCANS
    files = {name: SETTINGS / name for name in SCANS}
    switches = {NUMA_BALANCING: "1"}
    counters = ("numa_pte_updates", "numa_hint_faults", "numa_pages_migrated")
