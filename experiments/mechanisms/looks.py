# SPDX-License-Identifier: GPL-2.0-only
"""Looks, at equal intervals while programs work, at what the kernel and the lab have counted.

A look only keeps the files' text: it is read by a thread of the runner, in the machine that is measured.
"""

import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from . import activity

LAB = Path("/sys/kernel/debug/numaplace_lab/counters")  # a line for each CPU
READ_LINES = re.compile(r"\bdram_node(\d+)=(\d+)")


class Looks:
    """Looks at the beginning, then every `interval` seconds, and at the end."""

    def __init__(self, interval: float, counters: Sequence[str]) -> None:
        """counters: of /proc/vmstat, which are kept beside the pages that moved."""
        self.interval, self.counters = interval, counters
        self.texts: list[tuple[float, str, str, str]] = []
        self.ended = Event()
        self.thread = Thread(target=self._look_until_end, daemon=True)

    def begin(self) -> None:
        self._look()
        self.thread.start()

    def end(self) -> list[dict[str, Any]]:
        """Ends the looks, after the last one. Returns them, counted from the first: `t_s` of the boot's clock, pages `moved`, `counters`, and
        `accesses`, lines read from memory by node, which only the lab counts."""
        self.stop()
        self._look()
        first, *later = [(t, *_count(vmstat, stats, lab, self.counters)) for t, vmstat, stats, lab in self.texts]
        return [{"t_s": round(t, 6), "moved": moved - first[1], "counters": {name: n - first[2][name] for name, n in counted.items()},
                 "accesses": {node: n - first[3][node] for node, n in accesses.items()}}
                for t, moved, counted, accesses in (first, *later)]

    def stop(self) -> None:
        self.ended.set()
        if self.thread.is_alive():
            self.thread.join()

    def _look_until_end(self) -> None:
        while not self.ended.wait(self.interval):
            self._look()

    def _look(self) -> None:
        self.texts.append((time.monotonic(), activity.VMSTAT.read_text(encoding="ascii"), _read(activity.MODULE), _read(LAB)))


def _read(path: Path) -> str:
    """Reads a file; '' where it is not there, or may not be read."""
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""


def _count(vmstat: str, stats: str, lab: str, counters: Sequence[str]) -> tuple[int, dict[str, int], Counter[str]]:
    """Returns the pages moved so far, the counters of these names, and the lines read so far from the memory of each node."""
    counted = activity.parse_vmstat(vmstat, (*activity.MOVED, *counters)) | {activity.BY_MODULE: activity.parse_module(stats)}
    accesses: Counter[str] = Counter()
    for node, lines in READ_LINES.findall(lab):
        accesses[node] += int(lines)
    return activity.count_moved({"counters": counted}), {name: counted[name] for name in counters if name in counted}, accesses
