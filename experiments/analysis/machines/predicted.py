# SPDX-License-Identifier: GPL-2.0-only
"""What the contention model says of a suite's cells: numbers relative to each other, not simulated times.

A cell's tasks are those that the suite's design makes of its levels, each a flow from a node to a node's memory. A
program that finds a part of its data in its caches waits for memory the less: how much is not known for every
program, so it is taken at both ends (`SHARES`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from statistics import fmean

from experiments.host import host_nodes
from experiments.lab.machine import Machine
from experiments.model_fit.native import COPY, READ, TRIAD, Model
from experiments.runner.suite import designs
from experiments.runner.suite.suite import Task, Workload

from ..runs.results import Observation, Results, higher_is_better

Factors = dict[str, int | float | str]
Flow = tuple[int, int, float]  # from, to, cores
Path = Callable[[int, int], tuple[int, int]]  # from and to of a flow on another machine
Share = Callable[[float, float], float]  # of a program's time that waits for memory, by bytes of data and of cache

TRAFFIC = {"copy": COPY, "scale": COPY, "sum": TRIAD, "triad": TRIAD}


def as_is(a: int, b: int) -> tuple[int, int]:
    return a, b


def near(_a: int, b: int) -> tuple[int, int]:
    """Every thread beside the memory that it uses."""
    return b, b


def everywhere(_size: float, _cache: float) -> float:
    """Every access waits for memory."""
    return 1.0


def beyond_the_cache(size: float, cache: float) -> float:
    """Of uniform accesses, the share that a cache of this size misses."""
    return max(0.0, 1 - cache / size)


SHARES = (everywhere, beyond_the_cache)


class Predictor:
    """Of one design on one machine."""

    def __init__(self, design: str, machine: Machine) -> None:
        self.design, self.machine = design, machine
        self.nodes = host_nodes.in_order(host_nodes.of_lab(machine.name))
        self._workloads: dict[tuple, Workload | None] = {}
        self._values: dict[tuple, float] = {}

    @cached_property
    def pair(self) -> tuple[int, int]:
        return designs.far_pair(self.nodes)

    def workload(self, factors: Factors) -> Workload | None:
        """That the design makes of these levels alone; None where it makes none or several."""
        key = tuple(sorted(factors.items()))
        if key not in self._workloads:
            self._workloads[key] = self._make(factors)
        return self._workloads[key]

    def _make(self, factors: Factors) -> Workload | None:
        design = designs.DESIGNS[self.design]
        case = {name: factors[name] for name in ("size", "accesses") if name in factors}
        levels = {"alpha": [None], "pipeline": [1], "case": [case]} | {name: [level] for name, level in factors.items()}
        made = design.make(levels, self.nodes)
        found = list(made if design.all_nodes else designs.far_apart(made, self.nodes))
        return found[0] if len(found) == 1 else None

    def _flows(self, task: Task, factors: Factors, path: Path) -> Iterable[Flow]:
        """A task's threads, shared out evenly over the nodes of its memory."""
        if self.design == "work-stealing":  # a worker on each CPU; the locality runtime's data are beside them
            home = factors["runtime"] == "vanilla" and factors.get("data") != "spread"
            return [(*path(n, 0 if home else n), len(self.nodes[n].cpus)) for n in task.memory_on]
        each = task.threads / len(task.memory_on)
        return [(*path(task.runs_on, n), each) for n in task.memory_on]

    def has_sizes(self, results: Results) -> bool:
        """Whether levels tell how much of a program's data a cache can hold."""
        return self.design == "memory-times" or any("size_kb" in o.factors for o in results.clean)

    def of(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float:
        return self.value(model, o.factors, metric, unit, share)

    def value(self, model: Model, factors: Factors, metric: str, unit: str, share: Share = everywhere,
              path: Path = as_is) -> float:
        """Up to a constant; 1 of what the model says nothing of."""
        key = (id(model), metric, unit, share, path, *sorted(factors.items()))
        if key not in self._values:
            self._values[key] = self._value(model, factors, metric, unit, share, path)
        return self._values[key]

    def _value(self, model: Model, factors: Factors, metric: str, unit: str, share: Share, path: Path) -> float:
        workload = self.workload(factors)
        if workload is None or (higher_is_better(unit) is None and metric != "speedup"):
            return 1.0
        flows = [(task, flow) for task in workload.tasks for flow in self._flows(task, factors, path)]
        traffic = TRAFFIC.get(str(workload.options.get("operation")), READ)
        solved = model.results([flow for _, flow in flows], traffic)
        value = _metric(metric, unit, [(task, cores, *result) for (task, (_, _, cores)), result in zip(flows, solved)])
        if metric == "speedup":  # over one worker beside its data
            value /= model.bandwidths([(0, 0, 1)], traffic)[0]
        size, cache = self._footprint(factors)
        return value ** (share(size, cache) if size else 1.0)

    def _footprint(self, factors: Factors) -> tuple[float, float]:
        """Bytes of the data, where the levels tell it, and of the last-level cache."""
        size = 1024 * float(factors.get("size_kb", 0))
        if self.design == "memory-times":
            size = designs.INT * float(factors["size"])
        return size, float(max((c["size"] for c in self.machine.cache), default=0))


def _metric(metric: str, unit: str, found: list[tuple[Task, float, float, float]]) -> float:
    """A bandwidth is that of a group where the metric names one."""
    group = metric.removeprefix("bandwidth_")
    own = [solved for task, *solved in found if task.group == group]
    return rate(unit, own or [solved for _, *solved in found])


def rate(unit: str, found: Sequence[Sequence[float]]) -> float:
    """Of cores, bytes a second and nanoseconds a line: a bandwidth is the sum, a latency the mean of the flows, a time
    that of the slowest thread."""
    if unit == "MB/s":
        return sum(bandwidth for _, bandwidth, _ in found)
    if unit == "ns":
        return fmean(ns for _, _, ns in found)
    slowest = min(bandwidth / cores for cores, bandwidth, _ in found)
    return slowest if higher_is_better(unit) is not False else 1 / slowest
