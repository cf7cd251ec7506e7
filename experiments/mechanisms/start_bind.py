# SPDX-License-Identifier: GPL-2.0-only
"""Programs that start on the CPUs of one node, with their memory there as long as it has room."""

import os

from .mechanism import Parameter
from .start_interleave import StartInterleave

MPOL_PREFERRED = 1  # linux/mempolicy.h


class StartBind(StartInterleave):
    name = "start-bind"
    about = "programs start on one node: its CPUs, and its memory while it has room (MPOL_PREFERRED)"
    parameters = {"node": Parameter("that has CPUs", 0, 1023, 0)}
    mode = MPOL_PREFERRED
    binds = True

    def lacks(self, nodes):
        """Returns why it cannot be switched on here: also that the node of its parameter has no CPUs; None where it can."""
        node_ids = [node.id for node in nodes if node.usable]
        wrong = self.values["node"] not in node_ids
        return super().lacks(nodes) or (f"node {self.values['node']} has no CPUs here: it is one of {node_ids}" if wrong else None)

    def before_exec(self, nodes):
        """Returns a function that binds a new process to the node's CPUs and has it prefer the node's memory."""
        own_nodes = [node for node in nodes if node.id == self.values["node"]]
        set_policy, cpus = super().before_exec(own_nodes), set(own_nodes[0].cpus)

        def bind_process() -> None:
            """Sets CPUs and memory policy of this process. OSError: the kernel refuses one of them."""
            os.sched_setaffinity(0, cpus)
            set_policy()
        return bind_process
