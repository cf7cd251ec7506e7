# SPDX-License-Identifier: GPL-2.0-only
"""Bergstrom, "Measuring NUMA effects with the STREAM benchmark": COPY, NUMA-aware or not."""

from dataclasses import dataclass

from experiments.model_fit.native import COPY, Model


@dataclass(frozen=True)
class Machine:
    """Holds a machine of the paper and what its text says of it."""
    name: str
    nodes: int
    cores: int        # of a node
    bad_node: int     # without NUMA awareness node i uses node i + bad_node, in another package
    peak_gb_s: float  # NUMA-aware, from the text


OPTERON = Machine("opteron-6172-4s", 8, 6, 2, 55)
XEON = Machine("xeon-x7560-4s", 4, 8, 1, 40)


@dataclass(frozen=True)
class Point:
    """Holds the model's COPY with so many threads."""
    threads: int
    aware_gb_s: float
    unaware_gb_s: float
    aware_ns: float    # of one line, of the busiest node's threads
    unaware_ns: float


def spread_threads(nodes: int, threads: int) -> list[int]:
    """Returns the number of threads of each node: the paper fills nodes sparsely, not one after the other."""
    return [threads // nodes + (node < threads % nodes) for node in range(nodes)]


def predict_copy(machine: Machine, model: Model, threads: int) -> Point:
    """Predicts GB/s of COPY, and ns a line, by so many threads, with memory on their own node and on another package's."""
    cores = spread_threads(machine.nodes, threads)
    nodes = range(machine.nodes)
    aware, unaware = (
        model.solve_flows([(node, (node + step) % machine.nodes, cores[node]) for node in nodes], COPY)
        for step in (0, machine.bad_node))
    return Point(threads, sum(b for b, _ in aware) / 1e9, sum(b for b, _ in unaware) / 1e9,
                 max(ns for _, ns in aware), max(ns for _, ns in unaware))


def predict_curve(machine: Machine, model: Model) -> list[Point]:
    """Predicts COPY by 1 thread and by each multiple of the number of nodes, up to all cores."""
    whole = machine.nodes * machine.cores
    return [predict_copy(machine, model, threads)
            for threads in sorted({1, *range(machine.nodes, whole + 1, machine.nodes)})]
