# SPDX-License-Identifier: GPL-2.0-only
"""NUMA balancing: the kernel unmaps pages in turn and moves those that a task of another node then touches."""

from pathlib import Path

from ..host.guard import NUMA_BALANCING
from .mechanism import Mechanism, Parameter, Scope, missing, write_given

SETTINGS = Path("/sys/kernel/debug/sched/numa_balancing")
SCANS = {
    "scan_delay_ms": Parameter("until a new task's pages are first unmapped", 1, 60000),
    "scan_period_min_ms": Parameter("between two scans of a task, at least", 10, 60000),
    "scan_period_max_ms": Parameter("between two scans of a task, at most", 10, 600000),
    "scan_size_mb": Parameter("that are unmapped at once", 1, 4096, of_bytes=True),
}


class NumaBalancing(Mechanism):
    """Switches NUMA balancing on."""

    name = "numa-balancing"
    about = "the kernel's NUMA balancing (numa_balancing=1)"
    parameters = SCANS
    files = {name: SETTINGS / name for name in SCANS}
    counters = ("numa_pte_updates", "numa_hint_faults", "numa_pages_migrated")

    def lacks(self, nodes):
        """Returns why NUMA balancing cannot be switched on here; None where it can."""
        return super().lacks(nodes) or missing(NUMA_BALANCING, *(SETTINGS / name for name in self.values if self.values[name] is not None))

    def set_up(self, scope: Scope) -> None:
        """Writes the parameters and switches NUMA balancing on."""
        with scope.changing(self.name):
            write_given(scope, self)
            scope.guard.write(NUMA_BALANCING, "1")
