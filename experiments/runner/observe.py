# SPDX-License-Identifier: GPL-2.0-only
"""One observation: start misplaced, look, apply the policy, measure, look again, verify, undo."""

from __future__ import annotations

import math
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import CannotError, ExperimentError, NotPutBackError, UsageError
from ..host import host_nodes, mappings, state
from ..host.guard import Guard, read_numa_balancing
from ..host.host_nodes import Node
from ..host.tool import Numaplace, get_policy
from ..mechanisms import activity, registry
from . import calibration, locality, pilot
from .active_mechanism import ActiveMechanism
from .records.record import Applied, Cost, Record, Sample, TaskState
from .suite import knowledge
from .suite.schedule import Trial
from .suite.suite import Suite
from .workloads.kinds import KINDS
from .workloads.workload import Measured, RunningWorkload, make_metric

ENOUGH = 0.95  # share of the pages that must be where they were asked to be
# Of its part, that each of several nodes must have: a small task's stack and heap are pages too, and
# on one of them. np-mem has counted the pages of its arrays exactly before it says that it is ready.
EVEN = 0.8
WATCHED, WATCHED_IN_LAB = 0.5, 0.02  # s, where the suite does not say it
# Exceptions from a process that ended too early or from a malformed answer.
SPOILS = (ExperimentError, OSError, ValueError, ArithmeticError, subprocess.SubprocessError)


class Observer:
    """Makes the observations of a suite, one after the other."""

    def __init__(self, suite: Suite, nodes: list[Node], numaplace: Numaplace, scratch: Path,
                 platform: str = "", guard: Guard | None = None) -> None:
        """Prepares observations. scratch: the programs' folder; platform: as in a record, "" reads it; guard: undoes changes."""
        self.suite, self.nodes, self.numaplace, self.scratch = suite, nodes, numaplace, scratch
        self.guard = guard
        self.left_behind: NotPutBackError | None = None  # after the observation whose changes could not be undone
        self.pilots: dict[str, pilot.Pilot] = {}  # by workload
        self.platform = platform or numaplace.read_tasks([os.getpid()])["platform"]

    def observe(self, trial: Trial) -> Record:
        """Makes one observation. Returns its record for results.jsonl; what goes wrong with it alone becomes a mark. CannotError or
        UsageError: no observation of this kind can be made."""
        record = self._make_record(trial)
        begin = time.monotonic()
        self.saved_cpus: dict[int, set[int]] = {}
        running = self._make_workload(trial)
        self.active = ActiveMechanism(trial.policy, self.nodes, self.guard)
        running.unseen_counts = self.active.mechanism.starts if self.active.mechanism else get_policy(trial.policy) == "none"
        try:
            with self.guard.open_scope() if self.guard else nullcontext():
                self._carry_out(trial, running, record)
        except NotPutBackError as error:
            self.left_behind = error
            record["marks"].append(str(error))
        except (CannotError, UsageError):
            raise
        except ExperimentError as error:
            record["marks"].append(str(error))
        drop_infinite(record)
        record["seconds"] = round(time.monotonic() - begin, 3)
        return record

    def _make_workload(self, trial: Trial) -> RunningWorkload:
        return KINDS[trial.workload.kind](trial, self.suite, self.nodes, self.scratch)

    def _carry_out(self, trial: Trial, running: RunningWorkload, record: Record) -> None:
        """Takes the steps of an observation and undoes the placement; what a program spoils becomes marks of the record."""
        try:
            self._take_steps(trial, running, record)
        except (CannotError, UsageError):
            raise
        except SPOILS as error:
            record["marks"] += [*running.list_vanished(), describe_error(error)]
            record["check"] = "not reached"
        finally:
            self._undo_placement(running, record)

    def _make_record(self, trial: Trial) -> Record:
        """Makes the record of an observation that has not begun, with a mark where the kernel balances."""
        record = {"suite": self.suite.name, "workload": trial.workload.name, "policy": trial.policy,
                  "repeat": trial.repeat, "order": trial.order, "seed": self.suite.seed,
                  "platform": "", "started": datetime.now(timezone.utc).isoformat(), **state.read_state(),
                  "seconds": 0.0, "steps": {}, "metrics": [], "tasks": [], "apply": None,
                  "marks": [], "check": "ok"}
        if trial.workload.factors:
            record["factors"] = trial.workload.factors
        if trial.warmup:
            record["warmup"] = True
        if read_numa_balancing() not in (None, "0"):
            record["marks"].append(f"kernel.numa_balancing is {read_numa_balancing()}: the kernel moves "
                                   "pages too")
        return record

    def _take_steps(self, trial: Trial, running: RunningWorkload, record: Record) -> None:
        """Starts the workload, places it while it works, measures and verifies it, and fills the record with what each step gave."""
        timed = partial(time_step, record)
        with timed("pilot"):
            self._run_pilot(trial, running, record)
        with timed("start"):
            self.active.start(running)
            running.start()
        with timed("ps_before"):
            before = self._read_tasks(running, record)
        self._check_start(running, before, record)
        self.saved_cpus = read_cpus(running)  # before they change, for _restore_tasks()
        with timed("apply"), running.keep_working(self.turn if running.works else self.suite.sample) as sample:
            self._apply_policy(trial, running, sample, record)
        with timed("ps_applied"):
            just_placed = self._read_tasks(running, record)
        with timed("measure"):
            measured = running.measure()
        with timed("ps_after"):
            after = self._read_tasks(running, record)
        with timed("verify"):
            record["check"] = running.verify()
        self.active.end(record)
        self._check_end(after, just_placed if running.unpinned else None, record)
        self._fill_record(running, before, after, measured, record)

    @property
    def turn(self) -> float:
        """Returns the seconds for which working tasks are watched and counted before they are placed."""
        usual = WATCHED if self.platform == "real" else WATCHED_IN_LAB
        return (self.suite.sample or usual) * host_nodes.read_lab_scale()

    def _run_pilot(self, trial: Trial, running: RunningWorkload, record: Record) -> None:
        """Sets the work of workload and record, from a pilot that is made at the workload's first observation in this boot. Does nothing
        where its tasks do no work, or the suite has no policy but BASELINE."""
        levels = tuple(level for level in registry.select_policies(self.suite.policies) if get_policy(level) != pilot.BASELINE)
        if not running.works or not levels:
            return
        workload = trial.workload.name
        if workload not in self.pilots:
            self.pilots[workload] = pilot.run_pilot(trial, levels, self._make_workload, self.numaplace, self.turn,
                                                    timed=self.platform != "lab-functional")
        running.work = record["work"] = self.pilots[workload].work

    def _choose_inputs(self, running: RunningWorkload, known: knowledge.Knowledge) -> dict[str, pilot.Input]:
        """Returns the inputs that a policy gets, by role: none, those that the suite declares, or those of the pilot; where times mean
        nothing the declared ones in their place."""
        workload_pilot = self.pilots.get(running.trial.workload.name)
        if known.knows == "nothing" or workload_pilot is None:
            return {}
        if known.knows == "declared" or self.platform == "lab-functional":
            return pilot.read_declared(running.tasks)
        return workload_pilot.inputs

    def _apply_policy(self, trial: Trial, running: RunningWorkload, sample: float, record: Record) -> None:
        """Applies the trial's policy, or attaches its mechanism, and writes answer, inputs, cost and times to the record.
        sample: seconds that working tasks are watched for."""
        begin = time.monotonic()
        if self.active.mechanism:
            record["apply"] = self.active.place(running)
        elif running.unseen_counts and not running.list_alive():
            record["apply"] = {"decisions": []}
        else:
            self.active.watch(running)
            known = knowledge.read_knowledge(trial.policy)
            sample, inputs = 0 if known.knows == "nothing" else sample, self._choose_inputs(running, known)
            record["inputs"] = {role: asdict(role_input) for role, role_input in inputs.items()}
            if running.runs_already and self.guard:
                self.guard.restore_at_end(self.numaplace.program, running.pids)
            with calibration.falsify_links(self.numaplace, known, self.scratch):
                record["apply"] = self.numaplace.apply(trial.policy, running.pids, pilot.list_assumptions(running, inputs), sample)
        end = time.monotonic()
        if not self.active.mechanism:  # of which nobody has measured what a move takes
            record["cost"] = compute_cost(record["apply"], end - begin, sample)
        record["apply_at"] = [round(begin, 6), round(end, 6)]

    def _read_tasks(self, running: RunningWorkload, record: Record) -> list[TaskState]:
        """Reads the tasks, which wait meanwhile, in the workload's order. Adds their pages to the record's samples, and of unpinned
        programs as they are, once, their mappings to the record."""
        record["platform"] = self.platform
        tasks = running.read_tasks(self.numaplace)
        if running.unpinned and not record["repeat"] and record["policy"] == "none":  # once: it walks all page tables
            mapped = {task.role: mappings.read_mappings(pid) for task, pid in zip(running.tasks, running.pids, strict=True)}
            record["mappings"] = record.get("mappings", {}) | {role: maps for role, maps in mapped.items() if maps}
        record.setdefault("samples", []).append(make_page_sample([task.role for task in running.tasks], tasks, record["apply"]))
        return tasks

    def _check_start(self, running: RunningWorkload, before: list[TaskState], record: Record) -> None:
        """Marks tasks that are not as misplaced as the suite wants them. before: the tasks as they are now."""
        for task, actual in zip(running.tasks, before) if not running.unpinned else ():
            memory_nodes = [self.nodes[n].id for n in task.memory_on]
            if locality.compute_smallest_share(actual, memory_nodes) < (ENOUGH if len(memory_nodes) == 1 else EVEN):
                record["marks"].append(f"{task.role}: memory was to be on node {memory_nodes}, pages are "
                                       f"{actual['pages']}: fell back to another node")
            if actual["node"] != self.nodes[task.runs_on].id:
                record["marks"].append(f"{task.role}: was to run on node "
                                       f"{self.nodes[task.runs_on].id}, runs on CPUs {actual['cpus']}")

    def _check_end(self, after: list[TaskState], just_placed: list[TaskState] | None, record: Record) -> None:
        """Writes to the record's check which tasks and pages are not where the policy's answer says.

        after: the tasks at the end. just_placed: unpinned tasks right after the placement, else None. Their node may have no room for all,
        and memory that they take later is where the kernel puts it."""
        by_pid = {task["pid"]: task for task in after}
        moved_to = {task["pid"]: task for task in just_placed or ()}
        problems = [] if record["check"] == "ok" else [record["check"]]
        if record["apply"].get("error"):
            problems.append(f"apply: {record['apply']['error']}")
        for decision in record["apply"]["decisions"]:
            task = by_pid[decision["pid"]]
            if decision.get("error"):
                problems.append(f"pid {decision['pid']}: {decision['error']}")
                continue
            if decision["to"] is not None and task["node"] != decision["to"]:
                problems.append(f"pid {decision['pid']}: to run on node {decision['to']}, "
                                f"runs on CPUs {task['cpus']}")
            why = describe_strays(decision, task) if just_placed is None else describe_missing(decision, moved_to[decision["pid"]])
            if decision["pages_to"] is not None and why:
                problems.append(f"pid {decision['pid']}: {why}")
        record["check"] = "; ".join(problems) or "ok"

    def _fill_record(self, running: RunningWorkload, before: list[TaskState], after: list[TaskState],
                     measured: Measured, record: Record) -> None:
        """Fills the record with what was measured, and with metrics that are computed from the tasks before and after."""
        if record["platform"] != "lab-functional":  # where times mean nothing, so do those in which tasks worked together
            record["marks"] += measured.marks
        fill_measured(running, before, after, measured, record)
        if running.work:
            self._fill_work(running, record)
        for name, tasks in (("locality_before", before), ("locality_after", after)):
            value = locality.compute_locality(tasks)
            if value is None and running.unpinned:
                continue
            if value is None:
                record["marks"].append(f"no {name}: a task may run on several nodes, or none has pages")
            else:
                record["metrics"].append(make_metric(name, "fraction", value))
        moved = activity.count_moved(record["kernel"]) if running.unpinned or self.active.mechanism else count_moved_pages(record["apply"])
        record["metrics"].append(make_metric("pages_moved", "pages", moved))

    def _fill_work(self, running: RunningWorkload, record: Record) -> None:
        """Adds to the record the seconds that the fixed work took, and a mark where it was over before the placement was."""
        record["metrics"].append(make_metric("time_to_solution", "s", running.solved))
        begin, end = record["apply_at"]
        timed = record["platform"] != "lab-functional"
        if timed and running.solved < end - begin and get_policy(record["policy"]) != pilot.BASELINE:
            record["marks"].append(f"the work was over after {running.solved:.3f} s, before the placement was at {end - begin:.3f} s")

    def _undo_placement(self, running: RunningWorkload, record: Record) -> None:
        """Restores what apply did, marks the record where that failed, switches the mechanism off and ends the processes."""
        timed = partial(time_step, record)
        try:
            with timed("restore"):
                self._restore_tasks(running, record)
        except (CannotError, UsageError):
            raise
        except SPOILS as error:
            record["marks"].append(f"not restored: {describe_error(error)}")
        finally:
            self.active.tear_down(record)
            with timed("stop"):
                running.stop()

    def _restore_tasks(self, running: RunningWorkload, record: Record) -> None:
        """Restores the placed tasks that are alive, and marks the record where one has not its own CPUs again."""
        alive = running.list_alive()
        if record["apply"] is None:
            for pid in alive if self.saved_cpus else []:
                self.numaplace.restore([pid])  # apply gave no answer: its changes are not known
            return
        with_pages = running.runs_already
        pids = [pid for pid in list_placed(record["apply"], pages=with_pages) if pid in alive]
        if pids and (why := self.numaplace.restore(pids, with_pages)):
            record["marks"].append(f"not restored: {why}")
        for pid in pids:
            cpus = os.sched_getaffinity(pid)
            if cpus != self.saved_cpus[pid]:
                record["marks"].append(f"pid {pid} was not restored: it runs on CPUs {sorted(cpus)}, "
                                       f"not {sorted(self.saved_cpus[pid])}")


def read_cpus(running: RunningWorkload) -> dict[int, set[int]]:
    """Reads the CPUs that each process may use, by pid. ProcessLookupError: one has ended; where it may end unseen it is left out."""
    cpus = {}
    for pid in running.pids:
        with suppress(ProcessLookupError) if running.unseen_counts else nullcontext():
            cpus[pid] = os.sched_getaffinity(pid)
    return cpus


def describe_strays(decision: dict[str, Any], task: TaskState) -> str | None:
    """Describes where a task's pages are if less than ENOUGH of them are on the node that the decision names; None where enough are."""
    node = decision["pages_to"]
    return f"pages to be on node {node}, are {task['pages']}" if locality.compute_share(task, [node]) < ENOUGH else None


def describe_missing(decision: dict[str, Any], task: TaskState) -> str | None:
    """Describes how many pages are on the node where fewer are there than were moved to it; None where enough are."""
    moved = get_move(decision).get("moved", 0)
    count = task["pages"].get(str(decision["pages_to"]), 0)
    return f"{moved} pages moved to node {decision['pages_to']}, {count} are there" if count < ENOUGH * moved else None


@contextmanager
def time_step(record: Record, name: str) -> Iterator[None]:
    """Writes the seconds of the block, also of one that raises, to the record's steps."""
    begin = time.monotonic()
    try:
        yield
    finally:
        record["steps"][name] = round(time.monotonic() - begin, 3)


def describe_error(error: Exception) -> str:
    """Returns an error in words; Python's own say what, but seldom of what kind."""
    return str(error) if isinstance(error, ExperimentError) else f"{type(error).__name__}: {error}"


def drop_infinite(record: Record) -> None:
    """Removes infinite metrics from a record: JSON has no such numbers, and no mean may have one in it."""
    infinite = [m for m in record["metrics"] if not math.isfinite(m["value"])]
    if infinite:
        record["marks"].append(f"no number: {', '.join(m['name'] for m in infinite)}")
        record["metrics"] = [m for m in record["metrics"] if m not in infinite]


def list_placed(applied: Applied, pages: bool = False) -> list[int]:
    """Lists the pids of tasks whose CPUs or memory policy were changed, with pages also those whose pages were; none where apply has
    undone its changes."""
    if applied.get("undone"):
        return []
    results = ((d["pid"], d.get("result") or {}) for d in applied["decisions"])
    return [pid for pid, result in results if result.get("cpus") or result.get("mem") or pages and result.get("migrate")]


def compute_cost(applied: Applied, seconds: float, watched: float) -> Cost:
    """Computes the price of a placement: the seconds of apply and of its moves, and the bytes that it moved.

    watched: the part of the seconds in which apply only looked on while the tasks worked."""
    moves = list_moves(applied)
    return {"apply_s": round(seconds, 6), "watched_s": watched,
            "move_s": sum(move.get("ns", 0) for move in moves) / 1e9,
            "moved_bytes": sum(move.get("bytes", 0) for move in moves)}


def make_page_sample(roles: list[str], tasks: list[TaskState], applied: Applied | None) -> Sample:
    """Returns the pages by node now, with the time of the boot's monotonic clock, and how many apply has moved so far."""
    return {"t_s": round(time.monotonic(), 6),
            "pages": {role: task["pages"] for role, task in zip(roles, tasks, strict=True)},
            "moved": count_moved_pages(applied) if applied else 0}


def list_moves(applied: Applied) -> list[dict[str, Any]]:
    """Lists what became of the pages that apply moved, of each decision and of each file; {} of a decision that moved none."""
    return [*map(get_move, applied["decisions"]), *(file.get("migrate") or {} for file in applied.get("files", []))]


def count_moved_pages(applied: Applied) -> int:
    """Sums the pages that were moved by all decisions, and those of files."""
    return sum(move.get("moved", 0) for move in list_moves(applied))


def get_move(decision: dict[str, Any]) -> dict[str, int]:
    """Returns `migrate` of a decision's result, as Applied has it; {} where no page was to move."""
    return (decision.get("result") or {}).get("migrate") or {}


def fill_measured(running: RunningWorkload, before: list[TaskState], after: list[TaskState], measured: Measured, record: Record) -> None:
    """Fills the record's tasks, metrics and series from what was measured, and from the tasks before and after."""
    record["tasks"] = [make_task_record(task.role, task_before, task_after, measured.details.get(task.role))
                       for task, task_before, task_after in zip(running.tasks, before, after)]
    record["metrics"] = measured.metrics
    if measured.series:
        record["series"] = measured.series


def make_task_record(role: str, before: TaskState, after: TaskState,
                     details: dict[str, Any] | None) -> dict[str, Any]:
    """Makes the record of a task: its node, its pages by node and its locality, each before and after; details: its program's own."""
    record = {"role": role, "pid": after["pid"], "comm": after["comm"]}
    for when, task in (("before", before), ("after", after)):
        record |= {f"node_{when}": task["node"], f"pages_{when}": task["pages"],
                   f"locality_{when}": locality.compute_locality([task])}
    return record | {"details": details}
