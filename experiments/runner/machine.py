# SPDX-License-Identifier: GPL-2.0-only
"""The nodes of this machine that an experiment can use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .errors import CannotError

SYSFS = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Node:
    id: int
    cpus: tuple[int, ...]
    distances: tuple[int, ...]
    total_kib: int
    free_kib: int

    @property
    def usable(self) -> bool:
        return bool(self.cpus) and self.total_kib > 0


def parse_list(text: str) -> tuple[int, ...]:
    """'0-2,5' as numbers."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)


def format_list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _node(directory: Path) -> Node:
    memory = {key: int(value) for key, value in
              re.findall(r"(\w+):\s+(\d+) kB", (directory / "meminfo").read_text())}
    return Node(int(directory.name[4:]), parse_list((directory / "cpulist").read_text()),
                tuple(map(int, (directory / "distance").read_text().split())),
                memory.get("MemTotal", 0), memory.get("MemFree", 0))


def nodes(root: Path = SYSFS) -> list[Node]:
    found = [d for d in root.glob("node*") if d.name[4:].isdigit()]
    return sorted(map(_node, found), key=lambda node: node.id)


def usable(needed: int, suite: str, root: Path = SYSFS) -> list[Node]:
    """The first nodes with CPUs and memory, as many as the suite needs."""
    good = [node for node in nodes(root) if node.usable]
    if len(good) < needed:
        which = ", ".join(f"node {node.id}" for node in good) or "none"
        raise CannotError(f"suite {suite} needs {needed} nodes with CPUs and memory, this machine "
                          f"has {len(good)} ({which}): run it in the lab with --lab demo-2s")
    return good[:needed]
