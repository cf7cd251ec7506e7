# SPDX-License-Identifier: GPL-2.0-only
"""How much of their memory tasks have beside them, from the records of 'numaplace ps --json'."""

from collections.abc import Collection, Iterable, Sequence

from .records.record import TaskState


def count_pages(task: TaskState) -> int:
    """Sums all anonymous pages of a task."""
    return sum(task["pages"].values())


def compute_locality(tasks: Sequence[TaskState]) -> float | None:
    """Computes local pages / all pages over all tasks, 0..1; None where some task may run on several nodes or none has pages."""
    total = sum(map(count_pages, tasks))
    if not total or any(task["node"] is None for task in tasks):
        return None
    return sum(task["pages"].get(str(task["node"]), 0) for task in tasks) / total


def compute_share(task: TaskState, nodes: Iterable[int]) -> float:
    """Returns the part of the task's pages on these nodes, 0..1; 0 for a task without pages."""
    total = count_pages(task)
    return sum(task["pages"].get(str(node), 0) for node in nodes) / total if total else 0.0


def compute_smallest_share(task: TaskState, nodes: Collection[int]) -> float:
    """Computes which share of its even part of a task's pages the node with the fewest of them has; 1 where all have theirs."""
    return min(compute_share(task, [node]) for node in nodes) * len(nodes)
