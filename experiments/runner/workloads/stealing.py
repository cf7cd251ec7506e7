# SPDX-License-Identifier: GPL-2.0-only
"""Work stealing on oneTBB: one process with a worker on every CPU, and the same with one worker."""

from __future__ import annotations

from contextlib import nullcontext
from statistics import mean

from ...errors import ExperimentError
from ...host import host_nodes
from ...host.counters import Counting
from ...host.host_nodes import format_list
from ...host.process import Program
from ...host.tool import Numaplace
from ...paths import HERE
from ..records.record import TaskState
from .workload import START_LIMIT, WORK_LIMIT, Measured, RunningWorkload, make_metric

INTERVAL = 0.1  # s, between looks at the counters
DRAM_COUNTS = ("remote_cache", "remote_dram", "local_dram")


class Stealing(RunningWorkload):
    """Speed-up is the time of one worker over that of all of them; the counters are those of the parallel part,
    without input and check, as in the paper.

    The time of one worker is that of a benchmark, not of a runtime: the worker is on the first node and so is all
    data. With data on all nodes one worker waits for remote memory, which would flatter the runtime that spreads it.
    """

    on_every_node = True

    def start(self) -> None:
        """Times passes of one worker on memory of the first node, then starts the runtime and waits until it is ready. ExperimentError: the
        option passes is below 1."""
        task, = self.tasks
        cpus = tuple(cpu for node in self.nodes for cpu in node.cpus)
        self.cpus = cpus
        if self.options["passes"] < 1:
            raise ExperimentError(f"stealing.passes is {self.options['passes']}: one pass at least")
        self.results = []
        words = [HERE.programs / "np-steal", self.options["benchmark"], "--scale", str(self.options["scale"]),
                 "--nodes", format_list(tuple(node.id for node in self.nodes)), "--seed", str(self.seed)]
        program = self.run(task, [*words, "--runtime", "vanilla", "--data", "first"], cpus=cpus)
        program.receive("ready", START_LIMIT)
        self.serial = [self._time_pass(program, workers=1) for _ in range(self.options["passes"])]
        program.stop()  # its memory is the other's
        data_words = ["--data", self.options["data"]] if "data" in self.options else []
        program = self.run(task, [*words, "--runtime", self.options["runtime"], *data_words], cpus=cpus)
        self.last_report = program.receive("ready", START_LIMIT)

    def measure(self) -> Measured:
        """Measures the speed-up over one worker of the serial runs, the seconds of each, and the DRAM accesses of the parallel passes."""
        program = self.programs[self.tasks[0].role]
        one_worker = [self._time_pass(program, workers=1) for _ in range(self.options["passes"])]
        counts: list[dict[str, float]] = []
        parallel = [self._time_pass(program, len(self.cpus), counts) for _ in range(self.options["passes"])]
        alone, together = mean(self.serial), mean(parallel)
        metrics = [make_metric("speedup", "1", alone / together),
                   make_metric("seconds", "s", together), make_metric("seconds_serial", "s", alone),
                   make_metric("seconds_one_worker", "s", mean(one_worker)), make_metric("serial_ratio", "1", mean(one_worker) / alone)]
        metrics += [make_metric(name, "misses", sum(sums[name] for sums in counts)) for name in DRAM_COUNTS
                    if all(name in sums for sums in counts)]
        return Measured(metrics, [], {self.tasks[0].role: {"serial": self.serial, "one_worker": one_worker, "parallel": parallel}})

    def _time_pass(self, program: Program, workers: int, counts: list[dict[str, float]] | None = None) -> float:
        """Times one pass, whose result is then checked. Returns its seconds; what was counted meanwhile is appended to `counts`."""
        program.send(f"prepare {workers}")
        program.receive("prepared", WORK_LIMIT)
        with Counting(self.cpus, INTERVAL * host_nodes.read_lab_scale()) if counts is not None else nullcontext() as counting:
            program.send("run")
            result = program.receive("result", WORK_LIMIT)
        if counting:
            counts.append(counting.sum_counts())
        program.send("verify")
        self.last_report = program.receive("verified", WORK_LIMIT)
        self.results.append(self.last_report)
        return result["seconds"]

    def read_tasks(self, numaplace: Numaplace) -> list[TaskState]:
        """Describes the one process by its last report: its pages by node, in the form of a task of `numaplace ps`."""
        pid = self.programs[self.tasks[0].role].pid
        return [{"pid": pid, "comm": "np-steal", "cpus": format_list(self.cpus),
                 "node": self.nodes[0].id if len(self.nodes) == 1 else None, "pages": self.last_report["pages"]}]

    def verify(self) -> str:
        return "ok" if all(r["verified"] for r in self.results) else "the result differs from the serial run's"
