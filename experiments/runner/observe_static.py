# SPDX-License-Identifier: GPL-2.0-only
"""One observation of a suite whose tasks are placed once and stay: no policy has a part in it."""

from __future__ import annotations

from functools import partial

from . import locality
from .observe import ENOUGH, Observer, fill_measured, time_step
from .records.record import Record, TaskState
from .suite.schedule import Trial
from .workloads.workload import RunningWorkload


class StaticObserver(Observer):
    """Observes tasks that start where the design says: looks, measures, looks again, verifies."""

    def _take_steps(self, trial: Trial, running: RunningWorkload, record: Record) -> None:
        """Starts the workload, measures and verifies it, checks before and after that it is in its place, and fills the record."""
        timed = partial(time_step, record)
        record["platform"] = self.platform
        with timed("start"):
            running.start()
        before = running.read_tasks(self.numaplace)
        self._check_placed("at the start", running, before, record)
        with timed("measure"):
            measured = running.measure()
        after = running.read_tasks(self.numaplace)
        with timed("verify"):
            record["check"] = running.verify()
        self._check_placed("at the end", running, after, record)
        record["marks"] += measured.marks
        fill_measured(running, before, after, measured, record)

    def _check_placed(self, when: str, running: RunningWorkload, tasks: list[TaskState],
                      record: Record) -> None:
        """Marks tasks whose memory or CPUs are not those of the design. tasks: as they were read; when: in the mark's words."""
        for task, actual in zip(running.tasks, tasks):
            memory_nodes = [self.nodes[n].id for n in task.memory_on]
            if locality.compute_share(actual, memory_nodes) < ENOUGH:
                record["marks"].append(f"{task.role} {when}: memory was to be on node {memory_nodes}, pages are "
                                       f"{actual['pages']}")
            node = self.nodes[task.runs_on].id
            if not running.on_every_node and actual["node"] != node:
                record["marks"].append(f"{task.role} {when}: was to run on node {node}, runs on CPUs "
                                       f"{actual['cpus']}")
