# SPDX-License-Identifier: GPL-2.0-only
"""Latency by pointer chase, bandwidth by node pair, the contention table: each several times, with its interval."""

import json
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from statistics import mean, stdev

from experiments.calibrate.teams import LEAD, Team
from experiments.host import host_nodes
from experiments.host.host_nodes import Node
from experiments.paths import HERE

PROGRAM = HERE.programs / "np-mem"
TRIAD = [str(PROGRAM), "triad", "--kernel", "plain"]
ARRAYS = 3  # of a triad
WHOLE = 1 << 16  # bytes: whole pages on every machine
# Student's t, 97.5 %, by degrees of freedom
T = (0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)


@dataclass(frozen=True)
class Value:
    """Holds a mean of n samples and half of its 95 % interval, which is NaN of one sample."""
    mean: float
    half: float
    n: int

    @classmethod
    def from_samples(cls, samples: list[float]) -> "Value":
        """Computes both of one sample or more; of more than 11 by the t of 11, which is a little too wide."""
        n = len(samples)
        half = T[min(n - 1, len(T) - 1)] * stdev(samples) / n ** 0.5 if n > 1 else float("nan")
        return cls(mean(samples), half, n)

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.half:.1f}"


@dataclass(frozen=True)
class Effort:
    """Says how much memory is used, and how long and how often each figure is measured."""
    size: int       # bytes of what is chased, and of each thread's three arrays together
    seconds: float
    repeats: int


class Failed(Exception):
    """Says which measurement failed, and why."""


def measure_chase_ns(cpu: int, node: int, effort: Effort) -> Value:
    """Measures a pointer chase by a CPU in the memory of a node, in ns a load, after one run that warms up. Failed: it ended with an
    error."""
    argv = [str(PROGRAM), "chase", "--size", str(effort.size), "--cpus", str(cpu), "--mem", str(node)]
    orders = f"run {effort.seconds}\n" * (effort.repeats + 1) + "quit\n"
    done = subprocess.run(argv, input=orders, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failed(f"the chase on CPU {cpu} in the memory of node {node}: {done.stderr.strip()}")
    results = [json.loads(line) for line in done.stdout.splitlines()[2:]]  # after `ready` and the warm-up
    return Value.from_samples([result["ns_per_operation"] for result in results])


class Triads:
    """Runs teams of threads; each of a cell's groups is (node of the CPUs, node of the memory, threads)."""

    def __init__(self, effort: Effort):
        self.effort = effort
        array = max(WHOLE, effort.size // ARRAYS // WHOLE * WHOLE)
        self.size = str(array)  # bytes, of each array of a thread
        self.team = Team({"program": TRIAD, "seconds": effort.seconds, "lead": LEAD * host_nodes.read_lab_scale()})

    def measure_groups(self, groups: list[tuple[Node, Node, int]]) -> list[Value]:
        """Measures the groups at once, each on CPUs of its own. Returns the MB/s of all threads of each group together.

        A group has fewer threads where its node has no more CPUs. AssertionError: as of Team.measure_cell()."""
        unused = {node.id: list(node.cpus) for node, _, _ in groups}
        threads, ends = [], []  # of each group: where its threads end
        for node, memory_node, count in groups:
            cpus, unused[node.id] = unused[node.id][:count], unused[node.id][count:]
            threads += [[cpu, memory_node.id] for cpu in cpus]
            ends.append(len(threads))
        samples = []
        for _ in range(self.effort.repeats):
            mb_s = self.team.measure_cell({"size": self.size, "threads": threads, "warm": self.effort.seconds})  # of each thread
            samples.append([sum(mb_s[begin:end]) for begin, end in pairwise([0, *ends])])
        return [Value.from_samples(list(group)) for group in zip(*samples, strict=True)]

    def stop_team(self):
        self.team.stop_members()
