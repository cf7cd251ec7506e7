# SPDX-License-Identifier: GPL-2.0-only
"""The nodes of this machine that an experiment can use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .errors import CannotError, UsageError

SYSFS = Path("/sys/devices/system/node")


@dataclass(frozen=True)
class Node:
    id: int
    cpus: tuple[int, ...]
    distances: dict[int, int]  # by the other node's id
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


def _node(directory: Path, online: list[int]) -> Node:
    memory = {key: int(value) for key, value in
              re.findall(r"(\w+):\s+(\d+) kB", (directory / "meminfo").read_text())}
    return Node(int(directory.name[4:]), parse_list((directory / "cpulist").read_text()),
                dict(zip(online, map(int, (directory / "distance").read_text().split()))),
                memory.get("MemTotal", 0), memory.get("MemFree", 0))


def nodes(root: Path = SYSFS) -> list[Node]:
    """All that are online, which are those that have a folder: a node's distances are in their order."""
    online = sorted(int(d.name[4:]) for d in root.glob("node*") if d.name[4:].isdigit())
    return [_node(root / f"node{number}", online) for number in online]


def of_lab(name: str) -> list[Node]:
    """Those of a machine of the lab, as its file says; nothing has to boot."""
    from ..lab import machine as lab
    from ..lab.errors import LabError

    try:
        found = lab.find(name)
    except LabError as error:
        raise UsageError(str(error)) from None
    return [Node(number, tuple(node.cpus), dict(enumerate(found.distances[number])),
                 node.memory >> 10, node.memory >> 10)
            for number, node in enumerate(found.nodes)]


def usable(needed: int, suite: str, root: Path = SYSFS, among: list[Node] | None = None) -> list[Node]:
    """All nodes with CPUs and memory; the suite needs so many of them at least."""
    good = [node for node in (nodes(root) if among is None else among) if node.usable]
    if len(good) < needed:
        which = ", ".join(f"node {node.id}" for node in good) or "none"
        raise CannotError(f"suite {suite} needs {needed} nodes with CPUs and memory, this machine "
                          f"has {len(good)} ({which}): run it in the lab with --lab")
    return good
