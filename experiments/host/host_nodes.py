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
    """Describes a node: its CPUs, its distances and its memory in KiB."""

    id: int
    cpus: tuple[int, ...]
    distances: dict[int, int]  # by the other node's id
    total_kib: int
    free_kib: int
    places: tuple[topology.Cpu, ...] = ()  # of its CPUs

    @property
    def usable(self) -> bool:
        """Checks whether the node has both CPUs and memory."""
        return bool(self.cpus) and self.total_kib > 0

    @property
    def memory_only(self) -> bool:
        """Checks whether the node has memory and no CPUs."""
        return not self.cpus and self.total_kib > 0


def format_list(numbers: tuple[int, ...]) -> str:
    """Formats numbers as '0,1,2'."""
    return ",".join(map(str, numbers))


def _read_node(directory: Path, online: list[int], caches: list[dict[str, Any]] | None) -> Node:
    """Reads a node from its folder in sysfs. online: the ids of all nodes in their order, which is that of the distances.
    caches: those that the lab simulates; None where the kernel's are true."""
    cpus = parse_list((directory / "cpulist").read_text())
    memory = {key: int(value) for key, value in
              re.findall(r"(\w+):\s+(\d+) kB", (directory / "meminfo").read_text())}
    return Node(int(directory.name.removeprefix("node")), cpus,
                dict(zip(online, map(int, (directory / "distance").read_text().split()))),
                memory.get("MemTotal", 0), memory.get("MemFree", 0),
                topology.read_host_cpus(cpus, directory.parent.parent / "cpu") if caches is None else topology.make_lab_cpus(cpus, caches))


def list_nodes(root: Path = SYSFS) -> list[Node]:
    """Reads all nodes that are online, which are those that have a folder, in the order of their ids."""
    online = sorted(int(number) for d in root.glob("node*") if (number := d.name.removeprefix("node")).isdigit())
    caches = _find_lab_caches()
    return [_read_node(root / f"node{number}", online, caches) for number in online]


def read_lab_name() -> str | None:
    """Reads the name of the lab's machine that this is; None where it is none."""
    return _read_kernel_option(r"numaplace_lab=([^,\s]+)")


def read_platform() -> str:
    """Reads what this machine is: real, lab-timed or lab-functional."""
    mode = _read_kernel_option(r"numaplace_lab=[^,\s]+,(\w+)")
    return f"lab-{mode}" if mode else "real"


def read_lab_scale() -> int:
    """Reads S where this is a machine of the lab at 1/S of its speed; returns 1 on any other, and where times mean nothing."""
    from ..lab import machine as lab

    return lab.split_speed(_read_kernel_option(r"numaplace_lab=([^,\s]+),timed\b") or "")[1]


def scale_limit(seconds: int) -> int:
    """Returns a time limit for work on this machine: S times as long at 1/S of its speed."""
    return seconds * read_lab_scale()


def read_lab_changes() -> str | None:
    """Reads what `lab run --set` changed of that machine's numbers; None where it changed nothing."""
    return _read_kernel_option(r"numaplace_lab_set=(\S+)")


def read_machine_name() -> str:
    """Returns the machine's name as `numaplace topology` says it; there a long one is cut off."""
    return "+".join(filter(None, (read_lab_name() or platform.node(), read_lab_changes())))


def _read_kernel_option(pattern: str) -> str | None:
    """Reads the first group of a pattern from the kernel's command line; None where nothing matches."""
    found = re.search(rf"\b{pattern}", CMDLINE.read_text())
    return found[1] if found else None


def _find_lab_caches() -> list[dict[str, Any]] | None:
    """Finds the caches that the lab simulates, as the guest's kernel only knows QEMU's; None where the lab does not know the machine."""
    from ..lab import machine as lab

    name = read_lab_name()
    return _find_machine(name).cache if name and lab.is_known(name) else None


def _find_machine(name: str) -> Machine:
    """Finds a machine of the lab. UsageError: there is none of this name, or its file is wrong."""
    from ..lab import machine as lab
    from ..lab.errors import LabError

    try:
        return lab.find(name)
    except LabError as error:
        raise UsageError(str(error)) from None


def list_lab_nodes(name: str) -> list[Node]:
    """Returns the nodes of a machine of the lab, as its file says; nothing has to boot. UsageError: as of _find_machine()."""
    found = _find_machine(name)
    return [Node(number, tuple(node.cpus), dict(enumerate(found.distances[number])),
                 node.memory >> 10, node.memory >> 10, topology.make_lab_cpus(node.cpus, found.cache))
            for number, node in enumerate(found.nodes)]


def has_remote_memory(found: Iterable[Node]) -> bool:
    """Checks whether there is memory on more than one node."""
    return sum(node.total_kib > 0 for node in found) > 1


def select_usable(needed: int, suite: str, among: list[Node] | None = None) -> list[Node]:
    """Selects, of this machine's nodes or of those in `among`, those with CPUs and memory, then those of memory alone.
    suite: for the message. CannotError: fewer than `needed` have CPUs and memory."""
    candidates = list_nodes() if among is None else among
    usable = [node for node in candidates if node.usable]
    if len(usable) < needed:
        names = ", ".join(f"node {node.id}" for node in usable) or "none"
        raise CannotError(f"suite {suite} needs {needed} nodes with CPUs and memory, this machine "
                          f"has {len(usable)} ({names}): run it in the lab with --lab")
    return sort_nodes(candidates)


def sort_nodes(found: list[Node]) -> list[Node]:
    """Returns the nodes that a suite counts, by position: those with CPUs and memory, then those of memory alone."""
    return [node for node in found if node.usable] + [node for node in found if node.memory_only]
