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
        known = [node.id for node in nodes if node.usable]
        wrong = self.values["node"] not in known
        return super().lacks(nodes) or (f"node {self.values['node']} has no CPUs here: it is one of {known}" if wrong else None)

    def before_exec(self, nodes):
        own = [node for node in nodes if node.id == self.values["node"]]
        choose, cpus = super().before_exec(own), set(own[0].cpus)

        def bind() -> None:
            os.sched_setaffinity(0, cpus)
            choose()
        return bind
