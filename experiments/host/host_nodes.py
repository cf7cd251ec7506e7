# SPDX-License-Identifier: GPL-2.0-only
"""The nodes of this machine that an experiment can use."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CannotError, UsageError
from . import topology
from .topology import parse_list

if TYPE_CHECKING:
    from ..lab.machine import Machine

SYSFS = Path("/sys/devices/system/node")
CMDLINE = Path("/proc/cmdline")


@dataclass(frozen=True)
class Node:
    id: int
    cpus: tuple[int, ...]
    distances: dict[int, int]  # by the other node's id
    total_kib: int
    free_kib: int
    places: tuple[topology.Cpu, ...] = ()  # of its CPUs

    @property
    def usable(self) -> bool:
        return bool(self.cpus) and self.total_kib > 0

    @property
    def memory_only(self) -> bool:
        return not self.cpus and self.total_kib > 0


def format_list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _node(directory: Path, online: list[int], caches: list[dict[str, Any]] | None) -> Node:
    cpus = parse_list((directory / "cpulist").read_text())
    memory = {key: int(value) for key, value in
              re.findall(r"(\w+):\s+(\d+) kB", (directory / "meminfo").read_text())}
    return Node(int(directory.name[4:]), cpus,
                dict(zip(online, map(int, (directory / "distance").read_text().split()))),
                memory.get("MemTotal", 0), memory.get("MemFree", 0),
                topology.of_host(cpus, directory.parent.parent / "cpu") if caches is None else topology.of_lab(cpus, caches))


def nodes(root: Path = SYSFS) -> list[Node]:
    """Returns all nodes that are online, which are those that have a folder: a node's distances are in their order."""
    online = sorted(int(d.name[4:]) for d in root.glob("node*") if d.name[4:].isdigit())
    return [_node(root / f"node{number}", online, _lab_caches()) for number in online]


def in_lab() -> str | None:
    """Returns the name of the lab's machine that this is."""
    return _kernel_option(r"numaplace_lab=([^,\s]+)")


def lab_changes() -> str | None:
    """Returns what `lab run --set` changed of that machine's numbers."""
    return _kernel_option(r"numaplace_lab_set=(\S+)")


def machine_name() -> str:
    """Returns the machine's name as `numaplace topology` says it; there a long one is cut off."""
    return "+".join(filter(None, (in_lab() or platform.node(), lab_changes())))


def _kernel_option(pattern: str) -> str | None:
    found = re.search(rf"\b{pattern}", CMDLINE.read_text())
    return found[1] if found else None


def _lab_caches() -> list[dict[str, Any]] | None:
    """Returns the caches that the lab simulates: the guest's kernel only knows QEMU's."""
    from ..lab import machine as lab

    name = in_lab()
    return _described(name).cache if name and lab.is_known(name) else None


def _described(name: str) -> Machine:
    from ..lab import machine as lab
    from ..lab.errors import LabError

    try:
        return lab.find(name)
    except LabError as error:
        raise UsageError(str(error)) from None


def of_lab(name: str) -> list[Node]:
    """Returns the nodes of a machine of the lab, as its file says; nothing has to boot."""
    found = _described(name)
    return [Node(number, tuple(node.cpus), dict(enumerate(found.distances[number])),
                 node.memory >> 10, node.memory >> 10, topology.of_lab(node.cpus, found.cache))
            for number, node in enumerate(found.nodes)]


def remote_memory(found: Iterable[Node]) -> bool:
    """Checks whether there is memory on more than one node."""
    return sum(node.total_kib > 0 for node in found) > 1


def usable(needed: int, suite: str, root: Path = SYSFS, among: list[Node] | None = None) -> list[Node]:
    """Returns all nodes with CPUs and memory, of which the suite needs so many at least; those of memory alone come after."""
    there = nodes(root) if among is None else among
    good = [node for node in there if node.usable]
    if len(good) < needed:
        which = ", ".join(f"node {node.id}" for node in good) or "none"
        raise CannotError(f"suite {suite} needs {needed} nodes with CPUs and memory, this machine "
                          f"has {len(good)} ({which}): run it in the lab with --lab")
    return in_order(there)


def in_order(found: list[Node]) -> list[Node]:
    """Returns the nodes that a suite counts, by position: those with CPUs and memory, then those of memory alone."""
    return [node for node in found if node.usable] + [node for node in found if node.memory_only]
