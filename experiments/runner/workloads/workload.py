# SPDX-License-Identifier: GPL-2.0-only
"""Common to all kinds of workload: their processes, and their results."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ExperimentError
from ...host import host_nodes
from ...host.host_nodes import Node
from ...host.process import Program
from ...host.tool import Numaplace
from ..records.record import Metric, Series, TaskState
from ..suite.schedule import Trial, is_static
from ..suite.suite import Suite, Task

START_LIMIT = host_nodes.scale_limit(120)  # s, for a program to be ready; generous, the lab is slow
WORK_LIMIT = host_nodes.scale_limit(3600)  # s, for a phase of work whose length is not known


@dataclass
class Measured:
    """The report of a workload's own programs."""

    metrics: list[Metric]
    marks: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)  # by role
    series: Series | None = None  # counters over time


def make_metric(name: str, unit: str, value: float) -> Metric:
    return {"name": name, "unit": unit, "value": value}


class RunningWorkload:
    """The processes of one observation. Every subclass starts, measures and verifies them."""

    on_every_node = False  # whether its threads are
    unpinned = False       # whether its tasks are where the kernel has put them, with inputs that nobody declares
    runs_already = False   # whether its processes are the user's: their pages go back where they were
    works = True           # whether keep_working() has its tasks do something
    unseen_counts = False  # whether an observation counts that has ended before its processes were looked at
    before_exec: Callable[[], None] = staticmethod(lambda: None)  # of a mechanism, in each program's process
    bound = False          # whether a mechanism has chosen the programs' CPUs by that

    def __init__(self, trial: Trial, suite: Suite, nodes: list[Node], scratch: Path) -> None:
        """Prepares a trial's workload. nodes: of the machine, in the order of the tasks' positions; scratch: folder for its files."""
        self.tasks = trial.workload.tasks
        self.options = suite.parameters[trial.workload.kind] | trial.workload.options
        self.seed = suite.seed + trial.repeat
        self.trial, self.nodes, self.scratch = trial, nodes, scratch
        self.programs: dict[str, Program] = {}
        self.placed = not is_static(suite)
        self.work = 0      # of the fixed work during which it is placed: operations of each task, or so many times `work_once`
        self.solved = 0.0  # s, that the work took
        self._rate = 0.0

    def start(self) -> None:
        """Starts the programs and waits until all are ready. ExperimentError: one is not."""
        raise NotImplementedError

    def measure(self) -> Measured:
        """Measures once, until all programs have done their work."""
        raise NotImplementedError

    def work_once(self) -> None:
        """Does the part of the work that keep_working() repeats."""
        raise NotImplementedError

    @contextmanager
    def keep_working(self, turn: float) -> Iterator[float]:
        """Has the tasks do the fixed work in a thread, and go on until the block ends; sets `solved` to the seconds of the work.
        Yields for how many seconds they can be watched at work."""
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            begin = time.monotonic()
            try:  # around the submission too: whoever is interrupted there waits for the thread's end
                work_done = pool.submit(self._work_until, over)
                yield turn
            finally:
                over.set()
            self.solved = work_done.result() - begin

    def _work_until(self, over: threading.Event) -> float:
        """Does the fixed work, then goes on until `over` is set. Returns when the work was done, in s of the monotonic clock."""
        for _ in range(self.work):
            self.work_once()
        finished = time.monotonic()
        while not over.is_set():
            begin = time.monotonic()
            self.work_once()
            self._rate = 1 / (time.monotonic() - begin)
        return finished

    def compute_rate(self) -> float:
        """Returns how many parts of the work are done per second, by the last one after the fixed work."""
        return self._rate

    def verify(self) -> str:
        """Checks what the programs have computed. Returns "ok", or what is wrong."""
        raise NotImplementedError

    def read_tasks(self, numaplace: Numaplace) -> list[TaskState]:
        """Reads the tasks in their order. ExperimentError: one has ended."""
        answer = numaplace.read_tasks(self.pids)
        by_pid = {task["pid"]: task for task in answer["tasks"]}
        missing = [pid for pid in self.pids if pid not in by_pid]
        if missing:
            raise ExperimentError(f"numaplace ps does not list pid {missing[0]}")
        return [by_pid[pid] for pid in self.pids]

    def run(self, task: Task, arguments: list[str | Path], environment: dict[str, str] | None = None,
            keep_memory: bool = False, cpus: tuple[int, ...] | None = None) -> Program:
        """Starts a task's program. cpus: default those of its memory's node or, without any there, of its own. keep_memory: all memory that
        it ever allocates is to be on its memory's node; environment: beside the runner's. CannotError: it is missing."""
        node = self.nodes[task.memory_on[0]]
        program = Program(arguments, cpus or node.cpus or self.nodes[task.runs_on].cpus, environment or {}, node.id if keep_memory else None,
                          self.before_exec)
        self.programs[task.role] = program
        return program

    @property
    def pids(self) -> list[int]:
        return [self.programs[task.role].pid for task in self.tasks]

    def list_alive(self) -> list[int]:
        return [program.pid for program in self.programs.values() if program.alive]

    def list_vanished(self) -> list[str]:
        """Describes how each program ended that is not alive."""
        return [f"task {role} vanished: {program.explain_end()}"
                for role, program in self.programs.items() if not program.alive]

    def stop(self) -> None:
        for program in self.programs.values():
            program.stop()
