# SPDX-License-Identifier: GPL-2.0-only
"""Switches the mechanism of one observation on and off, and counts what the kernel does meanwhile under any placement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import CannotError, ExperimentError
from ..host.guard import Guard
from ..host.host_nodes import Node, read_lab_scale
from ..mechanisms import activity, registry
from ..mechanisms.looks import Looks
from ..mechanisms.mechanism import Scope
from .records.record import Record
from .suite.suite import Suite
from .workloads.kinds import KINDS
from .workloads.workload import RunningWorkload


def check_mechanisms(suite: Suite, nodes: Sequence[Node]) -> None:
    """Checks, before anything starts, that each mechanism of the suite can act here and on its workloads. CannotError: one cannot."""
    for level in suite.policies:
        mechanism = registry.make_mechanism(level)
        if mechanism is None:
            continue
        if why := mechanism.call("lacks", nodes):
            raise CannotError(f"mechanism {level}: {why}; or leave it out with --placements")
        mechanism.call("read_values")
        running = [w.name for w in suite.workloads if KINDS[w.kind].runs_already]
        if running:
            raise CannotError(f"mechanism {level}: what it does to {running[0]}, which run already, cannot be undone: leave it out with --placements")
        too_late = [w.name for w in suite.workloads if not KINDS[w.kind].unpinned]
        if mechanism.starts and too_late:
            raise CannotError(f"mechanism {level} acts on programs as they start, and workload {too_late[0]} of {suite.name} "
                              "has its tasks placed after that: leave one of them out")


def describe_scaled(suite: Suite) -> list[str]:
    """Describes what is set otherwise for the suite's mechanisms in a machine of the lab at a part of its speed; [] at full speed."""
    found = [registry.make_mechanism(level) for level in suite.policies]
    return [line for mechanism in found if mechanism for line in mechanism.call("describe_scaled")]


class ActiveMechanism:
    """Holds the mechanism of one observation; under a policy it has none, and only counts.

    The observer calls, in this order: start(), then place() for a mechanism or watch() for a policy, end(), tear_down().
    """

    def __init__(self, level: str, nodes: Sequence[Node], guard: Guard | None) -> None:
        """Makes the mechanism of a level; a policy's level has none. guard: undoes what it changes; None is enough for a policy."""
        self.mechanism = registry.make_mechanism(level)
        self.nodes, self.guard = nodes, guard
        self.counters = self.mechanism.counters if self.mechanism else ()
        self.threads = self.mechanism.threads if self.mechanism else ()
        self.before: activity.Activity | None = None
        self.looks: Looks | None = None

    def start(self, running: RunningWorkload) -> None:
        """Switches the mechanism on before the programs start, where the kernel places them: it sees their first page."""
        if not running.unpinned:
            return
        self.threads += activity.MOVERS  # which work under any placement
        self._set_up()
        if self.mechanism:
            running.before_exec, running.bound = self.mechanism.call("before_exec", self.nodes), self.mechanism.binds

    def place(self, running: RunningWorkload) -> dict[str, Any]:
        """Attaches the mechanism to the running programs. Returns what stands for a policy's answer, with no decision."""
        if not running.unpinned:  # else start() has
            self._set_up()
        self._begin_looks(running)
        self.mechanism.call("attach", self._make_scope(), running.pids)
        return {"decisions": []}

    def watch(self, running: RunningWorkload) -> None:
        """Begins to count where a policy is about to act on programs that the suite has placed."""
        if not running.unpinned:  # else start() has
            self._set_up()
        self._begin_looks(running)

    def end(self, record: Record) -> None:
        """Writes what the kernel has counted since the beginning to the record, as its key `kernel`."""
        record["kernel"] = activity.compute_difference(self.before, self._read_activity())
        if self.looks:
            record["kernel"]["looks"] = self.looks.end()

    def tear_down(self, record: Record) -> None:
        """Ends the looks and switches the mechanism off; why that failed becomes a mark of the record."""
        if self.looks:
            self.looks.stop()
        if self.mechanism:
            try:
                self.mechanism.call("tear_down")
            except ExperimentError as error:
                record["marks"].append(str(error))

    def _set_up(self) -> None:
        """Begins to count, and switches the mechanism on where there is one."""
        self.before = self._read_activity()
        if self.mechanism:
            self.mechanism.call("set_up", self._make_scope())

    def _begin_looks(self, running: RunningWorkload) -> None:
        """Begins to look at what is counted, as often as the suite says, and so many times more seldom in a machine at a part of its speed."""
        if interval := running.options.get("look", 0):
            self.looks = Looks(interval * read_lab_scale(), self.counters)
            self.looks.begin()

    def _make_scope(self) -> Scope:
        if self.guard is None:
            raise ExperimentError("a mechanism needs a guard of the machine's state")
        return Scope(self.nodes, self.guard)

    def _read_activity(self) -> activity.Activity:
        return activity.read_activity(self.counters, self.threads)
