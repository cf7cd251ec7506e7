# SPDX-License-Identifier: GPL-2.0-only
"""A latency under load, and from core to core: np-mem's chase beside its mix, and its handover."""

from __future__ import annotations

from statistics import fmean

from ...host import host_nodes
from ...host.host_nodes import format_list
from ...paths import HERE
from ..records.record import Metric
from ..suite.suite import Task
from .mem import LEAD, Memory
from .workload import START_LIMIT, make_metric

CHASE, LOAD, READER = "chase", "load", "reader"  # roles
LEAST_CHUNKS = 2  # of a handover: fewer np-mem does not take
TAIL = 0.003  # s: the chase looks at the clock after 1024 hops, at the end of its warming up and of its measuring


class Loaded(Memory):
    """A chase on a core of its own, beside threads that read and write at a pace."""

    def choose_kernel(self, task: Task) -> str:
        return "chase" if task.role == CHASE else "mix"

    def list_words(self, task: Task) -> list[str]:
        """Lists the words of np-mem's command line: for the load also the size of its array and its pace."""
        words = super().list_words(task)
        if task.role == CHASE:
            return words
        words[words.index("--size") + 1] = self.options["load_size"]
        return [*words, "--mix", self.options["mix"], "--delay", str(self.options["delay"])]

    def choose_window(self, role: str, seconds: float) -> float:
        """Returns for how many seconds a task measures: the load until the chase has ended."""
        return seconds + TAIL * host_nodes.read_lab_scale() if role == LOAD else seconds

    def list_marks(self, seconds: float) -> list[str]:
        """Lists why the observation may not be averaged, such as for how long the chase was without load."""
        chase, load = self.reports[CHASE], self.reports[LOAD]
        begun = load["started"] - self.options.get("warm", 0.0)  # it is at work while it warms up, too
        alone = max(0.0, begun - chase["started"]) + max(0.0, chase["finished"] - load["finished"])
        marks = [f"{1e3 * alone:.2f} ms of the chase's were without load"] if alone else []
        return super().list_marks(seconds) + marks

    def compute_lead(self, seconds: float) -> float:
        """Returns the seconds until both programs begin, LEAD also where they measure for a moment only."""
        return LEAD * host_nodes.read_lab_scale()

    def list_metrics(self) -> list[Metric]:
        """Lists the chase's latency and the bandwidth of both programs on the bus: the chase's own traffic counts, as in MLC."""
        return [make_metric("latency", "ns", self.reports[CHASE]["ns_per_operation"]),
                make_metric("bandwidth", "MB/s", sum(r["mb_per_s_bus"] for r in self.reports.values()))]


class Handover(Memory):
    """One process: a thread that reads, and the owner of the lines on the CPU that the design names."""

    def start(self) -> None:
        """Starts np-mem's handover on the reader's CPU and waits until it is ready; its size is whole chunks, LEAST_CHUNKS or more."""
        task = self.tasks[0]
        chunk = int(self.options["chunk_size"])
        size = max(LEAST_CHUNKS, int(self.options["size"]) // chunk) * chunk
        words = ["--size", str(size), "--chunk", str(chunk), "--pages", self.options["pages"],
                 "--seed", str(self.seed), "--mem", format_list((self.nodes[task.memory_on[0]].id,)),
                 "--state", self.options["state"], "--partner", str(self.options["owner_cpu"])]
        cpus = (self.options["reader_cpu"],)
        self.run(task, [HERE.programs / "np-mem", "handover", *words, "--cpus", format_list(cpus), "--pin"], cpus=cpus)
        self.reports = {task.role: self.programs[task.role].receive("ready", START_LIMIT)}

    def list_metrics(self) -> list[Metric]:
        """Lists the latency of the read of one line."""
        return [make_metric("latency", "ns", fmean(r["ns_per_operation"] for r in self.reports.values()))]
