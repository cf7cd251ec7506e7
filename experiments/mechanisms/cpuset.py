# SPDX-License-Identifier: GPL-2.0-only
"""cpuset: each program in a cgroup that has the memory and the CPUs of the one node on which it runs."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..host.host_nodes import Node, format_list
from .mechanism import Mechanism, Scope, missing

CGROUPS = Path("/sys/fs/cgroup")


class Cpuset(Mechanism):
    """Keeps each program's CPUs and pages on the node on which it runs."""

    name = "cpuset"
    about = "a cgroup with the memory and CPUs of the node that a program runs on; its pages move there (cpuset.mems)"
    counters = ("pgmigrate_success",)

    def lacks(self, nodes):
        """Returns why a cgroup with a cpuset cannot be made here; None where it can."""
        absent = super().lacks(nodes) or missing(CGROUPS / "cgroup.controllers")
        if absent or "cpuset" in (CGROUPS / "cgroup.controllers").read_text(encoding="ascii").split():
            return absent
        return f"{CGROUPS} has no cpuset: mount cgroup version 2 with all controllers"

    def attach(self, scope: Scope, pids: Sequence[int]) -> None:
        """Moves the programs into a cgroup for each node that has some of them; the guard undoes it. CannotError: the kernel refuses."""
        with scope.changing(self.name):
            controllers = CGROUPS / "cgroup.subtree_control"
            if "cpuset" not in controllers.read_text(encoding="ascii").split():
                scope.guard.write(controllers, "+cpuset", back="-cpuset")
            for node in scope.nodes:
                if programs := [pid for pid in pids if _choose_node(pid, scope.nodes) is node]:
                    self._bind_programs(scope, node, programs)

    def _bind_programs(self, scope: Scope, node: Node, pids: Sequence[int]) -> None:
        """Binds programs to a node by a cgroup: they join it with all nodes' memory, as pages move when it loses nodes, not at joining."""
        group = CGROUPS / f"numaplace-cpuset-{node.id}"
        scope.guard.make_cgroup(group)
        mems = group / "cpuset.mems"
        mems.write_text(format_list(tuple(n.id for n in scope.nodes if n.total_kib)), encoding="ascii")
        (group / "cpuset.cpus").write_text(format_list(node.cpus), encoding="ascii")
        for pid in pids:
            scope.guard.join(pid, group)
        mems.write_text(str(node.id), encoding="ascii")


def _choose_node(pid: int, nodes: Sequence[Node]) -> Node:
    """Chooses the node that has most of the CPUs which the program may use; the first of equal ones."""
    cpus = os.sched_getaffinity(pid)
    return max((node for node in nodes if node.cpus), key=lambda node: len(cpus & set(node.cpus)))
