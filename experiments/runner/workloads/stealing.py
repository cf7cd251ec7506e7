# SPDX-License-Identifier: GPL-2.0-only
"""Work stealing on oneTBB: one process with a worker on every CPU, and the same with one worker."""

from __future__ import annotations

from contextlib import nullcontext
from statistics import mean
from typing import Any

from ...places import HERE
from ..counters import Counting
from ..errors import ExperimentError
from ..host_nodes import format_list
from ..process import Program
from ..tool import Numaplace
from .workload import START_LIMIT, WORK_LIMIT, Measured, RunningWorkload, metric

INTERVAL = 0.1  # s, between looks at the counters
DRAM_COUNTS = ("remote_cache", "remote_dram", "local_dram")


class Stealing(RunningWorkload):
    """Speed-up is the time of one worker over that of all of them, in the same process after each
    other; the counters are those of the parallel part, without input and check, as in the paper."""

    def start(self) -> None:
        task, = self.tasks
        cpus = tuple(cpu for node in self.nodes for cpu in node.cpus)
        self.cpus = cpus
        program = self.run(task, [HERE.programs / "np-steal", self.options["benchmark"],
                                  "--runtime", self.options["runtime"], "--scale", str(self.options["scale"]),
                                  "--nodes", format_list(tuple(node.id for node in self.nodes)),
                                  "--seed", str(self.seed)], cpus=cpus)
        self.said, self.results = program.receive("ready", START_LIMIT), []

    def measure(self) -> Measured:
        program = self.programs[self.tasks[0].role]
        if self.options["passes"] < 1:
            raise ExperimentError(f"stealing.passes is {self.options['passes']}: one pass at least")
        serial = [self._timed(program, 1) for _ in range(self.options["passes"])]
        counts: list[dict[str, float]] = []
        parallel = [self._timed(program, len(self.cpus), counts) for _ in range(self.options["passes"])]
        alone, together = mean(serial), mean(parallel)
        metrics = [metric("speedup", "1", alone / together),
                   metric("seconds", "s", together), metric("seconds_serial", "s", alone)]
        metrics += [metric(name, "misses", sum(found[name] for found in counts)) for name in DRAM_COUNTS
                    if all(name in found for found in counts)]
        return Measured(metrics, [], {self.tasks[0].role: {"serial": serial, "parallel": parallel}})

    def _timed(self, program: Program, workers: int, counts: list[dict[str, float]] | None = None) -> float:
        """Seconds of a pass whose result is then checked; what was counted meanwhile goes to counts."""
        program.send(f"prepare {workers}")
        program.receive("prepared", WORK_LIMIT)
        with Counting(self.cpus, INTERVAL) if counts is not None else nullcontext() as counting:
            program.send("run")
            result = program.receive("result", WORK_LIMIT)
        if counting:
            counts.append(counting.totals())
        program.send("verify")
        self.said = program.receive("verified", WORK_LIMIT)
        self.results.append(self.said)
        return result["seconds"]

    def read_tasks(self, numaplace: Numaplace) -> list[dict[str, Any]]:
        pid = self.programs[self.tasks[0].role].pid
        return [{"pid": pid, "comm": "np-steal", "cpus": format_list(self.cpus), "node": None,
                 "pages": self.said["pages"]}]

    def verify(self) -> str:
        return "ok" if all(r["verified"] for r in self.results) else "the result differs from the serial run's"
