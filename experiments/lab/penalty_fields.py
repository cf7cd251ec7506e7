# SPDX-License-Identifier: GPL-2.0-only
"""The [penalty] part of a machine file, which `numaplace measure-penalty --save` writes.

Documentation/counters.md has its meaning; userspace/lib/files/penalty_file.c reads it for `ps` and `plan`.
"""

from typing import Any

from experiments.lab.model_fields import check_value

FIT = ("remote_per_mpki", "local_per_mpki")
NEEDED, OPTIONAL = ("name", "penalty"), ("method", "distance", "mpki")
METHODS = ("two-runs", "flip")
LEAST_PENALTY = 0.01
NEAREST, FARTHEST = 10, 254  # between two nodes, as firmware says it


def check_fit(check, where: tuple, penalty: dict[str, Any]):
    for name in FIT:
        if name in penalty:
            check_value(check, where + (name,), penalty[name])
    if any(name in penalty for name in FIT) and not all(name in penalty for name in FIT):
        check.fail(where, f"a fit has both {' and '.join(FIT)}")


def check_task(check, where: tuple, task: Any):
    if not isinstance(task, dict):
        check.fail(where, "is not a table")
    for name in task:
        if name not in NEEDED + OPTIONAL:
            check.fail(where + (name,), f"unknown field; known are {', '.join(NEEDED + OPTIONAL)}")
    for name in NEEDED:
        if name not in task:
            check.fail(where, f"the field '{name}' is missing")
    if not isinstance(task["name"], str) or not task["name"]:
        check.fail(where + ("name",), f"{task['name']!r} is not a program's name")
    if task.get("method", METHODS[0]) not in METHODS:
        check.fail(where + ("method",), f"{task['method']!r} is neither {' nor '.join(METHODS)}")
    distance = task.get("distance", NEAREST)
    if not isinstance(distance, int) or not NEAREST <= distance <= FARTHEST:
        check.fail(where + ("distance",), f"{distance!r} is not a whole number from {NEAREST} to {FARTHEST}")
    for name in ("mpki", "penalty"):
        if name in task:
            check_value(check, where + (name,), task[name])
    if task["penalty"]["value"] < LEAST_PENALTY:
        check.fail(where + ("penalty",), f"{task['penalty']['value']} is below {LEAST_PENALTY}")


def check_penalty(check, penalty: dict[str, Any]):
    """Reports the first fault in a machine file's [penalty] to `check`."""
    where = ("penalty",)
    for name in penalty:
        if name not in (*FIT, "task"):
            check.fail(where + (name,), f"unknown field; known are {', '.join((*FIT, 'task'))}")
    check_fit(check, where, penalty)
    tasks = penalty.get("task", [])
    if not isinstance(tasks, list):
        check.fail(where + ("task",), "write each as a table of its own, [[penalty.task]]")
    for index, task in enumerate(tasks):
        check_task(check, where + ("task", index), task)
