# SPDX-License-Identifier: GPL-2.0-only
"""Counters beside a measurement: 'numaplace counters' on some CPUs while it lasts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from typing import Any

from ..paths import HERE
from .host_nodes import format_list, scale_limit
from .process import start_process

POLL = 0.001  # s
LIMIT = scale_limit(60)  # s, for its first object, and for the last interval to be printed
COUNTS = ("llc_references", "llc_misses", "local_dram", "remote_dram", "remote_cache")


class Counting:
    """Counts in its context; afterwards `rows` has one of `numaplace counters --json` for each interval, none where nothing is counted."""

    def __init__(self, cpus: tuple[int, ...], interval_s: float) -> None:
        self.cpus, self.interval_s = cpus, interval_s
        self.rows: list[dict[str, Any]] = []

    def __enter__(self) -> "Counting":
        """Starts 'numaplace counters' and waits until it counts."""
        self.out = tempfile.TemporaryFile("w+")
        self.process = start_process(
            [HERE.programs / "numaplace", "counters", "--json", "--interval", f"{round(self.interval_s * 1000)}ms",
             "-C", format_list(self.cpus)], signal.SIGKILL, stdin=subprocess.DEVNULL, stdout=self.out,
            stderr=subprocess.DEVNULL)
        self._wait_for_first()
        return self

    def _wait_for_first(self) -> None:
        """Waits for the first object, which says that counting has begun, for LIMIT seconds at most."""
        # Without this wait a short measurement might end before the tool counts.
        deadline = time.monotonic() + LIMIT
        while self.process.poll() is None and not os.fstat(self.out.fileno()).st_size and time.monotonic() < deadline:
            time.sleep(POLL)

    def __exit__(self, *_: object) -> None:
        """Ends the tool, by SIGKILL where SIGINT does not end it within LIMIT seconds, and reads its rows of all CPUs together."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.out.seek(0)
        whole = (json.loads(line) for line in self.out if line.endswith("\n"))  # SIGKILL may have cut the last one off
        self.rows = [row for interval in whole for row in interval["rows"] if row["what"] == "all"]
        self.out.close()

    def list_series(self) -> dict[str, Any] | None:
        """Returns `interval_s`, `source`, and of each interval `ipc`, `local_dram` and `remote_dram`, None for a gap; None where nothing
        was counted."""
        if not self.rows:
            return None
        return {"interval_s": self.interval_s, "source": name_source(self.rows[0])} | {
            name: [row[name]["value"] for row in self.rows] for name in ("ipc", "local_dram", "remote_dram")}

    def sum_counts(self) -> dict[str, float]:
        """Sums those of COUNTS that were counted in every interval, over the whole time, by name."""
        sums = {}
        for name in COUNTS:
            values = [row[name]["value"] for row in self.rows]
            if values and None not in values:
                sums[name] = sum(values)
        return sums


def name_source(row: dict[str, Any]) -> str:
    """Names what counted the row, such as lab; several joined by +, 'none' where nothing was counted."""
    return "+".join(dict.fromkeys(cell["source"] for cell in row.values() if isinstance(cell, dict) and "source" in cell)) or "none"
