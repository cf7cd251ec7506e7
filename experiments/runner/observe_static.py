# SPDX-License-Identifier: GPL-2.0-only
"""One observation of a suite whose tasks are placed once and stay: no policy has a part in it."""

from __future__ import annotations

from typing import Any

from . import locality
from .observe import ENOUGH, Observer, Stopwatch, make_task_record
from .records.record import Record
from .suite.schedule import Trial
from .workloads.workload import RunningWorkload


class StaticObserver(Observer):
    """Observes tasks that start where the design says: looks, measures, looks again, verifies."""

    def _take_steps(self, trial: Trial, running: RunningWorkload, record: Record) -> None:
        timed = Stopwatch(record["steps"]).time_step
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
        record["metrics"] = measured.metrics
        if measured.series:
            record["series"] = measured.series
        record["tasks"] = [make_task_record(task.role, b, a, measured.details.get(task.role))
                           for task, b, a in zip(running.tasks, before, after)]

    def _check_placed(self, when: str, running: RunningWorkload, seen: list[dict[str, Any]],
                      record: Record) -> None:
        """Marks tasks whose memory or CPUs are not those of the design."""
        for task, found in zip(running.tasks, seen):
            memory = [self.nodes[n].id for n in task.memory_on]
            if locality.compute_share(found, memory) < ENOUGH:
                record["marks"].append(f"{task.role} {when}: memory was to be on node {memory}, pages are "
                                       f"{found['pages']}")
            node = self.nodes[task.runs_on].id
            if not running.on_every_node and found["node"] != node:
                record["marks"].append(f"{task.role} {when}: was to run on node {node}, runs on CPUs "
                                       f"{found['cpus']}")
