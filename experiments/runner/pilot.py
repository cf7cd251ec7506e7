# SPDX-License-Identifier: GPL-2.0-only
"""What is measured of a workload once a boot, before its first placement: its tasks' inputs, and how much work it takes.

A policy is told the penalty and the MPKI of each task, as `numaplace measure-penalty --flip` has them of the task working
alone with its memory on its own node. The fixed work, during which a placement acts, takes three times what a placement
takes, at the speed that the workload has as it starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import CannotError, ExperimentError
from ..host import host_nodes
from ..host.tool import Numaplace
from .suite import knowledge
from .suite.schedule import Trial
from .suite.suite import Task, Workload
from .workloads.workload import RunningWorkload

BASELINE = "none"
TIMES = 3              # that the work takes as long as a placement
STEP = 10 ** 0.05      # between two amounts of work: boots whose placements take about as long have the same
EXACT = 1e-9           # steps, by which a logarithm may miss a whole number; ROUNDING digits do the same for a power
ROUNDING = 6
FLIP = 0.02  # s, of each of a flip's four phases
TURN = 0.25  # s: between two turns a task waits, and what its CPU counts then is others' work
INDEPENDENT = ("memory", "triad")  # kinds whose tasks are processes of one program that need none of the others
MakeWorkload = Callable[[Trial], RunningWorkload]


@dataclass(frozen=True)
class Input:
    """Holds what a policy is told of a task; source says where it comes from, or why nothing is known. A penalty below 1 is one
    that the measurement does not tell from none."""

    penalty: float | None  # cycles per instruction, memory remote / local
    mpki: float | None     # misses per 1000 instructions
    source: str


@dataclass(frozen=True)
class Pilot:
    """Holds what was measured of one workload in this boot."""
    inputs: dict[str, Input]  # by role
    work: int                 # as RunningWorkload.work
    apply_s: float            # s, of the placement that it was measured with


def run_pilot(trial: Trial, levels: tuple[str, ...], make_workload: MakeWorkload, numaplace: Numaplace, turn: float, timed: bool) -> Pilot:
    """Measures the tasks' inputs, where a level needs them, and the work that takes TIMES as long as the first level's placement.

    levels: the suite's policies but BASELINE, one at least. turn: s that tasks are watched for. timed: whether times mean anything here."""
    needs_inputs = any(knowledge.read_knowledge(level).knows == "measured" for level in levels)
    inputs = measure_inputs(trial, make_workload, numaplace) if timed and needs_inputs else {}
    running = make_workload(replace(trial, policy=levels[0]))
    try:
        running.start()
        begin = time.monotonic()
        with running.keep_working(turn) as sample:
            numaplace.apply(levels[0], running.pids, list_assumptions(running, inputs), sample)
            seconds = time.monotonic() - begin
        work = round_work(TIMES * seconds * running.compute_rate())
        numaplace.restore(running.pids)
    finally:
        running.stop()
    return Pilot(inputs, work, seconds)


def round_work(least: float) -> int:
    """Rounds an amount of work, in parts as of RunningWorkload.work, up to the next step of a geometric series, one at least."""
    steps = math.ceil(math.log(max(least, 1), STEP) - EXACT)
    return math.ceil(round(STEP ** steps, ROUNDING))


def measure_inputs(trial: Trial, make_workload: MakeWorkload, numaplace: Numaplace) -> dict[str, Input]:
    """Measures the inputs of the tasks, by role; tasks that differ in nothing but their place are measured once."""
    by_kind: dict[tuple[str, int], Input] = {}
    for task in trial.workload.tasks:
        kind = identify_kind(task, trial.workload)
        if kind not in by_kind:
            by_kind[kind] = measure_input(trial, task, make_workload, numaplace)
    return {task.role: by_kind[identify_kind(task, trial.workload)] for task in trial.workload.tasks}


def identify_kind(task: Task, workload: Workload) -> tuple[str, int]:
    """Returns what a task's inputs depend on: its role, or "" where it needs none of the other tasks, and the number of its threads."""
    return "" if workload.kind in INDEPENDENT else task.role, task.threads


def measure_input(trial: Trial, task: Task, make_workload: MakeWorkload, numaplace: Numaplace) -> Input:
    """Measures penalty and MPKI of a task with its memory on the node that it runs on, the others beside it where it needs them.
    Returns an Input without them, but with the reason, where that fails."""
    needed = (task,) if trial.workload.kind in INDEPENDENT else trial.workload.tasks
    tasks = tuple(replace(local, memory_on=(local.runs_on,)) for local in needed)
    running = make_workload(replace(trial, workload=replace(trial.workload, tasks=tasks)))
    try:
        running.start()
        scale = host_nodes.read_lab_scale()
        with running.keep_working(scale * TURN):
            pid = next(pid for pid, local in zip(running.pids, tasks, strict=True) if local.role == task.role)
            penalty, mpki = numaplace.measure_penalty(pid, scale * FLIP)
        return Input(max(1.0, penalty), mpki, "measured alone, local and remote, before the placement")
    except (CannotError, ExperimentError) as error:
        return Input(None, None, f"not measured: {error}")
    finally:
        running.stop()


def list_assumptions(running: RunningWorkload, inputs: dict[str, Input]) -> list[str]:
    """Lists the words of --assume, one for each task whose penalty and MPKI are known."""
    inputs_by_pid = [(pid, inputs[task.role]) for pid, task in zip(running.pids, running.tasks, strict=True) if task.role in inputs]
    return [f"pid={pid},penalty={task_input.penalty:g},mpki={task_input.mpki:g}"
            for pid, task_input in inputs_by_pid if None not in (task_input.penalty, task_input.mpki)]


def read_declared(tasks: tuple[Task, ...]) -> dict[str, Input]:
    """Returns the inputs that the suite declares, by role, without tasks of which it does not declare both."""
    return {task.role: Input(task.penalty, task.mpki, "declared by the suite") for task in tasks
            if None not in (task.penalty, task.mpki)}
