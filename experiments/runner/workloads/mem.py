# SPDX-License-Identifier: GPL-2.0-only
"""Workloads of np-mem: kernels over arrays that are placed page by page and looked at again."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from ...errors import ExperimentError
from ...host.host_nodes import Node, format_list
from ...host.tool import Numaplace
from ...host.topology import SPREADS, order_cpus
from ...paths import HERE
from ..suite.schedule import Trial
from ..suite.suite import Suite, Task
from .workload import START_LIMIT, WORK_LIMIT, Measured, RunningWorkload, make_metric

TURN = 0.02  # s, of a task whose work is over, where nothing is watched
LEAD = 0.3          # s, until all workers begin together; less where they measure for a moment only
MIN_OVERLAP = 0.75  # of the time that the workers of one observation measure at once
STREAM = ("copy", "scale", "sum", "triad")
OPTIONS = ("size", "pages", "stride", "group", "chains", "pattern", "alpha", "accesses")


class Memory(RunningWorkload):
    """A process for each task, a CPU for each thread; its pages are where its kernel was told.

    In a run with placements a process has the same CPUs, but its threads are not bound to one each, so that a placement may
    take it elsewhere; it is placed while it does a fixed work, whose end is timed.
    """

    def __init__(self, trial: Trial, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        super().__init__(trial, suite, nodes, scratch)
        self.operation = self.options.get("operation", "triad")
        spread = self.options.get("spread", SPREADS[0])
        self.free = {k: list(order_cpus(node.places, spread)) for k, node in enumerate(nodes)}

    def start(self) -> None:
        self.cpus = {task.role: self.take_cpus(task) for task in self.tasks}
        for task in self.tasks:
            cpus = self.cpus[task.role]
            self.run(task, [HERE.programs / "np-mem", self.choose_kernel(task), *self.list_words(task),
                            "--cpus", format_list(cpus), *([] if self.placed else ["--pin"])], cpus=self.choose_loading_cpus(cpus))
        self.said = {role: program.receive("ready", START_LIMIT) for role, program in self.programs.items()}

    def choose_kernel(self, task: Task) -> str:
        return self.operation

    def take_cpus(self, task: Task) -> tuple[int, ...]:
        taken, self.free[task.runs_on] = (self.free[task.runs_on][:task.threads],
                                          self.free[task.runs_on][task.threads:])
        return tuple(taken)

    def choose_loading_cpus(self, cpus: tuple[int, ...]) -> tuple[int, ...] | None:
        """Where the program starts, before it goes to its own CPUs: one that is placed on the node of its memory, so that what
        the loader touches is there too."""
        return None if self.placed else cpus

    def list_words(self, task: Task) -> list[str]:
        """The options that this kernel has, and where its memory is to be."""
        words = [word for name in OPTIONS if name in self.options
                 for word in (f"--{name}", str(self.options[name]))]
        if self.operation in STREAM and "stride" not in self.options:
            words += ["--kernel", self.options["kernel"]]
        nodes = tuple(self.nodes[n].id for n in task.memory_on)
        return [*words, "--seed", str(self.seed), "--threads", str(task.threads), "--mem", format_list(nodes)]

    @contextmanager
    def keep_working(self, turn: float) -> Iterator[float]:
        """The clock starts, the work, and what is done meanwhile. A task whose work is over goes on in turns, so that
        the others' work and what is counted stay what they are until the placement is there too."""
        over = threading.Event()
        with ThreadPoolExecutor(len(self.programs)) as pool:
            begin = time.monotonic()
            left = Countdown(len(self.programs), over)
            tasks = [pool.submit(self._solve_work, role, turn, left) for role in self.programs]
            try:
                yield turn
            finally:
                left.end_one()
            self.solved = max(task.result() for task in tasks) - begin

    def _solve_work(self, role: str, turn: float, left: Countdown) -> float:
        """When the work was done, by the clock that the programs have too. Without a work, turns are timed alone. What a task
        says last it has said after the placement."""
        program, finished = self.programs[role], 0.0
        try:
            if self.work:
                program.send(f"work {self.work}")
                self.said[role] = program.receive("result", WORK_LIMIT)
                finished = self.said[role]["finished"]
        finally:
            left.end_one()
        while not left.over.is_set():
            program.send(f"run {turn or TURN}")
            self.said[role] = program.receive("result", turn + WORK_LIMIT)
        return finished

    def compute_rate(self) -> float:
        """Operations per second of the slowest task in its last turn: the work ends with it."""
        return min(r["operations"] / (r["finished"] - r["started"]) for r in self.said.values())

    def measure(self) -> Measured:
        seconds, warm = self.options["seconds"], self.options.get("warm", 0.0)
        begin = time.monotonic() + self.compute_lead(seconds)
        for role, program in self.programs.items():
            program.send(f"run {self.window(role, seconds):g} {begin:.6f} {warm}")
        self.said = {role: program.receive("result", seconds + warm + WORK_LIMIT)
                     for role, program in self.programs.items()}
        return Measured(self.list_metrics(), self.list_marks(seconds), self.said)

    def window(self, _role: str, seconds: float) -> float:
        """For how long a task measures."""
        return seconds

    def compute_lead(self, seconds: float) -> float:
        return min(LEAD, 5 * seconds)

    def list_marks(self, seconds: float) -> list[str]:
        found = self.said.values()
        both = min(r["finished"] for r in found) - max(r["started"] for r in found)
        late = len(found) > 1 and both < MIN_OVERLAP * seconds
        return [f"the workers measured together for {both:.2f} s of {seconds:g} s only"] if late else []

    def list_metrics(self) -> list[dict[str, Any]]:
        found = self.said.values()
        if self.operation == "cachetest":
            return [make_metric("iterations", "1/s", sum(r["iterations_per_second"] for r in found))]
        if self.operation in ("sort", "update"):
            return [make_metric("seconds", "s", max(r["seconds"] / (r["passes"] / task.threads)
                                                    for task, r in zip(self.tasks, found)))]
        if self.operation == "chase":
            chains = self.options.get("chains", 1)
            return [make_metric("latency", "ns", chains * fmean(r["ns_per_operation"] for r in found)),
                    make_metric("bandwidth", "MB/s", sum(r["mb_per_s_bus"] for r in found))]
        return self.list_bandwidths()

    def list_bandwidths(self) -> list[dict[str, Any]]:
        found = self.said.values()
        groups: dict[str, float] = {}
        for task in self.tasks:
            if task.group:
                groups[task.group] = groups.get(task.group, 0) + self.said[task.role]["mb_per_s"]
        metrics = [make_metric("bandwidth", "MB/s", sum(r["mb_per_s"] for r in found)),
                   make_metric("bandwidth_bus", "MB/s", sum(r["mb_per_s_bus"] for r in found)),
                   *(make_metric(f"bandwidth_{group}", "MB/s", value) for group, value in groups.items())]
        if "stride" in self.options:
            metrics.append(make_metric("latency", "ns", fmean(r["ns_per_operation"] for r in found)))
        if "threads" in self.trial.workload.factors:
            metrics.append(make_metric("active_nodes", "nodes", len(self.tasks)))
        return metrics

    def read_tasks(self, numaplace: Numaplace) -> list[dict[str, Any]]:
        """From the programs themselves, which asked the kernel where their pages are."""
        node_of = {cpu: node.id for node in self.nodes for cpu in node.cpus}
        found = []
        for task in self.tasks:
            pid = self.programs[task.role].pid
            try:
                cpus = sorted(os.sched_getaffinity(pid))
            except ProcessLookupError:
                raise ExperimentError(f"task {task.role} (pid {pid}) ended early") from None
            on = {node_of.get(cpu) for cpu in cpus}
            found.append({"pid": pid, "comm": "np-mem", "cpus": format_list(tuple(cpus)),
                          "node": on.pop() if len(on) == 1 else None, "pages": self.said[task.role]["pages"]})
        return found

    def verify(self) -> str:
        wrong = [f"{role}: {r['wrong_elements']} wrong elements"
                 for role, r in self.said.items() if not r["verified"]]
        return "; ".join(wrong) or "ok"


class Countdown:
    """Over when every task's work and what is done meanwhile are."""

    def __init__(self, tasks: int, over: threading.Event) -> None:
        self.left, self.over, self.lock = tasks + 1, over, threading.Lock()

    def end_one(self) -> None:
        with self.lock:
            self.left -= 1
            if not self.left:
                self.over.set()
