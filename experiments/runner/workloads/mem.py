# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of np-mem: kernels over arrays that are placed page by page and looked at again."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean

from ...errors import ExperimentError
from ...host import host_nodes
from ...host.host_nodes import Node, format_list
from ...host.interrupts import hold_signals
from ...host.tool import Numaplace
from ...host.topology import SPREADS, order_cpus
from ...paths import HERE
from ..records.record import Metric, TaskState
from ..suite.schedule import Trial
from ..suite.suite import Suite, Task
from .workload import START_LIMIT, WORK_LIMIT, Measured, RunningWorkload, make_metric

TURN = 0.02  # s, of a task whose work is over, where nothing is watched
LEAD, LEAD_PART = 0.3, 5  # s, until all workers begin together; at most so many times what they measure for
MIN_OVERLAP = 0.75  # of the time that the workers of one observation measure at once
STREAM = ("copy", "scale", "sum", "triad")
OPTIONS = ("size", "pages", "stride", "chains", "pattern", "alpha", "accesses")


class Memory(RunningWorkload):
    """A process for each task, a CPU for each thread; its pages are where its kernel was told.

    In a run with placements a process has the same CPUs, but its threads are not bound to one each, so that a placement may
    take it elsewhere; it is placed while it does a fixed work, whose end is timed.
    """

    def __init__(self, trial: Trial, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        """Prepares a workload. The CPUs of each node are taken in the order of the option `spread`."""
        super().__init__(trial, suite, nodes, scratch)
        self.operation = self.options.get("operation", "triad")
        spread = self.options.get("spread", SPREADS[0])
        self.free_cpus = {k: list(order_cpus(node.places, spread)) for k, node in enumerate(nodes)}

    def start(self) -> None:
        """Starts np-mem for each task, on its CPUs, and waits until all are ready."""
        self.cpus = {task.role: self.take_cpus(task) for task in self.tasks}
        for task in self.tasks:
            cpus = self.cpus[task.role]
            # Where it is placed later, what the loader touches is to be beside the program's memory.
            loading_cpus = None if self.placed else cpus
            self.run(task, [HERE.programs / "np-mem", self.choose_kernel(task), *self.list_words(task),
                            "--cpus", format_list(cpus), *([] if self.placed else ["--pin"])], cpus=loading_cpus)
        self.reports = {role: program.receive("ready", START_LIMIT) for role, program in self.programs.items()}

    def choose_kernel(self, task: Task) -> str:
        return self.operation

    def take_cpus(self, task: Task) -> tuple[int, ...]:
        """Takes as many of the free CPUs of the task's node as it has threads; fewer where fewer are free."""
        free = self.free_cpus[task.runs_on]
        self.free_cpus[task.runs_on] = free[task.threads:]
        return tuple(free[:task.threads])

    def list_words(self, task: Task) -> list[str]:
        """Lists the words of np-mem's command line: this kernel's options, the seed, the threads and the node of the memory."""
        words = [word for name in OPTIONS if name in self.options
                 for word in (f"--{name}", str(self.options[name]))]
        if self.operation in STREAM and "stride" not in self.options:
            words += ["--kernel", self.options["kernel"]]
        nodes = tuple(self.nodes[n].id for n in task.memory_on)
        return [*words, "--seed", str(self.seed), "--threads", str(task.threads), "--mem", format_list(nodes)]

    @contextmanager
    def keep_working(self, turn: float) -> Iterator[float]:
        """Has all tasks do the fixed work, in threads, while the block runs; sets `solved` to the seconds of the slowest.
        Yields `turn`, for how many seconds they can be watched."""
        # A task whose work is over goes on in turns, so that the others' work and what is counted stay what they are until the
        # placement is there too.
        ended: list[str] = []
        with ThreadPoolExecutor(len(self.programs)) as pool:
            begin = time.monotonic()
            try:
                with hold_signals():  # a task that is not told to work would never be over for the others
                    tasks = [pool.submit(self._solve_work, role, turn, ended) for role in self.programs]
                yield turn
            finally:
                ended.append("the placement")
            self.solved = max(task.result() for task in tasks) - begin

    def _solve_work(self, role: str, turn: float, ended: list[str]) -> float:
        """Has a task do the fixed work, if any, then turns until the others' works and the placement are over too; its last report is then
        of after the placement. Returns when the work was done, in s of the monotonic clock, which the programs have too; 0 without a work.

        ended: what is over so far, in all threads; the task's role is added."""
        program, finished = self.programs[role], 0.0
        try:
            if self.work:
                program.send(f"work {self.work}")
                self.reports[role] = program.receive("result", WORK_LIMIT)
                finished = self.reports[role]["finished"]
        finally:
            ended.append(role)
        while len(ended) < len(self.programs) + 1:  # 1: the placement
            program.send(f"run {turn or TURN * host_nodes.read_lab_scale()}")
            self.reports[role] = program.receive("result", turn + WORK_LIMIT)
        return finished

    def compute_rate(self) -> float:
        """Computes the operations per second of the slowest task in its last turn: the work ends with it."""
        return min(r["operations"] / (r["finished"] - r["started"]) for r in self.reports.values())

    def measure(self) -> Measured:
        """Has all programs measure from the same time on, after their warming up, and collects their reports."""
        seconds, warm = self.options["seconds"], self.options.get("warm", 0.0)
        begin = time.monotonic() + self.compute_lead(seconds)
        for role, program in self.programs.items():
            program.send(f"run {self.choose_window(role, seconds):g} {begin:.6f} {warm}")
        self.reports = {role: program.receive("result", seconds + warm + WORK_LIMIT)
                     for role, program in self.programs.items()}
        return Measured(self.list_metrics(), self.list_marks(seconds), self.reports)

    def choose_window(self, _role: str, seconds: float) -> float:
        """Returns for how many seconds a task measures."""
        return seconds

    def compute_lead(self, seconds: float) -> float:
        """Returns the seconds until all programs begin to measure, which they do for `seconds`."""
        return min(LEAD * host_nodes.read_lab_scale(), LEAD_PART * seconds)

    def list_marks(self, seconds: float) -> list[str]:
        """Lists why the observation may not be averaged: that the tasks, measuring for `seconds` each, did so together too briefly."""
        reports = self.reports.values()
        together = min(r["finished"] for r in reports) - max(r["started"] for r in reports)
        late = len(reports) > 1 and together < MIN_OVERLAP * seconds
        return [f"the workers measured together for {together:.2f} s of {seconds:g} s only"] if late else []

    def list_metrics(self) -> list[Metric]:
        """Lists the metrics of the operation, from the programs' last reports; times are of the slowest task."""
        reports = self.reports.values()
        if self.operation == "cachetest":
            return [make_metric("iterations", "1/s", sum(r["iterations_per_second"] for r in reports))]
        if self.operation in ("sort", "update"):
            # Each thread makes passes of its own, all at once.
            return [make_metric("seconds", "s", max(r["seconds"] / (r["passes"] / task.threads)
                                                    for task, r in zip(self.tasks, reports)))]
        if self.operation == "chase":
            chains = self.options.get("chains", 1)
            return [make_metric("latency", "ns", chains * fmean(r["ns_per_operation"] for r in reports)),
                    make_metric("bandwidth", "MB/s", sum(r["mb_per_s_bus"] for r in reports))]
        return self.list_bandwidths()

    def list_bandwidths(self) -> list[Metric]:
        """Lists the bandwidths in MB/s: of all tasks, on the bus and of each group; with a stride the latency in ns too."""
        reports = self.reports.values()
        groups: dict[str, float] = {}
        for task in self.tasks:
            if task.group:
                groups[task.group] = groups.get(task.group, 0) + self.reports[task.role]["mb_per_s"]
        metrics = [make_metric("bandwidth", "MB/s", sum(r["mb_per_s"] for r in reports)),
                   make_metric("bandwidth_bus", "MB/s", sum(r["mb_per_s_bus"] for r in reports)),
                   *(make_metric(f"bandwidth_{group}", "MB/s", bandwidth) for group, bandwidth in groups.items())]
        if "stride" in self.options:
            metrics.append(make_metric("latency", "ns", fmean(r["ns_per_operation"] for r in reports)))
        if "threads" in self.trial.workload.factors:
            metrics.append(make_metric("active_nodes", "nodes", len(self.tasks)))
        return metrics

    def read_tasks(self, numaplace: Numaplace) -> list[TaskState]:
        """Reads the tasks as `numaplace ps` would, with the pages by node as the programs have them from the kernel.
        ExperimentError: one has ended."""
        node_of = {cpu: node.id for node in self.nodes for cpu in node.cpus}
        states: list[TaskState] = []
        for task in self.tasks:
            pid = self.programs[task.role].pid
            try:
                cpus = sorted(os.sched_getaffinity(pid))
            except ProcessLookupError:
                raise ExperimentError(f"task {task.role} (pid {pid}) ended early") from None
            nodes = {node_of.get(cpu) for cpu in cpus}
            states.append({"pid": pid, "comm": "np-mem", "cpus": format_list(tuple(cpus)),
                           "node": nodes.pop() if len(nodes) == 1 else None, "pages": self.reports[task.role]["pages"]})
        return states

    def verify(self) -> str:
        """Checks the elements of all arrays. Returns "ok", or how many are wrong by task."""
        wrong = [f"{role}: {r['wrong_elements']} wrong elements"
                 for role, r in self.reports.items() if not r["verified"]]
        return "; ".join(wrong) or "ok"
