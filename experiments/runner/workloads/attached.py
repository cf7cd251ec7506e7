# SPDX-License-Identifier: GPL-2.0-only
"""Processes that run already: placed, watched for some seconds, put back with their pages, and never ended."""

from __future__ import annotations

import http.client
import re
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import CannotError, ExperimentError
from ...host import host_nodes
from ...host.host_nodes import read_lab_name
from ...host.tool import Numaplace
from .workload import Measured, RunningWorkload, make_metric

URL_LIMIT = 10  # s


class Attached(RunningWorkload):
    """Their rate is a count that a URL shows, or the instructions that they execute. stop() ends `programs`, which stays empty."""

    unpinned = True
    runs_already = True
    works = False

    def start(self) -> None:
        """Checks that the processes are there. CannotError: one has ended."""
        gone = [pid for pid in self.pids if not Path(f"/proc/{pid}").exists()]
        if gone:
            raise CannotError(f"pid {gone[0]} has ended: name processes that run until the end")

    @property
    def pids(self) -> list[int]:
        return list(self.options["pids"])

    def list_alive(self) -> list[int]:
        return [pid for pid in self.pids if Path(f"/proc/{pid}").exists()]

    def measure(self) -> Measured:
        """Waits until a placement has settled, then measures the rate of the count or of instructions, per second."""
        scale = host_nodes.read_lab_scale()
        seconds = self.options["seconds"] * scale
        time.sleep(self.options["settle"] * scale)
        if self.options["url"]:
            return Measured([make_metric("rate", "1/s", self._measure_url(seconds))])
        return Measured([make_metric("instructions", "1/s", self._measure_instructions(seconds))])

    def _measure_url(self, seconds: float) -> float:
        """Measures by how much the count of the URL grows per second, over so many seconds."""
        begin, first_count = time.monotonic(), self._read_count()
        time.sleep(seconds)
        return (self._read_count() - first_count) / (time.monotonic() - begin)

    def _read_count(self) -> float:
        """Reads the count from the URL: the sum of all that the pattern finds. ExperimentError: no answer, or nothing is found."""
        url, pattern = self.options["url"], self.options["pattern"]
        try:
            with urllib.request.urlopen(url, timeout=URL_LIMIT) as answer:
                text = answer.read().decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            raise ExperimentError(f"{url}: {error}") from None
        counts = re.findall(pattern, text, re.MULTILINE)
        if not counts:
            raise ExperimentError(f"{url}: {pattern!r} is not in what it says")
        return sum(map(float, counts))

    def _measure_instructions(self, seconds: float) -> float:
        """Measures the instructions per second of all processes together. CannotError: they cannot be counted here."""
        if read_lab_name():
            raise CannotError("the lab counts instructions by CPU, and other programs run there too: give a count of the program's by "
                              "--url and --metric")
        tasks = Numaplace().read_tasks(self.pids, seconds)["tasks"]
        unknown = next((task for task in tasks if task["ipc"]["value"] is None or task["cycles"]["value"] is None), None)
        if unknown or not tasks:
            why = unknown.get("not_counted_because") if unknown else "they have ended"
            raise CannotError(f"instructions of pid {unknown['pid'] if unknown else self.pids[0]} cannot be counted: {why}: give a "
                              "count of the program's by --url and --metric")
        return sum(task["ipc"]["value"] * task["cycles"]["value"] for task in tasks)

    @contextmanager
    def keep_working(self, turn: float) -> Iterator[float]:
        """Yields 0.0 s: the processes work by themselves, and no policy of theirs needs them to be watched."""
        yield 0.0

    def verify(self) -> str:
        return "ok" if len(self.list_alive()) == len(self.pids) else "a process ended meanwhile"
