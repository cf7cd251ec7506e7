# SPDX-License-Identifier: GPL-2.0-only
"""A run of policies as every machine that the lab's may be would have given it, by where tasks and pages were."""

from collections.abc import Iterator, Sequence
from statistics import fmean

from experiments.lab.machine import Machine
from experiments.model_fit.native import READ, TRIAD, Model

from ..machines import other_machines
from ..machines.other_machines import Share
from ..runs.results import Observation, Results, is_higher_better

PAGE = 4096
Flow = tuple[int, int, float]  # from, to, cores


class Placements:
    """What the contention model says of an observation's tasks, each with its threads on its node and its pages."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.with_cpus = [n for n, node in enumerate(machine.nodes) if node.cpus]
        self._values: dict[tuple, float] = {}

    def has_sizes(self, results: Results) -> bool:
        """Checks whether the run says how much data its tasks have."""
        return any(o.tasks for o in results.clean)

    def predict_metric(self, model: Model, o: Observation, metric: str, unit: str, share: Share) -> float:
        """Returns the metric of an observation by the model, up to a constant; 1 where the model says nothing of it."""
        if is_higher_better(unit) is None:
            return 1.0
        flows = tuple(self._list_flows(o))
        size = PAGE * sum(sum(t.get("pages_after", {}).values()) for t in o.tasks)
        key = (id(model), metric, unit, share, flows, size)
        if key not in self._values:
            self._values[key] = self._compute_value(model, flows, unit, share, size)
        return self._values[key]

    def _compute_value(self, model: Model, flows: tuple[Flow, ...], unit: str, share: Share, size: int) -> float:
        """Computes predict_metric() of flows in so many bytes of data, to the power of the share of time that waits for memory."""
        if not flows:
            return 1.0
        found = model.solve_flows(list(flows), TRIAD if unit == "MB/s" else READ)
        value = _compute_rate(unit, [(cores, *result) for (_, _, cores), result in zip(flows, found)])
        return value ** (share(size, max((c["size"] for c in self.machine.cache), default=0)) if size else 1.0)

    def _list_flows(self, o: Observation) -> Iterator[Flow]:
        """Yields the flows of an observation: from each task's node, or from all of them alike, to each node that has its pages."""
        for task in o.tasks:
            pages = {int(node): n for node, n in (task.get("pages_after") or {}).items() if n}
            starts = self.with_cpus if task.get("node_after") is None else [task["node_after"]]
            for start in starts:
                for node, n in pages.items():
                    yield start, node, task.get("threads", 1) * n / sum(pages.values()) / len(starts)


def list_runs(results: Results) -> list[Results]:
    """Lists the run, the one that was measured first, on each machine that the lab's may be. Of a machine whose file is not here, and
    of hardware, there is no other."""
    machine = other_machines.find_machine(results) if results.platforms == ["lab-timed"] else None
    return [results, *(r for _, r in other_machines.list_variants(results, Placements(machine)))] if machine else [results]


def _compute_rate(unit: str, found: Sequence[Sequence[float]]) -> float:
    """Computes a value in `unit` of flows, each with its cores, bytes a second and nanoseconds a line: a bandwidth is their sum, a
    latency their mean, a time that of the slowest thread."""
    if unit == "MB/s":
        return sum(bandwidth for _, bandwidth, _ in found)
    if unit == "ns":
        return fmean(ns for _, _, ns in found)
    slowest = min(bandwidth / cores for cores, bandwidth, _ in found)
    return slowest if is_higher_better(unit) is not False else 1 / slowest
