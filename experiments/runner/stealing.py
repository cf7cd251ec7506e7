# SPDX-License-Identifier: GPL-2.0-only
"""Work stealing on oneTBB: one process with a worker on every CPU, and the same with one worker."""

from __future__ import annotations

from typing import Any

from .counters import Counting
from .machine import format_list
from .numaplace import BUILD, Numaplace
from .running import START_LIMIT, WORK_LIMIT, Measured, Running, metric

INTERVAL = 0.1  # s, between looks at the counters


class Stealing(Running):
    """Speed-up is the time of one worker over that of all of them, in the same process after each
    other; the counters are those of the parallel part."""

    def start(self) -> None:
        task, = self.tasks
        cpus = tuple(cpu for node in self.nodes for cpu in node.cpus)
        self.cpus = cpus
        program = self.run(task, [BUILD / "np-steal", self.options["benchmark"],
                                  "--runtime", self.options["runtime"], "--scale", str(self.options["scale"]),
                                  "--nodes", format_list(tuple(node.id for node in self.nodes)),
                                  "--seed", str(self.seed)], cpus=cpus)
        self.said = program.receive("ready", START_LIMIT)

    def measure(self) -> Measured:
        program = self.programs[self.tasks[0].role]
        passes = self.options["passes"]
        program.send(f"run 1 {passes}")
        serial = program.receive("result", WORK_LIMIT)
        with Counting(self.cpus, INTERVAL) as counting:
            program.send(f"run {len(self.cpus)} {passes}")
            self.said = program.receive("result", WORK_LIMIT)
        self.results = [serial, self.said]
        metrics = [metric("speedup", "1", serial["seconds"] / self.said["seconds"]),
                   metric("seconds", "s", self.said["seconds"]), metric("seconds_serial", "s", serial["seconds"])]
        totals = counting.totals()
        metrics += [metric(name, "misses", totals[name])
                    for name in ("remote_cache", "remote_dram", "local_dram") if name in totals]
        return Measured(metrics, [], {self.tasks[0].role: {"serial": serial, "parallel": self.said}})

    def look(self, numaplace: Numaplace) -> list[dict[str, Any]]:
        pid = self.programs[self.tasks[0].role].pid
        return [{"pid": pid, "comm": "np-steal", "cpus": format_list(self.cpus), "node": None,
                 "pages": self.said["pages"]}]

    def verify(self) -> str:
        return "ok" if all(r["verified"] for r in self.results) else "the result differs from the serial run's"
