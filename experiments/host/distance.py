# SPDX-License-Identifier: GPL-2.0-only
"""Which of a machine's nodes are remote to each other, and how far. Nodes are positions in a list of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from .host_nodes import Node

if TYPE_CHECKING:
    from ..runner.suite.suite import Workload


def apart(nodes: list[Node], a: int, b: int) -> int:
    """Returns the distance from a's CPUs to b's memory."""
    return nodes[a].distances[nodes[b].id]


def with_cpus(nodes: list[Node]) -> list[int]:
    return [k for k, node in enumerate(nodes) if node.cpus]


def far_pair(nodes: list[Node]) -> tuple[int, int]:
    """Returns the first two nodes with CPUs that are as far apart as any, taking the shorter way where ways differ."""
    return max(combinations(with_cpus(nodes), 2), default=(0, 1),
               key=lambda pair: min(apart(nodes, *pair), apart(nodes, *reversed(pair))))


def far_shift(nodes: list[Node]) -> int:
    """Returns k such that node i + k is as far from node i as can be, for all i at once (Bergstrom, 3.2:
    another package, not only another node). Of nodes with CPUs."""
    nodes = [nodes[k] for k in with_cpus(nodes)]

    def nearest(shift: int) -> tuple[int, int]:
        ways = [apart(nodes, i, (i + shift) % len(nodes)) for i in range(len(nodes))]
        return min(ways), sum(ways)

    return max(range(1, len(nodes)), key=nearest)


def remote(workloads: Iterable[Workload], nodes: list[Node]) -> list[dict[str, Any]]:
    """Returns from whose CPUs the workloads use whose memory, by ids; not of tasks with memory on several nodes."""
    pairs = {(task.runs_on, *task.memory_on) for w in workloads for task in w.tasks if len(task.memory_on) == 1}
    return [{"from": nodes[a].id, "to": nodes[b].id, "distance": apart(nodes, a, b)}
            for a, b in sorted(pairs) if a != b and max(a, b) < len(nodes)]
