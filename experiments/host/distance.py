# SPDX-License-Identifier: GPL-2.0-only
"""Which of a machine's nodes are remote to each other, and how far. Nodes are positions in a list of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .host_nodes import Node

if TYPE_CHECKING:
    from ..runner.suite.suite import Workload


def get_distance(nodes: list[Node], a: int, b: int) -> int:
    """Returns the distance from the CPUs of node `a` to the memory of node `b`, as the firmware says it: 10 is local."""
    return nodes[a].distances[nodes[b].id]


def list_with_cpus(nodes: list[Node]) -> list[int]:
    """Lists the positions of the nodes that have CPUs."""
    return [k for k, node in enumerate(nodes) if node.cpus]


def find_far_pair(nodes: list[Node]) -> tuple[int, int]:
    """Finds the first two nodes with CPUs that are as far apart as any, taking the shorter way where ways differ.

    Returns (0, 1) where fewer than two have CPUs."""
    return max(combinations(list_with_cpus(nodes), 2), default=(0, 1),
               key=lambda pair: min(get_distance(nodes, *pair), get_distance(nodes, *reversed(pair))))


def find_far_shift(nodes: list[Node]) -> int:
    """Finds k such that, of the nodes with CPUs, node i + k is as far from node i as can be, for all i at once (Bergstrom, 3.2:
    another package, not only another node)."""
    nodes = [nodes[k] for k in list_with_cpus(nodes)]

    def rank_shift(shift: int) -> tuple[int, int]:
        """Returns the smallest of the distances at this shift, then their sum."""
        ways = [get_distance(nodes, i, (i + shift) % len(nodes)) for i in range(len(nodes))]
        return min(ways), sum(ways)

    return max(range(1, len(nodes)), key=rank_shift)


def list_remote(workloads: Iterable[Workload], nodes: list[Node]) -> list[dict[str, Any]]:
    """Lists the pairs of nodes, by ids and with their distance, of which a task runs on one and has its memory on the other;
    left out are tasks with memory on several nodes, and nodes that are not there."""
    pairs = {(task.runs_on, *task.memory_on) for w in workloads for task in w.tasks if len(task.memory_on) == 1}
    return [{"from": nodes[a].id, "to": nodes[b].id, "distance": get_distance(nodes, a, b)}
            for a, b in sorted(pairs) if a != b and max(a, b) < len(nodes)]
