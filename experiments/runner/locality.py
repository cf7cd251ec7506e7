# SPDX-License-Identifier: GPL-2.0-only
"""How much of their memory tasks have beside them, from the records of 'numaplace ps --json'."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any


def count_pages(task: Mapping[str, Any]) -> int:
    """Sums all anonymous pages of a task."""
    return sum(task["pages"].values())


def count_local_pages(task: Mapping[str, Any]) -> int | None:
    """Sums those on the node that the task runs on; None where it may run on several."""
    if task["node"] is None:
        return None
    return task["pages"].get(str(task["node"]), 0)


def compute_locality(task: Mapping[str, Any]) -> float | None:
    local, total = count_local_pages(task), count_pages(task)
    return None if local is None or not total else local / total


def compute_overall(tasks: Iterable[Mapping[str, Any]]) -> float | None:
    """Returns local pages / all pages over all tasks; None where some task has no node of its own."""
    local = total = 0
    for task in tasks:
        own = count_local_pages(task)
        if own is None:
            return None
        local += own
        total += count_pages(task)
    return local / total if total else None


def compute_share(task: Mapping[str, Any], nodes: Iterable[int]) -> float:
    """Returns the part of the task's pages on these nodes, 0..1; 0 for a task without pages."""
    total = count_pages(task)
    return sum(task["pages"].get(str(node), 0) for node in nodes) / total if total else 0.0


def compute_smallest_share(task: Mapping[str, Any], nodes: Collection[int]) -> float:
    """Returns, of pages that are to be spread evenly over these nodes, what the node with the fewest has
    of its part; 1 where all have theirs."""
    return min(compute_share(task, [node]) for node in nodes) * len(nodes)
